/* The e1000 driver's packet path against the card's model. */
#include "tests/unit/drivers/e1000_kit.h"

static void receives_every_length(void)
{
	kit_begin();
	for (uint32_t n = 60; n <= 1518; n++) {
		CHECK_EQ(kit_arrive(0, n, n), E1000_RX_TAKEN);
		CHECK_EQ(kit_take(0, NIC_BURST, n, n), 1);
	}
	CHECK_EQ(kit_arrive(0, 59, 0), E1000_RX_BAD);
	CHECK_EQ(kit_arrive(0, 1519, 0), E1000_RX_BAD);
	CHECK_EQ(kit_take(0, NIC_BURST, 0, 0), 0);
	kit_wait_ms(1100);
	CHECK_EQ(kit_nic[0]->count.rx_errors, 2);
	kit_end();
}

/* Twenty rounds of the ring in bursts of changing size, without losing a frame. */
static void receives_many_in_order(void)
{
	kit_begin();
	uint32_t in = 0, out = 0, step = 7;
	while (out < 5000) {
		step = (step * 31 + 11) % 90;
		for (uint32_t k = 0; k <= step && in < 5000; k++)
			in += kit_arrive(0, 100, in) == E1000_RX_TAKEN;
		while (in - out > 40 || (in == 5000 && out < in)) {
			uint32_t got = kit_take(0, 1 + step % NIC_BURST, 100, out);
			CHECK(got > 0);
			if (!got)
				return;
			out += got;
		}
	}
	CHECK_EQ(kit_nic[0]->count.rx_errors, 0);
	kit_end();
}

static void receive_ring_full(void)
{
	kit_begin();
	for (uint32_t i = 0; i < KIT_RING - 1; i++)
		CHECK_EQ(kit_arrive(0, 64, i), E1000_RX_TAKEN);
	for (uint32_t i = 0; i < 10; i++)
		CHECK_EQ(kit_arrive(0, 64, 999), E1000_RX_MISSED);
	uint32_t got = 0;
	for (int k = 0; k < 20; k++)
		got += kit_take(0, NIC_BURST, 64, got);
	CHECK_EQ(got, KIT_RING - 1);
	for (uint32_t i = 0; i < KIT_RING - 1; i++) /* the whole ring belongs to the card again */
		CHECK_EQ(kit_arrive(0, 64, i), E1000_RX_TAKEN);
	for (got = 0; got < KIT_RING - 1;)
		got += kit_take(0, NIC_BURST, 64, got);
	kit_wait_ms(1100);
	CHECK_EQ(kit_nic[0]->count.rx_missed, 10);
	CHECK_EQ(kit_nic[0]->count.rx_errors, 0);
	kit_end();
}

static void pool_empty(void)
{
	kit_begin();
	struct pkt *held[KIT_POOL];
	uint32_t n = 0;
	while ((held[n] = pkt_alloc(&kit_pool)) != NULL)
		n++;
	/* Three whole rings of frames find no packet, and the card continues. */
	for (uint32_t i = 0; i < 3 * KIT_RING; i++) {
		CHECK_EQ(kit_arrive(0, 200, i), E1000_RX_TAKEN);
		if (i % 20 == 19 || i == 3 * KIT_RING - 1)
			for (int k = 0; k < 2; k++)
				CHECK_EQ(kit_take(0, NIC_BURST, 200, i), 0);
	}
	CHECK_EQ(kit_nic[0]->count.rx_no_packet, 3 * KIT_RING);
	/* Three packets are freed: three of ten frames get through. */
	for (int k = 0; k < 3; k++)
		pkt_free(held[--n]);
	for (uint32_t i = 0; i < 10; i++)
		CHECK_EQ(kit_arrive(0, 200, i), E1000_RX_TAKEN);
	struct pkt *burst[NIC_BURST];
	CHECK_EQ(kit_nic[0]->ops->rx(kit_nic[0], burst, NIC_BURST), 3);
	for (uint32_t k = 0; k < 3; k++) {
		CHECK(kit_same(burst[k]->data, burst[k]->len, 0, 200, k));
		pkt_free(burst[k]);
	}
	CHECK_EQ(kit_nic[0]->count.rx_no_packet, 3 * KIT_RING + 7);
	while (n)
		pkt_free(held[--n]);
	CHECK_EQ(kit_arrive(0, 200, 77), E1000_RX_TAKEN);
	CHECK_EQ(kit_take(0, NIC_BURST, 200, 77), 1);
	CHECK_EQ(kit_nic[0]->count.rx_errors, 0);
	kit_end();
}

