/* NAT-PMP (RFC 6886 section 3): requests of 2 and 12 bytes, of hosts with IPv4. See pcp.h. */
#include "apps/pcp/pcp.h"

#define REQUEST 12u

enum { OPCODE_ADDRESS, OPCODE_UDP, OPCODE_TCP };
/* Section 3.5. The first three are those of PCP. */
enum { NATPMP_NETWORK_FAILURE = 3, NATPMP_NO_RESOURCES = 4, NATPMP_UNSUPP_OPCODE = 5 };

/* Writes the first 8 bytes of an answer. */
static void write_head(const struct gw *gw, const struct pcp *c, uint8_t *out, uint8_t opcode,
                       uint32_t result)
{
	out[0] = 0;
	out[1] = opcode | 0x80;
	store16(out + 2, swap16((uint16_t)result));
	store32(out + 4, swap32(pcp_epoch(gw, c)));
}

void pcp_natpmp_address(const struct gw *gw, const struct pcp *c, const struct addr *host,
                        uint8_t out[12])
{
	const struct nat_table *t = &nat_of(gw)->table;
	uint32_t external = host && !host->is6 ? nat_external_for(t, ip4_raw(host->v4)) : 0;
	uint32_t ip = t->external[external].ip;
	write_head(gw, c, out, OPCODE_ADDRESS, ip ? 0 : NATPMP_NETWORK_FAILURE);
	store32(out + 8, ip);
}

static uint32_t result_of(enum pcp_result r)
{
	switch (r) {
	case PCP_SUCCESS:
		return 0;
	case PCP_NOT_AUTHORIZED:
		return PCP_NOT_AUTHORIZED;
	case PCP_NETWORK_FAILURE:
		return NATPMP_NETWORK_FAILURE;
	default:
		return NATPMP_NO_RESOURCES;
	}
}

/* Maps a port, or deletes: port 0 stands for all of the protocol (section 3.4). */
static void map(struct gw *gw, struct pcp *c, const uint8_t *in, const struct udp_ends *ends,
                uint32_t client, uint8_t out[16])
{
	struct pcp_ask ask = {.host = ends->remote,
	                      .client = client,
	                      .link = ends->iface,
	                      .proto = in[1] == OPCODE_UDP ? NAT_UDP : NAT_TCP,
	                      .port = load16(in + 4),
	                      .suggested = load16(in + 6),
	                      .lifetime_s = swap32(load32(in + 8)),
	                      .pmp = true};
	struct pcp_given g = {.result = PCP_NOT_AUTHORIZED};
	if (ask.port != 0)
		g = pcp_map(gw, c, &ask);
	else if (ask.lifetime_s == 0)
		g.result = pcp_map_all(gw, c, &ask);
	bool gives = g.result == PCP_SUCCESS && ask.lifetime_s != 0;
	write_head(gw, c, out, in[1], result_of(g.result));
	store16(out + 8, ask.port);
	store16(out + 10, gives ? g.ext_port : 0);
	store32(out + 12, gives ? swap32(g.lifetime_s) : 0);
	c->answers[g.result]++;
}

enum verdict pcp_natpmp(struct gw *gw, struct pcp *c, struct pkt *p, const struct udp_ends *ends,
                        uint32_t client)
{
	uint8_t out[16], opcode = p->data[1];
	uint32_t len = 8;
	if (ends->remote.is6) /* it has IPv4 addresses only */
		return gw_drop(gw, p, DROP_PCP_MESSAGE);
	if (opcode == OPCODE_ADDRESS) {
		pcp_natpmp_address(gw, c, &ends->remote, out);
		c->answers[PCP_SUCCESS]++;
		len = 12;
	} else if (opcode == OPCODE_UDP || opcode == OPCODE_TCP) {
		if (p->len < REQUEST)
			return gw_drop(gw, p, DROP_PCP_MESSAGE);
		map(gw, c, p->data, ends, client, out);
		len = 16;
	} else {
		write_head(gw, c, out, opcode, NATPMP_UNSUPP_OPCODE);
		c->answers[PCP_UNSUPP_OPCODE]++;
	}
	pkt_trim(p, 0);
	uint8_t *to = pkt_put(p, len);
	if (!to)
		return gw_drop(gw, p, DROP_NO_PACKET);
	memcpy(to, out, len);
	udp_send(gw, p, ends);
	return V_KEPT;
}
