/* The way of a packet: gw_input, the verdicts of the protocols and of the application, gw_send, and
 * the counting of drops. See gw.h. */
#include "net/gw.h"

#include "net/capture/capture.h"
#include "net/dhcp/dhcp_receive.h"
#include "net/dhcps/dhcps_receive.h"
#include "net/ether/arp.h"
#include "net/gw_address.h"
#include "net/ip4/icmp.h"
#include "net/ip4/ip4.h"
#include "net/ip6/icmp6.h"
#include "net/ip6/ip6.h"
#include "net/local.h"
#include "net/offload/offload.h"
#include "net/ip6/mld.h"
#include "net/ip6/nd.h"
#include "net/neigh/neigh.h"
#include "net/stats/timing.h"
#include "net/tcp/tcp.h"
#include "net/vlan/vlan.h"

enum verdict gw_drop(struct gw *gw, const struct pkt *p, enum drop reason)
{
	gw->counts.drops[reason]++;
	drop_log_note(&gw->drop_log, p, reason, gw->clock.us);
	if (UNLIKELY(gw->capture))
		capture_dropped(gw, p, reason);
	return V_DROP;
}

void gw_discard(struct gw *gw, struct pkt *p, enum drop reason)
{
	gw_drop(gw, p, reason);
	gw->counts.drops[reason] += pkt_segments(p) - 1;
	pkt_free_all(p);
}

static void hairpin(struct gw *gw, struct pkt *p);

/* Routes a packet that nobody has routed yet; false when there is no route. */
static __attribute__((noinline)) bool route(const struct gw *gw, struct pkt *p)
{
	if (!route4_claimed(&gw->routes4, ip4_to(p)))
		return ip4_route(gw, p, ip4_to(p));
	p->out = PKT_IF_SELF;
	p->flags |= PKT_ROUTED;
	return true;
}

/* Sends an IPv4 packet whose neighbour is not ready. */
static __attribute__((noinline)) void send_unresolved(struct gw *gw, struct pkt *p)
{
	if (UNLIKELY(gw->forwarder->no_wan4) && p->out == IF_WAN)
		gw->forwarder->uplink4(gw, p);
	else
		neigh_resolve4(gw, p);
}

ALWAYS_INLINE void send(struct gw *gw, struct pkt *p)
{
	if (!(p->flags & PKT_ROUTED) && UNLIKELY(!route(gw, p))) {
		gw_discard(gw, p, DROP_NO_ROUTE);
		return;
	}
	if (UNLIKELY(p->out == PKT_IF_SELF)) {
		hairpin(gw, p);
		return;
	}
	struct interface *out = &gw->iface[p->out];
	if (UNLIKELY(p->len > out->mtu)) {
		ip4_fragment(gw, p);
		return;
	}
	struct neigh *n = neigh_ready4(&gw->neigh, p->out, p->hop);
	if (UNLIKELY(!n)) {
		send_unresolved(gw, p);
		return;
	}
	n->used = true;
	uint8_t *eth = pkt_push_ethernet(p, sizeof n->eth);
	if (UNLIKELY(!eth)) { /* not seen: no translation uses up the headroom */
		gw_discard(gw, p, DROP_NO_PACKET);
		return;
	}
	memcpy(eth, &n->eth, sizeof n->eth);
	gw_transmit(gw, out, p);
}

/* Routes a packet that nobody has routed yet. True when it can be sent on; false when it was
 * dropped, split or reinjected. Only a packet of our own may be routed to the application here: the
 * application routes what it forwards, so a packet that comes back to it is in a loop. */
static __attribute__((noinline)) bool route6(struct gw *gw, struct pkt *p)
{
	if (ip6_is_special(&ip6_header(p)->to) || !ip6_route(gw, p, &ip6_header(p)->to)) {
		gw_discard(gw, p, DROP_NO_ROUTE);
		return false;
	}
	bool own = p->iface == PKT_IF_SELF, beyond = p->out == IF_APP || p->hop != 0;
	if (p->out == PKT_IF_SELF || (p->out == IF_APP && (!own || p->flags & PKT_HAIRPIN))) {
		gw_discard(gw, p, DROP_LOOP);
		return false;
	}
	/* No path MTU is kept, so a packet that leaves the link has the size that every path
	 * carries (RFC 8201 section 4). */
	if (own && beyond && p->len > IP6_MTU_MIN) {
		ip6_fragment(gw, p, IP6_MTU_MIN);
		return false;
	}
	if (p->out != IF_APP) {
		if (own && ip6_header(p)->hops == IP6_HOPS)
			ip6_header(p)->hops = gw->iface[p->out].hops6;
		return true;
	}
	p->flags |= PKT_HAIRPIN;
	gw_reinject(gw, p, PKT_IF_SELF, FAMILY_IP6);
	return false;
}

