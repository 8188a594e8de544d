/* The virtio network card, legacy and modern. Specification: VIRTIO 1.1, section 5.1, with
 * the split virtqueues of 2.6 and the transport of virtio_pci.c.
 *
 * There is one receive and one transmit queue. A packet takes one slot of its queue, and
 * slot i is descriptor i. If the device allows any layout, the header is in the
 * packet's headroom directly before the frame, and one descriptor covers both. A legacy
 * device without ANY_LAYOUT gets the header in descriptor i and the frame in descriptor i +
 * slots (2.6.4.2).
 *
 * Invariants: `posted` and `taken` are free-running 16-bit counters; posted - taken is the
 * number of slots that the device has. In the receive queue that is always all slots: a
 * slot whose packet was taken goes back to the device at once with another packet. Slots
 * are used in a fixed order, so the available ring is written only once, and place k of it
 * names slot k. A device that returns buffers in another order changes that; `order` then
 * holds the real order. In the transmit queue, slot[] is NULL where the device has no
 * packet. An index or ID from the device is used only after a check against this state. The
 * driver stops using a device that breaks the rules: the device is BROKEN until poll() has
 * reset and restarted it. The time between restarts doubles as long as the device keeps
 * breaking the rules. Registers are accessed at most once a burst, and only when the device
 * requests it.
 *
 * Left out on purpose: offloads and merged buffers (a gateway forwards frames one by one
 * and unchanged), EVENT_IDX (flags are enough when each side looks again), packed rings,
 * the control queue (without it the card accepts every frame, 5.1.6.5.1, and the gateway
 * checks addresses itself). A transmit queue that makes no progress is not reset: a stopped
 * back end looks the same. A device may return transmit buffers in any order, but a buffer
 * that it keeps stops the queue when its slot is next in order. */
#include "drivers/net/nic_list.h"
#include "drivers/net/virtio/virtio_pci.h"
#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"
#include "kernel/lib/log.h"
#include "kernel/seam/panic.h"

#define SLOTS          256u      /* most packets in a queue */
#define FRAME_PAD      60u       /* IEEE 802.3, 4.2.3.3, without FCS */
#define RETRY_FIRST_US 100000u   /* first time between two restarts */
#define RETRY_LAST_US  60000000u /* it doubles up to this time */

struct vq {
	struct virtio_ring ring;
	struct virtio_desc *data; /* the descriptors of the frames, by slot */
	uint32_t mask;            /* number of ring entries - 1 */
	uint32_t slots, last;     /* slots: a power of two, at most SLOTS; last: slots - 1 */
	uint16_t posted, taken;
	uint16_t order[SLOTS]; /* receive queue: slots by place in the ring */
	struct pkt *slot[SLOTS];
};

enum state { STOPPED, RUNNING, BROKEN };

struct virtio_net {
	struct nic nic; /* must be first: the ops get a pointer to it */
	struct virtio_pci pci;
	struct vq rx, tx;
	enum state state;
	bool armed;      /* the device may interrupt for received frames */
	bool tx_armed;   /* the device may interrupt for sent frames */
	bool tx_refused; /* the last tx() found the queue full */
	bool has_status; /* the configuration has the carrier state */
	bool split;      /* the header has a descriptor of its own */
	uint32_t header; /* bytes of the header */
	uint32_t front;  /* bytes of the header in the frame's descriptor: `header` or 0 */
	bool started;    /* the last restart succeeded, at started_us */
	uint64_t retry_at_us, retry_us, started_us;
	uint64_t said;                         /* for log_limited */
	uint8_t no_offload[VIRTIO_NET_HEADER]; /* zeros: header of sent frames if `split` */
};

static struct virtio_net *card(struct nic *nic)
{
	return (struct virtio_net *)(void *)nic;
}

/* Marks a device that broke the rules. The driver believes nothing from it until poll() has
 * restarted it. Its buffers stay allocated, because the device may still write to them. */
