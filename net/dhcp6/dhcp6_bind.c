/* See dhcp6_bind.h. */
#include "net/dhcp6/dhcp6_bind.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/dhcp6/dhcp6_message.h"

#define SECOND  1000000ull
#define NEVER   UINT64_MAX
#define AGAIN_S 600u /* what is missing is asked for after this time */

static uint64_t end_of(uint64_t now, uint32_t s)
{
	return s == UINT32_MAX ? NEVER : now + s * SECOND;
}

static void say(enum dhcp6_ia ia, const struct dhcp6_held *h, const char *what)
{
	char text[FMT_IP6];
	fmt_ip6(text, &h->addr);
	if (ia == DHCP6_PD)
		log_line("wan: delegated prefix %s/%u: %s", text, h->len, what);
	else
		log_line("wan: DHCPv6 lease of %s: %s", text, what);
}

void dhcp6_bind_drop(struct gw *gw, enum dhcp6_ia ia, uint32_t i, const char *why)
{
	struct dhcp6_binding *b = &gw->dhcp6.bound[ia];
	say(ia, &b->held[i], why);
	for (b->n--; i < b->n; i++)
		b->held[i] = b->held[i + 1];
}

void dhcp6_bind_clear(struct gw *gw, enum dhcp6_ia ia, const char *why)
{
	while (gw->dhcp6.bound[ia].n)
		dhcp6_bind_drop(gw, ia, gw->dhcp6.bound[ia].n - 1, why);
}

bool dhcp6_bind_expire(struct gw *gw)
{
	bool some = false;
	for (uint32_t ia = 0; ia < DHCP6_IAS; ia++)
		for (uint32_t i = gw->dhcp6.bound[ia].n; i-- > 0;)
			if (gw->dhcp6.bound[ia].held[i].valid_us <= gw->clock.us) {
				dhcp6_bind_drop(gw, (enum dhcp6_ia)ia, i, "ended");
				some = true;
			}
	return some;
}

/* --- an answer ----------------------------------------------------------------------------------
 */

static bool same(const struct dhcp6_held *h, const struct dhcp6_lease *l)
{
	return h->len == l->len && ip6_eq(&h->addr, &l->addr);
}

static bool names(const struct dhcp6_ia_answer *a, const struct dhcp6_held *h)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (same(h, &a->lease[i]))
			return true;
	return false;
}

/* The place of a lease in a binding; a new one in that of the lease that ends first if need be. */
static struct dhcp6_held *place(struct gw *gw, enum dhcp6_ia ia, const struct dhcp6_lease *l)
{
	struct dhcp6_binding *b = &gw->dhcp6.bound[ia];
	uint32_t first = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		if (same(&b->held[i], l))
			return &b->held[i];
		if (b->held[i].valid_us < b->held[first].valid_us)
			first = i;
	}
	if (b->n == DHCP6_LEASES)
		dhcp6_bind_drop(gw, ia, first, "replaced");
	struct dhcp6_held *h = &b->held[b->n++];
	*h = (struct dhcp6_held){.addr = l->addr, .len = l->len};
	return h;
}

static void take_lease(struct gw *gw, enum dhcp6_ia ia, const struct dhcp6_lease *l)
{
	char text[40];
	if (l->valid_s == 0) {
		for (uint32_t i = gw->dhcp6.bound[ia].n; i-- > 0;)
			if (same(&gw->dhcp6.bound[ia].held[i], l))
				dhcp6_bind_drop(gw, ia, i, "withdrawn");
		return;
	}
	struct dhcp6_held *h = place(gw, ia, l);
	bool is_new = h->valid_us == 0;
	h->refused = false;
	h->preferred_us = end_of(gw->clock.us, l->preferred_s);
	h->valid_us = end_of(gw->clock.us, l->valid_s);
	if (!is_new)
		return;
	if (l->valid_s == UINT32_MAX)
		fmt(text, sizeof text, "begun, for ever");
	else
		fmt(text, sizeof text, "begun, for %u s", l->valid_s);
	say(ia, h, text);
}

static void take_ia(struct gw *gw, enum dhcp6_ia ia, const struct dhcp6_ia_answer *a, bool fresh)
{
	if (!a->given)
		return;
	if (a->status != DHCP6_SUCCESS) {
		if (fresh)
			dhcp6_bind_clear(gw, ia, "not given any more");
		return;
	}
	for (uint32_t i = gw->dhcp6.bound[ia].n; fresh && i-- > 0;)
		if (!names(a, &gw->dhcp6.bound[ia].held[i]))
			dhcp6_bind_drop(gw, ia, i, "not given any more");
	for (uint32_t i = 0; i < a->n; i++)
		take_lease(gw, ia, &a->lease[i]);
}

/* --- times --------------------------------------------------------------------------------------
 */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The earliest time at which a lease is not preferred any more, or, where it is not, ends. */
static uint64_t soonest(const struct dhcp6_client *c, uint64_t now)
{
	uint64_t at = NEVER;
	for (uint32_t ia = 0; ia < DHCP6_IAS; ia++)
		for (uint32_t i = 0; i < c->bound[ia].n; i++) {
			const struct dhcp6_held *h = &c->bound[ia].held[i];
			at = min_u64(at, h->preferred_us > now ? h->preferred_us : h->valid_us);
		}
	return at;
}

/* T1 and T2 of the whole: the earliest of the associations (section 18.2.4). Zero leaves them to
 * the client, and those behind the end of a lease make no sense (section 21.4). */
static void set_times(struct gw *gw, const struct dhcp6_answer *a, uint8_t asked)
{
	struct dhcp6_client *c = &gw->dhcp6;
	uint64_t now = gw->clock.us, last = soonest(c, now);
	uint64_t left = last == NEVER ? NEVER : last - now;
	uint64_t t1 = NEVER, t2 = NEVER;
	for (uint32_t ia = 0; ia < DHCP6_IAS; ia++) {
		if (!a->ia[ia].given || a->ia[ia].n == 0)
			continue;
		if (a->ia[ia].t1_s)
			t1 = min_u64(t1, end_of(now, a->ia[ia].t1_s));
		if (a->ia[ia].t2_s)
			t2 = min_u64(t2, end_of(now, a->ia[ia].t2_s));
	}
	if (left != NEVER && t1 >= last)
		t1 = now + left / 2;
	if (left != NEVER && t2 >= last)
		t2 = now + left - left / 5;
	for (uint32_t ia = 0; ia < DHCP6_IAS; ia++)
		if (asked & 1 << ia && c->bound[ia].n == 0)
			t1 = min_u64(t1, now + AGAIN_S * SECOND);
	c->t1_us = t1;
	c->t2_us = t2 < t1 ? t1 : t2;
}

void dhcp6_bind_take(struct gw *gw, const struct dhcp6_answer *a, uint8_t asked, bool fresh)
{
	for (uint32_t ia = 0; ia < DHCP6_IAS; ia++)
		if (asked & 1 << ia)
			take_ia(gw, (enum dhcp6_ia)ia, &a->ia[ia], fresh);
	set_times(gw, a, asked);
}

void dhcp6_bind_servers(struct dhcp6_client *c, const struct dhcp6_answer *a)
{
	uint32_t n = a ? a->n_dns : 0;
	bool same = n == c->n_dns && (n == 0 || memcmp(c->dns, a->dns, n * sizeof c->dns[0]) == 0);
	if (same)
		return;
	c->n_dns = n;
	if (n)
		memcpy(c->dns, a->dns, n * sizeof c->dns[0]);
	c->servers_changed++;
}
