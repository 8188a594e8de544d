/* See nat_syn.h. */
#include "apps/nat/nat_syn.h"

#include "kernel/lib/when.h"
#include "net/ip4/icmp.h"
#include "net/ip4/ip4.h"

#define LOOK_MS 100u

void nat_syn_init(struct nat_syns *t, struct rng *rng)
{
	memset(t, 0, sizeof *t);
	t->key.k[0] = rng_u32(rng);
	t->key.k[1] = rng_u32(rng);
}

/* The entry of a SYN: its own if it is held (*held), else a free one, else NULL. */
static struct nat_syn *place_of(struct nat_syns *t, uint32_t rem_ip, uint32_t ext_ip,
                                uint32_t ports, bool *held)
{
	const uint32_t w[3] = {rem_ip, ext_ip, ports};
	struct nat_syn *s = t->slot[hash_words(&t->key, w, 3) % NAT_SYN_SETS], *room = NULL;
	for (unsigned i = 0; i < NAT_SYN_WAYS; i++, s++) {
		*held = s->n && s->rem_ip == rem_ip && s->ext_ip == ext_ip && s->ports == ports;
		if (*held)
			return s;
		if (s->n == 0)
			room = s;
	}
	return room;
}

void nat_syn_hold(struct gw *gw, struct nat_syns *t, const struct pkt *p)
{
	const struct ip4_hdr *h = ip4_header(p);
	uint32_t ports = load32(p->data + p->l4);
	bool held;
	struct nat_syn *s = place_of(t, ip4_raw(h->from), ip4_raw(h->to), ports, &held);
	if (!s || held) /* no free entry, or a repetition */
		return;
	s->rem_ip = ip4_raw(h->from);
	s->ext_ip = ip4_raw(h->to);
	s->ports = ports;
	s->due_ms = gw->clock.ms + NAT_SYN_MS;
	s->n = (uint8_t)min_u32(p->len, NAT_SYN_BYTES);
	s->l4 = (uint8_t)p->l4;
	s->hairpinned = p->flags & PKT_HAIRPIN;
	memcpy(s->bytes, p->data, s->n);
	t->n_held++;
}

void nat_syn_solicited(struct nat_syns *t, uint32_t rem_ip, uint32_t ext_ip, uint32_t ports)
{
	bool held;
	if (t->n_held == 0)
		return;
	struct nat_syn *s = place_of(t, rem_ip, ext_ip, ports, &held);
	if (!held)
		return;
	s->n = 0;
	t->n_held--;
}

/* Sends the ICMP error about a held SYN, from a packet made of its copy. False when the
 * limit of ICMP errors does not allow it now. */
static bool answer(struct gw *gw, struct nat_syns *t, const struct nat_syn *s)
{
	uint64_t suppressed = gw->counts.icmp_suppressed;
	struct pkt *p = pkt_alloc(gw->pool);
	uint8_t *to = p ? pkt_put(p, s->n) : NULL;
	if (to) {
		memcpy(to, s->bytes, s->n);
		p->iface = IF_WAN;
		p->flags = s->hairpinned ? PKT_HAIRPIN : 0;
		p->l4 = s->l4;
		p->l4_len = (uint16_t)(s->n - s->l4);
		p->proto = PROTO_TCP;
		icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_PORT, 0);
	}
	if (p)
		pkt_free(p);
	if (!to || gw->counts.icmp_suppressed != suppressed)
		return false;
	t->answered++;
	return true;
}

void nat_syn_forget(struct nat_syns *t)
{
	for (unsigned i = 0; i < NAT_SYN_SETS * NAT_SYN_WAYS; i++)
		t->slot[i / NAT_SYN_WAYS][i % NAT_SYN_WAYS].n = 0;
	t->n_held = 0;
}

void nat_syn_tick(struct gw *gw, struct nat_syns *t)
{
	if (t->n_held == 0 || !when_again(gw->clock.ms, &t->next_look_ms, LOOK_MS))
		return;
	for (unsigned i = 0; i < NAT_SYN_SETS * NAT_SYN_WAYS; i++) {
		struct nat_syn *s = &t->slot[i / NAT_SYN_WAYS][i % NAT_SYN_WAYS];
		if (s->n == 0 || !when_come(gw->clock.ms, s->due_ms, NAT_SYN_MS))
			continue;
		if (!answer(gw, t, s)) /* try again later; the limit is one for each host */
			continue;
		s->n = 0;
		t->n_held--;
	}
}
