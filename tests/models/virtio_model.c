/* The PCI side of virtio_model.h: both register layouts, status, features,
 * configuration. Section numbers: virtio specification 1.1. */
#include "tests/models/virtio_model.h"
#include "tests/models/virtio_model_regs.h"

/* Offsets of the modern structures in base address register 4. */
enum { AT_COMMON = 0x1000, AT_ISR = 0x2000, AT_DEVICE = 0x3000, AT_NOTIFY = 0x4000 };
enum { CAP_COMMON = 1, CAP_NOTIFY, CAP_ISR, CAP_DEVICE, CAP_PCI };
enum { CONFIG_STATUS = 6 };

uint32_t virtio_model_header(const struct virtio_model *m)
{
	return m->accepted & (F(F_VERSION_1) | F(F_MRG_RXBUF)) ? 12 : 10; /* 5.1.6.1 */
}

bool virtio_model_ready(const struct virtio_model *m)
{
	return (m->status & ST_DRIVER_OK) && !(m->status & ST_NEEDS_RESET) && m->reset_left == 0;
}

bool virtio_model_line(const struct virtio_model *m)
{
	return m->isr != 0 && !(m->pci.cfg[5] & 4); /* command bit 10: INTx off */
}

void virtio_model_raise(struct virtio_model *m, uint8_t cause)
{
	if (!virtio_model_line(m))
		m->interrupts++;
	m->isr |= cause;
}

static uint8_t isr_read(struct virtio_model *m)
{
	uint8_t v = m->isr; /* 4.1.4.5: a read clears it and lowers the line */
	m->isr = 0;
	return v;
}

/* --- status and features (2.1, 2.2, 3.1.1) -------------------------------------- */

static void reset(struct virtio_model *m)
{
	m->resets++;
	m->reset_left = m->reset_reads;
	m->isr = 0;
	m->accepted = 0;
	m->device_select = m->driver_select = 0;
	m->queue_select = 0;
	m->legacy_used = m->modern_used = m->lied = false;
	for (unsigned i = 0; i < VIRTIO_MODEL_QUEUES; i++) {
		struct virtio_model_queue *q = &m->q[i];
		uint16_t size_max = q->size_max;
		uint32_t notified = q->notified;
		memset(q, 0, sizeof *q);
		q->size_max = q->size = size_max;
		q->notified = notified;
	}
	m->status = 0;
}

static uint8_t status_read(struct virtio_model *m)
{
	if (m->reset_left > 0) {
		m->reset_left--;
		return ST_ACK | ST_DRIVER;
	}
	return m->status;
}

static uint64_t offered(const struct virtio_model *m, bool legacy)
{
	return legacy ? m->features & 0xffffffffu & ~F(F_VERSION_1) : m->features;
}

/* 5.1.3.1: which features need which. Merged buffers and super-segments come together in a driver
 * whose buffers are shorter than 64 KB (5.1.6.3.1). */
static void check_offloads(uint64_t f)
{
	static const struct {
		uint64_t of, any;
	} need[] = {
	        {F(F_HOST_TSO4) | F(F_HOST_TSO6), F(F_CSUM)},
	        {F(F_GUEST_TSO4) | F(F_GUEST_TSO6), F(F_GUEST_CSUM)},
	        {F(F_GUEST_TSO4) | F(F_GUEST_TSO6), F(F_MRG_RXBUF)},
	        {F(F_HOST_ECN), F(F_HOST_TSO4) | F(F_HOST_TSO6)},
	        {F(F_GUEST_ECN), F(F_GUEST_TSO4) | F(F_GUEST_TSO6)},
	        {F(F_HOST_USO), F(F_CSUM)},
	        {F(F_GUEST_USO4) | F(F_GUEST_USO6), F(F_GUEST_CSUM)},
	        {F(F_GUEST_USO4) | F(F_GUEST_USO6), F(F_MRG_RXBUF)},
	};
	for (unsigned i = 0; i < sizeof need / sizeof need[0]; i++)
		if (f & need[i].of && !(f & need[i].any))
			pci_model_fault("accepted 0x%llx without 0x%llx (5.1.3.1)",
			                (unsigned long long)(f & need[i].of),
			                (unsigned long long)need[i].any);
}

