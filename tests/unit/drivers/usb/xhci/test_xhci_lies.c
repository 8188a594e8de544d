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

/* The bus address of the next TRB of an endpoint: behind a link, if there is one. */
static uint64_t next_trb(unsigned slot, unsigned dci)
{
	uint64_t at = m.slot[slot].ep[dci].dequeue;
	const uint32_t *trb = host_dma(at, 16);
	return trb && (trb[3] >> 10 & 63) == 6 ? trb[0] : at;
}

static enum usb_status ask(struct usb_device *d)
{
	return kit_control(d, 0x80, 6, 0x100, 0, memory, 18, NULL);
}

/* --- devices ------------------------------------------------------------------------------- */

static void devices_that_fail(void)
{
	kit_new();
	kit_start();
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
	kit_new();
	kit_start();
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
		kit_new();
		kit_start();
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
	kit_new();
	kit_start();
	keyboard = (struct xhci_model_usb){.speed = XHCI_FULL, .port = 1};
	xhci_model_attach(&m, &keyboard);
	kit_wait(100);
	CHECK(kit_reset(1));
	m.lazy = true;
	kbd = kit_known(&keyboard, NULL);
	kbd.control.device = &kbd;
	CHECK(hc->ops->device_open(hc, &kbd));
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
		kit_new();
		kit_start();
		keyboard = (struct xhci_model_usb){.speed = XHCI_HIGH, .port = 1};
		keyboard.deaf_to_address = i == 0;
		keyboard.refuses_address = i == 1;
		keyboard.silent = i == 2;
		xhci_model_attach(&m, &keyboard);
		kit_wait(100);
		CHECK(kit_reset(1));
		CHECK_EQ(kit_open(&kbd, &keyboard, NULL), USB_FAILED);
		CHECK_EQ(kbd.address, 0);
		hc->ops->device_close(hc, &kbd);
		xhci_model_detach(&m, &keyboard);
		kit_wait(5);
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
		kit_new();
		kit_start();
		keyboard = (struct xhci_model_usb){.speed = XHCI_FULL, .port = 1, .packet0 = 64};
		xhci_model_attach(&m, &keyboard);
		kit_wait(100);
		CHECK(kit_reset(1));
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
		hc->ops->device_close(hc, &kbd);
		xhci_model_detach(&m, &keyboard);
		kit_wait(5);
		kit_keyboard();
		kit_end();
	}
}

static void slots_that_cannot_be(void)
{
	static const uint8_t slots[] = {25, 32, 33, 128, 255, 24 /* in use */};
	kit_new();
	kit_start();
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
		kit_new();
		kit_start();
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
	kit_new();
	kit_start();
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
				keyboard = (struct xhci_model_usb){.speed = XHCI_FULL, .port = 1};
				xhci_model_attach(&m, &keyboard);
				kit_wait(100);
				CHECK(kit_reset(1));
				m.commands_stuck = true;
				kbd = kit_known(&keyboard, NULL);
				kbd.control.device = &kbd;
				CHECK(hc->ops->device_open(hc, &kbd));
				uint64_t before = now_us;
				CHECK_EQ(ask(&kbd), late ? USB_OK : USB_FAILED);
				CHECK(now_us - before < 700000);
				m.commands_stuck = false;
				CHECK_EQ(ask(&stk), USB_OK);
				hc->ops->device_close(hc, &kbd);
				xhci_model_detach(&m, &keyboard);
				kit_wait(5);
			}
			for (unsigned i = 0; i < 12; i++) {
				kit_keyboard();
				hc->ops->device_close(hc, &kbd);
				xhci_model_detach(&m, &keyboard);
				kit_wait(5);
			}
			kit_end();
		}
}

static void completions_of_other_commands(void)
{
	kit_new();
	kit_start();
	keyboard = (struct xhci_model_usb){.speed = XHCI_FULL, .port = 1};
	xhci_model_attach(&m, &keyboard);
	kit_wait(100);
	CHECK(kit_reset(1));
	kbd = kit_known(&keyboard, NULL);
	kbd.control.device = &kbd;
	CHECK(hc->ops->device_open(hc, &kbd));
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
	kit_new();
	kit_start();
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
	kit_new();
	kit_start();
	kit_keyboard();
	t = kit_transfer(&kbd, 0, memory, 8);
	CHECK(submit(&t));
	kit_wait(1);
	m.commands_stuck = true; /* but can be aborted */
	hc->ops->cancel(hc, &t);
	kit_wait(800);
	CHECK_STR(reason, "does not stop an endpoint");
	kit_end();
	kit_new();
	kit_start();
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
		kit_new();
		kit_start();
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
		hc->ops->stop(hc);
		CHECK(host_now_us - before < 100000);
		CHECK(xhci_model_quiet(&m));
		CHECK_EQ(pci_model_faults(), 0);
	}
}

