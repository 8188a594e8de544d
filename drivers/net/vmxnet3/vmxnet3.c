/* VMware's vmxnet3, as VMware and QEMU emulate it. Registers and memory: vmxnet3_reg.h; commands:
 * vmxnet3_hw.c.
 *
 * Invariants: every receive slot has a packet. All slots but the one before rx_next are the
 * device's: it takes a ring with no slot of the driver's for an empty one. A descriptor changes
 * hands by its generation bit, so to give one is to toggle it. The transmit slots from tx_head up
 * to tx_tail hold frames that the device is to send; at most all but one. An index from the device
 * is used only after a check. No register is read for a packet, and one is written for each burst
 * that is sent.
 *
 * Partial packets are sent by vmxnet3_offload.c. Left out on purpose: received super-segments,
 * whose segment size revision 1 of the interface does not tell; checks of received checksums, which
 * a router has no use for; several queues, message-signalled interrupts, the receive ring for
 * further pieces of a frame. */
#include "drivers/net/vmxnet3/vmxnet3.h"

#include "drivers/net/nic_list.h"
#include "drivers/net/ring.h"
#include "drivers/net/wire.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define RX_MASK (V_RX_RING - 1)
#define TX_MASK (V_TX_RING - 1)

#define POLL_US  5000u /* shortest time between two full runs of poll() */
#define STATS_US 1000000u
#define HANG_US  2000000u

static struct vmxnet3 *card(struct nic *nic)
{
	return (struct vmxnet3 *)nic;
}

/* A word that the device may write at any time. */
static inline uint32_t device_word(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/* True when completion number `seen` is there: the generation is 1 in the first lap, then 0. The
 * lap is moved to the bit of the generation. */
static inline bool done(const struct vmx_done *ring, uint32_t seen, uint32_t size)
{
	uint32_t gen = device_word(&ring[seen & (size - 1)].gen);
	return (gen ^ seen * (DONE_GEN / size)) & DONE_GEN;
}

/* --- receive ------------------------------------------------------------------------------ */

static inline bool rx_waiting(const struct vmxnet3 *v)
{
	return !v->broken && done(v->rx_done, v->rx_seen, V_RX_RING);
}

/* Takes slot rx_next from the device, and gives it the one before. */
static inline void rx_step(struct vmxnet3 *v)
{
	v->rx_desc[(v->rx_next - 1) & RX_MASK].size ^= RX_GEN;
	v->rx_next = (v->rx_next + 1) & RX_MASK;
}

static inline struct pkt **rx_slot(struct vmx_desc *d)
{
	return &((struct vmx_slot *)(d + V_RX_RING))->p;
}

/* Handles the next completion when it is not a good frame in slot rx_next, or no packet is free.
 * Gives its frame, or NULL. */
static __attribute__((noinline)) struct pkt *rx_odd(struct vmxnet3 *v, struct pkt ***top)
{
	const struct vmx_done *d = &v->rx_done[v->rx_seen++ & RX_MASK];
	uint32_t index = device_word(&d->index), size = device_word(&d->size);
	struct pkt *p = NULL;
	if ((index & DONE_INDEX) >= V_RX_RING) {
		v->lies = true;
		return NULL;
	}
	/* The device may skip descriptors. */
	while (v->rx_next != (index & DONE_INDEX))
		rx_step(v);
	struct vmx_desc *at = &v->rx_desc[v->rx_next];
	if ((index & DONE_WHOLE) != DONE_WHOLE || size & DONE_ERROR ||
	    !wire_good_length(size & DONE_LEN)) {
		v->nic.count.rx_errors++;
	} else if (*top == v->nic.pool->stack) {
		v->nic.count.rx_no_packet++;
	} else {
		p = *rx_slot(at);
		*rx_slot(at) = ring_alloc(top);
		at->addr = (uint32_t)dma_addr((*rx_slot(at))->data);
		pkt_filled(p, size & DONE_LEN);
	}
	io_wmb();
	rx_step(v);
	return p;
}

/* Takes good frames, at most n, from the next slots on, up to the end of either ring. */
static inline struct pkt **rx_good(struct vmxnet3 *v, struct pkt **out, uint32_t n,
                                   struct pkt ***free_top)
{
	uint32_t at = v->rx_next, first = v->rx_seen & RX_MASK;
	uint32_t lap = v->rx_seen * (DONE_GEN / V_RX_RING);
	n = min_u32(min_u32(n, V_RX_RING - max_u32(at, first)),
	            (uint32_t)(*free_top - v->nic.pool->stack));
	const struct vmx_done *d = &v->rx_done[first], *from = d, *stop = d + n;
	struct vmx_desc *desc = &v->rx_desc[at], *before = &v->rx_desc[(at - 1) & RX_MASK];
	struct pkt **top = *free_top;
	uint32_t want = at | DONE_WHOLE;
	for (; d != stop; d++, want++) {
		if (!((device_word(&d->gen) ^ lap) & DONE_GEN))
			break;
		io_rmb();
		uint32_t size = device_word(&d->size) & (DONE_LEN | DONE_ERROR);
		if (UNLIKELY((device_word(&d->index) & (DONE_INDEX | DONE_WHOLE)) != want ||
		             !wire_good_length(size)))
			break;
		struct pkt *p = *rx_slot(desc), *fresh = ring_alloc(&top);
		*rx_slot(desc) = fresh;
		desc->addr = (uint32_t)dma_addr(fresh->data);
		pkt_filled(p, size);
		*out++ = p;
		io_wmb();
		before->size ^= RX_GEN;
		before = desc++;
	}
	*free_top = top;
	v->rx_seen += (uint32_t)(d - from);
	v->rx_next = (at + (uint32_t)(d - from)) & RX_MASK;
	return out;
}

static uint32_t vmxnet3_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct vmxnet3 *v = card(nic);
	if (!rx_waiting(v) || UNLIKELY(v->lies || max == 0))
		return 0;
	struct pool *pool = nic->pool;
	struct pkt **top = ring_top(pool), **out = rx_good(v, burst, max, &top);
	/* Each pass handles one completion, so that a flood of bad frames ends too. */
	if (UNLIKELY(out == burst))
		for (max = min_u32(max, V_RX_RING); max && rx_waiting(v) && !v->lies; max--) {
			io_rmb();
			*out = rx_odd(v, &top);
			out += *out != NULL;
		}
	v->ack = 2;
	ring_settle(pool, top);
	if (UNLIKELY(v->queues->rx.wants_index))
		vmx_fast(v, VMX_RXPROD, (v->rx_next - 1) & RX_MASK);
	return (uint32_t)(out - burst);
}