static void features_ok(struct virtio_model *m)
{
	if (m->accepted & ~offered(m, m->legacy_used))
		pci_model_fault("accepted features that were not offered (2.2.1)");
	if (!m->legacy_used && !(m->accepted & F(F_VERSION_1)))
		pci_model_fault("modern without VERSION_1 (6.1)");
	if (m->accepted &
	    ~(F(F_MAC) | F(F_STATUS) | F(F_VERSION_1) | F(F_ANY_LAYOUT) | F(F_ACCESS_PLATFORM) |
	      F(F_ORDER_PLATFORM) | VIRTIO_MODEL_OFFLOADS | VIRTIO_MODEL_USO | F(F_EVENT_IDX)))
		pci_model_fault("accepted features 0x%llx, which this model does not have",
		                (unsigned long long)m->accepted);
	check_offloads(m->accepted);
	if (m->refuse_features || m->accepted & m->refuse)
		m->status &= (uint8_t)~ST_FEATURES_OK;
}

static void status_write(struct virtio_model *m, uint8_t v)
{
	uint8_t old = m->status, added = (uint8_t)(v & ~old);
	if (v == 0) {
		reset(m);
		return;
	}
	if (m->reset_left > 0)
		pci_model_fault("status written before the reset was done (4.1.4.3.2)");
	if (old & ~v & ~ST_NEEDS_RESET)
		pci_model_fault("status bits 0x%x cleared (2.1.1)", old & ~v);
	if (old & ST_NEEDS_RESET)
		pci_model_fault("the driver continues although a reset is needed (2.1.1)");
	if ((added & ST_DRIVER) && !(v & ST_ACK))
		pci_model_fault("DRIVER before ACKNOWLEDGE (3.1.1)");
	if ((added & ST_FEATURES_OK) && (!(old & ST_DRIVER) || m->legacy_used))
		pci_model_fault("FEATURES_OK out of place (3.1.1)");
	if ((added & ST_DRIVER_OK) &&
	    (!(old & ST_DRIVER) || (!m->legacy_used && !(old & ST_FEATURES_OK))))
		pci_model_fault("DRIVER_OK too early (3.1.1)");
	m->status = v;
	if ((added & ST_FEATURES_OK) || (m->legacy_used && (added & ST_DRIVER_OK)))
		features_ok(m);
}

static void features_write(struct virtio_model *m, uint32_t half, uint32_t v)
{
	if (!(m->status & ST_DRIVER) || (m->status & (ST_FEATURES_OK | ST_DRIVER_OK)))
		pci_model_fault("features written outside their phase (3.1.1)");
	if (half > 1) {
		if (v)
			pci_model_fault("features beyond bit 63");
		return;
	}
	m->accepted &= ~(0xffffffffull << 32 * half);
	m->accepted |= (uint64_t)v << 32 * half;
}

/* --- device configuration (2.4, 5.1.4) ------------------------------------------- */

static uint32_t config_read(struct virtio_model *m, uint32_t off, unsigned size)
{
	uint32_t v = 0;
	if (!(m->status & ST_DRIVER))
		pci_model_fault("configuration read before DRIVER (3.1.1)");
	if (off + size > sizeof m->config || (off >= 6 && size != 2))
		pci_model_fault("configuration read of %u at %u (5.1.4)", size, off);
	for (unsigned i = 0; i < size && off + i < sizeof m->config; i++) {
		if (m->tear_after && m->config_reads++ == m->tear_after) {
			memcpy(m->config, m->tear_mac, 6);
			m->generation++;
		}
		v |= (uint32_t)m->config[off + i] << 8 * i;
	}
	return v;
}

void virtio_model_link(struct virtio_model *m, bool up)
{
	m->config[CONFIG_STATUS] = up;
	m->generation++;
	if ((m->accepted & F(F_STATUS)) && virtio_model_ready(m))
		virtio_model_raise(m, ISR_CONFIG);
}

void virtio_model_needs_reset(struct virtio_model *m)
{
	bool was_ready = virtio_model_ready(m);
	m->status |= ST_NEEDS_RESET;
	if (was_ready)
		virtio_model_raise(m, ISR_CONFIG); /* 2.1.2 */
}

/* --- the two register layouts ------------------------------------------------------ */

static void width(const char *what, uint32_t off, unsigned size, unsigned want)
{
	if (size != want)
		pci_model_fault("%s register %u read or written as %u bytes", what, off, size);
}

