/* The controller of uhci_model.h. Section numbers: UHCI Design Guide 1.1. */
#include "tests/models/uhci_model.h"

#include "kernel/seam/io.h"

enum {
	CMD = 0,
	STS = 2,
	INTR = 4,
	FRNUM = 6,
	FRBASE = 8,
	SOFMOD = 12,
	PORT = 16,
	RS = 1,
	HCRESET = 2,
	HALTED = 0x20,
	CCS = 1,
	CSC = 2,
	PED = 4,
	PEDC = 8,
	ONE = 0x80,
	LOW = 0x100,
	PR = 0x200,
	LEGSUP = 0xc0,

	END = 1,
	QUEUE = 2,
	DEPTH = 4,
	ACTIVE = 1 << 23,
	STALLED = 1 << 22,
	BABBLE = 1 << 20,
	NAK = 1 << 19,
	TIMEOUT = 1 << 18,
	SHORT = 1 << 29,
};

/* --- ports (2.1.7) --------------------------------------------------------------------- */

static void port_connect(struct uhci_model *m, unsigned i)
{
	uint16_t was = m->port[i].sc;
	const struct usb1_device *d = m->port[i].device;
	m->port[i].sc = (uint16_t)((was & (CSC | PEDC | PR)) | ONE | (d ? CCS : 0) |
	                           (d && d->low ? LOW : 0) | CSC | (was & PED ? PEDC : 0));
}

void uhci_model_plug(struct uhci_model *m, unsigned port, struct usb1_device *d)
{
	m->port[port].device = d;
	port_connect(m, port);
}

static void port_write(struct uhci_model *m, unsigned i, uint16_t v)
{
	uint16_t *sc = &m->port[i].sc, was = *sc;
	struct usb1_device *d = m->port[i].device;
	*sc = (uint16_t)(was & ~(v & (CSC | PEDC)));
	*sc = (uint16_t)((*sc & ~PR) | (v & PR));
	if (v & PR && !(was & PR))
		m->port[i].signal_us = host_now_us;
	if (!(v & PR) && was & PR) {
		if (host_now_us < m->port[i].signal_us + 50000)
			pci_model_fault("reset signal of less than 50 ms");
		m->port[i].ready_us = host_now_us + m->enable_us;
		if (d)
			usb1_device_reset(d);
	}
	if (v & PR) {
		if (v & PED)
			pci_model_fault("PED set in a reset");
		*sc &= (uint16_t)~PED;
		return;
	}
	if (!(v & PED)) {
		*sc &= (uint16_t)~PED;
	} else if (*sc & CCS && d && d->reset && host_now_us >= m->port[i].ready_us) {
		*sc |= PED;
		if (m->enable_changes && !(was & PED)) {
			*sc = (uint16_t)((*sc | CSC | PEDC) & ~PED);
			m->enable_changes = false;
		}
	}
}

/* --- registers (2.1) --------------------------------------------------------------------- */

static void controller_reset(struct uhci_model *m)
{
	m->cmd = HCRESET;
	m->sts = HALTED;
	m->intr = m->frame = 0;
	m->base = 0;
	m->sofmod = 0x40;
	m->resets++;
	m->reset_us = host_now_us;
	m->n_used = m->n_pending = 0;
	for (unsigned i = 0; i < m->n_ports; i++) {
		m->port[i].sc = 0;
		port_connect(m, i);
		if (!m->port[i].device)
			m->port[i].sc &= (uint16_t)~CSC;
	}
}

