/* Setting up the tunnel engine: its parameters, our addresses and routes. See tun.h. */
#include "apps/tunnel/tun.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/gw_address.h"
#include "net/setup/gw_setup6.h"
#include "net/ra/ra.h"

static char wrong[128];

static const char *key_error(const char *format, ...) PRINTF_LIKE(1, 2);
static const char *key_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fmt_v(wrong, sizeof wrong, format, args);
	va_end(args);
	return wrong;
}

/* --- the parameters ----------------------------------------------------------------------- */

static void set_prefix(struct tun_prefix *p, uint64_t bits, uint32_t len)
{
	uint64_t mask = len == 0 ? 0 : ~0ull << (64 - len);
	bits &= mask;
	p->mask[0] = swap32((uint32_t)(mask >> 32));
	p->mask[1] = swap32((uint32_t)mask);
	p->word[0] = swap32((uint32_t)(bits >> 32));
	p->word[1] = swap32((uint32_t)bits);
}

static uint64_t upper_half(const ip6 *a)
{
	return (uint64_t)swap32(ip6_word(a, 0)) << 32 | swap32(ip6_word(a, 1));
}

static ip6 address_of(uint64_t upper, uint32_t host)
{
	ip6 a = {{0}};
	store32(a.b, swap32((uint32_t)(upper >> 32)));
	store32(a.b + 4, swap32((uint32_t)upper));
	store32(a.b + 12, swap32(host));
	return a;
}

/* Takes the 6rd domain over from the lease of the WAN where the configuration says so. Sets
 * *changed when it is another one than before. */
static const char *choose_domain(const struct gw *gw, struct tun *t, bool *changed)
{
	const struct tun_config_6rd *c = &tun_config(gw->config)->rd;
	const struct dhcp_6rd *lease = &gw->dhcp.rd;
	struct tun_config_6rd rd = *c;
	*changed = false;
	if (!c->has_prefix || c->prefix.len > 0)
		return NULL;
	if (lease->len == 0)
		return "the lease of wan.address dhcp has no 6rd domain";
	rd.prefix = (struct prefix){.addr = {.is6 = true, .v6 = lease->prefix}, .len = lease->len};
	rd.mask = lease->mask_len;
	rd.has_relay = true;
	rd.relay = lease->relay;
	if (!tun_good_6rd(&rd.prefix))
		return "the 6rd prefix of the lease is not global, or longer than 64 bits";
	*changed = !addr_eq(&rd.prefix.addr, &t->rd.prefix.addr) ||
	           rd.prefix.len != t->rd.prefix.len || rd.mask != t->rd.mask ||
	           !ip4_eq(rd.relay, t->rd.relay);
	t->rd = rd;
	return NULL;
}

/* Chooses the address that the site's prefix is made from (*site) and our outer address on
 * the WAN. They are the same unless we are behind another NAT. */
static const char *choose_addresses(const struct gw *gw, struct tun *t, ip4 *site)
{
	const struct tun_config *c = tun_config(gw->config);
	const struct interface *wan = &gw->iface[IF_WAN];
	char text[FMT_IP4];
	if (wan->n_addr == 0)
		return "wan.address: an IPv4 address is required by 6to4";
	ip4 first = wan->addr[0].addr;
	*site = c->has_address ? c->address : first;
	bool own = interface_has4(wan, *site);
	t->outer = ip4_raw(own ? *site : first);
	if (t->rd.has_prefix)
		return NULL; /* a provider's network may use private addresses */
	const char *what = tun_why_no_end(*site);
	if (what && c->has_address)
		return key_error("6to4.address: %s is %s", fmt_ip4(text, *site), what);
	if (what)
		return key_error("6to4.address: must be given, because wan.address %s is %s",
		                 fmt_ip4(text, *site), what);
	if (!own && !tun_why_no_end(first))
		return key_error("6to4.address: %s is not a wan.address, and that is not private",
		                 fmt_ip4(text, *site));
	return NULL;
}

