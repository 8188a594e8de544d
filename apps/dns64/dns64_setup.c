/* From the configuration to the parts of DNS64. See dns64.h. */
#include "apps/dns64/dns64.h"

#include "apps/dns64/policy/dns64_ready.h"
#include "apps/translate/embed_keys.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/setup/gw_setup.h"

#define PATIENCE_MS    750u   /* wait for AAAA records while A records are there */
#define MAX_ATTEMPT_MS 60000u /* longest wait for an answer */

/* Sets the form of a prefix (RFC 6052). Octet 8 should be zero. Files of mtd64-ng may have another
 * value, on which clients and translator of such a site agree. */
static void set_form(struct embed_form *f, const struct prefix *prefix, bool ivi, const char *key)
{
	struct prefix p = *prefix;
	uint8_t octet = p.len == 96 ? p.addr.v6.b[8] : 0;
	char text[FMT_IP6 + 4];
	p.addr.v6.b[8] = p.len == 96 ? 0 : p.addr.v6.b[8];
	const char *bad = embed_set_up(f, &p, ivi);
	if (bad) /* the parser refuses such lengths */
		log_line("%s %s %s", key, addr_prefix_text(text, prefix), bad);
	if (octet == 0)
		return;
	((uint8_t *)f->prefix)[8] = octet;
	log_line("%s %s: octet 8 should be zero (RFC 6052 section 2.2); taken as it is", key,
	         addr_prefix_text(text, prefix));
}

/* Takes over the prefix of the translator beside us, of length 0 while it has none. Hosts learn a
 * prefix in the form of RFC 6052 by router advertisements too (RFC 8781). */
static void take_prefix(struct gw *gw, struct dns64 *all, const struct prefix *p, bool ivi)
{
	struct dns64_policy *d = &all->policy;
	all->pref64[0] = *p;
	all->n_pref64 = p->len != 0 && !ivi;
	d->n_prefixes = p->len != 0;
	if (p->len == 0)
		return;
	set_form(&d->prefix[0], p, ivi, "dns64-prefix");
	d->well_known[0] = embed_keys_strict(gw->config, &d->prefix[0], NULL);
}

/* Takes the prefix of the translator beside us, if there is one and the configuration names none.
 */
static bool follow_translator(struct gw *gw, struct dns64 *all)
{
	struct prefix p;
	bool ivi;
	if (!gw->forwarder->prefix64 || config_given(gw->config, "dns64-prefix"))
		return false;
	if (!gw->forwarder->prefix64(gw, &p, &ivi)) {
		log_line("dns64-prefix: the translator has no prefix to follow, the default is "
		         "used");
		return false;
	}
	take_prefix(gw, all, &p, ivi);
	return true;
}

void dns64_follow_prefix(struct gw *gw, struct dns64 *d)
{
	struct prefix p;
	bool ivi;
	char text[FMT_IP6 + 4];
	if (!d->follows || !gw->forwarder->prefix64(gw, &p, &ivi) ||
	    (p.len == d->pref64[0].len && addr_eq(&p.addr, &d->pref64[0].addr)))
		return;
	take_prefix(gw, d, &p, ivi);
	dns64_ready_renew(&d->policy, gw->clock.s);
	if (p.len)
		log_line("dns64: the prefix is that of the translator, %s",
		         addr_prefix_text(text, &p));
	else
		log_line("dns64: no AAAA records are made: the translator has no prefix now");
}

/* Each prefix is taken once, since an answer has no record twice (RFC 2181 section 5). */
static void set_prefixes(struct dns64_policy *d, const struct config *config)
{
	const struct dns64_config *c = dns64_config(config);
	for (uint32_t i = 0; i < c->n_prefix; i++) {
		struct embed_form *f = &d->prefix[d->n_prefixes];
		uint32_t k = 0;
		while (k < i && (c->prefix[k].len != c->prefix[i].len ||
		                 !addr_eq(&c->prefix[k].addr, &c->prefix[i].addr)))
			k++;
		if (k < i)
			continue;
		set_form(f, &c->prefix[i], false, "dns64-prefix");
		d->well_known[d->n_prefixes++] = embed_keys_strict(config, f, "dns64-prefix");
	}
}

static void set_maps(struct dns64_policy *d, const struct config *config)
{
	const struct dns64_config *c = dns64_config(config);
	/* The longest first; of equal length the earlier one. */
	for (uint32_t i = 0; i < c->n_map; i++) {
		uint32_t at = d->n_maps++, mask = addr_mask4(c->map[i].from.len);
		for (; at > 0 && d->map[at - 1].mask < mask; at--)
			d->map[at] = d->map[at - 1];
		struct dns64_map *m = &d->map[at];
		memset(m, 0, sizeof *m);
		m->net = ip4_get(c->map[i].from.addr.v4);
		m->mask = mask;
		m->none = c->map[i].none;
		if (!m->none)
			set_form(&m->form, &c->map[i].to, false, "dns64.map");
		m->well_known = !m->none && embed_keys_strict(config, &m->form, NULL);
	}
}

/* The clients are the hosts of our own networks, of the inside only beside a forwarder that routes,
 * unless the configuration names others. */
