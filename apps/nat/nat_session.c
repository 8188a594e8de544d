/* Sessions, their peers and their expiry. See nat_table.h. */
#include "apps/nat/nat_table.h"

#include "net/export/export_event.h"
#include "net/lib/csum.h"

#include "kernel/lib/when.h"

/* --- peers ------------------------------------------------------------------------ */

/* The only session of a mapping, its port's owner, is not among the peers until there is a second
 * one: most mappings have one, whose peer need not be hashed. */
#define ALONE NAT_NONE /* in nat_peer.more */

/* The entry of nat_ports.owner for a mapping's external port. Not NAT_OTHER. */
static uint32_t *owner(const struct nat_table *t, const struct nat_mapping *m)
{
	return &t->external[m->external].ports[m->proto]->owner[m->ext_port];
}

static uint32_t *peer_head(const struct nat_table *t, uint8_t proto, uint32_t mapping,
                           uint32_t rem_ip)
{
	const uint32_t w[2] = {mapping, rem_ip};
	return &t->peer_bucket[hash_words(&t->key[proto], w, 2) & t->mask];
}

static struct nat_session *peer_in(const struct nat_table *t, uint32_t i, uint32_t mapping,
                                   uint32_t rem_ip)
{
	for (; i != NAT_NONE; i = t->peer[i].next) {
		struct nat_session *s = &t->session[i];
		if (s->mapping == mapping && s->rem_ip == rem_ip)
			return s;
	}
	return NULL;
}

/* A session of the mapping with a remote address, NULL when there is none. Not NAT_OTHER. */
static const struct nat_session *peer_find(const struct nat_table *t, const struct nat_mapping *m,
                                           uint32_t rem_ip)
{
	uint32_t mapping = (uint32_t)(m - t->mapping), i = *owner(t, m);
	if (i < NAT_BARE && t->session[i].rem_ip == rem_ip)
		return &t->session[i];
	return peer_in(t, *peer_head(t, m->proto, mapping, rem_ip), mapping, rem_ip);
}

bool nat_knows_peer(const struct nat_table *t, const struct nat_mapping *m, uint32_t rem_ip)
{
	return peer_find(t, m, rem_ip) != NULL;
}

uint32_t nat_session_left(const struct nat_session *s, uint32_t now_s)
{
	return when_left(now_s, s->expire_s, NAT_MOST_S);
}

uint32_t nat_mapping_left(const struct nat_table *t, const struct nat_mapping *m, uint32_t rem_ip,
                          uint32_t now_s)
{
	const struct nat_session *peer = peer_find(t, m, rem_ip);
	if (peer)
		return nat_session_left(peer, now_s);
	uint32_t i = *owner(t, m);
	return i < NAT_BARE ? nat_session_left(&t->session[i], now_s) : 0;
}

static void peer_enter(struct nat_table *t, uint32_t index)
{
	const struct nat_session *s = &t->session[index];
	uint32_t *head = peer_head(t, s->proto, s->mapping, s->rem_ip);
	const struct nat_session *first = peer_in(t, *head, s->mapping, s->rem_ip);
	struct nat_peer *own = &t->peer[index];
	if (first) { /* joins the ring behind the first one */
		own->back = (uint32_t)(first - t->session);
		own->more = t->peer[own->back].more;
		t->peer[own->more].back = index;
		t->peer[own->back].more = index;
		return;
	}
	own->more = own->back = index;
	own->next = *head;
	*head = index;
}

/* A new session of a mapping, which is not its port's owner yet. */
static void peer_add(struct nat_table *t, const struct nat_mapping *m, uint32_t index)
{
	if (LIKELY(m->n_sessions == 0)) {
		t->peer[index].more = ALONE;
		return;
	}
	uint32_t other = *owner(t, m); /* a mapping of NAT_OTHER has one session */
	if (other < NAT_BARE && t->peer[other].more == ALONE)
		peer_enter(t, other);
	peer_enter(t, index);
}

static void peer_remove(struct nat_table *t, const struct nat_session *s, uint32_t index)
{
	const struct nat_peer *own = &t->peer[index];
	if (own->more == ALONE)
		return;
	uint32_t *at = peer_head(t, s->proto, s->mapping, s->rem_ip);
	while (*at != NAT_NONE && *at != index)
		at = &t->peer[*at].next;
	if (*at == index) { /* the next one of the ring becomes the first */
		*at = own->next;
		if (own->more != index) {
			t->peer[own->more].next = *at;
			*at = own->more;
		}
	}
	t->peer[own->more].back = own->back;
	t->peer[own->back].more = own->more;
}

/* --- expiry ------------------------------------------------------------------------ */

/* Puts a session into the slot of the second behind its last one, or into the last slot of the
 * wheel when that time is further away. A session that has expired goes into the slot that is
 * visited next; while that slot is being emptied this happens to a session at most once
 * (wheel_visit). */
