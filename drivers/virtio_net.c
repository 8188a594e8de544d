/* The virtio network card, legacy and modern. Specification: VIRTIO 1.1,
 * section 5.1 over the split queues of 2.6 and the transport of virtio_pci.c.
 *
 * One receive and one transmit queue. A packet takes one slot of its queue, and
 * slot i is descriptor i: where the device allows any layout the header stands
 * in the packet's headroom right before the frame and one descriptor covers
 * both; legacy devices without ANY_LAYOUT get the header in descriptor i and
 * the frame in descriptor i + n_slots (2.6.4.2).
 *
 * Invariants: slot[i] holds a packet exactly while the device has descriptor i;
 * `posted` and `taken` run free over 16 bits and posted - taken is what the
 * device has; an index or an id from the device is used only after it agreed
 * with that. A device that breaks the rules is not followed any further: it is
 * `broken` until poll() has reset it and started it again, less and less often
 * if it goes on. Registers are touched once a burst at most, and only when the
 * device asks for it.
 *
 * Left out on purpose: offloads and merged buffers (a gateway passes frames on
 * one by one and as they are), EVENT_IDX (flags do as well when each side
 * looks again), packed rings, the control queue: without it the card passes
 * every frame (5.1.6.5.1), and the gateway looks at addresses itself. A transmit
 * queue that stands still is not reset: a stopped back end looks like that. */
#include "drivers/drivers.h"
#include "drivers/virtio_pci.h"
#include "kernel/alloc.h"
#include "kernel/io.h"
#include "kernel/log.h"

#define SLOTS          256u      /* packets in a queue, at most */
#define FRAME_MIN      14u       /* an Ethernet header */
#define FRAME_PAD      60u       /* IEEE 802.3, 4.2.3.3, without FCS */
#define RETRY_FIRST_US 100000u   /* from one start again to the next … */
#define RETRY_LAST_US  60000000u /* … doubling up to this */

struct vq {
	struct virtio_ring ring;
	struct virtio_desc *data; /* the descriptors with the frames, by slot */
	uint32_t mask, n_slots;
	uint16_t posted, taken;
	uint32_t n_free; /* transmit: slots free, on the stack below */
	uint32_t n_bare; /* receive: slots that no packet was there for */
	uint16_t free[SLOTS];
	struct pkt *slot[SLOTS];
};

enum state { STOPPED, RUNNING, BROKEN };

struct virtio_net {
	struct nic nic; /* first: the two addresses are one */
	struct virtio_pci pci;
	struct vq rx, tx;
	enum state state;
	bool armed;      /* the device may interrupt for received frames */
	bool has_status; /* link state in the configuration */
	bool split;      /* header in a descriptor of its own */
	uint32_t header; /* its bytes */
	bool started;    /* since the last restart, at started_us */
	uint64_t retry_at_us, retry_us, started_us;
	uint64_t said;                         /* log_limited */
	uint8_t no_offload[VIRTIO_NET_HEADER]; /* zeros, for split sending */
};

static struct virtio_net *of(struct nic *nic)
{
	return (struct virtio_net *)(void *)nic;
}

/* The device did what it must not. Nothing of it is believed until poll() has
 * started it again; its buffers stay where it may still write. */
static void broken(struct virtio_net *v, const char *why)
{
	v->state = BROKEN;
	v->nic.link.up = false;
	log_limited(&v->said, 10000, "virtio-net %02x:%02x.%x: %s", v->nic.pci.bus, v->nic.pci.dev,
	            v->nic.pci.fn, why);
}

/* Shows the device what was put into the ring, and tells it if it wants to be
 * told (2.6.13.3, 2.6.13.4): its flag is read after the index is out. */
static inline void publish(struct virtio_net *v, struct vq *q, uint16_t n)
{
	io_wmb();
	q->ring.avail[1] = q->posted;
	io_mb();
	if (!(q->ring.used[0] & VIRTIO_USED_NO_NOTIFY))
		virtio_pci_notify(&v->pci, n);
}

/* --- receiving ------------------------------------------------------------------- */

