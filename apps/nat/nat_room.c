/* Who gives way when the table or the ports of an external address are used up.
 * See nat_table.h.
 *
 * First those in which nobody inside has anything to lose: sessions that were
 * opened from outside and not taken up, whoever's they are; and nothing else for
 * another one of that kind, unless to a service that is forwarded. Then half-open
 * sessions (never answered, or a TCP connection partly open) and connections that
 * are over, of a host that holds more than its share, for one that holds less;
 * among those found, of the host that holds most. A host's own connections that
 * are over give way to its new ones whatever it holds. Sessions in use stay.
 *
 * What is looked at is drawn at random and bounded, so that a full table costs
 * little and nobody can arrange to be overlooked. */
#include "apps/nat/nat_table.h"

/* Sessions or ports looked at: for a host that is below its share, and for one that
 * can only take from strangers or from itself. */
#define ROOM_TRIES 32u
#define OWN_TRIES  4u

static bool half_open(const struct nat_session *s)
{
	return s->state == NAT_INIT || (s->state == NAT_OPEN && !(s->flags & NAT_ANSWERED));
}

/* Both FINs or a reset were seen, or an established connection timed out. */
static bool is_over(const struct nat_session *s)
{
	return s->state == NAT_BOTH_FIN || s->state == NAT_TRANS;
}

static bool evict(struct nat_table *t, struct nat_session *victim)
{
	if (!victim)
		return false;
	t->evicted++;
	nat_session_drop(t, victim);
	return true;
}

bool nat_make_room(struct nat_table *t, uint32_t in_ip, const struct nat_mapping *keep)
{
	/* What each would have if all that are here, with this one, had the same. */
	uint32_t share = t->size / (t->n_hosts + 1), n = t->session_free.fresh;
	bool entitled = nat_host_sessions(t, in_ip) < share;
	unsigned tries = entitled ? ROOM_TRIES : OWN_TRIES;
	struct nat_session *victim = NULL;
	uint32_t most = 0;
	for (unsigned i = 0; n && i < tries; i++) {
		struct nat_session *s = &t->session[rng_below(t->rng, n)];
		const struct nat_mapping *m = &t->mapping[s->mapping];
		if (s->state == NAT_FREE || (m == keep && m->n_sessions == 1))
			continue;
		if (s->flags & NAT_UNINVITED)
			return evict(t, s);
		if (!half_open(s) && !is_over(s))
			continue;
		uint32_t holds = t->host[m->host].n_sessions;
		bool own = m->in_ip == in_ip && is_over(s);
		if (holds > most && (own || (entitled && holds > share))) {
			most = holds;
			victim = s;
		}
	}
	return evict(t, victim);
}

bool nat_replace_stranger(struct nat_table *t, const struct nat_mapping *keep)
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

/* The only session of a mapping that need not stay; NAT_NONE when there is none, or
 * when its port does not name it. */
static uint32_t lone_session(const struct nat_table *t, const struct nat_mapping *m)
{
	uint32_t i = t->external[m->external].ports[m->proto]->owner[m->ext_port];
	return m->is_static || m->n_sessions != 1 || i >= NAT_BARE ? NAT_NONE : i;
}

uint32_t nat_make_port(struct nat_table *t, uint8_t proto, uint32_t host, uint16_t in_port)
{
	const struct nat_host *h = &t->host[host];
	uint32_t wanted = swap16(in_port), hosts = t->external[h->external].n_hosts;
	uint32_t lowest = nat_port_least(proto, wanted), all = 65536 - lowest;
	bool entitled = h->n_ports[proto] < 65536 / hosts; /* it is among the hosts */
	unsigned tries = entitled ? ROOM_TRIES : OWN_TRIES;
	/* The owner of the port holds more than an equal share of those that would
	 * do, and with one less still as much as this host with one more. */
	uint32_t least = max_u32(all / hosts, h->n_ports[proto] + 1u), most = 0, found = 0;
	struct nat_session *victim = NULL;
	for (unsigned i = 0; i < tries; i++) {
		uint32_t port = lowest + rng_below(t->rng, all);
		const struct nat_mapping *m =
		        nat_mapping_of_port(t, h->external, proto, swap16((uint16_t)port));
		uint32_t lone = m ? lone_session(t, m) : NAT_NONE;
		if (lone == NAT_NONE || (m->host == host && h->n_mappings == 1))
			continue; /* of one mapping, the entry would go */
		struct nat_session *s = &t->session[lone];
		if (s->flags & NAT_UNINVITED)
			return evict(t, s) ? port : 0;
		if (!half_open(s) && !is_over(s))
			continue;
		uint32_t holds = t->host[m->host].n_ports[proto];
		bool own = m->host == host && is_over(s);
		if (holds > most && (own || (entitled && holds > least))) {
			most = holds;
			found = port;
			victim = s;
		}
	}
	return evict(t, victim) ? found : 0;
}