static void mark_broken(struct virtio_net *v, const char *why)
{
	v->state = BROKEN;
	v->nic.carrier.up = false;
	log_limited(&v->said, 10000, "virtio-net %02x:%02x.%x: %s", v->nic.pci.bus, v->nic.pci.dev,
	            v->nic.pci.fn, why);
}

/* Publishes new ring entries, and notifies the device unless its flag says not to
 * (2.6.13.3, 2.6.13.4). The flag is read after the index is written. */
static inline void publish(struct virtio_net *v, struct vq *q, uint16_t n)
{
	io_wmb();
	q->ring.avail[1] = q->posted;
	io_mb();
	if (!(q->ring.used[0] & VIRTIO_USED_NO_NOTIFY))
		virtio_pci_notify(&v->pci, n);
}

/* --- receiving ------------------------------------------------------------------- */

/* Puts packet p into slot `id` for the device to fill. */
static inline void rx_place(struct virtio_net *v, uint32_t id, struct pkt *p)
{
	struct vq *q = &v->rx;
	uint32_t at = (uint32_t)dma_addr(p->data);
	pkt_lend(p);
	q->slot[id] = p;
	q->data[id].addr = at - v->front;
}

/* Sets the header descriptors of the slots at places `from` to `to` (split form). */
static __attribute__((noinline)) void rx_split(struct virtio_net *v, uint32_t from, uint32_t to)
{
	struct vq *q = &v->rx;
	for (; from != to; from++) {
		uint32_t id = q->order[from & q->last];
		q->ring.desc[id].addr = q->data[id].addr - v->header;
	}
}

/* Writes slot `id` into a place of the ring, and into all places with the same slot when
 * the ring has more entries than there are slots. */
static void ring_name(struct vq *q, uint32_t place, uint32_t id)
{
	place &= q->last;
	q->order[place] = (uint16_t)id;
	for (uint32_t k = place; k <= q->mask; k += q->slots)
		q->ring.avail[2 + k] = (uint16_t)id;
}

/* The device may use buffers in any order (2.6.9). Looks for slot `id` among the slots due
 * after place `at`, and exchanges it with the slot due at `at`. The device has read both
 * places, so they may change. False when the device does not have the slot. This includes a
 * slot that was given back since place `shown` and is not yet published. */
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

/* Gives the number of used entries that wait; 0 also when the device's index is wrong. */
static inline uint32_t rx_waiting(struct virtio_net *v, struct vq *q)
{
	uint32_t n = (uint16_t)(q->ring.used[1] - q->taken);
	if (LIKELY(n <= q->slots))
		return n;
	v->nic.count.rx_errors++;
	mark_broken(v, "receive index out of range");
	return 0;
}