static void cmd_write(struct uhci_model *m, uint16_t v)
{
	if (m->cmd & HCRESET) {
		pci_model_fault("USBCMD written in a reset");
		return;
	}
	if (v & HCRESET) {
		controller_reset(m);
		return;
	}
	if (v & RS && !(m->cmd & RS)) {
		if (load16(m->pci.cfg + LEGSUP) & 0x00bf)
			pci_model_fault("started while the firmware's traps are on");
		if (m->base == 0 || m->base & 0xfff)
			pci_model_fault("started with the frame list at 0x%x", m->base);
		if (!pci_model_can_master(&m->pci))
			pci_model_fault("started without bus mastering");
		if (!m->never_starts)
			m->sts &= (uint16_t)~HALTED;
	}
	if (!(v & RS) && !m->never_halts)
		m->sts |= HALTED;
	m->cmd = v;
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct uhci_model *m = ctx;
	if (m->gone)
		return size == 4 ? 0xffffffffu : (1u << 8 * size) - 1;
	if (size != (off == FRBASE ? 4u : off == SOFMOD ? 1u : 2u))
		pci_model_fault("register 0x%x read with %u bytes", off, size);
	if (m->cmd & HCRESET && !m->reset_stuck && host_now_us >= m->reset_us + 10)
		m->cmd = 0;
	switch (off) {
	case CMD:
		return m->cmd;
	case STS:
		return m->sts;
	case INTR:
		return m->intr;
	case FRNUM:
		return m->frame;
	case FRBASE:
		return m->base;
	case SOFMOD:
		return m->sofmod;
	default:
		if (off >= PORT && (off - PORT) / 2 < m->n_ports)
			return m->port[(off - PORT) / 2].sc;
		return 0xff7f; /* no port: bit 7 is 0 */
	}
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct uhci_model *m = ctx;
	if (m->gone)
		return;
	if (size != (off == FRBASE ? 4u : off == SOFMOD ? 1u : 2u))
		pci_model_fault("register 0x%x written with %u bytes", off, size);
	if (m->cmd & RS && (off == FRNUM || off == FRBASE || off == SOFMOD))
		pci_model_fault("register 0x%x written while it runs", off);
	if (off == CMD)
		cmd_write(m, (uint16_t)v);
	else if (off == STS)
		m->sts &= (uint16_t) ~(v & 0x1f);
	else if (off == INTR) {
		m->intr = (uint16_t)v;
		if (v)
			pci_model_fault("interrupts are on");
	} else if (off == FRNUM)
		m->frame = v & 0x7ff;
	else if (off == FRBASE)
		m->base = v;
	else if (off == SOFMOD)
		m->sofmod = (uint8_t)v;
	else if (off >= PORT && (off - PORT) / 2 < m->n_ports)
		port_write(m, (off - PORT) / 2, (uint16_t)v);
	else
		pci_model_fault("register 0x%x does not exist", off);
}

void uhci_model_init(struct uhci_model *m, unsigned slot)
{
	bool bar0 = m->bar0;
	memset(m, 0, sizeof *m);
	m->n_ports = 2;
	m->enable_us = 5;
	m->pci.dev = (uint8_t)(1 + slot);
	m->pci.vendor = 0x8086;
	m->pci.device = 0x7020;
	m->pci.class_code = 0x0c;
	m->pci.subclass = 0x03;
	m->pci.irq = 11;
	m->pci.ctx = m;
	m->pci.bar[bar0 ? 0 : 4] = (struct pci_model_bar){.io = true,
	                                                  .base = 0xc000 + 0x40 * slot,
	                                                  .size = 32,
	                                                  .read = reg_read,
	                                                  .write = reg_write};
	pci_model_add(&m->pci);
	store16(m->pci.cfg + LEGSUP, 0x203f);
	store16(m->pci.writable + LEGSUP, 0xffff);
	m->cmd = RS | 0xc0;
	m->sofmod = 0x40;
	m->base = 0x1000; /* in memory that is not the driver's */
	for (unsigned i = 0; i < UHCI_MODEL_PORTS; i++)
		m->port[i].sc = ONE;
}

bool uhci_model_quiet(const struct uhci_model *m)
{
	return (m->sts & HALTED || !(m->cmd & RS)) && !(m->never_halts && !m->resets);
}

void uhci_model_error(struct uhci_model *m, uint16_t sts)
{
	m->sts |= sts;
	if (sts & 0x18) {
		m->sts |= HALTED;
		m->cmd &= (uint16_t)~RS;
	}
}

/* --- transactions (3.2) -------------------------------------------------------------------- */

static uint32_t *words(struct uhci_model *m, uint32_t at, uint32_t n)
{
	if (at & 15) {
		pci_model_fault("structure at 0x%x is not aligned", at);
		return NULL;
	}
	return pci_model_dma(&m->pci, at, 4 * n);
}

static struct usb1_device *find_device(struct uhci_model *m, uint8_t address, bool low)
{
	struct usb1_device *found = NULL;
	for (unsigned i = 0; i < m->n_ports; i++) {
		struct usb1_device *d = m->port[i].device;
		if (!d || !(m->port[i].sc & PED) || d->address != address)
			continue;
		if (found)
			pci_model_fault("two devices answer to address %u", address);
		found = d;
	}
	if (found && found->low != low) {
		pci_model_fault("transaction at the wrong speed");
		return NULL;
	}
	return found;
}

static enum usb1_answer transact(struct uhci_model *m, const uint32_t *td, uint32_t *len)
{
	static uint8_t none[1];
	uint8_t pid = (uint8_t)td[2];
	uint32_t asked = ((td[2] >> 21) + 1) & 0x7ff;
	struct usb1_device *d = find_device(m, td[2] >> 8 & 0x7f, td[1] >> 26 & 1);
	if (pid != USB1_IN && pid != USB1_OUT && pid != USB1_SETUP)
		pci_model_fault("PID 0x%x", pid);
	if (asked > 1280)
		pci_model_fault("MaxLen of %u", asked);
	uint8_t *bytes = asked ? pci_model_dma(&m->pci, td[3], asked) : none;
	*len = asked;
	if (!d || !bytes)
		return USB1_SILENCE;
	return usb1_device_do(d, pid, td[2] >> 15 & 15, td[2] >> 19 & 1, bytes, len, asked);
}

