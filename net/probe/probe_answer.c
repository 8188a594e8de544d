/* Answers to echo requests. See probe.h. */
#include "net/probe/probe.h"

#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"

/* True when the message at `at` in p is an echo of this type with our identifier and number. */
static bool is_echo(const struct probe *r, const struct pkt *p, uint32_t at, uint8_t type)
{
	const struct icmp_hdr *h = (const struct icmp_hdr *)pkt_at(p, at, sizeof *h);
	return h && h->type == type && h->code == 0 && be16_get(h->id) == r->id &&
	       be16_get(h->seq) == r->seq;
}

static bool is_error4(uint8_t type)
{
	return type == ICMP_UNREACHABLE || type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER;
}

static bool answers4(const struct probe *r, const struct pkt *p)
{
	const struct icmp_hdr *icmp = (const struct icmp_hdr *)pkt_at(p, p->l4, sizeof *icmp);
	uint32_t quote = p->l4 + (uint32_t)sizeof *icmp;
	if (!icmp || p->proto != PROTO_ICMP)
		return false;
	if (icmp->type == ICMP_ECHO_REPLY)
		return ip4_eq(ip4_header(p)->from, r->to.v4) &&
		       is_echo(r, p, p->l4, ICMP_ECHO_REPLY);
	const struct ip4_hdr *q = (const struct ip4_hdr *)pkt_at(p, quote, sizeof *q);
	if (!is_error4(icmp->type) || !q || q->version_ihl != 0x45 || q->proto != PROTO_ICMP)
		return false;
	return ip4_eq(q->to, r->to.v4) && is_echo(r, p, quote + IP4_MIN, ICMP_ECHO);
}

static bool answers6(const struct probe *r, const struct pkt *p)
{
	const struct icmp_hdr *icmp = (const struct icmp_hdr *)pkt_at(p, p->l4, sizeof *icmp);
	uint32_t quote = p->l4 + (uint32_t)sizeof *icmp;
	if (!icmp || p->proto != PROTO_ICMP6)
		return false;
	if (icmp->type == ICMP6_ECHO_REPLY)
		return ip6_eq(&ip6_header(p)->from, &r->to.v6) &&
		       is_echo(r, p, p->l4, ICMP6_ECHO_REPLY);
	const struct ip6_hdr *q = (const struct ip6_hdr *)pkt_at(p, quote, sizeof *q);
	if (icmp->type >= ICMP6_INFORMATION || !q || q->first.b[0] >> 4 != 6 ||
	    q->next != PROTO_ICMP6)
		return false;
	return ip6_eq(&q->to, &r->to.v6) && is_echo(r, p, quote + IP6_MIN, ICMP6_ECHO);
}

bool probe_answers(const struct gw *gw, const struct pkt *p)
{
	const struct probe *r = &gw->probe;
	bool six = p->data[0] >> 4 == 6;
	if (LIKELY(r->phase != PROBE_ASKED) || six != r->to.is6 || p->flags & PKT_FRAGMENT)
		return false;
	return six ? answers6(r, p) : answers4(r, p);
}

void probe_take(struct gw *gw, const struct pkt *p)
{
	struct probe *r = &gw->probe;
	r->phase = PROBE_GOT;
	r->rtt_us = (uint32_t)(gw->clock.us - r->sent_us);
	r->type = p->data[p->l4];
	r->code = p->data[p->l4 + 1];
	r->by = (struct addr){.is6 = r->to.is6};
	if (r->by.is6)
		r->by.v6 = ip6_header(p)->from;
	else
		r->by.v4 = ip4_header(p)->from;
	r->ttl = r->by.is6 ? ip6_header(p)->hops : ip4_header(p)->ttl;
}