static const char *choose_relay(const struct gw *gw, struct tun *t)
{
	const struct tun_config *c = tun_config(gw->config);
	bool rd = t->rd.has_prefix;
	const char *key = rd ? "6rd.relay" : "6to4.relay";
	ip4 relay = rd ? t->rd.relay : c->relay;
	char text[FMT_IP4];
	t->relay_may_all = rd;
	/* A provider's network has one entry for native IPv6, the relay (RFC 5969 section
	 * 12). */
	t->native_any = !rd && c->native_from == TUN_NATIVE_ANY;
	if (!(rd ? t->rd.has_relay : c->has_relay))
		return NULL;
	const char *what = rd ? NULL : tun_why_no_end(relay);
	if (!what && gw_is_own(gw, relay))
		what = "the gateway itself";
	if (what)
		return key_error("%s: %s is %s", key, fmt_ip4(text, relay), what);
	t->relay = ip4_raw(relay);
	return NULL;
}

/* Computes the prefixes of domain, site and LAN from the parameters. Gives NULL, or what is
 * wrong. */
static const char *set_prefixes(const struct gw *gw, struct tun *t, ip4 own, uint32_t *site_len,
                                uint64_t *site, uint64_t *lan)
{
	const struct tun_config *c = tun_config(gw->config);
	bool rd = t->rd.has_prefix;
	uint32_t len = rd ? t->rd.prefix.len : 16, mask = rd ? t->rd.mask : 0;
	uint64_t domain = rd ? upper_half(&t->rd.prefix.addr.v6) : 0x2002ull << 48;
	*site_len = len + 32 - mask;
	if (*site_len > 64)
		return key_error(
		        "6rd.prefix: with %u bits of IPv4 address there is no room for a /64",
		        32 - mask);
	t->v4_mask = mask == 32 ? 0 : 0xffffffffu >> mask;
	t->v4_common = ip4_get(own) & ~t->v4_mask;
	t->at = (uint8_t)(len / 8);
	t->bit = (uint8_t)(len % 8);
	t->drop_bits = (uint8_t)(mask % 32);
	t->whole = t->bit == 0 && mask == 0;
	uint32_t subnet_bits = 64 - *site_len, subnet = subnet_bits ? c->subnet : 0;
	if (subnet_bits < 16 && subnet >> subnet_bits)
		return key_error("6to4.subnet: %u does not fit, the site's prefix is a /%u", subnet,
		                 *site_len);
	*site = domain | (uint64_t)(ip4_get(own) & t->v4_mask) << subnet_bits;
	*lan = *site | subnet;
	set_prefix(&t->domain, domain, len);
	set_prefix(&t->site, *site, *site_len);
	return NULL;
}

static void set_header(const struct gw *gw, struct tun *t)
{
	const struct tun_config *c = tun_config(gw->config);
	const struct ip4_hdr h = {
	        .version_ihl = 0x45,
	        .ttl = IP4_TTL,
	        .proto = PROTO_IP6,
	        .from = ip4_from_raw(t->outer),
	};
	t->word0 = load32(&h);
	t->word2 = load32(&h.ttl);
	t->header_sum = csum_ip4_header(&h);
	t->tos_mask = (uint8_t)((c->dscp == TUN_COPY ? 0xfc : 0) | (c->ecn == TUN_COPY ? 3 : 0));
	t->mss = (uint16_t)c->mss_clamp;
}

/* --- addresses and routes ------------------------------------------------------------------ */

/* Adds the routes into the tunnel, and routes that keep other packets out of it: to the
 * unused rest of the site (such packets would come back for ever), to addresses that no
 * host has and to addresses that are valid only inside a network (RFC 3964 section 5.3.2,
 * RFC 4193). False when the table of routes is full. */