/* Carries out a descriptor and writes its status. True when the queue goes on. */
static bool do_td(struct uhci_model *m, uint32_t *td)
{
	uint32_t len, status = td[1];
	uint32_t asked = ((td[2] >> 21) + 1) & 0x7ff;
	enum usb1_answer a = transact(m, td, &len);
	status &= ~(uint32_t)(NAK | TIMEOUT);
	if (a == USB1_NAK) {
		td[1] = status | NAK;
		return false;
	}
	if (a == USB1_SILENCE) {
		uint32_t errors = status >> 27 & 3;
		status |= TIMEOUT;
		if (errors && --errors == 0)
			status = (status & ~(uint32_t)ACTIVE) | STALLED;
		td[1] = (status & ~(3u << 27)) | errors << 27;
		m->sts |= 2;
		return false;
	}
	if (a == USB1_STALL || a == USB1_BABBLE) {
		td[1] = (status & ~(uint32_t)ACTIVE) | STALLED | (a == USB1_BABBLE ? BABBLE : 0);
		m->sts |= 2;
		return false;
	}
	bool is_short = (uint8_t)td[2] == USB1_IN && len < asked;
	if (m->lie)
		len = asked + 8;
	td[1] = (status & ~(uint32_t)(ACTIVE | 0x7ff)) | ((len - 1) & 0x7ff);
	return !(is_short && status & SHORT);
}

/* --- schedule (3.4) ---------------------------------------------------------------------- */

static void use(struct uhci_model *m, uint32_t at, const uint32_t *td)
{
	if (m->n_used < ARRAY_SIZE(m->used)) {
		m->used[m->n_used].td = at;
		memcpy(m->used[m->n_used++].words, td, 16);
	}
}

static void element_write(struct uhci_model *m, uint32_t at, uint32_t *qh, uint32_t v)
{
	if (m->late && m->n_pending < ARRAY_SIZE(m->pending)) {
		m->pending[m->n_pending].qh = at;
		m->pending[m->n_pending++].element = v;
	} else {
		qh[1] = v;
	}
}

static void do_queue(struct uhci_model *m, uint32_t at, uint32_t *qh)
{
	uint32_t element = qh[1];
	for (unsigned n = 0; n < 20 && !(element & END); n++) { /* 19 packets fit in a frame */
		if (element & QUEUE) {
			pci_model_fault("a queue in a queue");
			return;
		}
		uint32_t *td = words(m, element & ~15u, 4);
		if (!td)
			return;
		if (!(td[1] & ACTIVE) || !do_td(m, td)) {
			use(m, element & ~15u, td);
			return;
		}
		element = td[0];
		if (!(element & END) && (element & 8))
			pci_model_fault("reserved bits in a link");
		element_write(m, at, qh, element);
		if (m->late || !(element & DEPTH))
			break;
	}
}

void uhci_model_frame(struct uhci_model *m)
{
	if (m->gone || !(m->cmd & RS) || m->sts & HALTED)
		return;
	for (unsigned i = 0; i < m->n_pending; i++) {
		uint32_t *qh = words(m, m->pending[i].qh, 4);
		if (qh)
			qh[1] = m->pending[i].element;
	}
	m->n_pending = 0;
	unsigned *visits = &m->visits[m->frame % 16];
	*visits = 0;
	uint32_t *entry = pci_model_dma(&m->pci, m->base + 4 * (m->frame & 1023), 4);
	uint32_t link = entry ? *entry : END;
	while (!(link & END)) {
		if (++*visits > 200) {
			pci_model_fault("the schedule loops");
			break;
		}
		uint32_t *s = words(m, link & ~15u, 4);
		if (!s)
			break;
		if (link & QUEUE)
			do_queue(m, link & ~15u, s);
		else
			pci_model_fault("a descriptor outside a queue");
		link = s[0];
	}
}

void uhci_model_frame_end(struct uhci_model *m)
{
	/* The controller stopped in front of these descriptors, and may have read them. */
	for (unsigned i = 0; i < m->n_used; i++) {
		const uint32_t *td = words(m, m->used[i].td, 4);
		if (td && memcmp(td, m->used[i].words, 16) != 0)
			pci_model_fault("the descriptor at 0x%x was changed while in use",
			                m->used[i].td);
	}
	m->n_used = 0;
	if (m->cmd & RS && !(m->sts & HALTED) && !m->frames_stuck)
		m->frame = (m->frame + 1) & 0x7ff;
}