static inline void rx_post(const struct virtio_net *v, struct vq *q, uint32_t id, struct pkt *p)
{
	uint32_t at = (uint32_t)dma_addr(p->data);
	q->slot[id] = p;
	if (LIKELY(!v->split)) {
		q->data[id].addr = at - v->header;
	} else {
		q->data[id].addr = at;
		q->ring.desc[id].addr = at - v->header;
	}
	q->ring.avail[2 + (q->posted++ & q->mask)] = (uint16_t)id;
}

/* Fills n slots that were emptied, n > 0; the pool has the packets. */
static inline void rx_refill(struct virtio_net *v, const uint16_t *ids, uint32_t n)
{
	struct vq *q = &v->rx;
	for (uint32_t i = 0; i < n; i++) {
		struct pkt *p = pkt_alloc(v->nic.pool);
		if (LIKELY(p != NULL))
			rx_post(v, q, ids[i], p);
	}
	publish(v, q, VIRTIO_NET_RX);
}

static uint32_t virtio_net_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct virtio_net *v = of(nic);
	struct vq *q = &v->rx;
	if (UNLIKELY(v->state != RUNNING))
		return 0;
	uint32_t n = (uint16_t)(q->ring.used[1] - q->taken);
	if (n == 0)
		return 0;
	if (UNLIKELY(n > (uint16_t)(q->posted - q->taken))) {
		nic->count.rx_errors++;
		broken(v, "receive index out of range");
		return 0;
	}
	if (v->armed) {
		v->armed = false;
		q->ring.avail[0] = VIRTIO_AVAIL_NO_INTERRUPT;
	}
	io_rmb(); /* entries only after the index that covers them */
	n = min_u32(min_u32(n, max), NIC_BURST);
	uint16_t ids[NIC_BURST];
	uint32_t got = 0, header = v->header;
	for (uint32_t i = 0; i < n; i++) {
		const volatile struct virtio_used *u = &q->ring.done[q->taken & q->mask];
		uint32_t id = u->id, len = u->len - header;
		struct pkt *p = LIKELY(id < q->n_slots) ? q->slot[id] : NULL;
		if (UNLIKELY(!p)) {
			nic->count.rx_errors++;
			broken(v, "received into a buffer it does not have");
			return got;
		}
		q->slot[id] = NULL;
		q->taken++;
		ids[i] = (uint16_t)id;
		if (UNLIKELY(len - FRAME_MIN > PKT_ROOM - FRAME_MIN)) {
			nic->count.rx_errors++;
			pkt_free(p);
			continue;
		}
		p->len = len;
		p->total = len;
		burst[got++] = p;
	}
	while (UNLIKELY(nic->pool->n_free < n)) {
		nic->count.rx_no_packet++;
		pkt_free(burst[--got]);
	}
	rx_refill(v, ids, n);
	return got;
}

/* Gives packets to slots that have none, as far as the pool goes. */
static void rx_fill(struct virtio_net *v)
{
	struct vq *q = &v->rx;
	for (uint32_t id = 0; id < q->n_slots && q->n_bare > 0; id++) {
		if (q->slot[id])
			continue;
		struct pkt *p = pkt_alloc(v->nic.pool);
		if (!p)
			return;
		rx_post(v, q, id, p);
		q->n_bare--;
	}
}

/* --- sending ------------------------------------------------------------------------ */

/* Takes back what was sent (2.6.14). */
static inline void tx_reclaim(struct virtio_net *v)
{
	struct vq *q = &v->tx;
	uint32_t n = (uint16_t)(q->ring.used[1] - q->taken);
	if (n == 0)
		return;
	if (UNLIKELY(n > (uint16_t)(q->posted - q->taken))) {
		broken(v, "transmit index out of range");
		return;
	}
	io_rmb();
	for (; n > 0; n--) {
		uint32_t id = q->ring.done[q->taken & q->mask].id;
		struct pkt *p = LIKELY(id < q->n_slots) ? q->slot[id] : NULL;
		if (UNLIKELY(!p)) {
			broken(v, "sent a buffer it does not have");
			return;
		}
		q->slot[id] = NULL;
		q->taken++;
		q->free[q->n_free++] = (uint16_t)id;
		pkt_free(p);
	}
}

/* Zeros up to the shortest frame; false when the slot has no room. */
static bool tx_pad(struct pkt *p)
{
	uint32_t n = FRAME_PAD - p->len;
	uint8_t *at = pkt_put(p, n);
	if (at)
		memset(at, 0, n);
	return at != NULL;
}

