/* What the chips and boards of the family need, and their errata, against the card's model:
 * each chip is found, started, reset and stopped in its own way. */
#include "tests/unit/drivers/e1000_kit.h"

static const struct {
	enum e1000_kind kind;
	uint16_t device;
	bool pair; /* an 82546: two interfaces */
} chip[] = {
        {E1000_KIND_82544, 0x1008, false}, {E1000_KIND_82544, 0x100c, false},
        {E1000_KIND_82544, 0x100d, false}, {E1000_KIND_82540, 0x100e, false},
        {E1000_KIND_82540, 0x1015, false}, {E1000_KIND_82540, 0x1016, false},
        {E1000_KIND_82540, 0x1017, false}, {E1000_KIND_82540, 0x101e, false},
        {E1000_KIND_82540, 0x100f, false}, {E1000_KIND_82540, 0x1026, false},
        {E1000_KIND_82540, 0x1010, true},  {E1000_KIND_82540, 0x101d, true},
        {E1000_KIND_82540, 0x1079, true},  {E1000_KIND_82540, 0x1099, true},
        {E1000_KIND_82540, 0x10b5, true},  {E1000_KIND_82541, 0x1013, false},
        {E1000_KIND_82541, 0x1014, false}, {E1000_KIND_82541, 0x1018, false},
        {E1000_KIND_82541, 0x1076, false}, {E1000_KIND_82541, 0x1077, false},
        {E1000_KIND_82541, 0x1078, false}, {E1000_KIND_82541, 0x107c, false},
        {E1000_KIND_82541, 0x1019, false}, {E1000_KIND_82541, 0x101a, false},
        {E1000_KIND_82541, 0x1075, false}, {E1000_KIND_82574, 0x10d3, false},
        {E1000_KIND_82574, 0x10f6, false}, {E1000_KIND_82574, 0x150c, false},
};

/* Makes a machine with chip i, not yet started. */
static struct e1000_model *plug(unsigned i)
{
	kit_machine(KIT_POOL);
	return kit_plug(0, chip[i].kind, chip[i].device);
}

/* Every number of the driver's list is a chip of the table, and the model finds no fault with
 * how the driver handles it: start, restart, stop, with and without I/O ports that respond. */
static void knows_the_family(void)
{
	CHECK_EQ(e1000_driver.n_ids, ARRAY_SIZE(chip) + 9); /* those of test_e1000_pcie.c */
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(chip); i++) {
		struct e1000_model *m = plug(i / 2);
		m->io_deaf = i % 2;
		/* Without a signature the card loads no address, so the driver must have
		 * read it. */
		m->eeprom[0x0a] = 0;
		e1000_model_eeprom_sum(m);
		CHECK(kit_probe() == NULL);
		if (!kit_nics)
			continue;
		CHECK(memcmp(kit_nic[0]->address.b, kit_mac[0], 6) == 0);
		kit_check_works(m);
		kit_restart(m);
		kit_check_works(m);
		kit_end();
	}
	kit_machine(KIT_POOL);
	kit_plug(0, E1000_KIND_82540, 0x105f); /* an 82571 with fibre */
	CHECK_STR(kit_probe(), "not in the list");
}

/* The second interface of an 82546 has the address after the EEPROM's. The bit that says so
 * means nothing on other chips. */
static void second_interface_has_its_own_address(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(chip); i++) {
		struct e1000_model *m = plug(i);
		m->lan_b = true;
		CHECK(kit_probe() == NULL);
		CHECK_EQ(kit_nic[0]->address.b[5], kit_mac[0][5] ^ chip[i].pair);
		kit_end();
	}
}

/* In a PCI-X slot no chip reads more than 2048 bytes at once, nor more than it is designed
 * for. A shorter length stays. The 82544 is refused. */
static void in_a_pcix_slot(void)
{
	static const struct {
		uint8_t set, design, is;
	} reads[] = {{3, 3, 2}, {3, 2, 2}, {3, 1, 1}, {2, 0, 0}, {1, 3, 1}, {0, 3, 0}};
	for (unsigned i = 0; i < ARRAY_SIZE(chip); i++)
		for (unsigned k = 0; k < ARRAY_SIZE(reads); k++) {
			struct e1000_model *m = plug(i);
			if (!m->pcix_cap)
				continue;
			uint8_t *cap = m->pci.cfg + m->pcix_cap;
			m->pcix = true;
			cap[2] = (uint8_t)(reads[k].set << 2 | 0x33);
			cap[6] = (uint8_t)(reads[k].design << 5);
			const char *wrong = kit_probe();
			if (chip[i].kind == E1000_KIND_82544) {
				CHECK(wrong && strstr(wrong, "PCI-X"));
			} else {
				CHECK(wrong == NULL);
				CHECK_EQ(cap[2], reads[k].is << 2 | 0x33);
				kit_check_works(m);
			}
			kit_end();
		}
}

