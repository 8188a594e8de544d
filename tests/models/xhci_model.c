/* The controller of xhci_model.h: registers, event ring. Commands are in xhci_model_cmd.c,
 * transfers in xhci_model_xfer.c, ports in xhci_model_port.c. Numbers in brackets are sections of
 * the specification. */
#include "tests/models/xhci_model.h"
#include "tests/models/xhci_model_regs.h"

#include "kernel/seam/io.h"

bool xhci_model_running(const struct xhci_model *m)
{
	return !(m->usbsts & 1) && !(m->usbsts & 4) && pci_model_can_master(&m->pci) && !m->gone;
}

bool xhci_model_quiet(const struct xhci_model *m)
{
	return !xhci_model_running(m);
}

/* --- event ring (4.9.4) ------------------------------------------------------------------ */

void xhci_model_event(struct xhci_model *m, uint64_t ptr, uint32_t status, uint32_t control)
{
	if (!xhci_model_running(m) || m->erstba == 0)
		return;
	uint64_t next = m->event_at + 16 == m->event_base + 16ull * m->event_n ? m->event_base
	                                                                       : m->event_at + 16;
	if (next == (m->erdp & ~15ull)) {
		pci_model_fault("the event ring is full");
		return;
	}
	uint32_t *e = pci_model_dma(&m->pci, m->event_at, 16);
	if (!e)
		return;
	e[0] = (uint32_t)ptr;
	e[1] = (uint32_t)(ptr >> 32);
	e[2] = status;
	e[3] = (control & ~1u) | m->event_cycle;
	if (next == m->event_base)
		m->event_cycle = !m->event_cycle;
	m->event_at = next;
	m->n_events++;
}

static void event_ring_set(struct xhci_model *m)
{
	if (m->erstba & 63)
		pci_model_fault("ERSTBA is not aligned");
	uint32_t *e = pci_model_dma(&m->pci, m->erstba & ~63ull, 16);
	if (!e)
		return;
	m->event_base = m->event_at = (uint64_t)e[1] << 32 | e[0];
	m->event_n = e[2];
	m->event_cycle = true;
	if (m->erstsz != 1 || m->event_base & 63 || m->event_n < 16 || m->event_n > 4096 ||
	    m->event_base >> 16 != (m->event_base + 16ull * m->event_n - 1) >> 16)
		pci_model_fault("event ring of %u segments, %u TRBs", m->erstsz, m->event_n);
	(void)pci_model_dma(&m->pci, m->event_base, 16ull * m->event_n);
}

static void erdp_check(const struct xhci_model *m)
{
	uint64_t at = m->erdp & ~15ull;
	if (m->erstba && (at < m->event_base || at >= m->event_base + 16ull * m->event_n))
		pci_model_fault("ERDP is outside of the ring");
}

/* --- reset, start, halt ---------------------------------------------------------------------- */

static void power_on(struct xhci_model *m)
{
	m->usbcmd = 0;
	m->usbsts = 1;
	m->config = m->dnctrl = m->iman = m->imod = m->erstsz = 0;
	m->crcr = m->dcbaap = m->erstba = m->erdp = 0;
	m->crr = m->aborting = false;
	m->event_base = 0;
	memset(m->slot, 0, sizeof m->slot);
	memset(m->half, 0, sizeof m->half);
	for (unsigned i = 1; i <= XHCI_MODEL_PORTS; i++) {
		struct xhci_model_port *p = &m->port[i];
		p->resetting = false;
		p->portsc = m->switched ? 0 : PORT_PP;
		if (p->usb && !m->switched)
			p->portsc |= PORT_CCS | PORT_CSC;
	}
}

static void reset(struct xhci_model *m)
{
	power_on(m);
	m->resets++;
	m->resetting = true;
	m->reset_at = host_now_us;
	m->ready_at = host_now_us + m->reset_us + m->ready_us;
}

static void scratchpads(struct xhci_model *m)
{
	size_t size = 4096;
	while (!(m->page & (uint32_t)(size >> 12)))
		size <<= 1;
	uint32_t *dcbaa = pci_model_dma(&m->pci, m->dcbaap, 8ull * (m->config + 1));
	if (!dcbaa || m->pads == 0)
		return;
	uint32_t *list = pci_model_dma(&m->pci, (uint64_t)dcbaa[1] << 32 | dcbaa[0], 8 * m->pads);
	for (uint32_t i = 0; list && i < m->pads; i++) {
		uint64_t at = (uint64_t)list[2 * i + 1] << 32 | list[2 * i];
		uint8_t *page = pci_model_dma(&m->pci, at, size);
		if (at % size != 0 || !page || page[0] != 0)
			pci_model_fault("scratchpad %u is wrong", i);
		else
			memset(page, 0xee, size); /* so that the same page twice shows */
	}
}

