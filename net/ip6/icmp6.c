/* ICMPv6 errors, and sending ICMPv6 (RFC 4443). See icmp6.h. */
#include "net/ip6/icmp6.h"

#include "net/client.h"
#include "net/gw_address.h"
#include "net/ip4/icmp.h"
#include "net/ip6/ip6.h"

struct pkt *icmp6_new(struct gw *gw, uint32_t n, void **message)
{
	struct pkt *p = pkt_alloc(gw->pool);
	uint8_t *to = p ? pkt_put(p, IP6_MIN + n) : NULL;
	if (!to) {
		gw->counts.drops[DROP_NO_PACKET]++;
		if (p)
			pkt_free(p);
		return NULL;
	}
	memset(to, 0, IP6_MIN + n);
	p->iface = PKT_IF_SELF;
	*message = to + IP6_MIN;
	return p;
}

void icmp6_send(struct gw *gw, uint32_t iface, struct pkt *p, const ip6 *from, const ip6 *to,
                const mac *station, uint8_t hops)
{
	ip6_build(p, from, to, PROTO_ICMP6, hops);
	ip6_sum(p, offsetof(struct icmp6_hdr, sum));
	if (ip6_is_group(to)) {
		ip6_send_group(gw, iface, p);
		return;
	}
	struct eth_hdr *eth = station ? (struct eth_hdr *)pkt_push(p, sizeof *eth) : NULL;
	if (!eth) {
		ip6_to_link(p, iface);
		gw_send6(gw, p);
		return;
	}
	eth->to = *station;
	eth->from = gw->iface[iface].address;
	eth->type = be16_of(ETH_IP6);
	gw_transmit(gw, &gw->iface[iface], p);
}

/* "Source address failed ingress policy" (RFC 4443 section 3.1, code 5) is for a host that
 * used an address of another router's prefix. None of our routes leads to that address, so
 * the error goes to the station that sent the packet, and stays on that link. */
static bool answers_station(uint8_t type, uint8_t code)
{
	return type == ICMP6_UNREACHABLE && code == ICMP6_POLICY;
}

static bool station_may_ask(const struct gw *gw, const struct pkt *p)
{
	const ip6 *from = &ip6_header(p)->from;
	return p->iface < INTERFACES && !mac_is_group(&ip6_ethernet(p)->from) &&
	       !ip6_is_special(from) && !gw_address6(gw, p->iface, from);
}

/* RFC 4443 section 2.4 (e): no error about an error or a redirect, or about a packet that
 * might be one; about multicast only what path MTU discovery and unknown options require;
 * and no error to a source that is not a single host that is reachable where the packet
 * came from. */
static bool may_tell(const struct gw *gw, const struct pkt *p, uint8_t type, uint8_t code)
{
	if (p->iface == PKT_IF_SELF)
		return false;
	if (p->proto == PROTO_ICMP6) {
		const uint8_t *icmp = pkt_at(p, p->l4, 1);
		if (p->flags & PKT_LATER || !icmp || p->l4_len == 0 ||
		    icmp[0] < ICMP6_INFORMATION || icmp[0] == ICMP6_REDIRECT)
			return false;
	}
	bool about_group =
	        type == ICMP6_TOO_BIG || (type == ICMP6_PARAMETER && code == ICMP6_OPTION);
	if (!about_group && (ip6_is_group(&ip6_header(p)->to) || p->flags & PKT_L2_GROUP))
		return false;
	return answers_station(type, code) ? station_may_ask(gw, p) : !ip6_bad_source(gw, p);
}

/* The client (net/client.h) whose limit applies. When the error goes to a station, the
 * source address is no evidence, so it is the station. */
static uint32_t addressee(struct gw *gw, const struct pkt *p, uint8_t type, uint8_t code)
{
	const struct addr a = {.is6 = true, .v6 = ip6_header(p)->from};
	return answers_station(type, code) ? client_station(gw, p->iface, &ip6_ethernet(p)->from)
	                                   : client_of(gw, p->iface, &a);
}

void icmp6_error(struct gw *gw, const struct pkt *p, uint8_t type, uint8_t code, uint32_t rest)
{
	const struct ip6_hdr *about = ip6_header(p);
	enum icmp_limit_kind kind = type == ICMP6_TOO_BIG ? ICMP_LIMIT_TOO_BIG : ICMP_LIMIT_OTHER;
	if (!may_tell(gw, p, type, code) ||
	    !icmp_error_allowed(gw, kind, addressee(gw, p, type, code)))
		return;
	const ip6 *own = &about->to;
	if (!gw_is_own6(gw, p->iface, own))
		own = gw_own_address6(gw, p->iface, &about->from);
	void *message;
	uint32_t quote = min_u32(p->len, IP6_MTU_MIN - IP6_MIN - sizeof(struct icmp6_hdr));
	struct pkt *e = own ? icmp6_new(gw, sizeof(struct icmp6_hdr) + quote, &message) : NULL;
	if (!e) {
		gw->counts.icmp_suppressed++;
		return;
	}
	struct icmp6_hdr *icmp = message;
	icmp->type = type;
	icmp->code = code;
	icmp->rest = be32_of(rest);
	memcpy(icmp + 1, p->data, quote);
	gw->counts.icmp_errors++;
	if (answers_station(type, code)) {
		icmp6_send(gw, p->iface, e, own, &about->from, &ip6_ethernet(p)->from, IP6_HOPS);
		return;
	}
	ip6_build(e, own, &about->from, PROTO_ICMP6, IP6_HOPS);
	ip6_sum(e, offsetof(struct icmp6_hdr, sum));
	if (ip6_is_link_local(&about->from))
		ip6_to_link(e, p->iface);
	gw_send6(gw, e);
}
