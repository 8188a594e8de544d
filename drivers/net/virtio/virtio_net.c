/* The virtio network card, legacy and modern. Specification: VIRTIO 1.1,
 * section 5.1 over the split queues of 2.6 and the transport of virtio_pci.c.
 *
 * One receive and one transmit queue. A packet takes one slot of its queue, and
 * slot i is descriptor i: where the device allows any layout the header stands
 * in the packet's headroom right before the frame and one descriptor covers
 * both; legacy devices without ANY_LAYOUT get the header in descriptor i and
 * the frame in descriptor i + slots (2.6.4.2).
 *
 * Invariants: `posted` and `taken` run free over 16 bits and posted - taken is
 * what the device has. Receiving, that is all slots, always: a slot is given back
 * to the device as soon as it was taken, with another packet in it. Slots are
 * used in turn, so the available ring is written once and place k of it names
 * slot k; a device that returns buffers out of order changes that, and `order`
 * keeps the truth. Sending, slot[] is NULL while the device has none. An index or
 * an id from the device is used only after it agreed with that. A device that
 * breaks the rules is not followed any further: it is `broken` until poll() has
 * reset it and started it again, less and less often if it goes on. Registers
 * are touched once a burst at most, and only when the device asks for it.
 *
 * Left out on purpose: offloads and merged buffers (a gateway passes frames on
 * one by one and as they are), EVENT_IDX (flags do as well when each side
 * looks again), packed rings, the control queue: without it the card passes
 * every frame (5.1.6.5.1), and the gateway looks at addresses itself. A transmit
 * queue that stands still is not reset: a stopped back end looks like that. A
 * device may give transmit buffers back in any order, but one that it keeps
 * stops the queue when its turn comes again. */
#include "drivers/net/nic_list.h"
#include "drivers/net/virtio/virtio_pci.h"
#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"
#include "kernel/lib/log.h"
#include "kernel/seam/panic.h"

#define SLOTS          256u      /* packets in a queue, at most */
#define FRAME_MIN      14u       /* an Ethernet header */
#define FRAME_PAD      60u       /* IEEE 802.3, 4.2.3.3, without FCS */
#define RETRY_FIRST_US 100000u   /* from one start again to the next … */
#define RETRY_LAST_US  60000000u /* … doubling up to this */

struct vq {
	struct virtio_ring ring;
	struct virtio_desc *data; /* the descriptors with the frames, by slot */
	uint32_t mask;            /* of a place in the ring */
	uint32_t slots, last;     /* a power of two, at most SLOTS; one less */
	uint16_t posted, taken;
	uint16_t order[SLOTS]; /* receive: slots by place in the ring */
	struct pkt *slot[SLOTS];
};

enum state { STOPPED, RUNNING, BROKEN };

