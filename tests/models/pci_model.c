/* The PCI bus of pci_model.h. Section numbers: PCI Local Bus Specification 3.0. */
#include "tests/models/pci_model.h"

#include "kernel/seam/io.h"

#include <stdarg.h>
#include <stdio.h>

enum {
	COMMAND = 0x04,
	STATUS = 0x06,
	CACHE_LINE = 0x0c,
	LATENCY = 0x0d,
	TYPE = 0x0e,
	BAR0 = 0x10,
	SECONDARY = 0x19,
	CAP_PTR = 0x34,
	IRQ_LINE = 0x3c,
	COMMAND_IO = 1,
	COMMAND_MEMORY = 2,
	COMMAND_MASTER = 4,
	STATUS_CAPS = 0x10,
	CAP_POWER = 1,
	POWER_CONTROL = 4, /* offset of PMCSR in its capability */
	POWER_STATE = 3,
	POWER_KEEPS = 8, /* No_Soft_Reset */
	PME_ENABLE = 1,  /* in the second byte */
	PME_STATUS = 0x80,
	WAKE_US = 10000, /* 5.4.1: no access for 10 ms after D3hot */
};

static struct pci_model_dev *devs[PCI_MODEL_MAX];
static unsigned n_devs, n_faults, n_reads, n_writes;
static uint32_t address; /* the last value written to 0xCF8 */
static bool lied;        /* see pci_model_lied */

