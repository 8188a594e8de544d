/* Which IPv4 addresses may be the other end of a tunnel (RFC 3056 section 9, RFC 3964
 * section 5.3.1), and the table of those that passed the check. See tun.h.
 *
 * The table only saves time. An attacker who fills it with forged senders causes one route
 * lookup for each packet, no more. */
#include "apps/tunnel/tun.h"

struct block {
	uint32_t net, mask;
	const char *what;
};

static const struct block not_unicast[] = {
        {0x00000000, 0xff000000, "in 0.0.0.0/8"},
        {0x7f000000, 0xff000000, "a loopback address"},
        {0xe0000000, 0xf0000000, "a multicast address"},
        {0xf0000000, 0xf0000000, "a reserved address"},
};
/* Not globally unique (RFC 3056 section 9, RFC 3964 section 5.3.1). Blocks for
 * documentation and benchmarks count as public everywhere. */
static const struct block not_global[] = {
        {0x0a000000, 0xff000000, "private (RFC 1918)"},
        {0xac100000, 0xfff00000, "private (RFC 1918)"},
        {0xc0a80000, 0xffff0000, "private (RFC 1918)"},
        {0x64400000, 0xffc00000, "for carrier NAT (RFC 6598)"},
        {0xa9fe0000, 0xffff0000, "link-local"},
};
/* Packets from this block are accepted: relays may send from it (RFC 7526 section 6). */
static const struct block anycast = {0xc0586300, 0xffffff00, "the anycast block (RFC 7526)"};

static const char *in_blocks(const struct block *b, uint32_t n, uint32_t a)
{
	for (uint32_t i = 0; i < n; i++)
		if ((a & b[i].mask) == b[i].net)
			return b[i].what;
	return NULL;
}

bool tun_may_be_end(const struct tun *t, ip4 a)
{
	if (in_blocks(not_unicast, ARRAY_SIZE(not_unicast), ip4_get(a)))
		return false;
	return t->private_good || !in_blocks(not_global, ARRAY_SIZE(not_global), ip4_get(a));
}

const char *tun_why_no_end(ip4 a)
{
	const char *what = in_blocks(not_unicast, ARRAY_SIZE(not_unicast), ip4_get(a));
	if (!what)
		what = in_blocks(not_global, ARRAY_SIZE(not_global), ip4_get(a));
	return what ? what : in_blocks(&anycast, 1, ip4_get(a));
}

enum drop tun_bad_end(const struct gw *gw, struct tun *t, uint32_t a)
{
	ip4 end = ip4_from_raw(a);
	if (!tun_may_be_end(t, end))
		return DROP_TUNNEL_END;
	const struct gw_route *r = ip4_route_for(gw, end);
	if (!r)
		return DROP_NO_ROUTE;
	/* An end on the LAN, an address of ours and a broadcast are refused like private
	 * addresses. */
	if (r->iface != IF_WAN || r->own == ip4_get(end) || gw_owned(gw, end) ||
	    ip4_is_broadcast(&gw->iface[IF_WAN], end))
		return DROP_TUNNEL_END;
	t->end[a * gw->id_mul >> 24] = (struct tun_end){a, r->via ? r->via : a};
	return DROP_NONE;
}
