/* Transfers (xHCI 3.2.8 to 3.2.11, 4.10, 4.11). One TD of an endpoint is on its ring at a time.
 *
 * Buffers must not cross a border of 64 KB within a TRB (table 6-20), so data take up to two TRBs.
 * An event may come for a TRB in the middle of a TD (short packet, error) and once more for its
 * last one: events for TRBs that belong to no TD are passed over. */
#include "drivers/usb/xhci/xhci.h"

#include "kernel/seam/io.h"

#define BORDER 0x10000u

bool xhci_xfer_is_address(const struct usb_transfer *t)
{
	return t->endpoint->kind == USB_CONTROL && t->setup[0] == 0 && t->setup[1] == 5;
}

/* --- TDs ---------------------------------------------------------------------------------- */

/* Bytes of the data in front of a 64 KB border; all of them if there is none. */
static uint32_t split(const struct usb_transfer *t)
{
	if (t->len == 0)
		return 0;
	uint32_t room = BORDER - ((uint32_t)dma_addr(t->data) & (BORDER - 1));
	return min_u32(t->len, room);
}

static uint32_t data_trbs(const struct usb_transfer *t)
{
	return split(t) < t->len ? 2 : 1;
}

/* Adds the data, in TRBs of type `first`, then normal ones. `flags` are for all TRBs, `last` for
 * the last one. */
static void put_data(struct xhci_ring *r, const struct usb_transfer *t, uint32_t first,
                     uint32_t flags, uint32_t last)
{
	uint32_t front = split(t), packet = max_u32(t->endpoint->max_packet & 0x7ff, 1);
	uint64_t at = t->len ? dma_addr(t->data) : 0;
	if (front < t->len) {
		uint32_t packets = (t->len + packet - 1) / packet - front / packet; /* 4.11.2.4 */
		xhci_ring_put(r, at, front | min_u32(packets, 31) << 17,
		              TRB_TYPE(first) | flags | TRB_CHAIN);
		at += front;
		first = TRB_NORMAL;
		flags &= ~TRB_IN; /* of a data stage: only its first TRB has a direction */
	}
	xhci_ring_put(r, at, t->len > front ? t->len - front : t->len,
	              TRB_TYPE(first) | flags | last);
}

static void put_control(struct xhci_ring *r, const struct usb_transfer *t)
{
	bool in = t->setup[0] & 0x80 && t->len;
	uint32_t stage = t->len == 0 ? 0 : in ? 3 : 2; /* TRT, table 6-26 */
	uint64_t setup = (uint64_t)load32(t->setup + 4) << 32 | load32(t->setup);
	xhci_ring_put(r, setup, 8, TRB_TYPE(TRB_SETUP) | TRB_IDT | stage << 16);
	if (t->len)
		put_data(r, t, TRB_DATA, TRB_ISP | (in ? TRB_IN : 0), 0);
	xhci_ring_put(r, 0, 0, TRB_TYPE(TRB_STATUS) | TRB_IOC | (in ? 0 : TRB_IN));
}

static void queue(struct xhci *x, struct xhci_ep *ep)
{
	struct usb_transfer *t = ep->t;
	bool control = t->endpoint->kind == USB_CONTROL;
	uint32_t n = control ? 2 + (t->len ? data_trbs(t) : 0) : data_trbs(t);
	xhci_ring_begin(&ep->ring, n);
	if (control)
		put_control(&ep->ring, t);
	else
		put_data(&ep->ring, t, TRB_NORMAL, TRB_ISP, TRB_IOC);
	ep->td = ep->ring.first;
	ep->td_n = (uint8_t)n;
	ep->moved = control ? t->len : 0; /* the data stage has an event when it is short */
	ep->queued = true;
	ep->clean = false;
	xhci_ring_end(&ep->ring);
	mmio_write32(x->doorbell + 4u * ep->dev->slot, ep->dci);
}

static void kick(struct xhci *x, struct xhci_ep *ep)
{
	if (!ep->t || ep->queued || ep->need || ep->config)
		return;
	if (!xhci_xfer_is_address(ep->t))
		queue(x, ep);
}

void xhci_xfer_kick(struct xhci *x, struct xhci_dev *dev)
{
	for (uint32_t i = 1; i < XHCI_DCIS && !dev->need; i++)
		if (dev->ep[i])
			kick(x, dev->ep[i]);
}

/* --- calls from the core ---------------------------------------------------------------------- */

bool xhci_xfer_submit(struct usb_controller *c, struct usb_transfer *t)
{
	struct xhci_ep *ep = t->endpoint->hc;
	if (!ep || ep->t || ep->dead || ep->dev->failed || t->len > USB_TRANSFER_MAX)
		return false;
	ep->t = t;
	ep->moved = 0;
	if (xhci_xfer_is_address(t))
		ep->dev->need |= DEV_ADDRESS;
	else if (!ep->dev->need)
		kick(xhci_of(c), ep);
	return true;
}