/* Records which layout the driver uses; using both is a fault (4.1.4.8). */
static void use(struct virtio_model *m, bool legacy)
{
	if (legacy ? m->modern_used : m->legacy_used)
		pci_model_fault("both register layouts used");
	if (legacy)
		m->legacy_used = true;
	else
		m->modern_used = true;
}

static struct virtio_model_queue *selected(struct virtio_model *m)
{
	static struct virtio_model_queue none;
	none = (struct virtio_model_queue){0};
	return m->queue_select < VIRTIO_MODEL_QUEUES ? &m->q[m->queue_select] : &none;
}

/* Queues must be set up after the features and before DRIVER_OK (3.1.1). */
static void queue_phase(struct virtio_model *m)
{
	uint8_t need = m->legacy_used ? ST_DRIVER : ST_FEATURES_OK;
	if (!(m->status & need) || (m->status & ST_DRIVER_OK))
		pci_model_fault("queue set up outside its phase (3.1.1)");
}

static uint32_t legacy_read(void *ctx, uint32_t off, unsigned size)
{
	struct virtio_model *m = ctx;
	uint32_t config =
	        m->msix_cap && (m->pci.cfg[m->msix_cap + 3] & 0x80) ? L_CONFIG_MSIX : L_CONFIG;
	if (off == L_STATUS) {
		width("legacy", off, size, 1);
		return status_read(m);
	}
	if (m->reset_left > 0)
		pci_model_fault("legacy register %u read during reset", off);
	use(m, true);
	if (off >= config)
		return config_read(m, off - config, size);
	switch (off) {
	case L_DEVICE_FEATURE:
		width("legacy", off, size, 4);
		return (uint32_t)offered(m, true);
	case L_DRIVER_FEATURE:
		return (uint32_t)m->accepted;
	case L_QUEUE_PFN:
		return (uint32_t)(selected(m)->desc / 4096);
	case L_QUEUE_SIZE:
		width("legacy", off, size, 2);
		return selected(m)->size_max;
	case L_ISR:
		width("legacy", off, size, 1);
		return isr_read(m);
	}
	pci_model_fault("legacy register %u read", off);
	return 0;
}

/* 2.6.2: the descriptors, the available ring, and from the next multiple of 4096 the used
 * ring. */
static void legacy_pfn(struct virtio_model *m, uint32_t pfn)
{
	struct virtio_model_queue *q = selected(m);
	queue_phase(m);
	if (q->size_max == 0) {
		pci_model_fault("there is no queue %u", m->queue_select);
		return;
	}
	q->size = q->size_max;
	q->desc = (uint64_t)pfn * 4096;
	q->avail = q->desc + 16u * q->size;
	q->used = (q->avail + 6u + 2u * q->size + 4095) & ~4095ull;
	q->enabled = pfn != 0;
	if (q->enabled)
		virtio_model_queue_check(m, m->queue_select);
}

static void legacy_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct virtio_model *m = ctx;
	if (off == L_STATUS) {
		width("legacy", off, size, 1);
		if (v) /* a modern driver may reset through this register */
			use(m, true);
		status_write(m, (uint8_t)v);
		return;
	}
	if (m->reset_left > 0)
		pci_model_fault("legacy register %u written during reset", off);
	use(m, true);
	width("legacy", off, size, off == L_DRIVER_FEATURE || off == L_QUEUE_PFN ? 4 : 2);
	if (off == L_DRIVER_FEATURE)
		features_write(m, 0, v);
	else if (off == L_QUEUE_PFN)
		legacy_pfn(m, v);
	else if (off == L_QUEUE_SELECT)
		m->queue_select = (uint16_t)v;
	else if (off == L_NOTIFY)
		virtio_model_notify(m, v);
	else
		pci_model_fault("legacy register %u written", off);
}

static uint32_t common_read(struct virtio_model *m, uint32_t off)
{
	const struct virtio_model_queue *q = selected(m);
	switch (off) {
	case C_DEVICE_SELECT:
		return m->device_select;
	case C_DEVICE_FEATURE:
		return m->device_select > 1 ? 0 : (uint32_t)(m->features >> 32 * m->device_select);
	case C_DRIVER_SELECT:
		return m->driver_select;
	case C_DRIVER_FEATURE:
		return m->driver_select > 1 ? 0 : (uint32_t)(m->accepted >> 32 * m->driver_select);
	case C_MSIX_CONFIG:
	case C_QUEUE_MSIX:
		return 0xffff;
	case C_NUM_QUEUES:
		return VIRTIO_MODEL_QUEUES;
	case C_STATUS:
		return status_read(m);
	case C_GENERATION:
		return m->generation;
	case C_QUEUE_SELECT:
		return m->queue_select;
	case C_QUEUE_SIZE:
		return q->size;
	case C_QUEUE_ENABLE:
		return q->enabled;
	case C_NOTIFY_OFF:
		return m->queue_select;
	}
	pci_model_fault("common register %u read", off);
	return 0;
}

