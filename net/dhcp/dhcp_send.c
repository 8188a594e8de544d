/* See dhcp_send.h. */
#include "net/dhcp/dhcp_send.h"

#include "net/dhcp/dhcp_frame.h"
#include "net/dhcp/dhcp_keys.h"
#include "net/udp/udp.h"

/* What we ask for; the same every time (RFC 2131 section 3.5). Classless routes are in front of the
 * routes that they replace (RFC 3442). */
static const uint8_t parameters[] = {
        DHCP_MASK, DHCP_CLASSLESS, DHCP_ROUTER, DHCP_STATIC_ROUTES, DHCP_DNS, DHCP_DOMAIN, DHCP_MTU,
        DHCP_NTP,  DHCP_T1,        DHCP_T2,     DHCP_6RD,
};

uint32_t dhcp_send_client_id(const struct gw *gw, uint8_t out[DHCP_CLIENT_ID_MAX])
{
	/* 255, IAID, DUID-LL (RFC 8415 section 11.4): type 3, hardware type 1. There is no memory
	 * for a DUID that is drawn. */
	static const uint8_t duid[] = {255, 0, 0, 0, IF_WAN, 0, 3, 0, 1};
	const mac *own = &gw->iface[IF_WAN].address;
	if (dhcp_config(gw->config)->client_id == DHCP_ID_MAC) {
		out[0] = 1;
		memcpy(out + 1, own, sizeof *own);
		return 1 + sizeof *own;
	}
	memcpy(out, duid, sizeof duid);
	memcpy(out + sizeof duid, own, sizeof *own);
	return sizeof duid + sizeof *own;
}

/* False when an option has no room, which does not happen. */
static bool put_options(const struct gw *gw, struct dhcp_build *b, enum dhcp_type type,
                        const struct dhcp_say *say)
{
	uint8_t id[DHCP_CLIENT_ID_MAX];
	bool asks = type == DHCP_DISCOVER || type == DHCP_REQUEST;
	bool good = dhcp_build_put(b, DHCP_CLIENT_ID, id, dhcp_send_client_id(gw, id));
	if (ip4_raw(say->address))
		good &= dhcp_build_put_ip4(b, DHCP_ADDRESS, say->address);
	if (ip4_raw(say->server_id))
		good &= dhcp_build_put_ip4(b, DHCP_SERVER_ID, say->server_id);
	if (say->why)
		good &= dhcp_build_put(b, DHCP_MESSAGE, say->why, (uint32_t)strlen(say->why));
	if (asks)
		good &= dhcp_build_put16(b, DHCP_MAX_SIZE, (uint16_t)NET_MTU) &&
		        dhcp_build_put(b, DHCP_PARAMETERS, parameters, sizeof parameters);
	return good;
}

/* The message as the data of a packet; NULL, and counted, when there is none. */
static struct pkt *build(struct gw *gw, enum dhcp_type type, const struct dhcp_say *say)
{
	const struct dhcp_client *c = &gw->dhcp;
	struct pkt *p = pkt_alloc(gw->pool);
	uint8_t *data = p ? pkt_put(p, DHCP_LEN_ALWAYS) : NULL;
	struct dhcp_build b;
	if (!data) {
		gw->counts.drops[DROP_NO_PACKET]++;
		if (p)
			pkt_free(p);
		return NULL;
	}
	p->iface = PKT_IF_SELF;
	struct dhcp_hdr *h =
	        dhcp_build_start(&b, data, DHCP_LEN_ALWAYS, DHCP_BOOTREQUEST, type, false);
	h->xid = be32_of(c->xid);
	h->secs = be16_of(
	        (uint16_t)min_u32((uint32_t)((gw->clock.us - c->begun_us) / 1000000), UINT16_MAX));
	h->ciaddr = say->ciaddr;
	h->chaddr = gw->iface[IF_WAN].address;
	if (!put_options(gw, &b, type, say)) {
		pkt_free(p);
		return NULL;
	}
	pkt_trim(p, dhcp_build_end(&b));
	return p;
}

void dhcp_send(struct gw *gw, enum dhcp_type type, const struct dhcp_say *say)
{
	const struct udp_ends ends = {.local = {.v4 = say->ciaddr},
	                              .remote = {.v4 = say->to},
	                              .local_port = DHCP_CLIENT_PORT,
	                              .remote_port = DHCP_SERVER_PORT,
	                              .iface = PKT_IF_SELF};
	if (!gw->iface[IF_WAN].carrier)
		return;
	struct pkt *p = build(gw, type, say);
	if (!p)
		return;
	gw->dhcp.sent++;
	if (ip4_raw(say->to) && !say->station) {
		udp_send(gw, p, &ends);
		return;
	}
	if (say->station) {
		dhcp_frame_send(gw, IF_WAN, p, say->station, say->ciaddr, say->to, DHCP_CLIENT_PORT,
		                DHCP_SERVER_PORT);
		return;
	}
	/* The IP path needs an address and a route, which there may not be. */
	dhcp_frame_send(gw, IF_WAN, p, &dhcp_frame_all, say->ciaddr, ip4_of(0xffffffff),
	                DHCP_CLIENT_PORT, DHCP_SERVER_PORT);
}
