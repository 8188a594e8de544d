/* See dns64_server.h. */
#include "apps/dns64/upstream/dns64_server.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/gw_address.h"

#define FIRST_WAIT_US 376000u  /* before a server's first answer */
#define LEAST_WAIT_US 250000u  /* the server may have to ask other servers first */
#define DOWN_MISSED   4u       /* attempts in a row … */
#define DOWN_QUIET_US 2000000u /* … and no answer for so long */
#define GONE_S        30u      /* down for so long, and an attempt failed within this time */
#define PROBE_MIN_US  1000000u
#define SAY_MS        60000u /* between two lines of the log about what is not asked */
#define PROBE_MAX_US  16000000u

/* One of the servers `wanted` (a bit each, not 0): the next in turn, or a random one. */
static uint32_t choose(struct gw *gw, struct dns64_servers *all, uint32_t wanted)
{
	uint32_t i = all->round_robin ? all->next : rng_below(gw->rng, all->n);
	while (!(wanted >> i & 1))
		i = i + 1 < all->n ? i + 1 : 0;
	all->next = i + 1 < all->n ? i + 1 : 0;
	return i;
}

uint32_t dns64_server_choose(struct gw *gw, uint32_t tried)
{
	struct dns64_servers *all = dns64_servers_of(gw);
	uint32_t mask = (1u << all->n) - 1, up = 0, absent = 0;
	_Static_assert(NET_SERVERS < 32, "a bit each");
	for (uint32_t i = 0; i < all->n; i++)
		up |= (uint32_t)!all->server[i].down << i;
	for (uint32_t i = 0; i < all->n; i++)
		absent |= (uint32_t)all->server[i].absent << i;
	if (absent != mask)
		mask &= ~absent;
	if (up & ~tried)
		return choose(gw, all, up & ~tried);
	if (up)
		return choose(gw, all, up);
	return choose(gw, all, mask & ~tried ? mask & ~tried : mask);
}

uint32_t dns64_server_due_probe(struct gw *gw)
{
	struct dns64_servers *all = dns64_servers_of(gw);
	for (uint32_t i = 0; i < all->n; i++) {
		struct dns64_server *s = &all->server[i];
		if (!s->down || gw->clock.us < s->probe_us)
			continue;
		s->probe_us = gw->clock.us + s->probe_gap_us;
		s->probe_gap_us = min_u32(2 * s->probe_gap_us, PROBE_MAX_US);
		return i;
	}
	return DNS64_NONE;
}

bool dns64_server_all_gone(const struct gw *gw)
{
	const struct dns64_servers *all = dns64_servers_of(gw);
	for (uint32_t i = 0; i < all->n; i++) {
		const struct dns64_server *s = &all->server[i];
		if (!s->down || gw->clock.s - s->down_s < GONE_S ||
		    gw->clock.s - s->missed_s >= GONE_S)
			return false;
	}
	return true;
}

uint32_t dns64_server_wait_us(const struct gw *gw, uint32_t server, uint32_t n)
{
	const struct dns64_servers *all = dns64_servers_of(gw);
	const struct dns64_server *s = &all->server[server];
	uint32_t wait =
	        s->srtt_us ? max_u32(s->srtt_us + 4 * s->var_us, LEAST_WAIT_US) : FIRST_WAIT_US;
	for (; n > 0 && wait < all->attempt_us; n--)
		wait *= 2;
	return min_u32(wait, all->attempt_us);
}

static void log_server(const struct dns64_server *s, const char *what)
{
	char text[FMT_IP6];
	log_line("nameserver %s %s", addr_text(text, &s->addr), what);
}

/* --- servers that routers and leases name --------------------------------------------------- */

#define NAMED (AUTOCONF_SERVERS + DHCP_SERVERS + DHCP6_SERVERS)

/* A place without a server: it is never probed, and chosen only when there is no server at all. */
static void make_absent(struct dns64_server *s)
{
	*s = (struct dns64_server){.addr = {.is6 = true},
	                           .is_named = true,
	                           .absent = true,
	                           .down = true,
	                           .probe_us = UINT64_MAX};
}

void dns64_server_expect(struct dns64_servers *all, uint32_t n)
{
	for (uint32_t i = 0; i < n && all->n < NET_SERVERS; i++)
		make_absent(&all->server[all->n++]);
}

/* The servers that routers of the WAN and the lease of the WAN name now. A query to an address that
 * the forwarder translates would be ours again. */