static void start(struct xhci_model *m)
{
	if (m->never_starts)
		return;
	if (m->resetting || host_now_us < m->ready_at)
		pci_model_fault("started in a reset");
	if (m->config == 0 || m->config > m->slots || m->dcbaap == 0 || m->dcbaap & 63 ||
	    m->crcr == 0 || m->erstba == 0)
		pci_model_fault("started without slots, rings or contexts");
	if (m->half[0] || m->half[1] || m->half[2] || m->half[3])
		pci_model_fault("the upper half of a register was not written");
	m->usbsts &= ~1u;
	scratchpads(m);
	xhci_model_links(m);
}

static uint32_t status(struct xhci_model *m)
{
	uint32_t v = m->usbsts;
	if (m->never_ready || host_now_us < m->ready_at)
		v |= 1u << 11;
	return v;
}

static uint32_t command(struct xhci_model *m)
{
	if (m->resetting) {
		if (host_now_us < m->reset_at + 1000)
			pci_model_fault("read within 1 ms of a reset");
		if (host_now_us >= m->reset_at + m->reset_us && !m->reset_stuck)
			m->resetting = false;
	}
	return m->usbcmd | (m->resetting ? 2u : 0);
}

static void command_write(struct xhci_model *m, uint32_t v)
{
	if (v & ~0xfu)
		pci_model_fault("USBCMD is written with 0x%x", v);
	if (v & 4)
		pci_model_fault("interrupts are switched on");
	if (v & 2) {
		if (!(m->usbsts & 1) && !m->never_halts)
			pci_model_fault("reset while it runs");
		if (m->never_halts && m->reset_stuck)
			return;
		reset(m);
		return;
	}
	if (v & 1 && !(m->usbcmd & 1))
		start(m);
	if (!(v & 1) && m->usbcmd & 1 && !m->never_halts) {
		m->usbsts |= 1;
		m->crr = false;
		m->stops++;
	}
	m->usbcmd = v;
}

void xhci_model_hse(struct xhci_model *m)
{
	m->usbsts |= 1 | 4;
	m->crr = false;
}

/* --- extended capabilities (7) -------------------------------------------------------------------
 */

/* Legacy support at EXTENDED, an unknown one, two protocols, maybe one without ports. */
static uint32_t extended_read(const struct xhci_model *m, uint32_t off)
{
	uint32_t n_usb2 = m->psi ? 3 : 0, n_usb3 = m->psi ? 1 : 0;
	const uint32_t usb = 0x20425355, end = m->no_ports ? 8u << 8 : 0;
	if (m->chain_long && off >= 0x10)
		return 1u << 8 | 10;
	switch (off) {
	case 0x00:
		return m->usblegsup | 4u << 8 | 1;
	case 0x04:
		return m->usblegctl;
	case 0x10: /* debug capability */
		return 4u << 8 | 10;
	case 0x20:
		return 2u << 24 | 12u << 8 | 2; /* 0x30 on */
	case 0x24:
	case 0x54:
	case 0x74:
		return usb;
	case 0x28:
		return n_usb2 << 28 | 4u << 8 | 1;
	case 0x2c:
		return 0;
	case 0x30: /* 12 Mb/s is number 5 */
		return 12u << 16 | 2u << 4 | 5;
	case 0x34: /* 1500 kb/s is number 6 */
		return 1500u << 16 | 1u << 4 | 6;
	case 0x38:
		return 480u << 16 | 2u << 4 | 7;
	case 0x50:
		return 3u << 24 | end | 2;
	case 0x58:
		return n_usb3 << 28 | 4u << 8 | 5;
	case 0x5c:
		return 3; /* slot type */
	case 0x60:
		return 5u << 16 | 3u << 4 | 9;
	case 0x70:
		return 3u << 24 | 2;
	default:
		return 0;
	}
}

static void extended_write(struct xhci_model *m, uint32_t off, uint32_t v)
{
	if (off == 0) {
		m->usblegsup = (m->usblegsup & ~(1u << 24)) | (v & 1u << 24);
		if (v & 1u << 24 && !m->bios_keeps)
			m->usblegsup &= ~(1u << 16);
		if (m->bios_keeps && !(v & 1u << 16))
			m->usblegsup &= ~(1u << 16);
	} else if (off == 4) {
		m->usblegctl = (v & 0x1fffffff) | (m->usblegctl & ~v & 7u << 29);
	} else {
		pci_model_fault("write to an extended capability at 0x%x", off);
	}
}

