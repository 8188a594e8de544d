/* Frames without offloads, in both queues of a virtio network card: see virtio_net.h, and
 * virtio_net.c for the invariants. Section numbers: VIRTIO 1.1. */
#include "drivers/net/virtio/virtio_net.h"

uint32_t virtio_plain_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct virtio_net *v = virtio_net_card(nic);
	struct virtio_queue *q = &v->rx;
	struct pkt **to = burst;
	if (UNLIKELY(v->state != VIRTIO_RUNNING))
		return 0;
	uint32_t n = min_u32(min_u32(virtio_net_rx_waiting(v, q), max), NIC_BURST);
	if (n == 0)
		return 0;
	virtio_net_rx_begin(v, q);
	uint32_t at = q->taken;
	do {
		uint32_t id = q->ring.done[at & q->mask].id;
		uint32_t len = q->ring.done[at & q->mask].len - v->header;
		if (UNLIKELY(id != q->order[at & q->last]) &&
		    !virtio_net_exchange(q, at, q->posted, id)) {
			nic->count.rx_errors++;
			virtio_net_broken(v, "received into a buffer it does not have");
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
			virtio_net_rx_place(v, id, fresh);
		}
		at++;
	} while (--n > 0);
	if (UNLIKELY(v->split))
		virtio_net_rx_split(v, q->taken, at);
	q->taken = (uint16_t)at;
	q->posted = (uint16_t)(at + q->slots);
	virtio_net_publish(v, q, VIRTIO_NET_RX, false);
	return (uint32_t)(to - burst);
}

uint32_t virtio_plain_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct virtio_net *v = virtio_net_card(nic);
	struct virtio_queue *q = &v->tx;
	virtio_net_tx_begin(v, false);
	if (UNLIKELY(!nic->carrier.up))
		return virtio_net_drop(&nic->count.tx_link_down, burst, n);
	uint32_t posted = q->posted;
	struct pkt **from = burst, **end = burst + n;
	for (; from != end; from++) {
		struct pkt *p = *from, **slot = &q->slot[posted & q->last];
		if (UNLIKELY(*slot != NULL))
			break; /* full */
		if (UNLIKELY(p->len < VIRTIO_NET_PAD && !virtio_net_pad(p)) ||
		    UNLIKELY(p->data < p->bytes + VIRTIO_NET_HEADER)) {
			virtio_net_drop(&nic->count.tx_errors, &p, 1);
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
		virtio_net_publish(v, q, VIRTIO_NET_TX, false);
	}
	v->tx_refused = from != end;
	return (uint32_t)(from - burst);
}
