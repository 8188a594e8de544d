/* The EHCI driver takes controllers from the firmware, starts them, and notices when they fail. */
#include "tests/unit/drivers/usb/ehci/ehci_kit.h"

static uint8_t *legacy(void)
{
	return kit_model.pci.cfg + EHCI_MODEL_EECP;
}

static const char *take(void)
{
	return hcd_take(&ehci_driver, &kit_pci);
}

static const char *probe(void)
{
	return ehci_driver.probe(&kit_pci, &kit_c);
}

static void taken_from_the_firmware(void)
{
	struct ehci_model *m = kit_machine(4, 1);
	uint64_t before = host_now_us;
	CHECK(take() == NULL);
	CHECK(host_now_us - before < 100000);
	CHECK_EQ(legacy()[2], 0);
	CHECK_EQ(legacy()[3], 1);
	CHECK_EQ(load32(legacy() + 4), 0);
	CHECK_EQ(m->resets, 1);
	CHECK(ehci_model_quiet(m));
	CHECK_EQ(kit_said("force"), 0);
	CHECK(probe() == NULL);
	CHECK(!ehci_model_quiet(m));
	CHECK_EQ(m->config, 1);
	kit_end();
	CHECK_EQ(m->config, 0);
}

static void taken_by_force(void)
{
	struct ehci_model *m = kit_machine(4, 1);
	m->bios_us = EHCI_MODEL_NEVER;
	uint64_t before = host_now_us;
	CHECK(take() == NULL);
	CHECK(host_now_us - before >= 1000000);
	CHECK(host_now_us - before < 1200000);
	CHECK_EQ(legacy()[2], 0);
	CHECK_EQ(load32(legacy() + 4), 0);
	CHECK_EQ(kit_said("pci 00:03.0: ehci: taken from the firmware by force"), 1);
	CHECK(probe() == NULL);
	kit_end();
}

/* The firmware does not own it: nothing is waited for, but its events are switched off. */
static void not_owned(void)
{
	kit_machine(4, 1);
	legacy()[2] = 0;
	CHECK(take() == NULL);
	CHECK_EQ(load32(legacy() + 4), 0);
	CHECK_EQ(pci_model_faults(), 0);
}

static void chains_of_capabilities(void)
{
	static const uint8_t next[][2] = {{0x50, 0x68}, {0x50, 0x50}, {0x68, 0x68}, {0x10, 0x68},
	                                  {0x6a, 0x68}, {0xfc, 0x68}, {0x00, 0x68}, {0xff, 0x68}};
	for (unsigned i = 0; i < ARRAY_SIZE(next); i++) {
		struct ehci_model *m = kit_machine(4, 1);
		m->more = 1 | (uint32_t)next[i][0] << 8;
		m->pci.cfg[0x50] = 7; /* another capability */
		m->pci.cfg[0x51] = next[i][1];
		m->pci.cfg[0xfc] = 1; /* no room for its second word */
		m->pci.writable[0] = 0xff;
		legacy()[1] = 0x50; /* a loop, unless the legacy capability ends the search */
		bool found = i == 0 || i == 2;
		if (!found)
			legacy()[2] = 0;
		CHECK(take() == NULL);
		CHECK_EQ(load32(legacy() + 4) == 0, found);
		CHECK_EQ(load16(m->pci.cfg), 0x8086);
		CHECK_EQ(pci_model_faults(), 0);
	}
}

static void never_stops(void)
{
	struct ehci_model *m = kit_machine(4, 1);
	m->no_halt = true;
	uint64_t before = host_now_us;
	CHECK_STR(take(), "does not stop");
	CHECK(host_now_us - before < 200000);
	CHECK_EQ(m->resets, 0);
	CHECK_EQ(pci_model_faults(), 0);
}

static void reset_never_ends(void)
{
	struct ehci_model *m = kit_machine(4, 1);
	m->no_reset_end = true;
	uint64_t before = host_now_us;
	CHECK_STR(take(), "does not end its reset");
	CHECK(host_now_us - before < 500000);
	CHECK_EQ(pci_model_faults(), 0);
}

static void never_starts(void)
{
	struct ehci_model *m = kit_machine(4, 1);
	CHECK(take() == NULL);
	m->no_start = true;
	uint64_t before = host_now_us;
	CHECK_STR(probe(), "does not start");
	CHECK(host_now_us - before < 200000);
	CHECK_EQ(pci_model_faults(), 0);
}

/* It vanishes at each single read of a register. */
static void vanishes_at_the_start(void)
{
	unsigned good = 0;
	for (uint64_t reads = 1; reads < 400; reads++) {
		struct ehci_model *m = kit_machine(4, 1);
		m->gone_in = reads;
		uint64_t before = host_now_us;
		const char *wrong = take();
		if (!wrong)
			wrong = probe();
		CHECK(host_now_us - before < 2000000);
		CHECK(wrong || m->gone_in || m->gone);
		good += wrong == NULL;
		if (!wrong)
			hcd_stop(kit_c);
		CHECK_EQ(pci_model_faults(), 0);
	}
	CHECK(good > 100);
}

