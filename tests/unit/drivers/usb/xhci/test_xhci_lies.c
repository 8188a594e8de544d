/* The xHCI driver with devices and controllers that fail, hang, vanish or lie. Every transfer comes
 * back, every wait ends, and nothing that the controller says is used without a check. */
#include "tests/unit/drivers/usb/xhci/xhci_kit.h"

enum { ENABLE = 9, DISABLE, ADDRESS, CONFIGURE, EVALUATE, RESET_EP, STOP_EP, DEQUEUE };
enum { EV_TRANSFER = 32, EV_COMMAND, EV_PORT };

static void event(uint64_t ptr, unsigned code, uint32_t left, unsigned type, unsigned dci,
                  unsigned slot)
{
	xhci_model_event(&m, ptr, code << 24 | left, type << 10 | dci << 16 | slot << 24);
}

static enum usb_status ask(struct usb_device *d)
{
	return kit_control(d, 0x80, 6, 0x100, 0, memory, 18, NULL);
}

/* Plugs a device into the port of the keyboard, which is reset. Nothing is opened yet. */
static void plug_in(struct xhci_model_usb what)
{
	keyboard = what;
	xhci_model_attach(&m, &keyboard);
	kit_wait(100);
	CHECK(kit_reset(1));
}

/* Opens what is in the port of the keyboard; it is asked nothing yet. */
static void open_only(void)
{
	kbd = kit_known(&keyboard, NULL);
	kbd.control.device = &kbd;
	CHECK(hc->ops->device_open(hc, &kbd));
}

static void pull_out(void)
{
	hc->ops->device_close(hc, &kbd);
	xhci_model_detach(&m, &keyboard);
	kit_wait(5);
}

/* --- devices ------------------------------------------------------------------------------- */

static void devices_that_fail(void)
{
	kit_begin();
	kit_keyboard();
	kit_stick();
	struct usb_transfer in = kit_transfer(&stk, 0, memory + 0xfff0, 512);
	for (unsigned i = 0; i < 12; i++) {
		stick.silent = i % 3 == 0;
		stick.split_error = i % 3 == 1;
		stick.babbles = i % 3 == 2;
		stick.at_most = i % 3 == 2 ? 4 : 0;
		xhci_model_give(&m, &stick, 0x81, memory, 512);
		CHECK(submit(&in) && kit_done(&in));
		CHECK_EQ(in.status, USB_FAILED);
		CHECK_EQ(in.actual, 0);
		CHECK_EQ(ask(&stk), USB_FAILED);
		CHECK_EQ(ask(&kbd), USB_OK);
		stick.silent = stick.split_error = stick.babbles = false;
		stick.at_most = 0;
		CHECK_EQ(kit_control(&stk, 2, 1, 0, 0x81, NULL, 0, NULL), USB_OK);
		hc->ops->endpoint_reset(hc, &stk.endpoint[0]);
		xhci_model_give(&m, &stick, 0x81, memory, 512);
		CHECK(submit(&in) && kit_done(&in));
		CHECK_EQ(in.status, USB_OK);
	}
	CHECK_EQ(stick.lost, 0);
	kit_end();
}

static void a_device_that_never_answers(void)
{
	kit_begin();
	kit_stick();
	stick.naks = true;
	for (unsigned i = 0; i < 5; i++)
		CHECK_EQ(ask(&stk), USB_CANCELLED);
	stick.naks = false;
	CHECK_EQ(ask(&stk), USB_OK);
	kit_end();
}

static void vanishes_in_mid_transfer(void)
{
	for (unsigned i = 1; i < 12; i++) {
		kit_begin();
		kit_stick();
		stick.vanish_in = i;
		struct usb_transfer out = kit_transfer(&stk, 1, memory, 4096);
		for (unsigned k = 0; k < i; k++) {
			CHECK(submit(&out) && kit_done(&out));
			CHECK_EQ(out.status, k + 1 < i ? USB_OK : USB_FAILED);
		}
		CHECK_EQ(ask(&stk), USB_FAILED);
		CHECK(port_state(2).bits & USB_PORT_CHANGED);
		hc->ops->device_close(hc, &stk);
		kit_wait(5);
		kit_stick();
		kit_end();
	}
}

static void vanishes_in_front_of_its_address(void)
{
	kit_begin();
	plug_in((struct xhci_model_usb){.speed = XHCI_FULL, .port = 1});
	m.lazy = true;
	open_only();
	xhci_model_detach(&m, &keyboard);
	CHECK_EQ(ask(&kbd), USB_FAILED);
	CHECK_EQ(m.commands[ADDRESS], 0); /* it hangs some controllers */
	CHECK_EQ(ask(&kbd), USB_FAILED);
	hc->ops->device_close(hc, &kbd);
	kit_keyboard();
	kit_end();
}

static void addresses_refused(void)
{
	for (unsigned i = 0; i < 3; i++) {
		kit_begin();
		plug_in((struct xhci_model_usb){.speed = XHCI_HIGH,
		                                .port = 1,
		                                .deaf_to_address = i == 0,
		                                .refuses_address = i == 1,
		                                .silent = i == 2});
		CHECK_EQ(kit_open(&kbd, &keyboard, NULL), USB_FAILED);
		CHECK_EQ(kbd.address, 0);
		pull_out();
		kit_keyboard();
		kit_end();
	}
}

