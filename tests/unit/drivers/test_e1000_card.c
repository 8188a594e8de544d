/* How the e1000 driver manages the card: start, EEPROM, PHY, carrier, interrupts, filters,
 * recovery and stop, against the card's model. */
#include "tests/unit/drivers/e1000_kit.h"

static void starts_a_card(void)
{
	struct e1000_model *m = kit_begin();
	const struct nic *nic = kit_nic[0];
	CHECK(memcmp(nic->address.b, kit_mac[0], 6) == 0);
	CHECK(nic->carrier.up && nic->carrier.full_duplex);
	CHECK_EQ(nic->carrier.mbit, 1000);
	CHECK_EQ(nic->irq, 10);
	CHECK_EQ(m->resets, 1);
	CHECK_EQ(m->rctl_writes, 1);
	CHECK_EQ(m->reg[RAL / 4], 0x010c0e00);
	CHECK_EQ(m->reg[RAL / 4 + 1], 0x80000302);
	for (unsigned i = 1; i < 16; i++)
		CHECK_EQ(m->reg[RAL / 4 + 2 * i + 1] & 0x80000000, 0);
	for (unsigned i = 0; i < 128; i++)
		CHECK_EQ(m->reg[MTA / 4 + i], 0);
	CHECK_EQ(m->reg[TIPG / 4], 0x0060200a);
	CHECK(host_now_us - 5000000 < 12000); /* a start takes less than 12 ms */
	kit_end();
}

/* Probes a card whose EEPROM `spoil` has changed. */
static const char *probe_spoilt(enum e1000_kind kind, void (*spoil)(struct e1000_model *))
{
	kit_machine(KIT_POOL);
	struct e1000_model *m = kit_plug(0, kind,
	                                 kind == E1000_KIND_82541 ? 0x1076
	                                 : kind                   ? 0x100c
	                                                          : 0x100e);
	spoil(m);
	const char *wrong = kit_probe();
	CHECK(host_now_us - 5000000 < 100000);
	if (wrong)
		CHECK(e1000_model_quiet(m));
	kit_end();
	return wrong;
}

static void dead(struct e1000_model *m)
{
	m->eeprom_dead = true;
}

static void bad_sum(struct e1000_model *m)
{
	m->eeprom[0x3f]++;
}

static void empty(struct e1000_model *m)
{
	memset(m->eeprom, 0xff, sizeof m->eeprom);
}

static void noise(struct e1000_model *m)
{
	m->eeprom_noise = 0x0110;
}

static void no_signature(struct e1000_model *m)
{
	m->eeprom[0x0a] = 0;
	bad_sum(m);
}

static void multicast(struct e1000_model *m)
{
	m->eeprom[0] |= 1;
	e1000_model_eeprom_sum(m);
}

static void zero(struct e1000_model *m)
{
	m->eeprom[0] = m->eeprom[1] = m->eeprom[2] = 0;
	e1000_model_eeprom_sum(m);
}

static void broken_eeprom(void)
{
	for (enum e1000_kind kind = E1000_KIND_82540; kind <= E1000_KIND_82544; kind++) {
		/* The driver uses the address that the card loaded itself. */
		CHECK(probe_spoilt(kind, dead) == NULL);
		CHECK(memcmp(kit_nic[0]->address.b, kit_mac[0], 6) == 0);
		CHECK(probe_spoilt(kind, bad_sum) == NULL);
		CHECK(memcmp(kit_nic[0]->address.b, kit_mac[0], 6) == 0);
		CHECK(probe_spoilt(kind, noise) == NULL);
		CHECK(memcmp(kit_nic[0]->address.b, kit_mac[0], 6) == 0);
		/* If the card loaded none, the probe fails. */
		CHECK(probe_spoilt(kind, empty) != NULL);
		CHECK(probe_spoilt(kind, no_signature) != NULL);
		CHECK(probe_spoilt(kind, multicast) != NULL);
		CHECK(probe_spoilt(kind, zero) != NULL);
	}
}