/* An 82574 saves no power on its link to the board, and is configured as its errata need. A reset
 * comes also when its transfers never end, or when the management processor keeps the PHY. */
static void pci_express(void)
{
	for (unsigned i = 0; i < 3; i++) {
		kit_machine(KIT_POOL);
		struct e1000_model *m = kit_plug(0, E1000_KIND_82574, 0x10d3);
		m->master_stuck = i == 1;
		m->owner_stuck = i == 2;
		uint64_t before = host_now_us;
		CHECK(kit_probe() == NULL);
		CHECK(host_now_us - before < 400000);
		CHECK_EQ(m->pci.cfg[m->pcie_cap + 16], 0x40);
		CHECK_EQ(m->reg[TARC0 / 4], 1u << 26);
		CHECK_EQ(m->reg[TXDCTL / 4], 1u << 22);
		CHECK_EQ(m->reg[EXTCNF / 4] & 32, 0);
		CHECK_EQ(m->reg[CTRL / 4] & 4, 0);
		kit_check_works(m);
		kit_restart(m);
		kit_check_works(m);
		m->master_stuck = m->owner_stuck = false;
		kit_end();
	}
}

/* The PHY of an 82574 that hangs is reset, and the card with it. Those of other chips are not
 * asked. */
static void phy_that_hangs(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(chip); i++) {
		bool has = chip[i].kind == E1000_KIND_82574;
		struct e1000_model *m = plug(i);
		CHECK(kit_probe() == NULL);
		kit_wait_ms(3000);
		kit_check_works(m);
		unsigned before = m->phy_resets;
		m->phy[10] = 0x00ff; /* errors while idle alone are none */
		kit_wait_ms(3000);
		CHECK_EQ(kit_nic[0]->count.resets, 0);
		m->phy_hung = has;
		kit_wait_ms(3000);
		CHECK_EQ(kit_nic[0]->count.resets, has);
		CHECK_EQ(m->phy_resets, before + has);
		kit_wait_ms(1000);
		kit_check_works(m);
		kit_wait_ms(3000);
		CHECK_EQ(kit_nic[0]->count.resets, has);
		kit_end();
	}
}

/* A card that is gone holds nothing up: frames wait for it, so it is tried again and again. */
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
		CHECK(kit_nic[0]->count.resets > 1);
		pci_model_reset();
	}
}

/* The PHY of an 82541 or 82547 keeps settings of another system until the driver resets it.
 * That is done once: a restart of the card does not take the carrier down. */
static void resets_the_phy_once(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(chip); i++) {
		bool has = chip[i].kind == E1000_KIND_82541;
		struct e1000_model *m = plug(i);
		m->phy_lost = has;
		m->phy[PHY_FIFO] = 0x0010;
		m->negotiate_us = 1500000;
		CHECK(kit_probe() == NULL);
		CHECK(host_now_us - 5000000 < 70000);
		kit_wait_ms(2000);
		CHECK(kit_nic[0]->carrier.up);
		CHECK_EQ(kit_nic[0]->carrier.mbit, 1000);
		kit_restart(m);
		CHECK(kit_nic[0]->carrier.up);
		CHECK_EQ(m->phy_resets, has);
		kit_end();
	}
}

/* After a reset of the PHY the later chips may start at the lowest speed: not with this
 * driver. */
static void full_speed(void)
{
	static const uint16_t device[] = {0x1075, 0x1076, 0x1077, 0x1078, 0x107c};
	for (unsigned i = 0; i < ARRAY_SIZE(device); i++) {
		kit_machine(KIT_POOL);
		struct e1000_model *m = kit_plug(0, E1000_KIND_82541, device[i]);
		m->flex_speed = true;
		CHECK(kit_probe() == NULL);
		CHECK_EQ(kit_nic[0]->carrier.mbit, 1000);
		CHECK_EQ(m->phy[PHY_FIFO], 0x0020);
		kit_end();
	}
}

