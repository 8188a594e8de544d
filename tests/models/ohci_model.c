/* The controller of ohci_model.h: registers and ports. The lists are in ohci_model_list.c.
 * Section numbers: OHCI 1.0a. */
#include "tests/models/ohci_model.h"
#include "tests/models/ohci_model_regs.h"

#include "kernel/seam/io.h"

/* --- ports (7.4.4) ----------------------------------------------------------------------- */

static bool powered(const struct ohci_model *m, unsigned i)
{
	return m->port[i].power && host_now_us >= m->power_us;
}

static void connect(struct ohci_model *m, unsigned i)
{
	m->port[i].bits =
	        (m->port[i].bits & (PRS | PRSC | CSC)) | (m->port[i].device ? CCS : 0) | CSC;
	m->pulses[i] = 0;
}

void ohci_model_plug(struct ohci_model *m, unsigned port, struct usb1_device *d)
{
	m->port[port].device = d;
	connect(m, port);
}

static uint32_t port_read(struct ohci_model *m, unsigned i)
{
	if (!powered(m, i))
		return m->port[i].power ? PPS : 0;
	const struct usb1_device *d = m->port[i].device;
	if (m->port[i].bits & PRS && host_now_us >= m->port[i].reset_us + 10000 && !m->port_stuck) {
		m->port[i].bits = (m->port[i].bits & ~(uint32_t)PRS) | PRSC;
		m->pulses[i]++;
		if (d) {
			m->port[i].bits |= PES;
			usb1_device_reset(m->port[i].device);
		}
	}
	return m->port[i].bits | PPS | (d && d->low ? LSDA : 0);
}

static void port_write(struct ohci_model *m, unsigned i, uint32_t v)
{
	(void)port_read(m, i);
	m->port[i].bits &= ~(v & 0x1f0000);
	if (v & 0x200)
		m->port[i].power = false;
	if (v & 0x100 && m->single_power) {
		m->port[i].power = true;
		m->power_us = host_now_us + 20000;
	}
	if (v & 1)
		m->port[i].bits &= ~(uint32_t)PES;
	if (v & 2)
		pci_model_fault("port enabled without a reset");
	if (v & 0x10 && m->port[i].bits & CCS) {
		m->port[i].bits = (m->port[i].bits & ~(uint32_t)PES) | PRS;
		m->port[i].reset_us = host_now_us;
	}
}

/* --- registers (7) ------------------------------------------------------------------------- */

static bool suspended(const struct ohci_model *m)
{
	return (m->control & HCFS) == HCFS;
}

static void hcr(struct ohci_model *m)
{
	m->command = 1;
	m->reset_us = host_now_us;
	m->resets++;
	m->control = HCFS | (m->control & RWC); /* 5.1.1.4: suspended */
	m->status = m->enable = m->hcca = m->control_head = m->bulk_head = 0;
	m->control_current = m->bulk_current = m->periodic_start = m->done = 0;
	m->interval = 0x2edf;
	m->frame = 0;
	m->n_eds = m->n_tds = 0;
}

static void interval_write(struct ohci_model *m, uint32_t v)
{
	uint32_t fi = v & 0x3fff, largest = v >> 16 & 0x7fff;
	if (m->deaf || (m->deaf_suspended && suspended(m)))
		return;
	if (!((v ^ m->interval) & 1u << 31))
		pci_model_fault("FmInterval without a change of FIT");
	if (fi < 11000 || largest > (fi - 210) * 6 / 7 || largest < (fi - 210) * 6 / 7 - 8)
		pci_model_fault("FmInterval is 0x%x", v);
	m->interval = v;
}

static void control_write(struct ohci_model *m, uint32_t v)
{
	if (m->control & IR && !(v & IR))
		m->forced = true;
	if ((v ^ m->control) & RWC)
		pci_model_fault("RemoteWakeupConnected was changed");
	if ((v & HCFS) == OPERATIONAL && (m->control & HCFS) != OPERATIONAL) {
		if (suspended(m) && host_now_us > m->reset_us + 2000)
			pci_model_fault("started more than 2 ms after the reset");
		if (m->hcca == 0 || m->hcca & 255)
			pci_model_fault("started with HCCA at 0x%x", m->hcca);
		if (m->enable & ~(uint32_t)OC)
			pci_model_fault("interrupts are on");
		if (m->legacy && m->hce)
			pci_model_fault("started while the keyboard emulation is on");
		if (m->never_starts)
			v = (v & ~(uint32_t)HCFS) | HCFS;
	}
	m->control = v;
}

