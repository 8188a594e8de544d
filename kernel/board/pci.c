/* See pci.h. Section numbers are those of the PCI Local Bus Specification 3.0.
 *
 * Left out on purpose: assigning addresses and bus numbers (the firmware has done that),
 * buses behind a second host bridge, PCI Express extended space, message signalled
 * interrupts. */
#include "kernel/board/pci.h"

#include "kernel/seam/io.h"

enum { ADDRESS = 0xcf8, DATA = 0xcfc };
/* Offsets in the header (6.1; type 1: PCI-to-PCI Bridge Specification 1.2, 3.2). */
enum { VENDOR = 0, COMMAND = 4, STATUS = 6, CLASS = 8, CACHE_LINE = 0x0c, TYPE = 0x0e };
enum { BAR = 0x10, BARS = 6, SECONDARY = 0x19, SUBSYSTEM = 0x2c, CAPABILITIES = 0x34, LINE = 0x3c };
enum { COMMAND_IO = 1, COMMAND_MEMORY = 2, COMMAND_MASTER = 4, COMMAND_NO_INTX = 0x400 };
enum { STATUS_CAPABILITIES = 0x10, TYPE_BRIDGE = 1, TYPE_MULTI = 0x80 };
enum { BAR_IO = 1, BAR_64 = 4, BAR_TYPE = 6 };
enum { CAP_POWER = 1, POWER_CONTROL = 4, POWER_STATE = 3, PME_ENABLE = 0x100 };
#define PME_STATUS  0x8000   /* cleared by writing one */
#define CAPS_MOST   48       /* 192 bytes of 4 (6.7) */
#define D0_DELAY_US 10000    /* time to leave D3hot (Power Management Specification 1.2, 5.4.1) */
#define CURSOR_END  0x10000u /* bus, device, function: 8, 5 and 3 bits */
/* Latency timers below the first value are raised to the second one, as other systems do:
 * with 0 a card loses the bus after each transfer as soon as another device wants it. */
#define LATENCY_LEAST 16
#define LATENCY       64

/* For each bus found so far, 1 + the position (bus, device, function) of the bridge in
 * front of it; 0 for the others. Bridges have lower bus numbers than the buses behind
 * them. Bus 0 is not in the table. */
static uint16_t bridge_of[256];

static void address(const struct pci_dev *d, uint8_t off)
{
	io_out32(ADDRESS, 0x80000000u | (uint32_t)d->bus << 16 | (uint32_t)d->dev << 11 |
	                          (uint32_t)d->fn << 8 | (off & 0xfcu));
}

uint8_t pci_read8(const struct pci_dev *d, uint8_t off)
{
	address(d, off);
	return io_in8((uint16_t)(DATA + (off & 3)));
}

uint16_t pci_read16(const struct pci_dev *d, uint8_t off)
{
	address(d, off);
	return io_in16((uint16_t)(DATA + (off & 2)));
}

uint32_t pci_read32(const struct pci_dev *d, uint8_t off)
{
	address(d, off);
	return io_in32(DATA);
}

void pci_write8(const struct pci_dev *d, uint8_t off, uint8_t v)
{
	address(d, off);
	io_out8((uint16_t)(DATA + (off & 3)), v);
}

void pci_write16(const struct pci_dev *d, uint8_t off, uint16_t v)
{
	address(d, off);
	io_out16((uint16_t)(DATA + (off & 2)), v);
}

void pci_write32(const struct pci_dev *d, uint8_t off, uint32_t v)
{
	address(d, off);
	io_out32(DATA, v);
}

static void write_command(const struct pci_dev *d, uint16_t clear, uint16_t set)
{
	pci_write16(d, COMMAND, (uint16_t)((pci_read16(d, COMMAND) & ~clear) | set));
}

static struct pci_dev device_at(uint32_t position)
{
	return (struct pci_dev){
	        .bus = (uint8_t)(position >> 8), .dev = position >> 3 & 31, .fn = position & 7};
}

static void add_bus(const struct pci_dev *bridge)
{
	uint8_t bus = pci_read8(bridge, SECONDARY);
	if (bus > bridge->bus)
		bridge_of[bus] = (uint16_t)(1 + ((uint32_t)bridge->bus << 8 |
		                                 (uint32_t)bridge->dev << 3 | bridge->fn));
}

/* Reads the header of the function at d's bus, device and function numbers into d. */
static void read_header(struct pci_dev *d, uint8_t type)
{
	uint32_t class = pci_read32(d, CLASS);
	d->revision = (uint8_t) class;
	d->prog_if = (uint8_t)(class >> 8);
	d->subclass = (uint8_t)(class >> 16);
	d->class_code = (uint8_t)(class >> 24);
	d->irq = 0xff;
	if (type == TYPE_BRIDGE) {
		add_bus(d);
		return;
	}
	uint32_t subsystem = pci_read32(d, SUBSYSTEM);
	d->subvendor = (uint16_t)subsystem;
	d->subdevice = (uint16_t)(subsystem >> 16);
	/* Line 0 belongs to the timer, so 0 means that no line was assigned (6.2.4). */
	uint16_t line = pci_read16(d, LINE);
	if (line >> 8 != 0 && (line & 0xff) > 0 && (line & 0xff) < 16)
		d->irq = (uint8_t)line;
}

