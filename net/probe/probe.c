/* See probe.h. */
#include "net/probe/probe.h"

#include "kernel/lib/fmt.h"
#include "net/gw_address.h"
#include "net/ip4/ip4.h"
#include "net/ip6/icmp6.h"
#include "net/ip6/ip6.h"
#include "net/udp/udp.h"

#define DATA     56u /* bytes behind the echo header */
#define ID_TRIES 16u /* random identifiers, until one is free */

/* --- requests ------------------------------------------------------------------------------ */

/* Why no request can go to an IPv4 address; NULL when one can. */
static const char *cannot4(const struct gw *gw, ip4 to)
{
	const struct route4 *r = route4_for(&gw->routes4, to);
	if (ip4_no_host(to))
		return "is not the address of a host";
	if (gw_is_own(gw, to))
		return "is the gateway's own address";
	if (!r || r->iface >= INTERFACES)
		return "has no route";
	return gw->iface[r->iface].n_addr ? NULL : "cannot be reached: there is no address of ours";
}

static const char *cannot6(const struct gw *gw, const ip6 *to)
{
	const struct route6 *r = route6_for(&gw->routes6, to);
	if (!gw->ip6)
		return "cannot be reached: the application has no IPv6";
	if (ip6_is_special(to))
		return "is not the address of a host on a network of ours or beyond";
	if (gw_address6(gw, IF_NONE, to))
		return "is the gateway's own address";
	if (!r || r->iface == IF_NONE)
		return "has no route";
	return gw_own_address6(gw, r->iface, to)
	               ? NULL
	               : "cannot be reached: no address of ours is in use";
}

/* A packet with room for an IP header of `head` bytes in front of the request, which is complete
 * but for its checksum. NULL (counted) when there is none. */
static struct pkt *request(struct gw *gw, uint32_t head, uint8_t type)
{
	const struct probe *r = &gw->probe;
	struct pkt *p = pkt_alloc(gw->pool);
	uint8_t *at = p ? pkt_put(p, head + (uint32_t)sizeof(struct icmp_hdr) + DATA) : NULL;
	if (!at) {
		gw->counts.drops[DROP_NO_PACKET]++;
		if (p)
			pkt_free(p);
		return NULL;
	}
	struct icmp_hdr *icmp = (struct icmp_hdr *)(void *)(at + head);
	*icmp = (struct icmp_hdr){.type = type, .id = be16_of(r->id), .seq = be16_of(r->seq)};
	for (uint32_t i = 0; i < DATA; i++)
		at[head + sizeof *icmp + i] = (uint8_t)i;
	p->iface = PKT_IF_SELF;
	return p;
}

static void send4(struct gw *gw, const struct probe *r, uint8_t hops)
{
	struct udp_ends ends = {.remote = r->to};
	struct pkt *p = udp_source(gw, &ends) ? request(gw, IP4_MIN, ICMP_ECHO) : NULL;
	if (!p)
		return;
	struct icmp_hdr *icmp = (struct icmp_hdr *)(void *)(p->data + IP4_MIN);
	icmp->sum = be16_from_raw((uint16_t)~csum_sum(icmp, p->len - IP4_MIN));
	ip4_build(gw, p, ends.local.v4, r->to.v4, PROTO_ICMP, 0);
	struct ip4_hdr *h = ip4_header(p);
	h->ttl = hops;
	h->sum = be16_of(0);
	h->sum = be16_from_raw((uint16_t)~csum_ip4_header(h));
	gw_send(gw, p);
}

static void send6(struct gw *gw, const struct probe *r, uint8_t hops)
{
	struct udp_ends ends = {.remote = r->to};
	struct pkt *p = udp_source(gw, &ends) ? request(gw, IP6_MIN, ICMP6_ECHO) : NULL;
	if (!p)
		return;
	ip6_build(p, &ends.local.v6, &r->to.v6, PROTO_ICMP6, hops);
	ip6_sum(p, offsetof(struct icmp6_hdr, sum));
	gw_send6(gw, p);
}

