/* See ra.h. */
#include "net/ra/ra.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/lib/when.h"
#include "net/ip6/icmp6.h"
#include "net/ip6/ip6.h"
#include "net/ip6/mld.h"
#include "net/ip6/nd_option.h"
#include "net/neigh/neigh.h"

/* RFC 4861 section 6.2.1: defaults of MaxRtrAdvInterval and MinRtrAdvInterval. */
#define LONGEST_MS  600000u
#define SHORTEST_MS 198000u
/* RFC 4861 section 10. */
#define FIRST_MS  16000u /* longest interval between the first … */
#define FIRST     3u     /* … this many */
#define APART_MS  3000u  /* shortest interval between two to all nodes */
#define SOON_MS   600u   /* half a second, and what clock.ms may be late */
#define ANSWER_MS 500u   /* longest wait before an answer */

/* --- contents ---------------------------------------------------------------------- */

/* An advertisement that is being written; it fits every link. */
struct writer {
	uint8_t bytes[IP6_MTU_MIN - IP6_MIN];
	uint32_t n;
};

/* Adds an option of n bytes, zero except for type and length; NULL when there is no room. */
static void *option(struct writer *w, uint8_t type, uint32_t n)
{
	uint8_t *at = w->bytes + w->n;
	if (n > sizeof w->bytes - w->n || n > 255 * 8)
		return NULL;
	memset(at, 0, n);
	at[0] = type;
	at[1] = (uint8_t)(n / 8);
	w->n += n;
	return at;
}

/* Seconds that a deprecated prefix is still valid. */
static uint32_t left_s(const struct gw *gw, const struct ra_prefix *p)
{
	return when_left(gw->clock.s, p->until_s, RA_LEAVING_S);
}

/* Seconds of a lifetime that ends at a time at the latest. */
static uint32_t bounded_s(const struct gw *gw, uint32_t most_s, uint64_t end_us)
{
	uint64_t left_us = end_us > gw->clock.us ? end_us - gw->clock.us : 0;
	return left_us >= most_s * 1000000ull ? most_s : (uint32_t)(left_us / 1000000);
}

static void set_lifetimes(const struct gw *gw, struct nd_opt_prefix *o, const struct ra_prefix *p)
{
	uint32_t valid = p->valid_s, preferred = p->preferred_s;
	if (p->deprecated) {
		valid = p->leased ? 0 : left_s(gw, p);
		preferred = 0;
	} else if (p->leased) {
		valid = bounded_s(gw, valid, p->valid_us);
		preferred = bounded_s(gw, preferred, p->preferred_us);
	}
	o->valid = be32_of(valid);
	o->preferred = be32_of(preferred);
}

static void write_prefixes(const struct gw *gw, struct writer *w, const struct ra *ra)
{
	for (uint32_t i = 0; i < ra->n_prefixes; i++) {
		const struct ra_prefix *p = &ra->prefix[i];
		struct nd_opt_prefix *o = option(w, ND_OPT_PREFIX, sizeof *o);
		if (!o)
			return;
		o->prefix_len = p->len;
		o->flags = p->flags;
		set_lifetimes(gw, o, p);
		o->prefix = p->net;
	}
}

/* Writes a domain name as labels with their lengths (RFC 1035 section 3.1); gives the
 * number of bytes. */
static uint32_t write_name(uint8_t *to, const char *name)
{
	uint32_t n = 0, at = 0; /* at: place of the length of the label that is being written */
	to[n++] = 0;
	for (; *name; name++) {
		if (*name == '.') {
			if (to[at] == 0) /* the name ends with a dot */
				return n;
			at = n;
			to[n++] = 0;
			continue;
		}
		to[at]++;
		to[n++] = (uint8_t)*name;
	}
	if (to[at] != 0)
		to[n++] = 0;
	return n;
}

