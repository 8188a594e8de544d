/* xHCI controllers: hand-off from the firmware, reset, start, stop, and which port speaks which
 * protocol. Used at the start and at the end. Sections: see xhci_reg.h.
 *
 * Left out on purpose: firmware for the uPD720201 and its kin without a flash chip, interrupts,
 * power management of ports and links, streams. */
#include "drivers/usb/xhci/xhci.h"

#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"

#define WINDOW_MOST 0x40000u /* bytes of registers; controllers have 4 to 64 KB */
#define CAPS_MOST   64u
#define READY_US    1000000u
#define HALT_US     20000u
#define SILENCE_US  1000u /* some controllers hang when they are read in a reset */
#define PADS_BYTES  (8u << 20)
#define INTEL       0x8086

/* --- registers ----------------------------------------------------------------------------- */

void xhci_hw_write64(volatile uint8_t *reg, uint32_t low)
{
	mmio_write32(reg, low);
	mmio_write32(reg + 4, 0);
}

/* Waits until the bits of a register have a value. False when they do not get it in time. */
static bool wait(volatile uint8_t *reg, uint32_t bits, uint32_t value, uint32_t most_us)
{
	uint64_t end = io_now_us() + most_us;
	for (;;) {
		uint32_t v = mmio_read32(reg);
		if (v == XHCI_GONE)
			return false;
		if ((v & bits) == value)
			return true;
		if (io_now_us() >= end)
			return false;
		io_delay_us(20);
	}
}

/* The windows that `take` mapped; a mapping is never undone. */
static struct window {
	uint32_t at; /* bus, device, function, and bit 31 */
	uint32_t size;
	volatile uint8_t *regs;
} windows[USB_CONTROLLERS];

static uint32_t position(const struct pci_dev *dev)
{
	return 1u << 31 | (uint32_t)dev->bus << 8 | (uint32_t)dev->dev << 3 | dev->fn;
}

static struct window *window(const struct pci_dev *dev, bool make)
{
	for (uint32_t i = 0; i < USB_CONTROLLERS; i++)
		if (windows[i].at == position(dev) || (make && windows[i].at == 0))
			return &windows[i];
	return NULL;
}

static const char *map(const struct pci_dev *dev)
{
	struct pci_bar bar = pci_bar(dev, 0);
	struct window *w = window(dev, true);
	if (bar.base == 0 || bar.io || bar.size < 0x1000)
		return "no memory window";
	if (!w)
		return "too many controllers";
	w->size = (uint32_t)(bar.size < WINDOW_MOST ? bar.size : WINDOW_MOST);
	w->regs = mem_map(bar.base, w->size);
	w->at = w->regs ? position(dev) : 0;
	return w->regs ? NULL : "its memory cannot be reached";
}

const char *xhci_hw_caps(const struct pci_dev *dev, struct xhci_caps *caps)
{
	const struct window *w = window(dev, false);
	if (!w)
		return "no memory window";
	volatile uint8_t *regs = w->regs;
	uint32_t cap = mmio_read32(regs + XHCI_CAPLENGTH);
	uint32_t hcs1 = mmio_read32(regs + XHCI_HCSPARAMS1);
	uint32_t hcc1 = mmio_read32(regs + XHCI_HCCPARAMS1);
	if (cap == XHCI_GONE || hcs1 == XHCI_GONE || hcc1 == XHCI_GONE)
		return "does not answer";
	*caps = (struct xhci_caps){
	        .regs = regs,
	        .window = w->size,
	        .op = cap & 0xff,
	        .run = mmio_read32(regs + XHCI_RTSOFF) & ~31u,
	        .doorbell = mmio_read32(regs + XHCI_DBOFF) & ~3u,
	        .extended = HCC1_XECP(hcc1) * 4,
	        .slots = min_u32(HCS1_SLOTS(hcs1), XHCI_SLOTS),
	        .ports = min_u32(HCS1_PORTS(hcs1), USB_PORTS),
	        .pads = HCS2_PADS(mmio_read32(regs + XHCI_HCSPARAMS2)),
	        .wide = hcc1 & HCC1_CSZ,
	        .switched = hcc1 & HCC1_PPC,
	};
	if (caps->op < 0x20 || caps->op & 3 || caps->slots == 0 || caps->ports == 0 ||
	    caps->run > w->size - 0x40 || caps->doorbell > w->size - 4 * (XHCI_SLOTS + 1) ||
	    caps->op + XHCI_PORTSC + 16 * caps->ports > w->size)
		return "its registers make no sense";
	return NULL;
}

/* Gives the offset of the next extended capability `id` behind `at` (0: from the first), or 0.
 * *left bounds a chain that goes in circles. */
