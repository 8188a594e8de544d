/* One suite for the drivers of all network cards: each runs against its card's model. */
#ifndef TESTS_DRIVERS_CARD_SUITE_H
#define TESTS_DRIVERS_CARD_SUITE_H

#include "tests/unit/drivers/card_kit.h"
#include "tests/unit/drivers/card_random.h"

#define GONE_US 500u /* longest call of poll() for a card that is gone */

/* --- receive --- */

static void receives_every_length(void)
{
	suite_begin();
	for (uint32_t n = 60; n <= CARD_FRAME_MOST; n++) {
		CHECK_EQ(suite_arrive(n, n), CARD_TAKEN);
		CHECK_EQ(suite_take_all(n, n), 1);
	}
	suite_wait_ms(2500);
	CHECK_EQ(suite_nic->count.rx_errors, 0);
	CHECK_EQ(suite_nic->count.resets, 0);
	suite_end();
}

static void receives_many_in_order(void)
{
	suite_begin();
	uint32_t in = 0, out = 0, step = 7;
	while (out < 5000) {
		step = (step * 31 + 11) % 90;
		for (uint32_t k = 0; k <= step && in < 5000; k++)
			in += suite_arrive(100, in) == CARD_TAKEN;
		if (suite->stops_full) {
			out += suite_take_all(100, out);
			suite_wait_ms(20);
		}
		for (unsigned turn = 0; turn < 9 && in - out > 20 + step / 4 * (in < 5000); turn++)
			out += suite_take(1 + step % NIC_BURST, 100, out);
		if (in == 5000)
			out += suite_take_all(100, out);
	}
	CHECK_EQ(suite_nic->count.rx_errors, 0);
	suite_end();
}

static void receive_ring_full(void)
{
	suite_begin();
	for (unsigned turn = 0; turn < 3; turn++) {
		for (uint32_t i = 0; i < suite->takes; i++)
			CHECK_EQ(suite_arrive(64, i), CARD_TAKEN);
		for (uint32_t i = 0; i < 10; i++)
			CHECK_EQ(suite_arrive(64, 999), CARD_MISSED);
		if (suite->stops_full) {
			CHECK_EQ(suite_take_all(64, 0), 0);
			suite_wait_ms(100);
		}
		CHECK_EQ(suite_take_all(64, 0), suite->takes);
		suite_alive();
	}
	suite_wait_ms(2500);
	CHECK_EQ(suite_nic->count.rx_missed, 30);
	CHECK_EQ(suite_nic->count.rx_errors, 0);
	CHECK_EQ(suite_nic->count.resets, 0);
	suite_end();
}

/* A ring that is full for seconds, while the main loop polls, is no hang and loses nothing. */
static void full_for_long(void)
{
	suite_begin();
	for (uint32_t i = 0; i < suite->takes; i++)
		CHECK_EQ(suite_arrive(64, i), CARD_TAKEN);
	CHECK_EQ(suite_arrive(64, 999), CARD_MISSED);
	suite_wait_ms(5000);
	CHECK(suite_nic->ops->arm(suite_nic));
	CHECK_EQ(suite_take_all(64, 0), suite->takes);
	suite_alive();
	suite_end();
}

static void pool_empty(void)
{
	suite_begin();
	struct pkt *held[SUITE_POOL + 1];
	uint32_t n = 0;
	while ((held[n] = pkt_alloc(&suite_pool)) != NULL)
		n++;
	/* Three whole rings of frames find no packet, and the card continues. */
	for (uint32_t i = 0; i < 3 * suite->ring; i++) {
		CHECK_EQ(suite_arrive(200, i), CARD_TAKEN);
		if (i % 20 == 19 || i == 3 * suite->ring - 1)
			for (int k = 0; k < 2; k++)
				CHECK_EQ(suite_take(NIC_BURST, 200, i), 0);
	}
	CHECK_EQ(suite_nic->count.rx_no_packet, 3 * suite->ring);
	for (int k = 0; k < 3; k++) /* three of five frames get through */
		pkt_free(held[--n]);
	struct pkt *burst[NIC_BURST];
	uint32_t got = 0;
	for (uint32_t i = 0; i < 5; i++)
		CHECK_EQ(suite_arrive(200, i), CARD_TAKEN);
	for (unsigned k = 0; k < 3; k++)
		got += suite_nic->ops->rx(suite_nic, burst + got, NIC_BURST - got);
	CHECK_EQ(got, 3);
	while (got)
		pkt_free(burst[--got]);
	CHECK_EQ(suite_nic->count.rx_no_packet, 3 * suite->ring + 2);
	while (n)
		pkt_free(held[--n]);
	suite_alive();
	CHECK_EQ(suite_nic->count.rx_errors, 0);
	suite_end();
}

