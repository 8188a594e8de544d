/* Shared by the files of the virtio network card: virtio_net.c starts, watches and stops the
 * device, virtio_plain.c moves frames, virtio_offload.c moves frames and partial packets
 * (kernel/lib/pkt.h) where offloads were negotiated. */
#ifndef DRIVERS_NET_VIRTIO_VIRTIO_NET_H
#define DRIVERS_NET_VIRTIO_VIRTIO_NET_H

#include "drivers/net/nic.h"
#include "drivers/net/virtio/virtio_pci.h"
#include "kernel/seam/io.h"

#define VIRTIO_NET_SLOTS 256u /* most packets in a queue */
#define VIRTIO_NET_PAD   60u  /* IEEE 802.3, 4.2.3.3, without FCS */

struct virtio_queue {
	struct virtio_ring ring;
	struct virtio_desc *data; /* the descriptors of the frames, by slot */
	uint32_t mask;            /* number of ring entries - 1 */
	uint32_t slots, last;     /* slots: a power of two; last: slots - 1 */
	uint16_t posted, taken;
	uint16_t order[VIRTIO_NET_SLOTS]; /* receive queue: slots by place in the ring */
	struct pkt *slot[VIRTIO_NET_SLOTS];
};

enum virtio_state { VIRTIO_STOPPED, VIRTIO_RUNNING, VIRTIO_BROKEN };

struct virtio_net {
	struct nic nic; /* must be first: the ops get a pointer to it */
	struct virtio_pci pci;
	struct virtio_queue rx, tx;
	enum virtio_state state;
	bool armed;      /* the device may interrupt for received frames */
	bool tx_armed;   /* the device may interrupt for sent frames */
	bool tx_refused; /* the last tx() found the queue full */
	bool has_status; /* the configuration has the carrier state */
	bool split;      /* the header has a descriptor of its own */
	bool events;     /* EVENT_IDX: notifications and interrupts by index, not by flag */
	uint32_t header; /* bytes of the header */
	uint32_t front;  /* bytes of the header in the frame's descriptor: `header` or 0 */
	uint32_t room;   /* bytes for data in each receive buffer */
	bool started;    /* the last restart succeeded, at started_us */
	uint64_t retry_at_us, retry_us, started_us;
	uint64_t said;                         /* for log_limited */
	uint8_t no_offload[VIRTIO_NET_HEADER]; /* zeros: header of sent frames if `split` */
	uint64_t features;                     /* those accepted */
	uint32_t refused;                      /* how often features were too many for the device */
	struct virtio_desc (*table)[PKT_PIECES]; /* of each transmit slot: the pieces of a packet */
};

static inline struct virtio_net *virtio_net_card(struct nic *nic)
{
	return (struct virtio_net *)(void *)nic;
}

/* Marks a device that broke the rules. The driver believes nothing from it until poll() has
 * restarted it. Its buffers stay allocated, because the device may still write to them. */
void virtio_net_broken(struct virtio_net *v, const char *why);

/* The device may use buffers in any order (2.6.9). Looks for slot `id` among the slots due after
 * place `at`, and exchanges it with the slot due at `at`. The device has read both places, so they
 * may change. False when the device does not have the slot. This includes a slot that was given
 * back since place `shown` and is not yet published. */
bool virtio_net_exchange(struct virtio_queue *q, uint32_t at, uint32_t shown, uint32_t id);

/* Sets the header descriptors of the slots at places `from` to `to` (split form). */
void virtio_net_rx_split(struct virtio_net *v, uint32_t from, uint32_t to);

/* Frees n packets, which may be partial, and adds n to *counter. Gives n. */
uint32_t virtio_net_drop(uint64_t *counter, struct pkt **burst, uint32_t n);

/* Pads a frame with zeros to VIRTIO_NET_PAD bytes. False when the slot has no room. */
bool virtio_net_pad(struct pkt *p);

/* rx and tx of struct nic_ops, without and with offloads. */
uint32_t virtio_plain_rx(struct nic *nic, struct pkt **burst, uint32_t max);
uint32_t virtio_plain_tx(struct nic *nic, struct pkt **burst, uint32_t n);
uint32_t virtio_offload_rx(struct nic *nic, struct pkt **burst, uint32_t max);
uint32_t virtio_offload_tx(struct nic *nic, struct pkt **burst, uint32_t n);