static bool set_routes(struct gw *gw, uint64_t site, uint32_t site_len, uint64_t domain,
                       uint32_t domain_len)
{
	const struct {
		ip6 net;
		uint32_t len, iface;
	} route[] = {
	        {address_of(site, 0), site_len, IF_NONE},
	        {address_of(domain, 0), domain_len, IF_APP},
	        {address_of(0xfcull << 56, 0), 7, IF_NONE},
	        {address_of(0, 0), 16, IF_NONE},
	        {address_of(0, 0), 0, IF_APP},
	};
	for (uint32_t i = 0; i < ARRAY_SIZE(route); i++)
		if (!gw_add_route6(gw, &route[i].net, (uint8_t)route[i].len, NULL, route[i].iface))
			return false;
	return true;
}

/* Sets our address on a network of the inside, whose prefix is `net`, and starts the advertisements
 * there. Hosts should prefer any other router to 6to4 (RFC 6343 section 4.1), but not to their
 * provider's own 6rd. */
static const char *start_lan(struct gw *gw, struct tun *t, uint32_t lan, uint64_t upper)
{
	const struct interface *iface = &gw->iface[lan];
	ip6 net = address_of(upper, 0), router = address_of(upper, 1);
	bool have = false, rd = t->rd.has_prefix;
	/* Host number 1, unless the configuration gives us another address in that network. */
	for (uint32_t i = 0; i < iface->n_addr6; i++)
		have |= addr_in6(&iface->addr6[i].addr, &net, 64);
	const char *bad = have ? NULL : gw_add_address6(gw, lan, &router, 64);
	if (bad)
		return bad;
	t->lan_net[lan] = upper;
	t->lan_own[lan] = !have;
	if (!gw->ra[lan].on)
		ra_start(gw, lan, RA_LIFETIME_S, rd ? RA_PREF_MEDIUM : RA_PREF_LOW,
		         min_u32(gw->app_mtu, iface->mtu));
	return ra_set_prefix(gw, lan, &net, 64, ND_PREFIX_ON_LINK | ND_PREFIX_AUTONOMOUS,
	                     RA_VALID_S, RA_PREFERRED_S)
	               ? NULL
	               : "too many prefixes to advertise";
}

/* Each network of the inside gets a /64 of the site: 6to4.subnet and those after it, in the order
 * lan, lan2, …. A site of one /64 serves the first network only. */
static const char *start_lans(struct gw *gw, struct tun *t, uint64_t lan, uint32_t site_len)
{
	uint64_t all = 1ull << (64 - site_len), left = all - (lan & (all - 1));
	const char *bad = NULL;
	for (uint32_t i = 0; i < gw->n_iface && !bad; i++) {
		if (!interface_is_inside(i))
			continue;
		if (left-- == 0) {
			log_line("6to4: the site's prefix has no /64 for %s and what follows it",
			         gw->iface[i].name);
			break;
		}
		bad = start_lan(gw, t, i, lan++);
	}
	return bad;
}

/* Takes the site back: our addresses, and the prefixes, which are deprecated. */
static void stop_lans(struct gw *gw, struct tun *t)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		ip6 net = address_of(t->lan_net[i], 0), router = address_of(t->lan_net[i], 1);
		if (t->lan_net[i] == 0)
			continue;
		ra_deprecate(gw, i, &net, 64);
		if (t->lan_own[i])
			gw_del_address6(gw, i, &router);
		t->lan_net[i] = 0;
		t->lan_own[i] = false;
	}
}

/* Takes the prefixes back in whose networks we have no address any more. */
static void stop_lost_lans(struct gw *gw, struct tun *t)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		ip6 net = address_of(t->lan_net[i], 0);
		const struct interface *at = &gw->iface[i];
		bool have = t->lan_net[i] == 0;
		for (uint32_t k = 0; k < at->n_addr6 && !have; k++)
			have = addr_in6(&at->addr6[k].addr, &net, 64);
		if (have)
			continue;
		log_line("6to4: %s has no address of the site any more", at->name);
		ra_deprecate(gw, i, &net, 64);
		t->lan_net[i] = 0;
		t->lan_own[i] = false;
	}
}