static void lying_lengths(void)
{
	static const uint16_t lie[] = {0, 1, 13, 1519, 2048, 2049, 4095};
	suite_begin();
	for (unsigned turn = 0; turn < 100; turn++)
		for (unsigned i = 0; i < ARRAY_SIZE(lie); i++) {
			CHECK(suite->lie(suite_card, lie[i], false));
			CHECK_EQ(suite_take(NIC_BURST, 0, 0), 0);
		}
	CHECK_EQ(suite_nic->count.rx_errors, 100 * ARRAY_SIZE(lie));
	suite_alive();
	/* A call of rx ends although all frames that it finds are bad. */
	for (unsigned i = 0; i < suite->takes; i++)
		CHECK(suite->lie(suite_card, 0, false));
	for (unsigned i = 0; i < 2 * suite->takes; i++)
		CHECK_EQ(suite_take(4, 0, 0), 0);
	suite_alive();
	CHECK_EQ(suite_nic->count.resets, 0);
	suite_end();
}

static void frames_with_errors(void)
{
	suite_begin();
	for (unsigned i = 0; i < 300; i++) {
		CHECK(suite->lie(suite_card, 100, true));
		CHECK_EQ(suite_take(NIC_BURST, 0, 0), 0);
	}
	suite_alive();
	CHECK_EQ(suite_nic->count.rx_no_packet, 0);
	suite_end();
}

/* --- transmit --- */

static void sends_every_length(void)
{
	suite_begin();
	for (uint32_t n = 60; n <= CARD_FRAME_MOST; n++) {
		CHECK_EQ(suite_send(1, n, n), 1);
		CHECK(suite_sent(suite_card->sent - 1, n, n));
	}
	/* In bursts, over many rounds of the ring. */
	unsigned before = suite_card->sent;
	uint32_t n = min_u32(25, suite->sends);
	for (uint32_t i = 0; i < 3000; i += n) {
		CHECK_EQ(suite_send(n, 80, i), n);
		for (unsigned k = 0; k < n; k++)
			CHECK(suite_sent(before + i + k, 80, i + k));
	}
	CHECK_EQ(suite_card->sent, before + 3000);
	CHECK_EQ(suite_nic->count.tx_errors, 0);
	suite_end();
}

/* Short frames are padded with zeros by software; impossible ones are dropped and counted. */
static void pads_and_refuses(void)
{
	suite_begin();
	unsigned before = suite_card->sent;
	for (uint32_t n = 14; n < 60; n++) {
		static const uint8_t zero[60];
		CHECK_EQ(suite_send(1, n, n), 1);
		const struct card_sent *f = &suite_card->out[(suite_card->sent - 1) % 64];
		CHECK_EQ(f->len, 60);
		CHECK(memcmp(f->bytes + n, zero, 60 - n) == 0);
	}
	CHECK_EQ(suite_card->sent_short, 0);
	CHECK_EQ(suite_card->sent, before + 46);
	CHECK_EQ(suite_send(1, 13, 0), 1);
	CHECK_EQ(suite_send(1, 1519, 0), 1);
	CHECK_EQ(suite_send(1, 0, 0), 1);
	CHECK_EQ(suite_card->sent, before + 46);
	CHECK_EQ(suite_nic->count.tx_errors, 3);
	suite_alive();
	suite_end();
}

