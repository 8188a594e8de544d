/* The i8255x driver against its card's model: the common suite with each kind of chip, and what
 * these chips alone have. */
#include "tests/unit/drivers/card_suite.h"

#include "tests/models/i8255x_model.h"

static struct i8255x_model model[2];

static struct card *plug_82559(unsigned slot, const uint8_t address[6])
{
	return i8255x_model_plug(&model[slot], 0x1229, 8, slot, address);
}

static struct card *plug_82557(unsigned slot, const uint8_t address[6])
{
	return i8255x_model_plug(&model[slot], 0x1229, 1, slot, address);
}

static struct card *plug_emulated(unsigned slot, const uint8_t address[6])
{
	struct card *c = i8255x_model_plug(&model[slot], 0x1209, 9, slot, address);
	model[slot].emulated = true;
	return c;
}

#define KIND(n, p, accesses)                                                                     \
	{                                                                                        \
		.name = n, .driver = &i8255x_driver, .ring = 256, .takes = 256, .sends = 127,    \
		.most = accesses, .plug = p, .receive = i8255x_model_receive,                    \
		.lie = i8255x_model_lie, .send = i8255x_model_send, .quiet = i8255x_model_quiet, \
		.irq = i8255x_model_irq,                                                         \
	}
static const struct card_kind kinds[] = {
        KIND("82559", plug_82559, 0),
        KIND("82557", plug_82557, 0),
        KIND("82551 as QEMU emulates it", plug_emulated, 220),
};

/* An EEPROM with 8 bits of address; one with a wrong sum, which the log names; one without an
 * address. */
static void eeproms(void)
{
	suite_machine(SUITE_POOL);
	model[0].eeprom_bits = 8;
	i8255x_model_sum(&model[0]);
	CHECK(suite_probe() == NULL);
	suite_alive();
	suite_end();
	suite_machine(SUITE_POOL);
	model[0].eeprom[20] = 7;
	CHECK(suite_probe() == NULL);
	suite_alive();
	suite_end();
	suite_machine(SUITE_POOL);
	model[0].eeprom[0] |= 1;
	CHECK(suite_probe() != NULL);
	suite_machine(SUITE_POOL);
	model[0].eeprom_bits = 3;
	CHECK(suite_probe() != NULL);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
}

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
		suite_wait_ms(100);
		CHECK_EQ(suite_nic->carrier.mbit, mode[i].mbit);
		CHECK_EQ(suite_nic->carrier.full_duplex, mode[i].full);
		suite_alive();
		suite_end();
	}
}

/* A PHY that was left off, with a reduced offer, or at another number than the EEPROM says; none.
 */
static void phys(void)
{
	suite_machine(SUITE_POOL);
	model[0].phy[0] = 0x0c00;
	model[0].phy[4] = 0x0021;
	model[0].phy_at = 17;
	CHECK(suite_probe() == NULL);
	CHECK_EQ(model[0].phy[4] & 0x1e0, 0x1e0);
	CHECK_EQ(model[0].phy[0] & 0x1c00, 0x1000);
	suite_alive();
	suite_end();
	suite_machine(SUITE_POOL);
	model[0].phy_at = 32;
	CHECK(suite_probe() == NULL);
	suite_wait_ms(100);
	CHECK(!suite_nic->carrier.up);
	suite_end();
	suite_machine(SUITE_POOL); /* a serial interface of 10 Mbit/s has no carrier to read */
	model[0].phy_at = 32;
	model[0].eeprom[6] = 0x8000;
	CHECK(suite_probe() == NULL);
	suite_wait_ms(100);
	CHECK(suite_nic->carrier.up);
	CHECK_EQ(suite_nic->carrier.mbit, 10);
	suite_alive();
	suite_end();
}

/* Erratum of the 82557: the receiver locks up, and the driver revives it. */
static void lockup(void)
{
	suite = &kinds[1];
	suite_machine(SUITE_POOL);
	model[0].eeprom[3] = 0;
	CHECK(suite_probe() == NULL);
	suite_alive();
	model[0].locked_up = true;
	CHECK_EQ(suite_arrive(64, 1), CARD_OFF);
	suite_wait_ms(3000);
	suite_alive();
	suite_end();
	suite_begin(); /* without the erratum nothing is set up again */
	unsigned before = model[0].multicast_setups;
	suite_wait_ms(5000);
	CHECK_EQ(model[0].multicast_setups, before);
	suite_end();
	suite = &kinds[0];
}

/* A resume that the card does not accept is repeated by poll(), which a halt must not delay. */
static void resume_owed(void)
{
	struct card *c = suite_begin();
	unsigned before = c->sent;
	model[0].busy = c->reset_stuck = true; /* the command before stays */
	CHECK_EQ(suite_send(1, 100, 0), 1);
	CHECK_EQ(c->sent, before);
	CHECK(suite_nic->ops->arm(suite_nic));
	c->reset_stuck = false;
	suite_wait_ms(20);
	CHECK(suite_sent(before, 100, 0));
	CHECK(!suite_nic->ops->arm(suite_nic));
	suite_end();
}

/* Boards that stand by get a command before each resume. */
static void standby(void)
{
	suite_machine(SUITE_POOL);
	model[0].eeprom[10] |= 2;
	CHECK(suite_probe() == NULL);
	suite_wait_ms(100);
	unsigned before = model[0].nops;
	suite_send(3, 64, 0);
	CHECK_EQ(model[0].nops, before + 1);
	suite_end();
	suite_begin();
	before = model[0].nops;
	suite_send(3, 64, 0);
	CHECK_EQ(model[0].nops, before);
	suite_end();
}

int main(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		card_suite(&kinds[i]);
	suite = &kinds[0];
	TEST(eeproms);
	TEST(modes);
	TEST(phys);
	TEST(lockup);
	TEST(resume_owed);
	TEST(standby);
	return tap_done();
}
