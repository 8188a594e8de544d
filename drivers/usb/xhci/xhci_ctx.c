/* Contexts (xHCI 6.2): what the controller knows of devices and endpoints. A context has 32 bytes,
 * or 64 of which the second half is unused. */
#include "drivers/usb/xhci/xhci.h"

#include "kernel/seam/io.h"

#define DROP 0 /* words of the input control context */
#define ADD  1

/* Gives context n of the input context: 0 is the control context, 1 the slot, 1 + DCI an
 * endpoint. */
static uint32_t *input(struct xhci *x, uint32_t n)
{
	return (uint32_t *)(void *)(x->dma->input + n * x->context_size);
}

static const struct xhci_dev *of_device(const struct usb_device *d)
{
	return d ? d->hc : NULL;
}

uint32_t xhci_ctx_hub(const struct usb_device *d)
{
	if (!d->is_hub)
		return 0;
	uint32_t think = d->speed == USB_HIGH ? d->tt_think >> 5 & 3u : 0;
	return SLOT_PORTS(d->n_ports) | SLOT_TTT(think) | (d->multi_tt ? 2u : 0) | 1u;
}

/* 6.2.2. `entries` is the highest DCI in use. */
static void fill_slot(struct xhci *x, const struct xhci_dev *dev, uint32_t entries)
{
	const struct usb_device *d = dev->d;
	const struct xhci_dev *tt = of_device(d->tt_hub);
	uint32_t *slot = input(x, 1), hub = xhci_ctx_hub(d);
	slot[0] = (d->route & 0xfffff) | SLOT_SPEED(dev->speed) | SLOT_ENTRIES(entries);
	slot[1] = SLOT_ROOT(dev->root);
	if (hub) {
		slot[0] |= SLOT_HUB | (d->multi_tt ? SLOT_MTT : 0);
		slot[1] |= hub & SLOT_PORTS(0xff);
		slot[2] |= hub & SLOT_TTT(3);
	}
	if (tt && d->speed <= USB_FULL) {
		slot[0] |= d->tt_hub->multi_tt ? SLOT_MTT : 0;
		slot[2] |= tt->slot | (uint32_t)d->tt_port << 8;
	}
}

/* 6.2.3.6: the controller asks for an interrupt endpoint each 2^n * 125 us. */
static uint32_t interval(const struct usb_device *d, const struct usb_endpoint *e)
{
	uint32_t i = max_u32(e->interval, 1), n = 3;
	if (e->kind != USB_INTERRUPT)
		return 0;
	if (d->speed >= USB_HIGH)
		return min_u32(i, 16) - 1;
	while (n < 10 && 2u << n <= 8 * i)
		n++;
	return n;
}

static uint32_t type_of(const struct usb_endpoint *e)
{
	if (e->kind == USB_CONTROL)
		return EP_CONTROL;
	uint32_t out = e->kind == USB_BULK ? EP_BULK_OUT : EP_INTERRUPT_OUT;
	return e->address & 0x80 ? out + 4 : out;
}

/* 6.2.3 */
static void fill_ep(struct xhci *x, const struct xhci_ep *ep)
{
	const struct usb_endpoint *e = ep->e;
	const struct usb_device *d = ep->dev->d;
	uint32_t *ctx = input(x, 1u + ep->dci), packet = e->max_packet & 0x7ff, burst = 0;
	if (d->speed == USB_SUPER && e->kind != USB_CONTROL)
		burst = min_u32(e->burst, 15);
	else if (d->speed == USB_HIGH && e->kind == USB_INTERRUPT)
		burst = e->max_packet >> 11 & 3; /* further transactions in a microframe */
	bool interrupt = e->kind == USB_INTERRUPT;
	uint32_t payload = interrupt ? packet * (burst + 1) : 0;
	ctx[0] = EP_INTERVAL(interval(d, e));
	ctx[1] = EP_CERR | EP_TYPE(type_of(e)) | EP_BURST(burst) | EP_PACKET(packet);
	ctx[2] = xhci_ring_next(&ep->ring);
	/* The average length of a TRB (4.14.1.1): 8 for control, else a guess. */
	ctx[4] = payload << 16 | (e->kind == USB_CONTROL ? 8 : interrupt ? packet : 1024);
}

static uint32_t *begin(struct xhci *x)
{
	memset(x->dma->input, 0, sizeof x->dma->input);
	return input(x, 0);
}

uint32_t xhci_ctx_address(struct xhci *x, struct xhci_dev *dev)
{
	uint32_t *control = begin(x);
	control[ADD] = 3;
	fill_slot(x, dev, 1);
	fill_ep(x, dev->ep[1]);
	dev->size0 = dev->d->control.max_packet;
	return (uint32_t)dma_addr(x->dma->input);
}

uint32_t xhci_ctx_evaluate(struct xhci *x, struct xhci_dev *dev)
{
	uint32_t *control = begin(x);
	control[ADD] = 2;
	fill_ep(x, dev->ep[1]);
	dev->size0 = dev->d->control.max_packet;
	return (uint32_t)dma_addr(x->dma->input);
}

uint32_t xhci_ctx_configure(struct xhci *x, struct xhci_dev *dev)
{
	uint32_t *control = begin(x), entries = 1;
	control[ADD] = 1;
	for (uint32_t dci = 2; dci < XHCI_DCIS; dci++) {
		struct xhci_ep *ep = dev->ep[dci];
		if (!ep || (ep->dead && !ep->known))
			continue;
		entries = dci;
		if (ep->config & EP_DROP)
			control[DROP] |= 1u << dci;
		if (ep->config & EP_ADD) {
			control[ADD] |= 1u << dci;
			fill_ep(x, ep);
		}
	}
	fill_slot(x, dev, entries);
	dev->hub = xhci_ctx_hub(dev->d);
	return (uint32_t)dma_addr(x->dma->input);
}

static uint8_t *device_context(const struct xhci *x, uint32_t slot)
{
	return x->context + (slot - 1) * XHCI_DCIS * x->context_size;
}

uint32_t xhci_ctx_word(const struct xhci *x, uint32_t slot, uint32_t dci, uint32_t word)
{
	const uint8_t *at = device_context(x, slot) + dci * x->context_size;
	io_rmb();
	return ((const volatile uint32_t *)(const void *)at)[word];
}

void xhci_ctx_give(struct xhci *x, uint32_t slot)
{
	uint8_t *at = device_context(x, slot);
	memset(at, 0, XHCI_DCIS * x->context_size);
	x->dma->contexts[2 * slot] = (uint32_t)dma_addr(at);
	io_wmb();
}

void xhci_ctx_take(struct xhci *x, uint32_t slot)
{
	x->dma->contexts[2 * slot] = 0;
	io_wmb();
}
