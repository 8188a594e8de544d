/* Transfers of the controller's model (4.10, 4.11), and the devices behind them. */
#include "tests/models/xhci_model.h"
#include "tests/models/xhci_model_regs.h"

#include "kernel/seam/io.h"

enum { NORMAL = 1, SETUP = 2, DATA = 3, STATUS = 4 };
#define ISP   (1u << 2)
#define CHAIN (1u << 4)
#define IOC   (1u << 5)
#define IDT   (1u << 6)
#define IN    (1u << 16)
#define MOST  6 /* TRBs of a TD, or of a control transfer */

/* What a doorbell leads to: the TRBs of a TD, or those of a whole control transfer. */
struct work {
	struct xhci_model *m;
	unsigned slot, dci;
	struct xhci_model_ep *ep;
	struct xhci_model_usb *u;
	unsigned n;
	struct trb trb[MOST];
	uint64_t next;
	bool next_cycle;
};

static void event(const struct work *w, unsigned trb, uint8_t code, uint32_t left)
{
	xhci_model_event(w->m, w->trb[trb].at, (uint32_t)code << 24 | left,
	                 32u << 10 | w->dci << 16 | w->slot << 24);
}

static uint32_t length(const struct trb *t)
{
	return t->status & 0x1ffff;
}

/* --- TDs ----------------------------------------------------------------------------------- */

/* 4.11.2.4, table 6-20: what every TRB with data must be, which ends at byte `end` of `all`. */
static void check_data(const struct work *w, const struct trb *t, uint32_t end, uint32_t all)
{
	uint32_t size = t->status >> 17 & 31, left = all - end;
	uint32_t packets = (all + w->ep->packet - 1) / w->ep->packet - end / w->ep->packet;
	uint32_t n = length(t);
	if (n > 65536 || (n && t->ptr >> 16 != (t->ptr + n - 1) >> 16))
		pci_model_fault("%u bytes at 0x%llx cross 64 KB", n, (unsigned long long)t->ptr);
	if (left == 0 ? size != 0 : size != (packets > 31 ? 31 : packets))
		pci_model_fault("TD size %u, %u packets remain", size, packets);
	if (n && !pci_model_dma(&w->m->pci, t->ptr, n))
		pci_model_fault("data are not the driver's");
	if (t->status >> 22 || t->control & (IDT | 0x180u | 1u << 9))
		pci_model_fault("data TRB: 0x%x 0x%x", t->status, t->control);
}

static bool fetch(struct work *w)
{
	if (w->n == MOST) {
		pci_model_fault("a TD of more than %u TRBs", MOST);
		return false;
	}
	uint64_t before = w->next;
	if (!xhci_model_fetch(w->m, &w->next, &w->next_cycle, &w->trb[w->n]))
		return false;
	/* A TD that has a link in it must fill whole bursts in front of it (4.11.7.1); the driver
	 * has no such TDs. */
	if (w->n && w->trb[w->n].at != before)
		pci_model_fault("a link inside of a TD");
	w->n++;
	return true;
}

/* Reads the TRBs of a data stage or of a normal TD. False when some are missing. */
static bool fetch_data(struct work *w, unsigned first)
{
	do {
		if (!fetch(w))
			return false;
	} while (w->trb[w->n - 1].control & CHAIN);
	uint32_t all = 0, end = 0;
	for (unsigned i = first; i < w->n; i++)
		all += length(&w->trb[i]);
	for (unsigned i = first; i < w->n; i++) {
		end += length(&w->trb[i]);
		check_data(w, &w->trb[i], end, all);
		if (i > first && trb_type(&w->trb[i]) != NORMAL)
			pci_model_fault("TRB type %u in a TD", trb_type(&w->trb[i]));
	}
	return true;
}

static void check_control(const struct work *w)
{
	const struct trb *s = &w->trb[0], *e = &w->trb[w->n - 1];
	uint32_t setup_len = (uint32_t)(s->ptr >> 48), total = 0, stage = s->control >> 16 & 3;
	bool in = s->ptr & 0x80 && setup_len, data = w->n > 2;
	for (unsigned i = 1; i + 1 < w->n; i++)
		total += length(&w->trb[i]);
	if (s->status != 8 || !(s->control & IDT) || s->control & (CHAIN | ISP | IOC) ||
	    stage != (!data ? 0u
	              : in  ? 3u
	                    : 2u))
		pci_model_fault("setup stage: 0x%x 0x%x", s->status, s->control);
	if (data && (trb_type(&w->trb[1]) != DATA || !(w->trb[1].control & IN) != !in))
		pci_model_fault("data stage: 0x%x", w->trb[1].control);
	if (total != setup_len)
		pci_model_fault("a data stage of %u, not of %u bytes", total, setup_len);
	if (trb_type(e) != STATUS || e->ptr || e->status || !(e->control & IN) != (data && in) ||
	    e->control & (CHAIN | IDT) || !(e->control & IOC))
		pci_model_fault("status stage: 0x%x 0x%x", e->status, e->control);
}