void xhci_xfer_end(struct xhci_ep *ep, enum usb_status status)
{
	struct usb_transfer *t = ep->t;
	ep->t = NULL;
	bool control = t->endpoint->kind == USB_CONTROL;
	usb_complete(t, status, status == USB_OK || !control ? ep->moved : 0);
}

void xhci_xfer_cancel(struct usb_controller *c, struct usb_transfer *t)
{
	struct xhci_ep *ep = t->endpoint->hc;
	(void)c;
	if (!ep || ep->t != t)
		return;
	if (ep->queued)
		ep->need |= EP_NEEDS_STOP;
	else
		xhci_xfer_end(ep, USB_CANCELLED);
}

/* The data toggle is changed by a command alone: Reset Endpoint after a halt, else the endpoint is
 * dropped and added (4.3.5, 4.6.6). */
void xhci_xfer_reset(struct usb_controller *c, struct usb_endpoint *e)
{
	struct xhci_ep *ep = e->hc;
	(void)c;
	if (!ep || ep->dci == 1 || ep->clean || ep->need & EP_NEEDS_RESET || ep->dead)
		return;
	ep->need |= EP_NEEDS_STOP;
	ep->config |= EP_ADD | EP_DROP;
	ep->dev->need |= DEV_CONFIGURE;
}

/* --- events --------------------------------------------------------------------------------------
 */

/* Takes the bytes that moved from an event for TRB `at` of the TD. */
static void count(struct xhci_ep *ep, uint32_t at, uint32_t left)
{
	const struct usb_transfer *t = ep->t;
	bool control = t->endpoint->kind == USB_CONTROL;
	uint32_t piece = control ? at - 1 : at, front = split(t);
	if (control && (at == 0 || at == ep->td_n - 1u))
		return;
	uint32_t end = piece == 0 ? front : t->len, len = piece == 0 ? front : t->len - front;
	ep->moved = end - min_u32(left, len);
}

static void halted(struct xhci_ep *ep, uint8_t need, enum usb_status status)
{
	ep->need |= need;
	ep->queued = false;
	xhci_xfer_end(ep, status);
}

static void failed(struct xhci *x, struct xhci_ep *ep, uint32_t code)
{
	uint32_t state = EP_STATE(xhci_ctx_word(x, ep->dev->slot, ep->dci, 0));
	if (code == CC_STALL)
		halted(ep, EP_NEEDS_RESET, USB_STALLED);
	else if (code == CC_BABBLE || code == CC_TRANSACTION || code == CC_SPLIT ||
	         state == EP_HALTED)
		halted(ep, EP_NEEDS_RESET, USB_FAILED);
	else if (code == CC_TRB || state == EP_ERROR)
		halted(ep, EP_NEEDS_DEQUEUE, USB_FAILED);
	else
		halted(ep, EP_NEEDS_STOP, USB_FAILED);
}

/* An event for TRB `at` of the TD that is under way. */
static void progress(struct xhci *x, struct xhci_ep *ep, uint32_t at, const struct xhci_trb *ev)
{
	uint32_t code = TRB_CC(ev->status);
	bool last = at == ep->td_n - 1u, control = ep->t->endpoint->kind == USB_CONTROL;
	if (code == CC_STOPPED_SHORT || code == CC_STOPPED_EMPTY)
		return; /* the length is not that of this TRB; the command's own event follows */
	count(ep, at, TRB_LEFT(ev->status));
	if (code == CC_STOPPED)
		return;
	if (code != CC_SUCCESS && code != CC_SHORT) {
		failed(x, ep, code);
	} else if (last || (!control && code == CC_SHORT)) {
		ep->queued = false;
		xhci_xfer_end(ep, USB_OK);
	}
}

bool xhci_xfer_event(struct xhci *x, const struct xhci_trb *ev)
{
	uint32_t slot = TRB_SLOT_OF(ev->control), code = TRB_CC(ev->status);
	struct xhci_dev *dev = slot <= XHCI_SLOTS ? x->by_slot[slot] : NULL;
	struct xhci_ep *ep = dev ? dev->ep[TRB_DCI_OF(ev->control)] : NULL;
	if (!ep)
		return false;
	if (code == CC_UNDERRUN || code == CC_OVERRUN)
		return true;
	uint32_t off = ev->ptr - (uint32_t)dma_addr(ep->ring.trb);
	if (ev->control & TRB_ED || ev->ptr_high != 0 || off % sizeof *ev ||
	    off >= XHCI_RING * sizeof *ev) /* an idle endpoint stops without a TRB */
		return code == CC_STOPPED_EMPTY;
	uint32_t at = off / (uint32_t)sizeof *ev - ep->td;
	if (ep->queued && ep->t && at < ep->td_n)
		progress(x, ep, at, ev);
	return true;
}
