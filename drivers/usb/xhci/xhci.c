/* The xHCI driver: event ring, poll, probe. See xhci.h and the README.
 *
 * The controller's interrupts stay off: `poll` looks at the event ring, which is in memory, so a
 * poll without events costs one register access at most. */
#include "drivers/usb/xhci/xhci.h"

#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"

#define EVENTS_POLL 32u   /* events of one poll */
#define CHECK_US    10000 /* between looks at the status register, and at one port */
#define BAD_MOST    64u   /* events in a row that cannot be, until the controller is given up */
#define ROUNDS      4u    /* commands in one poll, where the controller is that fast */

/* --- events (4.9.4) --------------------------------------------------------------------- */

/* False when an event cannot be. */
static bool event(struct xhci *x, const struct xhci_trb *ev)
{
	uint32_t type = TRB_TYPE_OF(ev->control), port = ev->ptr >> 24;
	switch (type) {
	case TRB_EV_TRANSFER:
		return xhci_xfer_event(x, ev);
	case TRB_EV_COMMAND:
		return xhci_cmd_event(x, ev);
	case TRB_EV_PORT:
		if (port > x->usb.n_ports)
			return true; /* one of the ports that are not used */
		if (port > 0)
			xhci_port_read(x, port - 1);
		return port > 0;
	default:
		return type > TRB_EV_PORT && type <= TRB_EV_MOST;
	}
}

static void events(struct xhci *x)
{
	uint32_t n = 0;
	for (; n < EVENTS_POLL && !x->usb.failed; n++) {
		struct xhci_trb *at = &x->dma->event[x->event_at];
		uint32_t control = *(volatile uint32_t *)&at->control;
		if ((control & TRB_CYCLE) != x->event_cycle)
			break;
		io_rmb();
		struct xhci_trb ev = *at;
		if (++x->event_at == XHCI_EVENTS) {
			x->event_at = 0;
			x->event_cycle ^= 1;
		}
		x->bad = event(x, &ev) ? 0 : x->bad + 1;
	}
	if (x->bad > BAD_MOST)
		usb_controller_failed(&x->usb, "sends events that cannot be");
	if (n != 0 && !x->usb.failed) {
		struct xhci_trb *next = &x->dma->event[x->event_at];
		xhci_hw_write64(x->run + XHCI_ERDP, (uint32_t)dma_addr(next) | ERDP_EHB);
	}
}

/* --- calls from the core ---------------------------------------------------------------------- */

static void check(struct xhci *x)
{
	const char *wrong = xhci_hw_wrong(x);
	x->check_us = x->now_us;
	if (wrong) {
		usb_controller_failed(&x->usb, wrong);
		return;
	}
	/* Changes are reported by events; this finds those that were lost. */
	xhci_port_read(x, x->check_port);
	x->check_port = x->check_port + 1 < x->usb.n_ports ? x->check_port + 1 : 0;
}

static void xhci_poll(struct usb_controller *c, uint64_t now_us)
{
	struct xhci *x = xhci_of(c);
	x->now_us = now_us;
	for (uint32_t i = 0; i < ROUNDS && !c->failed; i++) {
		events(x);
		xhci_dev_work(x);
	}
	if (!c->failed)
		xhci_cmd_watch(x);
	if (!c->failed)
		xhci_port_watch(x);
	if (!c->failed && now_us - x->check_us >= CHECK_US)
		check(x);
}

static bool xhci_stop(struct usb_controller *c)
{
	return xhci_hw_stop(xhci_of(c));
}

static const struct usb_hcd_ops ops = {
        .poll = xhci_poll,
        .port = xhci_port_state,
        .port_reset = xhci_port_reset,
        .port_disable = xhci_port_disable,
        .device_open = xhci_dev_open,
        .device_changed = xhci_dev_changed,
        .device_close = xhci_dev_close,
        .endpoint_open = xhci_dev_endpoint,
        .endpoint_reset = xhci_xfer_reset,
        .submit = xhci_xfer_submit,
        .cancel = xhci_xfer_cancel,
        .stop = xhci_stop,
};

/* --- probe
 * ----------------------------------------------------------------------------------------- */

static const char *xhci_probe(const struct pci_dev *dev, struct usb_controller **out)
{
	struct xhci_caps caps;
	const char *wrong = xhci_hw_caps(dev, &caps);
	if (wrong)
		return wrong;
	struct xhci *x = alloc(sizeof *x, 64);
	if (!x)
		return "no memory";
	x->usb = (struct usb_controller){
	        .ops = &ops, .driver = "xhci", .pci = *dev, .n_ports = caps.ports};
	x->op = caps.regs + caps.op;
	x->run = caps.regs + caps.run;
	x->doorbell = caps.regs + caps.doorbell;
	x->n_slots = caps.slots;
	x->switched = caps.switched;
	x->context_size = caps.wide ? 64 : 32;
	/* A device context must not cross a page: it has 1 or 2 KB. */
	x->context = alloc(x->n_slots * XHCI_DCIS * x->context_size, 4096);
	x->dma = alloc(sizeof *x->dma, 4096);
	if (!x->context || !x->dma)
		return "no memory";
	xhci_hw_protocols(x, &caps);
	wrong = xhci_hw_start(x, &caps);
	if (wrong)
		return wrong;
	xhci_port_start(x);
	xhci_hw_route(dev);
	*out = &x->usb;
	return NULL;
}

const struct usb_driver xhci_driver = {
        .name = "xhci",
        .prog_if = 0x30,
        .ask = xhci_hw_ask,
        .given = xhci_hw_given,
        .take = xhci_hw_take,
        .probe = xhci_probe,
};