static void cards_that_cannot_start(void)
{
	kit_machine(KIT_POOL);
	struct e1000_model *m = kit_plug(0, E1000_KIND_82540, 0x100e);
	m->reset_stuck = true;
	CHECK_STR(kit_probe(), "does not come out of reset");
	CHECK(host_now_us - 5000000 < 50000);
	kit_end();

	kit_machine(KIT_RING - 1);
	m = kit_plug(0, E1000_KIND_82540, 0x100e);
	CHECK_STR(kit_probe(), "too few packets for the receive ring");
	CHECK(e1000_model_quiet(m));
	kit_end();

	kit_machine(KIT_POOL);
	m = kit_plug(0, E1000_KIND_82540, 0x100e);
	memset(m->pci.cfg + 0x10, 0, 4);
	memset(m->pci.writable + 0x10, 0, 4);
	CHECK_STR(kit_probe(), "no memory window");
	kit_end();
}

/* The firmware booted from the network and left the card running. */
static void takes_over_a_running_card(void)
{
	kit_machine(KIT_POOL);
	struct e1000_model *m = kit_plug(0, E1000_KIND_82540, 0x100e);
	m->reg[RCTL / 4] = RCTL_EN;
	m->reg[TCTL / 4] = TCTL_EN;
	m->reg[RDLEN / 4] = 128;
	m->ims = 0xff;
	m->icr = 0xff;
	m->dma_tail_us = 5000;
	CHECK(kit_probe() == NULL);
	CHECK_EQ(kit_arrive(0, 64, 1), E1000_RX_TAKEN);
	CHECK_EQ(kit_take(0, NIC_BURST, 64, 1), 1);
	kit_end();
}

/* --- PHY and link ----------------------------------------------------------------- */

static void wakes_the_phy(void)
{
	static const uint16_t state[][3] = {
	        {0x1140, 0x0061,
	         0x0000}, /* offers only 10 Mbit/s, while waiting for a wake-up frame */
	        {0x1940, 0x0de1, 0x0e00}, /* powered down */
	        {0x2100, 0x0de1, 0x0e00}, /* forced to 100 Mbit/s */
	        {0x5140, 0x0de1, 0x0e00}, /* in loopback */
	};
	for (unsigned i = 0; i < ARRAY_SIZE(state); i++) {
		kit_machine(KIT_POOL);
		struct e1000_model *m = kit_plug(0, E1000_KIND_82540, 0x100e);
		m->phy[PHY_BMCR] = state[i][0];
		m->phy[PHY_ANAR] = state[i][1];
		m->phy[PHY_GTCR] = state[i][2];
		m->negotiate_us = 1500000;
		CHECK(kit_probe() == NULL);
		CHECK(host_now_us - 5000000 < 15000); /* does not wait for the carrier */
		CHECK(!kit_nic[0]->carrier.up);
		kit_wait_ms(2000);
		CHECK(kit_nic[0]->carrier.up);
		CHECK_EQ(m->phy[PHY_ANAR] & 0x1e1, 0x1e1);
		CHECK_EQ(m->phy[PHY_GTCR] & 0x200, 0x200);
		CHECK_EQ(m->phy[PHY_BMCR] & 0x5c00, 0x1000);
		kit_end();
	}
}

static void dead_phy(void)
{
	kit_machine(KIT_POOL);
	struct e1000_model *m = kit_plug(0, E1000_KIND_82540, 0x100e);
	m->phy_dead = true;
	CHECK(kit_probe() == NULL); /* the MAC may see a link nevertheless */
	CHECK(host_now_us - 5000000 < 20000);
	CHECK(kit_nic[0]->carrier.up);
	kit_end();
}

static void speed_and_duplex(void)
{
	static const uint16_t mbit[] = {10, 100, 1000};
	for (unsigned i = 0; i < 6; i++) {
		kit_machine(KIT_POOL);
		struct e1000_model *m = kit_plug(0, E1000_KIND_82540, 0x100e);
		m->speed = mbit[i % 3];
		m->half_duplex = i >= 3;
		CHECK(kit_probe() == NULL);
		CHECK_EQ(kit_nic[0]->carrier.mbit, mbit[i % 3]);
		CHECK_EQ(kit_nic[0]->carrier.full_duplex, i < 3);
		kit_end();
	}
}

/* At half duplex a PHY of Marvell's must report the carrier of the frames that the card sends.
 * It learns that once, and the carrier goes down only then. */
