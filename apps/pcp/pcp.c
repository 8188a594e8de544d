/* The service `pcp`: start, and the datagrams of PCP (RFC 6887 sections 7, 8 and 13). See pcp.h. */
#include "apps/pcp/pcp.h"

#include "apps/nat64/nat64.h"
#include "apps/services.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/lib/when.h"
#include "net/client.h"

#define HEADER   24u
#define MAP_LEN  36u
#define PEER_LEN 56u
#define ANSWER   0x80u
#define LONG_S   1800u /* lifetimes of errors (section 7.4) */
#define SHORT_S  30u

enum { OPCODE_ANNOUNCE, OPCODE_MAP, OPCODE_PEER };
enum { OPTION_PREFER_FAILURE = 2, OPTION_MANDATORY = 128 };

struct pcp *pcp_of(const struct gw *gw)
{
	return gw->service_state[SERVICE_pcp];
}

/* --- reading ---------------------------------------------------------------------------------- */

/* An address of 16 bytes; those of ::ffff:0:0/96 are IPv4 (section 5). */
static struct addr read_addr(const uint8_t *at)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct addr a = {.is6 = memcmp(at, mapped, sizeof mapped) != 0};
	if (a.is6)
		memcpy(&a.v6, at, sizeof a.v6);
	else
		memcpy(&a.v4, at + sizeof mapped, sizeof a.v4);
	return a;
}

static void write_addr4(uint8_t *at, uint32_t raw)
{
	memset(at, 0, 10);
	at[10] = at[11] = 0xff;
	store32(at + 12, raw);
}

/* Reads the options behind the data of an opcode. Those that need not be understood are left out
 * (section 7.3). */
static enum pcp_result read_options(const uint8_t *at, uint32_t len, bool map, bool *strict)
{
	while (len > 0) {
		if (len < 4)
			return PCP_MALFORMED_OPTION;
		uint32_t is = ((uint32_t)at[2] << 8 | at[3]), whole = 4 + (is + 3) / 4 * 4;
		if (whole > len)
			return PCP_MALFORMED_OPTION;
		if (at[0] == OPTION_PREFER_FAILURE && map) {
			if (is != 0 || *strict)
				return PCP_MALFORMED_OPTION;
			*strict = true;
		} else if (at[0] < OPTION_MANDATORY) {
			return PCP_UNSUPP_OPTION;
		}
		at += whole;
		len -= whole;
	}
	return PCP_SUCCESS;
}

/* The remote peer, as the host that asks writes it: behind nat64 an address under a prefix. */
static enum pcp_result read_peer(const struct gw *gw, const uint8_t *data, struct pcp_ask *ask)
{
	struct addr peer = read_addr(data + 40);
	ask->is_peer = true;
	ask->rem_port = load16(data + 36);
	if (ask->rem_port == 0)
		return PCP_MALFORMED_REQUEST;
	if (!peer.is6) {
		ask->rem_ip = ip4_raw(peer.v4);
		return ask->host.is6 ? PCP_NOT_AUTHORIZED : PCP_SUCCESS;
	}
	if (!ask->host.is6 || !nat_of(gw)->table.inside6)
		return PCP_NOT_AUTHORIZED;
	const struct nat64 *n = nat64_of(gw);
	ask->prefix = nat64_prefix_of(n, &peer.v6);
	if (ask->prefix == NAT64_NO_PREFIX)
		return PCP_NOT_AUTHORIZED;
	ask->rem_ip = embed_to4(&n->prefix[ask->prefix].form, &peer.v6);
	return nat64_may_embed(n, ask->prefix, ask->rem_ip) ? PCP_SUCCESS : PCP_NOT_AUTHORIZED;
}

/* Reads what MAP and PEER share. */
static enum pcp_result read_data(const uint8_t *data, struct pcp_ask *ask)
{
	struct addr suggested = read_addr(data + 20);
	memcpy(ask->nonce, data, sizeof ask->nonce);
	ask->proto = data[12] == PROTO_UDP ? NAT_UDP : data[12] == PROTO_TCP ? NAT_TCP : NAT_OTHER;
	ask->port = load16(data + 16);
	ask->suggested = load16(data + 18);
	ask->suggested_ip = suggested.is6 ? 0 : ip4_raw(suggested.v4);
	return data[12] == 0 && ask->port != 0 ? PCP_MALFORMED_REQUEST : PCP_SUCCESS;
}

/* --- answering -------------------------------------------------------------------------------- */

