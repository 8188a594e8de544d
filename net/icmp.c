/* ICMP errors (RFC 792, RFC 1812 section 4.3). See gw.h. */
#include "net/gw.h"

#include "net/csum.h"
#include "net/ip4.h"

#define ERROR_BYTES    576u  /* of the whole error, RFC 1812 section 4.3.2.3 */
#define ERROR_RATE     1000u /* a second, RFC 1812 section 4.3.2.8 */
#define ERROR_BURST    100u
#define ERROR_TOKEN_US (1000000u / ERROR_RATE)

static bool take_token(struct gw *gw)
{
	uint64_t passed = gw->now_us - gw->error_us;
	if (passed >= (uint64_t)ERROR_BURST * ERROR_TOKEN_US) {
		gw->error_tokens = ERROR_BURST;
		gw->error_us = gw->now_us;
	} else {
		uint32_t fresh = (uint32_t)passed / ERROR_TOKEN_US;
		gw->error_tokens = min_u32(gw->error_tokens + fresh, ERROR_BURST);
		gw->error_us += (uint64_t)fresh * ERROR_TOKEN_US;
	}
	if (gw->error_tokens == 0) {
		gw->icmp_suppressed++;
		return false;
	}
	/* One or two, so that nobody can count by them what others caused (the side
	 * channel of "SAD DNS", CVE-2020-25705). */
	gw->error_tokens -= min_u32(gw->error_tokens, 1 + rng_below(gw->rng, 2));
	return true;
}

static bool is_error_type(uint8_t type)
{
	return type == ICMP_UNREACHABLE || type == ICMP_QUENCH || type == ICMP_REDIRECT ||
	       type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER;
}

/* RFC 1812 section 4.3.2.7: never about an ICMP error, a later fragment, a
 * group address, or a source that is no single host reachable where the packet
 * came from. */
static bool may_tell(const struct gw *gw, const struct pkt *p)
{
	if (p->port >= GW_PORTS || p->flags & (PKT_LATER | PKT_L2_GROUP))
		return false;
	if (p->proto == PROTO_ICMP) {
		const uint8_t *icmp = pkt_at(p, p->l4, 1);
		if (!icmp || p->l4_len == 0 || is_error_type(icmp[0]))
			return false;
	}
	if (ip4_bad_destination(gw, p) != DROP_NONE)
		return false;
	/* A translated packet has a source of ours: the error comes back in and
	 * finds its way to the inside host through the translation. */
	return p->flags & (PKT_HAIRPIN | PKT_TRANSLATED) || !ip4_bad_source(gw, p);
}

void gw_error(struct gw *gw, const struct pkt *p, uint8_t type, uint8_t code, uint32_t rest)
{
	if (!may_tell(gw, p) || !take_token(gw))
		return;
	const struct ip4_hdr *about = ip4_header(p);
	/* About a packet that was translated inwards the error comes from inside,
	 * so that the translation turns the quoted addresses back (RFC 5508 REQ-5). */
	bool inbound = p->flags & PKT_INBOUND;
	const struct gw_address *own = inbound ? gw_own_address(gw, p->out, about->to)
	                                       : gw_own_address(gw, p->port, about->from);
	struct pkt *e = own ? pkt_alloc(gw->pool) : NULL;
	if (!e) {
		gw->icmp_suppressed++;
		return;
	}
	uint32_t quote = min_u32(p->len, ERROR_BYTES - IP4_MIN - sizeof(struct icmp_hdr));
	uint8_t *icmp = pkt_put(e, sizeof(struct icmp_hdr) + quote);
	if (!icmp || !pkt_push(e, IP4_MIN)) { /* cannot be: a slot holds far more */
		pkt_free(e);
		return;
	}
	e->port = PKT_PORT_SELF;
	icmp[0] = type;
	icmp[1] = code;
	store16(icmp + 2, 0);
	store32(icmp + 4, swap32(rest));
	memcpy(icmp + sizeof(struct icmp_hdr), p->data, quote);
	store16(icmp + 2, (uint16_t)~csum_sum(icmp, sizeof(struct icmp_hdr) + quote));
	ip4_build(gw, e, own->addr, about->from, PROTO_ICMP, 0);
	gw->icmp_errors++;
	if (inbound) {
		e->flags |= PKT_TRANSLATED;
		gw_turn(gw, p->out, e);
		return;
	}
	gw_send(gw, e);
}
