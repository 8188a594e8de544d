/* The PCI transport of virtio_pci.h. Specification: VIRTIO 1.1, chapters 2.1 to 2.6, 3.1
 * and 4.1.
 *
 * Invariants: each field is accessed by its own width (4.1.3.1); capabilities of unknown
 * type or place are ignored (4.1.4.1); no layout value from the device is used unchecked.
 * Left out on purpose: MSI-X (one interrupt line is enough to wake the processor), the
 * configuration window in PCI space (4.1.4.7), structures in I/O ports other than the
 * legacy ones. */
#include "drivers/net/virtio/virtio_pci.h"

#include "kernel/lib/alloc.h"

#define RESET_MS   100u
#define CONFIG_TRY 10u
#define WHOLE_BAR  0x10000u /* a register space up to this size is mapped as a whole */
#define CAPS_MAX   48u      /* more do not fit in 256 bytes */

/* --- finding the registers ------------------------------------------------------- */

/* Maps `len` bytes at `off` of base address register `bar`. NULL when the register does not
 * cover them all. */
static volatile uint8_t *map(struct virtio_pci *v, uint8_t bar, uint32_t off, uint32_t len)
{
	if (bar > 5)
		return NULL; /* 4.1.4.1: reserved */
	struct pci_bar b = pci_bar(&v->dev, bar);
	if (b.io || b.base == 0 || off > b.size || len > b.size - off)
		return NULL;
	if (b.size > WHOLE_BAR)
		return mem_map(b.base + off, len);
	if (!v->bar[bar])
		v->bar[bar] = mem_map(b.base, (size_t)b.size);
	return v->bar[bar] ? v->bar[bar] + off : NULL;
}

/* Uses the capability at `cap`, unless one of its type was used before: the first usable
 * capability of a type counts (4.1.4.1), so one that fails is ignored. */
static void note_capability(struct virtio_pci *v, uint8_t cap)
{
	uint8_t bar = pci_read8(&v->dev, (uint8_t)(cap + VIRTIO_CAP_BAR));
	uint32_t off = pci_read32(&v->dev, (uint8_t)(cap + VIRTIO_CAP_OFFSET));
	uint32_t len = pci_read32(&v->dev, (uint8_t)(cap + VIRTIO_CAP_LENGTH));
	switch (pci_read8(&v->dev, (uint8_t)(cap + VIRTIO_CAP_TYPE))) {
	case VIRTIO_CAP_COMMON:
		if (!v->common && len >= VIRTIO_C_BYTES)
			v->common = map(v, bar, off, VIRTIO_C_BYTES);
		break;
	case VIRTIO_CAP_ISR:
		if (!v->isr && len >= 1)
			v->isr = map(v, bar, off, 1);
		break;
	case VIRTIO_CAP_DEVICE:
		if (!v->config) {
			v->config_len = min_u32(len, 256);
			v->config = map(v, bar, off, v->config_len);
		}
		break;
	case VIRTIO_CAP_NOTIFY:
		if (v->notify_cap.len == 0 && len >= 2 && map(v, bar, off, 2)) {
			v->notify_cap.bar = bar;
			v->notify_cap.off = off;
			v->notify_cap.len = len;
			v->notify_cap.mult = pci_read32(&v->dev, (uint8_t)(cap + VIRTIO_CAP_MULT));
		}
		break;
	default:
		break;
	}
}

static bool open_modern(struct virtio_pci *v)
{
	uint8_t cap = 0;
	for (unsigned i = 0; i < CAPS_MAX; i++) {
		cap = pci_capability(&v->dev, VIRTIO_CAP_VENDOR, cap);
		if (cap == 0)
			break;
		if (cap <= 256 - VIRTIO_CAP_MULT - 4)
			note_capability(v, cap);
	}
	return v->common && v->isr && v->config && v->notify_cap.len;
}

static bool open_legacy(struct virtio_pci *v)
{
	struct pci_bar b = pci_bar(&v->dev, 0);
	if (v->dev.device != VIRTIO_NET_TRANSITIONAL || !b.io || b.base == 0 ||
	    b.size < VIRTIO_L_BYTES || b.base > 0x10000u - VIRTIO_L_BYTES)
		return false;
	v->port = (uint16_t)b.base;
	return true;
}

/* Switches MSI-X off. If the firmware left it on, the interrupt line would stay silent, and
 * the legacy configuration would lie four bytes further on (4.1.4.8). */