static void half_duplex(void)
{
	kit_machine(KIT_POOL);
	struct e1000_model *m = kit_plug(0, E1000_KIND_82540, 0x100e);
	m->phy[PHY_M88_CONTROL] = 0x0060;
	CHECK(kit_probe() == NULL);
	CHECK(kit_nic[0]->carrier.up);
	kit_wait_ms(1000);
	CHECK_EQ(m->phy[PHY_M88_CONTROL], 0x0060); /* at full duplex the carrier stays up */
	m->negotiate_us = 1500000;
	m->half_duplex = true;
	e1000_model_cable(m, false);
	kit_wait_ms(10);
	e1000_model_cable(m, true);
	kit_wait_ms(1600);
	kit_wait_ms(1600);
	CHECK(kit_nic[0]->carrier.up && !kit_nic[0]->carrier.full_duplex);
	CHECK_EQ(m->phy[PHY_M88_CONTROL], 0x0860);
	unsigned reads = pci_model_reads();
	kit_wait_ms(500);
	CHECK(kit_nic[0]->carrier.up);
	CHECK(pci_model_reads() - reads <= 60);
	CHECK_EQ(kit_send(0, 5, 64, 0), 5);
	CHECK_EQ(m->sent, 5);
	CHECK_EQ(m->crs_missing, 0);
	kit_wait_ms(10);
	kit_end();
}

static void carrier_down_and_up(void)
{
	struct e1000_model *m = kit_begin();
	m->negotiate_us = 700000;
	while (kit_nic[0]->ops->arm(kit_nic[0]) || e1000_model_irq(m))
		kit_wait_ms(10);
	e1000_model_cable(m, false);
	CHECK(e1000_model_irq(m)); /* a gateway at rest wakes up, and polls */
	kit_wait_ms(10);
	CHECK(!kit_nic[0]->carrier.up);
	CHECK_EQ(kit_nic[0]->carrier.mbit, 0);
	kit_nic[0]->ops->arm(kit_nic[0]);
	CHECK(!e1000_model_irq(m));
	unsigned sent = m->sent;
	CHECK_EQ(kit_send(0, 40, 64, 0), 40); /* taken, dropped, counted */
	CHECK_EQ(kit_nic[0]->count.tx_link_down, 40);
	CHECK_EQ(kit_arrive(0, 64, 0), E1000_RX_OFF);
	kit_wait_ms(3000);
	e1000_model_cable(m, true);
	kit_wait_ms(500);
	CHECK(!kit_nic[0]->carrier.up);
	kit_wait_ms(300);
	CHECK(kit_nic[0]->carrier.up);
	CHECK_EQ(m->sent, sent); /* no old frame goes out */
	CHECK_EQ(kit_nic[0]->count.resets, 0);
	CHECK_EQ(m->rctl_writes, 1);
	CHECK_EQ(kit_arrive(0, 64, 9), E1000_RX_TAKEN);
	CHECK_EQ(kit_take(0, NIC_BURST, 64, 9), 1);
	CHECK_EQ(kit_send(0, 1, 64, 0), 1);
	CHECK_EQ(m->sent, sent + 1);
	kit_wait_ms(10);
	kit_end();
}

static void carrier_lost_while_frames_wait(void)
{
	struct e1000_model *m = kit_begin();
	m->tx_hold = true;
	CHECK_EQ(kit_send(0, 50, 64, 0), 50);
	CHECK_EQ(e1000_model_send(m, 20), 20);
	e1000_model_cable(m, false);
	kit_wait_ms(50);
	CHECK_EQ(kit_nic[0]->count.tx_link_down,
	         50); /* one write-back for all: none is known as sent */
	CHECK_EQ(kit_nic[0]->count.resets, 1);
	kit_check_pool();
	e1000_model_cable(m, true);
	m->tx_hold = false;
	kit_wait_ms(50);
	CHECK(kit_nic[0]->carrier.up);
	CHECK_EQ(m->sent, 20);
	CHECK_EQ(kit_send(0, 3, 64, 7), 3);
	CHECK(kit_sent(0, 20, 64, 7));
	kit_wait_ms(10);
	kit_end();
}

/* --- recovery ----------------------------------------------------------------------- */

