/* The controller of ehci_model.h: registers, ports, legacy support. Numbers in brackets are
 * sections of the EHCI specification. */
#include "tests/models/ehci_model.h"

#include "drivers/usb/usb.h"
#include "kernel/seam/io.h"

enum { CAPLENGTH = 0, HCSPARAMS = 4, HCCPARAMS = 8 };
enum {
	USBCMD = 0x00,
	USBSTS = 0x04,
	USBINTR = 0x08,
	FRINDEX = 0x0c,
	SEGMENT = 0x10,
	PERIODIC = 0x14,
	ASYNC = 0x18,
	CONFIG = 0x40,
	PORTSC = 0x44,
};
enum { RS = 1, HCRESET = 2, PSE = 0x10, ASE = 0x20, IAAD = 0x40 };
enum { HSE = 0x10, IAA = 0x20, HALTED = 0x1000, PSS = 0x4000, ASS = 0x8000 };
enum {
	CCS = 1,
	CSC = 2,
	PED = 4,
	PEDC = 8,
	OCA = 0x10,
	OCC = 0x20,
	PR = 0x100,
	PP = 0x1000,
	OWNER = 0x2000,
	CHANGES = CSC | PEDC | OCC,
};
#define HALT_US   1000u /* at most 16 micro-frames (2.3.1) */
#define RESET_US  20000u
#define PORT_US   1500u  /* at most 2 ms (2.3.9) */
#define SIGNAL_US 50000u /* USB 2.0 7.1.7.5 */

/* --- ports (2.3.9, 4.2) --------------------------------------------------------------------- */

static unsigned n_ports(const struct ehci_model *m)
{
	return m->params & 15;
}

static bool powered(const struct ehci_model *m, const struct ehci_model_port *p)
{
	return !(m->params & 0x10) || p->sc & PP;
}

/* Compares what is plugged in with what the port says. */
void ehci_model_port_event(struct ehci_model *m, unsigned port)
{
	struct ehci_model_port *p = &m->port[port - 1];
	bool there = p->device && p->device->there && powered(m, p);
	if (!there && p->sc & OWNER && m->config)
		p->sc &= ~(uint32_t)OWNER; /* 4.2.2: the port comes back */
	bool see = there && !(p->sc & OWNER);
	p->companion = there && p->sc & OWNER;
	if (see == (bool)(p->sc & CCS))
		return;
	p->sc ^= CCS;
	p->sc |= CSC;
	if (!see && p->sc & PED)
		p->sc = (p->sc & ~(uint32_t)PED) | PEDC;
}

static uint32_t port_read(struct ehci_model *m, struct ehci_model_port *p)
{
	uint32_t v = p->sc;
	if (!(m->params & 0x10))
		v |= PP;
	if ((v & (CCS | PED)) == CCS)
		v |= p->device->speed == USB_LOW ? 0x400 : 0x800;
	return v;
}

static void signal_begin(struct ehci_model *m, struct ehci_model_port *p, uint32_t v)
{
	if (v & PED)
		pci_model_fault("PORTSC: reset with PED written as one");
	if (m->sts & HALTED)
		pci_model_fault("PORTSC: reset while the controller is halted");
	if (!(p->sc & CCS) || p->sc & OWNER)
		pci_model_fault("PORTSC: reset of a port without a device");
	if ((p->sc & (CCS | PED)) == CCS && p->device->speed == USB_LOW)
		pci_model_fault("PORTSC: reset of a low-speed device");
	p->sc = (p->sc & ~(uint32_t)PED) | PR;
	p->reset_us = host_now_us;
	p->end_us = 0;
	p->resets++;
	if (p->device)
		p->device->address = p->device->configured = 0;
}