/* Reads what waits on the ring. False when there is nothing. */
static bool collect(struct work *w)
{
	struct xhci_model_ep *ep = w->ep;
	w->n = 0;
	w->next = ep->dequeue;
	w->next_cycle = ep->cycle;
	if (ep->type != 4) {
		if (!fetch(w))
			return false;
		w->n = 0;
		w->next = w->trb[0].at;
		w->next_cycle = w->trb[0].control & 1;
		if (!fetch_data(w, 0))
			pci_model_fault("a part of a TD");
		if (trb_type(&w->trb[0]) != NORMAL || !(w->trb[w->n - 1].control & IOC))
			pci_model_fault("TD: 0x%x", w->trb[0].control);
		return true;
	}
	if (!fetch(w))
		return false;
	bool more = trb_type(&w->trb[0]) == SETUP && w->trb[0].ptr >> 48;
	if ((more && !fetch_data(w, 1)) || !fetch(w))
		pci_model_fault("a part of a control transfer");
	check_control(w);
	return true;
}

bool xhci_model_waits(struct xhci_model *m, unsigned slot, unsigned dci)
{
	struct xhci_model_ep *ep = &m->slot[slot].ep[dci];
	uint64_t at = ep->dequeue;
	bool cycle = ep->cycle;
	struct trb t;
	return ep->state == 1 && xhci_model_fetch(m, &at, &cycle, &t);
}

/* --- results ------------------------------------------------------------------------------------
 */

static void halt(const struct work *w, unsigned trb, uint8_t code, uint32_t left)
{
	w->ep->dequeue = w->trb[0].at;
	w->ep->cycle = w->trb[0].control & 1;
	w->ep->moved = 0;
	xhci_model_ep_state(w->m, w->slot, w->dci, code == TRB_ERROR ? 4 : 2);
	event(w, trb, code, left);
}

static void advance(const struct work *w)
{
	w->ep->dequeue = w->next;
	w->ep->cycle = w->next_cycle;
	w->ep->moved = 0;
	xhci_model_ep_state(w->m, w->slot, w->dci, 1);
	w->ep->armed = true;
}

/* The TRB of the TD in which byte `at` lies, and the bytes of this TRB behind it. */
static unsigned trb_of(const struct work *w, unsigned first, uint32_t at, uint32_t *left)
{
	unsigned i = first;
	while (i + 1 < w->n && trb_type(&w->trb[i + 1]) == NORMAL && at >= length(&w->trb[i]))
		at -= length(&w->trb[i++]);
	*left = length(&w->trb[i]) - at;
	return i;
}

static void copy(const struct work *w, unsigned first, uint32_t at, uint8_t *data, uint32_t n,
                 bool in)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t left;
		unsigned k = trb_of(w, first, at + i, &left);
		uint8_t *p =
		        pci_model_dma(&w->m->pci, w->trb[k].ptr + length(&w->trb[k]) - left, 1);
		if (p && in)
			*p = data[i];
		else if (p)
			data[i] = *p;
	}
}

static bool gone(struct work *w)
{
	struct xhci_model_usb *u = w->u;
	if (u && u->there && u->vanish_in && --u->vanish_in == 0)
		xhci_model_detach(w->m, u);
	return !u || !u->there;
}

static uint8_t error_code(const struct xhci_model_usb *u)
{
	return u && u->split_error ? SPLIT : TRANSACTION;
}

/* --- control transfers
 * ---------------------------------------------------------------------------- */

/* The answer of a device: some bytes that depend on the request. */
static uint32_t answer(const struct xhci_model_usb *u, uint8_t *out, uint32_t len)
{
	static const uint8_t device[18] = {18, 1, 0, 2, 0, 0, 0, 8, 0x34, 0x12, 0x78, 0x56};
	uint32_t n = u->at_most && u->at_most < len ? u->at_most : len;
	bool descriptor = u->setup[1] == 6 && u->setup[3] == 1;
	if (descriptor && n > sizeof device)
		n = sizeof device;
	for (uint32_t i = 0; i < n; i++)
		out[i] = descriptor ? device[i] : (uint8_t)(i * 7 + u->setup[2]);
	if (descriptor && n > 7)
		out[7] = u->packet0 == 512 ? 9 : (uint8_t)u->packet0;
	return n;
}

