/* See icmp.h. */
#include "net/ip4/icmp.h"

#include "net/client.h"
#include "net/lib/csum.h"
#include "net/ip4/ip4.h"

#define ERROR_BYTES 576u /* of the whole error, RFC 1812 section 4.3.2.3 */

bool icmp_error_allowed(struct gw *gw, enum icmp_limit_kind kind, uint32_t client)
{
	if (icmp_limit_take(&gw->limits[kind], gw->rng, gw->clock.us, client))
		return true;
	gw->counts.icmp_suppressed++;
	return false;
}

static bool is_error_type(uint8_t type)
{
	return type == ICMP_UNREACHABLE || type == ICMP_QUENCH || type == ICMP_REDIRECT ||
	       type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER;
}

/* RFC 1812 section 4.3.2.7: no error about an ICMP error, a later fragment, a group
 * address, or a packet whose source is not a single host that is reachable where the packet
 * came from. */
static bool may_tell(const struct gw *gw, const struct pkt *p)
{
	if (p->iface >= INTERFACES || p->flags & (PKT_LATER | PKT_L2_GROUP))
		return false;
	if (p->proto == PROTO_ICMP) {
		const uint8_t *icmp = pkt_at(p, p->l4, 1);
		if (!icmp || p->l4_len == 0 || is_error_type(icmp[0]))
			return false;
	}
	if (ip4_bad_destination(gw, p) != DROP_NONE)
		return false;
	/* A translated packet has one of our addresses as its source: the error comes back
	 * to us and is translated for the inside host. */
	return p->flags & (PKT_HAIRPIN | PKT_TRANSLATED) || !ip4_bad_source(gw, p);
}

/* The client (net/client.h) whose limit applies. A translated packet has one of our
 * addresses as its source, for which no station is known. */
static uint32_t addressee(struct gw *gw, const struct pkt *p)
{
	const struct addr a = {.v4 = ip4_header(p)->from};
	return p->flags & (PKT_HAIRPIN | PKT_TRANSLATED) ? client_beyond(gw, &a)
	                                                 : client_of(gw, p->iface, &a);
}

void icmp_error(struct gw *gw, const struct pkt *p, uint8_t type, uint8_t code, uint32_t rest)
{
	const struct ip4_hdr *about = ip4_header(p);
	bool too_big = type == ICMP_UNREACHABLE && code == ICMP_TOO_BIG;
	if (!may_tell(gw, p) ||
	    !icmp_error_allowed(gw, too_big ? ICMP_LIMIT_TOO_BIG : ICMP_LIMIT_OTHER,
	                        addressee(gw, p)))
		return;
	/* An error about a packet that was translated inwards comes from inside, so that
	 * the translation reverses the quoted addresses (RFC 5508 REQ-5). */
	bool inbound = p->flags & PKT_INBOUND;
	const struct address4 *own = inbound ? interface_own4(&gw->iface[p->out], about->to)
	                                     : interface_own4(&gw->iface[p->iface], about->from);
	struct pkt *e = own ? pkt_alloc(gw->pool) : NULL;
	if (!e) {
		gw->counts.icmp_suppressed++;
		return;
	}
	uint32_t quote = min_u32(p->len, ERROR_BYTES - IP4_MIN - sizeof(struct icmp_hdr));
	uint8_t *icmp = pkt_put(e, sizeof(struct icmp_hdr) + quote);
	if (!icmp || !pkt_push(e, IP4_MIN)) { /* does not happen: a slot has more room */
		pkt_free(e);
		return;
	}
	e->iface = PKT_IF_SELF;
	icmp[0] = type;
	icmp[1] = code;
	store16(icmp + 2, 0);
	store32(icmp + 4, swap32(rest));
	memcpy(icmp + sizeof(struct icmp_hdr), p->data, quote);
	store16(icmp + 2, (uint16_t)~csum_sum(icmp, sizeof(struct icmp_hdr) + quote));
	ip4_build(gw, e, own->addr, about->from, PROTO_ICMP, 0);
	gw->counts.icmp_errors++;
	if (inbound) {
		e->flags |= PKT_TRANSLATED;
		gw_reinject(gw, e, p->out, FAMILY_IP4);
		return;
	}
	gw_send(gw, e);
}
