/* See arp.h. */
#include "net/ether/arp.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/ip4/ip4.h"
#include "net/neigh/neigh.h"
#include "net/stats/notice.h"

static const mac broadcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

static void send_arp(struct gw *gw, uint32_t iface, uint16_t operation, const mac *eth_to,
                     ip4 sender, const mac *target_mac, ip4 target)
{
	struct pkt *p = pkt_alloc(gw->pool);
	struct eth_hdr *eth = p ? (struct eth_hdr *)pkt_put(p, sizeof *eth) : NULL;
	struct arp_hdr *a = eth ? (struct arp_hdr *)pkt_put(p, sizeof *a) : NULL;
	if (!a) {
		gw->counts.drops[DROP_NO_PACKET]++;
		if (p)
			pkt_free(p);
		return;
	}
	p->iface = PKT_IF_SELF;
	eth->to = *eth_to;
	eth->from = gw->iface[iface].address;
	eth->type = be16_of(ETH_ARP);
	a->hardware = be16_of(1);
	a->protocol = be16_of(ETH_IP4);
	a->hardware_len = sizeof(mac);
	a->protocol_len = sizeof(ip4);
	a->operation = be16_of(operation);
	a->sender_mac = gw->iface[iface].address;
	a->sender_ip = sender;
	a->target_mac = *target_mac;
	a->target_ip = target;
	gw_transmit(gw, &gw->iface[iface], p);
}

void arp_ask(struct gw *gw, uint32_t iface, ip4 target, const mac *to)
{
	static const mac zero;
	const struct address4 *own = interface_own4(&gw->iface[iface], target);
	if (own)
		send_arp(gw, iface, ARP_REQUEST, to ? to : &broadcast, own->addr, &zero, target);
}

void arp_probe(struct gw *gw, uint32_t iface, ip4 wanted)
{
	static const mac zero;
	static const ip4 none;
	send_arp(gw, iface, ARP_REQUEST, &broadcast, none, &zero, wanted);
}

void arp_announce(struct gw *gw, uint32_t iface, ip4 own)
{
	static const mac zero;
	send_arp(gw, iface, ARP_REQUEST, &broadcast, own, &zero, own);
}

/* True for what no station may send: wrong sizes, or a hardware address that is no single
 * station's. */
static bool malformed(const struct arp_hdr *a)
{
	return be16_get(a->hardware) != 1 || be16_get(a->protocol) != ETH_IP4 ||
	       a->hardware_len != sizeof(mac) || a->protocol_len != sizeof(ip4) ||
	       mac_is_group(&a->sender_mac) ||
	       (load32(a->sender_mac.b) | load16(a->sender_mac.b + 4)) == 0;
}

/* Another station uses an address of ours: logs that and defends the address (RFC 5227 section
 * 2.4 (c)), at most every ten seconds. */
static void conflict(struct gw *gw, uint32_t iface, const struct arp_hdr *a)
{
	char addr[FMT_IP4], from[FMT_MAC];
	if (log_limited(&gw->iface[iface].conflict_us, 10000, "%s: %s also claims our address %s",
	                gw->iface[iface].name, fmt_mac(from, &a->sender_mac),
	                fmt_ip4(addr, a->sender_ip)))
		arp_announce(gw, iface, a->sender_ip);
}

/* True for an address that ARP answers for on an interface: one of its own, or one in its networks
 * that the application claims there (proxy ARP, RFC 3022 section 6.2). */
static bool is_ours(const struct gw *gw, uint32_t iface, ip4 a)
{
	const struct claim4 *claim;
	if (interface_has4(&gw->iface[iface], a))
		return true;
	return interface_on_link4(&gw->iface[iface], a) &&
	       (claim = route4_claimed(&gw->routes4, a)) && claim->iface == iface;
}

static enum drop arp_handle(struct gw *gw, uint32_t iface, const struct arp_hdr *a)
{
	const struct interface *in = &gw->iface[iface];
	if (malformed(a))
		return DROP_ARP_BAD;
	if (mac_eq(&a->sender_mac, &in->address)) /* our own frame, reflected by the link */
		return DROP_ARP_OTHER;
	bool probe = ip4_raw(a->sender_ip) == 0; /* RFC 5227 section 2.1.1 */
	if (is_ours(gw, iface, a->sender_ip)) {
		conflict(gw, iface, a);
		return DROP_ARP_BAD;
	}
	if (ip4_no_host(a->sender_ip) && !probe)
		return DROP_ARP_BAD;
	bool request = be16_get(a->operation) == ARP_REQUEST;
	if (!request && be16_get(a->operation) != ARP_REPLY)
		return DROP_ARP_BAD;
	bool for_us = is_ours(gw, iface, a->target_ip);
	/* An entry is made only for a station that asks for an address of ours, so that traffic
	 * between others costs no entries. Known stations are updated (RFC 826, "merge"); so a
	 * gratuitous ARP moves an address. A host may ask with an address of another of its
	 * networks (Linux does so by default): it is answered, but is no neighbour by that
	 * address. */
	if (!probe && interface_on_link4(in, a->sender_ip))
		neigh_learn4(gw, iface, a->sender_ip, &a->sender_mac, for_us && request,
		             NEIGH_REACHABLE);
	if (request && !for_us)
		notice_request(gw, iface, a->sender_ip, a->target_ip);
	if (request && for_us)
		send_arp(gw, iface, ARP_REPLY, &a->sender_mac, a->target_ip, &a->sender_mac,
		         a->sender_ip);
	return for_us ? DROP_NONE : DROP_ARP_OTHER;
}

void arp_input(struct gw *gw, struct pkt *p)
{
	enum drop wrong = DROP_RUNT;
	if (gw->forwarder->no_wan4 && p->iface == IF_WAN)
		wrong = DROP_IPV4;
	else if (p->len >= sizeof(struct arp_hdr))
		wrong = arp_handle(gw, p->iface, (const struct arp_hdr *)p->data);
	if (wrong != DROP_NONE)
		gw_drop(gw, p, wrong);
	pkt_free(p);
}