static void transmit_ring_full(void)
{
	struct card *c = suite_begin();
	unsigned before = c->sent;
	for (unsigned turn = 0; turn < 3; turn++) {
		c->tx_hold = true;
		uint32_t took = 0, last = 1;
		for (; last; took += last)
			last = suite_send(30, 90, took);
		CHECK(took >= 3 && took < 300);
		CHECK_EQ(c->sent, before);
		CHECK_EQ(suite_send(1, 90, 0), 0);
		suite_nic->ops->arm(suite_nic);
		suite_wait_ms(100);
		c->tx_hold = false;
		suite->send(c);
		CHECK_EQ(c->sent, before + took);
		for (uint32_t k = took > 64 ? took - 64 : 0; k < took; k++)
			CHECK(suite_sent(before + k, 90, k));
		/* The frames that left wake the processor for those that were refused. */
		CHECK(suite->irq(c) || suite_nic->ops->arm(suite_nic));
		before = c->sent;
		CHECK_EQ(suite_send(3, 90, 7), 3);
		CHECK_EQ(c->sent, before + 3);
		before = c->sent;
	}
	CHECK_EQ(suite_nic->count.resets, 0);
	suite_end();
}

/* --- carrier, hangs, resets --- */

static void cable_out_and_in(void)
{
	if (suite->no_carrier)
		return;
	struct card *c = suite_begin();
	for (unsigned turn = 0; turn < 3; turn++) {
		c->tx_hold = true;
		uint64_t counted = suite_nic->count.tx_link_down + suite_nic->count.tx_errors;
		unsigned before = c->sent;
		CHECK_EQ(suite_send(2, 70, 0), 2);
		c->cable = false;
		suite_wait_ms(3000);
		CHECK(!suite_nic->carrier.up);
		CHECK_EQ(suite_send(3, 70, 0), 3); /* taken, dropped and counted */
		CHECK(suite_nic->count.tx_link_down >= 3);
		counted = suite_nic->count.tx_link_down + suite_nic->count.tx_errors - counted;
		CHECK_EQ(counted + c->sent - before, 5);
		CHECK_EQ(suite_arrive(100, 1), CARD_OFF);
		CHECK_EQ(suite_pool.n_free, suite_pool.n_total - suite->ring);
		c->tx_hold = false;
		c->cable = true;
		suite_wait_ms(3000);
		CHECK(suite_nic->carrier.up);
		suite_alive();
	}
	suite_end();
}

/* A flap that is shorter than the time between two polls harms nothing. */
static void cable_flaps(void)
{
	if (suite->no_carrier)
		return;
	struct card *c = suite_begin();
	for (unsigned turn = 0; turn < 10; turn++) {
		c->cable = false;
		suite_wait_ms(10);
		c->cable = true;
		suite_wait_ms(2500);
		CHECK(suite_nic->carrier.up);
		suite_alive();
	}
	suite_end();
}

/* Reading the registers for a person between all polls does not hold the carrier up. */
static void reports(void)
{
	struct card *c = suite_begin();
	for (unsigned i = 1; i <= 1000; i++) {
		struct nic_report r = {0};
		c->cable = suite->no_carrier || i < 100 || i > 500;
		suite_nic->ops->report(suite_nic, &r);
		suite_wait_ms(10);
		CHECK(i % 499 || suite_nic->carrier.up == c->cable); /* 499, 998 */
	}
	suite_end();
}

static void transmitter_hangs(void)
{
	struct card *c = suite_begin();
	for (unsigned turn = 0; turn < 2; turn++) {
		c->tx_hung = true;
		CHECK_EQ(suite_send(3, 64, 0), 3);
		suite_wait_ms(1500);
		CHECK_EQ(suite_nic->count.resets, turn);
		suite_wait_ms(1500);
		CHECK_EQ(suite_nic->count.resets, turn + 1);
		CHECK_EQ(suite_nic->count.tx_errors, 3 * (turn + 1));
		CHECK(!c->tx_hung);
		suite_wait_ms(100);
		suite_alive();
	}
	suite_end();
}

static void reset_never_ends(void)
{
	struct card *c = suite_machine(SUITE_POOL);
	c->reset_stuck = true;
	uint64_t before = host_now_us;
	const char *wrong = suite_probe();
	CHECK(wrong != NULL);
	CHECK(host_now_us - before < 1000000);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
	CHECK_EQ(pci_model_faults(), 0);

	/* A card that was in use: it is tried again, and works again when it can. */
	c = suite_begin();
	c->tx_hung = c->reset_stuck = true;
	CHECK_EQ(suite_send(3, 64, 0), 3);
	suite_wait_ms(9000);
	CHECK(!suite_nic->carrier.up);
	CHECK(suite_nic->count.resets >= 2);
	CHECK_EQ(suite_send(3, 64, 0), 3);
	suite_nic->ops->arm(suite_nic);
	c->reset_stuck = false;
	suite_wait_ms(3000);
	suite_alive();
	suite_end();
}