ALWAYS_INLINE void send6(struct gw *gw, struct pkt *p)
{
	if (UNLIKELY(!(p->flags & PKT_ROUTED)) && !route6(gw, p))
		return;
	if (UNLIKELY(p->out >= INTERFACES)) {
		gw_discard(gw, p, DROP_LOOP);
		return;
	}
	struct interface *out = &gw->iface[p->out];
	if (UNLIKELY(p->len > out->mtu6)) {
		if (p->iface == PKT_IF_SELF)
			ip6_fragment(gw, p, out->mtu6);
		else /* ip6_may_forward has told the sender */
			gw_discard(gw, p, DROP_TOO_BIG);
		return;
	}
	struct neigh *n = neigh_ready6(&gw->neigh, p->out, ip6_hop_of(gw, p));
	if (UNLIKELY(!n)) {
		neigh_resolve6(gw, p);
		return;
	}
	uint8_t *eth = pkt_push_ethernet(p, sizeof n->eth);
	if (UNLIKELY(!eth)) {
		gw_discard(gw, p, DROP_NO_PACKET);
		return;
	}
	memcpy(eth, &n->eth, sizeof n->eth);
	gw_transmit(gw, out, p);
}

/* Carries out every verdict but V_SEND. */
static __attribute__((noinline)) void settle_other(struct gw *gw, struct pkt *p, enum verdict v)
{
	if (LIKELY(v == V_SEND6)) {
		gw->counts.forwarded++;
		send6(gw, p);
		return;
	}
	if (v == V_LOCAL6 && gw->forwarder->local6)
		v = gw->forwarder->local6(gw, p);
	if (v == V_LOCAL)
		v = local_ip4(gw, p);
	else if (v == V_LOCAL6)
		v = local_ip6(gw, p);
	if (v == V_DROP)
		pkt_free(p);
}

/* Carries out the verdict of the application or of a protocol. Takes the packet. */
ALWAYS_INLINE void settle(struct gw *gw, struct pkt *p, enum verdict v)
{
	if (LIKELY(v == V_SEND)) {
		gw->counts.forwarded++;
		send(gw, p);
	} else if (v != V_KEPT) {
		settle_other(gw, p, v);
	}
}

/* The options of a packet are malformed: its sender is told when the gateway forwards the packet or
 * is its destination (RFC 1812 section 4.3.3.5, RFC 1122 section 3.2.2.5). A packet for others is
 * dropped without an error (section 3.2.1.3). */
static __attribute__((noinline)) void tell_of_options(struct gw *gw, const struct pkt *p)
{
	const struct forwarder *f = gw->forwarder;
	if (f->concerns4 ? f->concerns4(gw, p) : gw_is_own(gw, ip4_to(p)))
		icmp_error(gw, p, ICMP_PARAMETER, 0, (uint32_t)ip4_option_error(p) << 24);
}

ALWAYS_INLINE enum verdict ip4_input(struct gw *gw, struct pkt *p)
{
	enum drop wrong = ip4_parse(p);
	if (UNLIKELY(wrong != DROP_NONE)) {
		if (wrong == DROP_IP_OPTIONS)
			tell_of_options(gw, p);
		if (wrong != DROP_SOURCE_ROUTE || !gw->forwarder->takes_source_routes)
			return gw_drop(gw, p, wrong);
	}
	return gw->forwarder->ip4(gw, p);
}

/* Parses and routes an IPv6 packet; what is neither for the gateway itself nor special goes to the
 * application. */
ALWAYS_INLINE enum verdict ip6_input(struct gw *gw, struct pkt *p)
{
	enum drop wrong = ip6_parse(p);
	if (UNLIKELY(wrong != DROP_NONE) &&
	    (wrong != DROP_SOURCE_ROUTE || !gw->forwarder->takes_source_routes))
		return ip6_malformed(gw, p, wrong);
	const struct ip6_hdr *h = ip6_header(p);
	if (UNLIKELY(ip6_is_special(&h->from) || ip6_is_special(&h->to) || p->flags & PKT_L2_GROUP))
		return ip6_special(gw, p);
	if (UNLIKELY(!ip6_route(gw, p, &h->to))) {
		if (!gw->forwarder->is_host)
			icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_NO_ROUTE, 0);
		return gw_drop(gw, p, DROP_NO_ROUTE);
	}
	if (UNLIKELY(wrong != DROP_NONE && p->out != IF_APP))
		return ip6_malformed(gw, p, wrong);
	if (UNLIKELY(p->out == PKT_IF_SELF))
		return V_LOCAL6;
	return gw->forwarder->ip6(gw, p);
}

