/* Devices: slots, addresses, endpoints (xHCI 4.3, 4.5, 4.6), and which command each needs next.
 *
 * A device gets its slot (Enable Slot), then address 0 (Address Device with BSR). SET_ADDRESS of
 * the core becomes Address Device without BSR. A device that is closed stops its endpoints and
 * gives its slot back; until then its memory is not used again. */
#include "drivers/usb/xhci/xhci.h"

#define TRIES 4 /* Stop Endpoint commands that are refused although the endpoint runs */

/* --- opening and closing --------------------------------------------------------------- */

static struct xhci_ep *take_ep(struct xhci *x, struct xhci_dev *dev, struct usb_endpoint *e,
                               uint8_t dci)
{
	for (uint32_t i = 0; i < XHCI_ENDPOINTS; i++) {
		struct xhci_ep *ep = &x->ep[i];
		if (ep->dev)
			continue;
		*ep = (struct xhci_ep){.dev = dev, .e = e, .dci = dci, .clean = true};
		ep->ring.trb = x->dma->ring[i];
		xhci_ring_reset(&ep->ring);
		dev->ep[dci] = ep;
		e->hc = ep;
		return ep;
	}
	return NULL;
}

static struct xhci_dev *free_dev(struct xhci *x)
{
	for (uint32_t i = 0; i < x->n_slots; i++)
		if (!x->dev[i].used)
			return &x->dev[i];
	return NULL;
}

bool xhci_dev_open(struct usb_controller *c, struct usb_device *d)
{
	struct xhci *x = xhci_of(c);
	struct xhci_dev *dev = free_dev(x);
	const struct usb_device *top = d;
	while (top->hub)
		top = top->hub;
	if (!dev || top->port == 0 || top->port > c->n_ports)
		return false;
	*dev = (struct xhci_dev){.d = d, .root = top->port, .need = DEV_ENABLE | DEV_DEFAULT};
	if (!take_ep(x, dev, &d->control, 1))
		return false;
	dev->used = true;
	dev->speed = xhci_port_speed(x, d, dev->root);
	d->hc = dev;
	if (!d->hub)
		xhci_port_use(x, d->port);
	return true;
}

void xhci_dev_changed(struct usb_controller *c, struct usb_device *d)
{
	struct xhci_dev *dev = d->hc;
	(void)c;
	if (!dev)
		return;
	if (d->control.max_packet != dev->size0)
		dev->need |= DEV_EVALUATE;
	if (xhci_ctx_hub(d) != dev->hub)
		dev->need |= DEV_CONFIGURE;
}

void xhci_dev_close(struct usb_controller *c, struct usb_device *d)
{
	struct xhci_dev *dev = d->hc;
	(void)c;
	if (!dev)
		return;
	dev->closing = true;
	dev->d = NULL;
	d->hc = NULL;
	for (uint32_t i = 0; i < XHCI_DCIS; i++) {
		struct xhci_ep *ep = dev->ep[i];
		if (!ep)
			continue;
		ep->e->hc = NULL;
		ep->e = NULL;
		ep->need = ep->queued ? EP_NEEDS_STOP : 0;
		if (ep->t)
			xhci_xfer_end(ep, USB_GONE);
	}
}

bool xhci_dev_endpoint(struct usb_controller *c, struct usb_endpoint *e)
{
	struct xhci_dev *dev = e->device->hc;
	uint8_t dci = (uint8_t)((e->address & 15) * 2 + (e->address >> 7));
	if (!dev || dev->failed || dci < 2 || dev->ep[dci] ||
	    (e->kind != USB_BULK && e->kind != USB_INTERRUPT))
		return false;
	struct xhci_ep *ep = take_ep(xhci_of(c), dev, e, dci);
	if (!ep)
		return false;
	ep->config = EP_ADD;
	dev->need |= DEV_CONFIGURE;
	return true;
}

static void forget(struct xhci_dev *dev)
{
	for (uint32_t i = 0; i < XHCI_DCIS; i++)
		if (dev->ep[i])
			dev->ep[i]->dev = NULL;
	*dev = (struct xhci_dev){0};
}

/* The device can no longer be used; the core hears so by its transfers. */
static void fail(struct xhci_dev *dev)
{
	dev->failed = true;
	dev->need = 0;
	for (uint32_t i = 0; i < XHCI_DCIS; i++) {
		struct xhci_ep *ep = dev->ep[i];
		if (ep && ep->t && !ep->queued)
			xhci_xfer_end(ep, USB_FAILED);
	}
}