static void set_clients(const struct gw *gw, struct dns64_limits *d)
{
	const struct dns64_config *c = dns64_config(gw->config);
	d->rate = c->rate;
	d->n_clients = c->n_client;
	memcpy(d->client, c->client, sizeof c->client);
	d->own_clients = d->n_clients == 0;
}

static const char *set_skip_names(struct dns64_policy *d, const struct dns64_config *c)
{
	for (uint32_t i = 0; i < c->n_skip_name; i++) {
		uint8_t name[DNS_NAME_MAX];
		uint32_t len = dns_name_of_text(name, c->skip_name[i]);
		if (len == 0)
			return "dns64.skip-name: not a domain name";
		dns_key_set(&d->skip_name[d->n_skip_names], name, len);
		d->skip_labels[d->n_skip_names++] = dns_labels(name);
	}
	return NULL;
}

/* True when a lease or routers of the WAN may name servers. */
static bool is_told_servers(const struct gw *gw)
{
	const struct net_config_interface *wan = &net_config(gw->config)->iface[NET_WAN];
	bool told = net_has_dhcp(gw->config);
	for (uint32_t i = 0; i < wan->n_address; i++)
		told |= net_is_auto(&wan->address[i]);
	return told;
}

/* `nameserver default` has its places also where nobody can name a server, as on a WAN with a fixed
 * address: what is known here is answered still, and wan.address may change. */
static void set_servers(struct gw *gw, struct dns64_servers *s, const struct dns64_config *c)
{
	const struct net_config *net = net_config(gw->config);
	bool expect = false;
	for (uint32_t i = 0; i < net->n_server; i++) {
		if (net->server[i].lease)
			expect = true;
		else
			s->server[s->n++].addr = net->server[i].addr;
	}
	s->n_up = s->n;
	if (expect && !is_told_servers(gw))
		log_line("nameserver default: wan.address is neither dhcp nor auto%s",
		         s->n ? "" : "; there is no server, and names outside get SERVFAIL");
	if (expect)
		dns64_server_expect(s, AUTOCONF_SERVERS + DHCP_SERVERS + DHCP6_SERVERS);
	s->round_robin = c->selection == DNS64_ROUND_ROBIN;
	s->attempt_us = min_u32(c->timeout_ms, MAX_ATTEMPT_MS) * 1000;
	s->n_attempts = c->resend + 1;
}

static void set_cache(struct dns64_cache *d, const struct dns64_config *c)
{
	d->keep = c->cache > 0;
	d->stale_s = c->stale_ms / 1000;
	d->n_exclude = c->n_exclude;
	memcpy(d->exclude, c->exclude, sizeof d->exclude);
}

/* Nothing is synthesised for anybody, and no prefix is advertised. */
static void set_plain(struct dns64_clients *d)
{
	d->n_skip = 2;
	d->skip[0] = (struct prefix){.addr = {.is6 = false}, .len = 0};
	d->skip[1] = (struct prefix){.addr = {.is6 = true}, .len = 0};
}

static const char *set_policy(struct gw *gw, struct dns64 *all, const struct dns64_config *c)
{
	struct dns64_policy *d = &all->policy;
	all->follows = follow_translator(gw, all);
	if (!all->follows) {
		set_prefixes(d, gw->config);
		all->n_pref64 = c->n_prefix;
		memcpy(all->pref64, c->prefix, sizeof c->prefix);
	}
	set_maps(d, gw->config);
	/* A translator that has both families outside routes IPv6 beside. */
	const struct forwarder *f = gw->forwarder;
	all->auto_always =
	        c->has_always ? c->always == DNS64_AUTO : f->prefix64 && !f->no_wan6 && !f->no_wan4;
	d->always = c->has_always && c->always == DNS64_ALWAYS;
	d->reverse = c->reverse;
	d->servfail = c->on_error == DNS64_SERVFAIL;
	return set_skip_names(d, c);
}

static void set_queries(struct dns64_clients *d, const struct dns64_config *c)
{
	d->port = (uint16_t)c->port;
	d->debug = c->debugging;
	d->size_max = c->has_max_length ? max_u32(c->max_length, DNS_PLAIN) : DNS_EDNS_SIZE;
	d->n_skip = c->n_skip_client;
	memcpy(d->skip, c->skip_client, sizeof d->skip);
	if (c->has_max_length && c->max_length < DNS_PLAIN)
		log_line("response-maxlength: %u counts as %u", c->max_length, DNS_PLAIN);
}

const char *dns64_set_up(struct gw *gw, struct dns64 *d)
{
	const struct dns64_config *c = dns64_config(gw->config);
	set_servers(gw, &d->servers, c);
	if (d->servers.n == 0)
		return gw_setup_fail("nameserver: required by %s", d->plain ? "dns" : "dns64");
	set_cache(&d->cache, c);
	set_clients(gw, &d->limits);
	if (c->has_threads)
		log_line("num-threads: not needed, there are no threads to wait for");
	set_queries(&d->clients, c);
	d->policy.patience_us = min_u32(PATIENCE_MS, c->timeout_ms) * 1000;
	dns64_hosts_set_up(gw, &d->policy);
	if (d->plain) {
		set_plain(&d->clients);
		return NULL;
	}
	return set_policy(gw, d, c);
}