static void wheel_add(struct nat_table *t, struct nat_session *s)
{
	uint32_t index = (uint32_t)(s - t->session);
	uint32_t ahead = min_u32(nat_session_left(s, t->wheel_s), NAT_WHEEL - 1);
	uint32_t slot = (t->wheel_s + ahead) % NAT_WHEEL;
	s->wheel_prev = NAT_HEAD | slot;
	s->wheel_next = t->wheel[slot];
	if (s->wheel_next != NAT_NONE)
		t->session[s->wheel_next].wheel_prev = index;
	t->wheel[slot] = index;
}

static void wheel_remove(struct nat_table *t, struct nat_session *s)
{
	if (s->wheel_prev & NAT_HEAD)
		t->wheel[s->wheel_prev & ~NAT_HEAD] = s->wheel_next;
	else
		t->session[s->wheel_prev].wheel_next = s->wheel_next;
	if (s->wheel_next != NAT_NONE)
		t->session[s->wheel_next].wheel_prev = s->wheel_prev;
}

void nat_session_sooner(struct nat_table *t, struct nat_session *s, uint32_t expire_s)
{
	s->expire_s = expire_s;
	wheel_remove(t, s);
	wheel_add(t, s);
}

/* Visits a session whose slot has come: ends it, or puts it into a later slot. */
static void wheel_visit(struct nat_table *t, struct nat_session *s)
{
	if (nat_session_left(s, t->wheel_s) == 0) {
		if (s->state != NAT_ESTABLISHED || t->linger_s == 0) {
			t->expired++;
			nat_session_drop(t, s);
			return;
		}
		if (t->lingers)
			t->lingers(t->lingers_of, s);
		s->state = NAT_TRANS;
		s->expire_s += t->linger_s;
	}
	wheel_remove(t, s);
	wheel_add(t, s);
}

bool nat_session_tick(struct nat_table *t, uint32_t now_s, uint32_t most)
{
	/* After a long silence every slot is visited once. */
	if (now_s - t->wheel_s > NAT_WHEEL)
		t->wheel_s = now_s - NAT_WHEEL;
	while (t->wheel_s != now_s) {
		uint32_t slot = t->wheel_s % NAT_WHEEL;
		while (t->wheel[slot] != NAT_NONE) {
			if (most-- == 0)
				return true;
			wheel_visit(t, &t->session[t->wheel[slot]]);
		}
		t->wheel_s++;
	}
	return false;
}

/* --- sessions -------------------------------------------------------------------------- */

/* The inside address in a session's key (see nat_table.h). */
static uint32_t key_ip(const struct nat_mapping *m)
{
	return m->proto == NAT_OTHER ? m->ext_ip : m->in_ip;
}

struct nat_session *nat_session_beside(struct nat_table *t, uint32_t *named, uint32_t rem_ip,
                                       uint16_t rem_port)
{
	const struct nat_mapping *m = nat_mapping_of_owner(t, *named);
	if (!m || m->n_sessions == 0)
		return NULL;
	uint32_t ports = m->in_port | (uint32_t)rem_port << 16;
	uint32_t bucket = nat_session_bucket(t, m->in_ip, rem_ip, ports);
	struct nat_session *s = nat_session_in(t, bucket, m->proto, m->in_ip, rem_ip, ports);
	if (!s) /* the slow path asks again */
		nat_bucket_note(t, m->in_ip, rem_ip, ports, bucket);
	else if (nat_external_find(t, rem_ip) == NAT_NONE) /* else it is hairpinned, or forged */
		*named = (uint32_t)(s - t->session);
	return s;
}

/* `by` more sessions of a mapping's host, and of its inside address. */
static void count_session(struct nat_table *t, const struct nat_mapping *m, uint32_t by)
{
	t->host[m->host].n_sessions += by;
	if (t->inside6 && nat_inside_is6(m->in_ip))
		nat_inside_count(t->inside6, m->in_ip, by);
}

/* Writes down that a session began or ended. */
static __attribute__((noinline)) void tell(struct nat_table *t, const struct nat_session *s,
                                           enum export_kind kind)
{
	static const uint8_t proto[NAT_PROTOS] = {
	        [NAT_UDP] = PROTO_UDP, [NAT_TCP] = PROTO_TCP, [NAT_ICMP] = PROTO_ICMP};
	const struct nat_mapping *m = &t->mapping[s->mapping];
	struct export_event *e = export_event_next(t->events);
	e->kind = (uint8_t)kind;
	e->proto = proto[m->proto];
	e->in_port = m->in_port;
	e->out_port = m->ext_port;
	if (UNLIKELY(m->proto == NAT_OTHER)) {
		e->proto = (uint8_t)m->in_port;
		e->in_port = e->out_port = 0;
	}
	e->outside = ip4_from_raw(m->ext_ip);
	e->inside.is6 = false;
	e->inside.v4 = ip4_from_raw(m->in_ip);
	if (t->inside6)
		nat_event_inside(t, e, m->in_ip);
}