uint32_t ra_servers(const struct gw *gw, uint32_t iface, ip6 out[static RA_SERVERS])
{
	const struct ra_config_interface *c = ra_config(gw->config, iface);
	const struct ra *ra = &gw->ra[iface];
	if (c->n_rdnss) {
		memcpy(out, c->rdnss, c->n_rdnss * sizeof *out);
		return c->n_rdnss;
	}
	out[0] = ra->dns;
	return ra->has_dns;
}

uint32_t ra_domains(const struct gw *gw, uint32_t iface,
                    uint8_t out[static RA_DOMAINS * (CONFIG_DOMAIN + 2)])
{
	const struct ra_config_interface *c = ra_config(gw->config, iface);
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->n_dnssl; i++)
		n += write_name(out + n, c->dnssl[i]);
	return n;
}

static void write_dns(const struct gw *gw, uint32_t iface, struct writer *w, uint32_t lifetime_s)
{
	const struct ra_config_interface *c = ra_config(gw->config, iface);
	const struct ra *ra = &gw->ra[iface];
	ip6 servers[RA_SERVERS];
	uint32_t n = ra_servers(gw, iface, servers) * (uint32_t)sizeof(ip6);
	struct nd_opt_dns *o = n ? option(w, ND_OPT_RDNSS, sizeof *o + n) : NULL;
	if (o) {
		o->lifetime = be32_of(lifetime_s);
		memcpy(o + 1, servers, n);
	}
	o = ra->has_gone_dns && c->n_rdnss == 0 ? option(w, ND_OPT_RDNSS, sizeof *o + sizeof(ip6))
	                                        : NULL;
	if (o) /* lifetime 0 */
		memcpy(o + 1, &ra->gone_dns, sizeof ra->gone_dns);
	uint8_t names[RA_DOMAINS * (CONFIG_DOMAIN + 2)];
	n = ra_domains(gw, iface, names);
	o = n ? option(w, ND_OPT_DNSSL, sizeof *o + ((n + 7) & ~7u)) : NULL;
	if (o) {
		o->lifetime = be32_of(lifetime_s);
		memcpy(o + 1, names, n);
	}
}

static void write_pref64(struct writer *w, const struct prefix *prefix, uint32_t n,
                         uint32_t lifetime_s)
{
	static const uint8_t lengths[] = {96, 64, 56, 48, 40, 32}; /* RFC 8781 section 4 */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t code = 0;
		while (code < ARRAY_SIZE(lengths) && lengths[code] != prefix[i].len)
			code++;
		struct nd_opt_pref64 *o =
		        code < ARRAY_SIZE(lengths) ? option(w, ND_OPT_PREF64, sizeof *o) : NULL;
		if (!o)
			return;
		o->lifetime = be16_of((uint16_t)(lifetime_s / 8 << 3 | code));
		memcpy(o->prefix, &prefix[i].addr.v6, sizeof o->prefix);
	}
}

static void write_all_pref64(const struct gw *gw, uint32_t iface, struct writer *w,
                             uint32_t lifetime_s)
{
	const struct ra_config_interface *c = ra_config(gw->config, iface);
	const struct ra *ra = &gw->ra[iface];
	if (c->n_pref64) {
		write_pref64(w, c->pref64, c->n_pref64, lifetime_s);
		return;
	}
	write_pref64(w, ra->pref64, ra->n_pref64, ra->pref64_gone ? 0 : lifetime_s);
	write_pref64(w, ra->gone64, ra->n_gone64, 0);
}

bool ra_tells_dns(const struct gw *gw, uint32_t iface)
{
	ip6 servers[RA_SERVERS];
	return interface_is_inside(iface) && gw->ra[iface].on &&
	       (ra_servers(gw, iface, servers) || ra_config(gw->config, iface)->n_dnssl);
}

bool ra_tells_pref64(const struct gw *gw, uint32_t iface)
{
	const struct ra *ra = &gw->ra[iface];
	return interface_is_inside(iface) && ra->on &&
	       (ra_config(gw->config, iface)->n_pref64 || (ra->n_pref64 && !ra->pref64_gone));
}