static uint32_t extended(const struct xhci_caps *caps, uint32_t id, uint32_t at, uint32_t *left)
{
	uint32_t next = caps->extended;
	for (; *left > 0; --*left) {
		if (at != 0)
			next = 4 * XECP_NEXT(mmio_read32(caps->regs + at));
		if (next == 0 || at + next > caps->window - 16)
			return 0;
		at += next;
		uint32_t v = mmio_read32(caps->regs + at);
		if (v == XHCI_GONE)
			return 0;
		if (XECP_ID(v) == id) {
			--*left;
			return at;
		}
	}
	return 0;
}

/* --- the firmware, halt and reset ---------------------------------------------------------------
 */

const char *xhci_hw_ask(const struct pci_dev *dev, uint32_t *asked)
{
	struct xhci_caps caps;
	uint32_t left = CAPS_MOST;
	const char *wrong = map(dev);
	if (!wrong)
		wrong = xhci_hw_caps(dev, &caps);
	if (wrong)
		return wrong;
	*asked = extended(&caps, XECP_LEGACY, 0, &left);
	if (*asked)
		mmio_write32(caps.regs + *asked, mmio_read32(caps.regs + *asked) | LEGACY_OS);
	return NULL;
}

bool xhci_hw_given(const struct pci_dev *dev, uint32_t asked)
{
	uint32_t v = mmio_read32(window(dev, false)->regs + asked);
	return v == XHCI_GONE || !(v & LEGACY_FIRMWARE);
}

/* The SMIs of the firmware are switched off even if it does not let go. */
static void hand_off(const struct pci_dev *dev, volatile uint8_t *reg)
{
	uint32_t v = mmio_read32(reg);
	if (v & LEGACY_FIRMWARE) {
		log_line("pci %02x:%02x.%x: xhci: taken from the firmware by force", dev->bus,
		         dev->dev, dev->fn);
		mmio_write32(reg, (v & ~LEGACY_FIRMWARE) | LEGACY_OS);
	}
	v = mmio_read32(reg + LEGACY_CONTROL);
	mmio_write32(reg + LEGACY_CONTROL, (v & ~LEGACY_SMI) | LEGACY_EVENTS);
}

static void halt(volatile uint8_t *op)
{
	mmio_write32(op + XHCI_USBCMD, mmio_read32(op + XHCI_USBCMD) & ~CMD_RUN);
}

const char *xhci_hw_take(const struct pci_dev *dev, uint32_t asked)
{
	struct xhci_caps caps;
	const char *wrong = xhci_hw_caps(dev, &caps);
	if (wrong)
		return wrong;
	volatile uint8_t *op = caps.regs + caps.op;
	if (asked)
		hand_off(dev, caps.regs + asked);
	if (!wait(op + XHCI_USBSTS, STS_NOT_READY, 0, READY_US))
		return "is never ready";
	halt(op);
	/* A controller that does not halt may still reset itself. */
	(void)wait(op + XHCI_USBSTS, STS_HALTED, STS_HALTED, HALT_US);
	mmio_write32(op + XHCI_USBCMD, CMD_RESET);
	io_delay_us(SILENCE_US);
	if (!wait(op + XHCI_USBCMD, CMD_RESET, 0, READY_US))
		return "does not come out of reset";
	if (!wait(op + XHCI_USBSTS, STS_NOT_READY, 0, READY_US))
		return "is never ready";
	return NULL;
}

/* Sony's VAIO T cannot: its subsystem is left out. */
void xhci_hw_route(const struct pci_dev *dev)
{
	struct pci_dev other;
	uint32_t cursor = 0;
	bool shared = false;
	if (dev->vendor != INTEL || (dev->subvendor == 0x104d && dev->subdevice == 0x90a8))
		return;
	while (pci_next(&cursor, &other))
		if (other.vendor == INTEL && other.class_code == 0x0c && other.subclass == 3 &&
		    other.prog_if == 0x20)
			shared = true;
	if (!shared)
		return;
	pci_write32(dev, 0xd8, pci_read32(dev, 0xdc)); /* SuperSpeed: USB3_PSSEN = USB3PRM */
	pci_write32(dev, 0xd0, pci_read32(dev, 0xd4)); /* USB 2: XUSB2PR = XUSB2PRM */
}

/* --- protocols (7.2)
 * ------------------------------------------------------------------------------ */

static enum usb_speed speed_of(uint64_t bits, bool super)
{
	if (super)
		return USB_SUPER;
	return bits <= 1500000 ? USB_LOW : bits <= 12000000 ? USB_FULL : USB_HIGH;
}

static void speeds(struct xhci_protocol *p, const volatile uint8_t *psi, uint32_t n)
{
	static const uint8_t usual[] = {USB_FULL, USB_FULL, USB_LOW, USB_HIGH};
	for (uint32_t i = 0; i < 16; i++)
		p->speed[i] = p->super || i >= ARRAY_SIZE(usual) ? USB_SUPER : usual[i];
	for (uint32_t i = 0; i < n; i++) {
		static const uint32_t unit[] = {1, 1000, 1000000, 1000000000};
		uint32_t v = mmio_read32(psi + 4 * i);
		uint64_t bits = (uint64_t)(v >> 16) * unit[v >> 4 & 3];
		if (bits)
			p->speed[v & 15] = (uint8_t)speed_of(bits, p->super);
	}
}