struct virtio_net {
	struct nic nic; /* first: the two addresses are one */
	struct virtio_pci pci;
	struct vq rx, tx;
	enum state state;
	bool armed;      /* the device may interrupt for received frames … */
	bool tx_armed;   /* … and for sent ones */
	bool tx_refused; /* the last tx() found the queue full */
	bool has_status; /* link state in the configuration */
	bool split;      /* header in a descriptor of its own */
	uint32_t header; /* its bytes */
	uint32_t front;  /* those that share the frame's descriptor: all or none */
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

static inline void rx_place(struct virtio_net *v, uint32_t id, struct pkt *p)
{
	struct vq *q = &v->rx;
	uint32_t at = (uint32_t)dma_addr(p->data);
	pkt_lend(p);
	q->slot[id] = p;
	q->data[id].addr = at - v->front;
}

/* The headers of the slots at places `from` to `to`, in descriptors of their own. */
static __attribute__((noinline)) void rx_split(struct virtio_net *v, uint32_t from, uint32_t to)
{
	struct vq *q = &v->rx;
	for (; from != to; from++) {
		uint32_t id = q->order[from & q->last];
		q->ring.desc[id].addr = q->data[id].addr - v->header;
	}
}

/* Names slot `id` at a place of the ring and at those that come to it when the
 * ring is longer than there are slots. */
static void ring_name(struct vq *q, uint32_t place, uint32_t id)
{
	place &= q->last;
	q->order[place] = (uint16_t)id;
	for (uint32_t k = place; k <= q->mask; k += q->slots)
		q->ring.avail[2 + k] = (uint16_t)id;
}

/* The device may use buffers in any order (2.6.9): finds slot `id` among those
 * due after place `at` and exchanges it with the one due there. It has read both
 * places, so they can change. False when it has no such slot, which is so as
 * well for one given back since place `shown`, which it has not been shown. */
static __attribute__((noinline)) bool rx_exchange(struct vq *q, uint32_t at, uint32_t shown,
                                                  uint32_t id)
{
	for (uint16_t k = (uint16_t)(at + 1); k != (uint16_t)shown; k++)
		if (q->order[k & q->last] == id) {
			ring_name(q, k, q->order[at & q->last]);
			ring_name(q, at, id);
			return true;
		}
	return false;
}

/* Entries of the used ring that wait; 0 as well when the device lies about it. */
static inline uint32_t rx_waiting(struct virtio_net *v, struct vq *q)
{
	uint32_t n = (uint16_t)(q->ring.used[1] - q->taken);
	if (LIKELY(n <= q->slots))
		return n;
	v->nic.count.rx_errors++;
	broken(v, "receive index out of range");
	return 0;
}

static uint32_t virtio_net_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct virtio_net *v = of(nic);
	struct vq *q = &v->rx;
	struct pkt **to = burst;
	if (UNLIKELY(v->state != RUNNING))
		return 0;
	uint32_t n = min_u32(min_u32(rx_waiting(v, q), max), NIC_BURST);
	if (n == 0)
		return 0;
	if (v->armed) {
		v->armed = false;
		q->ring.avail[0] = VIRTIO_AVAIL_NO_INTERRUPT;
	}
	io_rmb(); /* entries only after the index that covers them */
	uint32_t at = q->taken;
	do {
		uint32_t id = q->ring.done[at & q->mask].id;
		uint32_t len = q->ring.done[at & q->mask].len - v->header;
		if (UNLIKELY(id != q->order[at & q->last]) && !rx_exchange(q, at, q->posted, id)) {
			nic->count.rx_errors++;
			broken(v, "received into a buffer it does not have");
			return (uint32_t)(to - burst);
		}
		struct pkt *p = q->slot[id], *fresh;
		if (UNLIKELY(len - FRAME_MIN > PKT_ROOM - FRAME_MIN)) {
			nic->count.rx_errors++;
		} else if (UNLIKELY(!(fresh = pkt_alloc(nic->pool)))) {
			nic->count.rx_no_packet++;
		} else {
			pkt_filled(p, len);
			*to++ = p;
			rx_place(v, id, fresh);
		}
		at++;
	} while (--n > 0);
	if (UNLIKELY(v->split))
		rx_split(v, q->taken, at);
	q->taken = (uint16_t)at;
	q->posted = (uint16_t)(at + q->slots);
	publish(v, q, VIRTIO_NET_RX);
	return (uint32_t)(to - burst);
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
	uint32_t at = q->taken;
	do {
		uint32_t id = q->ring.done[at & q->mask].id;
		struct pkt *p = LIKELY(id < q->slots) ? q->slot[id] : NULL;
		if (UNLIKELY(!p)) {
			broken(v, "sent a buffer it does not have");
			return;
		}
		q->slot[id] = NULL;
		pkt_free(p);
		at++;
	} while (--n > 0);
	q->taken = (uint16_t)at;
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
	if (UNLIKELY(v->tx_armed)) {
		v->tx_armed = false;
		q->ring.avail[0] = VIRTIO_AVAIL_NO_INTERRUPT;
	}
	if (UNLIKELY(!nic->link.up))
		return tx_drop(&nic->count.tx_link_down, burst, n);
	uint32_t posted = q->posted;
	struct pkt **from = burst, **end = burst + n;
	for (; from != end; from++) {
		struct pkt *p = *from, **slot = &q->slot[posted & q->last];
		if (UNLIKELY(*slot != NULL))
			break; /* full */
		if (UNLIKELY(p->len < FRAME_PAD && !tx_pad(p)) ||
		    UNLIKELY(p->data < p->bytes + VIRTIO_NET_HEADER)) {
			tx_drop(&nic->count.tx_errors, &p, 1);
			continue;
		}
		/* The header has its headroom in the split form as well, so that no
		 * frame passes on one device and not on another. 5.1.6.2.1: no
		 * offload was negotiated, so all of it is zero; the legacy one is
		 * two bytes shorter. */
		uint8_t *at = p->data;
		uint32_t len = p->len;
		*slot = p;
		store32(at - 12, 0);
		store32(at - 8, 0);
		store32(at - 4, 0);
		struct virtio_desc *d = &q->data[posted & q->last];
		d->addr = (uint32_t)dma_addr(at) - v->front;
		d->len = len + v->front;
		posted++; /* the place in the ring names the slot already */
	}
	if (LIKELY((uint16_t)posted != q->posted)) {
		q->posted = (uint16_t)posted;
		publish(v, q, VIRTIO_NET_TX);
	}
	v->tx_refused = from != end;
	return (uint32_t)(from - burst);
}