/* Sends an advertisement. `last`: all lifetimes are zero, because this router ends. */
static void send(struct gw *gw, uint32_t iface, const ip6 *to, bool last)
{
	struct writer w = {.n = sizeof(struct ra_msg)};
	const struct interface *at = &gw->iface[iface];
	const struct ra *ra = &gw->ra[iface];
	struct ra_msg *m = (struct ra_msg *)w.bytes;
	uint32_t lifetime_s = last ? 0 : RA_LIFETIME_S;
	memset(m, 0, sizeof *m);
	m->type = ICMP6_RA;
	m->hops = IP6_HOPS;
	m->lifetime = be16_of(last ? 0 : ra->lifetime_s);
	/* RFC 4191 section 2.2: medium unless it is a default router. */
	m->flags = be16_get(m->lifetime) ? ra->preference : RA_PREF_MEDIUM;
	if (ra_tells_dns(gw, iface))
		m->flags |= RA_OTHER;
	struct nd_opt_mac *source = option(&w, ND_OPT_SOURCE, sizeof *source);
	if (source)
		source->address = at->address;
	struct nd_opt_mtu *mtu = ra->mtu ? option(&w, ND_OPT_MTU, sizeof *mtu) : NULL;
	if (mtu)
		mtu->mtu = be32_of(ra->mtu);
	write_prefixes(gw, &w, ra);
	write_dns(gw, iface, &w, lifetime_s);
	write_all_pref64(gw, iface, &w, lifetime_s);
	void *message;
	struct pkt *p = icmp6_new(gw, w.n, &message);
	if (!p)
		return;
	memcpy(message, w.bytes, w.n);
	icmp6_send(gw, iface, p, &at->addr6[0].addr, to, NULL, IP6_ND_HOPS);
}

/* --- times ------------------------------------------------------------------------- */

/* Schedules an advertisement to all nodes within `most_ms`, but not too soon after the last
 * one. One that is due earlier stays. */
static void bring_forward(struct gw *gw, struct ra *ra, uint32_t most_ms)
{
	uint32_t wait = rng_below(gw->rng, most_ms + 1);
	uint32_t apart = when_left(gw->clock.ms, ra->apart_ms, APART_MS);
	if (wait < apart)
		wait = apart + rng_below(gw->rng, most_ms + 1);
	if (wait < when_left(gw->clock.ms, ra->next_ms, LONGEST_MS))
		ra->next_ms = gw->clock.ms + wait;
}

void ra_restart(struct gw *gw, uint32_t iface)
{
	struct ra *ra = &gw->ra[iface];
	if (!ra->on)
		return;
	ra->n_first = 0;
	ra->next_ms = gw->clock.ms + LONGEST_MS;
	bring_forward(gw, ra, ANSWER_MS);
}

void ra_start(struct gw *gw, uint32_t iface, uint16_t lifetime_s, uint8_t preference, uint32_t mtu)
{
	struct ra *ra = &gw->ra[iface];
	ra->on = ra_config_on(gw->config, iface);
	ra->lifetime_s = lifetime_s;
	ra->preference = preference;
	ra->mtu = mtu;
	ra_restart(gw, iface);
}

void ra_set_dns(struct gw *gw, uint32_t iface, const ip6 *server)
{
	struct ra *ra = &gw->ra[iface];
	bool same = server ? ra->has_dns && ip6_eq(&ra->dns, server) : !ra->has_dns;
	if (!same && ra->has_dns) { /* hosts learn once that it is gone */
		ra->gone_dns = ra->dns;
		ra->has_gone_dns = true;
	}
	ra->has_dns = server != NULL;
	if (server)
		ra->dns = *server;
	if (!same)
		bring_forward(gw, ra, ANSWER_MS);
}

static bool same_prefixes(const struct prefix *a, const struct prefix *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i].len != b[i].len || !addr_eq(&a[i].addr, &b[i].addr))
			return false;
	return true;
}