static void gone_in_a_port_function(void)
{
	kit_new();
	kit_start();
	m.gone = true;
	hc->ops->port_reset(hc, 1);
	CHECK_STR(reason, "is gone");
	hc->ops->port_disable(hc, 1);
	hc->ops->stop(hc);
	kit_new();
	kit_start();
	m.never_halts = m.reset_stuck = true;
	hc->ops->stop(hc);
	CHECK(xhci_model_quiet(&m)); /* its bus mastering is off */
	CHECK_EQ(pci_model_faults(), 0);
}

/* --- events that lie
 * -------------------------------------------------------------------------------------- */

static void events_that_cannot_be(void)
{
	kit_new();
	kit_start();
	kit_keyboard();
	unsigned slot = xhci_model_slot_of(&m, &keyboard);
	struct usb_transfer t = kit_transfer(&kbd, 0, memory, 8);
	CHECK(submit(&t));
	kit_wait(2);
	uint64_t ring = m.slot[slot].ep[3].dequeue & ~255ull;
	for (unsigned i = 0; i < 40; i++) {
		event(ring, 1, 0, EV_TRANSFER, 3, i == slot ? 0 : i); /* another slot */
		event(ring, 1, 0, EV_TRANSFER, 3, 200 + i);
		event(ring, 1, 0, EV_TRANSFER, i == 3 || i > 31 ? 0 : i, slot);
		event(ring - 16, 1, 0, EV_TRANSFER, 3, slot);
		event(ring + 256, 1, 0, EV_TRANSFER, 3, slot);
		event(1ull << 32 | ring, 1, 0, EV_TRANSFER, 3, slot);
		event(ring + i % 15 + 1, 1, 0, EV_TRANSFER, 3, slot);
		uint64_t other = ring + (next_trb(slot, 3) + 48) % 256; /* of another TD */
		event(other, 13, 0, EV_TRANSFER, 3, slot);
		event(other, 6, 0, EV_TRANSFER, 3, slot);
		event(0, i, 0, EV_COMMAND, 0, i);
		event(m.cmd_at - 16, i == 24 ? 1 : i, 0, EV_COMMAND, 0, slot);
		event(0, 1, 0, EV_PORT, 0, 0);
		event(255u << 24, 1, 0, EV_PORT, 0, 0);
		event(0, 1, 0, 35 + i % 5, 0, 0);
		event(0, 1, 0, i % 32, 0, 0);
		kit_wait(2);
		CHECK(t.active);
		CHECK_EQ(ask(&kbd), USB_OK); /* a good event, so the controller stays */
	}
	CHECK(!hc->failed);
	kit_end();
}

static void a_flood_of_events(void)
{
	static const unsigned types[] = {EV_TRANSFER, EV_COMMAND, 0, 63};
	for (unsigned k = 0; k < ARRAY_SIZE(types); k++) {
		kit_new();
		kit_start();
		for (unsigned i = 0; i < 70 && !hc->failed; i++) {
			event(i * 16, 1, 0, types[k], 1, 1);
			if (i % 8 == 7)
				kit_poll();
		}
		kit_wait(2);
		CHECK_STR(reason, "sends events that cannot be");
		kit_end();
	}
	kit_new(); /* a full event ring: bounded work in one poll */
	kit_start();
	kit_wait(20);
	for (unsigned i = 0; i < 250; i++)
		event(1u << 24, 1, 0, EV_PORT, 0, 0);
	unsigned before = pci_model_reads();
	hc->ops->poll(hc, now_us + 1000);
	CHECK(pci_model_reads() - before < 200);
	kit_wait(3);
	CHECK(!hc->failed);
	kit_end();
}

/* Every completion code for a transfer: it ends or goes on, and the endpoint works again. */
static void all_completion_codes(void)
{
	kit_new();
	kit_start();
	kit_stick();
	unsigned slot = xhci_model_slot_of(&m, &stick);
	for (unsigned code = 0; code < 256; code++) {
		struct usb_transfer t = kit_transfer(&stk, 0, memory + 0xff00, 4096);
		stick.in_ready = false;
		CHECK(submit(&t));
		kit_wait(1);
		event(next_trb(slot, 3), code, 100, EV_TRANSFER, 3, slot);
		kit_wait(3);
		CHECK(t.actual <= 4096);
		if (t.active)
			hc->ops->cancel(hc, &t);
		CHECK(kit_done(&t));
		CHECK(t.actual <= 4096);
		kit_wait(5);
		CHECK(!hc->failed);
	}
	pci_model_faults_clear(); /* the driver resets what the model never halted */
	hc->ops->device_close(hc, &stk);
	kit_wait(5);
	pci_model_faults_clear();
	kit_stick();
	CHECK_EQ(ask(&stk), USB_OK);
	kit_end();
}

