/* See dhcp_receive.h. An answer counts only when its interface, its ports, its transaction
 * identifier, its hardware address and its client identifier (RFC 6842) are those of our own
 * question, which a station beyond the link cannot know. */
#include "net/dhcp/dhcp_receive.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/dhcp/dhcp_client.h"
#include "net/dhcp/dhcp_frame.h"
#include "net/dhcp/dhcp_keys.h"
#include "net/dhcp/dhcp_lease.h"
#include "net/dhcp/dhcp_send.h"
#include "net/dhcp/dhcp_use.h"

#define SAY_MS 60000u

/* --- ARP ---------------------------------------------------------------------------------------
 */

/* Looks at ARP packets for two things: conflicts while an address is probed (RFC 5227 section
 * 2.1.1), and the known router after the carrier was lost (RFC 4436 section 4.2.1). */
static void look_at_arp(struct gw *gw, const struct arp_hdr *a)
{
	const struct dhcp_client *c = &gw->dhcp;
	const mac *own = &gw->iface[IF_WAN].address;
	if (mac_eq(&a->sender_mac, own))
		return;
	if (c->state == DHCP_PROBING &&
	    (ip4_eq(a->sender_ip, c->wanted.addr) ||
	     (ip4_raw(a->sender_ip) == 0 && ip4_eq(a->target_ip, c->wanted.addr))))
		dhcp_client_conflict(gw, &a->sender_mac);
	else if (c->state == DHCP_REBOOTING && c->router_known && !c->router_seen &&
	         be16_get(a->operation) == ARP_REPLY && ip4_eq(a->sender_ip, c->router) &&
	         mac_eq(&a->sender_mac, &c->router_mac))
		dhcp_client_router_seen(gw);
}

/* --- DHCP --------------------------------------------------------------------------------------
 */

static enum drop refuse(struct gw *gw, uint64_t *said_us, ip4 server, const char *why)
{
	char text[FMT_IP4];
	gw->dhcp.refused++;
	log_limited(said_us, SAY_MS, "wan: the lease of %s is not taken: %s", fmt_ip4(text, server),
	            why);
	return DROP_DHCP_REFUSED;
}

/* True when a message answers the question that is open. */
static bool is_answer(const struct gw *gw, const struct dhcp_message *m)
{
	const struct dhcp_client *c = &gw->dhcp;
	uint8_t id[DHCP_CLIENT_ID_MAX], theirs[DHCP_CLIENT_ID_MAX];
	uint32_t n = dhcp_send_client_id(gw, id), n_theirs;
	bool asks = c->state == DHCP_SELECTING || c->state == DHCP_REQUESTING ||
	            c->state == DHCP_REBOOTING || c->state == DHCP_RENEWING ||
	            c->state == DHCP_REBINDING;
	if (!asks || m->hdr->op != DHCP_BOOTREPLY || be32_get(m->hdr->xid) != c->xid ||
	    !mac_eq(&m->hdr->chaddr, &gw->iface[IF_WAN].address))
		return false;
	return !dhcp_message_get(m, DHCP_CLIENT_ID, theirs, sizeof theirs, &n_theirs) ||
	       (n_theirs == n && memcmp(id, theirs, n) == 0);
}

/* Names what is not taken of a lease, unless that was so in the lease before. */
static void say_ignored(const struct gw *gw, const struct dhcp_lease *lease)
{
	const struct dhcp_lease *last = &gw->dhcp.lease;
	char text[FMT_IP4];
	if (gw->dhcp.in_force && last->n_ignored == lease->n_ignored &&
	    memcmp(last->ignored, lease->ignored, sizeof last->ignored) == 0)
		return;
	for (uint32_t i = 0; i < lease->n_ignored; i++)
		log_line("wan: of the lease of %s %s is not used", fmt_ip4(text, lease->server),
		         lease->ignored[i]);
}

/* True when wan.dhcp-reject names a server, by its identifier or by the source of its packet. */
static bool is_rejected(const struct gw *gw, ip4 server, ip4 from)
{
	const struct dhcp_config *config = dhcp_config(gw->config);
	const struct addr names[] = {{.v4 = server}, {.v4 = from}};
	return addr_in_prefixes(&names[0], config->reject, config->n_reject) ||
	       addr_in_prefixes(&names[1], config->reject, config->n_reject);
}

static enum drop reject(struct gw *gw, ip4 server)
{
	return refuse(gw, &gw->dhcp.said_rejected_us, server, "wan.dhcp-reject names the server");
}

