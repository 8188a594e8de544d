/* Listings of the gateway for people: one line for each call, so that the console can print a few
 * lines at a time. See gw.h. */
#include "net/gw.h"

#include "kernel/lib/fmt.h"
#include "net/autoconf/autoconf.h"
#include "net/dhcp/dhcp_client.h"
#include "net/dhcp6/dhcp6_client.h"
#include "net/sntp/sntp.h"
#include "net/export/export.h"
#include "net/dhcps/dhcps.h"
#include "net/stats/count.h"
#include "net/stats/drop_text.h"
#include "net/tcp/tcp.h"

static const char *iface_name(const struct gw *gw, uint32_t iface)
{
	return iface < INTERFACES ? gw->iface[iface].name : iface == IF_APP ? "app" : "self";
}

/* Four counters of each interface, in the order of the names. */
static void iface_line(const struct gw *gw, uint32_t i, char *buf, size_t size)
{
	static const char *const name[] = {"rx_packets", "rx_bytes", "tx_packets", "tx_bytes"};
	const struct interface *p = &gw->iface[i / 4];
	const uint64_t value[] = {p->rx_packets, p->rx_bytes, p->tx_packets + p->sent,
	                          p->tx_bytes + p->sent_bytes};
	fmt(buf, size, "%s{if=\"%s\"} %llu", name[i % 4], p->name,
	    (unsigned long long)value[i % 4]);
}

static uint64_t packets_free(const void *gw)
{
	return ((const struct gw *)gw)->pool->n_free;
}

static uint64_t packets_kept(const void *gw)
{
	return ((const struct gw *)gw)->pool->kept;
}

static uint64_t uptime(const void *gw)
{
	return ((const struct gw *)gw)->clock.us / 1000000;
}

static uint64_t packets_kept_most(const void *gw)
{
	return ((const struct gw *)gw)->pool->kept_max;
}

static const struct count count[] = {
        COUNT(struct gw, "forwarded_packets", counts.forwarded),
        COUNT(struct gw, "hairpinned_packets", counts.hairpinned),
        COUNT(struct gw, "icmp_errors_sent", counts.icmp_errors),
        COUNT(struct gw, "icmp_errors_suppressed", counts.icmp_suppressed),
        COUNT(struct gw, "neighbours_evicted", neigh.evicted),
        COUNT_OF("packets_free", packets_free),
        COUNT_FILL_OF("packets_kept", packets_kept, packets_kept_most),
        COUNT_OF("uptime_seconds", uptime),
};

static const void *self(const struct gw *gw)
{
	return gw;
}

static const struct count_table counts = COUNT_TABLE(count, self);

bool gw_show_stats(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	uint32_t i = (*cursor)++;
	if (i < gw->n_iface * 4) {
		iface_line(gw, i, buf, size);
		return true;
	}
	i -= gw->n_iface * 4;
	if (count_show(gw, &counts, &i, buf, size) ||
	    count_show(gw, &autoconf_counts, &i, buf, size) ||
	    count_show(gw, &dhcp_counts, &i, buf, size) ||
	    count_show(gw, &dhcps_counts, &i, buf, size) ||
	    count_show(gw, &dhcp6_counts, &i, buf, size) ||
	    count_show(gw, &sntp_counts, &i, buf, size) ||
	    count_show(gw, &export_counts, &i, buf, size))
		return true;
	if (i < DROP_COUNT - 1) {
		fmt(buf, size, "drop{reason=\"%s\"} %llu", drop_label((enum drop)(i + 1)),
		    (unsigned long long)gw->counts.drops[i + 1]);
		return true;
	}
	i -= DROP_COUNT - 1;
	if (count_show(gw, &tcp_counts, &i, buf, size))
		return true;
	for (uint32_t k = 0; k < FORWARDER_COUNTS && gw->forwarder->counts[k]; k++)
		if (count_show(gw, gw->forwarder->counts[k], &i, buf, size))
			return true;
	for (uint32_t n = 0; n < SERVICES_MAX; n++)
		for (uint32_t k = 0; gw->service[n] && k < SERVICE_COUNTS; k++)
			if (gw->service[n]->counts[k] &&
			    count_show(gw, gw->service[n]->counts[k], &i, buf, size))
				return true;
	return false;
}

