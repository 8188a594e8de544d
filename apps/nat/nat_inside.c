/* See nat_inside.h. */
#include "apps/nat/nat_inside.h"

#include "kernel/lib/alloc.h"

bool nat_inside_init(struct nat_insides *t, uint32_t n, uint8_t host_len, struct rng *rng)
{
	uint32_t most = min_u32(n, NAT_INSIDES), buckets = 64;
	t->size = host_len == 64 ? 2 * most : most; /* a /64 for each address at worst */
	while (buckets < t->size)
		buckets *= 2;
	t->mask = buckets - 1;
	t->free = NAT_INSIDE_NONE;
	t->host_len = host_len;
	for (unsigned i = 0; i < ARRAY_SIZE(t->key.k); i++)
		t->key.k[i] = rng_u32(rng);
	t->entry = alloc(t->size * sizeof *t->entry, 64); /* zero: no entry has a user */
	t->bucket = alloc_raw(buckets * sizeof *t->bucket, 64);
	t->station = alloc(NAT_STATIONS * sizeof *t->station, 64);
	if (!t->entry || !t->bucket || !t->station)
		return false;
	memset(t->bucket, 0xff, buckets * sizeof *t->bucket);
	return true;
}

/* The words of a key: an address, or the upper half of one for its /64. */
static unsigned key_words(const ip6 *a, uint8_t len, uint32_t w[4])
{
	for (unsigned i = 0; i < 4; i++)
		w[i] = i < len / 32u ? ip6_word(a, i) : 0;
	return len / 32u;
}

static uint32_t *head(const struct nat_insides *t, const uint32_t w[4], unsigned n)
{
	return &t->bucket[hash_words(&t->key, w, n) & t->mask];
}

static uint32_t find(const struct nat_insides *t, const ip6 *a, uint8_t len)
{
	uint32_t w[4];
	uint32_t i = *head(t, w, key_words(a, len, w));
	for (; i != NAT_INSIDE_NONE; i = t->entry[i].next) {
		const struct nat_inside *e = &t->entry[i];
		if (e->len == len && memcmp(&e->addr, w, sizeof w) == 0)
			return nat_inside_number(t, e);
	}
	return NAT_INSIDE_NONE;
}

uint32_t nat_inside_find(const struct nat_insides *t, const ip6 *a)
{
	return find(t, a, 128);
}

uint32_t nat_inside_host(const struct nat_insides *t, const ip6 *a)
{
	return find(t, a, t->host_len);
}

/* Enters an address or a /64, which has no entry yet; its host is to be set. */
static struct nat_inside *add(struct nat_insides *t, const ip6 *a, uint8_t len)
{
	uint32_t i = t->free, w[4];
	if (i != NAT_INSIDE_NONE)
		t->free = t->entry[i].next;
	else if (t->fresh < t->size)
		i = t->fresh++;
	else
		return NULL;
	uint32_t *at = head(t, w, key_words(a, len, w));
	struct nat_inside *e = &t->entry[i];
	*e = (struct nat_inside){.next = *at, .len = len};
	memcpy(&e->addr, w, sizeof w);
	*at = i;
	t->n += len == 128;
	return e;
}

static void drop(struct nat_insides *t, struct nat_inside *e)
{
	uint32_t i = (uint32_t)(e - t->entry), w[4];
	uint32_t *at = head(t, w, key_words(&e->addr, e->len, w));
	while (*at != i)
		at = &t->entry[*at].next;
	*at = e->next;
	e->next = t->free;
	t->free = i;
	t->n -= e->len == 128;
}

uint32_t nat_inside_get(struct nat_insides *t, const ip6 *a)
{
	uint32_t number = nat_inside_find(t, a);
	if (number != NAT_INSIDE_NONE)
		return number;
	struct nat_inside *e = add(t, a, 128);
	if (!e)
		return NAT_INSIDE_NONE;
	e->host = number = nat_inside_number(t, e);
	if (t->host_len == 128)
		return number;
	uint32_t host = nat_inside_host(t, a);
	struct nat_inside *all =
	        host == NAT_INSIDE_NONE ? add(t, a, t->host_len) : nat_inside_of(t, host);
	if (!all) {
		drop(t, e);
		return NAT_INSIDE_NONE;
	}
	e->host = all->host = nat_inside_number(t, all);
	all->n_users++;
	return number;
}

void nat_inside_join(struct nat_insides *t, uint32_t number, uint32_t client)
{
	struct nat_inside *e = nat_inside_of(t, number);
	uint32_t n = e->n_sessions;
	nat_inside_count(t, number, -n);
	e->station = (uint16_t)(1 + client % (NAT_STATIONS - 1));
	nat_inside_count(t, number, n);
}

void nat_inside_hold(struct nat_insides *t, uint32_t number)
{
	nat_inside_of(t, number)->n_users++;
}

void nat_inside_tidy(struct nat_insides *t, uint32_t number)
{
	struct nat_inside *e = nat_inside_of(t, number);
	if (e->n_users > 0)
		return;
	struct nat_inside *all = nat_inside_of(t, e->host);
	drop(t, e);
	if (all != e && --all->n_users == 0)
		drop(t, all);
}

void nat_inside_release(struct nat_insides *t, uint32_t number)
{
	nat_inside_of(t, number)->n_users--;
	nat_inside_tidy(t, number);
}
