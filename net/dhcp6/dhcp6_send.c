/* See dhcp6_send.h. */
#include "net/dhcp6/dhcp6_send.h"

#include "net/dhcp6/dhcp6_answer.h"
#include "net/dhcp6/dhcp6_keys.h"
#include "net/ip6/ip6.h"

#define ROOM 600u /* for the largest message: two server identifiers and eight leases */

/* --- datagrams ----------------------------------------------------------------------------------
 */

void dhcp6_send_bytes(struct gw *gw, uint32_t iface, const ip6 *to, uint16_t from_port,
                      uint16_t to_port, const uint8_t *data, uint32_t len)
{
	const struct interface *at = &gw->iface[iface];
	struct pkt *p = pkt_alloc(gw->pool);
	uint32_t all = IP6_MIN + (uint32_t)sizeof(struct udp_hdr) + len;
	uint8_t *start = p ? pkt_put(p, all) : NULL;
	if (!start) {
		gw->counts.drops[DROP_NO_PACKET]++;
		if (p)
			pkt_free(p);
		return;
	}
	p->iface = PKT_IF_SELF;
	struct udp_hdr *udp = (struct udp_hdr *)(start + IP6_MIN);
	*udp = (struct udp_hdr){.from = be16_of(from_port),
	                        .to = be16_of(to_port),
	                        .len = be16_of((uint16_t)(sizeof *udp + len))};
	memcpy(udp + 1, data, len);
	ip6_build(p, &at->addr6[0].addr, to, PROTO_UDP, 1);
	ip6_sum(p, offsetof(struct udp_hdr, sum));
	if (ip6_is_group(to)) {
		ip6_send_group(gw, iface, p);
		return;
	}
	ip6_to_link(p, iface);
	gw_send6(gw, p);
}

/* --- options ------------------------------------------------------------------------------------
 */

static void put_lease(struct dhcp6_build *b, enum dhcp6_ia ia, const ip6 *addr, uint8_t len)
{
	uint8_t value[25] = {0}; /* both lifetimes are 0: the server decides */
	if (ia == DHCP6_NA) {
		memcpy(value, addr, sizeof *addr);
		dhcp6_build_put(b, DHCP6_IA_ADDRESS, value, 24);
		return;
	}
	value[8] = len;
	memcpy(value + 9, addr, sizeof *addr);
	dhcp6_build_put(b, DHCP6_IA_PREFIX, value, 25);
}

/* The leases that a message names: those that we have, or were offered; of a prefix the length that
 * we want (section 18.2.4 and 18.2.1). */
static void put_leases(const struct gw *gw, struct dhcp6_build *b, enum dhcp6_ia ia)
{
	static const ip6 none;
	const struct dhcp6_client *c = &gw->dhcp6;
	const struct dhcp6_binding *had =
	        c->state == DHCP6_RELEASING ? &c->given_back[ia] : &c->bound[ia];
	const struct dhcp6_ia_answer *offer = &c->offer.ia[ia];
	if (c->state == DHCP6_DECLINING) {
		put_lease(b, ia, &c->declined.addr, c->declined.len);
		return;
	}
	for (uint32_t i = 0; i < had->n; i++)
		put_lease(b, ia, &had->held[i].addr, had->held[i].len);
	for (uint32_t i = 0; c->state == DHCP6_REQUESTING && had->n == 0 && i < offer->n; i++)
		put_lease(b, ia, &offer->lease[i].addr, offer->lease[i].len);
	if (ia == DHCP6_PD && had->n == 0 && (c->state != DHCP6_REQUESTING || offer->n == 0))
		put_lease(b, ia, &none, (uint8_t)dhcp6_config(gw->config)->prefix_length);
}

/* T1 and T2 are 0: the server decides (sections 21.4 and 21.21). */
static void put_ia(const struct gw *gw, struct dhcp6_build *b, enum dhcp6_ia ia)
{
	uint8_t head[12] = {0};
	store32(head, swap32(DHCP6_IAID));
	uint32_t at =
	        dhcp6_build_open(b, ia == DHCP6_PD ? DHCP6_IA_PD : DHCP6_IA_NA, head, sizeof head);
	put_leases(gw, b, ia);
	dhcp6_build_close(b, at);
}

/* Section 21.9: in hundredths of a second. */
static uint16_t elapsed(const struct gw *gw)
{
	uint64_t since = gw->clock.us - gw->dhcp6.begun_us;
	return since >= 655350000 ? 0xffff : (uint16_t)((uint32_t)since / 10000);
}

/* What we want to hear about beside leases (section 21.7, table 4 of section 24). */
static void put_wishes(const struct dhcp6_client *c, struct dhcp6_build *b)
{
	uint8_t code[6] = {0, DHCP6_DNS, 0, DHCP6_SOL_MAX_RT};
	uint32_t n = 4;
	if (c->state == DHCP6_INFORMING) {
		code[3] = DHCP6_REFRESH;
		code[5] = DHCP6_INF_MAX_RT;
		n = 6;
	}
	dhcp6_build_put(b, DHCP6_ORO, code, n);
}

static enum dhcp6_type type_of(const struct dhcp6_client *c)
{
	static const uint8_t type[DHCP6_STATES] = {
	        [DHCP6_SOLICITING] = DHCP6_SOLICIT, [DHCP6_REQUESTING] = DHCP6_REQUEST,
	        [DHCP6_RENEWING] = DHCP6_RENEW,     [DHCP6_REBINDING] = DHCP6_REBIND,
	        [DHCP6_CONFIRMING] = DHCP6_CONFIRM, [DHCP6_DECLINING] = DHCP6_DECLINE,
	        [DHCP6_RELEASING] = DHCP6_RELEASE,  [DHCP6_INFORMING] = DHCP6_INFORMATION_REQUEST,
	};
	if (c->state == DHCP6_CONFIRMING && c->rebinds)
		return DHCP6_REBIND;
	return (enum dhcp6_type)type[c->state];
}

void dhcp6_send(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	enum dhcp6_type type = type_of(c);
	uint8_t data[ROOM], duid[DHCP6_DUID_LEN];
	struct dhcp6_build b;
	dhcp6_build_start(&b, data, sizeof data, type, c->xid);
	dhcp6_duid(&gw->iface[IF_WAN].address, duid);
	dhcp6_build_put(&b, DHCP6_CLIENT_ID, duid, sizeof duid);
	if (type == DHCP6_REQUEST || type == DHCP6_RENEW || type == DHCP6_RELEASE ||
	    type == DHCP6_DECLINE)
		dhcp6_build_put(&b, DHCP6_SERVER_ID, c->server, c->server_len);
	dhcp6_build_put16(&b, DHCP6_ELAPSED, elapsed(gw));
	if (type == DHCP6_SOLICIT)
		dhcp6_build_put(&b, DHCP6_RAPID_COMMIT, NULL, 0);
	if (type != DHCP6_CONFIRM && type != DHCP6_RELEASE && type != DHCP6_DECLINE)
		put_wishes(c, &b);
	for (uint32_t ia = 0; ia < DHCP6_IAS; ia++)
		if (c->asks & 1 << ia)
			put_ia(gw, &b, (enum dhcp6_ia)ia);
	c->sent++;
	dhcp6_send_bytes(gw, IF_WAN, &dhcp6_all_servers, DHCP6_CLIENT_PORT, DHCP6_SERVER_PORT, data,
	                 b.n);
}