static uint32_t virtio_net_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct virtio_net *v = card(nic);
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
	io_rmb(); /* read the entries after the index that covers them */
	uint32_t at = q->taken;
	do {
		uint32_t id = q->ring.done[at & q->mask].id;
		uint32_t len = q->ring.done[at & q->mask].len - v->header;
		if (UNLIKELY(id != q->order[at & q->last]) && !rx_exchange(q, at, q->posted, id)) {
			nic->count.rx_errors++;
			mark_broken(v, "received into a buffer it does not have");
			return (uint32_t)(to - burst);
		}
		struct pkt *p = q->slot[id], *fresh;
		if (UNLIKELY(len - NIC_FRAME_MIN > NIC_FRAME_MAX - NIC_FRAME_MIN)) {
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

/* Frees the packets that were sent (2.6.14). */
static inline void tx_reclaim(struct virtio_net *v)
{
	struct vq *q = &v->tx;
	uint32_t n = (uint16_t)(q->ring.used[1] - q->taken);
	if (n == 0)
		return;
	if (UNLIKELY(n > (uint16_t)(q->posted - q->taken))) {
		mark_broken(v, "transmit index out of range");
		return;
	}
	io_rmb();
	uint32_t at = q->taken;
	do {
		uint32_t id = q->ring.done[at & q->mask].id;
		struct pkt *p = LIKELY(id < q->slots) ? q->slot[id] : NULL;
		if (UNLIKELY(!p)) {
			mark_broken(v, "sent a buffer it does not have");
			return;
		}
		q->slot[id] = NULL;
		pkt_free(p);
		at++;
	} while (--n > 0);
	q->taken = (uint16_t)at;
}

/* Pads a frame with zeros to FRAME_PAD bytes. False when the slot has no room. */
static bool tx_pad(struct pkt *p)
{
	uint32_t n = FRAME_PAD - p->len;
	uint8_t *at = pkt_put(p, n);
	if (at)
		memset(at, 0, n);
	return at != NULL;
}

/* Frees n packets and adds n to *counter. Gives n. */
static uint32_t tx_drop(uint64_t *counter, struct pkt **burst, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		pkt_free(burst[i]);
	*counter += n;
	return n;
}

static uint32_t virtio_net_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct virtio_net *v = card(nic);
	struct vq *q = &v->tx;
	if (LIKELY(v->state == RUNNING))
		tx_reclaim(v);
	if (UNLIKELY(v->tx_armed)) {
		v->tx_armed = false;
		q->ring.avail[0] = VIRTIO_AVAIL_NO_INTERRUPT;
	}
	if (UNLIKELY(!nic->carrier.up))
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
		/* The split form needs the same headroom for the header, so that a frame
		 * passes either on all devices or on none. 5.1.6.2.1: no offload was
		 * negotiated, so all header fields are zero. The legacy header is two bytes
		 * shorter. */
		uint8_t *at = p->data;
		uint32_t len = p->len;
		*slot = p;
		store32(at - 12, 0);
		store32(at - 8, 0);
		store32(at - 4, 0);
		struct virtio_desc *d = &q->data[posted & q->last];
		d->addr = (uint32_t)dma_addr(at) - v->front;
		d->len = len + v->front;
		posted++; /* the place in the ring holds the slot's number already */
	}
	if (LIKELY((uint16_t)posted != q->posted)) {
		q->posted = (uint16_t)posted;
		publish(v, q, VIRTIO_NET_TX);
	}
	v->tx_refused = from != end;
	return (uint32_t)(from - burst);
}

/* --- starting and stopping ---------------------------------------------------------- */

/* Gives how many packets a queue holds. */
static uint32_t queue_held(const struct vq *q)
{
	uint32_t n = 0;
	for (uint32_t id = 0; id < SLOTS; id++)
		n += q->slot[id] != NULL;
	return n;
}

/* Allocates queue n and sets the fixed fields of its descriptors. Gives NULL, or a text
 * that says what is wrong. */