/* Hosts learn that those prefixes are gone that are none of the new ones. */
static void leave_pref64(struct ra *ra, const struct prefix *pref64, uint32_t n)
{
	ra->n_gone64 = 0;
	for (uint32_t i = 0; i < ra->n_pref64; i++) {
		uint32_t k = 0;
		while (k < n && !same_prefixes(&ra->pref64[i], &pref64[k], 1))
			k++;
		if (k == n)
			ra->gone64[ra->n_gone64++] = ra->pref64[i];
	}
}

void ra_set_pref64(struct gw *gw, uint32_t iface, const struct prefix *pref64, uint32_t n,
                   bool works)
{
	struct ra *ra = &gw->ra[iface];
	n = min_u32(n, RA_PREF64);
	if (ra->n_pref64 == n && ra->pref64_gone == !works && same_prefixes(ra->pref64, pref64, n))
		return;
	leave_pref64(ra, pref64, n);
	ra->n_pref64 = n;
	ra->pref64_gone = !works;
	memcpy(ra->pref64, pref64, n * sizeof *pref64);
	bring_forward(gw, ra, ANSWER_MS);
}

static struct ra_prefix *find(struct ra *ra, const ip6 *net, uint8_t len)
{
	for (uint32_t i = 0; i < ra->n_prefixes; i++)
		if (ra->prefix[i].len == len && addr_in6(&ra->prefix[i].net, net, len))
			return &ra->prefix[i];
	return NULL;
}

/* The deprecated prefix that ends first; NULL when none is deprecated. */
static struct ra_prefix *first_deprecated(const struct gw *gw, struct ra *ra)
{
	struct ra_prefix *found = NULL;
	for (uint32_t i = 0; i < ra->n_prefixes; i++) {
		struct ra_prefix *p = &ra->prefix[i];
		if (p->deprecated && (!found || left_s(gw, p) < left_s(gw, found)))
			found = p;
	}
	return found;
}

bool ra_set_prefix(struct gw *gw, uint32_t iface, const ip6 *net, uint8_t len, uint8_t flags,
                   uint32_t valid_s, uint32_t preferred_s)
{
	struct ra *ra = &gw->ra[iface];
	struct ra_prefix *p = find(ra, net, len);
	if (!p && ra->n_prefixes < RA_PREFIXES)
		p = &ra->prefix[ra->n_prefixes++];
	if (!p && !(p = first_deprecated(gw, ra)))
		return false;
	*p = (struct ra_prefix){
	        .net = addr_net6(net, len),
	        .len = len,
	        .flags = flags,
	        .valid_s = valid_s,
	        .preferred_s = preferred_s,
	};
	bring_forward(gw, ra, ANSWER_MS);
	return true;
}

static void leave(const struct gw *gw, struct ra_prefix *p)
{
	p->deprecated = true;
	p->until_s = gw->clock.s + min_u32(p->valid_s, RA_LEAVING_S);
}

void ra_deprecate(struct gw *gw, uint32_t iface, const ip6 *net, uint8_t len)
{
	struct ra *ra = &gw->ra[iface];
	struct ra_prefix *p = find(ra, net, len);
	if (!p || p->deprecated)
		return;
	leave(gw, p);
	bring_forward(gw, ra, ANSWER_MS);
}

void ra_lease(struct gw *gw, uint32_t iface, const ip6 *net, uint64_t valid_us,
              uint64_t preferred_us)
{
	struct ra *ra = &gw->ra[iface];
	struct ra_prefix *p = find(ra, net, 64);
	if (!p || p->deprecated)
		return;
	/* Hosts must hear of a renewal in time, and of what is shorter at once. */
	bool is_new = !p->leased || preferred_us < p->preferred_us || valid_us < p->valid_us;
	bool is_short = bounded_s(gw, RA_LEASED_PREFERRED_S, p->preferred_us) < RA_LIFETIME_S;
	bool is_longer = p->leased && (preferred_us > p->preferred_us || valid_us > p->valid_us);
	p->leased = true;
	p->valid_us = valid_us;
	p->preferred_us = preferred_us;
	p->valid_s = RA_LEASED_VALID_S;
	p->preferred_s = RA_LEASED_PREFERRED_S;
	if (is_new || (is_longer && is_short))
		bring_forward(gw, ra, ANSWER_MS);
}

