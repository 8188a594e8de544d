/* The ports of the controller's model (4.19, 5.4.8), and what is plugged into them. */
#include "tests/models/xhci_model.h"
#include "tests/models/xhci_model_regs.h"

#include "kernel/seam/io.h"

static bool is_super(unsigned port)
{
	return port > 4;
}

void xhci_model_links(struct xhci_model *m)
{
	for (unsigned i = 1; i <= XHCI_MODEL_PORTS; i++) {
		struct xhci_model_port *p = &m->port[i];
		if (p->usb && is_super(i) && p->portsc & PORT_CCS && !m->links_fail)
			p->portsc |= PORT_PED | 4u << 10;
	}
}

static uint32_t psiv(const struct xhci_model *m, const struct xhci_model_usb *u)
{
	static const uint32_t usual[] = {2, 1, 3, 4}, other[] = {6, 5, 7, 9};
	return (m->psi ? other : usual)[u->speed] << 10;
}

static void port_event(struct xhci_model *m, unsigned port)
{
	xhci_model_event(m, (uint64_t)port << 24, 1u << 24, 34u << 10);
}

static void port_changed(struct xhci_model *m, unsigned port, uint32_t bits)
{
	bool news = (m->port[port].portsc & bits) != bits;
	m->port[port].portsc |= bits;
	if (news)
		port_event(m, port);
}

void xhci_model_port_time(struct xhci_model *m, unsigned port)
{
	struct xhci_model_port *p = &m->port[port];
	if (!p->resetting || host_now_us < p->reset_until)
		return;
	p->resetting = false;
	p->portsc &= ~(PORT_PR | PORT_PLS(15) | 0xfu << 10);
	if (p->usb && !m->reset_disables) {
		p->portsc |= PORT_PED | psiv(m, p->usb);
		p->usb->address = 0;
		memset(p->usb->toggle, 0, sizeof p->usb->toggle);
		if (p->usb->fake)
			p->usb->fake->address = p->usb->fake->configuration = 0;
	}
	port_changed(m, port, PORT_PRC | (p->warm ? PORT_WRC : 0));
}

uint32_t xhci_model_port_read(struct xhci_model *m, unsigned port)
{
	struct xhci_model_port *p = &m->port[port];
	xhci_model_port_time(m, port);
	/* PR may read 0 at first, before the reset has begun. */
	return p->resetting && p->reset_until - host_now_us > m->port_reset_us - 5000
	               ? p->portsc & ~PORT_PR
	               : p->portsc;
}

void xhci_model_port_write(struct xhci_model *m, unsigned port, uint32_t v)
{
	struct xhci_model_port *p = &m->port[port];
	xhci_model_port_time(m, port);
	if (host_now_us < m->ready_at)
		pci_model_fault("port %u written while it is not ready", port);
	if (m->switched && p->portsc & PORT_PP && !(v & PORT_PP))
		pci_model_fault("port %u is switched off", port);
	if ((v & (3u << 14)) != (p->portsc & (3u << 14)) || v & (1u << 16))
		pci_model_fault("port %u: indicators or link state are written", port);
	if (v & PORT_PED && v & (PORT_PR | PORT_WPR))
		pci_model_fault("port %u is disabled and reset at once", port);
	if (v & PORT_PP && !(p->portsc & PORT_PP)) {
		p->portsc |= PORT_PP;
		if (p->usb)
			port_changed(m, port, PORT_CCS | PORT_CSC);
	}
	p->portsc &= ~(v & PORT_W1C);
	if (v & PORT_PED && p->portsc & PORT_PED)
		p->portsc &= ~PORT_PED;
	if (v & (PORT_PR | PORT_WPR)) {
		if (!(p->portsc & PORT_CCS) || p->portsc & (PORT_PRC | PORT_WRC) || p->resetting)
			pci_model_fault("port %u: reset with PORTSC 0x%x", port, p->portsc);
		if (v & PORT_WPR && !is_super(port))
			pci_model_fault("port %u: warm reset", port);
		p->warm = v & PORT_WPR;
		p->resets++;
		m->warm_resets += p->warm;
		p->resetting = true;
		p->portsc = (p->portsc & ~PORT_PED) | PORT_PR;
		p->reset_until = host_now_us + m->port_reset_us;
	}
}

void xhci_model_attach(struct xhci_model *m, struct xhci_model_usb *u)
{
	static const uint16_t sizes[] = {8, 8, 64, 512};
	if (u->packet0 == 0)
		u->packet0 = sizes[u->speed];
	u->there = true;
	u->address = 0;
	memset(u->toggle, 0, sizeof u->toggle);
	if (m->n_usb < XHCI_MODEL_USB)
		m->usb[m->n_usb++] = u;
	if (u->route)
		return;
	struct xhci_model_port *p = &m->port[u->port];
	p->usb = u;
	if (!(p->portsc & PORT_PP))
		return;
	p->portsc |= PORT_CCS;
	if (is_super(u->port) && !m->links_fail)
		p->portsc |= PORT_PED | psiv(m, u);
	else
		p->portsc |= is_super(u->port) ? PORT_PLS(6) : PORT_PLS(7);
	port_changed(m, u->port, PORT_CSC);
}

void xhci_model_detach(struct xhci_model *m, struct xhci_model_usb *u)
{
	unsigned n = 0;
	u->there = false;
	for (unsigned i = 0; i < m->n_usb; i++)
		if (m->usb[i] != u)
			m->usb[n++] = m->usb[i];
	m->n_usb = n;
	if (u->route == 0) {
		struct xhci_model_port *p = &m->port[u->port];
		p->usb = NULL;
		p->resetting = false;
		p->portsc &= ~(PORT_CCS | PORT_PED | PORT_PR | PORT_PLS(15) | 0xfu << 10);
		port_changed(m, u->port, PORT_CSC);
	}
	if (!m->lazy)
		xhci_model_run(m);
}

struct xhci_model_usb *xhci_model_find(struct xhci_model *m, unsigned port, uint32_t route)
{
	for (unsigned i = 0; i < m->n_usb; i++)
		if (m->usb[i]->port == port && m->usb[i]->route == route)
			return m->usb[i];
	return NULL;
}