/* --- commands that fail ------------------------------------------------------------------------
 */

static void commands_refused(void)
{
	static const struct {
		uint8_t command, code;
		bool opens; /* the device gets its address all the same */
	} row[] = {
	        {ENABLE, 9, false},   {ADDRESS, 4, false},    {ADDRESS, 17, false},
	        {EVALUATE, 5, false}, {CONFIGURE, 8, true},   {CONFIGURE, 7, true},
	        {ENABLE, 0, false},   {CONFIGURE, 255, true},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(row); i++) {
		kit_begin();
		plug_in((struct xhci_model_usb){.speed = XHCI_FULL, .port = 1, .packet0 = 64});
		m.code[row[i].command] = row[i].code;
		if (row[i].code == 0)
			m.lie_slot = 200;
		CHECK_EQ(kit_open(&kbd, &keyboard, NULL), row[i].opens ? USB_OK : USB_FAILED);
		if (row[i].opens) {
			CHECK(kit_endpoint(&kbd, 0x81, USB_INTERRUPT, 8, 10));
			struct usb_transfer t = kit_transfer(&kbd, 0, memory, 8);
			CHECK(submit(&t)); /* in front of the command */
			CHECK(kit_done(&t));
			CHECK_EQ(t.status, USB_FAILED);
			CHECK_EQ(kit_configure(&kbd), USB_OK);
			CHECK(!submit(&t));
		} else {
			CHECK_EQ(ask(&kbd), USB_FAILED);
		}
		pull_out();
		kit_keyboard();
		kit_end();
	}
}

static void slots_that_cannot_be(void)
{
	static const uint8_t slots[] = {25, 32, 33, 128, 255, 24 /* in use */};
	kit_begin();
	kit_stick();
	CHECK_EQ(xhci_model_slot_of(&m, &stick), 24);
	keyboard = (struct xhci_model_usb){.speed = XHCI_FULL, .port = 1};
	xhci_model_attach(&m, &keyboard);
	for (unsigned i = 0; i < ARRAY_SIZE(slots); i++) {
		kit_wait(100);
		CHECK(kit_reset(1));
		m.lie_slot = slots[i];
		CHECK_EQ(kit_open(&kbd, &keyboard, NULL), USB_FAILED);
		hc->ops->device_close(hc, &kbd);
		kit_wait(3);
		CHECK_EQ(ask(&stk), USB_OK);
	}
	CHECK(!hc->failed);
	kit_end();
}

static void endpoints_that_cannot_be_mended(void)
{
	for (unsigned i = 0; i < 3; i++) {
		kit_begin();
		kit_stick();
		struct usb_transfer t = kit_transfer(&stk, 1, memory, 31);
		stick.stalls = true;
		m.code[i == 0 ? DEQUEUE : i == 1 ? RESET_EP : STOP_EP] = i == 0 ? 17 : 12;
		CHECK(submit(&t) && kit_done(&t));
		CHECK_EQ(t.status, USB_STALLED);
		stick.stalls = false;
		kit_wait(3);
		if (i == 0) {
			CHECK(!submit(&t)); /* the core gives the device up and resets it */
		} else if (i == 1) {
			/* The model still counts it as halted: the driver tries, and is refused. */
			pci_model_faults_clear();
		} else {
			xhci_model_give(&m, &stick, 0x81, memory, 0);
			t = kit_transfer(&stk, 0, memory, 31);
			stick.in_ready = false;
			CHECK(submit(&t));
			kit_wait(2);
			hc->ops->cancel(hc, &t);
			CHECK(kit_done(&t));
			CHECK(!submit(&t));
		}
		CHECK_EQ(ask(&stk), USB_OK);
		hc->ops->device_close(hc, &stk);
		kit_wait(5);
		CHECK_EQ(xhci_model_slot_of(&m, &stick), 0);
		pci_model_faults_clear();
		kit_end();
	}
}

static void stop_that_is_refused(void)
{
	kit_begin();
	kit_keyboard();
	struct usb_transfer t = kit_transfer(&kbd, 0, memory, 8);
	CHECK(submit(&t));
	kit_wait(2);
	m.refuses_stop = true;
	hc->ops->cancel(hc, &t);
	CHECK(kit_done(&t));
	CHECK(m.commands[STOP_EP] < 40);
	CHECK_EQ(ask(&kbd), USB_OK);
	hc->ops->device_close(hc, &kbd);
	kit_wait(50);
	CHECK_EQ(xhci_model_slot_of(&m, &keyboard), 0);
	CHECK(!hc->failed);
	pci_model_faults_clear(); /* it ran when it got its commands */
	kit_end();
}

/* --- commands that never end
 * ---------------------------------------------------------------------- */