/* Checks that the card still receives a good frame. */
static void check_alive(void)
{
	static uint32_t number = 5000;
	CHECK_EQ(kit_arrive(0, 300, ++number), E1000_RX_TAKEN);
	CHECK_EQ(kit_take(0, NIC_BURST, 300, number), 1);
}

static void lying_lengths(void)
{
	static const uint16_t lie[] = {0, 1, 13, 1519, 2048, 2049, 4095, 4096, 32768, 65535};
	struct e1000_model *m = kit_begin();
	for (unsigned turn = 0; turn < 100; turn++)
		for (unsigned i = 0; i < ARRAY_SIZE(lie); i++) {
			CHECK(e1000_model_lie(m, lie[i], 3, 0, 2048));
			CHECK_EQ(kit_take(0, NIC_BURST, 0, 0), 0);
		}
	CHECK_EQ(kit_nic[0]->count.rx_errors, 100 * ARRAY_SIZE(lie));
	check_alive();
	/* The shortest and the longest frame that are possible are passed on unchanged. */
	struct pkt *burst[NIC_BURST];
	CHECK(e1000_model_lie(m, 14, 3, 0, 14));
	CHECK(e1000_model_lie(m, 1518, 3, 0, 1518));
	CHECK_EQ(kit_nic[0]->ops->rx(kit_nic[0], burst, NIC_BURST), 2);
	CHECK_EQ(burst[0]->len, 14);
	CHECK_EQ(burst[1]->len, 1518);
	pkt_free(burst[0]);
	pkt_free(burst[1]);
	kit_end();
}

/* Frames in several descriptors are dropped up to their end. Each counts once. */
static void frames_without_an_end(void)
{
	struct e1000_model *m = kit_begin();
	for (unsigned pieces = 1; pieces < 8; pieces++) {
		for (unsigned i = 0; i < pieces; i++)
			CHECK(e1000_model_lie(m, 2048, 1, 0, 2048));
		CHECK(e1000_model_lie(m, 700, 3, 0, 700));
		CHECK_EQ(kit_take(0, NIC_BURST, 0, 0), 0);
		CHECK_EQ(kit_nic[0]->count.rx_errors, pieces);
		check_alive();
	}
	/* The end comes in a later burst, with a wrong length. */
	CHECK(e1000_model_lie(m, 2048, 1, 0, 2048));
	CHECK_EQ(kit_take(0, NIC_BURST, 0, 0), 0);
	CHECK(e1000_model_lie(m, 9999, 3, 0, 0));
	CHECK_EQ(kit_take(0, NIC_BURST, 0, 0), 0);
	CHECK_EQ(kit_nic[0]->count.rx_errors, 8);
	check_alive();
	/* No end for two rounds of the ring. */
	for (unsigned i = 0; i < 2 * KIT_RING; i++) {
		CHECK(e1000_model_lie(m, 2048, 1, 0, 2048));
		CHECK_EQ(kit_take(0, NIC_BURST, 0, 0), 0);
	}
	CHECK(e1000_model_lie(m, 60, 3, 0, 60));
	CHECK_EQ(kit_take(0, NIC_BURST, 0, 0), 0);
	CHECK_EQ(kit_nic[0]->count.rx_errors, 9);
	check_alive();
	kit_end();
}

static void error_bits(void)
{
	struct e1000_model *m = kit_begin();
	static const uint8_t bad[] = {0x01, 0x02, 0x04, 0x10, 0x80, 0x97, 0xff};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK(e1000_model_lie(m, 100, 3, bad[i], 100));
		CHECK_EQ(kit_take(0, NIC_BURST, 0, 0), 0);
		CHECK_EQ(kit_nic[0]->count.rx_errors, i + 1);
	}
	/* Checksum bits of the upper layers are ignored. */
	struct pkt *burst[NIC_BURST];
	CHECK(e1000_model_lie(m, 100, 7, 0x60, 100));
	CHECK_EQ(kit_nic[0]->ops->rx(kit_nic[0], burst, NIC_BURST), 1);
	pkt_free(burst[0]);
	kit_end();
}

/* A call of rx ends although all frames that it finds are bad. */
static void flood_of_bad_frames(void)
{
	struct e1000_model *m = kit_begin();
	for (unsigned i = 0; i < KIT_RING - 1; i++)
		CHECK(e1000_model_lie(m, 0, 3, 0, 0));
	CHECK_EQ(kit_take(0, 4, 0, 0), 0);
	CHECK_EQ(kit_nic[0]->count.rx_errors, 4);
	for (unsigned i = 0; i < 63; i++)
		CHECK_EQ(kit_take(0, 4, 0, 0), 0);
	CHECK_EQ(kit_nic[0]->count.rx_errors, KIT_RING - 1);
	check_alive();
	kit_end();
}