/* Makes the site of an address. */
static const char *start_site(struct gw *gw, struct tun *t, ip4 own)
{
	uint64_t site = 0, lan = 0;
	uint32_t site_len = 0;
	const char *bad = choose_relay(gw, t);
	if (!bad)
		bad = set_prefixes(gw, t, own, &site_len, &site, &lan);
	if (bad)
		return bad;
	set_header(gw, t);
	bad = start_lans(gw, t, lan, site_len);
	if (bad)
		return bad;
	uint32_t domain_len = t->rd.has_prefix ? t->rd.prefix.len : 16;
	uint64_t domain = site >> (64 - domain_len) << (64 - domain_len);
	return set_routes(gw, site, site_len, domain, domain_len) ? NULL : "too many routes";
}

const char *tun_follow(struct gw *gw, struct tun *t)
{
	ip4 own = ip4_of(0);
	uint32_t outer = t->outer;
	bool other;
	const char *bad = choose_domain(gw, t, &other);
	if (!bad)
		bad = choose_addresses(gw, t, &own);
	memset(t->end, 0, sizeof t->end); /* their routes may have changed */
	if (!bad && !other && t->up && ip4_eq(own, t->made_from) && t->outer == outer) {
		stop_lost_lans(gw, t);
		return NULL;
	}
	stop_lans(gw, t);
	gw_forget_routes6(gw);
	t->up = false;
	if (!bad)
		bad = start_site(gw, t, own);
	if (bad) {
		stop_lans(gw, t);
		gw_forget_routes6(gw);
	}
	t->made_from = own;
	t->up = !bad;
	t->lease_us = 0;
	return bad;
}

/* The prefixes of a leased address live no longer than its lease (RFC 5969 section 4). */
static void follow_lease(struct gw *gw, const struct tun *t)
{
	const struct dhcp_client *d = &gw->dhcp;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		ip6 net = address_of(t->lan_net[i], 0);
		if (t->lan_net[i])
			ra_lease(gw, i, &net, d->end_us, d->end_us);
	}
}

void tun_lease_tick(struct gw *gw, struct tun *t)
{
	const struct dhcp_client *d = &gw->dhcp;
	if (LIKELY(!t->up || !d->in_force || d->end_us == t->lease_us) ||
	    !ip4_eq(t->made_from, d->lease.addr))
		return;
	t->lease_us = d->end_us;
	follow_lease(gw, t);
}

const char *tun_setup(struct gw *gw, struct tun *t)
{
	const struct tun_config *c = tun_config(gw->config);
	const struct net_config_interface *wan = &net_config(gw->config)->iface[IF_WAN];
	t->private_good = c->rd.has_prefix;
	t->rd = c->rd;
	gw->app_mtu = c->mtu;
	if (c->mtu + IP4_MIN > gw->iface[IF_WAN].mtu)
		log_line("6to4.mtu: packets over %u bytes leave in two fragments",
		         gw->iface[IF_WAN].mtu - IP4_MIN);
	for (uint32_t i = 0; i < wan->n_address; i++)
		if (wan->address[i].addr.is6 && !net_is_auto(&wan->address[i]))
			log_line("wan.address: the WAN of 6to4 has no IPv6, the address is not "
			         "used");
	reasm_init(gw, &t->reasm);
	bool leased = net_has_dhcp(gw->config), asks = c->rd.has_prefix && c->rd.prefix.len == 0;
	if (asks && !leased)
		return "6rd.prefix dhcp: needs wan.address dhcp";
	if (asks || (gw->iface[IF_WAN].n_addr == 0 && leased))
		return NULL; /* the site follows from the first lease */
	return tun_follow(gw, t);
}
