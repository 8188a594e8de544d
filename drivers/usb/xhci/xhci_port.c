/* Ports of an xHCI controller (4.19, 5.4.8). A connector has two ports here: one for USB 2 and one
 * for SuperSpeed. A SuperSpeed port trains its link and is enabled without a reset; a reset is
 * needed only to bring a device back to address 0.
 *
 * Each write of PORTSC repeats what is set by writing (PORT_KEEP) and has zeros where ones would
 * clear or start something. A reset has ended when PRC is set: PR alone may read 0 at once. */
#include "drivers/usb/xhci/xhci.h"

#include "kernel/seam/io.h"

#define TRAIN_US 250000u /* a link that did not come up by then gets a warm reset */
#define RESET_US 500000u

static volatile uint8_t *reg(struct xhci *x, uint32_t port)
{
	return x->op + XHCI_PORTSC + 16 * port;
}

static bool is_super(const struct xhci *x, const struct xhci_port *p)
{
	return x->protocol[p->protocol].super;
}

static void put(struct xhci *x, uint32_t port, uint32_t bits)
{
	mmio_write32(reg(x, port), (x->port[port].portsc & PORT_KEEP) | bits);
}

/* Starts the reset signal, with no old PRC left. */
static void start_reset(struct xhci *x, uint32_t port)
{
	struct xhci_port *p = &x->port[port];
	uint32_t link = PORT_PLS(p->portsc);
	bool warm = is_super(x, p) &&
	            (link == PLS_INACTIVE || link == PLS_COMPLIANCE || !(p->portsc & PORT_PED));
	put(x, port, warm ? PORT_WPR : PORT_PR);
	p->used = false;
	p->state = PORT_RESETS;
	p->until_us = x->now_us + RESET_US;
}

/* Follows the port's state after its register was read. `changes`: the bits that were set. */
static void follow(struct xhci_port *p, uint32_t changes)
{
	if (changes & PORT_CSC)
		p->changed = true;
	bool here = p->portsc & (PORT_CCS | PORT_CAS);
	if (!here || changes & PORT_CSC)
		p->used = p->off = false;
	if (!here || (p->state == PORT_TRAINS && p->portsc & PORT_PED) ||
	    (p->state == PORT_RESETS && changes & (PORT_PRC | PORT_WRC) && !(p->portsc & PORT_PR)))
		p->state = PORT_IDLE;
}

void xhci_port_read(struct xhci *x, uint32_t port)
{
	struct xhci_port *p = &x->port[port];
	uint32_t v = mmio_read32(reg(x, port)), changes = v & PORT_CHANGES;
	if (v == XHCI_GONE) {
		usb_controller_failed(&x->usb, "is gone");
		return;
	}
	p->portsc = v;
	/* A port is switched off after too much current; it is tried again. */
	uint32_t power = x->switched && !(v & (PORT_PP | PORT_OCA)) ? PORT_PP : 0;
	if (changes || power)
		put(x, port, changes | power);
	follow(p, changes);
}

void xhci_port_watch(struct xhci *x)
{
	for (uint32_t i = 0; i < x->usb.n_ports; i++) {
		struct xhci_port *p = &x->port[i];
		if (p->state == PORT_IDLE || x->now_us < p->until_us)
			continue;
		xhci_port_read(x, i);
		if (p->state == PORT_TRAINS)
			start_reset(x, i);
		else
			p->state = PORT_IDLE;
	}
}

void xhci_port_start(struct xhci *x)
{
	for (uint32_t i = 0; i < x->usb.n_ports; i++)
		xhci_port_read(x, i);
}

struct usb_port_state xhci_port_state(struct usb_controller *c, uint8_t port)
{
	struct xhci *x = xhci_of(c);
	struct usb_port_state s = {0};
	if (port == 0 || port > c->n_ports)
		return s;
	struct xhci_port *p = &x->port[port - 1];
	uint32_t v = p->portsc;
	if (v & (PORT_CCS | PORT_CAS))
		s.bits |= USB_PORT_CONNECTED;
	if (p->state != PORT_IDLE)
		s.bits |= USB_PORT_RESETTING;
	else if (v & PORT_CCS && v & PORT_PED && !p->off)
		s.bits |= USB_PORT_ENABLED;
	if (p->changed)
		s.bits |= USB_PORT_CHANGED;
	p->changed = false;
	s.speed = x->protocol[p->protocol].speed[PORT_SPEED(v)];
	return s;
}

void xhci_port_reset(struct usb_controller *c, uint8_t port)
{
	struct xhci *x = xhci_of(c);
	if (port == 0 || port > c->n_ports || c->failed)
		return;
	struct xhci_port *p = &x->port[port - 1u];
	xhci_port_read(x, port - 1u);
	p->off = false;
	if (!(p->portsc & (PORT_CCS | PORT_CAS)) || p->state == PORT_RESETS)
		return;
	if (!is_super(x, p) || p->used) {
		start_reset(x, port - 1u);
	} else if (!(p->portsc & PORT_PED)) {
		p->state = PORT_TRAINS;
		p->until_us = x->now_us + TRAIN_US;
	}
}

/* A SuperSpeed port that is really disabled would not notice the next device (4.19.1.2.1). Its
 * device has no slot, so nothing is sent to it. */
void xhci_port_disable(struct usb_controller *c, uint8_t port)
{
	struct xhci *x = xhci_of(c);
	if (port == 0 || port > c->n_ports || c->failed)
		return;
	struct xhci_port *p = &x->port[port - 1u];
	p->state = PORT_IDLE;
	if (is_super(x, p)) {
		p->off = p->used = true;
		return;
	}
	xhci_port_read(x, port - 1u);
	if (p->portsc & PORT_PED)
		put(x, port - 1u, PORT_PED);
	xhci_port_read(x, port - 1u);
}

void xhci_port_use(struct xhci *x, uint8_t port)
{
	if (port > 0 && port <= x->usb.n_ports)
		x->port[port - 1].used = true;
}

uint8_t xhci_port_speed(const struct xhci *x, const struct usb_device *d, uint8_t root)
{
	static const uint8_t usual[] = {
	        [USB_LOW] = 2, [USB_FULL] = 1, [USB_HIGH] = 3, [USB_SUPER] = 4};
	const struct xhci_port *p = &x->port[root - 1];
	const uint8_t *speed = x->protocol[p->protocol].speed;
	uint8_t now = PORT_SPEED(p->portsc);
	if (!d->hub && speed[now] == d->speed)
		return now;
	if (speed[usual[d->speed]] == d->speed)
		return usual[d->speed];
	for (uint8_t i = 1; i < 16; i++)
		if (speed[i] == d->speed)
			return i;
	return usual[d->speed];
}
