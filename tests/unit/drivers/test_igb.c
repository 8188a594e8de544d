/* The igb driver against its card's model: the common suite, and what these chips alone have. */
#include "tests/unit/drivers/card_suite.h"

#include "tests/models/igb_model.h"

static struct igb_model model[2];

static struct card *plug_i210(unsigned slot, const uint8_t address[6])
{
	return igb_model_plug(&model[slot], 0x1533, slot, address);
}

static struct card *plug_82575(unsigned slot, const uint8_t address[6])
{
	return igb_model_plug(&model[slot], 0x10a7, slot, address);
}

#define KIND(n, p)                                                                         \
	{                                                                                  \
		.name = n, .driver = &igb_driver, .ring = 256, .takes = 255, .sends = 127, \
		.plug = p, .receive = igb_model_receive, .lie = igb_model_lie,             \
		.send = igb_model_send, .quiet = igb_model_quiet, .irq = igb_model_irq,    \
	}
static const struct card_kind kinds[] = {KIND("I210", plug_i210), KIND("82575", plug_82575)};

static void modes(void)
{
	static const struct {
		uint16_t mbit;
		bool half;
	} mode[] = {{1000, false}, {100, false}, {100, true}, {10, true}};
	suite = &kinds[0];
	for (unsigned i = 0; i < ARRAY_SIZE(mode); i++) {
		suite_machine(SUITE_POOL);
		model[0].mbit = mode[i].mbit;
		model[0].half_duplex = mode[i].half;
		CHECK(suite_probe() == NULL);
		CHECK_EQ(suite_nic->carrier.mbit, mode[i].mbit);
		CHECK_EQ(suite_nic->carrier.full_duplex, !mode[i].half);
		CHECK_EQ(model[0].negotiations, 0);
		suite_end();
	}
}

/* What another system left: the PHY off, with a reduced offer. */
static void left_behind(void)
{
	suite = &kinds[0];
	suite_machine(SUITE_POOL);
	model[0].phy[0] = 0x0800;
	model[0].phy[4] = 0x0021;
	model[0].phy[9] = 0;
	CHECK(suite_probe() == NULL);
	CHECK_EQ(model[0].negotiations, 1);
	CHECK_EQ(model[0].wufc, 0);
	CHECK_EQ(model[0].phy[4] & 0x1e0, 0x1e0);
	CHECK_EQ(model[0].phy[9] & 0x200, 0x200);
	suite_wait_ms(10);
	suite_alive();
	suite_end();
}

/* Cards for fibre, and those whose queues do not start, are refused. */
static void refused(void)
{
	suite = &kinds[0];
	for (unsigned i = 0; i < 2; i++) {
		suite_machine(SUITE_POOL);
		model[0].serdes = i == 0;
		model[0].queue_stuck = i == 1;
		CHECK(suite_probe() != NULL);
		CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
		CHECK_EQ(pci_model_faults(), 0);
	}
}

int main(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		card_suite(&kinds[i]);
	TEST(modes);
	TEST(left_behind);
	TEST(refused);
	return tap_done();
}