static __attribute__((noinline)) void ip6_frame(struct gw *gw, const struct interface *in,
                                                struct pkt *p)
{
	if (UNLIKELY(in->n_addr6 == 0)) {
		gw_discard(gw, p, DROP_IPV6);
		return;
	}
	settle(gw, p, ip6_input(gw, p));
}

/* Handles a frame that is neither IPv4 nor IPv6. */
static void other_frame(struct gw *gw, const struct interface *in, struct pkt *p, uint16_t type)
{
	if (type == ETH_ARP)
		arp_input(gw, p);
	else if (type == ETH_VLAN || type == ETH_PROVIDER)
		vlan_unexpected(gw, in, p);
	else
		gw_discard(gw, p, DROP_ETHERTYPE);
}

/* True when a service takes a frame. */
ALWAYS_INLINE bool service_takes(struct gw *gw, const struct interface *in, struct pkt *p)
{
	for (uint32_t i = 0; i < gw->n_frame_hooks; i++)
		if (gw->frame_hook[i](gw, in, p))
			return true;
	return false;
}

/* Handles a frame that no service takes. */
static __attribute__((noinline)) void frame(struct gw *gw, const struct interface *in,
                                            struct pkt *p)
{
	const struct eth_hdr *eth = (const struct eth_hdr *)p->data;
	if (UNLIKELY(gw->dhcp.state != DHCP_OFF) && dhcp_receive(gw, in, p))
		return;
	if (UNLIKELY(gw->dhcps != NULL) && dhcps_receive(gw, in, p))
		return;
	if (UNLIKELY(!pkt_pull(p, sizeof *eth))) {
		gw_discard(gw, p, DROP_RUNT);
		return;
	}
	if (UNLIKELY(!mac_eq(&eth->to, &in->address))) {
		if (!mac_is_group(&eth->to)) {
			gw_discard(gw, p, DROP_NOT_OURS);
			return;
		}
		p->flags |= PKT_L2_GROUP;
	}
	if (LIKELY(be16_raw(eth->type) == swap16(ETH_IP4)))
		settle(gw, p, ip4_input(gw, p));
	else if (be16_raw(eth->type) == swap16(ETH_IP6))
		ip6_frame(gw, in, p);
	else
		other_frame(gw, in, p, be16_get(eth->type));
}

void gw_frame(struct gw *gw, struct pkt *p)
{
	const struct interface *in = &gw->iface[p->iface];
	gw->timing.slow = true;
	if (!service_takes(gw, in, p))
		frame(gw, in, p);
}

/* Handles n frames that are not timed. */
ALWAYS_INLINE void untimed(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n)
{
	if (gw->forwarder->frames) {
		gw->forwarder->frames(gw, iface, burst, n);
		return;
	}
	for (; n > 0; n--, burst++)
		if (!service_takes(gw, &gw->iface[iface], *burst))
			frame(gw, &gw->iface[iface], *burst);
}

/* Handles n frames while one is to be timed (stats/timing.h). */
static __attribute__((noinline)) void timed(struct gw *gw, uint32_t iface, struct pkt **burst,
                                            uint32_t n)
{
	struct interface *in = &gw->iface[iface];
	for (; in->timing_due && n > 0; n--, burst++) {
		uint64_t before = gw->counts.forwarded;
		uint32_t start = timing_begin(gw, in);
		if (gw->timing.steps_only)
			gw_frame(gw, *burst);
		else
			untimed(gw, iface, burst, 1);
		timing_finish(gw, in, start, gw->counts.forwarded != before);
	}
	if (n > 0)
		untimed(gw, iface, burst, n);
}

/* Handles n frames that are counted. */
ALWAYS_INLINE void frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n)
{
	if (UNLIKELY(gw->iface[iface].timing_due))
		timed(gw, iface, burst, n);
	else
		untimed(gw, iface, burst, n);
}

/* Hands what waits to the cards when a transmit queue is half full: a frame may leave as a few
 * fragments, and the next frames must find room for all. */
static void make_room(struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (pkt_queue_count(&gw->iface[i].out) > PKT_QUEUE_SIZE / 2) {
			gw->flush(gw);
			return;
		}
}