static void port_write(struct ehci_model *m, struct ehci_model_port *p, uint32_t v)
{
	p->sc &= ~(v & CHANGES);
	if (v & PED && !(p->sc & PED) && !(v & PR))
		pci_model_fault("PORTSC: a port cannot be enabled by software");
	if (m->params & 0x10)
		p->sc = (p->sc & ~(uint32_t)PP) | (v & PP);
	if (v & PR && !(p->sc & PR)) {
		signal_begin(m, p, v);
	} else if (!(v & PR) && p->sc & PR && !p->end_us) {
		if (host_now_us < p->reset_us + SIGNAL_US)
			pci_model_fault("PORTSC: reset of less than 50 ms");
		p->end_us = host_now_us + (m->no_port_end ? 1u << 30 : PORT_US);
	}
	if (!(v & PED))
		p->sc &= ~(uint32_t)PED;
	if ((v & OWNER) != (p->sc & OWNER)) {
		if (!(m->params >> 12 & 15))
			pci_model_fault("PORTSC: there is no companion");
		if (p->sc & PR)
			pci_model_fault("PORTSC: owner changed in a reset");
		p->sc ^= OWNER;
	}
	ehci_model_port_event(m, (unsigned)(p - m->port) + 1);
}

static void ports_run(struct ehci_model *m)
{
	for (unsigned i = 0; i < n_ports(m); i++) {
		struct ehci_model_port *p = &m->port[i];
		if (!(p->sc & PR) || !p->end_us || host_now_us < p->end_us)
			continue;
		p->sc &= ~(uint32_t)PR;
		if (p->sc & CCS && p->device->speed == USB_HIGH)
			p->sc |= PED;
	}
}

/* --- the whole controller --------------------------------------------------------------------- */

static void defaults(struct ehci_model *m)
{
	m->cmd = 8u << 16;
	m->sts = HALTED;
	m->frindex = m->segment = m->periodic = m->async = m->config = 0;
	m->stop_wanted = false;
	m->follow_us[0] = m->follow_us[1] = m->doorbell_us = m->start_us = 0;
	memset(m->seen, 0, sizeof m->seen);
	memset(m->tt, 0, sizeof m->tt);
	for (unsigned i = 0; i < n_ports(m); i++) {
		struct ehci_model_port *p = &m->port[i];
		p->sc = OWNER;
		p->end_us = 0;
		ehci_model_port_event(m, i + 1);
	}
}

static void schedule_follow(struct ehci_model *m, unsigned which, uint32_t on, uint32_t runs)
{
	bool want = m->cmd & on && m->cmd & RS, have = m->sts & runs;
	if (want == have || m->no_follow) {
		m->follow_us[which] = 0;
		return;
	}
	if (!m->follow_us[which])
		m->follow_us[which] = host_now_us;
	if (host_now_us < m->follow_us[which] + m->lag_us)
		return;
	m->sts ^= runs;
	if (have)
		ehci_model_drop(m, runs == PSS, true);
}

static void doorbell_run(struct ehci_model *m)
{
	if (!(m->cmd & IAAD) || !(m->sts & ASS) || m->iaa_stuck ||
	    host_now_us < m->doorbell_us + 300)
		return;
	m->cmd &= ~(uint32_t)IAAD;
	ehci_model_drop(m, false, false);
	if (!m->iaa_lost)
		m->sts |= IAA;
}

/* Moves the state of the controller up to the present. */
static void settle(struct ehci_model *m)
{
	uint8_t *leg = m->pci.cfg + EHCI_MODEL_EECP;
	if (leg[3] & 1 && leg[2] & 1) {
		if (!m->asked_us)
			m->asked_us = host_now_us;
		if (m->bios_us != EHCI_MODEL_NEVER && host_now_us >= m->asked_us + m->bios_us)
			leg[2] = 0;
	}
	if (m->cmd & HCRESET && !m->no_reset_end && host_now_us >= m->reset_us + RESET_US)
		m->cmd &= ~(uint32_t)HCRESET;
	if (m->stop_wanted && !m->no_halt && host_now_us >= m->stop_us + HALT_US) {
		m->stop_wanted = false;
		m->sts = (m->sts & ~(uint32_t)(ASS | PSS)) | HALTED;
		ehci_model_drop(m, false, true);
		ehci_model_drop(m, true, true);
	}
	if (m->start_us && !m->no_start && host_now_us >= m->start_us + 125) {
		m->start_us = 0;
		m->sts &= ~(uint32_t)HALTED;
	}
	ports_run(m);
	if (m->sts & HALTED)
		return;
	schedule_follow(m, 0, ASE, ASS);
	schedule_follow(m, 1, PSE, PSS);
	doorbell_run(m);
}

