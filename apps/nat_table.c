/* See nat_table.h. */
#include "apps/nat_table.h"

#include "kernel/alloc.h"
#include "net/csum.h"

static uint32_t *buckets(uint32_t n)
{
	uint32_t *b = alloc_raw(n * sizeof *b, 64);
	if (b)
		memset(b, 0xff, n * sizeof *b); /* NAT_NONE */
	return b;
}

static bool init_ports(struct nat_table *t)
{
	for (unsigned i = 0; i < NAT_PROTOS; i++) {
		t->ports[i] = alloc_raw(sizeof *t->ports[i], 64);
		if (!t->ports[i])
			return false;
		memset(t->ports[i]->mapping, 0xff, sizeof t->ports[i]->mapping);
		memset(t->ports[i]->used, 0, sizeof t->ports[i]->used);
		t->ports[i]->used[0] = 1; /* port 0 is nobody's */
	}
	return true;
}

const char *nat_table_init(struct nat_table *t, uint32_t size, ip4 external, struct rng *rng)
{
	uint32_t n = 64;
	while (n < size)
		n *= 2;
	memset(t, 0, sizeof *t);
	t->size = size;
	t->mask = n - 1;
	t->rng = rng;
	t->ext_ip = ip4_raw(external);
	for (unsigned i = 0; i < NAT_PROTOS; i++)
		for (unsigned k = 0; k < 2; k++)
			t->key[i].k[k] = rng_u32(rng);
	t->session = alloc_raw(size * sizeof *t->session, 64);
	t->mapping = alloc_raw(size * sizeof *t->mapping, 64);
	t->session_bucket = buckets(n);
	t->mapping_bucket = buckets(n);
	t->peer_bucket = buckets(n);
	if (!t->session || !t->mapping || !t->session_bucket || !t->mapping_bucket ||
	    !t->peer_bucket || !init_ports(t))
		return "nat.sessions: not enough memory for so many";
	for (uint32_t i = 0; i < size; i++) {
		t->session[i].next = i + 1 < size ? i + 1 : NAT_NONE;
		t->mapping[i].next = t->session[i].next;
		t->session[i].state = NAT_FREE;
	}
	memset(t->wheel, 0xff, sizeof t->wheel);
	return NULL;
}

/* --- mappings ------------------------------------------------------------------ */

static uint32_t *mapping_head(const struct nat_table *t, uint8_t proto, uint32_t in_ip,
                              uint16_t in_port)
{
	const uint32_t w[2] = {in_ip, in_port};
	return &t->mapping_bucket[hash_words(&t->key[proto], w, 2) & t->mask];
}

struct nat_mapping *nat_mapping_find(const struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                     uint16_t in_port)
{
	uint32_t i = *mapping_head(t, proto, in_ip, in_port);
	for (; i != NAT_NONE; i = t->mapping[i].next) {
		struct nat_mapping *m = &t->mapping[i];
		if (m->in_ip == in_ip && m->in_port == in_port && m->proto == proto)
			return m;
	}
	return NULL;
}

static bool port_used(const struct nat_ports *p, uint32_t port)
{
	return p->used[port / 32] >> port % 32 & 1;
}

/* A free port from lo to hi whose bit pattern is allowed by `mask` in each word
 * of 32 (parity), beginning at a random word; 0 when there is none. Looks at
 * each word once, so the cost is bounded by 2048 words. */
static uint32_t pick_port(struct nat_table *t, uint8_t proto, uint32_t lo, uint32_t hi,
                          uint32_t mask)
{
	const struct nat_ports *p = t->ports[proto];
	uint32_t first = lo / 32, n = (hi - lo) / 32 + 1;
	uint32_t start = rng_below(t->rng, n), turn = rng_below(t->rng, 32);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t word = first + (start + i) % n;
		uint32_t free = ~p->used[word] & mask;
		if (!free)
			continue;
		/* A random one of the free bits: rotate, take the lowest. */
		uint32_t rolled = free >> turn | free << ((32 - turn) & 31);
		return word * 32 + (((uint32_t)__builtin_ctz(rolled) + turn) & 31);
	}
	return 0;
}