static uint32_t tx_drop(uint64_t *counter, struct pkt **burst, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		pkt_free(burst[i]);
	*counter += n;
	return n;
}

static uint32_t virtio_net_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct virtio_net *v = of(nic);
	struct vq *q = &v->tx;
	if (LIKELY(v->state == RUNNING))
		tx_reclaim(v);
	if (UNLIKELY(!nic->link.up))
		return tx_drop(&nic->count.tx_link_down, burst, n);
	uint16_t before = q->posted;
	uint32_t front = v->split ? 0 : v->header;
	n = min_u32(n, q->n_free);
	for (uint32_t i = 0; i < n; i++) {
		struct pkt *p = burst[i];
		/* The header needs its headroom, in the split form as well, so that
		 * no frame passes on one device and not on another. */
		if (UNLIKELY(p->len < FRAME_PAD && !tx_pad(p)) ||
		    UNLIKELY(p->data - p->bytes < (ptrdiff_t)VIRTIO_NET_HEADER)) {
			tx_drop(&nic->count.tx_errors, &p, 1);
			continue;
		}
		/* 5.1.6.2.1: no offload was negotiated, so all fields are zero. The
		 * legacy header is two bytes shorter, which are free as well. */
		store32(p->data - 12, 0);
		store32(p->data - 8, 0);
		store32(p->data - 4, 0);
		uint32_t id = q->free[--q->n_free];
		q->slot[id] = p;
		q->data[id].addr = (uint32_t)dma_addr(p->data) - front;
		q->data[id].len = p->len + front;
		q->ring.avail[2 + (q->posted++ & q->mask)] = (uint16_t)id;
	}
	if (LIKELY(q->posted != before))
		publish(v, q, VIRTIO_NET_TX);
	return n;
}

/* --- starting and stopping ---------------------------------------------------------- */

/* Memory for queue n and its descriptors, whose fixed fields are set here. */
static const char *queue_init(struct virtio_net *v, struct vq *q, uint16_t n)
{
	uint32_t size = virtio_pci_queue_size(&v->pci, n);
	if (v->pci.modern && size > SLOTS && (size & (size - 1)) == 0)
		size = SLOTS; /* legacy devices do not take a smaller one */
	const char *wrong = virtio_pci_ring(&q->ring, size);
	if (wrong)
		return wrong;
	q->mask = size - 1;
	q->n_slots = min_u32(v->split ? size / 2 : size, SLOTS);
	q->data = q->ring.desc + (v->split ? q->n_slots : 0);
	if (q->n_slots == 0)
		return "queue too small";
	q->posted = q->taken = 0;
	q->n_free = q->n_bare = 0;
	q->ring.avail[0] = VIRTIO_AVAIL_NO_INTERRUPT;
	uint16_t flags = n == VIRTIO_NET_RX ? VIRTIO_DESC_WRITE : 0;
	for (uint32_t id = 0; id < q->n_slots; id++) {
		q->data[id].len = PKT_ROOM + (v->split ? 0 : v->header);
		q->data[id].flags = flags;
		if (v->split)
			q->ring.desc[id] = (struct virtio_desc){
			        .addr = (uint32_t)dma_addr(v->no_offload),
			        .len = v->header,
			        .flags = flags | VIRTIO_DESC_NEXT,
			        .next = (uint16_t)(id + q->n_slots),
			};
		q->free[q->n_free++] = (uint16_t)(q->n_slots - 1 - id);
	}
	return virtio_pci_queue_start(&v->pci, n, &q->ring);
}

/* Offers what the queue holds from before a reset, then fresh packets. */
static void rx_start(struct virtio_net *v)
{
	struct vq *q = &v->rx;
	for (uint32_t id = 0; id < SLOTS; id++) {
		struct pkt *p = q->slot[id];
		if (p && id < q->n_slots) {
			rx_post(v, q, id, p);
		} else if (p) {
			q->slot[id] = NULL;
			pkt_free(p);
		}
	}
	q->n_bare = q->n_slots - (uint16_t)(q->posted - q->taken);
	rx_fill(v);
}

