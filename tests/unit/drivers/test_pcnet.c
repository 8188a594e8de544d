/* The pcnet driver against its card's model: the common suite with each generation, and what these
 * chips alone have. */
#include "tests/unit/drivers/card_suite.h"

#include "tests/models/pcnet_model.h"

static struct pcnet_model model[2];

static struct card *plug_970a(unsigned slot, const uint8_t address[6])
{
	return pcnet_model_plug(&model[slot], 0x2621, slot, address);
}

static struct card *plug_970(unsigned slot, const uint8_t address[6])
{
	return pcnet_model_plug(&model[slot], 0x2430, slot, address);
}

static struct card *plug_973(unsigned slot, const uint8_t address[6])
{
	return pcnet_model_plug(&model[slot], 0x2625, slot, address);
}

#define KIND(n, p)                                                                            \
	{                                                                                     \
		.name = n, .driver = &pcnet_driver, .ring = 256, .takes = 256, .sends = 127,  \
		.plug = p, .receive = pcnet_model_receive, .lie = pcnet_model_lie,            \
		.send = pcnet_model_send, .quiet = pcnet_model_quiet, .irq = pcnet_model_irq, \
	}
static const struct card_kind kinds[] = {
        KIND("Am79C970A", plug_970a),
        KIND("Am79C970, which cannot be suspended", plug_970),
        KIND("Am79C973, with MII", plug_973),
};

/* Speed and duplex of the chips with MII are the best that both ends offer. */
static void modes(void)
{
	static const struct {
		uint16_t partner, mbit;
		bool full;
	} mode[] = {
	        {0x45e1, 100, true}, {0x40a1, 100, false}, {0x4061, 10, true}, {0x4021, 10, false}};
	suite = &kinds[2];
	for (unsigned i = 0; i < ARRAY_SIZE(mode); i++) {
		suite_machine(SUITE_POOL);
		model[0].partner = mode[i].partner;
		model[0].phy_at = 30;
		CHECK(suite_probe() == NULL);
		CHECK_EQ(suite_nic->carrier.mbit, mode[i].mbit);
		CHECK_EQ(suite_nic->carrier.full_duplex, mode[i].full);
		CHECK_EQ(model[0].bcr[9] & 1, mode[i].full);
		CHECK_EQ(model[0].negotiations, 0);
		suite_alive();
		/* Another partner. */
		model[0].partner = mode[(i + 1) % ARRAY_SIZE(mode)].partner;
		suite_wait_ms(100);
		CHECK_EQ(suite_nic->carrier.full_duplex, mode[(i + 1) % ARRAY_SIZE(mode)].full);
		suite_alive();
		suite_end();
	}
	suite_machine(SUITE_POOL);
	model[0].phy_at = 31; /* the one that is none */
	CHECK(suite_probe() != NULL);
	suite = &kinds[0];
	suite_begin();
	CHECK_EQ(suite_nic->carrier.mbit, 10);
	suite_end();
}

/* What another system left: the PHY off, with a reduced offer, and a duplex. */
static void left_behind(void)
{
	suite = &kinds[2];
	suite_machine(SUITE_POOL);
	model[0].phy[0] = 0x0800;
	model[0].phy[4] = 0x0021;
	model[0].bcr[9] = 3;
	model[0].partner = 0x40a1;
	CHECK(suite_probe() == NULL);
	CHECK_EQ(model[0].negotiations, 1);
	CHECK_EQ(model[0].phy[0] & 0x1c00, 0x1000);
	CHECK_EQ(model[0].phy[4] & 0x1e0, 0x1e0);
	CHECK_EQ(model[0].bcr[9], 2);
	suite_wait_ms(100);
	suite_alive();
	suite_end();
	suite = &kinds[0];
}

/* A card that is no PCnet-PCI, one without an address, one that does not end its initialization. */
static void refused(void)
{
	suite_machine(SUITE_POOL);
	model[0].csr[89] = 0;
	model[0].part = 0x0003;
	CHECK(suite_probe() != NULL);
	suite_machine(SUITE_POOL);
	model[0].prom[0] = 1;
	CHECK(suite_probe() != NULL);
	suite_machine(SUITE_POOL);
	model[0].init_stuck = true;
	uint64_t before = host_now_us;
	CHECK(suite_probe() != NULL);
	CHECK(host_now_us - before < 300000);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
	CHECK_EQ(pci_model_faults(), 0);
}

/* A frame that was not read from memory in time counts, and the next ones leave. */
static void underflows(void)
{
	suite_begin();
	model[0].underflow = true;
	CHECK_EQ(suite_send(3, 100, 0), 3);
	CHECK_EQ(suite_card->sent, 2);
	suite_wait_ms(100);
	CHECK_EQ(suite_nic->count.tx_errors, 1);
	suite_alive();
	CHECK_EQ(suite_nic->count.resets, 0);
	suite_end();
}

/* A descriptor that was given back, but whose end is not written yet, waits for it: one at a time,
 * and all round the ring. A frame that went on into the next descriptor is too long. */
static void ends_late(void)
{
	suite_begin();
	model[0].end_late = true;
	for (uint32_t i = 0; i < 2 * suite->ring; i++) {
		CHECK_EQ(suite_arrive(100, i), CARD_TAKEN);
		CHECK_EQ(suite_take(NIC_BURST, 100, i), 0);
		CHECK(!suite_nic->ops->arm(suite_nic));
		pcnet_model_end(&model[0]);
		CHECK(suite_nic->ops->arm(suite_nic));
		CHECK_EQ(suite_take(NIC_BURST, 100, i), 1);
	}
	CHECK_EQ(suite_nic->count.rx_errors, 0);
	CHECK_EQ(suite_arrive(100, 0), CARD_TAKEN);
	model[0].end_late = false;
	CHECK_EQ(suite_arrive(100, 1), CARD_TAKEN);
	CHECK_EQ(suite_take(NIC_BURST, 100, 1), 1);
	CHECK_EQ(suite_nic->count.rx_errors, 1);
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
	TEST(refused);
	TEST(underflows);
	TEST(ends_late);
	return tap_done();
}
