/* From the configuration to the tables of the DNS64 server. See dns64.h. */
#include "apps/dns64/dns64.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

#define PATIENCE_US 750000u

/* A prefix of RFC 6052. Octet 8 should be zero; files of mtd64-ng have others, which
 * clients and translator of such a site agree on. */
static void set_form(struct embed_form *f, const struct prefix *prefix, const char *key)
{
	struct prefix p = *prefix;
	uint8_t octet = p.len == 96 ? p.addr.v6.b[8] : 0;
	char text[FMT_IP6 + 4];
	p.addr.v6.b[8] = p.len == 96 ? 0 : p.addr.v6.b[8];
	const char *bad = embed_set_up(f, &p, false);
	if (bad) /* the configuration takes no such length */
		log_line("%s %s %s", key, addr_prefix_text(text, prefix), bad);
	if (octet == 0)
		return;
	((uint8_t *)f->prefix)[8] = octet;
	log_line("%s %s: octet 8 should be zero (RFC 6052 section 2.2); taken as it is", key,
	         addr_prefix_text(text, prefix));
}

/* Each once: the same record twice is none more (RFC 2181 section 5). */
static void set_prefixes(struct dns64 *d, const struct dns64_config *c)
{
	for (uint32_t i = 0; i < c->n_prefix; i++) {
		struct embed_form *f = &d->prefix[d->n_prefixes];
		uint32_t k = 0;
		while (k < i && (c->prefix[k].len != c->prefix[i].len ||
		                 !addr_eq(&c->prefix[k].addr, &c->prefix[i].addr)))
			k++;
		if (k < i)
			continue;
		set_form(f, &c->prefix[i], "dns64-prefix");
		d->well_known[d->n_prefixes++] = embed_is_well_known(f);
	}
}

static void set_maps(struct dns64 *d, const struct dns64_config *c)
{
	/* The longest first; among equals the earlier one. */
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
			set_form(&m->form, &c->map[i].to, "dns64.map");
		m->well_known = !m->none && embed_is_well_known(&m->form);
	}
}

/* Clients are the hosts of our own networks, unless the configuration names them. */
static void set_clients(const struct gw *gw, struct dns64 *d)
{
	const struct dns64_config *c = dns64_config(gw->config);
	d->n_clients = c->n_client;
	memcpy(d->client, c->client, sizeof d->client);
	d->n_skip_clients = c->n_skip_client;
	memcpy(d->skip_client, c->skip_client, sizeof d->skip_client);
	if (d->n_clients)
		return;
	d->own_clients = true;
	_Static_assert(DNS64_CLIENTS >= 2 * INTERFACES * NET_ADDRESSES, "room for all");
	for (uint32_t i = 0; i < INTERFACES; i++)
		for (uint32_t k = 0; k < net_config(gw->config)->iface[i].n_address; k++)
			d->client[d->n_clients++] = net_config(gw->config)->iface[i].address[k];
}

static const char *set_skip_names(struct dns64 *d, const struct dns64_config *c)
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

const char *dns64_set_up(struct gw *gw, struct dns64 *d)
{
	const struct dns64_config *c = dns64_config(gw->config);
	set_prefixes(d, c);
	set_maps(d, c);
	set_clients(gw, d);
	d->always = c->always;
	d->reverse = c->reverse;
	d->servfail = c->on_error == DNS64_SERVFAIL;
	d->debug = c->debugging;
	d->stale_s = c->stale_ms / 1000;
	d->rate = c->rate;
	d->patience_us = min_u32(PATIENCE_US / 1000, c->timeout_ms) * 1000;
	d->size_max = c->has_max_length ? max_u32(c->max_length, DNS_PLAIN) : DNS64_EDNS_SIZE;
	if (c->has_threads)
		log_line("num-threads: not needed, there are no threads to wait for");
	if (c->has_max_length && c->max_length < DNS_PLAIN)
		log_line("response-maxlength: %u counts as %u", c->max_length, DNS_PLAIN);
	return set_skip_names(d, c);
}
