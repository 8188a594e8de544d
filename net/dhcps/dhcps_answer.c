/* See dhcps_answer.h. */
#include "net/dhcps/dhcps_answer.h"

#include "net/dhcp/dhcp_frame.h"
#include "net/ra/ra.h"
#include "net/udp/udp.h"

#define DNS_PORT    53u
#define DNS_MOST    8u
#define HEADERS     ((uint32_t)(IP4_MIN + sizeof(struct udp_hdr)))
#define LEAST_SIZE  576u /* a client takes so much (RFC 2131 section 2) */
#define AGENT_EXTRA 2u

/* --- values ------------------------------------------------------------------------------------
 */

/* Our own address where a service answers DNS queries, else the servers of the configuration, else
 * those of the lease of the WAN. */
static uint32_t dns_servers(const struct gw *gw, const struct dhcps_ask *ask, ip4 out[DNS_MOST])
{
	const struct net_config *c = net_config(gw->config);
	bool lease = c->n_server == 0;
	uint32_t n = 0;
	if (gw->udp && gw->udp->owner[DNS_PORT]) {
		out[0] = ask->own->addr;
		return 1;
	}
	for (uint32_t i = 0; i < c->n_server && n < DNS_MOST; i++) {
		lease |= c->server[i].lease;
		if (!c->server[i].lease && !c->server[i].addr.is6)
			out[n++] = c->server[i].addr.v4;
	}
	for (uint32_t i = 0; lease && gw->dhcp.in_force && i < gw->dhcp.lease.n_dns; i++)
		if (n < DNS_MOST)
			out[n++] = gw->dhcp.lease.dns[i];
	return n;
}

static const struct dhcps_option *given(const struct dhcps_ask *ask, enum dhcp_code code)
{
	for (uint32_t i = 0; i < ask->net->n_option; i++)
		if (ask->net->option[i].code == code)
			return &ask->net->option[i];
	return NULL;
}

/* Adds an option that the client wants and the configuration does not replace. What has no room is
 * left out: the options behind it may have some. */
static void add(const struct dhcps_ask *ask, struct dhcp_build *b, enum dhcp_code code,
                const void *value, uint32_t len)
{
	if (len > 0 && !given(ask, code) && dhcps_ask_wants(ask, code))
		(void)!dhcp_build_put(b, code, value, len);
}

static void add_given(const struct dhcps_ask *ask, struct dhcp_build *b)
{
	for (uint32_t i = 0; i < ask->net->n_option; i++) {
		const struct dhcps_option *o = &ask->net->option[i];
		if (dhcps_ask_wants(ask, (enum dhcp_code)o->code))
			(void)!dhcp_build_put(b, (enum dhcp_code)o->code, o->value, o->len);
	}
}

/* True when the forwarder translates what hosts of the inside send to its prefix. */
static bool translates(const struct gw *gw)
{
	const struct forwarder *f = gw->forwarder;
	struct prefix p;
	bool octet;
	return f->prefix64 && !f->no_wan4 && gw->iface[IF_WAN].n_addr > 0 &&
	       f->prefix64(gw, &p, &octet) && p.len > 0;
}

bool dhcps_answer_may_v6only(const struct gw *gw, uint32_t iface)
{
	return dhcps_config(gw->config)->net[iface].v6only_ms &&
	       (ra_tells_pref64(gw, iface) || translates(gw));
}

bool dhcps_answer_is_v6only(const struct gw *gw, const struct dhcps_ask *ask)
{
	return dhcp_message_has(&ask->m, DHCP_PARAMETERS) && dhcps_ask_wants(ask, DHCP_V6ONLY) &&
	       dhcps_answer_may_v6only(gw, ask->net->iface);
}

/* --- the message -------------------------------------------------------------------------------
 */

/* Options that every client needs come first, so that they have room. */
static void put_lease(const struct dhcps_ask *ask, struct dhcp_build *b, ip4 gives)
{
	uint32_t mask = addr_mask4(ask->own->len), lease = dhcps_lease_s(ask->c);
	const be32 half = be32_of(lease / 2), most = be32_of(lease - lease / 8);
	const ip4 wire = ip4_of(mask);
	if (ip4_raw(gives)) {
		(void)!dhcp_build_put32(b, DHCP_LEASE_TIME, lease);
		if (!given(ask, DHCP_T1) && !given(ask, DHCP_T2)) {
			(void)!dhcp_build_put(b, DHCP_T1, &half, sizeof half);
			(void)!dhcp_build_put(b, DHCP_T2, &most, sizeof most);
		}
	}
	(void)!dhcp_build_put(b, DHCP_MASK, &wire, sizeof wire);
}

static void put_options(const struct gw *gw, const struct dhcps_ask *ask, struct dhcp_build *b)
{
	const uint32_t mask = addr_mask4(ask->own->len), iface = ask->net->iface;
	const ip4 broadcast = ip4_of(ip4_get(ask->own->addr) | ~mask);
	const be16 mtu = be16_of((uint16_t)gw->iface[iface].mtu);
	const be32 v6only = be32_of(ask->c->v6only_ms / 1000);
	uint8_t labels[DHCPS_OPTION_VALUE];
	ip4 dns[DNS_MOST];
	const char *domain = ask->c->domain;
	uint32_t n = (uint32_t)strlen(domain);
	if (!gw->forwarder->is_host)
		add(ask, b, DHCP_ROUTER, &ask->own->addr, sizeof ask->own->addr);
	add(ask, b, DHCP_DNS, dns, dns_servers(gw, ask, dns) * (uint32_t)sizeof *dns);
	add(ask, b, DHCP_DOMAIN, domain, n);
	add(ask, b, DHCP_BROADCAST_ADDRESS, &broadcast, sizeof broadcast);
	add(ask, b, DHCP_MTU, &mtu, sizeof mtu);
	if (dhcps_answer_is_v6only(gw, ask))
		(void)!dhcp_build_put(b, DHCP_V6ONLY, &v6only, sizeof v6only);
	add_given(ask, b);
	add(ask, b, DHCP_SEARCH, labels, dhcps_option_labels(domain, n, labels, sizeof labels));
}