static void recovers_from_a_hang(void)
{
	struct e1000_model *m = kit_begin();
	kit_send(0, 10, 64, 0);
	kit_wait_ms(100);
	m->tx_hung = true;
	CHECK_EQ(kit_send(0, 100, 64, 0), 100);
	for (uint32_t i = 0; i < 100; i++) /* frames that it has received are lost */
		CHECK_EQ(kit_arrive(0, 64, i), E1000_RX_TAKEN);
	kit_wait_ms(1900);
	CHECK_EQ(kit_nic[0]->count.resets, 0);
	kit_wait_ms(200);
	CHECK_EQ(kit_nic[0]->count.resets, 1);
	CHECK_EQ(m->resets, 2);
	CHECK_EQ(kit_nic[0]->count.tx_errors, 100);
	kit_check_pool();
	CHECK(kit_nic[0]->carrier.up);
	for (uint32_t i = 0; i < 600; i++) { /* it works as before */
		unsigned sent = m->sent;
		CHECK_EQ(kit_send(0, 1, 64, i), 1);
		CHECK(kit_sent(0, sent, 64, i));
		CHECK_EQ(kit_arrive(0, 64, i), E1000_RX_TAKEN);
		CHECK_EQ(kit_take(0, NIC_BURST, 64, i), 1);
	}
	kit_wait_ms(3000);
	CHECK_EQ(kit_nic[0]->count.resets, 1);
	kit_end();
}

/* A slow transmitter and an idle one do not count as hung. */
static void slow_is_not_hung(void)
{
	struct e1000_model *m = kit_begin();
	m->tx_hold = true;
	for (int i = 0; i < 5; i++)
		CHECK_EQ(kit_send(0, 32, 64, 0), 32);
	for (int i = 0; i < 5; i++) {
		kit_wait_ms(1500);
		CHECK_EQ(e1000_model_send(m, 32), 32);
	}
	kit_wait_ms(10000);
	CHECK_EQ(kit_send(0, 1, 64, 0), 1);
	kit_wait_ms(1500);
	CHECK_EQ(kit_nic[0]->count.resets, 0);
	e1000_model_send(m, 1);
	kit_wait_ms(10);
	kit_end();
}

/* A card whose reset fails is reset again and again, and does no harm meanwhile. */
static void reset_fails_for_a_while(void)
{
	struct e1000_model *m = kit_begin();
	kit_wait_ms(10);
	m->tx_hung = true;
	m->reset_stuck = true;
	CHECK_EQ(kit_send(0, 10, 64, 0), 10);
	kit_wait_ms(2100);
	CHECK(!kit_nic[0]->carrier.up);
	kit_check_pool();
	CHECK_EQ(kit_send(0, 10, 64, 0), 10);
	CHECK_EQ(kit_nic[0]->count.tx_link_down, 10);
	CHECK_EQ(kit_take(0, NIC_BURST, 0, 0), 0);
	pci_model_faults_clear();
	m->reset_stuck = false;
	kit_wait_ms(5000);
	CHECK(kit_nic[0]->carrier.up);
	CHECK_EQ(kit_send(0, 1, 64, 5), 1);
	CHECK(kit_sent(0, m->sent - 1, 64, 5));
	kit_wait_ms(10);
	kit_end();
}

static void stops_in_mid_traffic(void)
{
	struct e1000_model *m = kit_begin();
	m->tx_hold = true;
	m->dma_tail_us = 5000;
	CHECK_EQ(kit_send(0, 100, 64, 0), 100);
	for (uint32_t i = 0; i < 100; i++)
		CHECK_EQ(kit_arrive(0, 64, i), E1000_RX_TAKEN);
	kit_end();
	CHECK_EQ(kit_arrive(0, 64, 0), E1000_RX_OFF);
	CHECK_EQ(e1000_model_send(m, 1), 0);
	CHECK(!e1000_model_irq(m));
}

/* --- interrupts ------------------------------------------------------------------------ */

static bool arm(void)
{
	return kit_nic[0]->ops->arm(kit_nic[0]);
}