void ehci_model_run(struct ehci_model *m, uint32_t us)
{
	for (uint32_t passed = 0; passed < us; passed += 125) {
		host_now_us += 125;
		m->time_us = host_now_us;
		settle(m);
		if (!(m->sts & HALTED) && !m->gone)
			ehci_model_frame(m);
	}
}

/* A busy wait of the driver: the controller works on. */
static void delay(void *ctx, uint32_t us)
{
	struct ehci_model *m = ctx;
	(void)us;
	if (!m->time_us)
		m->time_us = host_now_us;
	settle(m);
	for (; m->time_us + 125 <= host_now_us; m->time_us += 125)
		if (!(m->sts & HALTED) && !m->gone)
			ehci_model_frame(m);
}

static void cmd_write(struct ehci_model *m, uint32_t v)
{
	if (v & HCRESET) {
		if (!(m->sts & HALTED))
			pci_model_fault("USBCMD: reset while running");
		m->resets++;
		defaults(m);
		m->cmd |= HCRESET;
		m->reset_us = host_now_us;
		return;
	}
	if (v & 0xff00ff8cu)
		pci_model_fault("USBCMD: 0x%x", v);
	if ((v ^ m->cmd) & ASE && !(m->cmd & ASE) != !(m->sts & ASS) && v & RS)
		pci_model_fault("USBCMD: ASE changed before ASS followed it");
	if ((v ^ m->cmd) & PSE && !(m->cmd & PSE) != !(m->sts & PSS) && v & RS)
		pci_model_fault("USBCMD: PSE changed before PSS followed it");
	if (v & RS && !(m->cmd & RS)) {
		if (!(m->sts & HALTED))
			pci_model_fault("USBCMD: started while not halted");
		m->start_us = host_now_us;
		m->was_running = true;
	}
	if (!(v & RS) && m->cmd & RS) {
		m->stop_wanted = true;
		m->stop_us = host_now_us;
	}
	if (m->cmd & IAAD && v & RS && !m->iaa_stuck)
		pci_model_fault("USBCMD: written while a doorbell is not answered");
	if (v & IAAD && !(m->cmd & IAAD)) {
		if (!(m->sts & ASS))
			pci_model_fault("USBCMD: doorbell while the schedule does not run");
		m->doorbell_us = host_now_us;
		m->doorbells++;
	}
	m->cmd = v;
}

static void base_write(struct ehci_model *m, uint32_t *reg, uint32_t v, uint32_t runs,
                       uint32_t align)
{
	if (m->sts & runs)
		pci_model_fault("the address of a schedule that runs was written");
	if (v % align)
		pci_model_fault("the address 0x%x of a schedule is not aligned", v);
	*reg = v;
}

static void op_write(struct ehci_model *m, uint32_t off, uint32_t v)
{
	switch (off) {
	case USBCMD:
		cmd_write(m, v);
		return;
	case USBSTS:
		m->sts &= ~(v & 0x3f);
		return;
	case USBINTR:
		if (v)
			pci_model_fault("USBINTR: 0x%x", v);
		return;
	case SEGMENT:
		if (!(m->more & 1))
			pci_model_fault("CTRLDSSEGMENT does not exist");
		m->segment = v;
		return;
	case PERIODIC:
		base_write(m, &m->periodic, v, PSS, 4096);
		return;
	case ASYNC:
		base_write(m, &m->async, v, ASS, 32);
		return;
	case CONFIG:
		m->config = v & 1;
		for (unsigned i = 0; i < n_ports(m); i++) {
			m->port[i].sc &= ~(uint32_t)OWNER;
			m->port[i].sc |= v & 1 ? 0 : OWNER;
			ehci_model_port_event(m, i + 1);
		}
		return;
	default:
		if (off >= PORTSC && off < PORTSC + 4 * n_ports(m))
			port_write(m, &m->port[(off - PORTSC) / 4], v);
		else
			pci_model_fault("write of register 0x%x", off);
		return;
	}
}