/* Sets one half of a 64-bit address. */
static void set_half(uint64_t *at, uint32_t off, uint32_t v)
{
	unsigned shift = off & 4 ? 32 : 0;
	*at = (*at & ~(0xffffffffull << shift)) | (uint64_t)v << shift;
}

static void queue_write(struct virtio_model *m, uint32_t off, uint32_t v)
{
	struct virtio_model_queue *q = selected(m);
	queue_phase(m);
	if (q->size_max == 0 || q->enabled)
		pci_model_fault("queue %u written when it is enabled or does not exist",
		                m->queue_select);
	if (off == C_QUEUE_SIZE) {
		if (v == 0 || v > q->size_max || (v & (v - 1)))
			pci_model_fault("queue %u: size %u of %u", m->queue_select, v, q->size_max);
		else
			q->size = (uint16_t)v;
	} else if (off == C_QUEUE_ENABLE) {
		if (v != 1)
			pci_model_fault("queue_enable written as %u (4.1.4.3.2)", v);
		q->enabled = true;
		if (m->queue_select < VIRTIO_MODEL_QUEUES)
			virtio_model_queue_check(m, m->queue_select);
	} else {
		set_half(off < C_DRIVER_RING   ? &q->desc
		         : off < C_DEVICE_RING ? &q->avail
		                               : &q->used,
		         off, v);
	}
}

static void common_write(struct virtio_model *m, uint32_t off, uint32_t v)
{
	switch (off) {
	case C_DEVICE_SELECT:
		m->device_select = v;
		return;
	case C_DRIVER_SELECT:
		m->driver_select = v;
		return;
	case C_DRIVER_FEATURE:
		features_write(m, m->driver_select, v);
		return;
	case C_MSIX_CONFIG:
	case C_QUEUE_MSIX:
		if (v != 0xffff)
			pci_model_fault("MSI-X vector %u chosen", v);
		return;
	case C_STATUS:
		status_write(m, (uint8_t)v);
		return;
	case C_QUEUE_SELECT:
		m->queue_select = (uint16_t)v;
		return;
	}
	if (off == C_QUEUE_SIZE || off == C_QUEUE_ENABLE || (off >= C_DESC && off < C_END))
		queue_write(m, off, v);
	else
		pci_model_fault("common register %u written", off);
}

/* 4.1.3.1: each field by its own width, 64-bit ones as two halves. */
static unsigned common_width(uint32_t off)
{
	if (off == C_STATUS || off == C_GENERATION)
		return 1;
	return off < C_MSIX_CONFIG || off >= C_DESC ? 4 : 2;
}

static void modern_begin(struct virtio_model *m, uint32_t off)
{
	use(m, false);
	if (m->reset_left > 0 && off != AT_COMMON + C_STATUS)
		pci_model_fault("access at 0x%x during reset (4.1.4.3.2)", off);
}

static uint32_t modern_read(void *ctx, uint32_t off, unsigned size)
{
	struct virtio_model *m = ctx;
	modern_begin(m, off);
	if (off >= AT_COMMON && off < AT_COMMON + C_END) {
		width("common", off - AT_COMMON, size, common_width(off - AT_COMMON));
		return common_read(m, off - AT_COMMON);
	}
	if (off == AT_ISR && size == 1)
		return isr_read(m);
	if (off >= AT_DEVICE && off < AT_DEVICE + sizeof m->config)
		return config_read(m, off - AT_DEVICE, size);
	pci_model_fault("read of %u at 0x%x of the memory register", size, off);
	return 0;
}