/* True when the interface has an address in the network of a prefix. */
static bool is_own_net(const struct interface *iface, const struct ra_prefix *p)
{
	for (uint32_t i = 0; i < iface->n_addr6; i++)
		if (iface->addr6[i].len == p->len &&
		    addr_in6(&iface->addr6[i].addr, &p->net, p->len))
			return true;
	return false;
}

bool ra_was_ours(const struct gw *gw, uint32_t iface, const ip6 *a)
{
	const struct ra *ra = &gw->ra[iface];
	for (uint32_t i = 0; i < ra->n_prefixes; i++)
		if (ra->prefix[i].deprecated && addr_in6(a, &ra->prefix[i].net, ra->prefix[i].len))
			return true;
	return false;
}

bool ra_follow(struct gw *gw, uint32_t iface, uint8_t flags)
{
	struct ra *ra = &gw->ra[iface];
	const struct interface *at = &gw->iface[iface];
	bool all = true;
	for (uint32_t i = 0; i < ra->n_prefixes; i++)
		if (!is_own_net(at, &ra->prefix[i]))
			ra_deprecate(gw, iface, &ra->prefix[i].net, ra->prefix[i].len);
	for (uint32_t i = 0; i < at->n_addr6; i++) {
		const struct address6 *a = &at->addr6[i];
		const struct ra_prefix *p = find(ra, &a->addr, a->len);
		if (ip6_is_link_local(&a->addr) || (p && !p->deprecated))
			continue;
		all &= ra_set_prefix(gw, iface, &a->addr, a->len, flags, RA_VALID_S,
		                     RA_PREFERRED_S);
	}
	return all;
}

bool ra_advertise_inside(struct gw *gw, bool leads)
{
	uint16_t lifetime_s = leads ? RA_LIFETIME_S : 0;
	bool all = true;
	for (uint32_t i = 0; gw->ip6 && i < gw->n_iface; i++) {
		const struct interface *at = &gw->iface[i];
		bool global = interface_global6(at) != NULL;
		if (!interface_is_inside(i) || (!global && !gw->ra[i].on))
			continue;
		if (global && (!gw->ra[i].on || gw->ra[i].lifetime_s != lifetime_s))
			ra_start(gw, i, lifetime_s, RA_PREF_MEDIUM,
			         at->mtu < NET_MTU ? at->mtu : 0);
		/* Without a global address it deprecates what is gone. */
		all &= ra_follow(gw, i, ND_PREFIX_ON_LINK | ND_PREFIX_AUTONOMOUS);
	}
	return all;
}

/* Removes prefixes that no host uses any more. */
static void forget_old(const struct gw *gw, struct ra *ra)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < ra->n_prefixes; i++)
		if (!ra->prefix[i].deprecated || left_s(gw, &ra->prefix[i]) > 0)
			ra->prefix[n++] = ra->prefix[i];
	ra->n_prefixes = n;
}

static void tick_iface(struct gw *gw, uint32_t iface)
{
	struct ra *ra = &gw->ra[iface];
	forget_old(gw, ra);
	for (uint32_t i = 0; i < RA_ANSWERS; i++)
		if (ra->answer[i].waits &&
		    when_come(gw->clock.ms, ra->answer[i].due_ms, ANSWER_MS)) {
			ra->answer[i].waits = false;
			send(gw, iface, &ra->answer[i].to, false);
		}
	if (!when_come(gw->clock.ms, ra->next_ms, LONGEST_MS))
		return;
	uint32_t wait = SHORTEST_MS + rng_below(gw->rng, LONGEST_MS - SHORTEST_MS);
	if (ra->n_first < FIRST) {
		ra->n_first++;
		wait = FIRST_MS;
	}
	ra->apart_ms = gw->clock.ms + APART_MS;
	ra->next_ms = gw->clock.ms + wait;
	send(gw, iface, &mld_all_nodes, false);
	ra->has_gone_dns = false;
}

