/* See nat_check.h. The code counts every entry in every structure that must contain it. The
 * counts agree only when no entry is lost, duplicated or left over. */
#include "tests/host/nat_check.h"

#include "net/gw_address.h"
#include "net/tcp/tcp_conn.h"

#define CHECK_THAT(cond)                      \
	do {                                  \
		if (!(cond))                  \
			return "not: " #cond; \
	} while (0)

/* True for the number of an IPv6 host. */
static bool is6(const struct nat_table *t, uint32_t in_ip)
{
	return t->inside6 && nat_inside_is6(in_ip);
}

static uint32_t alone;            /* sessions without a ring of peers */
static uint32_t moved[NAT_MOVED]; /* mappings whose port is not the inside one, by that */

static const char *check_session(const struct nat_table *t, uint32_t i)
{
	const struct nat_session *s = &t->session[i];
	CHECK_THAT(s->proto < NAT_PROTOS);
	CHECK_THAT(s->mapping < t->mapping_free.fresh);
	const struct nat_mapping *m = &t->mapping[s->mapping];
	CHECK_THAT(m->n_sessions > 0);
	CHECK_THAT(s->in_ip == (m->proto == NAT_OTHER ? m->ext_ip : m->in_ip));
	CHECK_THAT(m->in_port == (uint16_t)s->ports);
	CHECK_THAT(m->proto == s->proto);
	CHECK_THAT(s->ext_ip == m->ext_ip && s->ext_port == m->ext_port);
	CHECK_THAT(is6(t, m->in_ip) || (s->ip_delta == m->ip_delta && s->l4_delta == m->l4_delta));
	CHECK_THAT(nat_session_find(t, s->proto, s->in_ip, s->rem_ip, s->ports) == s);
	CHECK_THAT(m->proto == NAT_OTHER || nat_knows_peer(t, m, s->rem_ip));
	/* A session that has been its mapping's only one has no ring, and its port names it. */
	const struct nat_peer *own = &t->peer[i];
	if (own->more == NAT_NONE) {
		alone++;
		CHECK_THAT(m->n_sessions == 1);
		CHECK_THAT(m->proto == NAT_OTHER ||
		           t->external[m->external].ports[m->proto]->owner[m->ext_port] == i);
		return NULL;
	}
	/* The ring of the peer is closed in both directions and contains only its own
	 * sessions. */
	CHECK_THAT(own->more < t->size && own->back < t->size);
	CHECK_THAT(t->peer[own->more].back == i);
	CHECK_THAT(t->peer[own->back].more == i);
	CHECK_THAT(t->session[own->more].mapping == s->mapping);
	CHECK_THAT(t->session[own->more].rem_ip == s->rem_ip);
	CHECK_THAT(t->session[own->more].state != NAT_FREE);
	return NULL;
}

static const char *check_mapping(const struct nat_table *t, const struct nat_mapping *m)
{
	CHECK_THAT(m->host < t->host_free.fresh);
	const struct nat_host *h = &t->host[m->host];
	CHECK_THAT(h->ip == nat_host_of(t, m->in_ip));
	CHECK_THAT((h->external == m->external || m->is_static) && m->external < t->n_external);
	CHECK_THAT(t->external[m->external].ip == m->ext_ip);
	CHECK_THAT(m->n_sessions > 0 || m->is_static);
	if (m->proto == NAT_OTHER)
		return NULL;
	uint32_t port = swap16(m->ext_port);
	CHECK_THAT(port != 0);
	CHECK_THAT(t->external[m->external].ports[m->proto]->used[port / 32] >> port % 32 & 1);
	CHECK_THAT(nat_mapping_find(t, m->proto, m->in_ip, m->in_port) == m);
	moved[swap16(m->in_port) % NAT_MOVED] +=
	        m->in_port != m->ext_port || m->external != h->external;
	return NULL;
}

/* What each host holds, counted again. */
static struct held {
	uint32_t ports[NAT_WITH_PORTS];
	uint32_t sessions, others;
} held[NAT_HOSTS];
static uint32_t users6; /* mappings of IPv6 hosts, and addresses of their networks */

/* Checks the owner of a port, and adds the sessions of its mapping to *sessions. */
static const char *check_owner(const struct nat_table *t, uint32_t external, unsigned proto,
                               uint16_t raw, uint64_t *sessions)
{
	const struct nat_ports *p = t->external[external].ports[proto];
	uint32_t port = swap16(raw), owner = p->owner[raw], index = owner & ~NAT_BARE;
	CHECK_THAT(p->used[port / 32] >> port % 32 & 1);
	if (owner == index) { /* a session in use */
		CHECK_THAT(index < t->session_free.fresh);
		CHECK_THAT(t->session[index].state != NAT_FREE);
		index = t->session[index].mapping;
	}
	CHECK_THAT(index < t->mapping_free.fresh);
	const struct nat_mapping *m = &t->mapping[index];
	CHECK_THAT(m->proto == proto && swap16(m->ext_port) == port);
	CHECK_THAT(m->external == external);
	const char *bad = check_mapping(t, m);
	if (bad)
		return bad;
	held[m->host].ports[proto]++;
	users6 += is6(t, m->in_ip);
	*sessions += m->n_sessions;
	return NULL;
}

