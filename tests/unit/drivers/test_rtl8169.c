/* The rtl8169 driver against its card's model: the common suite with a card for PCI, one for PCI
 * Express, and one of those whose receiver is behind a gate; and what these chips alone have. */
#include "tests/unit/drivers/card_suite.h"

#include "tests/models/rtl8169_model.h"

static struct rtl8169_model model[2];
static uint32_t version;

static struct card *plug_8110(unsigned slot, const uint8_t address[6])
{
	return rtl8169_model_plug(&model[slot], 0x040, slot, address);
}

static struct card *plug_8168c(unsigned slot, const uint8_t address[6])
{
	return rtl8169_model_plug(&model[slot], 0x3c0, slot, address);
}

static struct card *plug_8168h(unsigned slot, const uint8_t address[6])
{
	return rtl8169_model_plug(&model[slot], 0x541, slot, address);
}

static struct card *plug_version(unsigned slot, const uint8_t address[6])
{
	return rtl8169_model_plug(&model[slot], version, slot, address);
}

#define KIND(n, p)                                                                             \
	{                                                                                      \
		.name = n, .driver = &rtl8169_driver, .ring = 256, .takes = 256, .sends = 127, \
		.plug = p, .receive = rtl8169_model_receive, .lie = rtl8169_model_lie,         \
		.send = rtl8169_model_send, .quiet = rtl8169_model_quiet,                      \
		.irq = rtl8169_model_irq,                                                      \
	}
static const struct card_kind kinds[] = {
        KIND("8110S", plug_8110),
        KIND("8168C", plug_8168c),
        KIND("8168H", plug_8168h),
};
static const struct card_kind any = KIND("any", plug_version);

static void begin(uint32_t xid)
{
	suite = &any;
	version = xid;
	suite_begin();
}

/* All versions that the driver knows; those that it does not know are refused. */
static void versions(void)
{
	static const uint16_t known[] = {0x008, 0x040, 0x100, 0x180, 0x980, 0x300, 0x380,
	                                 0x340, 0x348, 0x24a, 0x409, 0x449, 0x3c2, 0x3c9,
	                                 0x281, 0x2c1, 0x2c8, 0x480, 0x481, 0x488, 0x4c1,
	                                 0x509, 0x5c8, 0x540, 0xbc0, 0xac8, 0xcc0, 0xd41};
	static const uint16_t unknown[] = {0x608, 0x288, 0x502, 0x0c0, 0x7c0};
	static const mac group = {{0x33, 0x33, 0, 0, 0, 1}};
	for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
		begin(known[i]);
		suite_alive();
		suite_nic->ops->filter(suite_nic, false, &group, 1);
		CHECK(passes(group.b) && passes(suite_mac));
		suite_end();
	}
	for (unsigned i = 0; i < ARRAY_SIZE(unknown); i++) {
		version = unknown[i];
		suite_machine(SUITE_POOL);
		CHECK(suite_probe() != NULL);
		CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
	}
}

/* Speed and duplex are the best that both ends offer. */
static void modes(void)
{
	static const struct {
		uint32_t xid;
		uint16_t partner, gbit, mbit;
		bool full;
	} mode[] = {{0x040, 0x45e1, 0x0800, 1000, true}, {0x3c0, 0x45e1, 0, 100, true},
	            {0x541, 0x40a1, 0, 100, false},      {0x040, 0x4061, 0, 10, true},
	            {0x3c0, 0x4021, 0, 10, false},       {0x348, 0x45e1, 0x0800, 100, true}};
	suite = &any;
	for (unsigned i = 0; i < ARRAY_SIZE(mode); i++) {
		version = mode[i].xid;
		suite_machine(SUITE_POOL);
		model[0].partner = mode[i].partner;
		model[0].partner_gbit = mode[i].gbit;
		CHECK(suite_probe() == NULL);
		CHECK_EQ(suite_nic->carrier.mbit, mode[i].mbit);
		CHECK_EQ(suite_nic->carrier.full_duplex, mode[i].full);
		CHECK_EQ(model[0].negotiations, 0);
		suite_end();
	}
}