static uint32_t choose_port(struct nat_table *t, uint8_t proto, uint32_t wanted)
{
	if (wanted && !port_used(t->ports[proto], wanted))
		return wanted;
	if (proto == NAT_ICMP)
		return pick_port(t, proto, 0, 65535, 0xffffffff);
	uint32_t parity = wanted % 2 ? 0xaaaaaaaa : 0x55555555;
	if (wanted < 1024)
		return pick_port(t, proto, 0, 1023, parity);
	return pick_port(t, proto, 1024, 65535, parity);
}

struct nat_mapping *nat_mapping_new(struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                    uint16_t in_port, bool *no_port)
{
	*no_port = false;
	if (t->mapping_free == NAT_NONE)
		return NULL;
	uint32_t port = choose_port(t, proto, swap16(in_port));
	if (!port) {
		*no_port = true;
		return NULL;
	}
	uint32_t index = t->mapping_free;
	struct nat_mapping *m = &t->mapping[index];
	t->mapping_free = m->next;
	m->in_ip = in_ip;
	m->in_port = in_port;
	m->ext_ip = t->ext_ip;
	m->ext_port = swap16((uint16_t)port);
	m->proto = proto;
	m->n_sessions = 0;
	uint16_t port_delta = csum_delta16(in_port, m->ext_port);
	m->ip_delta = csum_delta32(in_ip, m->ext_ip);
	/* ICMP has no pseudo header: only the identifier counts (RFC 792). */
	m->l4_delta = proto == NAT_ICMP ? port_delta : csum_plus(m->ip_delta, port_delta);
	uint32_t *head = mapping_head(t, proto, in_ip, in_port);
	m->next = *head;
	*head = index;
	t->ports[proto]->used[port / 32] |= 1u << port % 32;
	t->ports[proto]->mapping[m->ext_port] = index;
	t->n_mappings++;
	return m;
}

void nat_mapping_drop(struct nat_table *t, struct nat_mapping *m)
{
	uint32_t index = (uint32_t)(m - t->mapping), port = swap16(m->ext_port);
	uint32_t *at = mapping_head(t, m->proto, m->in_ip, m->in_port);
	while (*at != index)
		at = &t->mapping[*at].next;
	*at = m->next;
	t->ports[m->proto]->used[port / 32] &= ~(1u << port % 32);
	t->ports[m->proto]->mapping[m->ext_port] = NAT_NONE;
	m->next = t->mapping_free;
	t->mapping_free = index;
	t->n_mappings--;
}

/* --- peers ------------------------------------------------------------------------- */

static uint32_t *peer_head(const struct nat_table *t, uint8_t proto, uint32_t mapping,
                           uint32_t rem_ip)
{
	const uint32_t w[2] = {mapping, rem_ip};
	return &t->peer_bucket[hash_words(&t->key[proto], w, 2) & t->mask];
}

static struct nat_session *peer_find(const struct nat_table *t, const struct nat_mapping *m,
                                     uint32_t rem_ip)
{
	uint32_t mapping = (uint32_t)(m - t->mapping);
	uint32_t i = *peer_head(t, m->proto, mapping, rem_ip);
	for (; i != NAT_NONE; i = t->session[i].peer_next) {
		struct nat_session *s = &t->session[i];
		if (s->mapping == mapping && s->rem_ip == rem_ip)
			return s;
	}
	return NULL;
}

bool nat_knows_peer(const struct nat_table *t, const struct nat_mapping *m, uint32_t rem_ip)
{
	return peer_find(t, m, rem_ip) != NULL;
}

static void peer_add(struct nat_table *t, struct nat_session *s, uint32_t index)
{
	struct nat_session *first = peer_find(t, &t->mapping[s->mapping], s->rem_ip);
	if (first) { /* behind the first, in its ring */
		s->peer_back = (uint32_t)(first - t->session);
		s->peer_more = first->peer_more;
		t->session[s->peer_more].peer_back = index;
		first->peer_more = index;
		return;
	}
	uint32_t *head = peer_head(t, s->proto, s->mapping, s->rem_ip);
	s->peer_more = s->peer_back = index;
	s->peer_next = *head;
	*head = index;
}

