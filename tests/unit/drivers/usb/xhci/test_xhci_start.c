/* The xHCI driver's start: hand-off from the firmware, reset, capabilities, scratchpads; and the
 * ports of the root hub. */
#include "tests/unit/drivers/usb/xhci/xhci_kit.h"

/* Bits of USBLEGCTLSTS that raise SMIs (7.1.2). */
#define SMI_ENABLES 0xe011u
#define SMI_EVENTS  0xe0000000u

static void works(void)
{
	kit_keyboard();
	kit_report(&kbd, &keyboard, 9);
}

/* --- start ---------------------------------------------------------------------------------- */

static void forms_of_controllers(void)
{
	static const uint32_t pads[] = {0, 1, 31, 32, 70}, pages[] = {1, 2, 8, 6};
	for (unsigned i = 0; i < 40; i++) {
		kit_new();
		m.wide = i & 1;
		m.pads = pads[i / 2 % 5];
		m.page = pages[i / 10];
		m.no_ports = i % 3 == 0;
		m.switched = i % 3 == 1;
		m.slots = i % 5 == 4 ? 1 : 32;
		kit_start();
		CHECK_EQ(hc->n_ports, 8);
		CHECK_STR(hc->driver, "xhci");
		CHECK_EQ(m.config, m.slots == 1 ? 1 : 24);
		works();
		kit_end();
	}
}

static void firmware_hands_over(void)
{
	for (unsigned keeps = 0; keeps < 2; keeps++) {
		kit_new();
		m.bios = true;
		m.bios_keeps = keeps;
		m.runs = true;
		uint64_t before = host_now_us;
		kit_start();
		CHECK(host_now_us - before < (keeps ? 1500000u : 500000u));
		CHECK_EQ(m.usblegsup, 1u << 24);
		CHECK_EQ(m.usblegctl & (SMI_ENABLES | SMI_EVENTS), 0);
		CHECK_EQ(m.resets, 1);
		works();
		kit_end();
	}
}

static void controllers_that_do_not_start(void)
{
	static const struct {
		const char *what;
		size_t flag;
	} row[] = {
	        {"is never ready", offsetof(struct xhci_model, never_ready)},
	        {"does not come out of reset", offsetof(struct xhci_model, reset_stuck)},
	        {"does not start", offsetof(struct xhci_model, never_starts)},
	        {"does not answer", offsetof(struct xhci_model, gone)},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(row); i++) {
		kit_new();
		*((bool *)&m + row[i].flag) = true;
		uint64_t before = host_now_us;
		const char *wrong = kit_probe();
		CHECK_STR(wrong ? wrong : "started", row[i].what);
		CHECK(host_now_us - before < 3500000);
		CHECK_EQ(pci_model_faults(), 0);
	}
}

static void slow_and_odd_controllers(void)
{
	kit_new();
	m.ready_us = 900000;
	m.reset_us = 700000;
	kit_start();
	works();
	kit_end();
	kit_new(); /* does not halt, but resets itself */
	m.never_halts = true;
	m.runs = true;
	kit_start();
	m.never_halts = false;
	works();
	kit_end();
	kit_new();
	m.chain_long = true;
	kit_start();
	CHECK(m.extended_reads < 400);
	kit_end();
}

static void registers_that_make_no_sense(void)
{
	kit_new();
	m.slots = 0;
	CHECK_STR(kit_probe(), "its registers make no sense");
	kit_new();
	m.pci.bar[0].size = 0x800;
	CHECK_STR(kit_probe(), "no memory window");
	kit_new(); /* doorbells behind the window */
	m.pci.bar[0].size = 0x2000;
	CHECK_STR(kit_probe(), "its registers make no sense");
	kit_new();
	m.pci.bar[0].is64 = false;
	m.pci.bar[0].base = 0;
	CHECK_STR(kit_probe(), "no memory window");
	CHECK_EQ(pci_model_faults(), 0);
}

static void too_little_memory(void)
{
	for (size_t left = 0; left < 400000; left += 5000) {
		kit_new();
		m.pads = 20;
		while (alloc_largest() > left + 65536 && alloc_raw(65536, 1))
			;
		while (alloc_largest() > left && alloc_raw(512, 1))
			;
		const char *wrong = kit_probe();
		if (!wrong)
			break;
		CHECK_STR(wrong, "no memory");
		CHECK(m.usbsts & 1);
		CHECK(left < 350000);
	}
	kit_new(); /* far more than any controller needs */
	m.pads = 1023;
	m.page = 0x80;
	CHECK_STR(kit_probe(), "no memory");
	CHECK_EQ(pci_model_faults(), 0);
}

/* --- the ports that Intel's chip sets share with EHCI ------------------------------------------
 */