/* What another system left: the PHY off, with a reduced offer; wake-up; an address of its own. */
static void left_behind(void)
{
	static const uint8_t other[6] = {2, 2, 2, 2, 2, 2};
	for (unsigned k = 0; k < ARRAY_SIZE(kinds); k++) {
		suite = &kinds[k];
		suite_machine(SUITE_POOL);
		model[0].phy[0] = 0x0800;
		model[0].phy[4] = 0x0021;
		model[0].phy[9] = 0;
		if (model[0].xid == 0x541)
			memcpy(model[0].idr, other, 6);
		CHECK(suite_probe() == NULL);
		CHECK_EQ(model[0].negotiations, 1);
		CHECK_EQ(model[0].phy[4] & 0x1e0, 0x1e0);
		CHECK_EQ(model[0].phy[9] & 0x200, 0x200);
		CHECK_EQ(model[0].config[3] & 0x33, 0);
		CHECK_EQ(model[0].config[5] & 0x72, 0);
		CHECK(memcmp(model[0].idr, suite_mac, 6) == 0);
		suite_wait_ms(10);
		suite_alive();
		suite_end();
	}
	suite_machine(SUITE_POOL);
	memset(model[0].burned, 0, 6);
	memset(model[0].idr, 0, 6);
	CHECK(suite_probe() != NULL);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
}

/* A command to send that is lost is repeated by the next poll or arm. */
static void lost_commands(void)
{
	for (unsigned turn = 0; turn < 2; turn++) {
		struct card *c = (begin(0x3c0), suite_card);
		unsigned before = c->sent;
		model[0].lose = 1;
		CHECK_EQ(suite_send(3, 100, 0), 3);
		CHECK_EQ(c->sent, before);
		if (turn)
			suite_nic->ops->arm(suite_nic);
		else
			suite_wait_ms(10);
		CHECK_EQ(c->sent, before + 3);
		CHECK_EQ(suite_nic->count.resets, 0);
		suite_end();
	}
}

/* The first 8168 needs a reset when its receiver ran over; the others go on. */
static void overflows(void)
{
	static const uint32_t xid[] = {0x300, 0x3c0, 0x040};
	for (unsigned i = 0; i < ARRAY_SIZE(xid); i++) {
		begin(xid[i]);
		rtl8169_model_overflow(suite_card);
		CHECK_EQ(rtl8169_model_irq(suite_card), i == 0);
		suite_wait_ms(100);
		CHECK_EQ(suite_nic->count.resets, i == 0);
		suite_alive();
		suite_end();
	}
}

/* A frame that fills several descriptors is dropped and counted once. */
static void long_frames(void)
{
	begin(0x040);
	for (unsigned i = 0; i < 300; i++) {
		rtl8169_model_long(suite_card, 2049 + 19 * i);
		CHECK_EQ(suite_take_all(0, 0), 0);
	}
	CHECK_EQ(suite_nic->count.rx_errors, 300);
	suite_alive();
	suite_end();
}

/* After an error of the bus the card is reset. */
static void bus_errors(void)
{
	begin(0x541);
	rtl8169_model_bus_error(suite_card);
	CHECK(rtl8169_model_irq(suite_card));
	suite_nic->ops->arm(suite_nic);
	suite_wait_ms(100);
	CHECK_EQ(suite_nic->count.resets, 1);
	suite_alive();
	suite_end();
}

/* Linksys sold another maker's chip with the same device number. */
static void another_maker(void)
{
	suite = &any;
	version = 0x040;
	for (unsigned i = 0; i < 2; i++) {
		suite_machine(SUITE_POOL);
		store16(suite_card->pci.cfg, 0x1737);
		store16(suite_card->pci.cfg + 2, 0x1032);
		store16(suite_card->pci.cfg + 46, i ? 0x0024 : 0x0015);
		CHECK_EQ(suite_probe() == NULL, i == 1);
	}
	suite_end();
}

int main(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		card_suite(&kinds[i]);
	TEST(versions);
	TEST(modes);
	TEST(left_behind);
	TEST(lost_commands);
	TEST(overflows);
	TEST(long_frames);
	TEST(bus_errors);
	TEST(another_maker);
	return tap_done();
}
