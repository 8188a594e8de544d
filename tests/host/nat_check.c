/* See nat_check.h. Counts every entry through every structure it must be in;
 * the counts agree only when none is lost, doubled or left behind. */
#include "tests/host/nat_check.h"

#define CHECK_THAT(cond)                      \
	do {                                  \
		if (!(cond))                  \
			return "not: " #cond; \
	} while (0)

static const char *check_session(const struct nat_table *t, uint32_t i)
{
	const struct nat_session *s = &t->session[i];
	CHECK_THAT(s->proto < NAT_PROTOS);
	CHECK_THAT(s->mapping < t->size);
	const struct nat_mapping *m = &t->mapping[s->mapping];
	CHECK_THAT(m->n_sessions > 0);
	CHECK_THAT(m->in_ip == s->in_ip && m->in_port == (uint16_t)s->ports);
	CHECK_THAT(m->proto == s->proto);
	CHECK_THAT(nat_session_find(t, s->proto, s->in_ip, s->rem_ip, s->ports) == s);
	CHECK_THAT(nat_knows_peer(t, m, s->rem_ip));
	/* The ring of the peer is closed both ways and holds only its own. */
	CHECK_THAT(s->peer_more < t->size && s->peer_back < t->size);
	CHECK_THAT(t->session[s->peer_more].peer_back == i);
	CHECK_THAT(t->session[s->peer_back].peer_more == i);
	CHECK_THAT(t->session[s->peer_more].mapping == s->mapping);
	CHECK_THAT(t->session[s->peer_more].rem_ip == s->rem_ip);
	CHECK_THAT(t->session[s->peer_more].state != NAT_FREE);
	return NULL;
}

static const char *check_mapping(const struct nat_table *t, const struct nat_mapping *m)
{
	uint32_t port = swap16(m->ext_port);
	CHECK_THAT(port != 0);
	CHECK_THAT(t->ports[m->proto]->used[port / 32] >> port % 32 & 1);
	CHECK_THAT(nat_mapping_find(t, m->proto, m->in_ip, m->in_port) == m);
	CHECK_THAT(m->n_sessions > 0);
	return NULL;
}

static const char *check_ports(const struct nat_table *t)
{
	uint32_t mappings = 0;
	uint64_t sessions = 0;
	for (unsigned proto = 0; proto < NAT_PROTOS; proto++)
		for (uint32_t port = 0; port < 65536; port++) {
			const struct nat_ports *p = t->ports[proto];
			uint32_t index = p->mapping[swap16((uint16_t)port)];
			bool used = p->used[port / 32] >> port % 32 & 1;
			CHECK_THAT(used == (index != NAT_NONE) || port == 0);
			if (index == NAT_NONE)
				continue;
			CHECK_THAT(index < t->size);
			const struct nat_mapping *m = &t->mapping[index];
			CHECK_THAT(m->proto == proto && swap16(m->ext_port) == port);
			const char *bad = check_mapping(t, m);
			if (bad)
				return bad;
			mappings++;
			sessions += m->n_sessions;
		}
	CHECK_THAT(mappings == t->n_mappings);
	CHECK_THAT(sessions == t->n_sessions);
	return NULL;
}

static const char *check_lists(const struct nat_table *t)
{
	uint32_t in_wheel = 0, in_buckets = 0, free_sessions = 0, free_mappings = 0;
	for (uint32_t slot = 0; slot < NAT_WHEEL; slot++)
		for (uint32_t i = t->wheel[slot], back = NAT_NONE; i != NAT_NONE;
		     back = i, i = t->session[i].wheel_next) {
			CHECK_THAT(i < t->size && ++in_wheel <= t->size);
			CHECK_THAT(t->session[i].state != NAT_FREE);
			CHECK_THAT(t->session[i].slot == slot && t->session[i].wheel_prev == back);
		}
	for (uint32_t b = 0; b <= t->mask; b++)
		for (uint32_t i = t->session_bucket[b]; i != NAT_NONE; i = t->session[i].next)
			CHECK_THAT(i < t->size && ++in_buckets <= t->size);
	for (uint32_t i = t->session_free; i != NAT_NONE; i = t->session[i].next) {
		CHECK_THAT(i < t->size && ++free_sessions <= t->size);
		CHECK_THAT(t->session[i].state == NAT_FREE);
	}
	for (uint32_t i = t->mapping_free; i != NAT_NONE; i = t->mapping[i].next)
		CHECK_THAT(i < t->size && ++free_mappings <= t->size);
	CHECK_THAT(in_wheel == t->n_sessions);
	CHECK_THAT(in_buckets == t->n_sessions);
	CHECK_THAT(free_sessions == t->size - t->n_sessions);
	CHECK_THAT(free_mappings == t->size - t->n_mappings);
	return NULL;
}

/* Each peer stands in the buckets exactly once, by the first of its ring. */
static const char *check_peers(const struct nat_table *t)
{
	uint64_t in_rings = 0;
	for (uint32_t b = 0; b <= t->mask; b++)
		for (uint32_t i = t->peer_bucket[b]; i != NAT_NONE; i = t->session[i].peer_next) {
			CHECK_THAT(i < t->size);
			uint32_t k = i;
			do {
				CHECK_THAT(k < t->size && ++in_rings <= t->n_sessions);
				k = t->session[k].peer_more;
			} while (k != i);
		}
	CHECK_THAT(in_rings == t->n_sessions);
	return NULL;
}

const char *nat_check(const struct nat_table *t)
{
	const char *bad = check_lists(t);
	for (uint32_t i = 0; !bad && i < t->size; i++)
		if (t->session[i].state != NAT_FREE)
			bad = check_session(t, i);
	if (!bad)
		bad = check_ports(t);
	return bad ? bad : check_peers(t);
}
