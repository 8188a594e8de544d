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
 * little and nobody can arrange to be overlooked. Where few of many could give way that
 * finds none of them: then the search goes on through the sessions side by side, which
 * costs little for each, from where the last such search ended, so that each has its turn. */
#include "apps/nat/nat_table.h"

/* Sessions or ports looked at: for a host that is below its share, and for one that
 * can only take from strangers or from itself. */
#define ROOM_TRIES 32u
#define OWN_TRIES  4u
#define WALK       16u /* sessions side by side for each one drawn */

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

/* The session next in turn, used or not; there is one. */
static struct nat_session *next_in_turn(struct nat_table *t)
{
	if (t->room_at >= t->session_free.fresh)
		t->room_at = 0;
	return &t->session[t->room_at++];
}

/* Who asks for room, and the best that was found. */
struct wish {
	uint32_t in_ip, share;
	const struct nat_mapping *keep;
	bool entitled;
	uint32_t most; /* sessions of the victim's host */
	struct nat_session *victim;
};

/* Looks at one session; true when it is a stranger's: none is better. */
static bool weigh(const struct nat_table *t, struct nat_session *s, struct wish *w)
{
	const struct nat_mapping *m = &t->mapping[s->mapping];
	bool stranger = s->flags & NAT_UNINVITED;
	if (s->state == NAT_FREE || (!stranger && !half_open(s) && !is_over(s)) ||
	    (m == w->keep && m->n_sessions == 1))
		return false;
	uint32_t holds = t->host[m->host].n_sessions;
	bool own = m->in_ip == w->in_ip && is_over(s);
	if (stranger || (holds > w->most && (own || (w->entitled && holds > w->share)))) {
		w->most = holds;
		w->victim = s;
	}
	return stranger;
}

bool nat_make_room(struct nat_table *t, uint32_t in_ip, const struct nat_mapping *keep)
{
	/* What each would have if all that are here, with this one, had the same. */
	uint32_t share = t->size / (t->n_hosts + 1), n = t->session_free.fresh;
	struct wish w = {.in_ip = in_ip, .share = share, .keep = keep};
	w.entitled = nat_host_sessions(t, in_ip) < share;
	unsigned tries = n ? w.entitled ? ROOM_TRIES : OWN_TRIES : 0;
	for (unsigned i = 0; i < tries; i++)
		if (weigh(t, &t->session[rng_below(t->rng, n)], &w))
			break;
	for (unsigned i = 0; !w.victim && i < tries * WALK; i++)
		(void)weigh(t, next_in_turn(t), &w);
	return evict(t, w.victim);
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

/* The same as struct wish, of ports. */
struct port_wish {
	uint32_t host, least;
	uint8_t proto;
	bool entitled;
	uint32_t most; /* ports of the victim's host */
	struct nat_session *victim;
};

/* Looks at the mapping of one port; true when a stranger has it: none is better. */
static bool weigh_port(const struct nat_table *t, const struct nat_mapping *m, struct port_wish *w)
{
	const struct nat_host *h = &t->host[w->host];
	uint32_t lone = lone_session(t, m);
	if (lone == NAT_NONE || (m->host == w->host && h->n_mappings == 1))
		return false; /* of one mapping, the entry would go */
	struct nat_session *s = &t->session[lone];
	bool stranger = s->flags & NAT_UNINVITED;
	if (!stranger && !half_open(s) && !is_over(s))
		return false;
	uint32_t holds = t->host[m->host].n_ports[w->proto];
	bool own = m->host == w->host && is_over(s);
	if (stranger || (holds > w->most && (own || (w->entitled && holds > w->least)))) {
		w->most = holds;
		w->victim = s;
	}
	return stranger;
}

/* True when a session has a port from `lowest` on of this external address. */
static bool has_port(const struct nat_session *s, uint32_t ext_ip, uint8_t proto, uint32_t lowest)
{
	return s->state != NAT_FREE && s->proto == proto && s->ext_ip == ext_ip &&
	       swap16(s->ext_port) >= lowest;
}

uint32_t nat_make_port(struct nat_table *t, uint8_t proto, uint32_t host, uint16_t in_port)
{
	const struct nat_host *h = &t->host[host];
	const struct nat_external *e = &t->external[h->external];
	uint32_t lowest = nat_port_least(proto, swap16(in_port)), all = 65536 - lowest;
	struct port_wish w = {.host = host, .proto = proto};
	w.entitled = h->n_ports[proto] < 65536 / e->n_hosts; /* it is among the hosts */
	/* The owner of the port holds more than an equal share of those that would
	 * do, and with one less still as much as this host with one more. */
	w.least = max_u32(all / e->n_hosts, h->n_ports[proto] + 1u);
	unsigned tries = w.entitled ? ROOM_TRIES : OWN_TRIES;
	for (unsigned i = 0; i < tries; i++) {
		uint32_t port = lowest + rng_below(t->rng, all);
		const struct nat_mapping *m =
		        nat_mapping_of_port(t, h->external, proto, swap16((uint16_t)port));
		if (m && weigh_port(t, m, &w))
			break;
	}
	for (unsigned i = 0; !w.victim && t->n_sessions && i < tries * WALK; i++) {
		const struct nat_session *s = next_in_turn(t);
		if (has_port(s, e->ip, proto, lowest))
			(void)weigh_port(t, &t->mapping[s->mapping], &w);
	}
	uint32_t port = w.victim ? swap16(w.victim->ext_port) : 0;
	return evict(t, w.victim) ? port : 0;
}
