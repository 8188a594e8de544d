/* Lines in listings, and counters. See dhcp6_client.h. */
#include "kernel/lib/fmt.h"
#include "net/dhcps/dhcps.h"
#include "net/dhcp6/dhcp6_client.h"

#define SECONDS 16u

static const char *seconds(char buf[SECONDS], uint64_t now, uint64_t until_us)
{
	if (until_us == UINT64_MAX)
		return "for ever";
	fmt(buf, SECONDS, "%u s", until_us > now ? (uint32_t)((until_us - now) / 1000000) : 0);
	return buf;
}

static const char *state_of(const struct dhcp6_client *c)
{
	static const char *const name[] = {
	        [DHCP6_OFF] = "off",
	        [DHCP6_IDLE] = "idle",
	        [DHCP6_SOLICITING] = "soliciting",
	        [DHCP6_REQUESTING] = "requesting",
	        [DHCP6_BOUND] = "bound",
	        [DHCP6_RENEWING] = "renewing",
	        [DHCP6_REBINDING] = "rebinding",
	        [DHCP6_CONFIRMING] = "confirming",
	        [DHCP6_DECLINING] = "declining",
	        [DHCP6_INFORMING] = "informing",
	        [DHCP6_INFORMED] = "informed",
	        [DHCP6_RELEASING] = "releasing",
	        [DHCP6_RELEASED] = "released",
	};
	return name[c->state];
}

/* The i-th lease; NULL when there are not so many. */
static const struct dhcp6_held *lease(const struct dhcp6_client *c, uint32_t i, bool *prefix)
{
	*prefix = i >= c->bound[DHCP6_NA].n;
	if (*prefix)
		i -= c->bound[DHCP6_NA].n;
	const struct dhcp6_binding *b = &c->bound[*prefix ? DHCP6_PD : DHCP6_NA];
	return i < b->n ? &b->held[i] : NULL;
}

static void client_line(const struct gw *gw, char *buf, size_t size)
{
	const struct dhcp6_client *c = &gw->dhcp6;
	char t1[SECONDS], t2[SECONDS];
	size_t n = fmt(buf, size, "wan dhcp6 %s", state_of(c));
	if (c->bound[DHCP6_NA].n || c->bound[DHCP6_PD].n)
		fmt(buf + n, size - n, ", renewal %s, rebinding %s",
		    seconds(t1, gw->clock.us, c->t1_us), seconds(t2, gw->clock.us, c->t2_us));
}

#define OURS 0x80000000u /* cursors from here on are of DHCPv6 */

bool dhcp6_show_leases(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	const struct dhcp6_client *c = &gw->dhcp6;
	char text[FMT_IP6], valid[SECONDS], preferred[SECONDS];
	bool prefix;
	if (*cursor < OURS && dhcps_show_leases(gw, cursor, buf, size))
		return true;
	*cursor = max_u32(*cursor, OURS);
	uint32_t i = (*cursor)++ - OURS;
	if (c->state <= DHCP6_IDLE)
		return false;
	if (i == 0) {
		client_line(gw, buf, size);
		return true;
	}
	const struct dhcp6_held *h = lease(c, i - 1, &prefix);
	if (!h)
		return false;
	fmt(buf, size, "wan dhcp6 %s %s/%u, valid %s, preferred %s", prefix ? "prefix" : "address",
	    fmt_ip6(text, &h->addr), h->len, seconds(valid, gw->clock.us, h->valid_us),
	    seconds(preferred, gw->clock.us, h->preferred_us));
	return true;
}

void dhcp6_show_origin(const struct gw *gw, const ip6 *own, char *buf, size_t size)
{
	const struct dhcp6_client *c = &gw->dhcp6;
	char valid[SECONDS], preferred[SECONDS];
	bool prefix;
	const struct dhcp6_held *h;
	buf[0] = '\0';
	for (uint32_t i = 0; (h = lease(c, i, &prefix)); i++)
		if (addr_in6(own, &h->addr, h->len)) {
			fmt(buf, size, " from DHCPv6, valid %s, preferred %s",
			    seconds(valid, gw->clock.us, h->valid_us),
			    seconds(preferred, gw->clock.us, h->preferred_us));
			return;
		}
}

bool dhcp6_show_server(const struct gw *gw, uint32_t i, char *buf, size_t size)
{
	char text[FMT_IP6];
	if (i >= gw->dhcp6.n_dns)
		return false;
	fmt(buf, size, "wan nameserver %s from DHCPv6", fmt_ip6(text, &gw->dhcp6.dns[i]));
	return true;
}

/* --- counters -----------------------------------------------------------------------------------
 */

static const struct count count[] = {
        COUNT(struct gw, "dhcp6_sent", dhcp6.sent),
        COUNT(struct gw, "dhcp6_taken", dhcp6.taken),
        COUNT(struct gw, "dhcp6_refused", dhcp6.refused),
        COUNT(struct gw, "dhcp6_declined", dhcp6.declines),
        COUNT(struct gw, "dhcp6_prefixes", dhcp6.bound[DHCP6_PD].n),
        COUNT(struct gw, "dhcp6_answered", dhcp6_server.answered),
};

static const void *state(const struct gw *gw)
{
	return gw;
}

const struct count_table dhcp6_counts = COUNT_TABLE(count, state);