static uint32_t error_life(enum pcp_result r, uint32_t own_s)
{
	if (own_s)
		return own_s;
	bool brief = r == PCP_NETWORK_FAILURE || r == PCP_NO_RESOURCES || r == PCP_USER_EX_QUOTA ||
	             r == PCP_CANNOT_PROVIDE_EXTERNAL;
	return brief ? SHORT_S : LONG_S;
}

/* Turns a request into its answer and sends it: an error has the request's data (section 8.2), and
 * the lifetime of its kind where `lifetime_s` is 0. */
static enum verdict answer(struct gw *gw, struct pcp *c, struct pkt *p, const struct udp_ends *ends,
                           enum pcp_result r, uint32_t lifetime_s)
{
	uint8_t *h = p->data;
	h[0] = 2;
	h[1] |= ANSWER;
	h[2] = 0;
	h[3] = (uint8_t)r;
	store32(h + 4, swap32(r == PCP_SUCCESS ? lifetime_s : error_life(r, lifetime_s)));
	store32(h + 8, swap32(pcp_epoch(gw, c)));
	memset(h + 12, 0, 12);
	c->answers[r]++;
	udp_send(gw, p, ends);
	return V_KEPT;
}

/* Carries out MAP, of one port or, in a deletion, of all. */
static struct pcp_given do_map(struct gw *gw, struct pcp *c, const struct pcp_ask *ask,
                               uint8_t proto)
{
	if (ask->lifetime_s == 0 && ask->port == 0 && (proto == 0 || ask->proto != NAT_OTHER))
		return (struct pcp_given){.result = pcp_map_all(gw, c, ask)};
	if (ask->proto == NAT_OTHER || ask->port == 0)
		return (struct pcp_given){.result = PCP_UNSUPP_PROTOCOL};
	return pcp_map(gw, c, ask);
}

static enum verdict map_or_peer(struct gw *gw, struct pcp *c, struct pkt *p,
                                const struct udp_ends *ends, struct pcp_ask *ask, bool map)
{
	uint8_t *data = p->data + HEADER;
	uint32_t len = map ? MAP_LEN : PEER_LEN;
	if (p->len < HEADER + len)
		return answer(gw, c, p, ends, PCP_MALFORMED_REQUEST, 0);
	enum pcp_result r = read_data(data, ask);
	if (r == PCP_SUCCESS)
		r = read_options(data + len, p->len - HEADER - len, map, &ask->strict);
	if (r == PCP_SUCCESS && !map)
		r = ask->proto == NAT_OTHER ? PCP_UNSUPP_PROTOCOL
		    : ask->port == 0        ? PCP_MALFORMED_REQUEST
		                            : read_peer(gw, data, ask);
	struct pcp_given g = {.result = r};
	if (r == PCP_SUCCESS)
		g = map ? do_map(gw, c, ask, data[12]) : pcp_peer(gw, c, ask);
	if (g.result != PCP_SUCCESS)
		return answer(gw, c, p, ends, g.result, g.lifetime_s);
	/* Of the options only PREFER_FAILURE is in the answer (section 13.2). */
	pkt_trim(p, HEADER + len);
	if (ask->strict) {
		static const uint8_t option[4] = {OPTION_PREFER_FAILURE};
		uint8_t *more = pkt_put(p, sizeof option);
		if (!more)
			return gw_drop(gw, p, DROP_NO_PACKET);
		memcpy(more, option, sizeof option);
	}
	store16(data + 18, g.ext_port);
	write_addr4(data + 20, g.ext_ip);
	return answer(gw, c, p, ends, PCP_SUCCESS, g.lifetime_s);
}

/* Gives a request the length of the answer that says its length or version is wrong: its first 1100
 * bytes, filled up with zeros to a header at least, and to a multiple of 4 (section 8.2). */
static bool make_whole(struct pkt *p)
{
	pkt_trim(p, min_u32(p->len, PCP_MOST));
	uint32_t more = p->len < HEADER ? HEADER - p->len : (4 - p->len % 4) % 4;
	uint8_t *to = pkt_put(p, more);
	if (to)
		memset(to, 0, more);
	return to;
}

static enum verdict refuse_whole(struct gw *gw, struct pcp *c, struct pkt *p,
                                 const struct udp_ends *ends, enum pcp_result why)
{
	if (!make_whole(p))
		return gw_drop(gw, p, DROP_NO_PACKET);
	return answer(gw, c, p, ends, why, 0);
}

