/* Counters and listing of the service `pcp`. See pcp.h. */
#include "kernel/lib/fmt.h"
#include "kernel/lib/when.h"

#include "apps/pcp/pcp.h"
#include "net/stats/count.h"

static uint64_t table_size(const void *of)
{
	return ((const struct pcp *)of)->most;
}

#define ANSWERS(word, result) COUNT(struct pcp, "pcp_answers{result=\"" word "\"}", answers[result])

static const struct count count[] = {
        COUNT_FILL(struct pcp, "pcp_mappings", n, table_size),
        COUNT(struct pcp, "pcp_requests", requests),
        ANSWERS("success", PCP_SUCCESS),
        ANSWERS("version", PCP_UNSUPP_VERSION),
        ANSWERS("not-authorized", PCP_NOT_AUTHORIZED),
        ANSWERS("malformed-request", PCP_MALFORMED_REQUEST),
        ANSWERS("opcode", PCP_UNSUPP_OPCODE),
        ANSWERS("option", PCP_UNSUPP_OPTION),
        ANSWERS("malformed-option", PCP_MALFORMED_OPTION),
        ANSWERS("network-failure", PCP_NETWORK_FAILURE),
        ANSWERS("no-resources", PCP_NO_RESOURCES),
        ANSWERS("protocol", PCP_UNSUPP_PROTOCOL),
        ANSWERS("quota", PCP_USER_EX_QUOTA),
        ANSWERS("external", PCP_CANNOT_PROVIDE_EXTERNAL),
        ANSWERS("address", PCP_ADDRESS_MISMATCH),
        COUNT(struct pcp, "pcp_expired", expired),
        COUNT(struct pcp, "pcp_leases_over", unleased),
        COUNT(struct pcp, "pcp_announcements", announcements),
};

static const void *state(const struct gw *gw)
{
	return pcp_of(gw);
}

const struct count_table pcp_counts = COUNT_TABLE(count, state);

static void write_entry(const struct gw *gw, const struct pcp_entry *e, char *buf, size_t size)
{
	char in[FMT_IP6], ext[FMT_IP4], rem[FMT_IP4];
	const char *proto = e->proto == NAT_UDP ? "udp" : "tcp", *by = e->pmp ? "nat-pmp" : "pcp";
	uint32_t left_s = when_left(gw->clock.s, e->until_s, PCP_LONGEST_S), port = swap16(e->port);
	if (e->host.is6)
		fmt_ip6(in, &e->host.v6);
	else
		fmt_ip4(in, e->host.v4);
	const char *open = e->host.is6 ? "[" : "", *shut = e->host.is6 ? "]" : "";
	if (e->is_peer) {
		fmt(buf, size, "%s %s%s%s:%u %s:%u %s-peer expires=%u", proto, open, in, shut, port,
		    fmt_ip4(rem, ip4_from_raw(e->rem_ip)), swap16(e->rem_port), by, left_s);
		return;
	}
	const struct nat_mapping *m = &nat_of(gw)->table.mapping[e->mapping];
	fmt(buf, size, "%s %s%s%s:%u %s:%u any %s expires=%u", proto, open, in, shut, port,
	    fmt_ip4(ext, ip4_from_raw(m->ext_ip)), swap16(m->ext_port), by, left_s);
}

bool pcp_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
{
	const struct pcp *c = pcp_of(gw);
	if (what != SHOW_SESSIONS || !c)
		return false;
	buf[0] = 0;
	for (uint32_t looked = 0; *cursor < c->fresh; looked++) {
		if (looked == 256)
			return true; /* the next call goes on from here */
		const struct pcp_entry *e = &c->entry[(*cursor)++];
		if (!e->used)
			continue;
		write_entry(gw, e, buf, size);
		return true;
	}
	return false;
}