/* Sends the next request. Where it cannot be sent, there will be no answer. */
static void ask(struct gw *gw)
{
	struct probe *r = &gw->probe;
	uint8_t hops = r->kind == PROBE_TRACE ? r->hops : IP4_TTL;
	r->seq++;
	r->tries++;
	r->n_sent++;
	r->phase = PROBE_ASKED;
	r->sent_us = gw->clock.us;
	r->due_us = gw->clock.us + PROBE_US;
	if (r->to.is6)
		send6(gw, r, hops);
	else
		send4(gw, r, hops);
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool is_reply(const struct probe *r)
{
	return r->type == (r->to.is6 ? ICMP6_ECHO_REPLY : ICMP_ECHO_REPLY);
}

static bool is_hop(const struct probe *r)
{
	return r->type == (r->to.is6 ? ICMP6_TIME_EXCEEDED : ICMP_TIME_EXCEEDED);
}

/* What an error says, in words; NULL for rare ones. */
static const char *meaning(const struct probe *r)
{
	static const char *const four[] = {
	        [ICMP_NET] = "network unreachable",   [ICMP_HOST] = "host unreachable",
	        [ICMP_PROTOCOL] = "no such protocol", [ICMP_PORT] = "port unreachable",
	        [ICMP_NET_ADMIN] = "prohibited",      [ICMP_HOST_ADMIN] = "prohibited",
	        [ICMP_ADMIN] = "prohibited",
	};
	static const char *const six[] = {
	        [ICMP6_NO_ROUTE] = "no route",     [ICMP6_ADMIN] = "prohibited",
	        [ICMP6_SCOPE] = "wrong scope",     [ICMP6_ADDRESS] = "host unreachable",
	        [ICMP6_PORT] = "port unreachable", [ICMP6_POLICY] = "source refused",
	};
	if (is_hop(r))
		return "time to live used up";
	if (r->to.is6)
		return r->type == ICMP6_UNREACHABLE && r->code < ARRAY_SIZE(six) ? six[r->code]
		                                                                 : NULL;
	return r->type == ICMP_UNREACHABLE && r->code < ARRAY_SIZE(four) ? four[r->code] : NULL;
}

/* Adds what the answer says, when it is no reply. */
static void say_error(const struct probe *r, char *buf, size_t size, size_t n)
{
	const char *text = meaning(r);
	if (text)
		fmt(buf + n, size - n, " %s", text);
	else
		fmt(buf + n, size - n, " ICMP%s error %u/%u", r->to.is6 ? "v6" : "", r->type,
		    r->code);
}

static void note_time(struct probe *r)
{
	r->least_us = r->n_got ? min_u32(r->least_us, r->rtt_us) : r->rtt_us;
	r->most_us = max_u32(r->most_us, r->rtt_us);
	r->sum_us += r->rtt_us;
	r->n_got++;
}

#define MS(us) (us) / 1000, (us) % 1000 /* for "%u.%03u ms" */

/* The line of an answer to a ping. */
static void ping_got(struct probe *r, char *buf, size_t size)
{
	char by[FMT_IP6];
	size_t n = fmt(buf, size, "%s: seq=%u", addr_text(by, &r->by), r->n_sent);
	if (is_reply(r)) {
		note_time(r);
		fmt(buf + n, size - n, " ttl=%u time=%u.%03u ms", r->ttl, MS(r->rtt_us));
	} else {
		say_error(r, buf, size, n);
	}
	r->phase = r->n_sent < PROBE_PINGS ? PROBE_DUE : PROBE_RESULT;
	r->due_us = r->sent_us + PROBE_US;
}

static void ping_silent(struct probe *r, char *buf, size_t size)
{
	fmt(buf, size, "seq=%u no answer", r->n_sent);
	r->phase = r->n_sent < PROBE_PINGS ? PROBE_DUE : PROBE_RESULT;
}

/* The line of an answer to a traceroute. An answer that is not that of a hop is the last. */
static void trace_got(struct probe *r, char *buf, size_t size)
{
	char by[FMT_IP6];
	size_t n = fmt(buf, size, "%2u  %s  %u.%03u ms", r->hops, addr_text(by, &r->by),
	               MS(r->rtt_us));
	bool last = !is_hop(r) || r->hops == PROBE_HOPS;
	if (!is_hop(r) && !is_reply(r))
		say_error(r, buf, size, n);
	r->phase = last ? PROBE_RESULT : PROBE_DUE;
	r->due_us = 0;
	r->n_got += is_reply(r);
	r->hops++;
	r->tries = 0;
}

/* Asks a silent hop once more, or writes the line that says that it is silent. */
static void trace_silent(struct probe *r, char *buf, size_t size)
{
	r->phase = PROBE_DUE;
	r->due_us = 0;
	if (r->tries < PROBE_TRIES)
		return;
	fmt(buf, size, "%2u  no answer", r->hops);
	if (r->hops == PROBE_HOPS)
		r->phase = PROBE_RESULT;
	r->hops++;
	r->tries = 0;
}

static void result(const struct probe *r, char *buf, size_t size)
{
	char to[FMT_IP6];
	addr_text(to, &r->to);
	if (r->kind == PROBE_TRACE)
		fmt(buf, size, "%s %s", to, r->n_got ? "reached" : "not reached");
	else if (r->n_got == 0)
		fmt(buf, size, "%s: %u sent, 0 answered", to, r->n_sent);
	else
		fmt(buf, size,
		    "%s: %u sent, %u answered, least/mean/most %u.%03u/%u.%03u/%u.%03u ms", to,
		    r->n_sent, r->n_got, MS(r->least_us), MS(r->sum_us / r->n_got), MS(r->most_us));
}

/* --- a run ---------------------------------------------------------------------------------------
 */

const char *probe_start(struct gw *gw, enum probe_kind kind, const struct addr *to)
{
	static char wrong[128];
	char text[FMT_IP6];
	const char *why = to->is6 ? cannot6(gw, &to->v6) : cannot4(gw, to->v4);
	probe_stop(gw);
	if (why) {
		fmt(wrong, sizeof wrong, "%s %s", addr_text(text, to), why);
		return wrong;
	}
	for (uint32_t i = 0; i < ID_TRIES; i++) {
		uint16_t id = (uint16_t)rng_u32(gw->rng);
		if (!to->is6 && !gw_port_take(gw, PROTO_ICMP, id))
			continue;
		gw->probe = (struct probe){.kind = (uint8_t)kind,
		                           .phase = PROBE_DUE,
		                           .to = *to,
		                           .id = id,
		                           .seq = (uint16_t)rng_u32(gw->rng),
		                           .hops = 1};
		return NULL;
	}
	return "all identifiers are in use";
}

void probe_stop(struct gw *gw)
{
	struct probe *r = &gw->probe;
	if (r->phase != PROBE_IDLE && !r->to.is6)
		gw_port_give(gw, PROTO_ICMP, r->id);
	r->phase = PROBE_IDLE;
}

enum probe_step probe_line(struct gw *gw, char *buf, size_t size)
{
	struct probe *r = &gw->probe;
	bool due = gw->clock.us >= r->due_us;
	buf[0] = '\0';
	if (r->phase == PROBE_DUE && due) {
		ask(gw);
	} else if (r->phase == PROBE_GOT) {
		if (r->kind == PROBE_PING)
			ping_got(r, buf, size);
		else
			trace_got(r, buf, size);
	} else if (r->phase == PROBE_ASKED && due) {
		if (r->kind == PROBE_PING)
			ping_silent(r, buf, size);
		else
			trace_silent(r, buf, size);
	} else if (r->phase == PROBE_RESULT) {
		result(r, buf, size);
		probe_stop(gw);
	} else {
		return r->phase == PROBE_IDLE ? PROBE_END : PROBE_WAIT;
	}
	return PROBE_LINE;
}
