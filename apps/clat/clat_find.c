/* See clat.h. A prefix of the configuration goes before one that a router advertises, and that
 * before what DNS says. */
#include "apps/clat/clat.h"

#include "apps/dns64/message/dns_message.h"
#include "kernel/lib/log.h"
#include "net/setup/gw_change.h"
#include "net/setup/gw_setup.h"
#include "net/udp/udp.h"

#define SECOND   1000000ull
#define WAIT_S   5u
#define FIRST_S  1u
#define MOST_S   64u
#define LEAST_S  60u    /* a prefix counts so long, whatever its TTL */
#define LONGEST  86400u /* and not longer (RFC 7050 section 3 leaves it to the TTL) */
#define QUESTION 31u

/* ipv4only.arpa and its addresses (RFC 7050 section 8). */
static const uint8_t name[] = {8, 'i', 'p', 'v', '4', 'o', 'n', 'l', 'y', 4, 'a', 'r', 'p', 'a', 0};
#define WELL_KNOWN1 0xc00000aau /* 192.0.0.170 */
#define WELL_KNOWN2 0xc00000abu

/* DNS server i that can be asked by IPv6; false behind the last one. */
static bool server(const struct gw *gw, uint32_t i, struct addr *out)
{
	const struct net_config *c = net_config(gw->config);
	for (uint32_t k = 0; k < c->n_server; k++)
		if (!c->server[k].lease && c->server[k].addr.is6 && i-- == 0) {
			*out = c->server[k].addr;
			return true;
		}
	*out = (struct addr){.is6 = true};
	if (i < gw->autoconf.n_servers) {
		out->v6 = gw->autoconf.server[i].addr;
		return true;
	}
	i -= gw->autoconf.n_servers;
	if (i < gw->dhcp6.n_dns)
		out->v6 = gw->dhcp6.dns[i];
	return i < gw->dhcp6.n_dns;
}

/* --- questions ---------------------------------------------------------------------------------
 */

static void end_question(struct gw *gw, struct clat_find *f)
{
	if (f->port)
		udp_unbind(gw, f->port);
	f->port = 0;
}

static void failed(struct gw *gw, struct clat_find *f)
{
	end_question(gw, f);
	f->due_us = gw->clock.us + min_u32(FIRST_S << min_u32(f->fails, 6), MOST_S) * SECOND;
	f->fails++;
	f->next++;
}

static void ask(struct gw *gw, struct clat_find *f)
{
	struct udp_ends ends = {.remote_port = 53, .iface = PKT_IF_SELF};
	uint32_t n = 0;
	f->due_us = gw->clock.us + SECOND;
	while (server(gw, n, &f->asked))
		n++;
	if (n == 0 || !server(gw, f->next % n, &f->asked))
		return;
	ends.remote = f->asked;
	if (!udp_source(gw, &ends)) {
		f->next++;
		return;
	}
	struct pkt *p = pkt_alloc(gw->pool);
	uint8_t *m = p ? pkt_put(p, QUESTION) : NULL;
	ends.local_port = f->port = m ? udp_bind_any(gw, f->handler, 0) : 0;
	if (!f->port) {
		if (p)
			pkt_free(p);
		return;
	}
	f->id = rng_u16(gw->rng);
	memset(m, 0, QUESTION);
	dns_put16(m, f->id);
	dns_put16(m + 2, DNS_RD);
	dns_put16(m + 4, 1);
	memcpy(m + DNS_HEADER, name, sizeof name);
	dns_put16(m + DNS_HEADER + sizeof name, DNS_TYPE_AAAA);
	dns_put16(m + DNS_HEADER + sizeof name + 2, DNS_CLASS_IN);
	f->due_us = gw->clock.us + WAIT_S * SECOND;
	f->questions++;
	udp_send(gw, p, &ends);
}
_Static_assert(DNS_HEADER + sizeof name + DNS_QUESTION_FIXED == QUESTION, "a question's size");

/* --- answers -----------------------------------------------------------------------------------
 */

/* The prefix in which an address stands for one of the well-known addresses (RFC 7050 section 3).
 * All bits behind these are zero, so they stand at one place only. *out stays as it is when there
 * is none. */
static bool prefix_in(const ip6 *a, struct prefix *out)
{
	static const uint8_t lens[] = {96, 64, 56, 48, 40, 32};
	for (uint32_t i = 0; i < sizeof lens; i++) {
		struct embed_form form;
		struct prefix p = {.addr = {.is6 = true, .v6 = addr_net6(a, lens[i])},
		                   .len = lens[i]};
		if (embed_set_up(&form, &p, false) || !embed_is_plain(&form, a))
			continue;
		uint32_t four = swap32(embed_to4(&form, a));
		if (four != WELL_KNOWN1 && four != WELL_KNOWN2)
			continue;
		*out = p;
		return true;
	}
	return false;
}