/* Polls for so long. Gives the time that the slowest call took: all other cards wait for it. */
static uint32_t slowest_poll_us(unsigned ms)
{
	uint64_t most = 0;
	for (; ms >= 10; ms -= 10) {
		host_now_us += 10000;
		uint64_t before = host_now_us;
		suite_nic->ops->poll(suite_nic, host_now_us);
		most = host_now_us - before > most ? host_now_us - before : most;
	}
	return (uint32_t)most;
}

/* All registers read as ones: at the start, and from any moment on. */
static void card_is_gone(void)
{
	struct card *c = suite_machine(SUITE_POOL);
	c->gone = true;
	CHECK(suite_probe() != NULL);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);

	c = suite_begin();
	c->gone = true;
	uint64_t before = host_now_us;
	CHECK_EQ(suite_send(3, 64, 0), 3);
	suite_nic->ops->arm(suite_nic);
	suite_take_all(0, 0);
	CHECK(host_now_us - before < 100000);
	CHECK(slowest_poll_us(6000) < GONE_US);
	CHECK(!suite_nic->carrier.up);
	CHECK_EQ(suite_send(3, 64, 0), 3);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total - suite->ring);
	c->gone = false; /* back again, as after a reset of its bridge */
	suite_wait_ms(3000);
	suite_alive();
	c->gone = true;
	before = host_now_us;
	suite_nic->ops->stop(suite_nic);
	CHECK(host_now_us - before < 1000000);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
	CHECK_EQ(pci_model_faults(), 0);
}

static void too_few_packets(void)
{
	if (suite->ring == 0)
		return; /* it copies */
	suite_machine(suite->ring - 1);
	CHECK(suite_probe() != NULL);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
	CHECK_EQ(pci_model_faults(), 0);
}

/* The firmware or another system left the card asleep, able to wake the machine. */
static void wakes_from_d3(void)
{
	struct card *c = suite_machine(SUITE_POOL);
	if (c->pci.power) {
		c->pci.cfg[c->pci.power + 4] = 3;
		c->pci.cfg[c->pci.power + 5] = 0x81;
	}
	CHECK(suite_probe() == NULL);
	if (!suite_nic)
		return;
	CHECK(!pci_model_may_wake(&c->pci));
	suite_alive();
	suite_end();
}

/* --- filters and interrupts --- */

static bool passes(const uint8_t to[6])
{
	uint8_t f[100];
	suite_frame(f, sizeof f, 0);
	memcpy(f, to, 6);
	enum card_rx r = suite->receive(suite_card, f, sizeof f);
	struct pkt *burst[NIC_BURST];
	uint32_t n = suite_nic->ops->rx(suite_nic, burst, NIC_BURST);
	CHECK_EQ(n, r == CARD_TAKEN);
	while (n)
		pkt_free(burst[--n]);
	return r == CARD_TAKEN;
}

/* True when a frame to a group that is not wanted is kept away, if the card can do that. */
static bool kept_away(const mac *group)
{
	return suite->all_groups || !passes(group->b);
}