static void lengths_that_lie(void)
{
	static const uint32_t left[] = {0, 1, 255, 256, 257, 4095, 4096, 4097, 65536, 0xffffff};
	kit_new();
	kit_start();
	kit_stick();
	unsigned slot = xhci_model_slot_of(&m, &stick);
	for (unsigned i = 0; i < ARRAY_SIZE(left); i++)
		for (unsigned k = 0; k < 2; k++) {
			struct usb_transfer t = kit_transfer(&stk, 0, memory + 0xff00, 4096);
			stick.in_ready = false;
			CHECK(submit(&t));
			kit_wait(1);
			event(next_trb(slot, 3) + 16 * k, 13, left[i], EV_TRANSFER, 3, slot);
			CHECK(kit_done(&t));
			CHECK_EQ(t.status, USB_OK);
			uint32_t end = k ? 4096 : 256, len = k ? 3840 : 256;
			CHECK_EQ(t.actual, end - (left[i] < len ? left[i] : len));
			hc->ops->endpoint_reset(hc, t.endpoint); /* stops it, so the TD goes */
			kit_wait(5);
		}
	CHECK(!hc->failed);
	hc->ops->stop(hc);
	CHECK_EQ(pci_model_faults(), 0);
}

static void states_in_memory_that_are_old(void)
{
	kit_new();
	kit_start();
	kit_stick();
	m.slow_state = true;
	for (unsigned i = 0; i < 20; i++) {
		struct usb_transfer t = kit_transfer(&stk, 0, memory, 512);
		stick.stalls = true;
		CHECK_EQ(ask(&stk), USB_STALLED);
		CHECK(submit(&t) && kit_done(&t));
		stick.stalls = false;
		CHECK_EQ(ask(&stk), USB_OK);
		CHECK_EQ(kit_control(&stk, 2, 1, 0, 0x81, NULL, 0, NULL), USB_OK);
		hc->ops->endpoint_reset(hc, t.endpoint);
		CHECK(submit(&t));
		kit_wait(1);
		hc->ops->cancel(hc, &t);
		CHECK(kit_done(&t));
		CHECK_EQ(t.status, USB_CANCELLED);
	}
	kit_end();
}

/* --- at random
 * -----------------------------------------------------------------------------------------------
 */

static uint32_t seed;
static uint32_t pick(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* One thing that happens. */
static void happen(struct usb_transfer *t)
{
	unsigned slot = pick(26), k = pick(3);
	switch (pick(12)) {
	case 0:
		event(pick(2) ? m.slot[slot].ep[3].dequeue - 16 * pick(4) : pick(1u << 31),
		      pick(40), pick(5000), 32 + pick(3), pick(6), slot);
		break;
	case 1:
		m.code[9 + pick(8)] = (uint8_t)pick(40);
		break;
	case 2:
		stick.stalls = pick(2);
		break;
	case 3:
		stick.silent = pick(3) == 0;
		break;
	case 4:
		xhci_model_give(&m, &stick, pick(2) ? 0x81 : 0x83, memory, pick(5000));
		break;
	case 5:
		if (t[k].active)
			hc->ops->cancel(hc, &t[k]);
		break;
	case 6:
		hc->ops->endpoint_reset(hc, &stk.endpoint[pick(2)]);
		break;
	case 7:
		hc->ops->port_reset(hc, (uint8_t)pick(10));
		break;
	default:
		if (!t[k].active && t[k].endpoint->hc)
			(void)submit(&t[k]);
		break;
	}
}

static void random_lies(void)
{
	for (unsigned round = 0; round < 60; round++) {
		static struct usb_transfer t[3];
		seed = round;
		kit_new();
		m.lazy = round & 1;
		kit_start();
		kit_stick();
		t[0] = kit_transfer(&stk, 0, memory + 0xff00, 4096);
		t[1] = kit_transfer(&stk, 1, memory + 0x4000, 4096);
		t[2] = (struct usb_transfer){.endpoint = &stk.control, .data = memory, .len = 64};
		t[2].setup[0] = 0x80;
		t[2].setup[6] = 64;
		for (unsigned i = 0; i < 500 && !hc->failed; i++) {
			happen(t);
			if (pick(2))
				kit_poll();
		}
		for (unsigned i = 0; i < 3 && !hc->failed; i++)
			if (t[i].active)
				hc->ops->cancel(hc, &t[i]);
		kit_wait(1500);
		for (unsigned i = 0; i < 3 && !hc->failed; i++)
			CHECK(!t[i].active);
		if (!hc->failed)
			hc->ops->device_close(hc, &stk);
		kit_wait(700);
		hc->ops->stop(hc);
		CHECK(xhci_model_quiet(&m));
		pci_model_faults_clear(); /* the model and the driver saw different things */
	}
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
	TEST(events_that_cannot_be);
	TEST(a_flood_of_events);
	TEST(all_completion_codes);
	TEST(lengths_that_lie);
	TEST(states_in_memory_that_are_old);
	TEST(random_lies);
	return tap_done();
}