/* True for an answer to our question. */
static bool is_asked(struct dns_view m, const struct dns_layout *l)
{
	uint8_t own[DNS_HEADER + sizeof name] = {0};
	const struct dns_view asked = {own, sizeof own};
	memcpy(own + DNS_HEADER, name, sizeof name);
	return l->count[DNS_QD] == 1 && l->qtype == DNS_TYPE_AAAA && l->qclass == DNS_CLASS_IN &&
	       dns_same_name(m, DNS_HEADER, asked, DNS_HEADER);
}

/* Reads an answer; false when it has no prefix. */
static bool read_answer(struct clat_find *f, struct dns_view m, uint32_t *ttl)
{
	struct dns_layout l;
	struct dns_rr rr;
	if (!dns_parse(m, &l) || !is_asked(m, &l))
		return false;
	uint32_t at = l.section[DNS_AN];
	for (uint32_t i = 0; i < l.count[DNS_AN] && dns_read_rr(m, at, &rr); i++, at = rr.end) {
		ip6 a;
		if (rr.type != DNS_TYPE_AAAA || rr.class != DNS_CLASS_IN || rr.data_len != sizeof a)
			continue;
		memcpy(&a, m.at + rr.data, sizeof a);
		*ttl = rr.ttl;
		if (prefix_in(&a, &f->prefix))
			return true;
	}
	return false;
}

static enum verdict input(struct gw *gw, struct pkt *p, const struct udp_ends *ends, uint32_t arg)
{
	struct clat_find *f = &clat_of(gw)->find;
	struct dns_view m = {p->data, p->len};
	uint32_t ttl = 0;
	(void)arg;
	if (!addr_eq(&ends->remote, &f->asked) || ends->remote_port != 53 || m.len < DNS_HEADER ||
	    dns_get16(m.at) != f->id || !(dns_get16(m.at + 2) & DNS_QR))
		return V_LOCAL;
	f->answers++;
	if ((dns_get16(m.at + 2) & DNS_RCODE) == DNS_NOERROR && read_answer(f, m, &ttl)) {
		uint32_t s = min_u32(max_u32(ttl, LEAST_S), LONGEST);
		end_question(gw, f);
		f->fails = 0;
		f->until_us = gw->clock.us + s * SECOND;
		f->due_us = gw->clock.us + (s - s / 5) * SECOND;
	} else {
		failed(gw, f);
	}
	pkt_free(p);
	return V_KEPT;
}

/* --- the whole ---------------------------------------------------------------------------------
 */

const char *clat_find_start(struct gw *gw, struct clat *c)
{
	const struct prefix *given = &clat_config(gw->config)->prefix;
	if (given->len) {
		const char *bad = clat_use_prefix(gw, c, given, "clat.prefix");
		return bad ? gw_setup_fail("clat.prefix %s", bad) : NULL;
	}
	if (!udp_init(gw))
		return "not enough memory";
	c->find.handler = udp_register(gw, input);
	return NULL;
}

/* Follows the prefix that there is now; NULL: none. A DNS64 server beside us does so too. */
static void follow(struct gw *gw, struct clat *c, const struct prefix *p, const char *from)
{
	if (p ? c->has_prefix && c->prefix.len == p->len && addr_eq(&c->prefix.addr, &p->addr)
	      : !c->has_prefix)
		return;
	if (p) { /* neither source gives one that is bad */
		(void)clat_use_prefix(gw, c, p, from);
	} else {
		log_line("clat: the prefix of the translator is not known any more");
		c->has_prefix = false;
	}
	gw_change_inform(gw);
}

/* A prefix that routers advertise: the one in force if it is still among them. */
static const struct autoconf_server *advertised(const struct gw *gw, const struct clat *c)
{
	const struct autoconf *a = &gw->autoconf;
	for (uint32_t i = 0; i < a->n_pref64 && c->has_prefix; i++)
		if (a->pref64[i].len == c->prefix.len &&
		    ip6_eq(&a->pref64[i].addr, &c->prefix.addr.v6))
			return &a->pref64[i];
	return a->n_pref64 ? &a->pref64[0] : NULL;
}

void clat_find_tick(struct gw *gw, struct clat *c)
{
	struct clat_find *f = &c->find;
	if (clat_config(gw->config)->prefix.len)
		return;
	const struct autoconf_server *router = advertised(gw, c);
	if (router) {
		struct prefix p = {.addr = {.is6 = true, .v6 = router->addr}, .len = router->len};
		end_question(gw, f);
		follow(gw, c, &p, "a router");
		return;
	}
	if (gw->clock.us >= f->due_us) {
		if (f->port)
			failed(gw, f);
		else
			ask(gw, f);
	}
	if (f->until_us && gw->clock.us >= f->until_us)
		f->until_us = 0;
	follow(gw, c, f->until_us ? &f->prefix : NULL, "ipv4only.arpa");
}
