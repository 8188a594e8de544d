/* The client's lines in listings, and its counters. See dhcp_client.h. */
#include "kernel/lib/fmt.h"
#include "net/dhcp/dhcp_client.h"

#define SECONDS 16u

static const char *seconds(char buf[SECONDS], uint64_t now, uint64_t until_us)
{
	if (until_us == UINT64_MAX)
		return "for ever";
	fmt(buf, SECONDS, "%u s", until_us > now ? (uint32_t)((until_us - now) / 1000000) : 0);
	return buf;
}

static const char *state_of(const struct dhcp_client *c)
{
	static const char *const name[] = {
	        [DHCP_OFF] = "off",
	        [DHCP_INIT] = "init",
	        [DHCP_SELECTING] = "selecting",
	        [DHCP_REQUESTING] = "requesting",
	        [DHCP_PROBING] = "probing",
	        [DHCP_REBOOTING] = "rebooting",
	        [DHCP_BOUND] = "bound",
	        [DHCP_RENEWING] = "renewing",
	        [DHCP_REBINDING] = "rebinding",
	        [DHCP_RELEASED] = "released",
	};
	return name[c->state];
}

bool dhcp_show_leases(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	const struct dhcp_client *c = &gw->dhcp;
	const struct dhcp_lease *l = &c->lease;
	char text[FMT_IP4], server[FMT_IP4], left[SECONDS], t1[SECONDS], t2[SECONDS];
	uint64_t now = gw->clock.us;
	if ((*cursor)++ > 0 || c->state == DHCP_OFF)
		return false;
	size_t n = fmt(buf, size, "wan dhcp %s", state_of(c));
	if (c->in_force)
		fmt(buf + n, size - n, ", %s/%u from %s, valid %s, renewal %s, rebinding %s",
		    fmt_ip4(text, l->addr), l->len, fmt_ip4(server, l->server),
		    seconds(left, now, c->end_us), seconds(t1, now, c->t1_us),
		    seconds(t2, now, c->t2_us));
	return true;
}

void dhcp_show_origin(const struct gw *gw, ip4 own, char *buf, size_t size)
{
	const struct dhcp_client *c = &gw->dhcp;
	char server[FMT_IP4], left[SECONDS];
	buf[0] = '\0';
	if (c->in_force && ip4_eq(own, c->lease.addr))
		fmt(buf, size, " valid from %s, valid %s", fmt_ip4(server, c->lease.server),
		    seconds(left, gw->clock.us, c->end_us));
}

bool dhcp_show_server(const struct gw *gw, uint32_t i, char *buf, size_t size)
{
	const struct dhcp_client *c = &gw->dhcp;
	char text[FMT_IP4], left[SECONDS];
	if (!c->in_force || i >= c->lease.n_dns)
		return false;
	fmt(buf, size, "wan nameserver %s %s", fmt_ip4(text, c->lease.dns[i]),
	    seconds(left, gw->clock.us, c->end_us));
	return true;
}

/* --- counters ------------------------------------------------------------------------------------
 */

static const struct count count[] = {
        COUNT(struct dhcp_client, "dhcp_sent", sent),
        COUNT(struct dhcp_client, "dhcp_taken", taken),
        COUNT(struct dhcp_client, "dhcp_refused", refused),
        COUNT(struct dhcp_client, "dhcp_declined", declined),
        COUNT(struct dhcp_client, "dhcp_leases_begun", leases),
        COUNT(struct dhcp_client, "dhcp_leases_ended", expired),
};

static const void *state(const struct gw *gw)
{
	return &gw->dhcp;
}

const struct count_table dhcp_counts = COUNT_TABLE(count, state);
