/* The ports of an EHCI controller (2.3.9, 4.2). A device that is not a high-speed one is given to
 * the companion controller. When it is unplugged, the port comes back by itself. */
#include "drivers/usb/ehci/ehci.h"

#include "kernel/lib/log.h"

#define RESET_ON_US  50000u /* USB 2.0 7.1.7.5, for root ports */
#define RESET_END_US 20000u /* 2.3.9: the controller needs 2 ms */
#define TELL_MS      10000u

static uint32_t port_read(const struct ehci *e, uint32_t port)
{
	uint32_t v = ehci_read(e, EHCI_PORTSC(port));
	return v == EHCI_GONE ? 0 : v;
}

/* Writes a port's register and clears no change bits. */
static void port_write(const struct ehci *e, uint32_t port, uint32_t v)
{
	ehci_write(e, EHCI_PORTSC(port), v & ~PORT_CHANGES);
}

static void give_away(struct ehci *e, uint32_t port, uint32_t v)
{
	struct ehci_port *p = &e->port[port - 1];
	if (HCS_CC(e->params)) {
		port_write(e, port, v | PORT_OWNER);
		return;
	}
	p->refused = true;
	const struct pci_dev *d = &e->hc.pci;
	log_limited(&p->told_refused, TELL_MS,
	            "pci %02x:%02x.%x: ehci: port %u: only high-speed devices can be used here, "
	            "or those behind a high-speed hub",
	            d->bus, d->dev, d->fn, port);
}

/* Keeps the port powered; the controller switches it off when a device takes too much. */
static void watch_power(struct ehci *e, uint32_t port, uint32_t v)
{
	const struct pci_dev *d = &e->hc.pci;
	if (v & PORT_OCC && v & PORT_OCA)
		log_limited(&e->port[port - 1].told_current, TELL_MS,
		            "pci %02x:%02x.%x: ehci: port %u: the device takes too much current",
		            d->bus, d->dev, d->fn, port);
	if (e->params & HCS_PPC && !(v & (PORT_PP | PORT_OCA | PORT_OWNER)))
		port_write(e, port, v | PORT_PP);
}

struct usb_port_state ehci_port(struct usb_controller *c, uint8_t port)
{
	struct ehci *e = ehci_of(c);
	struct ehci_port *p = &e->port[port - 1];
	struct usb_port_state s = {.speed = USB_HIGH};
	uint32_t v = port_read(e, port);
	if (v & PORT_CHANGES) {
		ehci_write(e, EHCI_PORTSC(port), v);
		/* A port that the controller disabled by itself: the device must be reset. */
		p->changed |= v & (PORT_CSC | PORT_PEDC);
		if (v & PORT_CSC)
			p->refused = false;
	}
	watch_power(e, port, v);
	if (p->reset)
		s.bits |= USB_PORT_RESETTING;
	else if (v & PORT_PED)
		s.bits |= USB_PORT_ENABLED;
	if (v & PORT_CCS)
		s.bits |= USB_PORT_CONNECTED;
	if (v & PORT_OWNER || p->refused)
		s.bits |= USB_PORT_OTHER;
	if (p->changed)
		s.bits |= USB_PORT_CHANGED;
	p->changed = false;
	return s;
}

void ehci_port_reset(struct usb_controller *c, uint8_t port)
{
	struct ehci *e = ehci_of(c);
	struct ehci_port *p = &e->port[port - 1];
	uint32_t v = port_read(e, port);
	if (!(v & PORT_CCS) || v & PORT_OWNER || p->reset || p->refused)
		return;
	if (!(v & PORT_PED) && (v & PORT_LINE) == PORT_LINE_K) { /* a low-speed device */
		give_away(e, port, v);
		return;
	}
	port_write(e, port, (v & ~PORT_PED) | PORT_PR);
	p->reset = RESET_BEGUN;
}

void ehci_port_disable(struct usb_controller *c, uint8_t port)
{
	struct ehci *e = ehci_of(c);
	uint32_t v = port_read(e, port);
	if (v & PORT_PED)
		port_write(e, port, v & ~PORT_PED);
}

/* 4.2.2: a port that is not enabled after a reset has a full-speed device. One that lost contact in
 * the reset may have another device; but if it does so each time, that is its way. */
static void reset_done(struct ehci *e, uint32_t port, uint32_t v)
{
	struct ehci_port *p = &e->port[port - 1];
	bool first = v & PORT_CSC && !p->lost;
	p->reset = RESET_NONE;
	p->lost = first;
	if ((v & (PORT_CCS | PORT_PED | PORT_OWNER)) == PORT_CCS && !first)
		give_away(e, port, v);
}

static void reset_poll(struct ehci *e, uint32_t port)
{
	struct ehci_port *p = &e->port[port - 1];
	uint32_t v = port_read(e, port);
	uint64_t passed = e->now_us - p->since_us;
	if (p->reset == RESET_BEGUN) {
		p->reset = RESET_ON;
		p->since_us = e->now_us;
	} else if (p->reset == RESET_ON && passed >= RESET_ON_US) {
		port_write(e, port, v & ~(PORT_PR | PORT_PED));
		p->reset = RESET_ENDS;
		p->since_us = e->now_us;
	} else if (p->reset == RESET_ENDS && !(v & PORT_PR)) {
		reset_done(e, port, v);
	} else if (p->reset == RESET_ENDS && passed >= RESET_END_US) {
		p->reset = RESET_NONE; /* neither enabled nor given away: the reset failed */
	}
}

void ehci_port_poll(struct ehci *e)
{
	for (uint32_t port = 1; port <= e->hc.n_ports; port++)
		if (e->port[port - 1].reset)
			reset_poll(e, port);
}