/* Frees the packets of a queue whose device is reset. Gives how many. */
static uint32_t queue_drop(struct vq *q)
{
	uint32_t n = 0;
	for (uint32_t id = 0; id < SLOTS; id++) {
		if (!q->slot[id])
			continue;
		pkt_free(q->slot[id]);
		q->slot[id] = NULL;
		n++;
	}
	return n;
}

/* 5.1.5: the card's address. One without gets a locally administered address
 * made of its PCI position: the same at each start, another for each slot, but
 * not unlike that of the same slot in another machine. */
static void read_mac(struct virtio_net *v, uint64_t features)
{
	mac *m = &v->nic.address;
	if ((features & VIRTIO_NET_F_MAC) &&
	    virtio_pci_config(&v->pci, VIRTIO_NET_C_MAC, m->b, sizeof m->b) && !mac_is_group(m) &&
	    (load32(m->b) | load16(m->b + 4)))
		return;
	const struct pci_dev *d = &v->nic.pci;
	uint32_t h = ((uint32_t)d->bus << 8 | (uint32_t)d->dev << 3 | d->fn) + 1;
	h *= 0x9e3779b1u;
	h ^= h >> 15;
	m->b[0] = 0x02;
	m->b[1] = 0x1a;
	store32(m->b + 2, h);
}

static void read_link(struct virtio_net *v)
{
	uint16_t s = VIRTIO_NET_LINK_UP;
	if (v->has_status)
		s = virtio_pci_config16(&v->pci, VIRTIO_NET_C_STATUS);
	v->nic.link.up = s & VIRTIO_NET_LINK_UP;
}

/* Features, queues, buffers: 3.1.1 from step 4 on. */
static const char *set_up(struct virtio_net *v)
{
	uint64_t want = VIRTIO_NET_F_MAC | VIRTIO_NET_F_STATUS;
	/* The platform's memory access is ours when offered: bus addresses are
	 * physical ones here and x86 keeps the order (6.1). */
	want |= v->pci.modern
	                ? VIRTIO_F_VERSION_1 | VIRTIO_F_ACCESS_PLATFORM | VIRTIO_F_ORDER_PLATFORM
	                : VIRTIO_F_ANY_LAYOUT;
	uint64_t features = virtio_pci_features(&v->pci) & want;
	if (v->pci.modern && !(features & VIRTIO_F_VERSION_1))
		return "modern registers without VERSION_1";
	if (!virtio_pci_accept(&v->pci, features))
		return "features refused";
	v->has_status = features & VIRTIO_NET_F_STATUS;
	v->split = !(features & (VIRTIO_F_VERSION_1 | VIRTIO_F_ANY_LAYOUT));
	v->header = v->pci.modern ? VIRTIO_NET_HEADER : VIRTIO_NET_HEADER_0_9;
	read_mac(v, features);
	const char *wrong = queue_init(v, &v->rx, VIRTIO_NET_RX);
	if (!wrong)
		wrong = queue_init(v, &v->tx, VIRTIO_NET_TX);
	return wrong;
}

/* Resets the device and sets it to work. NULL or what is wrong: the device is
 * then without work, or, not having reset, cut off from the bus. */
static const char *start(struct virtio_net *v)
{
	v->state = BROKEN;
	v->nic.link.up = false;
	if (!virtio_pci_reset(&v->pci)) {
		virtio_pci_cut(&v->pci);
		return "does not reset";
	}
	v->nic.count.tx_errors += queue_drop(&v->tx);
	virtio_pci_status_add(&v->pci, VIRTIO_ACKNOWLEDGE);
	virtio_pci_status_add(&v->pci, VIRTIO_DRIVER);
	const char *wrong = set_up(v);
	if (wrong) {
		virtio_pci_status_add(&v->pci, VIRTIO_FAILED);
		return wrong;
	}
	rx_start(v);
	if (v->rx.posted == 0)
		return "no packets to receive into";
	virtio_pci_status_add(&v->pci, VIRTIO_DRIVER_OK);
	v->state = RUNNING;
	v->armed = false;
	publish(v, &v->rx, VIRTIO_NET_RX); /* notified only after DRIVER_OK */
	read_link(v);
	return NULL;
}