bool pci_next(uint32_t *cursor, struct pci_dev *out)
{
	if (*cursor == 0)
		memset(bridge_of, 0, sizeof bridge_of);
	while (*cursor < CURSOR_END) {
		uint32_t at = *cursor;
		struct pci_dev d = device_at(at);
		if (d.bus != 0 && bridge_of[d.bus] == 0) {
			*cursor = (at | 0xff) + 1;
			continue;
		}
		uint32_t id = pci_read32(&d, VENDOR);
		uint8_t type = pci_read8(&d, TYPE);
		d.vendor = (uint16_t)id;
		d.device = (uint16_t)(id >> 16);
		bool there = d.vendor != 0xffff && d.vendor != 0;
		/* Only function 0 says whether there are other functions (6.2.1). */
		bool others = d.fn != 0 || (there && type & TYPE_MULTI);
		*cursor = others ? at + 1 : (at | 7) + 1;
		if (!there)
			continue;
		read_header(&d, type & 0x7f);
		*out = d;
		return true;
	}
	return false;
}

/* Writes ones to a base address register, and gives the bits that are then set (6.2.5.1). */
static uint32_t size_bits(const struct pci_dev *d, uint8_t off)
{
	uint32_t old = pci_read32(d, off);
	pci_write32(d, off, 0xffffffffu);
	uint32_t bits = pci_read32(d, off);
	pci_write32(d, off, old);
	return bits;
}

struct pci_bar pci_bar(const struct pci_dev *d, unsigned n)
{
	struct pci_bar bar = {0};
	if (n > 5)
		return bar;
	uint8_t off = (uint8_t)(BAR + 4 * n);
	uint16_t command = pci_read16(d, COMMAND);
	/* Decoding is off while the register holds a meaningless address. */
	pci_write16(d, COMMAND, (uint16_t)(command & ~(COMMAND_IO | COMMAND_MEMORY)));
	uint32_t low = pci_read32(d, off);
	uint32_t bits = size_bits(d, off);
	bar.io = low & BAR_IO;
	if (bar.io) {
		bar.base = low & ~3u;
		/* The upper 16 bits may be read-only zeros. */
		bar.size = (uint16_t)(~(bits & ~3u) + 1);
	} else {
		uint64_t mask = bits & ~0xfu;
		bar.base = low & ~0xfu;
		if ((low & BAR_TYPE) == BAR_64 && n < 5) {
			bar.base |= (uint64_t)pci_read32(d, (uint8_t)(off + 4)) << 32;
			mask |= (uint64_t)size_bits(d, (uint8_t)(off + 4)) << 32;
		} else if (mask != 0) {
			mask |= 0xffffffffull << 32;
		}
		bar.size = ~mask + 1;
	}
	pci_write16(d, COMMAND, command);
	if (bits == 0 || bar.base == 0)
		return (struct pci_bar){0};
	return bar;
}

/* Wakes the device to D0. Its power management events end, and none comes later: one of
 * them would switch the machine on again at once after power-off. On the way from D3hot a
 * device may reset itself, and then loses what the firmware wrote into its header (Power
 * Management Specification 1.2, 3.2.4 and 5.4). So that is written again. */
static void wake(const struct pci_dev *d)
{
	uint8_t power = pci_capability(d, CAP_POWER, 0);
	if (power == 0)
		return;
	uint8_t off = (uint8_t)(power + POWER_CONTROL);
	uint16_t v = pci_read16(d, off);
	uint16_t timing = pci_read16(d, CACHE_LINE), line = pci_read16(d, LINE);
	uint32_t bar[BARS];
	for (unsigned i = 0; i < BARS; i++)
		bar[i] = pci_read32(d, (uint8_t)(BAR + 4 * i));
	pci_write16(d, off, (uint16_t)((v & ~(POWER_STATE | PME_ENABLE)) | PME_STATUS));
	if (!(v & POWER_STATE))
		return;
	io_delay_us(D0_DELAY_US);
	for (unsigned i = 0; i < BARS; i++)
		pci_write32(d, (uint8_t)(BAR + 4 * i), bar[i]);
	pci_write16(d, CACHE_LINE, timing);
	pci_write16(d, LINE, line);
}

void pci_enable(const struct pci_dev *d)
{
	for (unsigned at = bridge_of[d->bus]; at != 0;) {
		struct pci_dev bridge = device_at(at - 1);
		write_command(&bridge, 0, COMMAND_IO | COMMAND_MEMORY | COMMAND_MASTER);
		at = bridge_of[bridge.bus];
	}
	wake(d);
	uint16_t timing = pci_read16(d, CACHE_LINE);
	if (timing >> 8 < LATENCY_LEAST) /* 6.2.4 */
		pci_write16(d, CACHE_LINE, (uint16_t)((timing & 0xff) | LATENCY << 8));
	write_command(d, COMMAND_NO_INTX, COMMAND_IO | COMMAND_MEMORY | COMMAND_MASTER);
}

void pci_cut(const struct pci_dev *d)
{
	write_command(d, COMMAND_MASTER, 0);
}

uint8_t pci_capability(const struct pci_dev *d, uint8_t id, uint8_t from)
{
	if (!(pci_read16(d, STATUS) & STATUS_CAPABILITIES))
		return 0;
	uint8_t at = pci_read8(d, from == 0 ? CAPABILITIES : (uint8_t)(from + 1)) & 0xfc;
	for (unsigned i = 0; i < CAPS_MOST && at >= 0x40; i++) {
		uint16_t head = pci_read16(d, at);
		if ((head & 0xff) == id)
			return at;
		at = (uint8_t)(head >> 8 & 0xfc);
	}
	return 0;
}
