/* Eviction: which session ends when the table or the ports of an external address are used
 * up. See nat_table.h.
 *
 * Uninvited sessions are evicted first, whatever host they belong to: they were opened from
 * outside, and no inside host has sent in them. For a new session of that kind nothing else
 * is evicted, unless it goes to a forwarded service. Next are half-open sessions (never
 * answered, or a TCP connection that is partly open) and finished connections of a host
 * that holds more than its share, in favour of a host that holds less; of the sessions that
 * were looked at, one of the host that holds most. A host's own finished connections are
 * evicted in favour of its new ones, whatever it holds. Sessions in use stay.
 *
 * All stations of an IPv6 LAN are in one /64, and each can take as many addresses as it likes. So
 * among the addresses of one /64 the stations (nat_inside.h) take the place of the hosts: a
 * half-open session or a finished connection is evicted in favour of a station that holds less than
 * the one that loses it, and a station's own finished connections in favour of its new ones. A
 * station with few sessions, but its only one, keeps them and gets new ones beside one that scans,
 * or makes up an address for each flow. Of two addresses of one station, or whose stations are not
 * known, the one that holds less gets the session. Where the /64 has as many sessions as it may,
 * another station gives one in the same way. A station's sessions are counted over all its
 * networks.
 *
 * Sessions are looked at in random order and in bounded number, so that a full table costs
 * little and no host can arrange that its sessions are missed. When few of many sessions
 * may be evicted, random draws can miss them all. Then the search scans neighbouring
 * entries, which is cheap for each entry, from where the last scan ended; so it reaches
 * every entry in the end. */
#include "apps/nat/nat_table.h"

/* Sessions or ports looked at: for a host below its share, and for a host that may only
 * take uninvited sessions or its own. */
#define ROOM_TRIES 32u
#define OWN_TRIES  4u
#define SCAN       16u /* entries scanned for each one drawn */
/* Added to what a session of a small station leaves behind: it ends only if there is no other. */
#define SMALL_STATION 0x40000000u

static bool half_open(const struct nat_session *s)
{
	return s->state == NAT_INIT || (s->state == NAT_OPEN && !(s->flags & NAT_ANSWERED));
}

/* True when both FINs or a reset were seen, or an established connection timed out. */
static bool is_over(const struct nat_session *s)
{
	return s->state == NAT_BOTH_FIN || s->state == NAT_TRANS;
}

/* An inside address that needs room, for the rule about stations of one /64. */
struct newcomer {
	uint32_t in_ip, holds; /* sessions of its station */
	bool is6, is_small;    /* these are no more than if all stations had the same */
};

static struct newcomer newcomer(const struct nat_table *t, uint32_t in_ip)
{
	struct newcomer c = {.in_ip = in_ip, .is6 = t->inside6 && nat_inside_is6(in_ip)};
	if (!c.is6)
		return c;
	c.holds = nat_inside_station_sessions(t->inside6, in_ip);
	c.is_small = c.holds <= t->size / (t->inside6->n_stations + 1);
	return c;
}

/* True for a mapping of an address in the newcomer's /64. */
static bool is_near(const struct nat_table *t, const struct nat_mapping *m,
                    const struct newcomer *c)
{
	return c->is6 && nat_inside_is6(m->in_ip) &&
	       nat_inside_is_near(t->inside6, m->in_ip, c->in_ip);
}

/* The sessions of the station, or address, that must give one to the newcomer, which is near; 0: it
 * must not. With one less a station still has as many as the newcomer's with one more, so that two
 * do not take from each other by turns; but each gets its first. */
static uint32_t gives(const struct nat_table *t, const struct nat_session *s,
                      const struct nat_mapping *m, const struct newcomer *c)
{
	const struct nat_inside *e = nat_inside_of(t->inside6, m->in_ip);
	const struct nat_inside *to = nat_inside_of(t->inside6, c->in_ip);
	uint32_t holds = t->inside6->station[e->station];
	if (e->station != to->station)
		return holds > c->holds + (c->holds > 0) ? holds : 0;
	if (is_over(s) && (e == to || e->station != 0))
		return holds;
	return e->n_sessions > to->n_sessions ? e->n_sessions : 0;
}

static bool evict(struct nat_table *t, struct nat_session *victim)
{
	if (!victim)
		return false;
	t->evicted++;
	nat_session_drop(t, victim);
	return true;
}

/* The next entry of the scan, free or not. There must be one. */
static struct nat_session *next_scanned(struct nat_table *t)
{
	if (t->scan_at >= t->session_free.fresh)
		t->scan_at = 0;
	return &t->session[t->scan_at++];
}

/* The host that needs room, and the best victim so far. */
struct room {
	uint32_t host, share; /* nat_host.ip */
	struct newcomer address;
	uint32_t keep; /* index of a mapping that keeps its last session, or NAT_NONE */
	bool entitled;
	bool in_host;          /* only what another station of the same host has */
	uint32_t victim_holds; /* sessions that the victim's host, station or address holds */
	struct nat_session *victim;
};

