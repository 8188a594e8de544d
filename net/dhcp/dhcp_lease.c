/* See dhcp_lease.h. */
#include "net/dhcp/dhcp_lease.h"

#include "net/ip4/ip4.h"
#include "net/setup/net_keys.h"

#define LEASE_LEAST_S 5u    /* a shorter lease is asked for more often than it is of use */
#define MTU_LEAST     1280u /* below, IPv6 would not work beside it (RFC 8200 section 5) */
#define RD_LEAST      22u   /* bytes of option 212: with one relay (RFC 5969 section 7.1.1) */
#define VALUE         1024u /* longest value that is read */

static void ignore(struct dhcp_lease *l, const char *what)
{
	if (l->n_ignored < DHCP_IGNORED)
		l->ignored[l->n_ignored++] = what;
}

/* --- address -------------------------------------------------------------------------------- */

/* The length of the network where the server does not say (RFC 950: that of the class). */
static uint8_t class_len(ip4 a)
{
	return a.b[0] < 128 ? 8 : a.b[0] < 192 ? 16 : 24;
}

/* The length of a mask (host order); 33 when its ones are not in front. */
static uint8_t mask_len(uint32_t mask)
{
	uint8_t len = 0;
	while (len < 32 && mask & 0x80000000u >> len)
		len++;
	return addr_mask4(len) == mask ? len : 33;
}

static const char *read_address(struct dhcp_lease *l, const struct dhcp_message *m)
{
	uint32_t mask;
	l->addr = m->hdr->yiaddr;
	l->len = class_len(l->addr);
	if (dhcp_message_get32(m, DHCP_MASK, &mask))
		l->len = mask_len(mask);
	else if (dhcp_message_has(m, DHCP_MASK))
		l->len = 33;
	if (l->len == 0 || l->len > 32)
		return "bad option subnet mask";
	const struct prefix own = {.addr = {.v4 = l->addr}, .len = l->len};
	return net_not_own(&own);
}

/* --- times ----------------------------------------------------------------------------------- */

static const char *read_times(struct dhcp_lease *l, const struct dhcp_message *m)
{
	if (!dhcp_message_get32(m, DHCP_LEASE_TIME, &l->lease_s))
		return "no lease time";
	if (l->lease_s < LEASE_LEAST_S)
		return "a lease of less than 5 s";
	/* RFC 2131 section 4.4.5. */
	uint32_t t1 = l->lease_s / 2, t2 = l->lease_s - l->lease_s / 8;
	if (l->lease_s == UINT32_MAX)
		t1 = t2 = UINT32_MAX;
	if (!dhcp_message_get32(m, DHCP_T1, &l->t1_s))
		l->t1_s = t1;
	if (!dhcp_message_get32(m, DHCP_T2, &l->t2_s))
		l->t2_s = t2;
	if (l->lease_s == UINT32_MAX || (l->t1_s > 0 && l->t1_s < l->t2_s && l->t2_s < l->lease_s))
		return NULL;
	if (dhcp_message_has(m, DHCP_T1) && dhcp_message_has(m, DHCP_T2))
		ignore(l, "the times of renewal, which are not in order");
	l->t1_s = t1;
	l->t2_s = t2;
	return NULL;
}

/* --- routes ----------------------------------------------------------------------------------- */

static void add_route(struct dhcp_lease *l, uint32_t net, uint8_t len, ip4 via)
{
	if (l->n_routes == DHCP_ROUTES) {
		ignore(l, "routes behind the first 16");
		return;
	}
	l->route[l->n_routes++] =
	        (struct dhcp_route){.net = ip4_of(net & addr_mask4(len)), .via = via, .len = len};
}

/* RFC 3442: length of the network, as many of its bytes as that needs, router. */
static void read_classless(struct dhcp_lease *l, const uint8_t *at, uint32_t n)
{
	while (n > 0) {
		uint32_t bytes = (at[0] + 7u) / 8;
		uint8_t net[4] = {0}, len = at[0];
		ip4 via;
		if (len > 32 || n < 1 + bytes + sizeof via) {
			ignore(l, "a classless route that is malformed, and those behind it");
			return;
		}
		memcpy(net, at + 1, bytes);
		memcpy(&via, at + 1 + bytes, sizeof via);
		at += 1 + bytes + sizeof via;
		n -= 1 + bytes + (uint32_t)sizeof via;
		if (ip4_no_host(via))
			ignore(l, "a classless route without a router");
		else
			add_route(l, swap32(load32(net)), len, via);
	}
}