static void sends_every_length(void)
{
	struct e1000_model *m = kit_begin();
	for (uint32_t n = 60; n <= 1518; n++) {
		CHECK_EQ(kit_send(0, 1, n, n), 1);
		CHECK(kit_sent(0, m->sent - 1, n, n));
	}
	CHECK_EQ(m->sent, 1459);
	kit_wait_ms(10);
	kit_end();
}

static void sends_many_in_order(void)
{
	struct e1000_model *m = kit_begin();
	uint32_t in = 0, step = 3;
	m->tx_hold = true;
	while (in < 5000) {
		step = (step * 29 + 17) % 120;
		in += kit_send(0, step + 1, 90, in);
		unsigned sent = m->sent, n = e1000_model_send(m, 1 + step * 7 % 60);
		for (unsigned k = 0; k < n; k++)
			CHECK(kit_sent(0, sent + k, 90, sent + k));
	}
	while (e1000_model_send(m, 32))
		;
	CHECK_EQ(m->sent, in);
	kit_wait_ms(10);
	CHECK_EQ(kit_nic[0]->count.tx_errors, 0);
	kit_end();
}

/* Short frames leave with 60 bytes, and the added bytes are zero. */
static void pads_short_frames(void)
{
	struct e1000_model *m = kit_begin();
	for (uint32_t n = 14; n < 60; n++) {
		CHECK_EQ(kit_send(0, 1, n, n), 1); /* old bytes lie after the data */
		const struct e1000_model_sent *f = &m->out[(m->sent - 1) % 64];
		uint8_t want[60];
		kit_frame(want, 0, 60, n);
		memset(want + n, 0, 60 - n);
		CHECK_EQ(f->len, 60);
		CHECK(memcmp(f->bytes, want, 60) == 0);
	}
	CHECK_EQ(m->sent_padded, 0);
	kit_wait_ms(10);
	kit_end();
}

/* Frames of impossible length are counted and freed, and the other frames of the burst go
 * out. */
static void refuses_impossible_frames(void)
{
	static const uint32_t len[] = {0, 1, 13, 1519, 2000, 2048};
	struct e1000_model *m = kit_begin();
	struct pkt *burst[3];
	for (unsigned i = 0; i < ARRAY_SIZE(len); i++) {
		burst[0] = kit_packet(0, 80, 0);
		burst[1] = kit_packet(0, len[i], 1);
		burst[2] = kit_packet(0, 80, 2);
		CHECK_EQ(kit_nic[0]->ops->tx(kit_nic[0], burst, 3), 3);
		CHECK_EQ(kit_nic[0]->count.tx_errors, i + 1);
		CHECK_EQ(m->sent, 2 * (i + 1));
		CHECK(kit_sent(0, m->sent - 2, 80, 0) && kit_sent(0, m->sent - 1, 80, 2));
	}
	/* A burst with only such frames: the card gets nothing. */
	burst[0] = kit_packet(0, 0, 1);
	CHECK_EQ(kit_nic[0]->ops->tx(kit_nic[0], burst, 1), 1);
	/* No room for the padding of a short frame at the end of its slot. */
	burst[0] = pkt_alloc(&kit_pool);
	burst[0]->data = burst[0]->bytes + sizeof burst[0]->bytes - 20;
	burst[0]->len = 20;
	CHECK_EQ(kit_nic[0]->ops->tx(kit_nic[0], burst, 1), 1);
	CHECK_EQ(kit_nic[0]->count.tx_errors, ARRAY_SIZE(len) + 2);
	kit_wait_ms(10);
	kit_end();
}

static void transmit_ring_full(void)
{
	struct e1000_model *m = kit_begin();
	m->tx_hold = true;
	CHECK_EQ(kit_send(0, 300, 70, 0), KIT_RING - 1);
	CHECK_EQ(kit_send(0, 5, 70, 0), 0);
	CHECK_EQ(m->tx_owned, KIT_RING - 1);
	CHECK_EQ(e1000_model_send(m, 40), 40);
	CHECK_EQ(kit_send(0, 300, 70, KIT_RING - 1), NIC_BURST); /* a write-back for each burst */
	CHECK_EQ(e1000_model_send(m, 1000), KIT_RING - 1 - 8);
	for (unsigned k = m->sent - 60; k < m->sent; k++)
		CHECK(kit_sent(0, k, 70, k));
	/* All packets are freed, also without another tx. */
	kit_wait_ms(10);
	kit_check_pool();
	CHECK_EQ(kit_send(0, 300, 70, 0), KIT_RING - 1);
	e1000_model_send(m, 1000);
	kit_wait_ms(10);
	kit_end();
}