static void msix_off(const struct pci_dev *dev)
{
	uint8_t cap = pci_capability(dev, PCI_CAP_MSIX, 0);
	if (cap == 0)
		return;
	uint16_t control = pci_read16(dev, (uint8_t)(cap + 2));
	if (control & PCI_MSIX_ENABLE)
		pci_write16(dev, (uint8_t)(cap + 2), (uint16_t)(control & ~PCI_MSIX_ENABLE));
}

const char *virtio_pci_open(struct virtio_pci *v, const struct pci_dev *dev)
{
	*v = (struct virtio_pci){.dev = *dev};
	v->modern = open_modern(v);
	if (!v->modern && !open_legacy(v))
		return "registers not found or out of reach";
	pci_enable(dev);
	msix_off(dev);
	return NULL;
}

/* --- status and features ------------------------------------------------------------ */

static uint16_t port(const struct virtio_pci *v, unsigned reg)
{
	return (uint16_t)(v->port + reg);
}

uint8_t virtio_pci_status(const struct virtio_pci *v)
{
	return v->modern ? mmio_read8(v->common + VIRTIO_C_STATUS)
	                 : io_in8(port(v, VIRTIO_L_STATUS));
}

static void status_write(struct virtio_pci *v, uint8_t status)
{
	if (v->modern)
		mmio_write8(v->common + VIRTIO_C_STATUS, status);
	else
		io_out8(port(v, VIRTIO_L_STATUS), status);
}

void virtio_pci_status_add(struct virtio_pci *v, uint8_t bits)
{
	status_write(v, virtio_pci_status(v) | bits);
}

bool virtio_pci_reset(struct virtio_pci *v)
{
	uint64_t end = io_now_us() + RESET_MS * 1000u;
	status_write(v, 0);
	/* 4.1.4.3.2: the reset is complete when 0 is read back; a card may need time. */
	while (virtio_pci_status(v) != 0) {
		if (io_now_us() >= end)
			return false;
		io_delay_us(10);
	}
	return true;
}

uint64_t virtio_pci_features(struct virtio_pci *v)
{
	if (!v->modern)
		return io_in32(port(v, VIRTIO_L_DEVICE_FEATURE));
	mmio_write32(v->common + VIRTIO_C_DEVICE_SELECT, 0);
	uint32_t low = mmio_read32(v->common + VIRTIO_C_DEVICE_FEATURE);
	mmio_write32(v->common + VIRTIO_C_DEVICE_SELECT, 1);
	return (uint64_t)mmio_read32(v->common + VIRTIO_C_DEVICE_FEATURE) << 32 | low;
}

bool virtio_pci_accept(struct virtio_pci *v, uint64_t features)
{
	if (!v->modern) { /* 3.1.2: no handshake */
		io_out32(port(v, VIRTIO_L_DRIVER_FEATURE), (uint32_t)features);
		return true;
	}
	mmio_write32(v->common + VIRTIO_C_DRIVER_SELECT, 0);
	mmio_write32(v->common + VIRTIO_C_DRIVER_FEATURE, (uint32_t)features);
	mmio_write32(v->common + VIRTIO_C_DRIVER_SELECT, 1);
	mmio_write32(v->common + VIRTIO_C_DRIVER_FEATURE, (uint32_t)(features >> 32));
	virtio_pci_status_add(v, VIRTIO_FEATURES_OK);
	return (virtio_pci_status(v) & VIRTIO_FEATURES_OK) != 0;
}

/* --- queues ----------------------------------------------------------------------------- */

uint16_t virtio_pci_queue_size(struct virtio_pci *v, uint16_t n)
{
	if (v->modern) {
		mmio_write16(v->common + VIRTIO_C_QUEUE_SELECT, n);
		return mmio_read16(v->common + VIRTIO_C_QUEUE_SIZE);
	}
	io_out16(port(v, VIRTIO_L_QUEUE_SELECT), n);
	return io_in16(port(v, VIRTIO_L_QUEUE_SIZE));
}

static size_t page_up(size_t n)
{
	return (n + VIRTIO_L_PAGE - 1) & ~(size_t)(VIRTIO_L_PAGE - 1);
}