/* --- the next command --------------------------------------------------------------------- */

static bool ep_work(struct xhci *x, struct xhci_dev *dev, struct xhci_ep *ep)
{
	uint32_t id = TRB_SLOT(dev->slot) | TRB_DCI(ep->dci);
	if (ep->need & EP_NEEDS_STOP)
		xhci_cmd_issue(x, dev, ep, TRB_STOP_EP, 0, id);
	else if (ep->need & EP_NEEDS_RESET)
		xhci_cmd_issue(x, dev, ep, TRB_RESET_EP, 0, id);
	else if (ep->need & EP_NEEDS_DEQUEUE)
		xhci_cmd_issue(x, dev, ep, TRB_SET_DEQUEUE, xhci_ring_next(&ep->ring), id);
	else
		return false;
	return true;
}

static bool eps_work(struct xhci *x, struct xhci_dev *dev)
{
	for (uint32_t i = 1; i < XHCI_DCIS; i++)
		if (dev->ep[i] && dev->ep[i]->need && ep_work(x, dev, dev->ep[i]))
			return true;
	return false;
}

/* Address Device for a port without a device hangs some controllers. */
static bool there(struct xhci *x, const struct xhci_dev *dev)
{
	xhci_port_read(x, dev->root - 1u);
	return x->port[dev->root - 1].portsc & PORT_CCS;
}

static bool address(struct xhci *x, struct xhci_dev *dev, uint32_t bsr)
{
	if (!there(x, dev)) {
		fail(dev);
		return false;
	}
	xhci_cmd_issue(x, dev, NULL, TRB_ADDRESS, xhci_ctx_address(x, dev),
	               TRB_SLOT(dev->slot) | bsr);
	return true;
}

static bool close_work(struct xhci *x, struct xhci_dev *dev)
{
	if (dev->slot == 0) {
		forget(dev);
		return false;
	}
	if (!eps_work(x, dev))
		xhci_cmd_issue(x, dev, NULL, TRB_DISABLE_SLOT, 0, TRB_SLOT(dev->slot));
	return true;
}

static bool work(struct xhci *x, struct xhci_dev *dev)
{
	uint32_t slot = TRB_SLOT(dev->slot);
	if (dev->closing)
		return close_work(x, dev);
	if (dev->need & DEV_ENABLE) {
		uint32_t type = x->protocol[x->port[dev->root - 1].protocol].slot_type;
		xhci_cmd_issue(x, dev, NULL, TRB_ENABLE_SLOT, 0, TRB_DCI(type));
	} else if (dev->need & DEV_DEFAULT) {
		return address(x, dev, TRB_BSR);
	} else if (eps_work(x, dev)) {
		return true;
	} else if (dev->need & DEV_EVALUATE) {
		xhci_cmd_issue(x, dev, NULL, TRB_EVALUATE, xhci_ctx_evaluate(x, dev), slot);
	} else if (dev->need & DEV_ADDRESS) {
		return address(x, dev, 0);
	} else if (dev->need & DEV_CONFIGURE) {
		xhci_cmd_issue(x, dev, NULL, TRB_CONFIGURE, xhci_ctx_configure(x, dev), slot);
	} else {
		return false;
	}
	return true;
}

void xhci_dev_work(struct xhci *x)
{
	for (uint32_t i = 0; i < x->n_slots && x->cmd.state == CMD_IDLE && !x->usb.failed; i++) {
		struct xhci_dev *dev = &x->dev[x->turn];
		x->turn = x->turn + 1 < x->n_slots ? x->turn + 1 : 0;
		if (dev->used)
			(void)work(x, dev);
	}
}

/* --- a command has ended ---------------------------------------------------------------------- */

static void enabled(struct xhci *x, struct xhci_dev *dev, uint32_t code, uint32_t slot)
{
	dev->need &= (uint8_t)~DEV_ENABLE;
	if (code != CC_SUCCESS || slot == 0 || slot > x->n_slots || x->by_slot[slot]) {
		fail(dev);
		return;
	}
	dev->slot = (uint8_t)slot;
	x->by_slot[slot] = dev;
	xhci_ctx_give(x, slot);
}

