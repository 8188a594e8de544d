/* See rcv.h. */
#include "kernel/rcv.h"

#include "kernel/irq_watch.h"
#include "kernel/x86/cpu.h"
#include "kernel/lib/log.h"
#include "kernel/x86/trap.h"
#include "net/capture/capture.h"
#include "net/ip6/mld.h"
#include "net/neigh/neigh.h"
#include "net/offload/offload.h"
#include "net/vlan/vlan.h"

static struct gw *gw;
static struct nic *nic[INTERFACES]; /* interfaces may share one (net/vlan) */

/* Of a card; in these arrays and sets the first interface of a card stands for it. */
static struct irq_watch watch[INTERFACES];

/* Sets of cards, a bit each. A card without traffic must cost little: rcv_run looks at one
 * such card in turn, and rcv_arm does not arm it again while its interrupt line is silent. */
static uint32_t with_card;
static uint32_t lively;           /* frames came lately: since the last rcv_poll but one */
static uint32_t came;             /* frames came since the last rcv_poll */
static uint32_t armed;            /* still armed: the next frame raises the interrupt line */
static uint32_t in_turn;          /* the one without traffic at which rcv_run last looked */
static uint32_t line[INTERFACES]; /* of the card, as in cpu_irq_lines */
static bool unsent;               /* rcv_flush left packets in a transmit queue */
static uint32_t begin;            /* the interface whose packets rcv_flush sends first */

/* For each i of a set. */
#define EACH(i, set)                                                                         \
	for (uint32_t left_ = (set), i; left_ && (i = (uint32_t)__builtin_ctz(left_), true); \
	     left_ &= left_ - 1)

/* Sets a card's filter to the multicast groups of its interfaces. */
static void set_filter(uint32_t card)
{
	mac group[INTERFACES * (MLD_GROUPS + 1)];
	uint32_t n = 0;
	for (uint32_t i = card; i < gw->n_iface; i++) {
		struct interface *iface = &gw->iface[i];
		if (iface->card != card)
			continue;
		iface->groups_changed = false;
		n += mld_filter(iface, group + n);
	}
	nic[card]->ops->filter(nic[card], gw->forwarder->promiscuous, group, n);
}

static void watch_init(uint32_t i)
{
	irq_watch_init(&watch[i], nic[i]->irq);
	if (watch[i].polled)
		log_line("%s: the card has no interrupt line, so the processor does not halt",
		         gw->iface[i].name);
}

static void flush(struct gw *g)
{
	(void)g;
	rcv_flush();
}

void rcv_init(struct gw *g, struct nic *const *cards)
{
	gw = g;
	gw->flush = flush;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		nic[i] = cards[i];
		if (!nic[i])
			continue;
		offload_changed(gw, &gw->iface[i], nic[i]->offloads);
		if (gw->iface[i].card != i)
			continue;
		with_card |= 1u << i;
		line[i] = nic[i]->irq > 15 ? CPU_IRQ_NONE : 1u << nic[i]->irq;
		set_filter(i);
		watch_init(i);
	}
}

const struct nic *rcv_nic(uint32_t iface)
{
	return nic[iface];
}

void rcv_report(uint32_t iface, struct nic_report *r)
{
	if (nic[iface]->ops->report)
		nic[iface]->ops->report(nic[iface], r);
}

_Static_assert(NIC_SUM == (int)INTERFACE_SUM && NIC_TSO4 == (int)INTERFACE_TSO4 &&
                       NIC_TSO6 == (int)INTERFACE_TSO6 && NIC_ECN == (int)INTERFACE_ECN &&
                       NIC_USO == (int)INTERFACE_USO,
               "nic.h and interface.h agree");

/* Drops all packets in the transmit queue of an interface whose carrier is down. */
static void drop_waiting(struct interface *iface)
{
	iface->sent = iface->sent_bytes = 0;
	for (struct pkt *p; (p = pkt_queue_pop(&iface->ready)) || (p = pkt_queue_pop(&iface->out));)
		gw_discard(gw, p, DROP_LINK_DOWN);
}

/* Hands the oldest packets of an interface to its card. Gives how many it took. */
ALWAYS_INLINE uint32_t hand_over(const struct interface *iface, struct nic *card,
                                 struct pkt **burst, uint32_t n)
{
	return UNLIKELY(iface->partial && card->ops->tx_partial)
	               ? card->ops->tx_partial(card, burst, n)
	               : card->ops->tx(card, burst, n);
}

/* The same with tags, for a burst at a time: those that the card does not take lose them again. */
static __attribute__((noinline)) uint32_t
hand_over_tagged(const struct interface *iface, struct nic *card, struct pkt **burst, uint32_t n)
{
	uint32_t all = 0, took, part;
	do {
		part = min_u32(n - all, NIC_BURST);
		vlan_tag(iface, burst + all, part);
		took = hand_over(iface, card, burst + all, part);
		all += took;
	} while (took == part && all < n);
	if (took < part)
		vlan_untag(iface, burst + all, part - took);
	return all;
}