/* Adds 1 to *n if the port of a socket of ours is taken. That of a service (`drawn` false) may be a
 * mapping's instead, on this address or on another one of ours. */
static const char *check_own(const struct nat_table *t, uint32_t external, unsigned proto,
                             uint32_t port, bool drawn, uint32_t *n)
{
	bool taken = nat_port_is_taken(t, external, (uint8_t)proto, swap16((uint16_t)port));
	CHECK_THAT(taken || !drawn);
	*n += taken;
	return NULL;
}

/* Checks the ports of all sockets of the gateway itself on one of its addresses; *n is the number
 * of those that are taken. */
static const char *check_sockets(const struct nat_table *t, const struct gw *gw, uint32_t external,
                                 unsigned proto, uint32_t *n)
{
	const char *bad = NULL;
	if (proto == NAT_UDP && gw->udp)
		for (uint32_t port = 0; port < 65536 && !bad; port++)
			if (gw->udp->owner[port])
				bad = check_own(t, external, proto, port,
				                gw->udp->drawn[port / 32] >> port % 32 & 1, n);
	if (proto != NAT_TCP || !gw->tcp)
		return bad;
	for (uint32_t i = 0; i < gw->tcp->n_services && !bad; i++)
		bad = check_own(t, external, proto, gw->tcp->service[i].port, false, n);
	for (uint32_t i = 0; i < TCP_CONNECTIONS && !bad; i++) {
		const struct tcp_conn *c = &gw->tcp->conn[i];
		if (c->state != TCP_FREE && c->active)
			bad = check_own(t, external, proto, c->ends.local_port, true, n);
	}
	return bad;
}

/* Checks that the ports in use are the counted ones and port 0, and that all others are
 * free. */
static const char *check_used(const struct nat_ports *p, const uint16_t *free_of_class,
                              uint32_t n_counted)
{
	uint32_t n_free[NAT_PORT_CLASSES] = {0}, sum = 0;
	for (uint32_t first = 0; first < 65536; first += 64) {
		uint64_t used;
		memcpy(&used, &p->used[first / 32], sizeof used);
		uint32_t *even = &n_free[nat_port_class(first)],
		         *odd = &n_free[nat_port_class(first + 1)];
		*even += 32;
		*odd += 32;
		if (used) {
			*even -= (uint32_t)__builtin_popcountll(used & 0x5555555555555555);
			*odd -= (uint32_t)__builtin_popcountll(used & 0xaaaaaaaaaaaaaaaa);
		}
	}
	for (unsigned c = 0; c < NAT_PORT_CLASSES; c++) {
		CHECK_THAT(n_free[c] == free_of_class[c]);
		sum += n_free[c];
	}
	CHECK_THAT(p->used[0] & 1);
	CHECK_THAT(sum + n_counted + 1 == 65536);
	return NULL;
}

/* Checks the ports of one external address for one protocol, and adds up what they hold.
 * Most ports have no owner; these are skipped in blocks. */
static const char *check_ports(const struct nat_table *t, const struct gw *gw, uint32_t external,
                               unsigned proto, uint32_t *mappings, uint64_t *sessions)
{
	enum { BLOCK = 1024 };
	static uint32_t nobody[BLOCK];
	const struct nat_ports *p = t->external[external].ports[proto];
	uint32_t n_owners = 0, n_own = 0;
	const char *bad = NULL;
	if (nobody[0] != NAT_NONE)
		memset(nobody, 0xff, sizeof nobody);
	for (uint32_t block = 0; block < 65536; block += BLOCK) {
		if (memcmp(&p->owner[block], nobody, sizeof nobody) == 0)
			continue;
		for (uint32_t raw = block; raw < block + BLOCK; raw++) {
			if (p->owner[raw] == NAT_NONE)
				continue;
			bad = check_owner(t, external, proto, (uint16_t)raw, sessions);
			if (bad)
				return bad;
			n_owners++;
		}
	}
	*mappings += n_owners;
	/* Without an outer address (0) the ports of our sockets stay taken. */
	uint32_t ip = t->external[external].ip;
	if (gw && (ip == 0 || gw_is_own(gw, ip4_from_raw(ip))))
		bad = check_sockets(t, gw, external, proto, &n_own);
	return bad ? bad : check_used(p, t->external[external].n_free[proto], n_owners + n_own);
}

/* Checks all mappings. They are found by their ports; those without ports by their only
 * session. */