/* --- registers
 * -------------------------------------------------------------------------------------- */

static uint32_t capability_read(const struct xhci_model *m, uint32_t off)
{
	switch (off) {
	case 0x00:
		return 0x0120u << 16 | OPER;
	case 0x04:
		return (uint32_t)XHCI_MODEL_PORTS << 24 | 1u << 8 | m->slots;
	case 0x08:
		return (m->pads >> 5) << 21 | (m->pads & 31) << 27 | 0xf1;
	case 0x10:
		return EXTENDED / 4u << 16 | (m->switched ? 8u : 0) | (m->wide ? 4u : 0) | 1;
	case 0x14:
		return DOORBELL;
	case 0x18:
		return RUNTIME;
	default:
		return 0;
	}
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct xhci_model *m = ctx;
	if (m->gone)
		return 0xffffffffu;
	if (size != 4 || off & 3)
		pci_model_fault("read of %u at 0x%x", size, off);
	if (off < OPER)
		return capability_read(m, off);
	if (m->resetting && off != OPER)
		pci_model_fault("register 0x%x is read in a reset", off);
	if (off >= PORTS && off < PORTS + 16 * XHCI_MODEL_PORTS)
		return off % 16 == 0 ? xhci_model_port_read(m, (off - PORTS) / 16 + 1) : 0;
	m->extended_reads += off >= EXTENDED;
	if (off >= EXTENDED && off < EXTENDED + 0x100)
		return extended_read(m, off - EXTENDED);
	switch (off) {
	case OPER + 0x00:
		return command(m);
	case OPER + 0x04:
		return status(m);
	case OPER + 0x08:
		return m->page;
	case OPER + 0x18:
		return m->crr ? 8 : 0; /* the pointer reads as 0 */
	case OPER + 0x38:
		return m->config;
	case IR0:
		return m->iman;
	case IR0 + 8:
		return m->erstsz;
	default:
		if (off >= EXTENDED)
			return m->chain_long ? 1u << 8 | 10 : 0;
		pci_model_fault("read of register 0x%x", off);
		return 0;
	}
}

static void half(struct xhci_model *m, unsigned which, uint64_t *reg, bool high, uint32_t v)
{
	if (high != m->half[which])
		pci_model_fault("halves of a register are written in the wrong order");
	m->half[which] = !high;
	*reg = high ? (*reg & 0xffffffffu) | (uint64_t)v << 32 : (*reg & ~0xffffffffull) | v;
}

static void crcr_write(struct xhci_model *m, bool high, uint32_t v)
{
	if (high && m->abort_half) {
		m->abort_half = false;
		return;
	}
	if (!high && v & 6 && m->crr) {
		m->aborting = m->abort_half = true; /* the pointer is ignored */
		if (m->abort_stuck)
			return;
		if (m->late && m->commands_stuck) { /* the command ends just then */
			m->commands_stuck = false;
			m->abort_at = host_now_us + 5000;
		}
		xhci_model_commands(m);
		return;
	}
	if (m->crr && !high)
		pci_model_fault("CRCR is written while the ring runs");
	half(m, 0, &m->crcr, high, v);
	if (high) {
		m->cmd_at = m->crcr & ~63ull;
		m->cmd_cycle = m->crcr & 1;
	}
}

static void doorbell(struct xhci_model *m, unsigned slot, uint32_t v)
{
	if (m->usbsts & 1) { /* one that failed may not have been noticed yet */
		if (!(m->usbcmd & 1))
			pci_model_fault("doorbell %u of a halted controller", slot);
	} else if (slot == 0) {
		if (v || m->aborting)
			pci_model_fault("doorbell 0 with 0x%x%s", v,
			                m->aborting ? " while the ring stops" : "");
		m->crr = true;
	} else {
		unsigned dci = v & 0xff;
		struct xhci_model_ep *ep = &m->slot[slot].ep[dci & 31];
		if (slot > m->config || dci == 0 || dci > 31 || v >> 8 || ep->state == 0)
			pci_model_fault("doorbell %u with 0x%x", slot, v);
		else if (ep->state == 2 || ep->state == 4)
			pci_model_fault("doorbell %u of halted endpoint %u", slot, dci);
		else
			ep->armed = true;
		if (ep->state == 3) /* 4.8.3 */
			xhci_model_ep_state(m, slot, dci & 31, 1);
	}
	if (!m->lazy)
		xhci_model_run(m);
}