/* The next server and the file of a boot, for clients that look for them in the header. */
static void put_boot(const struct dhcps_ask *ask, struct dhcp_hdr *h)
{
	const struct dhcps_option *server = given(ask, DHCP_TFTP_SERVER);
	const struct dhcps_option *file = given(ask, DHCP_BOOT_FILE);
	ip4 a;
	if (server && addr_ip4((const char *)server->value, server->len, &a))
		h->siaddr = a;
	if (server && server->len < sizeof h->sname)
		memcpy(h->sname, server->value, server->len);
	if (file && file->len < sizeof h->file)
		memcpy(h->file, file->value, file->len);
}

/* RFC 6842: the client identifier comes back; RFC 3046 section 2.2: what the relay agent added
 * comes back, and is the last. */
static uint32_t copy(const struct dhcps_ask *ask, enum dhcp_code code, uint8_t out[255])
{
	uint32_t n;
	if (!dhcp_message_get(&ask->m, code, out, 255, &n) || n > 255)
		return 0;
	return n;
}

static void put_all(const struct gw *gw, const struct dhcps_ask *ask, struct dhcp_build *b,
                    enum dhcp_type type, ip4 gives)
{
	static const char why[] = "address not available";
	uint8_t id[255], agent[255];
	uint32_t n_id = copy(ask, DHCP_CLIENT_ID, id), n_agent = copy(ask, DHCP_AGENT, agent);
	uint32_t keep = ask->relayed && n_agent ? AGENT_EXTRA + n_agent : 0;
	b->size -= keep;
	(void)!dhcp_build_put_ip4(b, DHCP_SERVER_ID, ask->own->addr);
	if (type == DHCP_NAK)
		(void)!dhcp_build_put(b, DHCP_MESSAGE, why, sizeof why - 1);
	else
		put_lease(ask, b, gives);
	if (n_id)
		(void)!dhcp_build_put(b, DHCP_CLIENT_ID, id, n_id);
	if (type != DHCP_NAK)
		put_options(gw, ask, b);
	b->size += keep;
	if (keep)
		(void)!dhcp_build_put(b, DHCP_AGENT, agent, n_agent);
}

/* Bytes that the answer may have. */
static uint32_t room(const struct gw *gw, const struct dhcps_ask *ask)
{
	uint16_t size = 0;
	uint32_t most = gw->iface[ask->net->iface].mtu;
	if (!dhcp_message_get16(&ask->m, DHCP_MAX_SIZE, &size) || size < LEAST_SIZE)
		size = LEAST_SIZE;
	return min_u32(size, min_u32(most, NET_MTU)) - HEADERS;
}

/* --- its way -----------------------------------------------------------------------------------
 */

static void send(struct gw *gw, const struct dhcps_ask *ask, struct pkt *p, enum dhcp_type type,
                 ip4 gives)
{
	const struct dhcp_hdr *h = ask->m.hdr;
	const struct udp_ends relay = {.local = {.v4 = ask->own->addr},
	                               .remote = {.v4 = h->giaddr},
	                               .local_port = DHCP_SERVER_PORT,
	                               .remote_port = DHCP_SERVER_PORT,
	                               .iface = PKT_IF_SELF};
	ip4 to = ip4_raw(h->ciaddr) ? h->ciaddr : gives;
	const mac *station = &ask->who.agent;
	if (ask->relayed) {
		udp_send(gw, p, &relay);
		return;
	}
	if (type == DHCP_NAK || ip4_raw(to) == 0 ||
	    (ip4_raw(h->ciaddr) == 0 && be16_get(h->flags) & DHCP_BROADCAST)) {
		station = &dhcp_frame_all;
		to = ip4_of(0xffffffff);
	}
	dhcp_frame_send(gw, ask->net->iface, p, station, ask->own->addr, to, DHCP_SERVER_PORT,
	                DHCP_CLIENT_PORT);
}

void dhcps_answer(struct gw *gw, const struct dhcps_ask *ask, enum dhcp_type type, ip4 gives)
{
	const struct dhcp_hdr *in = ask->m.hdr;
	struct pkt *p = pkt_alloc(gw->pool);
	uint32_t size = room(gw, ask);
	uint8_t *data = p ? pkt_put(p, size) : NULL;
	struct dhcp_build b;
	if (!data) {
		gw->counts.drops[DROP_NO_PACKET]++;
		if (p)
			pkt_free(p);
		return;
	}
	p->iface = PKT_IF_SELF;
	struct dhcp_hdr *h = dhcp_build_start(&b, data, size, DHCP_BOOTREPLY, type, false);
	h->xid = in->xid;
	h->flags = in->flags;
	if (type == DHCP_ACK)
		h->ciaddr = in->ciaddr;
	if (type == DHCP_NAK) /* the relay agent is to broadcast it (section 4.3.2) */
		h->flags = be16_of(be16_get(in->flags) | DHCP_BROADCAST);
	else
		put_boot(ask, h);
	h->yiaddr = gives;
	h->giaddr = in->giaddr;
	h->chaddr = in->chaddr;
	put_all(gw, ask, &b, type, gives);
	pkt_trim(p, dhcp_build_end(&b));
	struct dhcps *d = gw->dhcps;
	d->offers += type == DHCP_OFFER;
	d->acks += type == DHCP_ACK;
	d->naks += type == DHCP_NAK;
	send(gw, ask, p, type, gives);
}