struct nat_session *nat_session_new(struct nat_table *t, struct nat_mapping *m, uint32_t rem_ip,
                                    uint16_t rem_port, enum nat_state state, uint32_t expire_s)
{
	struct nat_free *f = &t->session_free;
	uint32_t index = f->head;
	if (index != NAT_NONE)
		f->head = t->session[index].next;
	else if (f->fresh < f->size)
		index = f->fresh++;
	else
		return NULL;
	struct nat_session *s = &t->session[index];
	*s = (struct nat_session){
	        .in_ip = key_ip(m),
	        .rem_ip = rem_ip,
	        .ports = m->in_port | (uint32_t)rem_port << 16,
	        .proto = m->proto,
	        .state = (uint8_t)state,
	        .mapping = (uint32_t)(m - t->mapping),
	        .expire_s = expire_s,
	        .ext_ip = m->ext_ip,
	        .ext_port = m->ext_port,
	        .ip_delta = m->ip_delta,
	        .l4_delta = m->l4_delta,
	        .route_in = NAT_NO_ROUTE,
	        .route_out = NAT_NO_ROUTE,
	};
	peer_add(t, m, index);
	if (m->proto != NAT_OTHER)
		*owner(t, m) = index;
	uint32_t *head = &t->session_bucket[nat_session_bucket(t, s->in_ip, rem_ip, s->ports)];
	s->next = *head;
	*head = index;
	wheel_add(t, s);
	m->n_sessions++;
	count_session(t, m, 1);
	t->n_sessions++;
	t->created++;
	if (UNLIKELY(t->events))
		tell(t, s, EXPORT_SESSION);
	return s;
}

void nat_session_drop(struct nat_table *t, struct nat_session *s)
{
	uint32_t index = (uint32_t)(s - t->session);
	struct nat_mapping *m = &t->mapping[s->mapping];
	if (UNLIKELY(t->events))
		tell(t, s, EXPORT_SESSION_END);
	uint32_t *at = &t->session_bucket[nat_session_hash(t, s->in_ip, s->rem_ip, s->ports)];
	while (*at != index)
		at = &t->session[*at].next;
	*at = s->next;
	if (m->proto != NAT_OTHER && *owner(t, m) == index)
		*owner(t, m) = NAT_BARE | s->mapping;
	peer_remove(t, s, index);
	wheel_remove(t, s);
	s->state = NAT_FREE;
	s->next = t->session_free.head;
	t->session_free.head = index;
	t->n_sessions--;
	if (!(s->flags & NAT_UNINVITED))
		count_session(t, m, -1u);
	if (--m->n_sessions == 0 && !m->is_static)
		nat_mapping_drop(t, m);
}

void nat_session_forget_routes(struct nat_table *t)
{
	for (uint32_t i = 0; i < t->session_free.fresh; i++) {
		struct nat_session *s = &t->session[i];
		s->route_out = NAT_NO_ROUTE;
		if (!t->inside6 || !nat_inside_is6(s->in_ip))
			s->route_in = NAT_NO_ROUTE;
	}
}

/* A static mapping gets the new address of its external address. */
static void renumber(struct nat_mapping *m, uint32_t ip)
{
	uint16_t port_delta = csum_delta16(m->in_port, m->ext_port);
	m->ext_ip = ip;
	m->ip_delta = csum_delta32(m->in_ip, ip);
	m->l4_delta = m->proto == NAT_ICMP ? port_delta : csum_plus(m->ip_delta, port_delta);
}

void nat_external_move(struct nat_table *t, uint32_t external, uint32_t ip)
{
	for (uint32_t i = 0; i < t->session_free.fresh; i++) {
		struct nat_session *s = &t->session[i];
		if (s->state == NAT_FREE || t->mapping[s->mapping].external != external)
			continue;
		nat_session_drop(t, s);
		t->renumbered++;
	}
	nat_block_tell_all(t, external, false);
	t->external[external].ip = ip;
	nat_block_tell_all(t, external, true);
	for (uint32_t i = 0; i < t->mapping_free.fresh; i++)
		if (t->mapping[i].is_static && t->mapping[i].external == external)
			renumber(&t->mapping[i], ip);
	if (external == 0)
		t->first_external = ip;
	for (uint32_t i = 0; i < t->n_ranges; i++)
		if (t->range[i].index == external)
			t->range[i].first = t->range[i].last = swap32(ip);
}

void nat_session_uninvited(struct nat_table *t, struct nat_session *s)
{
	s->flags |= NAT_UNINVITED;
	count_session(t, &t->mapping[s->mapping], -1u);
}

void nat_session_invite(struct nat_table *t, struct nat_session *s)
{
	s->flags &= (uint8_t)~NAT_UNINVITED;
	count_session(t, &t->mapping[s->mapping], 1);
}