/* Fewer frames than a burst are reclaimed too. */
static void reclaims_a_few(void)
{
	kit_begin();
	for (uint32_t n = 1; n < 40; n++) {
		CHECK_EQ(kit_send(0, n, 64, 0), n);
		kit_wait_ms(10);
		kit_check_pool();
	}
	kit_end();
}

/* No register is read for a packet, and one tail is written for each burst. */
static void touches_few_registers(void)
{
	kit_begin();
	for (unsigned turn = 0; turn < 100; turn++) {
		for (uint32_t i = 0; i < 16; i++)
			CHECK_EQ(kit_arrive(0, 64, i), E1000_RX_TAKEN);
		unsigned reads = pci_model_reads(), writes = pci_model_writes();
		CHECK_EQ(kit_take(0, NIC_BURST, 64, 0), 16);
		CHECK_EQ(pci_model_writes() - writes, 1);
		CHECK_EQ(kit_take(0, NIC_BURST, 64, 0), 0);
		CHECK_EQ(kit_send(0, 16, 64, 0), 16);
		CHECK_EQ(kit_send(0, 0, 64, 0), 0);
		CHECK_EQ(pci_model_writes() - writes, 2);
		CHECK_EQ(pci_model_reads() - reads, 0);
	}
	kit_wait_ms(10);
	kit_end();
}

/* A gateway with two cards: each sends what the other receives. */
static void two_cards(void)
{
	kit_machine(KIT_POOL);
	kit_plug(0, E1000_KIND_82540, 0x100e);
	kit_plug(1, E1000_KIND_82541, 0x1076);
	CHECK(kit_probe() == NULL);
	CHECK(kit_probe() == NULL);
	if (kit_nics != 2)
		return;
	CHECK(memcmp(kit_nic[0]->address.b, kit_mac[0], 6) == 0);
	CHECK(memcmp(kit_nic[1]->address.b, kit_mac[1], 6) == 0);
	CHECK(kit_nic[0]->irq != kit_nic[1]->irq);
	for (uint32_t number = 0; number < 6000; number += 10) {
		for (unsigned i = 0; i < 2; i++)
			for (uint32_t k = 0; k < 10; k++)
				CHECK_EQ(kit_arrive(i, 400, number + k), E1000_RX_TAKEN);
		for (unsigned i = 0; i < 2; i++) {
			struct pkt *burst[NIC_BURST];
			uint32_t done = 0;
			while (done < 10) { /* a burst ends at the end of the ring */
				uint32_t n = kit_nic[i]->ops->rx(kit_nic[i], burst, NIC_BURST);
				CHECK(n > 0 && n <= 10 - done);
				if (!n)
					return;
				CHECK_EQ(kit_nic[!i]->ops->tx(kit_nic[!i], burst, n), n);
				done += n;
			}
			const struct e1000_model_sent *f = kit_card[!i].out;
			for (uint32_t k = 0; k < 10; k++)
				CHECK(kit_same(f[(number + k) % 64].bytes, f[(number + k) % 64].len,
				               i, 400, number + k));
		}
	}
	kit_wait_ms(10);
	kit_end();
}

/* The restart of a card that hung with its ring full disables the interrupt for room. The
 * driver must enable it again. */
static void wakes_for_room_after_restart(void)
{
	struct e1000_model *m = kit_begin();
	m->tx_hung = true;
	CHECK_EQ(kit_send(0, 300, 64, 0), KIT_RING - 1);
	CHECK(!kit_nic[0]->ops->arm(kit_nic[0]));
	kit_wait_ms(2100);
	CHECK_EQ(kit_nic[0]->count.resets, 1);
	m->tx_hold = true;
	CHECK_EQ(kit_send(0, 300, 64, 0), KIT_RING - 1);
	CHECK(!kit_nic[0]->ops->arm(kit_nic[0]));
	CHECK(!e1000_model_irq(m));
	e1000_model_send(m, 100);
	CHECK(e1000_model_irq(m));
	CHECK(kit_nic[0]->ops->arm(kit_nic[0]));
	e1000_model_send(m, 1000);
	kit_wait_ms(10);
	kit_end();
}

int main(void)
{
	TEST(receives_every_length);
	TEST(receives_many_in_order);
	TEST(receive_ring_full);
	TEST(pool_empty);
	TEST(lying_lengths);
	TEST(frames_without_an_end);
	TEST(error_bits);
	TEST(flood_of_bad_frames);
	TEST(sends_every_length);
	TEST(sends_many_in_order);
	TEST(pads_short_frames);
	TEST(refuses_impossible_frames);
	TEST(transmit_ring_full);
	TEST(reclaims_a_few);
	TEST(touches_few_registers);
	TEST(two_cards);
	TEST(wakes_for_room_after_restart);
	return tap_done();
}
