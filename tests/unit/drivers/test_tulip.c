/* The tulip driver against its card's model: the common suite with both chips, and what these alone
 * have. */
#include "tests/unit/drivers/card_suite.h"

#include "tests/models/tulip_model.h"

static struct tulip_model model[2];

static struct card *plug_21143(unsigned slot, const uint8_t address[6])
{
	return tulip_model_plug(&model[slot], 0x0019, slot, address);
}

static struct card *plug_21140(unsigned slot, const uint8_t address[6])
{
	return tulip_model_plug(&model[slot], 0x0009, slot, address);
}

#define KIND(n, p)                                                                            \
	{                                                                                     \
		.name = n, .driver = &tulip_driver, .ring = 256, .takes = 256, .sends = 127,  \
		.plug = p, .receive = tulip_model_receive, .lie = tulip_model_lie,            \
		.send = tulip_model_send, .quiet = tulip_model_quiet, .irq = tulip_model_irq, \
	}
static const struct card_kind kinds[] = {
        KIND("21143", plug_21143),
        KIND("21140", plug_21140),
};

/* Speed and duplex are the best that both ends offer; they change with the cable's other end. */
static void modes(void)
{
	static const struct {
		uint16_t partner, mbit;
		bool full;
	} mode[] = {
	        {0x45e1, 100, true}, {0x40a1, 100, false}, {0x4061, 10, true}, {0x4021, 10, false}};
	suite_begin();
	for (unsigned i = 0; i < ARRAY_SIZE(mode); i++) {
		model[0].partner = mode[i].partner;
		suite_wait_ms(500);
		CHECK_EQ(suite_nic->carrier.mbit, mode[i].mbit);
		CHECK_EQ(suite_nic->carrier.full_duplex, mode[i].full);
		CHECK_EQ(model[0].csr[6] >> 9 & 1, mode[i].full);
		CHECK_EQ(model[0].csr[6] >> 22 & 1, mode[i].mbit == 10);
		suite_alive();
	}
	CHECK_EQ(suite_nic->count.resets, 0);
	suite_end();
}

/* A PHY at another number, one that was left off with a reduced offer, none. */
static void phys(void)
{
	suite_machine(SUITE_POOL);
	model[0].phy_at = 30;
	model[0].phy[0] = 0x0c00;
	model[0].phy[4] = 0x0021;
	CHECK(suite_probe() == NULL);
	CHECK_EQ(model[0].phy[4] & 0x1e0, 0x1e0);
	CHECK_EQ(model[0].phy[0] & 0x1c00, 0x1000);
	suite_wait_ms(500);
	suite_alive();
	suite_end();
	suite_machine(SUITE_POOL);
	model[0].phy_at = 32;
	CHECK(suite_probe() != NULL);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
	CHECK_EQ(pci_model_faults(), 0);
}

/* A PHY that needs its time after each reset of the board: the start waits for it, a restart does
 * not hold the main loop up. */
static void slow_phy(void)
{
	suite_machine(SUITE_POOL);
	model[0].phy_us = 300000;
	model[0].phy[0] = 0x0c00;
	uint64_t before = host_now_us;
	CHECK(suite_probe() == NULL);
	CHECK(host_now_us - before < 500000);
	suite_wait_ms(500);
	CHECK_EQ(model[0].phy[0] & 0x1c00, 0x1000);
	suite_alive();
	model[0].phy[0] = 0x0c00;
	suite_card->tx_hung = true;
	CHECK_EQ(suite_send(3, 64, 0), 3);
	CHECK(slowest_poll_us(2500) < 60000);
	CHECK_EQ(suite_nic->count.resets, 1);
	suite_wait_ms(1000);
	CHECK_EQ(model[0].phy[0] & 0x1c00, 0x1000);
	suite_alive();
	suite_end();
}

/* An EEPROM with 8 bits of address; one of an old board; one without an address; one whose tables
 * lead out of it. */
static void eeproms(void)
{
	suite_machine(SUITE_POOL);
	model[0].srom_bits = 8;
	CHECK(suite_probe() == NULL);
	suite_alive();
	suite_end();
	suite_machine(SUITE_POOL);
	memset(model[0].srom, 0, sizeof model[0].srom);
	for (unsigned i = 0; i < 3; i++)
		model[0].srom[i] = model[0].srom[8 + i] = load16(suite_mac + 2 * i);
	CHECK(suite_probe() == NULL);
	suite_alive();
	suite_end();
	suite_machine(SUITE_POOL);
	model[0].srom[10] |= 1;
	CHECK(suite_probe() != NULL);
	suite_machine(SUITE_POOL);
	model[0].srom_bits = 3;
	CHECK(suite_probe() != NULL);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
	for (unsigned i = 0; i < 300; i++) {
		suite_random = i + 1;
		suite_machine(SUITE_POOL);
		for (unsigned k = 13; k < 64; k++)
			model[0].srom[k] = (uint16_t)random_below(65536);
		if (i & 1) /* the leaf is inside */
			model[0].srom[13] = (uint16_t)(random_below(100) << 8),
			model[0].srom[14] = 0;
		CHECK(suite_probe() == NULL);
		suite_end();
	}
}

/* The EEPROM's sequences for the pins: the reset, then the choice of the PHY. */
static void sequences(void)
{
	static const uint16_t want_43[] = {0x0010, 0x0004, 0x0005, 0x0801, 0x0002};
	static const uint16_t want_40[] = {0x10f, 0x10, 0x00, 0x11, 0x01, 0x02};
	suite_begin();
	CHECK_EQ(model[0].n_pins, ARRAY_SIZE(want_43));
	CHECK(memcmp(model[0].pins, want_43, sizeof want_43) == 0);
	suite_end();
	suite = &kinds[1];
	suite_begin();
	CHECK_EQ(model[0].n_pins, ARRAY_SIZE(want_40));
	CHECK(memcmp(model[0].pins, want_40, sizeof want_40) == 0);
	suite_end();
	suite = &kinds[0];
}

/* After an error of the bus the card is reset. */
static void bus_errors(void)
{
	suite_begin();
	model[0].bus_error = true;
	CHECK_EQ(suite_send(3, 100, 0), 3);
	suite_wait_ms(100);
	CHECK_EQ(suite_nic->count.resets, 1);
	CHECK_EQ(suite_nic->count.tx_errors, 3);
	suite_alive();
	suite_end();
}

int main(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		card_suite(&kinds[i]);
	suite = &kinds[0];
	TEST(modes);
	TEST(phys);
	TEST(slow_phy);
	TEST(eeproms);
	TEST(sequences);
	TEST(bus_errors);
	return tap_done();
}