static void filters(void)
{
	static const uint8_t other[6] = {0x00, 0x0e, 0x0c, 9, 9, 9},
	                     all[6] = {255, 255, 255, 255, 255, 255};
	static const mac group[20] = {{{0x33, 0x33, 0, 0, 0, 1}},
	                              {{0x33, 0x33, 0xff, 1, 2, 3}},
	                              {{1, 0, 0x5e, 0, 0, 1}},
	                              {{1, 0, 0x5e, 0, 0, 251}}};
	suite_begin();
	CHECK(suite_nic->address.b[5] == suite_mac[5] &&
	      memcmp(suite_nic->address.b, suite_mac, 6) == 0);
	CHECK(passes(suite_mac) && passes(all) && !passes(other) && !passes(group[0].b));
	suite_nic->ops->filter(suite_nic, false, group, 2);
	suite_wait_ms(20);
	CHECK(passes(suite_mac) && passes(all) && !passes(other));
	CHECK(passes(group[0].b) && passes(group[1].b) && kept_away(&group[3]));
	suite_nic->ops->filter(suite_nic, true, NULL, 0);
	suite_wait_ms(20);
	CHECK(passes(suite_mac) && passes(all) && passes(other) && passes(group[3].b));
	suite_nic->ops->filter(suite_nic, false, group, 1);
	suite_wait_ms(20);
	CHECK(passes(suite_mac) && passes(all) && !passes(other) && passes(group[0].b) &&
	      kept_away(&group[3]));
	suite_nic->ops->filter(suite_nic, false, group, 20); /* more than any list: none is lost */
	suite_wait_ms(20);
	CHECK(!passes(other) && passes(group[0].b) && passes(group[3].b));
	/* The filter outlives a reset. */
	suite_nic->ops->filter(suite_nic, false, group, 1);
	suite_card->tx_hung = true;
	CHECK_EQ(suite_send(1, 64, 0), 1);
	suite_wait_ms(3000);
	CHECK(passes(suite_mac) && passes(group[0].b) && !passes(other) && kept_away(&group[3]));
	/* While frames wait. */
	suite_card->tx_hold = true;
	while (suite_send(30, 90, 0))
		;
	suite_nic->ops->filter(suite_nic, true, NULL, 0);
	suite_card->tx_hold = false;
	suite->send(suite_card);
	suite_wait_ms(100);
	CHECK(passes(other));
	suite_end();
}

/* A frame after arm raises the line; arm makes it fall. */
static void interrupts(void)
{
	struct card *c = suite_begin();
	for (uint32_t i = 0; i < 300; i++) {
		for (unsigned k = 0; k < 3 && (suite_nic->ops->arm(suite_nic) || suite->irq(c));
		     k++)
			;
		CHECK(!suite->irq(c));
		CHECK(!suite_nic->ops->arm(suite_nic));
		CHECK_EQ(suite_arrive(100, i), CARD_TAKEN);
		CHECK(suite->irq(c));
		CHECK(suite_nic->ops->arm(suite_nic));
		CHECK_EQ(suite_take_all(100, i), 1);
	}
	/* Sent frames alone do not end a halt for long. */
	CHECK_EQ(suite_send(3, 64, 0), 3);
	suite_wait_ms(10);
	for (unsigned k = 0; k < 3; k++)
		suite_nic->ops->arm(suite_nic);
	CHECK(!suite->irq(c));
	suite_end();
}

/* --- what it costs --- */

/* Register accesses a frame in bursts of 32: no more than docs/hardware.md says. */
static void accesses(void)
{
	suite_begin();
	unsigned before = pci_model_reads() + pci_model_writes(), frames = 0;
	for (unsigned turn = 0; turn < 100; turn++) {
		for (uint32_t i = 0; i < 32; i++)
			suite_arrive(64, i);
		frames += suite_take_all(64, 0);
		for (uint32_t i = 0; i < 32; i += min_u32(32, suite->sends))
			suite_send(min_u32(32, suite->sends), 64, 0);
	}
	CHECK_EQ(frames, 3200);
	unsigned n = pci_model_reads() + pci_model_writes() - before;
	printf("# %s: %u.%03u register accesses a frame\n", suite->name, n / 3200,
	       n * 10 / 32 % 1000);
	CHECK(n * 10 / 32 <= (suite->most ? suite->most : 100));
	suite_end();
}

/* --- */

/* Runs all tests with this kind of card. */
static inline void card_suite(const struct card_kind *kind)
{
	suite = kind;
	printf("# %s\n", kind->name);
	TEST(receives_every_length);
	TEST(receives_many_in_order);
	TEST(receive_ring_full);
	TEST(full_for_long);
	TEST(pool_empty);
	TEST(lying_lengths);
	TEST(frames_with_errors);
	TEST(sends_every_length);
	TEST(pads_and_refuses);
	TEST(transmit_ring_full);
	TEST(cable_out_and_in);
	TEST(cable_flaps);
	TEST(reports);
	TEST(transmitter_hangs);
	TEST(reset_never_ends);
	TEST(card_is_gone);
	TEST(too_few_packets);
	TEST(wakes_from_d3);
	TEST(filters);
	TEST(interrupts);
	TEST(accesses);
	TEST(random_device);
}

#endif