void gw_input_cut(struct gw *gw, uint32_t iface, struct pkt *p)
{
	while (p) {
		struct pkt *burst[32];
		uint32_t n = 0;
		while (p && n < ARRAY_SIZE(burst) && (burst[n] = offload_next(gw->pool, &p)))
			n++;
		if (n > 0) {
			frames(gw, iface, burst, n);
			make_room(gw);
		} else {
			gw_discard(gw, p, DROP_NO_PACKET);
			return;
		}
	}
}

void gw_input_partial(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n)
{
	struct interface *in = &gw->iface[iface];
	const struct forwarder *f = gw->forwarder;
	gw_clock_keep(&gw->clock);
	if (UNLIKELY(gw->capture))
		capture_received(gw, iface, burst, n);
	for (; n > 0; n--, burst++) {
		struct pkt *p = *burst;
		uint32_t bytes = p->total; /* with those behind the IP packet */
		p->iface = (uint8_t)iface;
		enum drop wrong = offload_check(p);
		in->rx_packets += p->segments;
		in->rx_bytes += p->segments > 1 ? offload_bytes(p, 0) : bytes;
		if (UNLIKELY(wrong != DROP_NONE))
			gw_discard(gw, p, wrong);
		else if (UNLIKELY(!f->partial || !f->partial(gw, iface, p)))
			gw_input_cut(gw, iface, p);
	}
}

void gw_input(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n)
{
	struct interface *in = &gw->iface[iface];
	uint32_t bytes = 0;
	gw_clock_keep(&gw->clock);
	for (uint32_t i = 0; i < n; i++) {
		struct pkt *p = burst[i];
		p->iface = (uint8_t)iface;
		bytes += p->len;
	}
	in->rx_packets += n;
	in->rx_bytes += bytes;
	if (UNLIKELY(gw->capture))
		capture_received(gw, iface, burst, n);
	frames(gw, iface, burst, n);
}

void gw_input_counted(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n)
{
	gw_clock_keep(&gw->clock);
	if (UNLIKELY(gw->capture))
		capture_received(gw, iface, burst, n);
	frames(gw, iface, burst, n);
}

void gw_reinject(struct gw *gw, struct pkt *p, uint32_t iface, enum family family)
{
	if (UNLIKELY((p->flags & PKT_ROUNDS) == REINJECTED_MAX * PKT_ROUND)) {
		gw_discard(gw, p, DROP_LOOP);
		return;
	}
	p->iface = (uint8_t)iface;
	p->flags = (uint16_t)((p->flags & ~PKT_ROUTED) + PKT_ROUND);
	settle(gw, p, family == FAMILY_IP4 ? ip4_input(gw, p) : ip6_input(gw, p));
}

/* Reinjects an IPv4 packet whose destination is an address of ours or of the application as one
 * that comes from outside. The gateway itself or a translation made it. This happens to a packet
 * once. */
static void hairpin(struct gw *gw, struct pkt *p)
{
	if (p->flags & PKT_HAIRPIN) {
		gw_discard(gw, p, DROP_LOOP);
		return;
	}
	gw->counts.hairpinned++;
	p->flags |= PKT_HAIRPIN;
	gw_reinject(gw, p, IF_WAN, FAMILY_IP4);
}

void gw_transmit_all(struct gw *gw, struct interface *iface, struct pkt **burst, uint32_t n)
{
	struct pkt_queue *queue = &iface->out;
	uint32_t fits = min_u32(n, PKT_QUEUE_SIZE - pkt_queue_count(queue)), tail = queue->tail,
	         bytes = 0;
	for (uint32_t i = 0; i < fits; i++) {
		queue->slot[(tail + i) % PKT_QUEUE_SIZE] = burst[i];
		bytes += max_u32(burst[i]->len, ETH_MIN);
	}
	queue->tail = tail + fits;
	iface->sent += fits;
	iface->sent_bytes += bytes;
	for (uint32_t i = fits; i < n; i++)
		gw_discard(gw, burst[i], DROP_LINK_FULL);
}

void gw_send(struct gw *gw, struct pkt *p)
{
	send(gw, p);
}

void gw_forward(struct gw *gw, struct pkt *p)
{
	gw->counts.forwarded++;
	gw_send(gw, p);
}

void gw_send6(struct gw *gw, struct pkt *p)
{
	send6(gw, p);
}

void gw_forward6(struct gw *gw, struct pkt *p)
{
	gw->counts.forwarded++;
	gw_send6(gw, p);
}
