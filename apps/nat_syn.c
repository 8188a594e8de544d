/* See nat_syn.h. */
#include "apps/nat_syn.h"

#include "net/ip4.h"

#define LOOK_MS 100u

void nat_syn_init(struct nat_syns *t, struct rng *rng)
{
	memset(t, 0, sizeof *t);
	t->key.k[0] = rng_u32(rng);
	t->key.k[1] = rng_u32(rng);
}

static struct nat_syn *slot_of(struct nat_syns *t, uint32_t rem_ip, uint32_t ext_ip, uint32_t ports)
{
	const uint32_t w[3] = {rem_ip, ext_ip, ports};
	return &t->slot[hash_words(&t->key, w, 3) % NAT_SYN_SLOTS];
}

void nat_syn_hold(struct gw *gw, struct nat_syns *t, const struct pkt *p)
{
	const struct ip4_hdr *h = ip4_header(p);
	uint32_t ports = load32(p->data + p->l4);
	struct nat_syn *s = slot_of(t, ip4_raw(h->from), ip4_raw(h->to), ports);
	if (s->n) /* a repetition, or another's place */
		return;
	s->rem_ip = ip4_raw(h->from);
	s->ext_ip = ip4_raw(h->to);
	s->ports = ports;
	s->due_ms = gw->now_ms + NAT_SYN_MS;
	s->n = (uint8_t)(p->l4 + 8u);
	memcpy(s->bytes, p->data, s->n);
	t->n_held++;
}

void nat_syn_solicited(struct nat_syns *t, uint32_t rem_ip, uint32_t ext_ip, uint32_t ports)
{
	if (t->n_held == 0)
		return;
	struct nat_syn *s = slot_of(t, rem_ip, ext_ip, ports);
	if (s->n == 0 || s->rem_ip != rem_ip || s->ext_ip != ext_ip || s->ports != ports)
		return;
	s->n = 0;
	t->n_held--;
}

/* Sends the error about a held SYN, from a packet made of its copy. */
static void answer(struct gw *gw, struct nat_syns *t, const struct nat_syn *s)
{
	struct pkt *p = pkt_alloc(gw->pool);
	uint8_t *to = p ? pkt_put(p, s->n) : NULL;
	if (to) {
		memcpy(to, s->bytes, s->n);
		p->port = PORT_WAN;
		p->l4 = (uint16_t)(s->n - 8u);
		p->l4_len = 8;
		p->proto = PROTO_TCP;
		gw_error(gw, p, ICMP_UNREACHABLE, ICMP_PORT, 0);
		t->answered++;
	}
	if (p)
		pkt_free(p);
}

void nat_syn_tick(struct gw *gw, struct nat_syns *t)
{
	if (t->n_held == 0 || (int32_t)(gw->now_ms - t->next_look_ms) < 0)
		return;
	t->next_look_ms = gw->now_ms + LOOK_MS;
	for (unsigned i = 0; i < NAT_SYN_SLOTS; i++) {
		struct nat_syn *s = &t->slot[i];
		if (s->n == 0 || (int32_t)(gw->now_ms - s->due_ms) < 0)
			continue;
		answer(gw, t, s);
		s->n = 0;
		t->n_held--;
	}
}
