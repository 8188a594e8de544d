/* Transaction translators of high-speed hubs: one that holds a broken-off control or bulk transfer
 * is told to forget it (USB 2.0 11.17.5, 11.24.2.3). One request at a time is on its way. */
#include "drivers/usb/ehci/ehci.h"

#define REQUEST_TYPE 0x23 /* class request to a port of the hub */
#define CLEAR_BUFFER 8
#define GIVE_UP_US   2000000u

void ehci_tt_broken(struct ehci *e, struct ehci_queue *q)
{
	if (!q->tt_hub || q->kind == USB_INTERRUPT)
		return;
	q->tt_left = q->kind == USB_CONTROL ? 2 : 1; /* both directions of a control endpoint */
	q->tt_us = e->now_us;
}

static void tt_done(struct usb_transfer *t)
{
	struct ehci *e = t->owner;
	struct ehci_queue *q = e->tt_queue;
	e->tt_queue = NULL;
	if (q && q->tt_left)
		q->tt_left--; /* whatever the hub says */
}

static void request(struct ehci *e, struct ehci_queue *q)
{
	uint8_t number = q->number & 15;
	bool in = q->kind == USB_CONTROL ? q->tt_left == 2 : q->number >> 7;
	uint16_t value = (uint16_t)(number | q->address << 4 | q->kind << 11 | in << 15);
	usb_control(&e->tt, q->tt_hub, REQUEST_TYPE, CLEAR_BUFFER, value, q->tt_port, NULL, 0);
	e->tt.done = tt_done;
	e->tt.owner = e;
	e->tt_queue = q;
	if (usb_submit(&e->tt))
		return;
	/* The hub has another request on its way. */
	e->tt_queue = NULL;
	if (e->now_us - q->tt_us > GIVE_UP_US)
		q->tt_left = 0;
}

void ehci_tt_poll(struct ehci *e)
{
	for (unsigned i = 0; i < EHCI_QUEUES && !e->tt_queue && !e->tt.active; i++) {
		struct ehci_queue *q = &e->queue[i];
		if (q->tt_left && q->place == EHCI_IDLE)
			request(e, q);
	}
}

void ehci_tt_gone(struct ehci *e, const struct usb_device *hub)
{
	for (unsigned i = 0; i < EHCI_QUEUES; i++)
		if (e->queue[i].tt_hub == hub) {
			e->queue[i].tt_left = 0;
			e->queue[i].tt_hub = NULL;
		}
}
