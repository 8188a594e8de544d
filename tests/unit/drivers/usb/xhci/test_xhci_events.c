/* The xHCI driver with a controller that lies in its events: slots, pointers, completion codes,
 * lengths, states, and all of them at random. */
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

/* --- events that lie
 * -------------------------------------------------------------------------------------- */

static void events_that_cannot_be(void)
{
	kit_begin();
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
		kit_begin();
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
	kit_begin();
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
	kit_begin();
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
	hcd_stop(hc);
	CHECK_EQ(pci_model_faults(), 0);
}

static void states_in_memory_that_are_old(void)
{
	kit_begin();
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
		hcd_stop(hc);
		CHECK(xhci_model_quiet(&m));
		pci_model_faults_clear(); /* the model and the driver saw different things */
	}
}

int main(void)
{
	TEST(events_that_cannot_be);
	TEST(a_flood_of_events);
	TEST(all_completion_codes);
	TEST(lengths_that_lie);
	TEST(states_in_memory_that_are_old);
	TEST(random_lies);
	return tap_done();
}