const char *virtio_pci_ring(struct virtio_ring *r, uint32_t size)
{
	if (size == 0 || size > VIRTIO_QUEUE_MAX || (size & (size - 1)))
		return "queue size is not a power of two up to 32768";
	/* 2.6.2: the descriptors, then the available ring, then on the next page the used
	 * ring. Beside flags, index and entries, each of the two rings has one more word. */
	size_t avail = sizeof(struct virtio_desc) * size, used = page_up(avail + 6 + 2 * size);
	size_t bytes = page_up(used + 6 + sizeof(struct virtio_used) * size);
	uint8_t *base = (uint8_t *)r->desc;
	if (bytes > r->bytes) {
		base = alloc(bytes, VIRTIO_L_PAGE);
		if (!base)
			return "no memory for a queue";
		r->bytes = bytes;
	}
	memset(base, 0, bytes);
	r->size = size;
	r->desc = (struct virtio_desc *)(void *)base;
	r->avail = (volatile uint16_t *)(void *)(base + avail);
	r->used = (const volatile uint16_t *)(void *)(base + used);
	r->done = (const volatile struct virtio_used *)(void *)(base + used + 4);
	r->used_event = r->avail + 2 + size;
	r->avail_event = (const volatile uint16_t *)(const volatile void *)(r->done + size);
	return NULL;
}

static void write64(volatile uint8_t *at, uint64_t v)
{
	mmio_write32(at, (uint32_t)v);
	mmio_write32(at + 4, (uint32_t)(v >> 32));
}

const char *virtio_pci_queue_start(struct virtio_pci *v, uint16_t n, const struct virtio_ring *r)
{
	uint64_t desc = dma_addr(r->desc);
	if (!v->modern) {
		io_out16(port(v, VIRTIO_L_QUEUE_SELECT), n);
		io_out32(port(v, VIRTIO_L_QUEUE_PFN), (uint32_t)(desc / VIRTIO_L_PAGE));
		return NULL;
	}
	volatile uint8_t *c = v->common;
	mmio_write16(c + VIRTIO_C_QUEUE_SELECT, n);
	/* 4.1.4.4: both factors come from the device; the product must fit. */
	uint64_t at = (uint64_t)mmio_read16(c + VIRTIO_C_NOTIFY_OFF) * v->notify_cap.mult;
	if (at > v->notify_cap.len - 2 || at > UINT32_MAX - v->notify_cap.off)
		return "notification address out of range";
	if (!v->notify[n])
		v->notify[n] = map(v, v->notify_cap.bar, v->notify_cap.off + (uint32_t)at, 2);
	if (!v->notify[n])
		return "notification address out of reach";
	mmio_write16(c + VIRTIO_C_QUEUE_SIZE, (uint16_t)r->size);
	write64(c + VIRTIO_C_QUEUE_DESC, desc);
	write64(c + VIRTIO_C_QUEUE_DRIVER, dma_addr((const void *)(uintptr_t)r->avail));
	write64(c + VIRTIO_C_QUEUE_DEVICE, dma_addr((const void *)(uintptr_t)r->used));
	mmio_write16(c + VIRTIO_C_QUEUE_ENABLE, 1);
	return NULL;
}

/* --- configuration and interrupt ----------------------------------------------------------- */

static uint8_t config8(const struct virtio_pci *v, uint32_t off)
{
	return v->modern ? mmio_read8(v->config + off) : io_in8(port(v, VIRTIO_L_CONFIG + off));
}

bool virtio_pci_config(const struct virtio_pci *v, uint32_t off, uint8_t *buf, uint32_t n)
{
	if (v->modern && (off > v->config_len || n > v->config_len - off))
		return false;
	/* The generation shows a change between two reads. Legacy devices have no
	 * generation, so a second read must agree with the first (2.4.4). */
	for (unsigned i = 0; i < CONFIG_TRY; i++) {
		uint8_t before = v->modern ? mmio_read8(v->common + VIRTIO_C_GENERATION) : 0;
		bool same = true;
		for (uint32_t k = 0; k < n; k++)
			buf[k] = config8(v, off + k);
		for (uint32_t k = 0; k < n; k++)
			same &= buf[k] == config8(v, off + k);
		uint8_t after = v->modern ? mmio_read8(v->common + VIRTIO_C_GENERATION) : 0;
		if (same && before == after)
			return true;
	}
	return false;
}

uint16_t virtio_pci_config16(const struct virtio_pci *v, uint32_t off)
{
	if (!v->modern)
		return io_in16(port(v, VIRTIO_L_CONFIG + off));
	return off + 2 <= v->config_len ? mmio_read16(v->config + off) : 0;
}

uint8_t virtio_pci_isr(const struct virtio_pci *v)
{
	return v->modern ? mmio_read8(v->isr) : io_in8(port(v, VIRTIO_L_ISR));
}