/* --- transmit ----------------------------------------------------------------------------- */

static inline bool tx_done(const struct vmxnet3 *v)
{
	return !v->broken && done(v->tx_done, v->tx_seen, V_TX_RING);
}

/* Each completion ends the frames up to the one that it names. */
static inline void tx_reclaim(struct vmxnet3 *v)
{
	if (v->broken || v->lies)
		return;
	struct pool *pool = v->nic.pool;
	struct pkt **top = ring_top(pool);
	const struct vmx_done *ring = v->tx_done;
	uint32_t head = v->tx_head, tail = v->tx_tail, seen = v->tx_seen;
	for (; done(ring, seen, V_TX_RING); seen++) {
		io_rmb();
		uint32_t index = device_word(&ring[seen & TX_MASK].index) & DONE_INDEX;
		uint32_t n = ((index - head) & TX_MASK) + 1;
		if (UNLIKELY(index >= V_TX_RING || n > tail - head)) {
			v->lies = true;
			break;
		}
		for (n += head; head != n; head++)
			ring_free(pool, &top, v->tx[head & TX_MASK]);
	}
	v->tx_seen = seen;
	v->tx_head = head;
	ring_settle(pool, top);
}

void vmxnet3_reclaim(struct vmxnet3 *v)
{
	tx_reclaim(v);
}

static inline void kick(struct vmxnet3 *v)
{
	io_wmb();
	vmx_fast(v, VMX_TXPROD, v->tx_tail & TX_MASK);
	v->ack = 2;
}

void vmxnet3_kick(struct vmxnet3 *v)
{
	kick(v);
}

static uint32_t vmxnet3_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct vmxnet3 *v = card(nic);
	tx_reclaim(v);
	if (UNLIKELY(!nic->carrier.up))
		return wire_no_carrier(nic, burst, n);
	uint32_t tail = v->tx_tail, room = V_TX_RING - 1 - (tail - v->tx_head);
	v->tx_refused = n > room;
	if (UNLIKELY(n > room))
		n = room;
	for (struct pkt **end = burst + n; burst != end; burst++) {
		struct pkt *p = *burst;
		if (UNLIKELY(!wire_fits(p)) && !wire_pad(nic, p))
			continue;
		uint32_t i = tail & TX_MASK, size = p->len | (tail & V_TX_RING ? 0 : TX_GEN);
		struct vmx_desc *d = &v->tx_desc[i];
		v->tx[i] = p;
		d->addr = (uint32_t)dma_addr(p->data);
		d->more = TX_LAST | TX_TELL;
		io_wmb();
		d->size = size;
		tail++;
	}
	if (v->tx_tail != tail) {
		v->tx_tail = tail;
		kick(v);
	}
	return n;
}