static void shared_ports(void)
{
	static struct pci_model_dev ehci;
	for (unsigned i = 0; i < 3; i++) {
		kit_new();
		m.pci.vendor = i == 0 ? 0x1033 : 0x8086;
		m.pci.subvendor = i == 2 ? 0x104d : 0x1028;
		m.pci.subdevice = i == 2 ? 0x90a8 : 1;
		ehci = (struct pci_model_dev){.dev = 0x1d,
		                              .vendor = 0x8086,
		                              .device = 0x1e26,
		                              .class_code = 0x0c,
		                              .subclass = 3,
		                              .prog_if = 0x20};
		xhci_model_plug(&m);
		pci_model_add(&ehci);
		store32(m.pci.cfg + 0xdc, 0xf);
		store32(m.pci.cfg + 0xd4, 0x37);
		store32(m.pci.writable + 0xd8, 0xffffffff);
		store32(m.pci.writable + 0xd0, 0xffffffff);
		uint32_t cursor = 0;
		struct pci_dev dev;
		CHECK(pci_next(&cursor, &dev));
		pci_enable(&dev);
		CHECK(!hcd_take(&xhci_driver, &dev));
		CHECK(!xhci_driver.probe(&dev, &hc));
		CHECK_EQ(load32(m.pci.cfg + 0xd8), i == 1 ? 0xf : 0);
		CHECK_EQ(load32(m.pci.cfg + 0xd0), i == 1 ? 0x37 : 0);
		kit_end();
	}
}

/* --- ports
 * ---------------------------------------------------------------------------------------- */

static void ports_at_the_start(void)
{
	kit_new();
	keyboard = (struct xhci_model_usb){.speed = XHCI_LOW, .port = 4};
	stick = (struct xhci_model_usb){.speed = XHCI_SUPER, .port = 5};
	xhci_model_attach(&m, &keyboard);
	xhci_model_attach(&m, &stick);
	kit_start();
	kit_wait(1);
	struct usb_port_state s = port_state(4);
	CHECK_EQ(s.bits, USB_PORT_CONNECTED | USB_PORT_CHANGED);
	s = port_state(4);
	CHECK_EQ(s.bits, USB_PORT_CONNECTED);
	CHECK_EQ(port_state(5).bits, USB_PORT_CONNECTED | USB_PORT_CHANGED | USB_PORT_ENABLED);
	CHECK_EQ(port_state(5).speed, USB_SUPER);
	CHECK_EQ(port_state(1).bits, 0);
	CHECK_EQ(port_state(0).bits, 0);
	CHECK_EQ(port_state(9).bits, 0);
	kit_end();
}

static void a_reset_takes_its_time(void)
{
	kit_begin();
	keyboard = (struct xhci_model_usb){.speed = XHCI_LOW, .port = 2};
	xhci_model_attach(&m, &keyboard);
	kit_wait(100);
	for (unsigned i = 0; i < 5; i++) {
		hc->ops->port_reset(hc, 2);
		xhci_model_event(&m, 2u << 24, 1u << 24, 34u << 10); /* something, at once */
		kit_wait(2);
		CHECK(port_state(2).bits & USB_PORT_RESETTING);
		kit_wait(53);
		CHECK(port_state(2).bits & USB_PORT_RESETTING);
		CHECK(!(port_state(2).bits & USB_PORT_ENABLED));
		kit_wait(10);
		CHECK_EQ(port_state(2).bits & ~USB_PORT_CHANGED,
		         USB_PORT_CONNECTED | USB_PORT_ENABLED);
		CHECK_EQ(port_state(2).speed, USB_LOW);
	}
	hc->ops->port_disable(hc, 2);
	CHECK_EQ(port_state(2).bits, USB_PORT_CONNECTED);
	CHECK_EQ(m.port[2].portsc & 2, 0);
	CHECK(kit_reset(2));
	m.reset_disables = true;
	CHECK(!kit_reset(2));
	m.port_reset_us = 5000000; /* never ends */
	hc->ops->port_reset(hc, 2);
	kit_wait(600);
	CHECK_EQ(port_state(2).bits, USB_PORT_CONNECTED);
	hc->ops->port_reset(hc, 1); /* nothing is there */
	CHECK_EQ(port_state(1).bits, 0);
	hc->ops->port_reset(hc, 0);
	hc->ops->port_reset(hc, 200);
	hc->ops->port_disable(hc, 0);
	hc->ops->port_disable(hc, 200);
	CHECK_EQ(m.port[1].resets, 0);
	hcd_stop(hc);
	CHECK_EQ(pci_model_faults(), 0);
}

static void super_speed_needs_no_reset(void)
{
	kit_begin();
	stick = (struct xhci_model_usb){.speed = XHCI_SUPER, .port = 5};
	kit_device(&stk, &stick, NULL);
	CHECK_EQ(m.port[5].resets, 0);
	/* A reset brings the device back to address 0. */
	hc->ops->device_close(hc, &stk);
	kit_wait(3);
	CHECK(kit_reset(5));
	CHECK_EQ(m.port[5].resets, 1);
	CHECK_EQ(kit_open(&stk, &stick, NULL), USB_OK);
	hc->ops->device_close(hc, &stk);
	/* Switched off: it stays so until a reset, but its unplugging is noticed. */
	hc->ops->port_disable(hc, 5);
	CHECK_EQ(port_state(5).bits & ~USB_PORT_CHANGED, USB_PORT_CONNECTED);
	CHECK(m.port[5].portsc & 2);
	CHECK(kit_reset(5));
	hc->ops->port_disable(hc, 5);
	xhci_model_detach(&m, &stick);
	kit_wait(2);
	CHECK_EQ(port_state(5).bits, USB_PORT_CHANGED);
	kit_device(&stk, &stick, NULL);
	kit_end();
}