/* --- starting and stopping ---------------------------------------------------------- */

static uint32_t queue_held(const struct vq *q)
{
	uint32_t n = 0;
	for (uint32_t id = 0; id < SLOTS; id++)
		n += q->slot[id] != NULL;
	return n;
}

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
	q->slots = min_u32(v->split ? size / 2 : size, SLOTS);
	if (q->slots == 0)
		return "queue too small";
	if (n == VIRTIO_NET_RX) /* a short pool: as many as it can fill */
		while (q->slots > queue_held(q) + v->nic.pool->n_free)
			q->slots /= 2;
	if (q->slots == 0)
		return "no packets to receive into";
	q->last = q->slots - 1;
	q->data = q->ring.desc + (v->split ? q->slots : 0);
	q->posted = q->taken = 0;
	q->ring.avail[0] = VIRTIO_AVAIL_NO_INTERRUPT;
	uint16_t flags = n == VIRTIO_NET_RX ? VIRTIO_DESC_WRITE : 0;
	for (uint32_t id = 0; id < q->slots; id++) {
		q->data[id].len = PKT_ROOM + v->front;
		q->data[id].flags = flags;
		if (v->split)
			q->ring.desc[id] = (struct virtio_desc){
			        .addr = (uint32_t)dma_addr(v->no_offload),
			        .len = v->header,
			        .flags = flags | VIRTIO_DESC_NEXT,
			        .next = (uint16_t)(id + q->slots),
			};
		ring_name(q, id, id);
	}
	return virtio_pci_queue_start(&v->pci, n, &q->ring);
}

/* Offers what the queue holds from before a reset, then fresh packets. The pool
 * has them (queue_init). */
static void rx_start(struct virtio_net *v)
{
	struct vq *q = &v->rx;
	for (uint32_t id = 0; id < SLOTS; id++) {
		struct pkt *p = q->slot[id];
		if (id < q->slots) {
			p = p ? p : pkt_alloc(v->nic.pool);
			ASSERT(p);
			rx_place(v, id, p);
		} else if (p) {
			q->slot[id] = NULL;
			pkt_free(p);
		}
	}
	q->posted = (uint16_t)q->slots;
	if (v->split)
		rx_split(v, 0, q->slots);
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
	v->front = v->split ? 0 : v->header;
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
	virtio_pci_status_add(&v->pci, VIRTIO_DRIVER_OK);
	v->state = RUNNING;
	v->armed = v->tx_armed = v->tx_refused = false;
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
}

/* Reading the cause first lowers the line; what comes after that raises it
 * again, and what came before is found by looking (2.6.7.1). Sent frames wake
 * only when tx() had to refuse some. */
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
	if (UNLIKELY(v->tx_refused)) {
		v->tx.ring.avail[0] = 0;
		v->tx_armed = true;
	}
	io_mb();
	bool room = v->tx_refused && v->tx.ring.used[1] != v->tx.taken;
	if (q->ring.used[1] == q->taken)
		return room;
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