static const char *queue_init(struct virtio_net *v, struct vq *q, uint16_t n)
{
	uint32_t size = virtio_pci_queue_size(&v->pci, n);
	if (v->pci.modern && size > SLOTS && (size & (size - 1)) == 0)
		size = SLOTS; /* a legacy device does not accept a smaller size */
	const char *wrong = virtio_pci_ring(&q->ring, size);
	if (wrong)
		return wrong;
	q->mask = size - 1;
	q->slots = min_u32(v->split ? size / 2 : size, SLOTS);
	if (q->slots == 0)
		return "queue too small";
	if (n == VIRTIO_NET_RX) /* with a small pool: as many slots as it can fill */
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

/* Gives the device all slots: with the packets that the queue holds from before a reset,
 * then with fresh packets. The pool has enough of them (queue_init). */
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

/* Frees all packets of a queue. The device must be reset. Gives how many packets there
 * were. */
static uint32_t queue_free(struct vq *q)
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

/* Reads the card's MAC address (5.1.5). A card without one gets a locally administered
 * address that is made from its PCI position. It is the same at each start and differs
 * between slots, but the same slot in another machine has the same address. */
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

/* Reads the carrier state. A device that does not report it counts as up. */
static void read_carrier(struct virtio_net *v)
{
	uint16_t s = VIRTIO_NET_LINK_UP;
	if (v->has_status)
		s = virtio_pci_config16(&v->pci, VIRTIO_NET_C_STATUS);
	v->nic.carrier.up = s & VIRTIO_NET_LINK_UP;
}

/* Negotiates features and sets up the queues (3.1.1, from step 4 on). Gives NULL, or a text
 * that says what is wrong. */
static const char *set_up(struct virtio_net *v)
{
	uint64_t want = VIRTIO_NET_F_MAC | VIRTIO_NET_F_STATUS;
	/* Both platform features are accepted when offered: bus addresses are physical
	 * addresses here, and x86 keeps the order of accesses (6.1). */
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

/* Resets and starts the device. Gives NULL, or a text that says what is wrong: then the
 * device is idle, or, if it did not reset, has no bus access. */
static const char *start(struct virtio_net *v)
{
	v->state = BROKEN;
	v->nic.carrier.up = false;
	if (!virtio_pci_reset(&v->pci)) {
		pci_cut(&v->nic.pci);
		return "does not reset";
	}
	v->nic.count.tx_errors += queue_free(&v->tx);
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
	publish(v, &v->rx, VIRTIO_NET_RX); /* notify only after DRIVER_OK */
	read_carrier(v);
	return NULL;
}

/* Restarts a broken device, if the time for the next attempt has come. */
static void restart(struct virtio_net *v, uint64_t now_us)
{
	if (now_us < v->retry_at_us)
		return;
	if (v->started && now_us - v->started_us > RETRY_LAST_US)
		v->retry_us = RETRY_FIRST_US; /* it worked long enough */
	v->started = false;
	v->retry_at_us = now_us + v->retry_us;
	if (v->retry_us < RETRY_LAST_US)
		v->retry_us *= 2;
	v->nic.count.resets++;
	pci_enable(&v->nic.pci);
	const char *wrong = start(v);
	if (wrong) {
		mark_broken(v, wrong);
		return;
	}
	v->started = true;
	v->started_us = now_us;
}

static void virtio_net_poll(struct nic *nic, uint64_t now_us)
{
	struct virtio_net *v = card(nic);
	if (v->state == STOPPED)
		return;
	if (v->state == RUNNING && virtio_pci_status(&v->pci) & VIRTIO_NEEDS_RESET)
		mark_broken(v, "the device needs a reset"); /* 2.1.2 */
	if (v->state == RUNNING)
		tx_reclaim(v);
	if (v->state == BROKEN) {
		restart(v, now_us);
		return;
	}
	read_carrier(v);
}

/* Reading the cause first lowers the interrupt line. A later event raises the line again;
 * an earlier one is found by looking at the ring (2.6.7.1). Sent frames wake the processor
 * only when tx() refused frames. */
static bool virtio_net_arm(struct nic *nic)
{
	struct virtio_net *v = card(nic);
	struct vq *q = &v->rx;
	if (v->state == STOPPED)
		return false;
	uint8_t cause = virtio_pci_isr(&v->pci);
	if (v->state != RUNNING)
		return false;
	if (cause & VIRTIO_ISR_CONFIG)
		read_carrier(v);
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
	struct virtio_net *v = card(nic);
	v->state = STOPPED;
	nic->carrier.up = false;
	/* In both cases all DMA ends, and the packets belong to the driver again. */
	if (!virtio_pci_reset(&v->pci))
		pci_cut(&v->nic.pci);
	queue_free(&v->rx);
	queue_free(&v->tx);
}

/* Without the control queue the card accepts every frame (5.1.6.5.1). */
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
	v->nic.carrier.full_duplex = true;
	v->started = true;
	v->retry_us = RETRY_FIRST_US;
	const char *wrong = virtio_pci_open(&v->pci, dev);
	if (wrong)
		return wrong;
	wrong = start(v);
	if (wrong) {
		queue_free(&v->rx);
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