static void modern_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct virtio_model *m = ctx;
	modern_begin(m, off);
	if (off >= AT_COMMON && off < AT_COMMON + C_END) {
		width("common", off - AT_COMMON, size, common_width(off - AT_COMMON));
		common_write(m, off - AT_COMMON, v);
	} else if (off >= AT_NOTIFY && off < AT_NOTIFY + m->notify_bytes) {
		/* 4.1.5.2: a 16-bit write of the queue's number at its offset. */
		width("notify", off - AT_NOTIFY, size, 2);
		if (off - AT_NOTIFY != v * m->notify_mult)
			pci_model_fault("queue %u notified at offset %u", v, off - AT_NOTIFY);
		virtio_model_notify(m, v);
	} else {
		pci_model_fault("write of %u at 0x%x of the memory register", size, off);
	}
}

/* --- making it ---------------------------------------------------------------------- */

void virtio_model_init(struct virtio_model *m, enum virtio_model_form form)
{
	static const uint8_t config[12] = {0x52, 0x54, 0, 0x0a, 0x0b, 0x0c, 1, 0, 1, 0, 0xdc, 5};
	memset(m, 0, sizeof *m);
	m->form = form;
	m->features = F(F_MTU) | F(F_MAC) | F(F_MRG_RXBUF) | F(F_STATUS) | F(F_CTRL_VQ) |
	              F(F_ANY_LAYOUT) | F(F_INDIRECT) | F(F_EVENT_IDX);
	if (form != VIRTIO_MODEL_LEGACY)
		m->features |= F(F_VERSION_1) | F(F_PACKED);
	memcpy(m->mac, config, 6);
	memcpy(m->config, config, sizeof config);
	m->notify_mult = 4;
	m->notify_bytes = 0x1000;
	for (unsigned i = 0; i < VIRTIO_MODEL_QUEUES; i++)
		m->q[i].size_max = m->q[i].size = 256;
}

static void add_cap(struct virtio_model *m, uint8_t type, uint8_t bar, uint32_t off, uint32_t len)
{
	uint8_t cap[20] = {0x09, 0, 16, type, bar};
	if (type == CAP_NOTIFY || type == CAP_PCI)
		cap[2] = 20;
	store32(cap + 8, off);
	store32(cap + 12, len);
	store32(cap + 16, m->notify_mult);
	pci_model_add_cap(&m->pci, cap, cap[2]);
}

/* 4.1.4: adds the structures, and before them other capabilities that a driver must ignore:
 * one of an unknown type, one in a base address register that does not exist, and MSI-X. */
static void add_caps(struct virtio_model *m)
{
	uint8_t msix[12] = {0x11, 0, 1, m->msix_left_on ? 0x80 : 0};
	m->msix_cap = pci_model_add_cap(&m->pci, msix, sizeof msix);
	m->pci.writable[m->msix_cap + 3] = 0xc0;
	if (m->form == VIRTIO_MODEL_LEGACY)
		return;
	add_cap(m, CAP_PCI, 0, 0, 0);
	add_cap(m, CAP_DEVICE, 4, AT_DEVICE, 0x1000);
	add_cap(m, CAP_NOTIFY, 4, AT_NOTIFY, m->notify_bytes);
	add_cap(m, CAP_ISR, 4, AT_ISR, 0x1000);
	add_cap(m, CAP_COMMON, 4, AT_COMMON, 0x1000);
	add_cap(m, 9, 4, 0, 0x1000);
	add_cap(m, CAP_COMMON, 7, 0, 0x1000);
}

void virtio_model_plug(struct virtio_model *m, uint8_t slot)
{
	bool modern = m->form == VIRTIO_MODEL_MODERN;
	memcpy(m->config, m->mac, 6);
	m->pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x1af4,
	        .device = modern ? 0x1041 : 0x1000,
	        .subvendor = 0x1af4,
	        .subdevice = modern ? 0x1100 : 1,
	        .class_code = 2,
	        .revision = modern,
	        .irq = (uint8_t)(10 + slot),
	        .ctx = m,
	};
	if (!modern)
		m->pci.bar[0] = (struct pci_model_bar){
		        .io = true,
		        .base = 0xc000 + 0x40u * slot,
		        .size = 0x40,
		        .read = legacy_read,
		        .write = legacy_write,
		};
	if (m->form != VIRTIO_MODEL_LEGACY)
		m->pci.bar[4] = (struct pci_model_bar){
		        .is64 = true,
		        .base = 0xfe000000u + 0x8000u * slot,
		        .size = 0x8000,
		        .read = modern_read,
		        .write = modern_write,
		};
	pci_model_add(&m->pci);
	add_caps(m);
	m->status = 0;
}
