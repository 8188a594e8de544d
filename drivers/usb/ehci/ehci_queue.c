/* The queues of an EHCI controller, one for each endpoint, and their transfers (3.5, 3.6, 4.10).
 *
 * A queue has a ring of four descriptors. Those of a transfer begin with the one that ended the
 * queue as an inactive one, and the one behind them ends the queue now. */
#include "drivers/usb/ehci/ehci.h"

#include "kernel/lib/alloc.h"

#define PAGE 4096u
_Static_assert(USB_TRANSFER_MAX <= PAGE, "a transfer has one buffer, and that no borders");

enum { START_MASK = 0x01, COMPLETE_MASK = 0x1c }; /* micro-frames of split transactions */

/* --- opening and closing ----------------------------------------------------------------- */

static void buffer_free(struct ehci *e, struct ehci_queue *q)
{
	if (q->page)
		e->pages_free |= (uint8_t)(1u << ((uint32_t)(q->page - e->pages) / PAGE));
	q->page = NULL;
}

/* Gives a new queue for an endpoint, or NULL. */
static struct ehci_queue *queue_open(struct ehci *e, struct usb_endpoint *end)
{
	struct usb_device *d = end->device;
	for (unsigned i = 0; i < EHCI_QUEUES; i++) {
		struct ehci_queue *q = &e->queue[i];
		if (q->place != EHCI_FREE)
			continue;
		*q = (struct ehci_queue){
		        .slot = q->slot,
		        .endpoint = end,
		        .device = d,
		        .place = EHCI_IDLE,
		        .kind = end->kind,
		        .number = end->address,
		};
		if (d->speed != USB_HIGH) {
			q->tt_hub = d->tt_hub;
			q->tt_port = d->tt_hub->multi_tt ? d->tt_port : 1;
		}
		memset(q->slot, 0, sizeof *q->slot);
		end->hc = q;
		return q;
	}
	return NULL;
}

bool ehci_device_open(struct usb_controller *c, struct usb_device *d)
{
	/* Without a high-speed hub on the way, only companions reach other devices. */
	if (d->speed > USB_HIGH || (d->speed != USB_HIGH && !d->tt_hub))
		return false;
	d->control.device = d;
	d->control.kind = USB_CONTROL;
	return queue_open(ehci_of(c), &d->control) != NULL;
}

void ehci_device_changed(struct usb_controller *c, struct usb_device *d)
{
	/* queue_start compares with what the controller knows. */
	(void)c;
	(void)d;
}

/* Byte times that a transaction takes at full speed, with bit stuffing (USB 2.0 5.11.3). */
static uint16_t load_of(const struct usb_endpoint *end)
{
	uint32_t n = 13 + (end->max_packet & 0x7ffu) * 7 / 6;
	return (uint16_t)(end->device->speed == USB_LOW ? 8 * n : n);
}

/* True when bInterval allows EHCI_PHASES frames between two services (USB 2.0 9.6.6). */
static bool slow(const struct usb_endpoint *end)
{
	return end->device->speed == USB_HIGH ? end->interval >= 7 : end->interval >= EHCI_PHASES;
}

bool ehci_endpoint_open(struct usb_controller *c, struct usb_endpoint *end)
{
	struct ehci *e = ehci_of(c);
	uint32_t size = end->max_packet & 0x7ffu;
	if ((end->kind != USB_BULK && end->kind != USB_INTERRUPT) || size == 0 || size > 1024)
		return false;
	struct ehci_queue *q = queue_open(e, end);
	if (!q)
		return false;
	if (end->kind != USB_INTERRUPT)
		return true;
	q->period = slow(end) ? EHCI_PHASES : 1;
	q->load = q->tt_hub ? load_of(end) : 1;
	if (ehci_phase(e, q))
		return true;
	*q = (struct ehci_queue){.slot = q->slot};
	end->hc = NULL;
	return false;
}

static void queue_close(struct ehci *e, struct ehci_queue *q)
{
	struct usb_transfer *t = q->t;
	q->endpoint->hc = NULL;
	q->endpoint = NULL;
	q->device = NULL;
	q->t = NULL;
	if (q->running)
		ehci_tt_broken(e, q);
	if (q->place == EHCI_LINKED)
		ehci_unlink(q);
	if (t)
		usb_complete(t, USB_GONE, 0);
}

void ehci_device_close(struct usb_controller *c, struct usb_device *d)
{
	struct ehci *e = ehci_of(c);
	ehci_tt_gone(e, d);
	for (unsigned i = 0; i < EHCI_QUEUES; i++)
		if (e->queue[i].endpoint && e->queue[i].device == d)
			queue_close(e, &e->queue[i]);
}

void ehci_endpoint_reset(struct usb_controller *c, struct usb_endpoint *end)
{
	struct ehci_queue *q = end->hc;
	(void)c;
	q->toggle_reset = true;
}

/* --- starting ---------------------------------------------------------------------------- */

