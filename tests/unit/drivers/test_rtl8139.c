/* The rtl8139 driver against its card's model: the common suite with and without descriptors, and
 * what these chips alone have. */
#include "tests/unit/drivers/card_suite.h"

#include "tests/models/rtl8139_model.h"

static struct rtl8139_model model[2];

static struct card *plug_plus(unsigned slot, const uint8_t address[6])
{
	return rtl8139_model_plug(&model[slot], 0x20, slot, address);
}

static struct card *plug_old(unsigned slot, const uint8_t address[6])
{
	return rtl8139_model_plug(&model[slot], 0x10, slot, address);
}

#define KIND(n, p, kept, full, slots, accesses)                                                    \
	{                                                                                          \
		.name = n, .driver = &rtl8139_driver, .ring = kept, .takes = full, .sends = slots, \
		.most = accesses, .plug = p, .receive = rtl8139_model_receive,                     \
		.lie = rtl8139_model_lie, .send = rtl8139_model_send,                              \
		.quiet = rtl8139_model_quiet, .irq = rtl8139_model_irq,                            \
	}
/* 455 frames of 64 bytes, with FCS and header, fit into 32 KB. */
static const struct card_kind kinds[] = {
        KIND("8139C+", plug_plus, 64, 64, 63, 0),
        KIND("8139", plug_old, 0, 455, 4, 2400),
};

/* Speed and duplex are the best that both ends offer. */
static void modes(void)
{
	static const struct {
		uint16_t partner, mbit;
		bool full;
	} mode[] = {
	        {0x45e1, 100, true}, {0x40a1, 100, false}, {0x4061, 10, true}, {0x4021, 10, false}};
	for (unsigned i = 0; i < ARRAY_SIZE(mode); i++) {
		suite_machine(SUITE_POOL);
		model[0].partner = mode[i].partner;
		CHECK(suite_probe() == NULL);
		CHECK_EQ(suite_nic->carrier.mbit, mode[i].mbit);
		CHECK_EQ(suite_nic->carrier.full_duplex, mode[i].full);
		suite_end();
	}
}

/* What another system left: the PHY off, with a reduced offer; wake-up; an address of its own. */
static void left_behind(void)
{
	for (unsigned k = 0; k < ARRAY_SIZE(kinds); k++) {
		suite = &kinds[k];
		suite_machine(SUITE_POOL);
		model[0].bmcr = 0x0c00;
		model[0].anar = 0x0021;
		CHECK(suite_probe() == NULL);
		CHECK_EQ(model[0].anar & 0x1e0, 0x1e0);
		CHECK_EQ(model[0].bmcr & 0x1c00, 0x1000);
		CHECK_EQ(model[0].config3 & 0x30, 0);
		CHECK_EQ(model[0].config5, 0);
		suite_alive();
		suite_end();
	}
	suite_machine(SUITE_POOL); /* before the 8139B: asleep */
	model[0].version = 0x1c0;
	model[0].config1 = 0x03;
	CHECK(suite_probe() == NULL);
	CHECK_EQ(model[0].config1 & 3, 0);
	CHECK_EQ(model[0].clock, 'R');
	suite_alive();
	suite_end();
	suite_machine(SUITE_POOL);
	model[0].eeprom[0] = 1;
	CHECK(suite_probe() != NULL);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
}

/* Frames at odd addresses leave unchanged. */
static void odd_addresses(void)
{
	suite = &kinds[1];
	suite_begin();
	for (uint32_t off = 1; off < 9; off++) {
		struct pkt *p = suite_packet(200 + off, off);
		CHECK(p && pkt_pull(p, off));
		uint8_t want[300];
		memcpy(want, p->data, p->len);
		CHECK_EQ(suite_nic->ops->tx(suite_nic, &p, 1), 1);
		const struct card_sent *f = &suite_card->out[(suite_card->sent - 1) % 64];
		CHECK(f->len == 200 && memcmp(f->bytes, want, 200) == 0);
	}
	suite_end();
}

/* A frame with too many collisions stays until the card has sent it again, or was reset. */
static void given_up(void)
{
	suite = &kinds[1];
	suite_begin();
	for (unsigned turn = 1; turn < 10; turn++) {
		unsigned before = suite_card->sent;
		model[0].aborts = turn;
		CHECK_EQ(suite_send(3, 100, turn), 3);
		suite_card->tx_hold = true;
		suite_wait_ms(10);
		CHECK_EQ(suite_pool.n_free, suite_pool.n_total - 3);
		suite_card->tx_hold = false;
		suite->send(suite_card);
		suite_wait_ms(150 * (turn - 1) + 10);
		CHECK_EQ(suite_card->sent, before + 3);
		for (unsigned k = 0; k < 3; k++)
			CHECK(suite_sent(before + k, 100, turn + k));
		CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
	}
	CHECK_EQ(suite_nic->count.tx_errors, 0);
	CHECK_EQ(suite_nic->count.resets, 0);
	model[0].aborts = 1000;
	CHECK_EQ(suite_send(3, 100, 0), 3);
	suite_wait_ms(2500);
	CHECK_EQ(suite_nic->count.tx_errors, 3);
	CHECK_EQ(suite_nic->count.resets, 1);
	model[0].aborts = 0;
	suite_alive();
	suite_end();
}

/* Frames that end at the end of the buffer, where CBR may stand then. */
static void full_rounds(void)
{
	suite = &kinds[1];
	suite_begin();
	model[0].cbr_at_end = true;
	for (uint32_t i = 0; i < 1000; i++) { /* 128 bytes with header and FCS */
		CHECK_EQ(suite_arrive(120, i), CARD_TAKEN);
		CHECK_EQ(suite_take(1, 120, i), 1);
		CHECK(suite_take(NIC_BURST, 120, 0) == 0);
	}
	CHECK_EQ(suite_nic->count.rx_errors, 0);
	suite_end();
}

/* An underrun costs one frame. */
static void underruns(void)
{
	suite = &kinds[1];
	suite_begin();
	unsigned before = suite_card->sent;
	for (unsigned i = 1; i < 10; i++) {
		model[0].underrun = true;
		CHECK_EQ(suite_send(3, 100, 0), 3);
		suite_wait_ms(10);
		CHECK_EQ(suite_card->sent, before + 2 * i);
		CHECK_EQ(suite_nic->count.tx_errors, i);
	}
	CHECK_EQ(suite_nic->count.resets, 0);
	suite_alive();
	suite_end();
}

int main(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		card_suite(&kinds[i]);
	suite = &kinds[0];
	TEST(modes);
	TEST(left_behind);
	TEST(odd_addresses);
	TEST(given_up);
	TEST(underruns);
	TEST(full_rounds);
	return tap_done();
}