static void addressed(struct xhci *x, struct xhci_dev *dev, uint32_t code)
{
	if (dev->need & DEV_DEFAULT) {
		dev->need &= (uint8_t)~DEV_DEFAULT;
		if (code != CC_SUCCESS)
			fail(dev);
		return;
	}
	dev->need &= (uint8_t)~DEV_ADDRESS;
	if (code == CC_SUCCESS && dev->d)
		dev->d->address = (uint8_t)xhci_ctx_word(x, dev->slot, 0, 3) & 127;
	struct xhci_ep *ep = dev->ep[1];
	if (ep->t && xhci_xfer_is_address(ep->t))
		xhci_xfer_end(ep, code == CC_SUCCESS ? USB_OK : USB_FAILED);
}

static void configured(struct xhci_dev *dev, uint32_t code)
{
	dev->need &= (uint8_t)~DEV_CONFIGURE;
	for (uint32_t i = 2; i < XHCI_DCIS; i++) {
		struct xhci_ep *ep = dev->ep[i];
		if (!ep || !ep->config)
			continue;
		ep->config = 0;
		ep->clean = true;
		ep->known |= code == CC_SUCCESS;
		ep->dead |= code != CC_SUCCESS;
		if (ep->dead && ep->t && !ep->queued)
			xhci_xfer_end(ep, USB_FAILED);
	}
}

/* The endpoint cannot be used any more. */
static void bury(struct xhci_ep *ep)
{
	ep->dead = true;
	ep->need = ep->config = 0;
	ep->queued = false;
	if (ep->t)
		xhci_xfer_end(ep, USB_FAILED);
}

/* 4.6.9. An endpoint that had nothing to do may be stopped or halted already. */
static void stopped(struct xhci *x, struct xhci_dev *dev, struct xhci_ep *ep, uint32_t code)
{
	uint32_t state = EP_STATE(xhci_ctx_word(x, dev->slot, ep->dci, 0));
	if (code == CC_ABORTED) {
		usb_controller_failed(&x->usb, "does not stop an endpoint");
		return;
	}
	if (code == CC_STATE && state == EP_RUNNING && ++ep->tries < TRIES)
		return;
	ep->need = code == CC_STATE && state == EP_HALTED ? EP_NEEDS_RESET : EP_NEEDS_DEQUEUE;
	bool waited = ep->queued;
	ep->queued = false;
	if (dev->closing)
		ep->need = 0; /* the slot goes as a whole */
	else if (code != CC_SUCCESS && code != CC_STATE)
		bury(ep);
	else if (waited && ep->t)
		xhci_xfer_end(ep, USB_CANCELLED);
}

static void dequeued(struct xhci_ep *ep, uint32_t code)
{
	ep->need &= (uint8_t)~EP_NEEDS_DEQUEUE;
	if (code == CC_SUCCESS)
		ep->tries = 0;
	else if (code == CC_STATE && ++ep->tries < TRIES)
		ep->need = EP_NEEDS_STOP | EP_NEEDS_DEQUEUE;
	else
		bury(ep);
}

static void disabled(struct xhci *x, struct xhci_dev *dev, uint32_t code)
{
	if (code != CC_SUCCESS && code != CC_NO_SLOT) {
		usb_controller_failed(&x->usb, "does not give a device up");
		return;
	}
	xhci_ctx_take(x, dev->slot);
	x->by_slot[dev->slot] = NULL;
	forget(dev);
}

void xhci_dev_done(struct xhci *x, const struct xhci_command *cmd)
{
	struct xhci_dev *dev = cmd->dev;
	uint32_t code = cmd->code;
	switch (cmd->type) {
	case TRB_ENABLE_SLOT:
		enabled(x, dev, code, cmd->slot);
		break;
	case TRB_ADDRESS:
		addressed(x, dev, code);
		break;
	case TRB_EVALUATE:
		dev->need &= (uint8_t)~DEV_EVALUATE;
		if (code != CC_SUCCESS)
			fail(dev);
		break;
	case TRB_CONFIGURE:
		configured(dev, code);
		break;
	case TRB_RESET_EP: /* 4.6.8: the toggle is 0, and the endpoint is stopped */
		cmd->ep->need = EP_NEEDS_DEQUEUE;
		cmd->ep->clean = true;
		break;
	case TRB_STOP_EP:
		stopped(x, dev, cmd->ep, code);
		break;
	case TRB_SET_DEQUEUE:
		dequeued(cmd->ep, code);
		break;
	case TRB_DISABLE_SLOT:
		disabled(x, dev, code);
		return;
	}
	if (!dev->closing && !x->usb.failed)
		xhci_xfer_kick(x, dev);
}
