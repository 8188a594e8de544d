/* See rcv.h. */
#include "kernel/rcv.h"

#include "kernel/x86/cpu.h"
#include "kernel/lib/log.h"
#include "net/ip6/mld.h"
#include "net/neigh/neigh.h"

static struct gw *gw;
static struct nic *nic[INTERFACES];

/* An interrupt line that another device keeps asserted would wake the processor for ever.
 * After FRUITLESS wake-ups in a row without a frame, the line stays masked until the next
 * rcv_poll. Until then the card is polled at that rate. */
#define FRUITLESS 16u
static uint8_t fruitless[INTERFACES];
static bool moved_frames[INTERFACES]; /* frames came or left since the last rcv_arm */

/* Sets a card's filter to the multicast groups of its interface. */
static void set_filter(uint32_t i)
{
	struct interface *iface = &gw->iface[i];
	mac group[MLD_GROUPS + 1];
	iface->groups_changed = false;
	nic[i]->ops->filter(nic[i], gw->forwarder->promiscuous, group, mld_filter(iface, group));
}

void rcv_init(struct gw *g, struct nic *const *cards)
{
	gw = g;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		nic[i] = cards[i];
		if (nic[i])
			set_filter(i);
	}
}

const struct nic *rcv_nic(uint32_t iface)
{
	return nic[iface];
}

/* Drops all packets in the transmit queue of an interface whose carrier is down. */
static void drop_waiting(struct interface *iface)
{
	iface->sent = iface->sent_bytes = 0;
	for (struct pkt *p; (p = pkt_queue_pop(&iface->out)) != NULL;)
		gw_discard(gw, p, DROP_LINK_DOWN);
}

bool rcv_flush(void)
{
	bool moved = false;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		struct interface *iface = &gw->iface[i];
		if (pkt_queue_count(&iface->out) == 0)
			continue;
		if (UNLIKELY(!iface->carrier)) {
			drop_waiting(iface);
			continue;
		}
		interface_sent(iface);
		/* At most two pieces: a burst that wraps in the queue has two. */
		for (int piece = 0; piece < 2 && pkt_queue_count(&iface->out); piece++) {
			uint32_t n;
			struct pkt **burst = pkt_queue_front(&iface->out, &n);
			uint32_t took = nic[i]->ops->tx(nic[i], burst, n);
			pkt_queue_take(&iface->out, took);
			moved_frames[i] |= took != 0;
			moved |= took != 0;
			if (took < n)
				break;
		}
	}
	return moved;
}

bool rcv_run(void)
{
	uint32_t got = 0;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		struct pkt *burst[NIC_BURST];
		if (!nic[i])
			continue;
		uint32_t most = gw->iface[i].burst ? gw->iface[i].burst : NIC_BURST;
		uint32_t n = nic[i]->ops->rx(nic[i], burst, most);
		if (n == 0)
			continue;
		gw_input(gw, i, burst, n);
		moved_frames[i] = true;
		got += n;
	}
	return rcv_flush() || got;
}

void rcv_poll(uint64_t now_us)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		if (!nic[i])
			continue;
		nic[i]->ops->poll(nic[i], now_us);
		fruitless[i] = 0;
		struct interface *iface = &gw->iface[i];
		if (iface->groups_changed)
			set_filter(i);
		if (nic[i]->carrier.up == iface->carrier)
			continue;
		iface->carrier = nic[i]->carrier.up;
		log_line("%s: link %s", iface->name, iface->carrier ? "up" : "down");
		if (iface->carrier)
			gw_carrier_up(gw, i);
		else
			neigh_flush(gw, i);
	}
}

bool rcv_arm(void)
{
	bool work = false;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		if (!nic[i])
			continue;
		bool here = nic[i]->ops->arm(nic[i]);
		if (here || moved_frames[i] || !cpu_irq_fired(nic[i]->irq))
			fruitless[i] = 0;
		else if (fruitless[i] < FRUITLESS)
			fruitless[i]++;
		moved_frames[i] = false;
		work |= here;
		if (fruitless[i] < FRUITLESS)
			cpu_irq_unmask(nic[i]->irq);
	}
	return work;
}

void rcv_stop(void)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (nic[i])
			nic[i]->ops->stop(nic[i]);
}