static const char *check_mappings(const struct nat_table *t, const struct gw *gw)
{
	uint32_t mappings = 0;
	uint64_t sessions = 0;
	const char *bad = NULL;
	for (uint32_t e = 0; e < t->n_external; e++)
		for (unsigned proto = 0; proto < NAT_WITH_PORTS && !bad; proto++)
			bad = check_ports(t, gw, e, proto, &mappings, &sessions);
	for (uint32_t i = 0; i < t->session_free.fresh && !bad; i++) {
		const struct nat_session *s = &t->session[i];
		if (s->state == NAT_FREE || s->proto != NAT_OTHER)
			continue;
		CHECK_THAT(t->mapping[s->mapping].n_sessions == 1);
		bad = check_mapping(t, &t->mapping[s->mapping]);
		mappings++;
		sessions++;
	}
	if (bad)
		return bad;
	CHECK_THAT(mappings == t->n_mappings);
	CHECK_THAT(sessions == t->n_sessions);
	CHECK_THAT(memcmp(moved, t->moved, sizeof moved) == 0);
	return NULL;
}

/* Checks that entries in use and freed entries together are all that were ever allocated. */
static const char *check_free(const struct nat_table *t)
{
	uint32_t sessions = 0, mappings = 0, hosts = 0;
	CHECK_THAT(t->session_free.fresh <= t->session_free.size &&
	           t->session_free.size == t->size);
	CHECK_THAT(t->mapping_free.fresh <= t->mapping_free.size);
	CHECK_THAT(t->host_free.fresh <= t->host_free.size);
	for (uint32_t i = t->session_free.head; i != NAT_NONE; i = t->session[i].next) {
		CHECK_THAT(i < t->session_free.fresh && ++sessions <= t->size);
		CHECK_THAT(t->session[i].state == NAT_FREE);
	}
	for (uint32_t i = t->mapping_free.head; i != NAT_NONE; i = t->mapping[i].next)
		CHECK_THAT(i < t->mapping_free.fresh && ++mappings <= t->mapping_free.size);
	for (uint32_t i = t->host_free.head; i != NAT_NONE; i = t->host[i].next)
		CHECK_THAT(i < t->host_free.fresh && ++hosts <= t->host_free.size);
	CHECK_THAT(sessions == t->session_free.fresh - t->n_sessions);
	CHECK_THAT(mappings == t->mapping_free.fresh - t->n_mappings);
	CHECK_THAT(hosts == t->host_free.fresh - t->n_hosts);
	return NULL;
}

static const char *check_wheel(const struct nat_table *t)
{
	uint32_t in_wheel = 0, in_buckets = 0;
	for (uint32_t slot = 0; slot < NAT_WHEEL; slot++)
		for (uint32_t i = t->wheel[slot], back = NAT_HEAD | slot; i != NAT_NONE;
		     back = i, i = t->session[i].wheel_next) {
			CHECK_THAT(i < t->session_free.fresh && ++in_wheel <= t->size);
			CHECK_THAT(t->session[i].state != NAT_FREE);
			CHECK_THAT(t->session[i].wheel_prev == back);
		}
	for (uint32_t b = 0; b <= t->mask; b++)
		for (uint32_t i = t->session_bucket[b]; i != NAT_NONE; i = t->session[i].next)
			CHECK_THAT(i < t->session_free.fresh && ++in_buckets <= t->size);
	CHECK_THAT(in_wheel == t->n_sessions);
	CHECK_THAT(in_buckets == t->n_sessions);
	return NULL;
}

/* Checks that each peer is in the buckets exactly once, by the first session of its ring. */
static const char *check_peers(const struct nat_table *t)
{
	uint64_t in_rings = 0;
	for (uint32_t b = 0; b <= t->mask; b++)
		for (uint32_t i = t->peer_bucket[b]; i != NAT_NONE; i = t->peer[i].next) {
			CHECK_THAT(i < t->size);
			uint32_t k = i;
			do {
				CHECK_THAT(k < t->size && ++in_rings <= t->n_sessions);
				k = t->peer[k].more;
			} while (k != i);
		}
	CHECK_THAT(in_rings + alone == t->n_sessions);
	return NULL;
}

/* Checks the numbers of IPv6 hosts: each is in its chain, has a user, and the users are the
 * mappings that check_owner has counted. */