static uint32_t ends_of(const struct ehci_queue *q)
{
	static const uint32_t speeds[] = {ENDS_LOW, ENDS_FULL, ENDS_HIGH};
	const struct usb_device *d = q->device;
	uint32_t v = d->address | ENDS_NUMBER(q->endpoint->address & 15) | speeds[d->speed] |
	             ENDS_SIZE(q->endpoint->max_packet & 0x7ff);
	if (q->kind == USB_CONTROL)
		v |= ENDS_DTC | (d->speed != USB_HIGH ? ENDS_CONTROL : 0);
	if (q->kind != USB_INTERRUPT && d->speed == USB_HIGH)
		v |= ENDS_NAKS;
	return v;
}

static uint32_t splits_of(const struct ehci *e, const struct ehci_queue *q)
{
	const struct usb_device *d = q->device;
	uint32_t v = SPLITS_MULT;
	if (d->speed != USB_HIGH)
		v |= SPLITS_HUB(d->tt_hub->address) | SPLITS_PORT(d->tt_port);
	if (q->kind == USB_INTERRUPT && d->speed != USB_HIGH)
		v |= SPLITS_START(START_MASK) | SPLITS_COMPLETE(COMPLETE_MASK);
	else if (q->kind == USB_INTERRUPT)
		v |= SPLITS_START(1u << (q - e->queue) % 8); /* spread over the micro-frames */
	return v;
}

/* Prepares a queue that is not linked. Its toggle stays, if it shall. */
static void queue_clean(struct ehci *e, struct ehci_queue *q)
{
	struct ehci_slot *s = q->slot;
	uint32_t keep = q->toggle_reset ? 0 : s->qh.work.token & (TOKEN_TOGGLE | TOKEN_PING);
	q->toggle_reset = false;
	q->first = q->count = 0;
	for (unsigned i = 0; i < EHCI_RING; i++)
		s->qtd[i].work = (struct ehci_work){.next = LINK_END, .alt = LINK_END};
	s->qh.ends = ends_of(q);
	s->qh.splits = splits_of(e, q);
	s->qh.current = 0;
	s->qh.work = (struct ehci_work){
	        .next = (uint32_t)dma_addr(&s->qtd[0]), .alt = LINK_END, .token = keep};
}

/* Adds a descriptor to the transfer. The first one's token is given back, to be written last. */
static uint32_t add(struct ehci_queue *q, uint32_t token, const void *data, uint32_t len)
{
	struct ehci_slot *s = q->slot;
	unsigned at = (q->first + q->count) % EHCI_RING;
	struct ehci_work *w = &s->qtd[at].work;
	w->next = (uint32_t)dma_addr(&s->qtd[(at + 1) % EHCI_RING]);
	w->alt = LINK_END;
	w->page[0] = len ? (uint32_t)dma_addr(data) : 0;
	token |= TOKEN_ACTIVE | TOKEN_TRIES | TOKEN_BYTES(len);
	if (q->count++)
		w->token = token;
	return token;
}

static uint8_t *buffer_of(const struct ehci_queue *q)
{
	return q->page ? q->page : q->slot->small;
}

static bool is_in(const struct ehci_queue *q)
{
	return (q->kind == USB_CONTROL ? q->t->setup[0] : q->endpoint->address) & 0x80;
}

/* Takes a buffer for the transfer. False: none is free. */
static bool buffer_take(struct ehci *e, struct ehci_queue *q)
{
	if (q->t->len <= EHCI_SMALL)
		return true;
	for (unsigned i = 0; i < EHCI_PAGES; i++)
		if (e->pages_free >> i & 1) {
			e->pages_free &= (uint8_t) ~(1u << i);
			q->page = e->pages + PAGE * i;
			return true;
		}
	return false;
}

static void fill(struct ehci_queue *q)
{
	struct usb_transfer *t = q->t;
	struct ehci_slot *s = q->slot;
	uint32_t pid = is_in(q) ? TOKEN_IN : TOKEN_OUT, first;
	q->first = (q->first + q->count) % EHCI_RING;
	q->count = 0;
	if (!is_in(q) && t->len)
		memcpy(buffer_of(q), t->data, t->len);
	if (q->kind == USB_CONTROL) {
		memcpy(s->setup, t->setup, 8);
		first = add(q, TOKEN_SETUP, s->setup, 8);
		if (t->len)
			add(q, pid | TOKEN_TOGGLE, buffer_of(q), t->len);
		/* The status stage has the other direction (USB 2.0 8.5.3). */
		add(q, (t->len && is_in(q) ? TOKEN_OUT : TOKEN_IN) | TOKEN_TOGGLE, NULL, 0);
	} else {
		first = add(q, pid, buffer_of(q), t->len);
	}
	struct ehci_work *end = &s->qtd[(q->first + q->count) % EHCI_RING].work;
	end->next = end->alt = LINK_END;
	end->token = 0;
	io_wmb();
	*(volatile uint32_t *)&s->qtd[q->first].work.token = first;
}