void xhci_hw_protocols(struct xhci *x, const struct xhci_caps *caps)
{
	uint32_t left = CAPS_MOST, at = 0;
	/* Ports that no capability names count as USB 2. */
	x->n_protocols = 1;
	speeds(&x->protocol[0], NULL, 0);
	while ((at = extended(caps, XECP_PROTOCOL, at, &left)) != 0 &&
	       x->n_protocols < XHCI_PROTOCOLS) {
		const volatile uint8_t *reg = caps->regs + at;
		uint32_t ports = mmio_read32(reg + 8), n_psi = ports >> 28;
		struct xhci_protocol *p = &x->protocol[x->n_protocols];
		if (mmio_read32(reg + 4) != PROTOCOL_USB || at + 16 + 4 * n_psi > caps->window)
			continue;
		*p = (struct xhci_protocol){.first = (uint8_t)ports,
		                            .n = (uint8_t)(ports >> 8),
		                            .slot_type = mmio_read32(reg + 12) & 31,
		                            .super = mmio_read32(reg) >> 24 == 3};
		speeds(p, reg + 16, n_psi);
		for (uint32_t i = p->first; i < (uint32_t)p->first + p->n; i++)
			if (i > 0 && i <= caps->ports)
				x->port[i - 1].protocol = (uint8_t)x->n_protocols;
		x->n_protocols++;
	}
}

/* --- start and stop
 * --------------------------------------------------------------------------------- */

/* 4.20: pages that the controller uses for itself. False: no memory. */
static bool scratchpads(struct xhci *x, const struct xhci_caps *caps)
{
	uint32_t sizes = mmio_read32(x->op + XHCI_PAGESIZE) & 0xffff, page = 4096;
	if (caps->pads == 0)
		return true;
	while (sizes != 0 && !(sizes & 1)) {
		sizes >>= 1;
		page <<= 1;
	}
	if (sizes == 0 || page > PADS_BYTES / caps->pads)
		return false;
	uint32_t *list = alloc(8 * caps->pads, 4096);
	uint8_t *pads = alloc(page * caps->pads, page);
	if (!list || !pads)
		return false;
	for (uint32_t i = 0; i < caps->pads; i++)
		list[2 * i] = (uint32_t)dma_addr(pads + i * page);
	x->dma->contexts[0] = (uint32_t)dma_addr(list);
	return true;
}

const char *xhci_hw_start(struct xhci *x, const struct xhci_caps *caps)
{
	struct xhci_dma *dma = x->dma;
	if (!scratchpads(x, caps))
		return "no memory";
	dma->segment[0] = (uint32_t)dma_addr(dma->event);
	dma->segment[2] = XHCI_EVENTS;
	x->ring.trb = dma->command;
	xhci_ring_reset(&x->ring);
	x->event_cycle = 1;
	io_wmb();
	mmio_write32(x->op + XHCI_CONFIG, x->n_slots);
	mmio_write32(x->op + XHCI_DNCTRL, 0);
	xhci_hw_write64(x->op + XHCI_DCBAAP, (uint32_t)dma_addr(dma->contexts));
	xhci_hw_write64(x->op + XHCI_CRCR, xhci_ring_next(&x->ring));
	mmio_write32(x->run + XHCI_IMAN, IMAN_IP);
	mmio_write32(x->run + XHCI_ERSTSZ, 1);
	xhci_hw_write64(x->run + XHCI_ERDP, (uint32_t)dma_addr(dma->event) | ERDP_EHB);
	xhci_hw_write64(x->run + XHCI_ERSTBA, (uint32_t)dma_addr(dma->segment));
	mmio_write32(x->op + XHCI_USBCMD, CMD_RUN);
	if (!wait(x->op + XHCI_USBSTS, STS_HALTED, 0, HALT_US))
		return "does not start";
	return xhci_hw_wrong(x);
}

bool xhci_hw_stop(const struct xhci *x)
{
	halt(x->op);
	return mmio_read32(x->op + XHCI_USBSTS) & STS_HALTED; /* so has one that is gone */
}

const char *xhci_hw_wrong(const struct xhci *x)
{
	uint32_t v = mmio_read32(x->op + XHCI_USBSTS);
	if (v == XHCI_GONE)
		return "is gone";
	if (v & STS_HSE)
		return "reports an error of the bus (HSE)";
	if (v & STS_HCE)
		return "reports an error of its own (HCE)";
	if (v & STS_HALTED)
		return "has halted";
	return NULL;
}
