/* OHCI host controllers: take-over from the firmware, start, polling. Specification: OHCI 1.0a;
 * section numbers are of that document.
 *
 * Polled: the controller's interrupts stay off. Left out on purpose: power management (suspend,
 * resume), isochronous transfers. */
#include "drivers/usb/ohci/ohci.h"

#include "drivers/usb/usb_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define MAP_BYTES    4096u    /* with the registers of the keyboard emulation */
#define HAND_OVER_US 20000u   /* in which firmware usually gives the controller up */
#define FORCE_US     5000000u /* after which it is taken by force */
#define BUS_RESET_US 50000u   /* reset signal on the whole bus (USB 2.0, 7.1.7.5) */
#define HCR_TRIES    10u      /* of 10 us; 5.1.1.4 says 10 us */
#define STUCK_US     200000u  /* the frame number did not change for so long */

/* What the first pass found, for the second. */
static struct found {
	uint8_t bus, dev, fn;
	volatile uint8_t *regs;
	bool legacy; /* has registers of the keyboard emulation */
	uint32_t interval;
	uint64_t asked_us; /* when the firmware was asked for it */
	bool waits;        /* the firmware still has it */
} found[USB_CONTROLLERS];
static uint32_t n_found;

static struct found *find(const struct pci_dev *dev)
{
	for (uint32_t i = 0; i < n_found; i++)
		if (found[i].bus == dev->bus && found[i].dev == dev->dev && found[i].fn == dev->fn)
			return &found[i];
	return NULL;
}

/* --- take-over (5.1.1.3) ------------------------------------------------------------------- */

/* Ends interrupts, lists and keyboard emulation: the bus is in reset. */
static void quiet(volatile uint8_t *regs, bool legacy)
{
	uint32_t keep = mmio_read32(regs + OHCI_CONTROL) & OHCI_CONTROL_RWC;
	mmio_write32(regs + OHCI_DISABLE, 0xffffffffu);
	mmio_write32(regs + OHCI_CONTROL, keep | OHCI_CONTROL_RESET);
	if (legacy)
		mmio_write32(regs + OHCI_HCE_CONTROL, 0);
}

static bool firmware_has_it(const volatile uint8_t *regs)
{
	return mmio_read32(regs + OHCI_CONTROL) & OHCI_CONTROL_IR;
}

static const char *ask(const struct pci_dev *dev, uint32_t *asked)
{
	struct found *f = find(dev);
	struct pci_bar bar = pci_bar(dev, 0);
	if (bar.io || bar.base == 0 || bar.size < OHCI_BYTES)
		return "it has no registers";
	if (!f && n_found == USB_CONTROLLERS)
		return "there are too many";
	if (!f)
		f = &found[n_found++];
	*f = (struct found){.bus = dev->bus, .dev = dev->dev, .fn = dev->fn};
	f->regs = mem_map(bar.base, (size_t)(bar.size < MAP_BYTES ? bar.size : MAP_BYTES));
	if (!f->regs)
		return "its registers are out of reach";
	if (mmio_read32(f->regs + OHCI_CONTROL) == 0xffffffffu)
		return "it does not answer";
	f->legacy = bar.size >= MAP_BYTES &&
	            mmio_read32(f->regs + OHCI_REVISION) & OHCI_REVISION_LEGACY;
	/* The firmware may have tuned it; a reset sets the default (7.3.1). */
	f->interval = mmio_read32(f->regs + OHCI_FM_INTERVAL) & OHCI_FM_FI;
	if (f->interval < OHCI_FM_FI_DEFAULT - 64 || f->interval > OHCI_FM_FI_DEFAULT + 64)
		f->interval = OHCI_FM_FI_DEFAULT;
	if (!firmware_has_it(f->regs))
		return NULL;
	mmio_write32(f->regs + OHCI_ENABLE, OHCI_ENABLE_OC);
	mmio_write32(f->regs + OHCI_COMMAND, OHCI_COMMAND_OCR);
	f->asked_us = io_now_us();
	*asked = 1;
	return NULL;
}

/* The firmware usually answers in its next interrupt. */
static bool given(const struct pci_dev *dev, uint32_t asked)
{
	const struct found *f = find(dev);
	(void)asked;
	return !firmware_has_it(f->regs) || io_now_us() - f->asked_us >= HAND_OVER_US;
}

static const char *take(const struct pci_dev *dev, uint32_t asked)
{
	struct found *f = find(dev);
	f->waits = asked && firmware_has_it(f->regs);
	if (!f->waits)
		quiet(f->regs, f->legacy);
	return NULL;
}

/* --- start (5.1.1.4, 5.1.1.5) -------------------------------------------------------------- */

/* Frame interval, the largest packet that begins in a frame, and where periodic traffic begins.
 * The toggle tells the controller that the interval is new. */
static void write_frame(struct ohci *o)
{
	uint32_t largest = (o->interval - 210) * 6 / 7;
	uint32_t toggle = ~ohci_read(o, OHCI_FM_INTERVAL) & 1u << 31;
	ohci_write(o, OHCI_FM_INTERVAL, toggle | largest << 16 | o->interval);
	ohci_write(o, OHCI_PERIODIC_START, o->interval * 9 / 10);
}

static bool frame_is_right(const struct ohci *o)
{
	uint32_t v = ohci_read(o, OHCI_FM_INTERVAL);
	return (v & OHCI_FM_FI) == o->interval && v >> 16 & 0x7fff &&
	       ohci_read(o, OHCI_PERIODIC_START);
}