/* The sessions that the host or station of a session holds, if it is to lose this one, which may
 * end; 0: it is not. */
static uint32_t loses(const struct nat_table *t, const struct nat_session *s, const struct room *w)
{
	const struct nat_mapping *m = &t->mapping[s->mapping];
	const struct nat_host *h = &t->host[m->host];
	if (is_near(t, m, &w->address))
		return gives(t, s, m, &w->address);
	bool own = h->ip == w->host && is_over(s);
	if (!own && (!w->entitled || h->n_sessions <= w->share))
		return 0;
	return t->inside6 && nat_inside_is6(m->in_ip)
	               ? nat_inside_station_sessions(t->inside6, m->in_ip)
	               : h->n_sessions;
}

/* True for a session of another station of the same host, which counts for that. Of two addresses
 * whose stations are not known, each may be another's. */
static bool is_neighbours(const struct nat_table *t, const struct nat_session *s,
                          const struct room *w)
{
	const struct nat_mapping *m = &t->mapping[s->mapping];
	if (s->flags & NAT_UNINVITED || t->host[m->host].ip != w->host)
		return false;
	uint16_t of = nat_inside_of(t->inside6, m->in_ip)->station;
	uint16_t to = nat_inside_of(t->inside6, w->address.in_ip)->station;
	return of != to || (of == 0 && m->in_ip != w->address.in_ip);
}

/* Looks at one session; true for an uninvited one: no other is better. */
static bool consider(const struct nat_table *t, struct nat_session *s, struct room *w)
{
	bool uninvited = s->flags & NAT_UNINVITED;
	if (s->state == NAT_FREE || (!uninvited && !half_open(s) && !is_over(s)) ||
	    (s->mapping == w->keep && t->mapping[w->keep].n_sessions == 1) ||
	    (w->in_host && !is_neighbours(t, s, w)))
		return false;
	uint32_t holds = uninvited ? 0 : loses(t, s, w);
	if (uninvited || holds > w->victim_holds) {
		w->victim_holds = holds;
		w->victim = s;
	}
	return uninvited;
}

/* Looks for a victim, and evicts it. */
static bool make_room(struct nat_table *t, struct room *w, unsigned tries)
{
	uint32_t n = t->session_free.fresh;
	tries = n ? tries : 0;
	for (unsigned i = 0; i < tries; i++)
		if (consider(t, &t->session[rng_below(t->rng, n)], w))
			break;
	for (unsigned i = 0; !w->victim && i < tries * SCAN; i++)
		(void)consider(t, next_scanned(t), w);
	return evict(t, w->victim);
}

bool nat_evict_session(struct nat_table *t, uint32_t in_ip, const struct nat_mapping *keep)
{
	/* The share of each host if all hosts, with this one, had the same. */
	uint32_t share = t->size / (t->n_hosts + 1);
	struct room w = {.host = nat_host_of(t, in_ip),
	                 .share = share,
	                 .address = newcomer(t, in_ip),
	                 .keep = keep ? (uint32_t)(keep - t->mapping) : NAT_NONE};
	w.entitled = nat_host_sessions(t, in_ip) < share;
	return make_room(t, &w, w.entitled || w.address.is_small ? ROOM_TRIES : OWN_TRIES);
}

/* True when the newcomer holds less than half of what its host does, so that another station may
 * have to give it one. */
static bool has_larger_neighbour(const struct nat_table *t, const struct newcomer *c)
{
	const struct nat_inside *to = nat_inside_of(t->inside6, c->in_ip);
	uint32_t holds = to->station ? c->holds : to->n_sessions;
	return 2 * holds + (holds > 0) < nat_host_sessions(t, c->in_ip);
}

bool nat_evict_neighbour(struct nat_table *t, uint32_t in_ip)
{
	struct room w = {.host = nat_host_of(t, in_ip),
	                 .address = newcomer(t, in_ip),
	                 .keep = NAT_NONE,
	                 .in_host = true};
	return w.address.is6 && w.host != in_ip &&
	       make_room(t, &w, has_larger_neighbour(t, &w.address) ? ROOM_TRIES : OWN_TRIES);
}

/* Looks at one session; keeps the one whose end leaves least behind. */
static void consider_address(const struct nat_table *t, struct nat_session *s, uint32_t *least,
                             struct nat_session **victim)
{
	const struct nat_mapping *m = &t->mapping[s->mapping];
	if (s->state == NAT_FREE || m->is_static ||
	    (!(s->flags & NAT_UNINVITED) && !half_open(s) && !is_over(s)))
		return;
	bool is6 = t->inside6 && nat_inside_is6(m->in_ip);
	uint32_t leaves = m->n_sessions + (is6 ? nat_inside_of(t->inside6, m->in_ip)->n_users
	                                       : t->host[m->host].n_mappings);
	if (is6 && nat_inside_station_sessions(t->inside6, m->in_ip) <=
	                   t->n_sessions / (t->inside6->n_stations + 1))
		leaves += SMALL_STATION;
	if (leaves < *least) {
		*least = leaves;
		*victim = s;
	}
}