static void restart(struct virtio_net *v, uint64_t now_us)
{
	if (now_us < v->retry_at_us)
		return;
	if (v->started && now_us - v->started_us > RETRY_LAST_US)
		v->retry_us = RETRY_FIRST_US; /* it did well for a while */
	v->started = false;
	v->retry_at_us = now_us + v->retry_us;
	if (v->retry_us < RETRY_LAST_US)
		v->retry_us *= 2;
	v->nic.count.resets++;
	pci_enable(&v->nic.pci);
	const char *wrong = start(v);
	if (wrong) {
		broken(v, wrong);
		return;
	}
	v->started = true;
	v->started_us = now_us;
}

static void virtio_net_poll(struct nic *nic, uint64_t now_us)
{
	struct virtio_net *v = of(nic);
	if (v->state == STOPPED)
		return;
	if (v->state == RUNNING && virtio_pci_status(&v->pci) & VIRTIO_NEEDS_RESET)
		broken(v, "the device asks for a reset"); /* 2.1.2 */
	if (v->state == RUNNING)
		tx_reclaim(v);
	if (v->state == BROKEN) {
		restart(v, now_us);
		return;
	}
	read_link(v);
	if (UNLIKELY(v->rx.n_bare > 0)) {
		uint16_t before = v->rx.posted;
		rx_fill(v);
		if (v->rx.posted != before)
			publish(v, &v->rx, VIRTIO_NET_RX);
	}
}

/* Reading the cause first lowers the line; what comes after that raises it
 * again, and what came before is found by looking (2.6.7.1). */
static bool virtio_net_arm(struct nic *nic)
{
	struct virtio_net *v = of(nic);
	struct vq *q = &v->rx;
	if (v->state == STOPPED)
		return false;
	uint8_t cause = virtio_pci_isr(&v->pci);
	if (v->state != RUNNING)
		return false;
	if (cause & VIRTIO_ISR_CONFIG)
		read_link(v);
	q->ring.avail[0] = 0;
	v->armed = true;
	io_mb();
	if (q->ring.used[1] == q->taken)
		return false;
	v->armed = false;
	q->ring.avail[0] = VIRTIO_AVAIL_NO_INTERRUPT;
	return true;
}

static void virtio_net_stop(struct nic *nic)
{
	struct virtio_net *v = of(nic);
	v->state = STOPPED;
	nic->link.up = false;
	/* Either way no transfer goes on, and the packets are ours again. */
	if (!virtio_pci_reset(&v->pci))
		virtio_pci_cut(&v->pci);
	queue_drop(&v->rx);
	queue_drop(&v->tx);
}

/* Without the control queue everything passes (5.1.6.5.1). */
static void virtio_net_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n)
{
	(void)nic;
	(void)promiscuous;
	(void)group;
	(void)n;
}

static const struct nic_ops ops = {
        .rx = virtio_net_rx,
        .tx = virtio_net_tx,
        .poll = virtio_net_poll,
        .arm = virtio_net_arm,
        .stop = virtio_net_stop,
        .filter = virtio_net_filter,
};

static const char *virtio_net_probe(const struct pci_dev *dev, struct pool *pool, struct nic **out)
{
	struct virtio_net *v = alloc(sizeof *v, 64);
	if (!v)
		return "no memory";
	v->nic.ops = &ops;
	v->nic.driver = "virtio-net";
	v->nic.pool = pool;
	v->nic.irq = dev->irq;
	v->nic.pci = *dev;
	v->nic.link.full_duplex = true;
	v->started = true;
	v->retry_us = RETRY_FIRST_US;
	const char *wrong = virtio_pci_open(&v->pci, dev);
	if (wrong)
		return wrong;
	wrong = start(v);
	if (wrong) {
		virtio_pci_cut(&v->pci);
		queue_drop(&v->rx);
		return wrong;
	}
	*out = &v->nic;
	return NULL;
}

static const struct pci_id ids[] = {
        {VIRTIO_VENDOR, VIRTIO_NET_TRANSITIONAL},
        {VIRTIO_VENDOR, VIRTIO_NET_MODERN},
};

const struct pci_driver virtio_net_driver = {
        .name = "virtio-net",
        .ids = ids,
        .n_ids = ARRAY_SIZE(ids),
        .probe = virtio_net_probe,
};