/* Publishes new ring entries, and notifies the device if it wants that (2.6.13.3, 2.6.13.4): its
 * flag does not say no, or with `events` its event is among them. These are read after the index is
 * written. */
ALWAYS_INLINE void virtio_net_publish(struct virtio_net *v, struct virtio_queue *q, uint16_t n,
                                      bool events)
{
	uint16_t old = q->ring.avail[1], now = q->posted;
	io_wmb();
	q->ring.avail[1] = now;
	io_mb();
	bool wanted = !(q->ring.used[0] & VIRTIO_USED_NO_NOTIFY);
	if (events)
		wanted = (uint16_t)(now - *q->ring.avail_event - 1) < (uint16_t)(now - old);
	if (wanted)
		virtio_pci_notify(&v->pci, n);
}

/* Sets whether the device is to interrupt for the next used entry (2.6.7.1). With events that is
 * said once, and an event that is over says no until the index comes round to it again. */
static inline void virtio_net_interrupt(struct virtio_net *v, struct virtio_queue *q, bool wanted)
{
	if (!v->events)
		q->ring.avail[0] = wanted ? 0 : VIRTIO_AVAIL_NO_INTERRUPT;
	else if (wanted)
		*q->ring.used_event = q->taken;
}

/* Puts packet p into slot `id` for the device to fill. */
static inline void virtio_net_rx_place(struct virtio_net *v, uint32_t id, struct pkt *p)
{
	struct virtio_queue *q = &v->rx;
	uint32_t at = (uint32_t)dma_addr(p->data);
	pkt_lend(p);
	q->slot[id] = p;
	q->data[id].addr = at - v->front;
}

/* Gives the number of used entries that wait; 0 also when the device's index is wrong. */
static inline uint32_t virtio_net_rx_waiting(struct virtio_net *v, struct virtio_queue *q)
{
	uint32_t n = (uint16_t)(q->ring.used[1] - q->taken);
	if (LIKELY(n <= q->slots))
		return n;
	v->nic.count.rx_errors++;
	virtio_net_broken(v, "receive index out of range");
	return 0;
}

/* Begins to take received frames: the device need not interrupt. */
static inline void virtio_net_rx_begin(struct virtio_net *v, struct virtio_queue *q)
{
	if (v->armed) {
		v->armed = false;
		virtio_net_interrupt(v, q, false);
	}
	io_rmb(); /* read the entries after the index that covers them */
}

/* Frees the packets that were sent (2.6.14); with `partial` there may be partial ones. */
ALWAYS_INLINE void virtio_net_reclaim(struct virtio_net *v, bool partial)
{
	struct virtio_queue *q = &v->tx;
	uint32_t n = (uint16_t)(q->ring.used[1] - q->taken);
	if (n == 0)
		return;
	if (UNLIKELY(n > (uint16_t)(q->posted - q->taken))) {
		virtio_net_broken(v, "transmit index out of range");
		return;
	}
	io_rmb();
	uint32_t at = q->taken;
	do {
		uint32_t id = q->ring.done[at & q->mask].id;
		struct pkt *p = LIKELY(id < q->slots) ? q->slot[id] : NULL;
		if (UNLIKELY(!p)) {
			virtio_net_broken(v, "sent a buffer it does not have");
			return;
		}
		q->slot[id] = NULL;
		if (partial)
			pkt_free_all(p);
		else
			pkt_free(p);
		at++;
	} while (--n > 0);
	q->taken = (uint16_t)at;
}

/* Begins to send: frees what was sent. The device need not interrupt. */
ALWAYS_INLINE void virtio_net_tx_begin(struct virtio_net *v, bool partial)
{
	if (LIKELY(v->state == VIRTIO_RUNNING))
		virtio_net_reclaim(v, partial);
	if (UNLIKELY(v->tx_armed)) {
		v->tx_armed = false;
		virtio_net_interrupt(v, &v->tx, false);
	}
}

#endif