bool nat_evict_address(struct nat_table *t)
{
	uint32_t least = ~0u, n = t->session_free.fresh;
	struct nat_session *victim = NULL;
	for (unsigned i = 0; n && i < ROOM_TRIES && least > 2; i++)
		consider_address(t, &t->session[rng_below(t->rng, n)], &least, &victim);
	for (unsigned i = 0; n && least > 2 && i < ROOM_TRIES * SCAN; i++)
		consider_address(t, next_scanned(t), &least, &victim);
	return evict(t, victim);
}

bool nat_evict_uninvited(struct nat_table *t, const struct nat_mapping *keep)
{
	for (unsigned i = 0; i < ROOM_TRIES; i++) {
		struct nat_session *s = &t->session[rng_below(t->rng, t->session_free.fresh)];
		const struct nat_mapping *m = &t->mapping[s->mapping];
		if (s->state != NAT_FREE && s->flags & NAT_UNINVITED &&
		    !(m == keep && m->n_sessions == 1))
			return evict(t, s);
	}
	return false;
}

/* The only session of a mapping that may end; NAT_NONE when there is none, or when the port
 * does not name it. */
static uint32_t lone_session(const struct nat_table *t, const struct nat_mapping *m)
{
	uint32_t i = t->external[m->external].ports[m->proto]->owner[m->ext_port];
	return m->is_static || m->n_sessions != 1 || i >= NAT_BARE ? NAT_NONE : i;
}

/* The host that needs a port, and the best victim so far. */
struct port_room {
	uint32_t host, least;
	struct newcomer address;
	uint8_t proto;
	bool entitled;
	uint32_t victim_holds; /* ports that the victim's host holds, or sessions of its station */
	struct nat_session *victim;
};

/* Looks at the mapping of one port; true when its session is uninvited: no other is better. */
static bool consider_port(const struct nat_table *t, const struct nat_mapping *m,
                          struct port_room *w)
{
	const struct nat_host *h = &t->host[w->host];
	uint32_t lone = lone_session(t, m);
	if (lone == NAT_NONE || (m->host == w->host && h->n_mappings == 1))
		return false; /* it is the only mapping: the host's entry would be freed */
	struct nat_session *s = &t->session[lone];
	bool uninvited = s->flags & NAT_UNINVITED;
	if (!uninvited && !half_open(s) && !is_over(s))
		return false;
	uint32_t holds = t->host[m->host].n_ports[w->proto];
	bool own = m->host == w->host && is_over(s);
	if (is_near(t, m, &w->address))
		holds = gives(t, s, m, &w->address);
	else if (!own && (!w->entitled || holds <= w->least))
		holds = 0;
	if (uninvited || holds > w->victim_holds) {
		w->victim_holds = holds;
		w->victim = s;
	}
	return uninvited;
}

/* True when a session has a port from `lowest` on (host order) of this external address. */
static bool has_port(const struct nat_session *s, uint32_t ext_ip, uint8_t proto, uint32_t lowest)
{
	return s->state != NAT_FREE && s->proto == proto && s->ext_ip == ext_ip &&
	       swap16(s->ext_port) >= lowest;
}

uint32_t nat_evict_port(struct nat_table *t, uint8_t proto, uint32_t host, uint32_t in_ip,
                        uint16_t in_port)
{
	const struct nat_host *h = &t->host[host];
	const struct nat_external *e = &t->external[h->external];
	uint32_t lowest = nat_port_least(proto, swap16(in_port)), all = 65536 - lowest;
	struct port_room w = {.host = host, .address = newcomer(t, in_ip), .proto = proto};
	w.entitled = h->n_ports[proto] < 65536 / e->n_hosts; /* n_hosts includes this host */
	/* The victim's host must hold more than an equal share of the ports that qualify,
	 * and with one less still as many as this host with one more. */
	w.least = max_u32(all / e->n_hosts, h->n_ports[proto] + 1u);
	unsigned tries = w.entitled || w.address.is_small ? ROOM_TRIES : OWN_TRIES;
	for (unsigned i = 0; i < tries; i++) {
		uint32_t port = lowest + rng_below(t->rng, all);
		const struct nat_mapping *m =
		        nat_mapping_of_port(t, h->external, proto, swap16((uint16_t)port));
		if (m && consider_port(t, m, &w))
			break;
	}
	for (unsigned i = 0; !w.victim && t->n_sessions && i < tries * SCAN; i++) {
		const struct nat_session *s = next_scanned(t);
		if (has_port(s, e->ip, proto, lowest))
			(void)consider_port(t, &t->mapping[s->mapping], &w);
	}
	uint32_t port = w.victim ? swap16(w.victim->ext_port) : 0;
	return evict(t, w.victim) ? port : 0;
}