static void registers_that_make_no_sense(void)
{
	struct ehci_model *m = kit_machine(4, 1);
	m->params &= ~15u;
	CHECK_STR(take(), "its registers make no sense");
	m = kit_machine(4, 1);
	m->caplength = 0x0c;
	CHECK_STR(take(), "its registers make no sense");
	m = kit_machine(4, 1);
	m->caplength = 0x22;
	CHECK_STR(take(), "its registers make no sense");
	m = kit_machine(4, 1);
	m->gone = true;
	CHECK_STR(take(), "does not answer");
	m = kit_machine(4, 1);
	store32(m->pci.cfg + 0x10, 0);
	CHECK_STR(take(), "no registers");
	kit_machine(4, 1); /* the registers of its ports lie behind the window */
	kit_model.caplength = 0xf0;
	kit_model.pci.bar[0].size = 0x100;
	store32(kit_model.pci.writable + 0x10, 0xffffff00);
	CHECK_STR(take(), "its registers make no sense");
}

static void without_memory(void)
{
	kit_machine(4, 1);
	CHECK(take() == NULL);
	while (alloc(4096, 4096))
		;
	CHECK_STR(probe(), "no memory");
	CHECK(ehci_model_quiet(&kit_model));
}

static void addresses_of_32_bits(void)
{
	struct ehci_model *m = kit_machine(4, 1);
	m->more &= ~1u;
	CHECK(take() == NULL);
	CHECK(probe() == NULL);
	struct usb_device *d = kit_device_at_1(1);
	kit_alive(d);
	kit_end();
}

static void segment_of_the_firmware(void)
{
	struct ehci_model *m = kit_machine(4, 1);
	m->segment = 7;
	CHECK(take() == NULL);
	m->segment = 7; /* the reset does not clear it */
	CHECK(probe() == NULL);
	CHECK_EQ(m->segment, 0);
	kit_end();
}

/* A chip that takes the bus from others, and its successors, which do not. */
static void greedy_chip(void)
{
	for (unsigned revision = 0x5f; revision <= 0x70; revision++) {
		kit_machine(4, 1);
		kit_pci.vendor = 0x1106;
		kit_pci.device = 0x3104;
		kit_pci.revision = (uint8_t)revision;
		kit_model.pci.cfg[0x4b] = 0x05;
		kit_model.pci.writable[0x4b] = 0xff;
		CHECK(take() == NULL);
		CHECK(probe() == NULL);
		CHECK_EQ(kit_model.pci.cfg[0x4b], revision >> 4 == 6 ? 0x25 : 0x05);
		kit_end();
	}
}

/* One line of failure each, and no access afterwards. */
static void fails(void (*how)(struct ehci_model *m), const char *reason)
{
	struct ehci_model *m = kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	kit_submit(0, in, 512);
	kit_ms(5);
	how(m);
	kit_ms(1000);
	CHECK_EQ(kit_failures, 1);
	CHECK_STR(kit_reason ? kit_reason : "", reason);
	unsigned reads = pci_model_reads();
	kit_ms(100);
	CHECK_EQ(pci_model_reads(), reads);
	kit_t[5].endpoint = &d->control;
	CHECK(!usb_submit(&kit_t[5]));
	kit_c->ops->device_close(kit_c, d);
	CHECK_EQ(kit_t[0].status, USB_GONE);
	kit_end();
}

static void has_no_memory_access(struct ehci_model *m)
{
	m->sts |= STS_HSE | STS_HALTED;
	m->cmd &= ~1u;
}

static void stops_by_itself(struct ehci_model *m)
{
	m->sts |= STS_HALTED;
}

static void is_pulled(struct ehci_model *m)
{
	m->gone = true;
}

static void schedule_stands(struct ehci_model *m)
{
	m->no_follow = true;
	struct usb_endpoint *key = kit_end_open(&kit_device[1], 0x82, USB_INTERRUPT, 8, 8);
	kit_t[1].timeout_ms = 0;
	kit_submit(1, key, 8);
}

static void failures_while_it_runs(void)
{
	fails(has_no_memory_access, "it could not reach memory");
	fails(stops_by_itself, "it stopped");
	fails(is_pulled, "it is gone");
	fails(schedule_stands, "a schedule does not start or stop");
}

static void does_not_stop_at_the_end(void)
{
	kit_begin(4, 1);
	kit_alive(kit_device_at_1(1));
	kit_model.no_halt = true;
	uint64_t before = host_now_us;
	CHECK(!kit_c->ops->stop(kit_c));
	CHECK_EQ(host_now_us, before);
	kit_end();
	CHECK(!pci_model_can_master(&kit_model.pci));
}

static void gone_at_the_end(void)
{
	kit_begin(4, 1);
	kit_alive(kit_device_at_1(1));
	kit_model.gone = true;
	kit_end();
}

int main(void)
{
	TEST(taken_from_the_firmware);
	TEST(taken_by_force);
	TEST(not_owned);
	TEST(chains_of_capabilities);
	TEST(never_stops);
	TEST(reset_never_ends);
	TEST(never_starts);
	TEST(vanishes_at_the_start);
	TEST(registers_that_make_no_sense);
	TEST(without_memory);
	TEST(addresses_of_32_bits);
	TEST(segment_of_the_firmware);
	TEST(greedy_chip);
	TEST(failures_while_it_runs);
	TEST(does_not_stop_at_the_end);
	TEST(gone_at_the_end);
	return tap_done();
}