static const char *check_insides(const struct nat_insides *t)
{
	uint32_t entries = 0, addresses = 0, users = 0, unused = 0;
	for (uint32_t b = 0; b <= t->mask; b++)
		for (uint32_t i = t->bucket[b]; i != NAT_INSIDE_NONE; i = t->entry[i].next) {
			const struct nat_inside *e = &t->entry[i];
			CHECK_THAT(i < t->fresh && ++entries <= t->size);
			CHECK_THAT(e->n_users > 0);
			addresses += e->len == 128;
			users += e->n_users;
			users6 += e->len == 128 && t->host_len != 128;
			CHECK_THAT(nat_inside_of(t, e->host)->len == t->host_len);
			if (e->len == 128)
				CHECK_THAT(nat_inside_find(t, &e->addr) == nat_inside_number(t, e));
		}
	for (uint32_t i = t->free; i != NAT_INSIDE_NONE; i = t->entry[i].next)
		CHECK_THAT(++unused <= t->size);
	CHECK_THAT(entries + unused == t->fresh);
	CHECK_THAT(addresses == t->n && users == users6);
	return NULL;
}

/* Checks the sessions that are counted for each address of IPv6 hosts, and for each station. */
static const char *check_stations(const struct nat_table *t)
{
	static uint32_t of[2 * NAT_INSIDES], at[NAT_STATIONS];
	const struct nat_insides *all = t->inside6;
	uint32_t n = 0;
	CHECK_THAT(all->fresh <= ARRAY_SIZE(of));
	memset(of, 0, all->fresh * sizeof *of);
	memset(at, 0, sizeof at);
	for (uint32_t i = 0; i < t->session_free.fresh; i++) {
		const struct nat_session *s = &t->session[i];
		if (s->state == NAT_FREE || s->flags & NAT_UNINVITED ||
		    !nat_inside_is6(t->mapping[s->mapping].in_ip))
			continue;
		const struct nat_inside *e = nat_inside_of(all, t->mapping[s->mapping].in_ip);
		of[e - all->entry]++;
		n += at[e->station]++ == 0;
	}
	for (uint32_t i = 0; i < all->fresh; i++)
		CHECK_THAT(all->entry[i].n_sessions == of[i]);
	CHECK_THAT(memcmp(at, all->station, sizeof at) == 0 && n == all->n_stations);
	return NULL;
}

/* Checks that what a host holds agrees with its sessions and mappings. */
static const char *check_host(const struct nat_table *t, uint32_t i)
{
	const struct nat_host *h = &t->host[i];
	uint32_t ports = 0;
	for (unsigned proto = 0; proto < NAT_WITH_PORTS; proto++) {
		CHECK_THAT(held[i].ports[proto] == h->n_ports[proto]);
		ports += h->n_ports[proto];
	}
	CHECK_THAT(held[i].sessions == h->n_sessions);
	CHECK_THAT(h->n_mappings > 0 && h->n_mappings == held[i].others + ports);
	CHECK_THAT(nat_external_of(t, h->ip) == h->external);
	CHECK_THAT(nat_host_sessions(t, h->ip) == h->n_sessions);
	return NULL;
}

/* Checks that each host is in the buckets once. check_ports has counted their ports. */
static const char *check_hosts(const struct nat_table *t)
{
	uint32_t hosts = 0, on_externals = 0;
	uint64_t sessions = 0;
	for (uint32_t i = 0; i < t->session_free.fresh; i++) {
		const struct nat_session *s = &t->session[i];
		if (s->state == NAT_FREE)
			continue;
		struct held *own = &held[t->mapping[s->mapping].host];
		sessions += (s->flags & NAT_UNINVITED) != 0;
		own->sessions += !(s->flags & NAT_UNINVITED);
		own->others += s->proto == NAT_OTHER;
	}
	for (uint32_t b = 0; b <= t->host_mask; b++)
		for (uint32_t i = t->host_bucket[b]; i != NAT_NONE; i = t->host[i].next) {
			CHECK_THAT(i < t->host_free.fresh && ++hosts <= t->n_hosts);
			sessions += t->host[i].n_sessions;
			const char *bad = check_host(t, i);
			if (bad)
				return bad;
		}
	for (uint32_t e = 0; e < t->n_external; e++)
		on_externals += t->external[e].n_hosts;
	CHECK_THAT(hosts == t->n_hosts);
	CHECK_THAT(on_externals == t->n_hosts);
	CHECK_THAT(sessions == t->n_sessions);
	return NULL;
}

const char *nat_check(const struct nat_table *t, const struct gw *gw)
{
	const char *bad = check_free(t);
	if (bad)
		return bad;
	memset(held, 0, t->host_free.fresh * sizeof *held);
	memset(moved, 0, sizeof moved);
	users6 = alone = 0;
	bad = check_wheel(t);
	for (uint32_t i = 0; !bad && i < t->session_free.fresh; i++)
		if (t->session[i].state != NAT_FREE)
			bad = check_session(t, i);
	if (!bad)
		bad = check_mappings(t, gw);
	if (!bad)
		bad = check_peers(t);
	if (!bad && t->inside6)
		bad = check_insides(t->inside6);
	if (!bad && t->inside6)
		bad = check_stations(t);
	return bad ? bad : check_hosts(t);
}
