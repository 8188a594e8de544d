/* Partial packets in the transmit queues of interfaces. See offload.h. */
#include "net/offload/offload.h"

/* What a card must be able to do to send a partial packet as it is. */
static uint32_t needs(const struct interface *iface, const struct pkt *p)
{
	if ((uint32_t)p->l4 + p->l4_len + (iface->vlan ? PKT_TAG : 0) > 255)
		return INTERFACE_NONE; /* further than some cards can tell */
	if (iface->vlan && offload_l3(p) != sizeof(struct eth_hdr))
		return INTERFACE_NONE; /* some cards do not find headers behind two tags */
	if (!p->segment)
		return p->next ? INTERFACE_NONE : INTERFACE_SUM; /* in pieces: see nic.h */
	if (offload_header(p) + offload_last_bytes(p) < ETH_MIN)
		return INTERFACE_NONE; /* a card need not pad what it cuts */
	if (p->flags & PKT_USO)
		return INTERFACE_SUM | INTERFACE_USO;
	return INTERFACE_SUM | (p->flags & PKT_TSO6 ? INTERFACE_TSO6 : INTERFACE_TSO4) |
	       (p->flags & PKT_ECN ? INTERFACE_ECN : 0u);
}

void offload_transmit(struct gw *gw, struct interface *iface, struct pkt *p)
{
	uint32_t n = p->segments, bytes = offload_bytes(p, ETH_MIN);
	if (UNLIKELY(gw->pool->n_free < gw->pool->reserve) ||
	    UNLIKELY(!pkt_queue_push(&iface->out, p))) {
		gw_discard(gw, p, DROP_LINK_FULL);
		return;
	}
	iface->partial = true;
	if (UNLIKELY(needs(iface, p) & ~iface->offloads))
		iface->to_cut = true;
	iface->sent += n;
	iface->sent_bytes += bytes;
}

/* Moves the ready frames back to the front of the transmit queue, to be judged once more. What a
 * full queue has no room for stays ready, or is dropped where the card cannot send it any more. */
static void put_back(struct gw *gw, struct interface *iface)
{
	struct pkt_queue *out = &iface->out, *ready = &iface->ready;
	while (pkt_queue_count(ready) > 0 && pkt_queue_count(out) < PKT_QUEUE_SIZE)
		out->slot[--out->head % PKT_QUEUE_SIZE] =
		        ready->slot[--ready->tail % PKT_QUEUE_SIZE];
	for (uint32_t n = pkt_queue_count(ready); n > 0; n--) {
		struct pkt *p = pkt_queue_pop(ready);
		if (p->flags & PKT_PARTIAL && needs(iface, p) & ~iface->offloads)
			gw_discard(gw, p, DROP_LINK_FULL);
		else if (!pkt_queue_push(ready, p))
			gw_discard(gw, p, DROP_LINK_FULL); /* not seen: it was there */
	}
}

void offload_changed(struct gw *gw, struct interface *iface, uint32_t offloads)
{
	bool less = iface->offloads & ~offloads;
	iface->offloads = offloads;
	if (less && iface->partial) { /* packets for the card as it was may wait */
		iface->to_cut = true;
		put_back(gw, iface);
	}
}

/* Makes plain frames of the oldest packet, as many as there is room for. */
static void cut_oldest(struct gw *gw, struct interface *iface)
{
	struct pkt **oldest = &iface->out.slot[iface->out.head % PKT_QUEUE_SIZE];
	while (*oldest && pkt_queue_count(&iface->ready) < PKT_QUEUE_SIZE) {
		struct pkt *f = offload_next(gw->pool, oldest);
		if (!f) {
			gw_discard(gw, *oldest, DROP_NO_PACKET);
			*oldest = NULL;
		} else if (!pkt_queue_push(&iface->ready, f)) {
			gw_discard(gw, f, DROP_LINK_FULL); /* not seen: there was room */
		}
	}
	if (!*oldest)
		pkt_queue_take(&iface->out, 1);
}

struct pkt_queue *offload_ready(struct gw *gw, struct interface *iface)
{
	struct pkt_queue *out = &iface->out, *ready = &iface->ready;
	while (iface->to_cut && pkt_queue_count(out) > 0 &&
	       pkt_queue_count(ready) < PKT_QUEUE_SIZE) {
		struct pkt *p = out->slot[out->head % PKT_QUEUE_SIZE];
		if (p->flags & PKT_PARTIAL && needs(iface, p) & ~iface->offloads)
			cut_oldest(gw, iface);
		else if (pkt_queue_push(ready, p))
			pkt_queue_take(out, 1);
	}
	if (pkt_queue_count(ready) > 0)
		return ready;
	iface->to_cut = false;
	iface->partial = pkt_queue_count(out) > 0;
	return out;
}