static void erst_write(struct xhci_model *m, bool high, uint32_t v)
{
	half(m, 2, &m->erstba, high, v);
	if (high)
		event_ring_set(m);
}

static void erdp_write(struct xhci_model *m, bool high, uint32_t v)
{
	half(m, 3, &m->erdp, high, v);
	if (high)
		erdp_check(m);
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct xhci_model *m = ctx;
	if (m->gone)
		return;
	if (size != 4 || off & 3)
		pci_model_fault("write of %u at 0x%x", size, off);
	if (m->resetting || (off >= OPER && off < EXTENDED && status(m) & 1u << 11))
		pci_model_fault("register 0x%x is written while it is not ready", off);
	bool runs = !(m->usbsts & 1);
	if (off >= PORTS && off < PORTS + 16 * XHCI_MODEL_PORTS && off % 16 == 0) {
		xhci_model_port_write(m, (off - PORTS) / 16 + 1, v);
	} else if (off >= EXTENDED && off < EXTENDED + 0x100) {
		extended_write(m, off - EXTENDED, v);
	} else if (off >= DOORBELL && off <= DOORBELL + 4 * m->slots) {
		doorbell(m, (off - DOORBELL) / 4, v);
	} else if (off == OPER) {
		command_write(m, v);
	} else if (off == OPER + 0x04) {
		m->usbsts &= ~(v & 0x41c);
	} else if (off == OPER + 0x14) {
		m->dnctrl = v;
	} else if (off == OPER + 0x18 || off == OPER + 0x1c) {
		crcr_write(m, off & 4, v);
	} else if (off == OPER + 0x38 && !runs) {
		m->config = v;
	} else if ((off == OPER + 0x30 || off == OPER + 0x34) && !runs) {
		half(m, 1, &m->dcbaap, off & 4, v);
	} else if (off == IR0) {
		if (v & 2)
			pci_model_fault("interrupts are switched on");
		m->iman = v & 2;
	} else if (off == IR0 + 8 && !runs) {
		m->erstsz = v;
	} else if ((off == IR0 + 0x10 || off == IR0 + 0x14) && !runs) {
		erst_write(m, off & 4, v);
	} else if (off == IR0 + 0x18 || off == IR0 + 0x1c) {
		erdp_write(m, off & 4, v);
	} else {
		pci_model_fault("write to register 0x%x%s", off, runs ? " while it runs" : "");
	}
}

/* --- life
 * ------------------------------------------------------------------------------------------- */

void xhci_model_run(struct xhci_model *m)
{
	for (unsigned i = 1; i <= XHCI_MODEL_PORTS; i++)
		xhci_model_port_time(m, i);
	if (!xhci_model_running(m))
		return;
	xhci_model_commands(m);
	for (unsigned slot = 1; slot <= m->config && slot <= XHCI_MODEL_SLOTS; slot++)
		for (unsigned dci = 1; dci < 32; dci++)
			if (m->slot[slot].ep[dci].state == 1 && m->slot[slot].ep[dci].armed)
				xhci_model_transfers(m, slot, dci);
}

void xhci_model_init(struct xhci_model *m)
{
	*m = (struct xhci_model){.slots = 32,
	                         .page = 1,
	                         .ready_us = 120000,
	                         .reset_us = 5000,
	                         .port_reset_us = 60000};
	m->pci = (struct pci_model_dev){.dev = 5,
	                                .vendor = 0x1234,
	                                .device = 0x5678,
	                                .class_code = 0x0c,
	                                .subclass = 3,
	                                .prog_if = 0x30,
	                                .irq = 11,
	                                .ctx = m};
	m->pci.bar[0] = (struct pci_model_bar){.is64 = true,
	                                       .base = 0xe000000000ull,
	                                       .size = WINDOW,
	                                       .read = reg_read,
	                                       .write = reg_write};
}

void xhci_model_plug(struct xhci_model *m)
{
	m->usblegsup = m->bios || m->bios_keeps ? 1u << 16 : 0;
	m->usblegctl = m->bios || m->bios_keeps ? 1u | 1u << 4 | 7u << 13 | 7u << 29 : 0;
	power_on(m);
	if (m->runs) {
		m->usbcmd = 1;
		m->usbsts = 0;
	}
	pci_model_add(&m->pci);
}

unsigned xhci_model_slot_of(const struct xhci_model *m, const struct xhci_model_usb *u)
{
	for (unsigned i = 1; i <= XHCI_MODEL_SLOTS; i++)
		if (m->slot[i].state && m->slot[i].usb == u)
			return i;
	return 0;
}