/* The answer of a ready device: bytes, or one of USB_FAKE_*. OUT data go to it. */
static int fake_control(struct work *w, uint8_t *buf, uint32_t len)
{
	struct usb_fake_device *d = w->u->fake;
	int n = USB_FAKE_PASS;
	if (len && !(w->u->setup[0] & 0x80))
		copy(w, 1, 0, buf, len, false);
	if (d->control)
		n = d->control(d, w->u->setup, buf, len);
	return n == USB_FAKE_PASS ? usb_fake_standard(d, w->u->setup, buf, len) : n;
}

static void control(struct work *w)
{
	struct xhci_model_usb *u = w->u;
	uint8_t buf[8192];
	uint64_t setup = w->trb[0].ptr;
	uint32_t len = (uint32_t)(setup >> 48), n = len, left;
	unsigned last = w->n - 1, stage = len ? 1 : last;
	if (gone(w) || u->silent || u->split_error) {
		halt(w, 0, error_code(u), 8);
		return;
	}
	if (w->m->slot[w->slot].state >= 3 && u->address != 100 + w->slot)
		pci_model_fault("slot %u speaks to a device at address %u", w->slot, u->address);
	if ((setup & 0xff) == 0 && (setup >> 8 & 0xff) == 5)
		pci_model_fault("SET_ADDRESS as a transfer");
	if (u->naks)
		return;
	u->requests++;
	store32(u->setup, (uint32_t)setup);
	store32(u->setup + 4, (uint32_t)(setup >> 32));
	int fake = u->fake ? fake_control(w, buf, len) : 0;
	if (fake == USB_FAKE_SILENT)
		return;
	if (u->stalls || fake == USB_FAKE_STALL) {
		halt(w, stage, STALL, length(&w->trb[stage]));
		return;
	}
	if (fake == USB_FAKE_BROKEN) {
		halt(w, stage, TRANSACTION, length(&w->trb[stage]));
		return;
	}
	if ((setup & 0xff) == 2 && (setup >> 8 & 0xff) == 1) { /* CLEAR_FEATURE(ENDPOINT_HALT) */
		uint8_t e = u->setup[4];
		u->toggle[(e & 15) * 2 + (e >> 7)] = false;
	}
	if (len && setup & 0x80) {
		n = u->fake ? (uint32_t)fake : answer(u, buf, len);
		copy(w, 1, 0, buf, n, true);
	} else if (len) {
		copy(w, 1, 0, u->out, len, false);
		u->out_len = len;
	}
	unsigned at = trb_of(w, 1, n, &left);
	if (n < len && u->babbles) {
		halt(w, at, BABBLE, left);
		return;
	}
	advance(w);
	if (n < len && w->trb[at].control & ISP)
		event(w, at, SHORT, left);
	event(w, last, SUCCESS, 0);
}

/* --- bulk and interrupt
 * ------------------------------------------------------------------------------- */

static uint32_t total(const struct work *w)
{
	uint32_t n = 0;
	for (unsigned i = 0; i < w->n; i++)
		n += length(&w->trb[i]);
	return n;
}

/* The TD ends with `moved` bytes. */
static void end(struct work *w, uint32_t moved)
{
	uint32_t left, all = total(w);
	unsigned last = w->n - 1, at = trb_of(w, 0, moved, &left);
	if (moved == all) {
		at = last;
		left = 0;
	}
	advance(w);
	if (moved == all) {
		event(w, last, SUCCESS, 0);
		return;
	}
	if (w->trb[at].control & (ISP | (at == last ? IOC : 0)))
		event(w, at, SHORT, left);
	else
		pci_model_fault("a short packet has no event");
	if (at != last && w->m->spurious)
		event(w, last, SUCCESS, 0);
}

/* True when the packet counts; else both sides go on as the specification of USB says (8.6.4). */
static bool toggles(struct work *w)
{
	struct xhci_model_usb *u = w->u;
	bool same = u->toggle[w->dci] == w->ep->toggle;
	if (!same)
		u->lost++;
	u->toggle[w->dci] = !u->toggle[w->dci];
	if (same)
		w->ep->toggle = !w->ep->toggle;
	return same;
}