/* Resets the controller and makes it run. Within 2 ms after its reset it must be told to run, else
 * it would have to resume the bus first. */
static const char *run(struct ohci *o)
{
	uint32_t keep = ohci_read(o, OHCI_CONTROL) & OHCI_CONTROL_RWC, n = 0;
	ohci_write(o, OHCI_COMMAND, OHCI_COMMAND_HCR);
	do {
		if (n++ == HCR_TRIES)
			return "its reset does not end";
		io_delay_us(10);
	} while (ohci_read(o, OHCI_COMMAND) & OHCI_COMMAND_HCR);
	ohci_queue_show(o);
	write_frame(o);
	ohci_write(o, OHCI_DISABLE, 0xffffffffu);
	ohci_write(o, OHCI_STATUS, 0xffffffffu);
	ohci_write(o, OHCI_CONTROL,
	           keep | OHCI_CONTROL_CBSR | OHCI_CONTROL_LISTS | OHCI_CONTROL_OPERATIONAL);
	return NULL;
}

static void phase(struct ohci *o, enum ohci_phase next, uint32_t us)
{
	o->phase = (uint8_t)next;
	o->until_us = io_now_us() + us;
}

/* Advances the start. Gives what is wrong. */
static const char *advance(struct ohci *o, uint64_t now_us)
{
	if (o->phase == OHCI_WAITING) {
		bool has = firmware_has_it(o->regs);
		if (has && now_us < o->until_us)
			return NULL;
		if (has)
			log_line("pci %02x:%02x.%x: ohci: taken from the firmware by force",
			         o->pipes.c.pci.bus, o->pipes.c.pci.dev, o->pipes.c.pci.fn);
		quiet(o->regs, o->legacy);
		phase(o, OHCI_RESETTING, BUS_RESET_US);
	}
	if (now_us < o->until_us)
		return NULL;
	if (o->phase == OHCI_RESETTING) {
		const char *wrong = run(o);
		if (wrong)
			return wrong;
		o->frame = o->hcca->frame;
		o->frame_us = now_us;
		phase(o, OHCI_POWERING, ohci_port_power(o));
		return NULL;
	}
	/* Some chips ignored this while the bus was suspended. */
	if (!frame_is_right(o))
		write_frame(o);
	if (!frame_is_right(o))
		return "it does not keep its frame interval";
	phase(o, OHCI_RUNNING, 0);
	return NULL;
}

/* --- polling ------------------------------------------------------------------------------- */

static const char *work(struct ohci *o, uint64_t now_us)
{
	uint32_t status = ohci_read(o, OHCI_STATUS);
	if (status == 0xffffffffu)
		return "it no longer answers";
	if (o->phase != OHCI_RUNNING)
		return advance(o, now_us);
	if (status & OHCI_STATUS_UE)
		return "unrecoverable error";
	if (o->hcca->frame != o->frame) {
		o->frame = o->hcca->frame;
		o->frame_us = now_us;
	} else if (now_us - o->frame_us > STUCK_US) {
		return "its frames stand still";
	}
	if (status & OHCI_STATUS_WDH && !ohci_queue_done(o))
		return "its list of what is done is damaged";
	return NULL;
}

static void poll(struct usb_controller *c, uint64_t now_us)
{
	struct ohci *o = ohci_of(c);
	const char *wrong = work(o, now_us);
	if (wrong) {
		usb_controller_failed(c, wrong);
		return;
	}
	if (o->phase != OHCI_RUNNING)
		return;
	ohci_port_poll(o, now_us);
	pipe_poll(&o->pipes);
}

static bool stop(struct usb_controller *c)
{
	quiet(ohci_of(c)->regs, ohci_of(c)->legacy);
	return true;
}

static const struct usb_hcd_ops ops = {
        .poll = poll,
        .port = ohci_port,
        .port_reset = ohci_port_reset,
        .port_disable = ohci_port_disable,
        .device_open = pipe_device_open,
        .device_changed = pipe_device_changed,
        .device_close = pipe_device_close,
        .endpoint_open = pipe_endpoint_open,
        .endpoint_reset = pipe_endpoint_reset,
        .submit = pipe_submit,
        .cancel = pipe_cancel,
        .stop = stop,
};

static const char *probe(const struct pci_dev *dev, struct usb_controller **out)
{
	const struct found *f = find(dev);
	if (!f)
		return "it was not taken";
	struct ohci *o = alloc(sizeof *o, 64);
	if (!o || !ohci_queue_init(o))
		return "not enough memory";
	o->regs = f->regs;
	o->legacy = f->legacy;
	o->interval = f->interval;
	o->pipes.c.ops = &ops;
	o->pipes.c.driver = "ohci";
	o->pipes.c.pci = *dev;
	o->pipes.c.n_ports = min_u32(ohci_read(o, OHCI_RH_A) & 0xff, OHCI_PORTS_MAX);
	if (o->pipes.c.n_ports == 0)
		return "it has no ports";
	phase(o, f->waits ? OHCI_WAITING : OHCI_RESETTING, BUS_RESET_US);
	if (f->waits)
		o->until_us = f->asked_us + FORCE_US;
	*out = &o->pipes.c;
	return NULL;
}

const struct usb_driver ohci_driver = {
        .name = "ohci",
        .prog_if = 0x10,
        .ask = ask,
        .given = given,
        .take = take,
        .probe = probe,
};
