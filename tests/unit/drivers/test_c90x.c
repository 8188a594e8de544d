/* The c90x driver against its card's model: the common suite with a card of each generation and one
 * without a PHY, and what these cards alone have. */
#include "tests/unit/drivers/card_suite.h"

#include "tests/models/c90x_model.h"

static struct c90x_model model[2];

static struct card *plug_c(unsigned slot, const uint8_t address[6])
{
	return c90x_model_plug(&model[slot], 0x9200, slot, address);
}

static struct card *plug_b(unsigned slot, const uint8_t address[6])
{
	return c90x_model_plug(&model[slot], 0x9055, slot, address);
}

static struct card *plug_old(unsigned slot, const uint8_t address[6])
{
	return c90x_model_plug(&model[slot], 0x9050, slot, address);
}

static struct card *plug_10(unsigned slot, const uint8_t address[6])
{
	return c90x_model_plug(&model[slot], 0x9004, slot, address);
}

#define KIND(n, p, is_old)                                                                     \
	{                                                                                      \
		.name = n, .driver = &c90x_driver, .ring = 256, .takes = 256, .sends = 127,    \
		.looks = !is_old, .all_groups = is_old, .most = is_old ? 320 : 0, .plug = p,   \
		.receive = c90x_model_receive, .lie = c90x_model_lie, .send = c90x_model_send, \
		.quiet = c90x_model_quiet, .irq = c90x_model_irq,                              \
	}
static const struct card_kind kinds[] = {
        KIND("3c905C", plug_c, false),
        KIND("3c905B", plug_b, false),
        KIND("3c905", plug_old, true),
        KIND("3c900B", plug_10, false),
};

/* Speed and duplex are the best that both ends offer; the card gets the duplex of its PHY. */
static void modes(void)
{
	static const struct {
		uint16_t partner, mbit;
		bool full;
	} mode[] = {
	        {0x45e1, 100, true}, {0x40a1, 100, false}, {0x4061, 10, true}, {0x4021, 10, false}};
	for (unsigned i = 0; i < 3 * ARRAY_SIZE(mode); i++) {
		suite = &kinds[i / ARRAY_SIZE(mode)];
		suite_machine(SUITE_POOL);
		model[0].partner = mode[i % ARRAY_SIZE(mode)].partner;
		CHECK(suite_probe() == NULL);
		CHECK_EQ(suite_nic->carrier.mbit, mode[i % ARRAY_SIZE(mode)].mbit);
		CHECK_EQ(suite_nic->carrier.full_duplex, mode[i % ARRAY_SIZE(mode)].full);
		CHECK_EQ((model[0].mac_control & 0x20) != 0, mode[i % ARRAY_SIZE(mode)].full);
		CHECK_EQ(model[0].negotiations, 0);
		suite_alive();
		suite_end();
	}
	suite = &kinds[3];
	suite_begin();
	CHECK_EQ(suite_nic->carrier.mbit, 10);
	suite_end();
}

/* What another system left: the PHY off, with a reduced offer; another connection. */
static void left_behind(void)
{
	for (unsigned k = 0; k < 3; k++) {
		suite = &kinds[k];
		suite_machine(SUITE_POOL);
		model[0].phy[0] = 0x0800;
		model[0].phy[4] = 0x0021;
		model[0].phy_at = 3;
		model[0].internal = 0x01300155;
		CHECK(suite_probe() == NULL);
		CHECK_EQ(model[0].negotiations, 1);
		CHECK_EQ(model[0].phy[4] & 0x1e0, 0x1e0);
		CHECK_EQ(model[0].internal, k == 2 ? 0x01600155 : 0x01800155);
		CHECK_EQ(model[0].link_losses, 0);
		suite_wait_ms(300);
		suite_alive();
		suite_end();
	}
}

/* The address of who built the PC, else 3Com's, else none. */
static void addresses(void)
{
	suite = &kinds[0];
	suite_machine(SUITE_POOL);
	memset(model[0].eeprom + 10, 0, 6);
	CHECK(suite_probe() == NULL);
	CHECK(memcmp(suite_nic->address.b, suite_mac, 6) == 0);
	suite_end();
	suite_machine(SUITE_POOL);
	memset(model[0].eeprom, 0xff, sizeof model[0].eeprom);
	CHECK(suite_probe() != NULL);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
}

/* A frame that cannot be sent stops the transmitter: collisions need a command, the others a reset.
 */
static void transmit_errors(void)
{
	static const uint8_t error[] = {0x88, 0x90, 0xa0, 0x84};
	for (unsigned k = 0; k < ARRAY_SIZE(kinds); k++)
		for (unsigned i = 0; i < ARRAY_SIZE(error); i++) {
			suite = &kinds[k];
			suite_begin();
			unsigned before = suite_card->sent;
			model[0].next_error = error[i];
			CHECK_EQ(suite_send(3, 100, 0), 3);
			CHECK_EQ(suite_card->sent, before);
			CHECK(c90x_model_irq(suite_card));
			suite_wait_ms(20);
			bool fatal = error[i] & 0x30;
			CHECK_EQ(suite_nic->count.resets, fatal);
			CHECK_EQ(suite_card->sent, before + (fatal ? 0 : 2));
			CHECK(suite_nic->count.tx_errors >= 1);
			suite_alive();
			suite_end();
		}
}

/* Many missed frames: no counter overflows, and none keeps the line asserted. */
static void many_missed(void)
{
	suite = &kinds[0];
	suite_begin();
	for (unsigned i = 0; i < 256; i++)
		CHECK_EQ(suite_arrive(64, i), CARD_TAKEN);
	for (unsigned turn = 0; turn < 5; turn++) {
		for (unsigned i = 0; i < 200; i++)
			CHECK_EQ(suite_arrive(64, i), CARD_MISSED);
		suite_wait_ms(10);
	}
	CHECK_EQ(suite_nic->count.rx_missed, 1000);
	CHECK_EQ(suite_take_all(64, 0), 256);
	suite_alive();
	suite_end();
}

/* After an error of the bus the card is reset. */
static void bus_errors(void)
{
	suite = &kinds[0];
	suite_begin();
	c90x_model_host_error(suite_card);
	CHECK(c90x_model_irq(suite_card));
	suite_wait_ms(100);
	CHECK_EQ(suite_nic->count.resets, 1);
	suite_alive();
	suite_end();
}

/* Frames to wanted groups pass, whatever the numbers of their bits are. */
static void many_groups(void)
{
	for (unsigned k = 0; k < 2; k++) {
		suite = &kinds[k];
		suite_begin();
		mac group[8];
		for (unsigned turn = 0; turn < 100; turn++) {
			for (unsigned i = 0; i < ARRAY_SIZE(group); i++)
				group[i] = (mac){{0x33, 0x33, 0xff, (uint8_t)turn, (uint8_t)i, 7}};
			suite_nic->ops->filter(suite_nic, false, group, ARRAY_SIZE(group));
			for (unsigned i = 0; i < ARRAY_SIZE(group); i++)
				CHECK(passes(group[i].b));
		}
		suite_end();
	}
}

int main(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		card_suite(&kinds[i]);
	TEST(modes);
	TEST(left_behind);
	TEST(addresses);
	TEST(transmit_errors);
	TEST(many_groups);
	TEST(many_missed);
	TEST(bus_errors);
	return tap_done();
}