static uint32_t named(struct gw *gw, struct addr out[NAMED])
{
	uint32_t n = 0, by_routers = gw->autoconf.n_servers;
	for (uint32_t i = 0; gw->dhcp.in_force && i < gw->dhcp.lease.n_dns; i++)
		out[n++] = (struct addr){.v4 = gw->dhcp.lease.dns[i]};
	for (uint32_t i = 0; i < by_routers + gw->dhcp6.n_dns; i++) {
		const ip6 *server = i < by_routers ? &gw->autoconf.server[i].addr
		                                   : &gw->dhcp6.dns[i - by_routers];
		char text[FMT_IP6];
		if (route6_is_app(&gw->routes6, server, 128))
			log_limited(&gw->autoconf.refused_us, SAY_MS,
			            "dns64: server %s is not asked: it is translated here",
			            fmt_ip6(text, server));
		else
			out[n++] = (struct addr){.is6 = true, .v6 = *server};
	}
	return n;
}

static const char *by_whom(const struct dns64_server *s)
{
	return s->addr.is6 ? "a router or DHCPv6" : "the lease of the WAN";
}

static bool has(const struct addr *list, uint32_t n, const struct addr *a)
{
	for (uint32_t i = 0; i < n; i++)
		if (addr_eq(&list[i], a))
			return true;
	return false;
}

static bool is_known(const struct dns64_servers *all, const struct addr *a)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (!all->server[i].absent && addr_eq(&all->server[i].addr, a))
			return true;
	return false;
}

/* Gives a server a free place; where there is none it is not used. */
static void enter(struct dns64_servers *all, const struct addr *a)
{
	char what[48];
	for (uint32_t i = 0; i < all->n; i++) {
		struct dns64_server *s = &all->server[i];
		if (!s->absent)
			continue;
		*s = (struct dns64_server){.addr = *a, .is_named = true};
		all->n_up++;
		fmt(what, sizeof what, "is named by %s", by_whom(s));
		log_server(s, what);
		return;
	}
}

static bool is_ours(const struct gw *gw, const struct addr *a)
{
	return a->is6 ? gw_address6(gw, IF_WAN, &a->v6) != NULL : gw_is_own(gw, a->v4);
}

void dns64_server_follow(struct gw *gw)
{
	struct dns64_servers *all = dns64_servers_of(gw);
	uint32_t changed =
	        gw->autoconf.servers_changed + gw->dhcp.servers_changed + gw->dhcp6.servers_changed;
	struct addr list[NAMED];
	char what[56];
	if (LIKELY(all->followed == changed))
		return;
	all->followed = changed;
	uint32_t n = named(gw, list);
	for (uint32_t i = 0; i < all->n; i++) {
		struct dns64_server *s = &all->server[i];
		if (!s->is_named || s->absent || has(list, n, &s->addr))
			continue;
		fmt(what, sizeof what, "is no longer named by %s", by_whom(s));
		log_server(s, what);
		all->n_up -= !s->down;
		make_absent(s);
	}
	for (uint32_t i = 0; i < n; i++)
		if (!is_known(all, &list[i]) && !is_ours(gw, &list[i]))
			enter(all, &list[i]);
}

/* --- answers and silence
 * -------------------------------------------------------------------------- */

void dns64_server_answered(struct gw *gw, uint32_t server, uint32_t rtt_us)
{
	struct dns64_servers *all = dns64_servers_of(gw);
	struct dns64_server *s = &all->server[server];
	s->missed = 0;
	s->answer_us = gw->clock.us;
	s->answered++;
	/* RFC 6298 section 2, with shifts instead of divisions. */
	if (s->srtt_us == 0) {
		s->srtt_us = max_u32(rtt_us, 1);
		s->var_us = rtt_us / 2;
	} else {
		uint32_t off = rtt_us > s->srtt_us ? rtt_us - s->srtt_us : s->srtt_us - rtt_us;
		s->var_us = s->var_us - s->var_us / 4 + off / 4;
		s->srtt_us = max_u32(s->srtt_us - s->srtt_us / 8 + rtt_us / 8, 1);
	}
	if (UNLIKELY(s->down)) {
		s->down = false;
		all->n_up++;
		log_server(s, "is back");
	}
}

void dns64_server_missed(struct gw *gw, uint32_t server)
{
	struct dns64_servers *all = dns64_servers_of(gw);
	struct dns64_server *s = &all->server[server];
	all->timeouts++;
	s->missed += s->missed < UINT32_MAX;
	s->missed_s = gw->clock.s;
	if (s->down || s->missed < DOWN_MISSED || gw->clock.us - s->answer_us < DOWN_QUIET_US)
		return;
	s->down = true;
	s->down_s = gw->clock.s;
	s->probe_gap_us = PROBE_MIN_US;
	s->probe_us = gw->clock.us + PROBE_MIN_US;
	all->n_up--;
	log_server(s, "does not answer");
}