/* RFC 4861 section 4.2: the source is the link-local address, so that must be valid. */
static bool may_send(const struct gw *gw, uint32_t iface)
{
	return gw->ra[iface].on && gw->iface[iface].carrier &&
	       gw->iface[iface].addr6[0].state == ADDRESS6_VALID;
}

void ra_tick(struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (may_send(gw, i))
			tick_iface(gw, i);
}

bool ra_is_busy(const struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		const struct ra *ra = &gw->ra[i];
		bool waits = when_left(gw->clock.ms, ra->next_ms, LONGEST_MS) < SOON_MS;
		for (uint32_t k = 0; k < RA_ANSWERS; k++)
			waits |= ra->answer[k].waits;
		if (waits && may_send(gw, i))
			return true;
	}
	return false;
}

void ra_stop(struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		struct ra *ra = &gw->ra[i];
		/* After a restart with another IPv4 address the prefixes are others. */
		for (uint32_t k = 0; k < ra->n_prefixes; k++)
			if (!ra->prefix[k].deprecated)
				leave(gw, &ra->prefix[k]);
		if (may_send(gw, i))
			send(gw, i, &mld_all_nodes, true);
		ra->on = false;
	}
}

/* --- received messages ------------------------------------------------------------- */

/* Answers a solicitation by an advertisement to all nodes. Shortly after the last one of
 * these, the answer goes only to the station that asked. */
static void answer(struct gw *gw, uint32_t iface, const ip6 *to)
{
	struct ra *ra = &gw->ra[iface];
	bool crowded = !when_come(gw->clock.ms, ra->apart_ms, APART_MS);
	for (uint32_t i = 0; crowded && ip6_is_link_local(to) && i < RA_ANSWERS; i++) {
		if (ra->answer[i].waits && ip6_eq(&ra->answer[i].to, to))
			return;
		if (ra->answer[i].waits)
			continue;
		ra->answer[i].waits = true;
		ra->answer[i].to = *to;
		ra->answer[i].due_ms = gw->clock.ms + rng_below(gw->rng, ANSWER_MS);
		return;
	}
	bring_forward(gw, ra, ANSWER_MS);
}

enum drop ra_solicited(struct gw *gw, const struct pkt *p)
{
	const struct ip6_hdr *h = ip6_header(p);
	const mac *source;
	if (!nd_option_address(p, sizeof(struct icmp6_hdr), ND_OPT_SOURCE, &source) ||
	    (source && ip6_is_unspecified(&h->from)))
		return DROP_ND_BAD;
	if (!gw->ra[p->iface].on)
		return DROP_ND_OTHER;
	if (source && interface_on_link6(&gw->iface[p->iface], &h->from))
		neigh_heard6(gw, p->iface, &h->from, source);
	answer(gw, p->iface, &h->from);
	return DROP_NONE;
}

enum drop ra_heard(struct gw *gw, const struct pkt *p)
{
	const struct ip6_hdr *h = ip6_header(p);
	const mac *source;
	char text[FMT_IP6];
	if (p->l4_len < sizeof(struct ra_msg) || !ip6_is_link_local(&h->from) ||
	    !nd_option_address(p, sizeof(struct ra_msg), ND_OPT_SOURCE, &source))
		return DROP_ND_BAD;
	if (gw->ra[p->iface].on)
		log_limited(&gw->ra[p->iface].other_us, LONGEST_MS, "%s: %s is a router here too",
		            gw->iface[p->iface].name, fmt_ip6(text, &h->from));
	return DROP_ND_OTHER;
}