/* --- start and stop ----------------------------------------------------------------------- */

/* Starts a device that was just reset, with empty rings. */
static bool start(struct vmxnet3 *v)
{
	memset(v->tx_desc, 0, V_TX_RING * sizeof *v->tx_desc);
	memset(v->tx_done, 0, V_TX_RING * sizeof *v->tx_done);
	memset(v->rx_done, 0, V_RX_RING * sizeof *v->rx_done);
	for (uint32_t i = 0; i < V_RX_RING; i++)
		v->rx_desc[i] = (struct vmx_desc){
		        .addr = (uint32_t)dma_addr((*rx_slot(&v->rx_desc[i]))->data),
		        .size = PKT_ROOM | (i == RX_MASK ? 0 : RX_GEN)};
	v->rx_next = v->rx_seen = v->tx_seen = v->tx_head = v->tx_tail = 0;
	v->tx_refused = v->lies = false;
	v->ack = 2;
	v->hang_head = 0;
	v->hang_us = io_now_us();
	return vmxnet3_hw_start(v);
}

static void tx_drop_all(struct vmxnet3 *v, uint64_t *counter)
{
	for (; v->tx_head != v->tx_tail; v->tx_head++) {
		struct pkt *p = v->tx[v->tx_head & TX_MASK];
		*counter += pkt_segments(p);
		pkt_free(p);
	}
}

/* Resets and starts the device. Adds the frames that were not sent to *counter. */
static void restart(struct vmxnet3 *v, uint64_t *counter, const char *why)
{
	const struct pci_dev *d = &v->nic.pci;
	log_line("pci %02x:%02x.%x: vmxnet3: %s, reset", d->bus, d->dev, d->fn, why);
	v->nic.count.resets++;
	bool ok = vmxnet3_hw_reset(v);
	tx_drop_all(v, counter);
	v->hang_us = io_now_us();
	if (ok) {
		pci_enable(d);
		ok = start(v);
	}
	v->broken = !ok;
	v->nic.carrier = (struct nic_carrier){0};
	if (ok)
		(void)vmxnet3_hw_carrier(v);
	else
		pci_cut(d); /* the device may still write into packets */
}

static void free_ring(struct vmxnet3 *v, uint32_t n)
{
	while (n--)
		pkt_free(*rx_slot(&v->rx_desc[n]));
}

/* Lends a packet to the device for each slot. False when the pool has too few; then it has all. */
static bool fill_ring(struct vmxnet3 *v)
{
	for (uint32_t i = 0; i < V_RX_RING; i++) {
		struct pkt *p = pkt_alloc(v->nic.pool);
		if (!p) {
			free_ring(v, i);
			return false;
		}
		pkt_lend(p);
		*rx_slot(&v->rx_desc[i]) = p;
	}
	return true;
}

static void vmxnet3_stop(struct nic *nic)
{
	struct vmxnet3 *v = card(nic);
	uint64_t ignored = 0;
	if (!vmxnet3_hw_reset(v))
		pci_cut(&nic->pci);
	tx_drop_all(v, &ignored);
	free_ring(v, V_RX_RING);
	nic->carrier.up = false;
}

/* --- watching ----------------------------------------------------------------------------- */

/* True when frames wait, and none was sent for HANG_US. */
static bool tx_hangs(struct vmxnet3 *v, uint64_t now_us)
{
	if (v->tx_head == v->tx_tail || v->tx_head != v->hang_head) {
		v->hang_head = v->tx_head;
		v->hang_us = now_us;
		return false;
	}
	return now_us > v->hang_us + HANG_US; /* start() may have set hang_us later than now_us */
}

static void watch(struct vmxnet3 *v, uint64_t now_us)
{
	struct nic_counters *n = &v->nic.count;
	uint32_t events = device_word(&v->shared->events);
	if (events)
		vmx_write(v, VMX_ECR, events);
	if (!vmxnet3_hw_carrier(v)) {
		restart(v, &n->tx_errors, "no longer answers");
		return;
	}
	if (now_us - v->stats_us >= STATS_US) {
		v->stats_us = now_us;
		vmxnet3_hw_stats(v);
	}
	if (v->lies || events & (EVENT_RX_ERROR | EVENT_TX_ERROR))
		restart(v, &n->tx_errors, v->lies ? "names no frame of its own" : "has stopped");
	else if (!v->nic.carrier.up && v->tx_head != v->tx_tail)
		restart(v, &n->tx_link_down, "carrier lost while frames wait");
	else if (tx_hangs(v, now_us))
		restart(v, &n->tx_errors, "transmitter hangs");
}