/* RFC 2132 section 5.8: pairs of destination and router; never a default route. */
static void read_static(struct dhcp_lease *l, const uint8_t *at, uint32_t n)
{
	if (n % 8)
		ignore(l, "a static route that is malformed");
	for (; n >= 8; at += 8, n -= 8) {
		ip4 to, via;
		memcpy(&to, at, sizeof to);
		memcpy(&via, at + sizeof to, sizeof via);
		uint8_t len = ip4_get(to) & ~addr_mask4(class_len(to)) ? 32 : class_len(to);
		if (ip4_no_host(via) || ip4_no_host(to))
			ignore(l, "a static route that none may be");
		else
			add_route(l, ip4_get(to), len, via);
	}
}

static void read_routers(struct dhcp_lease *l, const uint8_t *at, uint32_t n)
{
	if (n % 4)
		ignore(l, "a router that is malformed");
	for (; n >= 4; at += 4, n -= 4) {
		ip4 via;
		memcpy(&via, at, sizeof via);
		if (ip4_no_host(via))
			ignore(l, "a router that is no host");
		else
			add_route(l, 0, 0, via);
	}
}

/* The value of an option, cut to VALUE bytes. */
static uint32_t value_of(const struct dhcp_message *m, enum dhcp_code code, uint8_t *out)
{
	uint32_t n;
	return dhcp_message_get(m, code, out, VALUE, &n) ? min_u32(n, VALUE) : 0;
}

static void read_routes(struct dhcp_lease *l, const struct dhcp_message *m)
{
	uint8_t value[VALUE];
	uint32_t n = value_of(m, DHCP_CLASSLESS, value);
	if (n > 0) { /* the others do not count then (RFC 3442) */
		read_classless(l, value, n);
		return;
	}
	read_routers(l, value, value_of(m, DHCP_ROUTER, value));
	read_static(l, value, value_of(m, DHCP_STATIC_ROUTES, value));
}

/* --- the rest --------------------------------------------------------------------------------- */

/* Reads the first servers of an option with a list of them; gives how many. */
static uint32_t read_servers(struct dhcp_lease *l, const struct dhcp_message *m,
                             enum dhcp_code code, const char *wrong, ip4 out[static DHCP_SERVERS])
{
	uint8_t value[VALUE];
	uint32_t n = value_of(m, code, value), found = 0;
	if (n % 4)
		ignore(l, wrong);
	for (uint32_t i = 0; i + 4 <= n; i += 4) {
		ip4 server;
		memcpy(&server, value + i, sizeof server);
		if (ip4_no_host(server))
			ignore(l, wrong);
		else if (found < DHCP_SERVERS)
			out[found++] = server;
	}
	return found;
}

static void read_mtu(struct dhcp_lease *l, const struct dhcp_message *m, uint32_t most)
{
	uint16_t mtu;
	if (!dhcp_message_has(m, DHCP_MTU))
		return;
	if (dhcp_message_get16(m, DHCP_MTU, &mtu) && mtu >= MTU_LEAST && mtu <= most)
		l->mtu = mtu;
	else
		ignore(l, "an MTU that is below 1280 or above wan.mtu");
}

/* Bits of the prefix behind its length are ignored, and of several relays the first one counts. */
static void read_6rd(struct dhcp_lease *l, const struct dhcp_message *m)
{
	uint8_t value[VALUE];
	uint32_t n = value_of(m, DHCP_6RD, value);
	struct dhcp_6rd rd;
	if (n == 0)
		return;
	bool whole = n >= RD_LEAST && n % 4 == RD_LEAST % 4;
	if (whole) {
		rd.mask_len = value[0];
		rd.len = value[1];
		memcpy(&rd.prefix, value + 2, sizeof rd.prefix);
		memcpy(&rd.relay, value + 2 + sizeof rd.prefix, sizeof rd.relay);
	}
	if (!whole || rd.mask_len > 32 || rd.len == 0 || rd.len > 128 ||
	    rd.len + 32u - rd.mask_len > 128 || ip4_no_host(rd.relay)) {
		ignore(l, "a 6rd domain that is malformed");
		return;
	}
	for (uint32_t i = rd.len; i < 128; i++)
		rd.prefix.b[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	l->rd = rd;
}

const char *dhcp_lease_read(struct dhcp_lease *lease, const struct dhcp_message *m,
                            uint32_t mtu_most)
{
	*lease = (struct dhcp_lease){.n_routes = 0};
	if (!dhcp_message_get_ip4(m, DHCP_SERVER_ID, &lease->server) || ip4_no_host(lease->server))
		return "no server identifier";
	const char *bad = read_address(lease, m);
	if (!bad)
		bad = read_times(lease, m);
	if (bad)
		return bad;
	read_routes(lease, m);
	lease->n_dns = read_servers(lease, m, DHCP_DNS, "a DNS server that is no host", lease->dns);
	lease->n_ntp =
	        read_servers(lease, m, DHCP_NTP, "a time server that is no host", lease->ntp);
	read_mtu(lease, m, mtu_most);
	read_6rd(lease, m);
	return NULL;
}