/* Starts the transfer of a queue, if all that is needed is there. */
static void queue_start(struct ehci *e, struct ehci_queue *q)
{
	if (!q->t || q->running || q->tt_left)
		return;
	if (q->device->speed != USB_HIGH && !q->tt_hub)
		return; /* the hub is gone, and the device will be closed */
	if (q->place == EHCI_LINKED && (q->toggle_reset || q->slot->qh.ends != ends_of(q) ||
	                                q->slot->qh.splits != splits_of(e, q))) {
		ehci_unlink(q);
		return;
	}
	if ((q->place != EHCI_LINKED && q->place != EHCI_IDLE) || !buffer_take(e, q))
		return;
	if (q->place == EHCI_IDLE)
		queue_clean(e, q);
	fill(q);
	q->running = true;
	q->address = q->device->address;
	if (q->place == EHCI_IDLE)
		ehci_link(e, q);
}

bool ehci_submit(struct usb_controller *c, struct usb_transfer *t)
{
	struct ehci *e = ehci_of(c);
	struct ehci_queue *q = t->endpoint->hc;
	if (e->dead || q->t || t->len > USB_TRANSFER_MAX)
		return false;
	q->t = t;
	queue_start(e, q);
	uint32_t sts = ehci_read(e, EHCI_USBSTS);
	if (sts != EHCI_GONE)
		ehci_schedule_follow(e, sts);
	return true;
}

/* --- ending ------------------------------------------------------------------------------- */

static uint32_t token_of(const struct ehci_queue *q, unsigned i)
{
	return ehci_word(&q->slot->qtd[(q->first + i) % EHCI_RING].work.token);
}

/* 3.5.3, 4.12.2.4: a halt without an error bit of its own is a STALL. */
static enum usb_status halted_by(uint32_t token)
{
	if (token & (TOKEN_BABBLE | TOKEN_MISSED) || !(token & TOKEN_TRIES))
		return USB_FAILED;
	return USB_STALLED;
}

/* True when the controller has done all it will do; *status is set then. */
static bool ended(const struct ehci_queue *q, enum usb_status *status)
{
	for (unsigned i = 0; i < q->count; i++) {
		uint32_t token = token_of(q, i);
		if (token & TOKEN_ACTIVE)
			return false;
		if (token & TOKEN_HALTED) {
			*status = halted_by(token);
			return true;
		}
	}
	*status = USB_OK;
	return true;
}

/* Gives the bytes that moved, and copies them for the owner of the transfer. */
static uint32_t moved(const struct ehci_queue *q)
{
	const struct usb_transfer *t = q->t;
	uint32_t token = token_of(q, q->kind == USB_CONTROL ? 1 : 0);
	uint32_t left = TOKEN_LEFT(token);
	if (!t->len || left > t->len)
		return 0;
	io_rmb();
	if (is_in(q))
		memcpy(t->data, buffer_of(q), t->len - left);
	return t->len - left;
}

/* Ends the transfer of a queue. Its `done` may do anything with the queue. */
static void finish(struct ehci *e, struct ehci_queue *q, enum usb_status status)
{
	struct usb_transfer *t = q->t;
	uint32_t actual = moved(q);
	q->t = NULL;
	q->running = false;
	buffer_free(e, q);
	usb_complete(t, status, actual);
}

void ehci_queue_left(struct ehci *e, struct ehci_queue *q)
{
	q->place = EHCI_IDLE;
	enum usb_status status;
	if (q->running && q->endpoint)
		finish(e, q, ended(q, &status) ? status : USB_CANCELLED);
}

void ehci_cancel(struct usb_controller *c, struct usb_transfer *t)
{
	struct ehci *e = ehci_of(c);
	struct ehci_queue *q = t->endpoint->hc;
	if (!q || q->t != t)
		return;
	if (!q->running) {
		q->t = NULL;
		usb_complete(t, USB_CANCELLED, 0);
	} else if (q->place == EHCI_LINKED) {
		ehci_tt_broken(e, q);
		ehci_unlink(q);
	}
}

static void queue_check(struct ehci *e, struct ehci_queue *q)
{
	enum usb_status status;
	if (q->place != EHCI_LINKED || !q->running || !ended(q, &status))
		return;
	if (status != USB_OK) {
		/* A STALL leaves nothing in the translator. */
		if (status != USB_STALLED)
			ehci_tt_broken(e, q);
		ehci_unlink(q);
	}
	finish(e, q, status);
}

void ehci_queue_poll(struct ehci *e)
{
	for (unsigned i = 0; i < EHCI_QUEUES && !e->dead; i++) {
		struct ehci_queue *q = &e->queue[i];
		if (q->endpoint) {
			queue_check(e, q);
			queue_start(e, q);
		} else if (q->place == EHCI_IDLE && !q->tt_left) {
			buffer_free(e, q);
			q->place = EHCI_FREE;
		}
	}
}