bool gw_show_fill(const struct gw *gw, uint32_t i, struct count_fill *out)
{
	for (uint32_t k = 0; k < FORWARDER_COUNTS && gw->forwarder->counts[k]; k++)
		if (count_fill(gw, gw->forwarder->counts[k], &i, out))
			return true;
	for (uint32_t n = 0; n < SERVICES_MAX; n++)
		for (uint32_t k = 0; gw->service[n] && k < SERVICE_COUNTS; k++)
			if (gw->service[n]->counts[k] &&
			    count_fill(gw, gw->service[n]->counts[k], &i, out))
				return true;
	return count_fill(gw, &tcp_counts, &i, out) || count_fill(gw, &counts, &i, out) ||
	       count_fill(gw, &autoconf_counts, &i, out) || count_fill(gw, &dhcps_counts, &i, out);
}

/* A listing of the forwarder, then of the services. The upper bits of the cursor say whose turn it
 * is, the others are that one's own cursor. */
#define OWN_CURSOR 0x07ffffffu

static bool show_listing(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
{
	for (uint32_t who = *cursor / (OWN_CURSOR + 1); who <= SERVICES_MAX; who++) {
		uint32_t own = *cursor & OWN_CURSOR;
		const struct service *s = who ? gw->service[who - 1] : NULL;
		bool (*show)(struct gw *, enum listing, uint32_t *, char *, size_t) =
		        who == 0 ? gw->forwarder->show
		        : s      ? s->show
		                 : NULL;
		bool more = show && show(gw, what, &own, buf, size);
		*cursor = more ? who * (OWN_CURSOR + 1) + own : (who + 1) * (OWN_CURSOR + 1);
		if (more)
			return true;
	}
	return false;
}

bool gw_show_sessions(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	return show_listing(gw, SHOW_SESSIONS, cursor, buf, size);
}

bool gw_show_timings(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	return show_listing(gw, SHOW_TIMINGS, cursor, buf, size);
}

bool gw_show_address(const struct interface *iface, uint32_t i, char *buf, size_t size)
{
	static const char *const state[] = {
	        [ADDRESS6_TENTATIVE] = "(tentative)",
	        [ADDRESS6_VALID] = "",
	        [ADDRESS6_DUPLICATE] = "(duplicate)",
	};
	char text[FMT_IP6];
	buf[0] = '\0';
	if (i < iface->n_addr) {
		fmt(buf, size, "%s/%u", fmt_ip4(text, iface->addr[i].addr), iface->addr[i].len);
		return true;
	}
	i -= iface->n_addr;
	if (i >= iface->n_addr6)
		return false;
	const struct address6 *a = &iface->addr6[i];
	fmt(buf, size, "%s/%u%s%s", fmt_ip6(text, &a->addr), a->len, state[a->state],
	    a->deprecated ? "(deprecated)" : "");
	return true;
}

size_t gw_show_addresses(const struct interface *iface, char *buf, size_t size)
{
	char text[GW_ADDRESS];
	size_t n = 0;
	buf[0] = '\0';
	for (uint32_t i = 0; gw_show_address(iface, i, text, sizeof text); i++)
		n += fmt(buf + n, size - n, "%s%s", i ? " " : "", text);
	return n;
}

static void route6_line(const struct gw *gw, const struct route6 *r, char *buf, size_t size)
{
	static const char *const side[] = {[IF_APP] = "app", [IF_NONE] = "none"};
	char net[FMT_IP6], via[FMT_IP6];
	ip6 a;
	_Static_assert(sizeof a == sizeof r->net, "an address");
	memcpy(&a, r->net, sizeof a);
	fmt_ip6(net, &a);
	const char *to = r->iface < INTERFACES ? gw->iface[r->iface].name : side[r->iface];
	if (r->hop)
		fmt(buf, size, "%s/%u via %s %s", net, r->len, fmt_ip6(via, &r->via), to);
	else
		fmt(buf, size, "%s/%u %s", net, r->len, to);
}

bool gw_show_routes(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	uint32_t i = (*cursor)++;
	if (i >= gw->routes4.n + gw->routes6.n)
		return false;
	if (i >= gw->routes4.n) {
		route6_line(gw, &gw->routes6.entry[i - gw->routes4.n], buf, size);
		return true;
	}
	const struct route4 *r = &gw->routes4.entry[i];
	char net[FMT_IP4], via[FMT_IP4];
	fmt_ip4(net, ip4_of(r->net));
	if (r->via)
		fmt(buf, size, "%s/%u via %s %s", net, r->len, fmt_ip4(via, ip4_from_raw(r->via)),
		    iface_name(gw, r->iface));
	else
		fmt(buf, size, "%s/%u %s", net, r->len, iface_name(gw, r->iface));
	return true;
}

bool gw_show_neighbours(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	static const char *const state[] = {
	        [NEIGH_FREE] = "free",       [NEIGH_ASKING] = "asking",
	        [NEIGH_FAILED] = "failed",   [NEIGH_REACHABLE] = "reachable",
	        [NEIGH_STALE] = "stale",     [NEIGH_DELAY] = "delay",
	        [NEIGH_PROBING] = "probing", [NEIGH_STATIC] = "static",
	};
	while (*cursor < NEIGH_SETS * NEIGH_WAYS) {
		const struct neigh *n =
		        &gw->neigh.entry[*cursor / NEIGH_WAYS][*cursor % NEIGH_WAYS];
		(*cursor)++;
		if (n->state == NEIGH_FREE)
			continue;
		char addr[FMT_IP6], hw[FMT_MAC];
		if (n->is6)
			fmt_ip6(addr, (const ip6 *)n->key);
		else
			fmt_ip4(addr, ip4_from_raw(n->key[3]));
		fmt(buf, size, "%s %s %s %s waiting=%u", addr, iface_name(gw, n->iface),
		    neigh_usable(n) ? fmt_mac(hw, &n->eth.to) : "-", state[n->state], n->n_parked);
		return true;
	}
	return false;
}

/* The next entry of the list of drops, and the begin of its line in buf; NULL behind the last. *n
 * is set to the length of that text. */
static const struct drop_log_entry *next_drop(struct gw *gw, uint32_t *cursor, char *buf,
                                              size_t size, size_t *n)
{
	uint64_t have = gw->drop_log.n < DROP_LOG_ENTRIES ? gw->drop_log.n : DROP_LOG_ENTRIES;
	if (*cursor >= have)
		return NULL;
	const struct drop_log_entry *e =
	        &gw->drop_log.entry[(gw->drop_log.n - have + (*cursor)++) % DROP_LOG_ENTRIES];
	uint32_t ms = (uint32_t)(e->at_us / 1000 % 1000);
	*n = fmt(buf, size, "%llu.%03u %s %s %u bytes:", (unsigned long long)(e->at_us / 1000000),
	         ms, drop_label(e->reason), iface_name(gw, e->iface), e->len);
	return e;
}

/* True when the bytes of an entry begin with an Ethernet header. A packet of our own has one once
 * it is ready to be sent: then it comes from an address of ours. */
static bool has_ethernet(const struct gw *gw, const struct drop_log_entry *e)
{
	if (e->frame)
		return true;
	const struct eth_hdr *h = (const struct eth_hdr *)(const void *)e->bytes;
	for (uint32_t i = 0; i < INTERFACES && e->n >= sizeof *h; i++)
		if (gw->iface[i].present && mac_eq(&h->from, &gw->iface[i].address))
			return true;
	return false;
}

bool gw_show_drops(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	size_t n;
	const struct drop_log_entry *e = next_drop(gw, cursor, buf, size, &n);
	char text[DROP_TEXT];
	if (!e)
		return false;
	drop_text(e->bytes, e->n, has_ethernet(gw, e), text, sizeof text);
	fmt(buf + n, size - n, " %s; %s", text, drop_meaning(e->reason));
	return true;
}

bool gw_show_drops_raw(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	size_t n;
	const struct drop_log_entry *e = next_drop(gw, cursor, buf, size, &n);
	if (!e)
		return false;
	for (uint32_t i = 0; i < e->n && n + 4 < size; i++)
		n += fmt(buf + n, size - n, "%s%02x", i % 4 ? "" : " ", e->bytes[i]);
	return true;
}
