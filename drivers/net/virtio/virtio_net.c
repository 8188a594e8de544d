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
 * Offloads (5.1.3: checksums, segmentation, merged buffers) are taken where the device offers them,
 * down to none: virtio_offload.c moves frames then, else virtio_plain.c. Segmentation in the
 * transmit queue needs indirect descriptors, so that a packet takes one slot there too.
 *
 * Left out on purpose: packed rings, the
 * control queue (without it the card accepts every frame, 5.1.6.5.1, and the gateway checks
 * addresses itself). A transmit queue that makes no progress is not reset: a stopped back end looks
 * the same. A device may return transmit buffers in any order, but a buffer that it keeps stops the
 * queue when its slot is next in order. */
#include "drivers/net/nic_list.h"
#include "drivers/net/virtio/virtio_net.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/panic.h"

#define RETRY_FIRST_US 100000u   /* first time between two restarts */
#define RETRY_LAST_US  60000000u /* it doubles up to this time */

void virtio_net_broken(struct virtio_net *v, const char *why)
{
	v->state = VIRTIO_BROKEN;
	v->nic.carrier.up = false;
	log_limited(&v->said, 10000, "virtio-net %02x:%02x.%x: %s", v->nic.pci.bus, v->nic.pci.dev,
	            v->nic.pci.fn, why);
}

/* --- packets in the queues -------------------------------------------------------- */

void virtio_net_rx_split(struct virtio_net *v, uint32_t from, uint32_t to)
{
	struct virtio_queue *q = &v->rx;
	for (; from != to; from++) {
		uint32_t id = q->order[from & q->last];
		q->ring.desc[id].addr = q->data[id].addr - v->header;
	}
}

/* Writes slot `id` into a place of the ring, and into all places with the same slot when
 * the ring has more entries than there are slots. */
static void ring_name(struct virtio_queue *q, uint32_t place, uint32_t id)
{
	place &= q->last;
	q->order[place] = (uint16_t)id;
	for (uint32_t k = place; k <= q->mask; k += q->slots)
		q->ring.avail[2 + k] = (uint16_t)id;
}

bool virtio_net_exchange(struct virtio_queue *q, uint32_t at, uint32_t shown, uint32_t id)
{
	for (uint16_t k = (uint16_t)(at + 1); k != (uint16_t)shown; k++)
		if (q->order[k & q->last] == id) {
			ring_name(q, k, q->order[at & q->last]);
			ring_name(q, at, id);
			return true;
		}
	return false;
}

bool virtio_net_pad(struct pkt *p)
{
	uint32_t n = VIRTIO_NET_PAD - p->len;
	uint8_t *at = pkt_put(p, n);
	if (at)
		memset(at, 0, n);
	return at != NULL;
}

uint32_t virtio_net_drop(uint64_t *counter, struct pkt **burst, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		*counter += pkt_segments(burst[i]);
		pkt_free_all(burst[i]);
	}
	return n;
}

/* --- starting and stopping ---------------------------------------------------------- */

/* Gives how many packets a queue holds. */
static uint32_t queue_held(const struct virtio_queue *q)
{
	uint32_t n = 0;
	for (uint32_t id = 0; id < VIRTIO_NET_SLOTS; id++)
		n += q->slot[id] != NULL;
	return n;
}

/* Allocates queue n and sets the fixed fields of its descriptors. Gives NULL, or a text
 * that says what is wrong. */