static void peer_remove(struct nat_table *t, struct nat_session *s, uint32_t index)
{
	uint32_t *at = peer_head(t, s->proto, s->mapping, s->rem_ip);
	while (*at != NAT_NONE && *at != index)
		at = &t->session[*at].peer_next;
	if (*at == index) { /* the first: another one of the ring takes its place */
		*at = s->peer_next;
		if (s->peer_more != index) {
			t->session[s->peer_more].peer_next = *at;
			*at = s->peer_more;
		}
	}
	t->session[s->peer_more].peer_back = s->peer_back;
	t->session[s->peer_back].peer_more = s->peer_more;
}

/* --- the wheel ------------------------------------------------------------------------ */

/* Puts a session where the wheel will look at it when it runs out, or once
 * around if that is further away. Never into the slot being emptied. */
static void wheel_add(struct nat_table *t, struct nat_session *s)
{
	uint32_t index = (uint32_t)(s - t->session), ahead = s->expire_s - t->wheel_s;
	if ((int32_t)ahead < 1)
		ahead = 1;
	s->slot = (t->wheel_s + min_u32(ahead, NAT_WHEEL - 1)) % NAT_WHEEL;
	s->wheel_prev = NAT_NONE;
	s->wheel_next = t->wheel[s->slot];
	if (s->wheel_next != NAT_NONE)
		t->session[s->wheel_next].wheel_prev = index;
	t->wheel[s->slot] = index;
}

static void wheel_remove(struct nat_table *t, struct nat_session *s)
{
	if (s->wheel_prev == NAT_NONE)
		t->wheel[s->slot] = s->wheel_next;
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

bool nat_table_tick(struct nat_table *t, uint32_t now_s, uint32_t most)
{
	while (t->wheel_s != now_s) {
		uint32_t slot = t->wheel_s % NAT_WHEEL;
		while (t->wheel[slot] != NAT_NONE) {
			if (most-- == 0)
				return true;
			struct nat_session *s = &t->session[t->wheel[slot]];
			if ((int32_t)(t->wheel_s - s->expire_s) >= 0) {
				t->expired++;
				nat_session_drop(t, s);
			} else {
				wheel_remove(t, s);
				wheel_add(t, s);
			}
		}
		t->wheel_s++;
	}
	return false;
}

/* --- sessions -------------------------------------------------------------------------- */

struct nat_session *nat_session_new(struct nat_table *t, struct nat_mapping *m, uint32_t rem_ip,
                                    uint16_t rem_port, enum nat_state state, uint32_t expire_s)
{
	uint32_t index = t->session_free;
	if (index == NAT_NONE)
		return NULL;
	struct nat_session *s = &t->session[index];
	t->session_free = s->next;
	s->in_ip = m->in_ip;
	s->rem_ip = rem_ip;
	s->ports = m->in_port | (uint32_t)rem_port << 16;
	s->proto = m->proto;
	s->state = (uint8_t)state;
	s->mapping = (uint32_t)(m - t->mapping);
	s->expire_s = expire_s;
	uint32_t *head =
	        &t->session_bucket[nat_session_hash(t, s->proto, s->in_ip, rem_ip, s->ports)];
	s->next = *head;
	*head = index;
	peer_add(t, s, index);
	wheel_add(t, s);
	m->n_sessions++;
	t->n_sessions++;
	t->created++;
	return s;
}

void nat_session_drop(struct nat_table *t, struct nat_session *s)
{
	uint32_t index = (uint32_t)(s - t->session);
	struct nat_mapping *m = &t->mapping[s->mapping];
	uint32_t *at =
	        &t->session_bucket[nat_session_hash(t, s->proto, s->in_ip, s->rem_ip, s->ports)];
	while (*at != index)
		at = &t->session[*at].next;
	*at = s->next;
	peer_remove(t, s, index);
	wheel_remove(t, s);
	s->state = NAT_FREE;
	s->next = t->session_free;
	t->session_free = index;
	t->n_sessions--;
	if (--m->n_sessions == 0)
		nat_mapping_drop(t, m);
}