static void look(struct ohci_model *m)
{
	if (m->command & 1 && !m->reset_stuck && host_now_us >= m->reset_us + 10)
		m->command &= ~1u;
	if (m->command & 8 && !m->firmware_never && host_now_us >= m->ask_us + m->firmware_us) {
		m->command &= ~8u;
		m->control &= ~(uint32_t)IR;
		m->status |= OC;
	}
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct ohci_model *m = ctx;
	if (m->gone)
		return 0xffffffffu;
	if (size != 4)
		pci_model_fault("register 0x%x read with %u bytes", off, size);
	look(m);
	switch (off) {
	case 0x00:
		return 0x10 | (m->legacy ? 0x100 : 0);
	case 0x04:
		return m->control;
	case 0x08:
		return m->command;
	case 0x0c:
		return m->status;
	case 0x10:
	case 0x14:
		return m->enable;
	case 0x18:
		return m->hcca;
	case 0x34:
		return m->interval;
	case 0x3c:
		return m->frame;
	case 0x40:
		return m->periodic_start;
	case 0x44:
		return 0x628;
	case 0x48:
		return 10u << 24 | (m->single_power ? 0x100 : 0) | m->n_ports;
	case 0x4c:
	case 0x50:
		return 0;
	default:
		if (off >= PORT && off < PORT + 4 * m->n_ports)
			return port_read(m, (off - PORT) / 4);
		pci_model_fault("register 0x%x read", off);
		return 0;
	}
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct ohci_model *m = ctx;
	bool runs = (m->control & HCFS) == OPERATIONAL;
	if (m->gone)
		return;
	if (size != 4)
		pci_model_fault("register 0x%x written with %u bytes", off, size);
	look(m);
	if (m->control & IR && off != 0x04 && off != 0x08 && off != 0x10 && off != 0x14)
		pci_model_fault("register 0x%x written while the firmware has it", off);
	if (runs && (off == 0x18 || off == 0x24 || off == 0x2c))
		pci_model_fault("register 0x%x written while it runs", off);
	if (m->command & 1 && off != 0x08)
		pci_model_fault("register 0x%x written in a reset", off);
	if (off == 0x04)
		control_write(m, v);
	else if (off == 0x08) {
		if (v & 1)
			hcr(m);
		m->command |= v & 0xe;
		if (v & 8)
			m->ask_us = host_now_us;
	} else if (off == 0x0c)
		m->status &= ~v;
	else if (off == 0x10)
		m->enable |= v;
	else if (off == 0x14)
		m->enable &= ~v;
	else if (off == 0x18)
		m->hcca = v;
	else if (off == 0x20)
		m->control_head = v;
	else if (off == 0x24)
		m->control_current = v;
	else if (off == 0x28)
		m->bulk_head = v;
	else if (off == 0x2c)
		m->bulk_current = v;
	else if (off == 0x34)
		interval_write(m, v);
	else if (off == 0x40) {
		if (!m->deaf && !(m->deaf_suspended && suspended(m)))
			m->periodic_start = v & 0x3fff;
	} else if (off == 0x50) {
		if (v & 0x10000 && !m->single_power) {
			m->power_us = host_now_us + 20000; /* POTPGT */
			for (unsigned i = 0; i < m->n_ports; i++)
				m->port[i].power = true;
		}
	} else if (off == 0x100 && m->legacy)
		m->hce = v;
	else if (off >= PORT && off < PORT + 4 * m->n_ports)
		port_write(m, (off - PORT) / 4, v);
	else
		pci_model_fault("register 0x%x written", off);
}

void ohci_model_init(struct ohci_model *m, unsigned slot)
{
	memset(m, 0, sizeof *m);
	m->n_ports = 3;
	m->firmware_us = 2000;
	m->pci.dev = (uint8_t)(1 + slot);
	m->pci.vendor = 0x106b;
	m->pci.device = 0x003f;
	m->pci.class_code = 0x0c;
	m->pci.subclass = 0x03;
	m->pci.prog_if = 0x10;
	m->pci.irq = 11;
	m->pci.ctx = m;
	m->pci.bar[0] = (struct pci_model_bar){.base = 0xf0000000u + 0x1000 * slot,
	                                       .size = 4096,
	                                       .read = reg_read,
	                                       .write = reg_write};
	pci_model_add(&m->pci);
	m->control = OPERATIONAL | IR | RWC | 0x3c;
	m->hcca = 0x1000; /* in memory that is not the driver's */
	m->interval = 0x27782ed0;
	m->hce = 1;
}

void ohci_model_error(struct ohci_model *m)
{
	m->status |= UE;
	m->control |= HCFS;
}

bool ohci_model_quiet(const struct ohci_model *m)
{
	return (m->control & HCFS) != OPERATIONAL;
}