static void arms(void)
{
	struct e1000_model *m = kit_begin();
	CHECK(!arm());
	CHECK(!e1000_model_irq(m));
	/* A frame between the last look and arm(): arm() sees it. */
	CHECK_EQ(kit_arrive(0, 64, 1), E1000_RX_TAKEN);
	CHECK(arm());
	CHECK_EQ(kit_take(0, NIC_BURST, 64, 1), 1);
	CHECK(!arm());
	CHECK(!e1000_model_irq(
	        m)); /* acknowledged: a level-triggered interrupt would stay asserted */
	/* A frame after arm(): it raises the interrupt. */
	CHECK_EQ(kit_arrive(0, 64, 2), E1000_RX_TAKEN);
	CHECK(e1000_model_irq(m));
	CHECK_EQ(kit_take(0, NIC_BURST, 64, 2), 1);
	CHECK(!arm());
	CHECK(!e1000_model_irq(m));
	/* A cause that is set after its frame was taken is cleared by the second arm(). */
	m->icr |= ICR_RXT0;
	CHECK(!arm());
	CHECK(!e1000_model_irq(m));
	kit_end();
}

static uint32_t came, came_at_icr;

static void come(struct e1000_model *m)
{
	(void)m;
	if (came_at_icr-- == 1)
		came += kit_arrive(0, 64, came) == E1000_RX_TAKEN;
}

/* Frames come at every moment relative to rx() and arm(). */
static void never_halts_while_a_frame_waits(void)
{
	struct e1000_model *m = kit_begin();
	uint32_t out = 0, x = 1;
	came = 0;
	m->at_icr = come;
	for (unsigned pass = 0; pass < 3000; pass++) {
		x = x * 1664525u + 1013904223u;
		if (x >> 30 & 1)
			came += kit_arrive(0, 64, came) == E1000_RX_TAKEN;
		if (x >> 29 & 1)
			out += kit_take(0, NIC_BURST, 64, out);
		if (x >> 28 & 1)
			came += kit_arrive(0, 64, came) == E1000_RX_TAKEN;
		came_at_icr = x >> 26 & 3;
		bool work = arm();
		if (x >> 25 & 1)
			came += kit_arrive(0, 64, came) == E1000_RX_TAKEN;
		CHECK(came == out || work || e1000_model_irq(m));
		if (pass % 7 == 0)
			kit_wait_ms(10);
	}
	kit_end();
}

/* An idle gateway that another card wakes does not read this card's registers. */
static void idle_arms_are_free(void)
{
	kit_begin();
	arm();
	arm();
	unsigned reads = pci_model_reads(), writes = pci_model_writes();
	for (int i = 0; i < 100; i++)
		CHECK(!arm());
	CHECK_EQ(pci_model_reads() - reads, 0);
	CHECK_EQ(pci_model_writes() - writes, 0);
	kit_end();
}

/* When the ring is full and frames were refused, a sent burst raises the interrupt too. */
static void wakes_for_room(void)
{
	struct e1000_model *m = kit_begin();
	m->tx_hold = true;
	CHECK_EQ(kit_send(0, 300, 64, 0), KIT_RING - 1);
	CHECK(!arm());
	CHECK(!e1000_model_irq(m));
	e1000_model_send(m, 100);
	CHECK(e1000_model_irq(m));
	CHECK(arm());
	CHECK_EQ(kit_send(0, 50, 64, 0), 50);
	CHECK(!arm());
	e1000_model_send(m, 1000);
	CHECK(!e1000_model_irq(m)); /* not any more when there is room */
	kit_wait_ms(10);
	kit_end();
}

/* --- filters and counters ------------------------------------------------------------ */