static uint32_t op_read(struct ehci_model *m, uint32_t off)
{
	switch (off) {
	case USBCMD:
		return m->cmd;
	case USBSTS:
		return m->sts;
	case USBINTR:
		return 0;
	case FRINDEX:
		return m->frindex;
	case SEGMENT:
		return m->segment;
	case PERIODIC:
		return m->periodic;
	case ASYNC:
		return m->async;
	case CONFIG:
		return m->config;
	default:
		if (off >= PORTSC && off < PORTSC + 4 * n_ports(m))
			return port_read(m, &m->port[(off - PORTSC) / 4]);
		pci_model_fault("read of register 0x%x", off);
		return 0;
	}
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct ehci_model *m = ctx;
	if (m->gone_in && --m->gone_in == 0)
		m->gone = true;
	if (m->gone)
		return 0xffffffffu;
	if (size != 4 || off % 4)
		pci_model_fault("read of %u at register 0x%x", size, off);
	settle(m);
	if (off == CAPLENGTH)
		return 0x01000000u | m->caplength;
	if (off == HCSPARAMS)
		return m->params;
	if (off == HCCPARAMS)
		return m->more;
	if (off < m->caplength) {
		pci_model_fault("read of register 0x%x", off);
		return 0;
	}
	if (m->cmd & HCRESET && off != m->caplength + (uint32_t)USBCMD)
		pci_model_fault("register 0x%x read during the reset", off);
	return op_read(m, off - m->caplength);
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct ehci_model *m = ctx;
	if (m->gone)
		return;
	if (size != 4 || off % 4 || off < m->caplength) {
		pci_model_fault("write of %u at register 0x%x", size, off);
		return;
	}
	settle(m);
	if (m->pci.cfg[EHCI_MODEL_EECP + 2] & 1)
		pci_model_fault("register 0x%x written while the firmware owns the controller",
		                off - m->caplength);
	if (m->cmd & HCRESET)
		pci_model_fault("register 0x%x written during the reset", off);
	op_write(m, off - m->caplength, v);
}

bool ehci_model_quiet(const struct ehci_model *m)
{
	return m->gone || m->sts & HALTED || !pci_model_can_master(&m->pci);
}

void ehci_model_init(struct ehci_model *m, uint8_t slot, unsigned ports, unsigned companions)
{
	memset(m, 0, sizeof *m);
	m->params = ports | 0x10 | (companions ? 2u << 8 : 0) | companions << 12;
	m->more = 1 | EHCI_MODEL_EECP << 8;
	m->caplength = 0x20;
	m->pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x8086,
	        .device = 0x24cd,
	        .class_code = 0x0c,
	        .subclass = 3,
	        .prog_if = 0x20,
	        .irq = 11,
	        .bar[0] = {.base = 0xfebf0000u + slot * 0x1000u,
	                   .size = 0x1000,
	                   .read = reg_read,
	                   .write = reg_write},
	        .delay = delay,
	        .ctx = m,
	};
	defaults(m);
	pci_model_add(&m->pci);
	/* The firmware owns the controller, which runs; each event causes an SMI (2.1.7). */
	uint8_t *leg = m->pci.cfg + EHCI_MODEL_EECP;
	leg[0] = leg[2] = 1;
	store32(leg + 4, 0xe020003f);
	m->pci.writable[EHCI_MODEL_EECP + 2] = m->pci.writable[EHCI_MODEL_EECP + 3] = 1;
	memset(m->pci.writable + EHCI_MODEL_EECP + 4, 0xff, 4);
	m->bios_us = 30000;
	m->lag_us = 500;
	m->cmd |= RS;
	m->sts &= ~(uint32_t)HALTED;
	m->config = 1;
}