/* A card whose reset fails cannot write into memory, neither at the start nor later. */
static void no_transfers_after_a_failed_reset(void)
{
	struct nic *nic[2];
	for (unsigned i = 0; i < ARRAY_SIZE(chip); i++) {
		struct e1000_model *m = plug(i);
		m->reset_stuck = true;
		CHECK_EQ(nic_probe_all(&kit_pool, nic, 2), 0);
		CHECK(!pci_model_can_master(&m->pci));

		m = plug(i);
		CHECK(kit_probe() == NULL);
		m->tx_hung = m->reset_stuck = true;
		kit_send(0, 1, 64, 0);
		kit_wait_ms(2100);
		CHECK_EQ(kit_nic[0]->count.resets, 1);
		CHECK(!pci_model_can_master(&m->pci));
		pci_model_faults_clear(); /* of the registers that do not respond */
		m->reset_stuck = false;
		kit_wait_ms(5000);
		kit_check_works(m);

		m->reset_stuck = true;
		kit_nic[0]->ops->stop(kit_nic[0]);
		CHECK(!pci_model_can_master(&m->pci));
	}
}

/* The system that ran before left the card asleep, with wake-up armed and an event raised.
 * The card works, and after the stop nothing wakes the machine. */
static void wakes_a_card_and_stays_off(void)
{
	for (unsigned apm = 0; apm < 2; apm++) {
		kit_machine(KIT_POOL);
		struct e1000_model *m = kit_plug(0, E1000_KIND_82540, 0x100e);
		m->apm = apm;
		m->reg[WUC / 4] = 0xf;
		m->reg[WUFC / 4] = 0xff;
		m->reg[WUS / 4] = 2;
		m->pci.cfg[m->pci.power + 4] = 3;
		m->pci.cfg[m->pci.power + 5] = 0x81;
		CHECK(kit_probe() == NULL);
		CHECK(!e1000_model_may_wake(m));
		CHECK_EQ(kit_arrive(0, 64, 1), E1000_RX_TAKEN);
		CHECK_EQ(kit_take(0, NIC_BURST, 64, 1), 1);
		kit_end();
		CHECK(!e1000_model_may_wake(m));
	}
}

/* Each word of the hash table stays as it was written, on every card of the family: also on
 * the 82544, where a write of an odd word replaces the word before it. */
static void every_word_of_the_hash_table(void)
{
	static const struct {
		enum e1000_kind kind;
		uint16_t device;
	} card[] = {{E1000_KIND_82544, 0x100c}, {E1000_KIND_82540, 0x100e}};
	for (unsigned i = 0; i < ARRAY_SIZE(card); i++) {
		mac group[128];
		kit_machine(KIT_POOL);
		struct e1000_model *m = kit_plug(0, card[i].kind, card[i].device);
		CHECK(kit_probe() == NULL);
		struct nic *nic = kit_nic[0];
		/* Bits 47:41 choose the word, bits 40:36 the bit: one group in each word, and
		 * all nodes in word 0. */
		for (unsigned k = 0; k < 128; k++) {
			unsigned bits = k << 5 | (k + 16) % 32;
			group[k] = (mac){
			        {0x33, 0x33, 0, 0, (uint8_t)(bits << 4), (uint8_t)(bits >> 4)}};
		}
		for (unsigned n = 0; n <= 128; n += 16) {
			nic->ops->filter(nic, false, group, n);
			for (unsigned k = 0; k < 128; k++)
				CHECK_EQ(kit_arrive_at(group[k].b),
				         k < n ? E1000_RX_TAKEN : E1000_RX_FILTERED);
		}
		m->tx_hung = true; /* a restart writes the table again */
		kit_send(0, 1, 64, 0);
		kit_wait_ms(2100);
		CHECK_EQ(nic->count.resets, 1);
		for (unsigned k = 0; k < 128; k++)
			CHECK_EQ(kit_arrive_at(group[k].b), E1000_RX_TAKEN);
		kit_end();
	}
}

int main(void)
{
	TEST(knows_the_family);
	TEST(second_interface_has_its_own_address);
	TEST(pci_express);
	TEST(gone_costs_no_time);
	TEST(phy_that_hangs);
	TEST(in_a_pcix_slot);
	TEST(resets_the_phy_once);
	TEST(full_speed);
	TEST(no_transfers_after_a_failed_reset);
	TEST(wakes_a_card_and_stays_off);
	TEST(every_word_of_the_hash_table);
	return tap_done();
}