static void links_that_need_a_warm_reset(void)
{
	kit_new();
	m.links_fail = true;
	kit_start();
	stick = (struct xhci_model_usb){.speed = XHCI_SUPER, .port = 7};
	kit_device(&stk, &stick, NULL);
	CHECK_EQ(m.warm_resets, 1);
	kit_end();
}

static void resets_that_are_interrupted(void)
{
	for (unsigned port = 2; port < 8; port += 5) {
		kit_new();
		m.links_fail = true;
		kit_start();
		keyboard = (struct xhci_model_usb){.speed = port < 5 ? XHCI_LOW : XHCI_SUPER,
		                                   .port = (uint8_t)port};
		xhci_model_attach(&m, &keyboard);
		kit_wait(10);
		hc->ops->port_reset(hc, (uint8_t)port);
		kit_wait(20);
		xhci_model_detach(&m, &keyboard);
		kit_wait(2);
		CHECK_EQ(port_state(port).bits, USB_PORT_CHANGED);
		kit_device(&kbd, &keyboard, NULL);
		kit_end();
	}
}

static void a_lost_port_event(void)
{
	kit_begin();
	kit_wait(200);
	stick = (struct xhci_model_usb){.speed = XHCI_HIGH, .port = 3};
	m.port[3].usb = &stick;
	m.port[3].portsc |= 1u | 1u << 17; /* CCS, CSC, without an event */
	kit_wait(100);
	CHECK_EQ(port_state(3).bits, USB_PORT_CONNECTED | USB_PORT_CHANGED);
	kit_end();
}

static void power_comes_back(void)
{
	kit_new();
	m.switched = true;
	kit_start();
	keyboard = (struct xhci_model_usb){.speed = XHCI_LOW, .port = 2};
	kit_device(&kbd, &keyboard, NULL);
	/* Too much current (4.19.1.1): the controller switches the port off. */
	m.port[2].portsc = 1u << 3 | 1u << 20 | 1u << 17;
	xhci_model_event(&m, 2u << 24, 1u << 24, 34u << 10);
	kit_wait(200);
	CHECK_EQ(m.port[2].portsc & 1u << 9, 0);
	CHECK_EQ(port_state(2).bits, USB_PORT_CHANGED);
	hc->ops->device_close(hc, &kbd);
	m.port[2].portsc = 0;
	kit_wait(200);
	CHECK(m.port[2].portsc & 1u << 9);
	CHECK(port_state(2).bits & USB_PORT_CONNECTED);
	CHECK(kit_reset(2));
	kit_end();
}

static void a_port_that_flaps(void)
{
	kit_begin();
	keyboard = (struct xhci_model_usb){.speed = XHCI_FULL, .port = 1};
	for (unsigned i = 0; i < 500; i++) {
		unsigned before = pci_model_reads() + pci_model_writes();
		for (unsigned k = 0; k < 5; k++) {
			xhci_model_attach(&m, &keyboard);
			xhci_model_detach(&m, &keyboard);
		}
		kit_poll();
		CHECK(pci_model_reads() + pci_model_writes() - before < 40);
		CHECK(port_state(1).bits & USB_PORT_CHANGED);
		if (i % 7 == 0)
			hc->ops->port_reset(hc, 1);
	}
	works();
	kit_end();
}

static void idle_costs_little(void)
{
	kit_begin();
	works();
	struct usb_transfer t = kit_transfer(&kbd, 0, memory, 8);
	CHECK(submit(&t));
	kit_wait(20);
	unsigned before = pci_model_reads() + pci_model_writes();
	for (unsigned i = 0; i < 100; i++) { /* a second, polled each 10 ms */
		now_us += 10000;
		hc->ops->poll(hc, now_us);
		(void)port_state(1);
	}
	CHECK(pci_model_reads() + pci_model_writes() - before <= 200);
	kit_end();
}

int main(void)
{
	TEST(forms_of_controllers);
	TEST(firmware_hands_over);
	TEST(controllers_that_do_not_start);
	TEST(slow_and_odd_controllers);
	TEST(registers_that_make_no_sense);
	TEST(too_little_memory);
	TEST(shared_ports);
	TEST(ports_at_the_start);
	TEST(a_reset_takes_its_time);
	TEST(super_speed_needs_no_reset);
	TEST(links_that_need_a_warm_reset);
	TEST(resets_that_are_interrupted);
	TEST(a_lost_port_event);
	TEST(power_comes_back);
	TEST(a_port_that_flaps);
	TEST(idle_costs_little);
	return tap_done();
}