void pci_model_fault(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	printf("# fault: ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
	n_faults++;
}

unsigned pci_model_faults(void)
{
	return n_faults;
}

void pci_model_faults_clear(void)
{
	n_faults = 0;
}

unsigned pci_model_reads(void)
{
	return n_reads;
}

unsigned pci_model_writes(void)
{
	return n_writes;
}

/* --- configuration space -------------------------------------------------------- */

static struct pci_model_dev *selected(void)
{
	if (!(address & 0x80000000u))
		return NULL;
	for (unsigned i = 0; i < n_devs; i++)
		if (devs[i]->bus == (address >> 16 & 0xff) &&
		    devs[i]->dev == (address >> 11 & 31) && devs[i]->fn == (address >> 8 & 7))
			return devs[i];
	return NULL;
}

/* --- power management and bridges -------------------------------------------------- */

static unsigned power_state(const struct pci_model_dev *d)
{
	return d->power ? d->cfg[d->power + POWER_CONTROL] & POWER_STATE : 0;
}

/* Faults an access in the time that a device needs to leave D3hot. */
static void check_awake(const struct pci_model_dev *d)
{
	if (host_now_us < d->awake_us)
		pci_model_fault("device %02x.%x accessed while it leaves D3hot", d->dev, d->fn);
}

/* Follows a write to the power management register: 3.2.4, 5.4.1. */
static void power_write(struct pci_model_dev *d, unsigned before, bool clear_pme)
{
	uint8_t *control = d->cfg + d->power + POWER_CONTROL;
	if (clear_pme)
		control[1] &= (uint8_t)~PME_STATUS;
	if (before != 3 || power_state(d) != 0)
		return;
	d->awake_us = host_now_us + WAKE_US;
	if (control[0] & POWER_KEEPS)
		return;
	d->cfg[COMMAND] = d->cfg[COMMAND + 1] = 0;
	d->cfg[CACHE_LINE] = d->cfg[LATENCY] = d->cfg[IRQ_LINE] = 0;
	for (unsigned i = BAR0; i < BAR0 + 24; i++)
		d->cfg[i] &= (uint8_t)~d->writable[i];
}

/* True when all bridges in front of a bus have this bit in their command register. */
static bool bridges_pass(uint8_t bus, uint8_t command)
{
	while (bus) {
		const struct pci_model_dev *bridge = NULL;
		for (unsigned i = 0; i < n_devs; i++)
			if ((devs[i]->cfg[TYPE] & 0x7f) == 1 && devs[i]->cfg[SECONDARY] == bus)
				bridge = devs[i];
		if (!bridge || !(bridge->cfg[COMMAND] & command))
			return false;
		bus = bridge->bus;
	}
	return true;
}

static uint32_t cfg_read(unsigned at, unsigned size)
{
	const struct pci_model_dev *d = selected();
	uint32_t v = 0xffffffffu; /* no device responds: master abort, 3.2.2.3.4 */
	unsigned off = (address & 0xfc) + at;
	if (d) {
		check_awake(d);
		v = 0;
		for (unsigned i = 0; i < size; i++)
			v |= (uint32_t)d->cfg[off + i] << 8 * i;
	}
	return size == 4 ? v : v & ((1u << 8 * size) - 1);
}

static void cfg_write(unsigned at, unsigned size, uint32_t v)
{
	struct pci_model_dev *d = selected();
	unsigned off = (address & 0xfc) + at;
	if (!d)
		return;
	check_awake(d);
	unsigned power = d->power ? d->power + (unsigned)POWER_CONTROL : 256,
	         before = power_state(d);
	for (unsigned i = 0; i < size; i++) {
		uint8_t mask = d->writable[off + i];
		uint8_t byte = (uint8_t)(v >> 8 * i);
		d->cfg[off + i] = (uint8_t)((d->cfg[off + i] & ~mask) | (byte & mask));
	}
	if (off == power)
		power_write(d, before, size >= 2 && (v >> 8 & PME_STATUS));
}

/* --- base addresses (6.2.5) ------------------------------------------------------ */

static uint64_t bar_base(const struct pci_model_dev *d, unsigned n)
{
	uint32_t low = load32(d->cfg + BAR0 + 4 * n);
	if (d->bar[n].io)
		return low & ~3u;
	uint64_t high = d->bar[n].is64 ? load32(d->cfg + BAR0 + 4 * n + 4) : 0;
	return high << 32 | (low & ~15u);
}

static struct pci_model_dev *decode(bool io, uint64_t at, unsigned size, unsigned *bar)
{
	uint8_t need = io ? COMMAND_IO : COMMAND_MEMORY;
	for (unsigned i = 0; i < n_devs; i++)
		for (unsigned n = 0; n < 6; n++) {
			const struct pci_model_bar *b = &devs[i]->bar[n];
			uint64_t base = b->size ? bar_base(devs[i], n) : 0;
			if (!b->size || b->io != io || !(devs[i]->cfg[COMMAND] & need) ||
			    at < base || at - base > b->size - size || power_state(devs[i]) != 0 ||
			    !bridges_pass(devs[i]->bus, need))
				continue;
			check_awake(devs[i]);
			*bar = n;
			return devs[i];
		}
	return NULL;
}

static uint32_t bar_read(bool io, uint64_t at, unsigned size)
{
	unsigned n;
	struct pci_model_dev *d = decode(io, at, size, &n);
	n_reads++;
	if (d && d->bar[n].read)
		return d->bar[n].read(d->ctx, (uint32_t)(at - bar_base(d, n)), size);
	pci_model_fault("read of %u at %s 0x%llx: no device responds", size, io ? "port" : "memory",
	                (unsigned long long)at);
	return 0xffffffffu;
}

static void bar_write(bool io, uint64_t at, unsigned size, uint32_t v)
{
	unsigned n;
	struct pci_model_dev *d = decode(io, at, size, &n);
	n_writes++;
	if (d && d->bar[n].write) {
		d->bar[n].write(d->ctx, (uint32_t)(at - bar_base(d, n)), size, v);
		return;
	}
	pci_model_fault("write of %u at %s 0x%llx: no device responds", size,
	                io ? "port" : "memory", (unsigned long long)at);
}

/* --- the host's bus -------------------------------------------------------------- */

static uint32_t port_in(void *ctx, uint16_t port, unsigned size)
{
	(void)ctx;
	if (port == 0xcf8 && size == 4)
		return address;
	if (port >= 0xcfc && port + size <= 0xd00u)
		return cfg_read(port - 0xcfcu, size);
	return bar_read(true, port, size);
}

static void port_out(void *ctx, uint16_t port, unsigned size, uint32_t v)
{
	(void)ctx;
	if (port == 0xcf8 && size == 4)
		address = v;
	else if (port >= 0xcfc && port + size <= 0xd00u)
		cfg_write(port - 0xcfcu, size, v);
	else
		bar_write(true, port, size, v);
}

static uint32_t mem_read(void *ctx, uint64_t at, unsigned size)
{
	(void)ctx;
	return bar_read(false, at, size);
}

static void mem_write(void *ctx, uint64_t at, unsigned size, uint32_t v)
{
	(void)ctx;
	bar_write(false, at, size, v);
}

static void delay(void *ctx, uint32_t us)
{
	(void)ctx;
	for (unsigned i = 0; i < n_devs; i++)
		if (devs[i]->delay)
			devs[i]->delay(devs[i]->ctx, us);
}

static struct {
	void *p;
	size_t n;
} span[PCI_MODEL_SPANS];
static unsigned n_span;

void pci_model_reset(void)
{
	memset(span, 0, sizeof span);
	n_span = 0;
	lied = false;
	static const struct host_bus bus = {
	        .port_in = port_in,
	        .port_out = port_out,
	        .mem_read = mem_read,
	        .mem_write = mem_write,
	        .delay = delay,
	};
	n_devs = n_faults = n_reads = n_writes = 0;
	address = 0;
	host_bus_set(&bus);
}

static void add_bar(struct pci_model_dev *d, unsigned n)
{
	const struct pci_model_bar *b = &d->bar[n];
	uint32_t kind = b->io ? 1 : b->is64 ? 4 : 0;
	uint32_t mask = ~(uint32_t)(b->size - 1);
	store32(d->cfg + BAR0 + 4 * n, (uint32_t)b->base | kind);
	store32(d->writable + BAR0 + 4 * n, mask);
	if (b->is64) {
		store32(d->cfg + BAR0 + 4 * n + 4, (uint32_t)(b->base >> 32));
		store32(d->writable + BAR0 + 4 * n + 4, 0xffffffffu);
	}
}

void pci_model_add(struct pci_model_dev *d)
{
	if (n_devs == PCI_MODEL_MAX) {
		pci_model_fault("too many devices");
		return;
	}
	memset(d->cfg, 0, sizeof d->cfg);
	memset(d->writable, 0, sizeof d->writable);
	store16(d->cfg + 0x00, d->vendor);
	store16(d->cfg + 0x02, d->device);
	d->cfg[0x08] = d->revision;
	d->cfg[0x09] = d->prog_if;
	d->cfg[0x0a] = d->subclass;
	d->cfg[0x0b] = d->class_code;
	store16(d->cfg + 0x2c, d->subvendor);
	store16(d->cfg + 0x2e, d->subdevice);
	d->cfg[IRQ_LINE] = d->irq;
	d->cfg[0x3d] = 1; /* INTA# */
	d->writable[IRQ_LINE] = 0xff;
	store16(d->writable + COMMAND, 0x0547); /* 6.2.2 */
	d->writable[CACHE_LINE] = d->writable[LATENCY] = 0xff;
	for (unsigned n = 0; n < 6; n++)
		if (d->bar[n].size)
			add_bar(d, n);
	d->cap_end = 0x40;
	d->power = 0;
	d->awake_us = 0;
	devs[n_devs++] = d;
}

uint8_t pci_model_add_cap(struct pci_model_dev *d, const void *cap, uint8_t n)
{
	uint8_t at = d->cap_end;
	memcpy(d->cfg + at, cap, n);
	d->cfg[at + 1] = d->cfg[CAP_PTR]; /* 6.7: newest first */
	d->cfg[CAP_PTR] = at;
	d->cfg[STATUS] |= STATUS_CAPS;
	if (d->cfg[at] == CAP_POWER) {
		d->power = at;
		d->writable[at + POWER_CONTROL] = POWER_STATE;
		d->writable[at + POWER_CONTROL + 1] = PME_ENABLE;
	}
	d->cap_end = (uint8_t)(at + ((n + 3) & ~3));
	return at;
}

bool pci_model_can_master(const struct pci_model_dev *d)
{
	return (d->cfg[COMMAND] & COMMAND_MASTER) && power_state(d) == 0 &&
	       bridges_pass(d->bus, COMMAND_MASTER);
}

bool pci_model_may_wake(const struct pci_model_dev *d)
{
	const uint8_t *control = d->cfg + d->power + POWER_CONTROL;
	return d->power && control[1] & (PME_ENABLE | PME_STATUS);
}

void *pci_model_span(unsigned k, size_t *n)
{
	*n = span[k % PCI_MODEL_SPANS].n;
	return span[k % PCI_MODEL_SPANS].p;
}

void pci_model_lied(void)
{
	lied = true;
}

/* True when the driver took some of these bytes back. */
static bool taken_back(const uint8_t *p, size_t n)
{
	size_t bad = 0;
	return host_poisoned(p, p + n, &bad) != NULL;
}

void *pci_model_dma(struct pci_model_dev *d, uint64_t bus, size_t n)
{
	void *p = pci_model_can_master(d) ? host_dma(bus, n) : NULL;
	if (p && lied && taken_back(p, n))
		p = NULL;
	if (!p)
		pci_model_fault("DMA of %zu bytes at 0x%llx%s", n, (unsigned long long)bus,
		                pci_model_can_master(d) ? "" : ": bus mastering is off");
	span[n_span % PCI_MODEL_SPANS].p = p;
	span[n_span++ % PCI_MODEL_SPANS].n = p ? n : 0;
	return p;
}