static void vmxnet3_poll(struct nic *nic, uint64_t now_us)
{
	struct vmxnet3 *v = card(nic);
	tx_reclaim(v);
	if (now_us - v->poll_us < POLL_US)
		return;
	v->poll_us = now_us;
	if (!v->ack)
		v->ack = 1; /* clears a cause that came late (see vmxnet3_arm) */
	if (!v->broken)
		watch(v, now_us);
	else if (now_us > v->hang_us + HANG_US)
		restart(v, &nic->count.tx_errors, "did not finish its reset");
}

/* To arm is to acknowledge the interrupt, to unmask it (the device may mask it when it raises it),
 * and then to look at the rings. A device without new frames is not read. */
static bool vmxnet3_arm(struct nic *nic)
{
	struct vmxnet3 *v = card(nic);
	if (rx_waiting(v))
		return true;
	if (v->ack && !v->broken) {
		v->ack--;
		(void)vmx_read(v, VMX_ICR);
		vmx_fast(v, VMX_IMR, 0);
		io_mb();
	}
	return rx_waiting(v) || (v->tx_refused && v->tx_head != v->tx_tail && tx_done(v));
}

static void vmxnet3_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n)
{
	struct vmxnet3 *v = card(nic);
	bool all = n > V_GROUPS;
	if (all)
		n = 0;
	if (n)
		memcpy(v->groups, group, n * sizeof *group);
	vmxnet3_hw_filter(v, promiscuous, all, n);
}

/* --- probe -------------------------------------------------------------------------------- */

static const struct nic_ops ops = {
        .rx = vmxnet3_rx,
        .tx = vmxnet3_tx,
        .tx_partial = vmxnet3_offload_tx,
        .poll = vmxnet3_poll,
        .arm = vmxnet3_arm,
        .stop = vmxnet3_stop,
        .filter = vmxnet3_filter,
        .report = vmxnet3_hw_report,
};

static bool take_memory(struct vmxnet3 *v)
{
	v->rx_desc = alloc(V_RX_RING * (sizeof *v->rx_desc + sizeof(struct vmx_slot)), VMX_ALIGN);
	v->tx_desc = alloc(V_TX_RING * sizeof *v->tx_desc, VMX_ALIGN);
	v->rx_done = alloc(V_RX_RING * sizeof *v->rx_done, VMX_ALIGN);
	v->tx_done = alloc(V_TX_RING * sizeof *v->tx_done, VMX_ALIGN);
	v->shared = alloc(sizeof *v->shared, VMX_ALIGN);
	v->queues = alloc(sizeof *v->queues, VMX_ALIGN);
	v->groups = alloc(V_GROUPS * sizeof *v->groups, 64);
	return v->rx_desc && v->tx_desc && v->rx_done && v->tx_done && v->shared && v->queues &&
	       v->groups;
}

static const char *vmxnet3_probe(const struct pci_dev *dev, struct pool *pool, struct nic **out)
{
	struct pci_bar fast = pci_bar(dev, 0), slow = pci_bar(dev, 1);
	if (!fast.base || fast.io || fast.size < VMX_WINDOW || !slow.base || slow.io ||
	    slow.size < VMX_WINDOW)
		return "no memory windows";
	struct vmxnet3 *v = alloc(sizeof *v, 64);
	if (!v || !take_memory(v))
		return "no memory";
	v->fast = mem_map(fast.base, VMX_WINDOW);
	v->slow = mem_map(slow.base, VMX_WINDOW);
	if (!v->fast || !v->slow)
		return "no memory";
	memset(v->shared, 0, sizeof *v->shared);
	v->nic = (struct nic){.ops = &ops,
	                      .driver = "vmxnet3",
	                      .pool = pool,
	                      .irq = dev->irq,
	                      .offloads = NIC_SUM | NIC_TSO4 | NIC_TSO6,
	                      .pci = *dev};
	pci_enable(dev);
	const char *wrong = vmxnet3_hw_identify(v);
	if (wrong)
		return wrong;
	if (!vmxnet3_hw_reset(v))
		return "does not come out of reset";
	v->broken = true; /* vmxnet3_start tells the device the filter */
	vmxnet3_hw_filter(v, false, false, 0);
	v->broken = false;
	if (!fill_ring(v))
		return "too few packets for the receive ring";
	if (!start(v)) {
		pci_cut(dev);
		free_ring(v, V_RX_RING);
		return "refuses its queues";
	}
	(void)vmxnet3_hw_carrier(v);
	*out = &v->nic;
	return NULL;
}

static const struct pci_id ids[] = {{0x15ad, 0x07b0}};

const struct pci_driver vmxnet3_driver = {
        .name = "vmxnet3",
        .ids = ids,
        .n_ids = ARRAY_SIZE(ids),
        .probe = vmxnet3_probe,
};