static const char *queue_init(struct virtio_net *v, struct virtio_queue *q, uint16_t n)
{
	uint32_t size = virtio_pci_queue_size(&v->pci, n);
	if (v->pci.modern && size > VIRTIO_NET_SLOTS && (size & (size - 1)) == 0)
		size = VIRTIO_NET_SLOTS; /* a legacy device does not accept a smaller size */
	const char *wrong = virtio_pci_ring(&q->ring, size);
	if (wrong)
		return wrong;
	q->mask = size - 1;
	q->slots = min_u32(v->split ? size / 2 : size, VIRTIO_NET_SLOTS);
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
	virtio_net_interrupt(v, q, false);
	if (v->events)
		*q->ring.used_event = 0xffff; /* the entry furthest away */
	uint16_t flags = n == VIRTIO_NET_RX ? VIRTIO_DESC_WRITE : 0;
	for (uint32_t id = 0; id < q->slots; id++) {
		q->data[id].len = v->room + v->front;
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
	struct virtio_queue *q = &v->rx;
	for (uint32_t id = 0; id < VIRTIO_NET_SLOTS; id++) {
		struct pkt *p = q->slot[id];
		if (id < q->slots) {
			p = p ? p : pkt_alloc(v->nic.pool);
			ASSERT(p);
			virtio_net_rx_place(v, id, p);
		} else if (p) {
			q->slot[id] = NULL;
			pkt_free(p);
		}
	}
	q->posted = (uint16_t)q->slots;
	if (v->split)
		virtio_net_rx_split(v, 0, q->slots);
}

/* Frees all packets of a queue. The device must be reset. Gives how many frames they stood
 * for. */
static uint32_t queue_free(struct virtio_queue *q)
{
	uint32_t n = 0;
	for (uint32_t id = 0; id < VIRTIO_NET_SLOTS; id++) {
		if (!q->slot[id])
			continue;
		n += pkt_segments(q->slot[id]);
		pkt_free_all(q->slot[id]);
		q->slot[id] = NULL;
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

#define OFFLOADS_TX                                                                \
	(VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6 | VIRTIO_NET_F_HOST_ECN | \
	 VIRTIO_NET_F_HOST_USO | VIRTIO_F_INDIRECT_DESC)
#define GUEST_USO (VIRTIO_NET_F_GUEST_USO4 | VIRTIO_NET_F_GUEST_USO6)
#define OFFLOADS_RX                                                                               \
	(VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6 | VIRTIO_NET_F_GUEST_ECN | GUEST_USO | \
	 VIRTIO_NET_F_MRG_RXBUF)
#define OFFLOADS (VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM | OFFLOADS_TX | OFFLOADS_RX)

/* Gives those of the offered features that the driver accepts (5.1.3.1 says which need which).
 * Events come with offloads only: without, they cost a frame more instructions than they save.
 * Super-segments of UDP come with those of TCP only, received ones over both versions of IP or
 * none: their type does not say which. A device that refused a set, or whose queues are too short
 * for it, is offered less: first no super-segments, then no offloads and no events. */
static uint64_t choose(const struct virtio_net *v, uint64_t offered)
{
	uint64_t want = VIRTIO_NET_F_MAC | VIRTIO_NET_F_STATUS | VIRTIO_F_EVENT_IDX | OFFLOADS;
	/* Both platform features are accepted when offered: bus addresses are physical
	 * addresses here, and x86 keeps the order of accesses (6.1). */
	want |= v->pci.modern
	                ? VIRTIO_F_VERSION_1 | VIRTIO_F_ACCESS_PLATFORM | VIRTIO_F_ORDER_PLATFORM
	                : VIRTIO_F_ANY_LAYOUT;
	uint64_t f = offered & want;
	if ((f & GUEST_USO) != GUEST_USO)
		f &= ~GUEST_USO;
	if (v->refused > 1 || !(f & (VIRTIO_F_VERSION_1 | VIRTIO_F_ANY_LAYOUT)))
		return f & ~(OFFLOADS | VIRTIO_F_EVENT_IDX);
	if (!(f & (VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM)))
		f &= ~VIRTIO_F_EVENT_IDX;
	if (v->refused > 0 || !(f & VIRTIO_NET_F_CSUM) || !(f & VIRTIO_F_INDIRECT_DESC) ||
	    !(f & (VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6)))
		f &= ~OFFLOADS_TX;
	if (v->refused > 0 || !(f & VIRTIO_NET_F_GUEST_CSUM) || !(f & VIRTIO_NET_F_MRG_RXBUF) ||
	    !(f & (VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6)))
		f &= ~OFFLOADS_RX;
	return f;
}

static const struct nic_ops plain, offload;

/* What tx does with partial packets. */
static uint32_t offloads_of(uint64_t f)
{
	return (f & VIRTIO_NET_F_CSUM ? NIC_SUM : 0u) |
	       (f & VIRTIO_NET_F_HOST_TSO4 ? NIC_TSO4 : 0u) |
	       (f & VIRTIO_NET_F_HOST_TSO6 ? NIC_TSO6 : 0u) |
	       (f & VIRTIO_NET_F_HOST_ECN ? NIC_ECN : 0u) |
	       (f & VIRTIO_NET_F_HOST_USO ? NIC_USO : 0u);
}

/* Takes note of the features that the device accepted. Gives NULL, or a text that says what is
 * wrong. */
static const char *take_features(struct virtio_net *v, uint64_t f)
{
	v->features = f;
	v->has_status = f & VIRTIO_NET_F_STATUS;
	v->events = f & VIRTIO_F_EVENT_IDX;
	v->split = !(f & (VIRTIO_F_VERSION_1 | VIRTIO_F_ANY_LAYOUT));
	/* 5.1.6.1: num_buffers is there with merged buffers too */
	v->header = v->pci.modern || f & VIRTIO_NET_F_MRG_RXBUF ? VIRTIO_NET_HEADER
	                                                        : VIRTIO_NET_HEADER_0_9;
	v->front = v->split ? 0 : v->header;
	v->room = f & VIRTIO_NET_F_MRG_RXBUF ? v->nic.pool->room : PKT_ROOM;
	v->nic.offloads = offloads_of(f);
	v->nic.ops = f & OFFLOADS ? &offload : &plain;
	if (f & VIRTIO_F_INDIRECT_DESC && !v->table)
		v->table = alloc(VIRTIO_NET_SLOTS * sizeof *v->table, 64);
	return f & VIRTIO_F_INDIRECT_DESC && !v->table ? "no memory for descriptors" : NULL;
}

/* True when the queues hold no super-segment of any length: one needs up to PKT_PIECES buffers of
 * the receive queue at once, and a table is no longer than the transmit queue (2.6.5.3.1). */
static bool too_short(const struct virtio_net *v)
{
	return (v->features & VIRTIO_NET_F_MRG_RXBUF && v->rx.slots < PKT_PIECES) ||
	       (v->features & VIRTIO_F_INDIRECT_DESC && v->tx.ring.size < PKT_PIECES);
}

/* Negotiates features and sets up the queues (3.1.1, from step 4 on). Gives NULL, or a text
 * that says what is wrong. */
static const char *set_up(struct virtio_net *v)
{
	uint64_t features = choose(v, virtio_pci_features(&v->pci));
	if (v->pci.modern && !(features & VIRTIO_F_VERSION_1))
		return "modern registers without VERSION_1";
	if (!virtio_pci_accept(&v->pci, features)) {
		v->refused += features & OFFLOADS ? 1 : 0;
		return "features refused";
	}
	const char *wrong = take_features(v, features);
	if (wrong)
		return wrong;
	read_mac(v, features);
	wrong = queue_init(v, &v->rx, VIRTIO_NET_RX);
	if (!wrong)
		wrong = queue_init(v, &v->tx, VIRTIO_NET_TX);
	if (!wrong && too_short(v)) {
		v->refused++;
		return "queues too short for super-segments";
	}
	return wrong;
}

/* Resets and starts the device once. As start. */
static const char *start_once(struct virtio_net *v)
{
	v->state = VIRTIO_BROKEN;
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
	v->state = VIRTIO_RUNNING;
	v->armed = v->tx_armed = v->tx_refused = false;
	virtio_net_publish(v, &v->rx, VIRTIO_NET_RX, v->events); /* notify only after DRIVER_OK */
	read_carrier(v);
	return NULL;
}

/* Resets and starts the device, with fewer features if it refuses some. Gives NULL, or a text that
 * says what is wrong: then the device is idle, or, if it did not reset, has no bus access. */
static const char *start(struct virtio_net *v)
{
	const char *wrong;
	uint32_t refused;
	do {
		refused = v->refused;
		wrong = start_once(v);
	} while (v->refused != refused);
	return wrong;
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
		virtio_net_broken(v, wrong);
		return;
	}
	v->started = true;
	v->started_us = now_us;
}

/* Reads what the device tells by its configuration interrupt: its carrier state, and that it needs
 * a reset (2.1.2). False when it does. */
static bool look_at_status(struct virtio_net *v)
{
	if (virtio_pci_status(&v->pci) & VIRTIO_NEEDS_RESET) {
		virtio_net_broken(v, "the device needs a reset");
		return false;
	}
	read_carrier(v);
	return true;
}

static void virtio_net_poll(struct nic *nic, uint64_t now_us)
{
	struct virtio_net *v = virtio_net_card(nic);
	if (v->state == VIRTIO_STOPPED)
		return;
	if (v->state == VIRTIO_RUNNING && look_at_status(v))
		virtio_net_reclaim(v, true);
	if (v->state == VIRTIO_BROKEN)
		restart(v, now_us);
}

/* Reading the cause first lowers the interrupt line. A later event raises the line again;
 * an earlier one is found by looking at the ring (2.6.7.1). Sent frames wake the processor
 * only when tx() refused frames. */
static bool virtio_net_arm(struct nic *nic)
{
	struct virtio_net *v = virtio_net_card(nic);
	struct virtio_queue *q = &v->rx;
	if (v->state == VIRTIO_STOPPED)
		return false;
	uint8_t cause = virtio_pci_isr(&v->pci);
	if (v->state != VIRTIO_RUNNING)
		return false;
	if (cause & VIRTIO_ISR_CONFIG && !look_at_status(v))
		return false;
	virtio_net_interrupt(v, q, true);
	v->armed = true;
	if (UNLIKELY(v->tx_refused)) {
		virtio_net_interrupt(v, &v->tx, true);
		v->tx_armed = true;
	}
	io_mb();
	bool room = v->tx_refused && v->tx.ring.used[1] != v->tx.taken;
	if (q->ring.used[1] == q->taken)
		return room;
	v->armed = false;
	virtio_net_interrupt(v, q, false);
	return true;
}

static void virtio_net_stop(struct nic *nic)
{
	struct virtio_net *v = virtio_net_card(nic);
	v->state = VIRTIO_STOPPED;
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

static const struct nic_ops plain = {
        .rx = virtio_plain_rx,
        .tx = virtio_plain_tx,
        .poll = virtio_net_poll,
        .arm = virtio_net_arm,
        .stop = virtio_net_stop,
        .filter = virtio_net_filter,
};

static const struct nic_ops offload = {
        .rx = virtio_offload_rx,
        .tx = virtio_offload_tx,
        .tx_partial = virtio_offload_tx,
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
	v->nic.ops = &plain;
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
        .large = true,
        .probe = virtio_net_probe,
};