/* A message of version 2, with the bit of requests and a whole header. */
static enum verdict request(struct gw *gw, struct pcp *c, struct pkt *p,
                            const struct udp_ends *ends, uint32_t who)
{
	const uint8_t *h = p->data;
	struct addr client = read_addr(h + 8);
	struct pcp_ask ask = {.host = ends->remote,
	                      .client = who,
	                      .link = ends->iface,
	                      .lifetime_s = swap32(load32(h + 4))};
	bool strict = false;
	uint8_t opcode = h[1];
	if (!addr_eq(&client, &ends->remote))
		return answer(gw, c, p, ends, PCP_ADDRESS_MISMATCH, 0);
	if (opcode == OPCODE_MAP || opcode == OPCODE_PEER)
		return map_or_peer(gw, c, p, ends, &ask, opcode == OPCODE_MAP);
	if (opcode != OPCODE_ANNOUNCE)
		return answer(gw, c, p, ends, PCP_UNSUPP_OPCODE, 0);
	enum pcp_result r = read_options(h + HEADER, p->len - HEADER, false, &strict);
	if (r == PCP_SUCCESS)
		pkt_trim(p, HEADER);
	return answer(gw, c, p, ends, r, 0);
}

/* True when a host asks at the WAN's address, where nothing is to be had, for a request there could
 * come from the outside (RFC 6886 section 3.3). */
static bool is_outer(const struct gw *gw, const struct addr *local)
{
	const struct interface *wan = &gw->iface[IF_WAN];
	for (uint32_t i = 0; !local->is6 && i < wan->n_addr; i++)
		if (ip4_eq(wan->addr[i].addr, local->v4))
			return true;
	return false;
}

static enum verdict datagram(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                             uint32_t arg)
{
	struct pcp *c = pcp_of(gw);
	(void)arg; /* of udp_bind */
	if (is_outer(gw, &ends->local))
		return V_LOCAL;
	c->requests++;
	if (p->len < 2 || p->data[1] & ANSWER)
		return gw_drop(gw, p, DROP_PCP_MESSAGE);
	uint32_t client = client_of(gw, ends->iface, &ends->remote);
	if (!pcp_table_may_ask(gw, c, client))
		return gw_drop(gw, p, DROP_PCP_LIMIT);
	if (p->data[0] == 0)
		return pcp_natpmp(gw, c, p, ends, client);
	if (p->data[0] != 2)
		return refuse_whole(gw, c, p, ends, PCP_UNSUPP_VERSION);
	if (p->len < HEADER)
		return gw_drop(gw, p, DROP_PCP_MESSAGE);
	if (p->len > PCP_MOST || p->len % 4 != 0)
		return refuse_whole(gw, c, p, ends, PCP_MALFORMED_REQUEST);
	return request(gw, c, p, ends, client);
}

/* --- start ------------------------------------------------------------------------------------ */

/* The state of a forwarder that opens ports begins with its NAT. */
static bool has_nat(const struct gw *gw)
{
	return gw->forwarder->opens_ports && nat_of(gw)->table.session;
}

static const char *pcp_init(struct gw *gw)
{
	if (!has_nat(gw)) {
		log_line("serve pcp: there is no NAT here whose ports could be opened");
		return NULL;
	}
	struct pcp *c = alloc(sizeof *c, 64);
	if (!c || !udp_init(gw))
		return "not enough memory";
	pcp_table_init(c, nat_of(gw)->table.size, gw->rng);
	if (!udp_bind(gw, PCP_PORT, udp_register(gw, datagram), 0))
		return "serve: another service has the port of pcp";
	gw->service_state[SERVICE_pcp] = c;
	c->ext_ip = nat_of(gw)->table.first_external;
	pcp_announce_begin(gw, c);
	return NULL;
}

static void pcp_changed(struct gw *gw)
{
	struct pcp *c = pcp_of(gw);
	if (!c || c->ext_ip == nat_of(gw)->table.first_external)
		return;
	c->ext_ip = nat_of(gw)->table.first_external;
	pcp_table_clear(gw, c);
	pcp_announce_begin(gw, c);
}

static bool pcp_tick(struct gw *gw)
{
	struct pcp *c = pcp_of(gw);
	if (c) {
		pcp_table_tick(gw, c);
		pcp_announce_tick(gw, c);
	}
	return false;
}

const struct service service_pcp = {
        .keys = {&pcp_section},
        .counts = {&pcp_counts},
        .init = pcp_init,
        .changed = pcp_changed,
        .tick = pcp_tick,
        .show = pcp_show,
};