static void a_command_that_hangs(void)
{
	for (unsigned late = 0; late < 2; late++)
		for (unsigned n = 1; n <= 5; n++) { /* at several places of the ring */
			kit_new();
			m.late = late;
			kit_start();
			kit_stick();
			for (unsigned i = 0; i < 4 * n; i++) {
				stick.stalls = true;
				CHECK_EQ(ask(&stk), USB_STALLED);
				stick.stalls = false;
				CHECK_EQ(ask(&stk), USB_OK);
			}
			for (unsigned i = 0; i < n; i++) {
				plug_in((struct xhci_model_usb){.speed = XHCI_FULL, .port = 1});
				m.commands_stuck = true;
				open_only();
				uint64_t before = now_us;
				CHECK_EQ(ask(&kbd), late ? USB_OK : USB_FAILED);
				CHECK(now_us - before < 700000);
				m.commands_stuck = false;
				CHECK_EQ(ask(&stk), USB_OK);
				pull_out();
			}
			for (unsigned i = 0; i < 12; i++) {
				kit_keyboard();
				pull_out();
			}
			kit_end();
		}
}

static void completions_of_other_commands(void)
{
	kit_begin();
	plug_in((struct xhci_model_usb){.speed = XHCI_FULL, .port = 1});
	open_only();
	m.commands_stuck = true;
	kit_wait(2);
	event(m.cmd_at + 16, 1, 0, EV_COMMAND, 0, 3);
	event(1ull << 32 | m.cmd_at, 1, 0, EV_COMMAND, 0, 4);
	event(0, 1, 0, EV_COMMAND, 0, 5);
	kit_wait(2);
	m.commands_stuck = false;
	CHECK_EQ(ask(&kbd), USB_OK);
	kit_end();
}

static void a_controller_that_answers_no_command(void)
{
	kit_begin();
	kit_keyboard();
	struct usb_transfer t = kit_transfer(&kbd, 0, memory, 8);
	CHECK(submit(&t));
	kit_wait(1);
	m.commands_stuck = m.abort_stuck = true;
	hc->ops->cancel(hc, &t);
	uint64_t before = now_us;
	while (!hc->failed && now_us - before < 2000000)
		kit_poll();
	CHECK(now_us - before < 900000);
	CHECK_STR(reason, "answers no command");
	kit_end();
	kit_begin();
	kit_keyboard();
	t = kit_transfer(&kbd, 0, memory, 8);
	CHECK(submit(&t));
	kit_wait(1);
	m.commands_stuck = true; /* but can be aborted */
	hc->ops->cancel(hc, &t);
	kit_wait(800);
	CHECK_STR(reason, "does not stop an endpoint");
	kit_end();
	kit_begin();
	kit_keyboard();
	m.code[DISABLE] = 17;
	hc->ops->device_close(hc, &kbd);
	kit_wait(3);
	CHECK_STR(reason, "does not give a device up");
	kit_end();
}

/* --- controllers that fail
 * ----------------------------------------------------------------------------- */

static void controllers_that_fail(void)
{
	static const char *const want[] = {
	        "reports an error of the bus (HSE)",
	        "reports an error of its own (HCE)",
	        "has halted",
	        "is gone",
	};
	for (unsigned i = 0; i < ARRAY_SIZE(want); i++) {
		kit_begin();
		kit_keyboard();
		struct usb_transfer t = kit_transfer(&kbd, 0, memory, 8);
		CHECK(submit(&t));
		if (i == 0)
			xhci_model_hse(&m);
		if (i == 1)
			m.usbsts |= 1u << 12;
		if (i == 2)
			m.usbsts |= 1;
		m.gone = i == 3;
		kit_wait(15);
		CHECK(hc->failed);
		CHECK_STR(reason, want[i]);
		uint64_t before = host_now_us;
		hcd_stop(hc);
		CHECK(host_now_us - before < 100000);
		CHECK(xhci_model_quiet(&m));
		CHECK_EQ(pci_model_faults(), 0);
	}
}

static void gone_in_a_port_function(void)
{
	kit_begin();
	m.gone = true;
	hc->ops->port_reset(hc, 1);
	CHECK_STR(reason, "is gone");
	hc->ops->port_disable(hc, 1);
	hcd_stop(hc);
	kit_begin();
	m.never_halts = true;
	uint64_t before = host_now_us;
	CHECK(!hc->ops->stop(hc));
	CHECK_EQ(host_now_us, before);
	CHECK(!hcd_stop(hc));
	CHECK(xhci_model_quiet(&m)); /* its bus mastering is off */
	CHECK_EQ(pci_model_faults(), 0);
}

int main(void)
{
	TEST(devices_that_fail);
	TEST(a_device_that_never_answers);
	TEST(vanishes_in_mid_transfer);
	TEST(vanishes_in_front_of_its_address);
	TEST(addresses_refused);
	TEST(commands_refused);
	TEST(slots_that_cannot_be);
	TEST(endpoints_that_cannot_be_mended);
	TEST(stop_that_is_refused);
	TEST(a_command_that_hangs);
	TEST(completions_of_other_commands);
	TEST(a_controller_that_answers_no_command);
	TEST(controllers_that_fail);
	TEST(gone_in_a_port_function);
	return tap_done();
}
