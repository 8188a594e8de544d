/* The 82571, 82572 and 82573 against the card's model: start, restart and stop with the semaphores
 * of their PHY, and the settings that their errata need, which the model checks. */
#include "tests/unit/drivers/e1000_kit.h"

static const struct {
	enum e1000_kind kind;
	uint16_t device;
} chip[] = {
        {E1000_KIND_82571, 0x105e}, {E1000_KIND_82571, 0x10a4}, {E1000_KIND_82571, 0x10bc},
        {E1000_KIND_82571, 0x10d5}, {E1000_KIND_82571, 0x107d}, {E1000_KIND_82571, 0x10b9},
        {E1000_KIND_82573, 0x108b}, {E1000_KIND_82573, 0x108c}, {E1000_KIND_82573, 0x109a},
};

/* Makes a machine with chip i, not yet started. */
static struct e1000_model *plug(unsigned i)
{
	kit_machine(KIT_POOL);
	struct e1000_model *m = kit_plug(0, chip[i].kind, chip[i].device);
	m->configure_us = 30000;
	return m;
}

static void starts_each_chip(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(chip); i++) {
		struct e1000_model *m = plug(i);
		uint64_t before = host_now_us;
		CHECK(kit_probe() == NULL);
		if (!kit_nics)
			continue;
		CHECK(host_now_us - before < 400000);
		CHECK_EQ(kit_nic[0]->offloads, NIC_SUM);
		CHECK(memcmp(kit_nic[0]->address.b, kit_mac[0], 6) == 0);
		CHECK_EQ(m->pci.cfg[m->pcie_cap + 16], 0x40); /* saves no power on its link */
		CHECK_EQ(kit_nic[0]->carrier.mbit, 1000);
		kit_check_works(m);
		kit_restart(m);
		kit_check_works(m);
		kit_end();
	}
}

/* The address is the one that the chip loaded for this interface, wherever from. */
static void takes_the_address_that_was_loaded(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(chip); i++) {
		struct e1000_model *m = plug(i);
		m->eeprom[2] ^= 0x0100;
		m->eeprom[0x3f] ^= 1; /* and the sum is wrong */
		CHECK(kit_probe() == NULL);
		CHECK_EQ(kit_nic[0]->address.b[5], kit_mac[0][5] ^ 1);
		kit_end();
	}
}

/* A semaphore may never be given back. The driver goes on without that of the other interface. It
 * leaves the PHY alone without that of the firmware. */
static void semaphores_that_are_kept(void)
{
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(chip); i++) {
		struct e1000_model *m = plug(i / 2);
		uint64_t before = host_now_us;
		m->firmware_stuck = i & 1;
		m->interface_stuck = !(i & 1);
		m->phy[PHY_BMCR] = 0x1940; /* powered down */
		CHECK(kit_probe() == NULL);
		CHECK(host_now_us - before < 700000);
		CHECK_EQ(m->phy[PHY_BMCR] & 0x800, i & 1 ? 0x800 : 0);
		m->firmware_stuck = m->interface_stuck = false;
		if (!(i & 1)) {
			kit_wait_ms(10);
			kit_restart(m);
			kit_check_works(m);
		}
		kit_end();
	}
}

/* A semaphore that another driver left taken is freed once, by the first interface's driver. */
static void semaphore_of_a_driver_that_ended(void)
{
	for (unsigned locked = 0; locked < 2; locked++) {
		struct e1000_model *m = plug(0);
		m->reg[SWSM2 / 4] = locked ? 2 : 0;
		uint64_t before = host_now_us;
		CHECK(kit_probe() == NULL);
		CHECK_EQ(m->reg[SWSM2 / 4] & 2, 2);
		CHECK(host_now_us - before < 400000);
		kit_check_works(m);
		kit_end();
	}
}

/* Transfers that never end, the PHY's owner that does not change, firmware that never is ready:
 * each wait has an end. */
static void waits_have_an_end(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(chip); i++) {
		struct e1000_model *m = plug(i);
		uint64_t before = host_now_us;
		m->master_stuck = true;
		m->owner_stuck = true;
		m->configure_us = 4000000000u;
		CHECK(kit_probe() == NULL);
		CHECK(host_now_us - before < 600000);
		kit_check_works(m);
		m->master_stuck = m->owner_stuck = false;
		m->configure_us = 0;
		kit_end();
	}
}

/* An 82571's PHY that keeps to the lowest speed is told not to. */
static void lowest_speed(void)
{
	struct e1000_model *m = plug(0);
	m->phy[25] = 0x0006;
	m->negotiate_us = 1000000;
	CHECK(kit_probe() == NULL);
	CHECK_EQ(m->phy[25], 0x0004);
	CHECK(m->linkup_us > host_now_us); /* it negotiates again */
	kit_end();
	m = plug(6);
	m->phy[25] = 0x0006;
	CHECK(kit_probe() == NULL);
	CHECK_EQ(m->phy[25], 0x0006);
	kit_end();
}

/* The settings of an 82573 may be in a flash memory. */
static void settings_in_flash_memory(void)
{
	struct e1000_model *m = plug(6);
	m->flash = true;
	CHECK(kit_probe() == NULL);
	CHECK(m->reloads > 0 && m->reloads == m->resets);
	kit_check_works(m);
	kit_restart(m);
	CHECK_EQ(m->reloads, m->resets);
	kit_end();
}

/* A card that is gone holds nothing up. */
static void gone_costs_no_time(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(chip); i++) {
		struct e1000_model *m = plug(i);
		CHECK(kit_probe() == NULL);
		kit_wait_ms(100);
		m->tx_hold = true;
		CHECK_EQ(kit_send(0, 3, 64, 0), 3);
		m->gone = true;
		for (unsigned k = 0; k < 600; k++) {
			host_now_us += 10000;
			uint64_t before = host_now_us;
			kit_nic[0]->ops->poll(kit_nic[0], host_now_us);
			CHECK(host_now_us - before < 500);
		}
		CHECK(!kit_nic[0]->carrier.up);
		struct nic_report r = {0};
		uint64_t before = host_now_us;
		kit_nic[0]->ops->report(kit_nic[0], &r);
		CHECK(host_now_us - before < 500);
		pci_model_reset();
	}
}

int main(void)
{
	TEST(starts_each_chip);
	TEST(takes_the_address_that_was_loaded);
	TEST(semaphores_that_are_kept);
	TEST(semaphore_of_a_driver_that_ended);
	TEST(waits_have_an_end);
	TEST(lowest_speed);
	TEST(settings_in_flash_memory);
	TEST(gone_costs_no_time);
	return tap_done();
}