static void in_packets(struct work *w)
{
	struct xhci_model_usb *u = w->u;
	uint32_t all = total(w), packet = w->ep->packet;
	while (u->in_dci == w->dci && u->in_ready) {
		uint32_t n = u->in_len < packet ? u->in_len : packet;
		if (n > all - w->ep->moved || u->babbles) {
			uint32_t left;
			unsigned at = trb_of(w, 0, w->ep->moved, &left);
			halt(w, at, BABBLE, left);
			return;
		}
		if (toggles(w)) {
			copy(w, 0, w->ep->moved, u->in + u->in_at, n, true);
			w->ep->moved += n;
		}
		u->in_at += n;
		u->in_len -= n;
		bool over = n < packet || w->ep->moved == all || (u->in_len == 0 && !u->in_more);
		if (u->in_len == 0)
			u->in_ready = false; /* NAK until there is more */
		if (over) {
			end(w, w->ep->moved);
			return;
		}
	}
}

static void fake_transfer(struct work *w, bool in)
{
	struct usb_fake_device *d = w->u->fake;
	static uint8_t buf[65536];
	uint32_t all = total(w);
	uint8_t endpoint = (uint8_t)(w->dci / 2 | (in ? 0x80 : 0));
	if (!in)
		copy(w, 0, 0, buf, all, false);
	int n = d->transfer ? d->transfer(d, endpoint, buf, all) : USB_FAKE_SILENT;
	if (n == USB_FAKE_SILENT)
		return;
	if (n < 0) {
		halt(w, 0, n == USB_FAKE_STALL ? STALL : TRANSACTION, length(&w->trb[0]));
		return;
	}
	if (in)
		copy(w, 0, 0, buf, (uint32_t)n, true);
	end(w, in ? (uint32_t)n : all);
}

static void normal(struct work *w)
{
	struct xhci_model_usb *u = w->u;
	bool in = w->ep->type >= 5;
	uint32_t left;
	if (gone(w) || u->silent || u->split_error) {
		unsigned at = trb_of(w, 0, w->ep->moved, &left);
		halt(w, at, error_code(u), left);
		return;
	}
	if (u->naks)
		return;
	if (u->stalls) {
		unsigned at = trb_of(w, 0, w->ep->moved, &left);
		halt(w, at, STALL, left);
		return;
	}
	if (u->fake) {
		fake_transfer(w, in);
		return;
	}
	if (in) {
		in_packets(w);
		return;
	}
	uint32_t all = total(w);
	for (uint32_t at = 0; at < all || at == 0; at += w->ep->packet)
		(void)toggles(w);
	copy(w, 0, 0, u->out, all, false);
	u->out_len = all;
	end(w, all);
}

void xhci_model_transfers(struct xhci_model *m, unsigned slot, unsigned dci)
{
	struct xhci_model_ep *ep = &m->slot[slot].ep[dci];
	for (unsigned n = 0; n < 64 && ep->state == 1 && ep->armed && xhci_model_running(m); n++) {
		struct work w = {
		        .m = m, .slot = slot, .dci = dci, .ep = ep, .u = m->slot[slot].usb};
		uint64_t before = ep->dequeue;
		if (!collect(&w)) {
			ep->armed = false;
			return;
		}
		if (ep->type == 4)
			control(&w);
		else
			normal(&w);
		if (ep->dequeue == before)
			return; /* it waits for the device */
	}
}

void xhci_model_stopped(struct xhci_model *m, unsigned slot, unsigned dci)
{
	struct xhci_model_ep *ep = &m->slot[slot].ep[dci];
	struct work w = {.m = m, .slot = slot, .dci = dci, .ep = ep, .u = m->slot[slot].usb};
	uint32_t left;
	if (!collect(&w)) { /* 4.6.9: nothing to do, and the event says where it stands */
		xhci_model_event(m, ep->dequeue, (uint32_t)STOPPED_INVALID << 24,
		                 32u << 10 | dci << 16 | slot << 24);
		return;
	}
	unsigned at = trb_of(&w, 0, ep->moved, &left);
	event(&w, at, STOPPED, left);
}

void xhci_model_give(struct xhci_model *m, struct xhci_model_usb *u, uint8_t address,
                     const void *data, uint32_t n)
{
	memcpy(u->in, data, n);
	u->in_at = 0;
	u->in_len = n;
	u->in_dci = (uint8_t)((address & 15) * 2 + (address >> 7));
	u->in_ready = true;
	if (!m->lazy)
		xhci_model_run(m);
}