/* An offer, or an acknowledgement: it gives a lease. */
static enum drop take_lease(struct gw *gw, const struct dhcp_message *m, ip4 from,
                            const mac *station)
{
	struct dhcp_client *c = &gw->dhcp;
	struct dhcp_lease lease;
	char text[FMT_IP4];
	const char *bad = dhcp_lease_read(&lease, m, dhcp_use_mtu_most(gw));
	if (bad)
		return refuse(gw, &c->said_malformed_us, from, bad);
	lease.giver = *station;
	if (is_rejected(gw, lease.server, from))
		return reject(gw, lease.server);
	bad = dhcp_use_refuses(gw, &lease);
	if (bad)
		return refuse(gw, &c->said_network_us, lease.server, bad);
	if (m->type == DHCP_OFFER && c->state == DHCP_SELECTING) {
		dhcp_client_offered(gw, &lease);
	} else if (m->type == DHCP_OFFER) {
		if (c->state == DHCP_REQUESTING && !ip4_eq(lease.server, c->wanted.server))
			log_limited(&gw->dhcp.said_other_us, SAY_MS, "wan: %s offers a lease too",
			            fmt_ip4(text, lease.server));
		return DROP_DHCP_NOT_OURS;
	} else if (c->state == DHCP_SELECTING) {
		return DROP_DHCP_NOT_OURS;
	} else {
		say_ignored(gw, &lease);
		dhcp_client_acknowledged(gw, &lease);
	}
	return DROP_NONE;
}

static enum drop take_refusal(struct gw *gw, const struct dhcp_message *m, ip4 from)
{
	const struct dhcp_client *c = &gw->dhcp;
	char text[FMT_IP4];
	uint8_t why[64];
	uint32_t n;
	ip4 server = from;
	bool named = dhcp_message_get_ip4(m, DHCP_SERVER_ID, &server);
	if (c->state == DHCP_SELECTING ||
	    (c->state == DHCP_REQUESTING && named && !ip4_eq(server, c->wanted.server)) ||
	    (c->state == DHCP_RENEWING && !ip4_eq(server, c->lease.server)))
		return DROP_DHCP_NOT_OURS; /* that server was not asked */
	if (is_rejected(gw, server, from))
		return reject(gw, server);
	if (!dhcp_message_get(m, DHCP_MESSAGE, why, sizeof why, &n))
		n = 0;
	log_line("wan: %s refuses the lease%s%.*s", fmt_ip4(text, server), n ? ": " : "",
	         (int)min_u32(n, sizeof why), (const char *)why);
	dhcp_client_refused(gw, server);
	return DROP_NONE;
}

/* Handles the payload of a datagram to our port. */
static enum drop take(struct gw *gw, const uint8_t *data, uint32_t len, ip4 from,
                      const mac *station)
{
	struct dhcp_message m;
	char text[FMT_IP4];
	const char *bad = dhcp_message_read(&m, data, len);
	if (bad) {
		log_limited(&gw->dhcp.said_bad_us, SAY_MS, "wan: DHCP message of %s: %s",
		            fmt_ip4(text, from), bad);
		return DROP_DHCP_BAD;
	}
	if (!is_answer(gw, &m))
		return DROP_DHCP_NOT_OURS;
	enum drop why = DROP_DHCP_NOT_OURS;
	if (m.type == DHCP_OFFER || m.type == DHCP_ACK)
		why = take_lease(gw, &m, from, station);
	else if (m.type == DHCP_NAK)
		why = take_refusal(gw, &m, from);
	gw->dhcp.taken += why == DROP_NONE;
	return why;
}

/* --- frames ------------------------------------------------------------------------------------
 */

/* True for a datagram from a DHCP server to our port. */
static bool is_ours(const struct interface *in, const struct pkt *p)
{
	const struct eth_hdr *eth = (const struct eth_hdr *)p->data;
	const struct ip4_hdr *h = (const struct ip4_hdr *)(eth + 1);
	return dhcp_frame_is(in, p, DHCP_CLIENT_PORT) &&
	       be16_get(((const struct udp_hdr *)(h + 1))->from) == DHCP_SERVER_PORT;
}

bool dhcp_receive(struct gw *gw, const struct interface *in, struct pkt *p)
{
	const struct eth_hdr *eth = (const struct eth_hdr *)p->data;
	struct dhcp_frame f;
	if (in != &gw->iface[IF_WAN])
		return false;
	if (p->len >= sizeof *eth + sizeof(struct arp_hdr) && be16_get(eth->type) == ETH_ARP)
		look_at_arp(gw, (const struct arp_hdr *)(eth + 1));
	if (!is_ours(in, p))
		return false;
	const mac station = eth->from;
	enum drop why = dhcp_frame_open(p, &f);
	if (why == DROP_NONE)
		why = take(gw, f.data, f.len, f.from, &station);
	if (why != DROP_NONE)
		gw_drop(gw, p, why);
	pkt_free(p);
	return true;
}