static void filters(void)
{
	static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
	static const uint8_t other[6] = {0, 1, 2, 3, 4, 5};
	static const mac group[] = {{{0x33, 0x33, 0, 0, 0, 1}}, {{1, 0, 0x5e, 0, 0, 0xfb}}};
	struct e1000_model *m = kit_begin();
	struct nic *nic = kit_nic[0];
	CHECK_EQ(kit_arrive_at(all), E1000_RX_TAKEN);
	CHECK_EQ(kit_arrive_at(other), E1000_RX_FILTERED);
	CHECK_EQ(kit_arrive_at(group[0].b), E1000_RX_FILTERED);
	nic->ops->filter(nic, false, group, 2);
	CHECK_EQ(kit_arrive_at(group[0].b), E1000_RX_TAKEN);
	CHECK_EQ(kit_arrive_at(group[1].b), E1000_RX_TAKEN);
	CHECK_EQ(kit_arrive_at(other), E1000_RX_FILTERED);
	nic->ops->filter(nic, false, group, 1);
	CHECK_EQ(kit_arrive_at(group[1].b), E1000_RX_FILTERED);
	CHECK_EQ(m->rctl_writes, 1);
	nic->ops->filter(nic, true, NULL, 0);
	CHECK_EQ(kit_arrive_at(group[1].b), E1000_RX_TAKEN);
	CHECK_EQ(kit_arrive_at(other), E1000_RX_TAKEN);
	nic->ops->filter(nic, true, NULL, 0);
	CHECK_EQ(m->rctl_writes, 2);
	nic->ops->filter(nic, false, group, 1);
	/* The filters are the same after a reset. */
	m->tx_hung = true;
	kit_send(0, 1, 64, 0);
	kit_wait_ms(2100);
	CHECK_EQ(nic->count.resets, 1);
	CHECK_EQ(kit_arrive_at(group[0].b), E1000_RX_TAKEN);
	CHECK_EQ(kit_arrive_at(group[1].b), E1000_RX_FILTERED);
	CHECK_EQ(kit_arrive_at(other), E1000_RX_FILTERED);
	CHECK_EQ(kit_arrive_at(all), E1000_RX_TAKEN);
	kit_end();
}

/* A board's management processor gets no ARP requests from the driver's card. */
static void hears_arp(void)
{
	kit_begin();
	uint8_t f[60];
	kit_frame(f, 0, sizeof f, 1);
	memset(f, 0xff, 6);
	f[12] = 8;
	f[13] = 6;
	CHECK_EQ(e1000_model_receive(&kit_card[0], f, sizeof f), E1000_RX_TAKEN);
	struct pkt *burst[NIC_BURST];
	CHECK_EQ(kit_nic[0]->ops->rx(kit_nic[0], burst, NIC_BURST), 1);
	pkt_free(burst[0]);
	kit_end();
}

static void counts(void)
{
	struct e1000_model *m = kit_begin();
	const struct nic_counters *c = &kit_nic[0]->count;
	kit_wait_ms(1100);
	CHECK_EQ(c->rx_missed + c->rx_errors + c->tx_errors,
	         0); /* values from before the start do not count */
	e1000_model_count(m, MPC, 3);
	e1000_model_count(m, CRCERRS, 4);
	e1000_model_count(m, RLEC, 5);
	e1000_model_count(m, ECOL, 6);
	kit_wait_ms(1100);
	CHECK_EQ(c->rx_missed, 3);
	CHECK_EQ(c->rx_errors, 9);
	CHECK_EQ(c->tx_errors, 6);
	unsigned reads = pci_model_reads();
	kit_wait_ms(1000);
	CHECK(pci_model_reads() - reads <= 100 + 10); /* the carrier each time, the rest once */
	CHECK_EQ(c->rx_missed, 3);
	kit_end();
}

/* Registers of a card that is no longer on the bus read as ones: nothing is counted then,
 * whenever it goes. */
static void counts_nothing_of_a_card_that_is_gone(void)
{
	for (unsigned in = 1; in < 12; in++) {
		struct e1000_model *m = kit_begin();
		const struct nic_counters *c = &kit_nic[0]->count;
		kit_wait_ms(1000);
		m->gone_in = in;
		kit_wait_ms(3000);
		CHECK(m->gone && !kit_nic[0]->carrier.up);
		CHECK_EQ(c->rx_missed + c->rx_errors + c->tx_errors, 0);
		pci_model_reset(); /* nothing is there any more */
	}
}

int main(void)
{
	TEST(starts_a_card);
	TEST(broken_eeprom);
	TEST(cards_that_cannot_start);
	TEST(takes_over_a_running_card);
	TEST(wakes_the_phy);
	TEST(dead_phy);
	TEST(speed_and_duplex);
	TEST(half_duplex);
	TEST(carrier_down_and_up);
	TEST(carrier_lost_while_frames_wait);
	TEST(recovers_from_a_hang);
	TEST(slow_is_not_hung);
	TEST(reset_fails_for_a_while);
	TEST(stops_in_mid_traffic);
	TEST(arms);
	TEST(never_halts_while_a_frame_waits);
	TEST(idle_arms_are_free);
	TEST(wakes_for_room);
	TEST(filters);
	TEST(hears_arp);
	TEST(counts);
	TEST(counts_nothing_of_a_card_that_is_gone);
	return tap_done();
}