bool rcv_flush(void)
{
	bool moved = false;
	uint32_t i = begin, refused = INTERFACES;
	unsent = false;
	for (uint32_t k = gw->n_iface; k > 0; k--, i = i + 1 < gw->n_iface ? i + 1 : 0) {
		struct interface *iface = &gw->iface[i];
		struct pkt_queue *queue = offload_queue(gw, iface);
		if (pkt_queue_count(queue) == 0)
			continue;
		if (UNLIKELY(!iface->carrier)) {
			drop_waiting(iface);
			if (UNLIKELY(gw->capture))
				capture_taken(gw, i, ~0u);
			continue;
		}
		interface_sent(iface);
		armed &= ~(1u << iface->card);
		/* At most two pieces: a burst that wraps in the queue has two. */
		for (int piece = 0; piece < 2 && pkt_queue_count(queue); piece++) {
			uint32_t n;
			struct pkt **burst = pkt_queue_front(queue, &n);
			if (UNLIKELY(gw->capture))
				capture_leaving(gw, i, burst, n);
			uint32_t took = UNLIKELY(iface->vlan)
			                        ? hand_over_tagged(iface, nic[i], burst, n)
			                        : hand_over(iface, nic[i], burst, n);
			pkt_queue_take(queue, took);
			if (UNLIKELY(gw->capture))
				capture_taken(gw, i, took);
			watch[iface->card].moved |= took != 0;
			moved |= took != 0;
			if (took < n) {
				refused = refused == INTERFACES ? i : refused;
				break;
			}
		}
		unsent |= pkt_queue_count(queue) != 0 || iface->to_cut;
	}
	/* Interfaces that share a full card take turns at being the first. */
	if (UNLIKELY(refused != INTERFACES))
		begin = refused + 1 < gw->n_iface ? refused + 1 : 0;
	return moved;
}

/* The interfaces at which rcv_run looks: those with traffic, and one of the others in turn. */
static uint32_t to_look_at(void)
{
	uint32_t quiet = with_card & ~lively;
	if (quiet == 0)
		return with_card;
	uint32_t after = quiet & -(in_turn << 1);
	if (after == 0)
		after = quiet;
	in_turn = after & -after;
	return lively | in_turn;
}

bool rcv_run(void)
{
	uint32_t got = 0;
	EACH(i, to_look_at())
	{
		struct pkt *burst[NIC_BURST];
		uint32_t most = gw->iface[i].burst ? gw->iface[i].burst : NIC_BURST;
		uint32_t n = nic[i]->ops->rx(nic[i], burst, most);
		if (n == 0)
			continue;
		if (UNLIKELY(gw->iface[i].vlans != NULL))
			vlan_input(gw, i, burst, n);
		else if (LIKELY(!(burst[0]->flags & PKT_PARTIAL)))
			gw_input(gw, i, burst, n);
		else
			gw_input_partial(gw, i, burst, n);
		watch[i].received = watch[i].moved = true;
		came |= 1u << i;
		got += n;
	}
	lively |= came;
	armed &= ~came;
	return ((got || unsent) && rcv_flush()) || got;
}

bool rcv_poll(uint64_t now_us)
{
	bool changed = false;
	lively = came;
	came = armed = 0;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		if (!nic[i])
			continue;
		struct interface *iface = &gw->iface[i];
		if (iface->card == i) {
			nic[i]->ops->poll(nic[i], now_us);
			irq_watch_retry(&watch[i]);
		}
		offload_changed(gw, iface, nic[i]->offloads);
		if (iface->groups_changed)
			set_filter(iface->card);
		if (nic[i]->carrier.up == iface->carrier)
			continue;
		iface->carrier = nic[i]->carrier.up;
		changed = true;
		log_line("%s: link %s", iface->name, iface->carrier ? "up" : "down");
		if (iface->carrier)
			gw_carrier_up(gw, i);
		else
			neigh_flush(gw, i);
	}
	return changed;
}

/* True while the gateway does not know what the driver knows about the carrier: for instance that
 * the card has said so by its interrupt (arm), or that it broke the rules. */
static bool carrier_changed(uint32_t i)
{
	return nic[i]->carrier.up != gw->iface[i].carrier;
}

/* Arms the card of an interface, whose line `fired` since it was unmasked. True when the
 * processor must not halt. */
static bool arm(uint32_t i, bool fired)
{
	if (watch[i].polled) {
		lively |= 1u << i;
		return true;
	}
	bool here = nic[i]->ops->arm(nic[i]);
	if (irq_watch_arm(&watch[i], here, fired, trap_ticks))
		cpu_irq_unmask(nic[i]->irq);
	if (watch[i].polled)
		log_line("%s: interrupt line %u is silent, so the processor no longer halts",
		         gw->iface[i].name, nic[i]->irq);
	if (here || watch[i].polled)
		lively |= 1u << i; /* rcv_run looks at it next */
	else if (watch[i].fruitless == 0)
		armed |= 1u << i;
	return here || watch[i].polled || carrier_changed(i);
}

bool rcv_arm(void)
{
	bool work = false;
	/* Cards may share a line: the lines are read before the first card unmasks its own. */
	uint32_t fired = cpu_irq_lines();
	EACH(i, with_card)
	if (!(armed >> i & 1) || fired & line[i])
		work |= arm(i, (fired & line[i]) != 0);
	return work;
}

bool rcv_rests(void)
{
	bool rests = (came | lively) == 0;
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (nic[i])
			rests &= gw->iface[i].carrier && !gw->iface[i].groups_changed &&
			         !carrier_changed(i);
	return rests && !rcv_needs_ticks();
}

bool rcv_needs_ticks(void)
{
	EACH(i, with_card)
	if (irq_watch_needs_ticks(&watch[i]))
		return true;
	return false;
}

bool rcv_polls(void)
{
	EACH(i, with_card)
	if (watch[i].polled)
		return true;
	return false;
}

void rcv_stop(void)
{
	EACH(i, with_card)
	nic[i]->ops->stop(nic[i]);
}
