/* See dhcp6_receive.h. An answer counts only when it comes from the link (a link-local address), to
 * our own port, and when its transaction and client identifiers are those of our question. */
#include "net/dhcp6/dhcp6_receive.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/dhcp6/dhcp6_answer.h"
#include "net/dhcp6/dhcp6_client.h"
#include "net/dhcp6/dhcp6_serve.h"
#include "net/ip6/ip6.h"
#include "net/lib/csum.h"

#define SAY_MS 60000u

static enum drop take_answer(struct gw *gw, const uint8_t *data, uint32_t len, const ip6 *from)
{
	struct dhcp6_client *c = &gw->dhcp6;
	uint8_t duid[DHCP6_DUID_LEN];
	struct dhcp6_answer a;
	char text[FMT_IP6];
	if (len < DHCP6_HEADER)
		return DROP_DHCP6_BAD;
	/* Reconfigure comes here too: we have not said that we accept it (section 16.11). */
	if ((data[0] != DHCP6_ADVERTISE && data[0] != DHCP6_REPLY) ||
	    (dhcp6_u32(data) & 0xffffff) != c->xid || c->tries == 0)
		return DROP_DHCP6_NOT_OURS;
	dhcp6_duid(&gw->iface[IF_WAN].address, duid);
	const char *bad = dhcp6_answer_read(&a, data, len, duid);
	if (bad) {
		log_limited(&c->said_bad_us, SAY_MS, "wan: DHCPv6 answer of %s: %s",
		            fmt_ip6(text, from), bad);
		return DROP_DHCP6_BAD;
	}
	return dhcp6_client_answered(gw, &a);
}

/* What is wrong with the headers; the payload is *len bytes behind the UDP header. */
static enum drop check(const struct gw *gw, const struct pkt *p, uint32_t *len)
{
	const struct ip6_hdr *h = ip6_header(p);
	const struct udp_hdr *udp = (const struct udp_hdr *)(p->data + p->l4);
	uint16_t all = be16_get(udp->len);
	if (!ip6_is_link_local(&h->from) || ip6_bad_source(gw, p))
		return DROP_MARTIAN_SOURCE;
	if (all < sizeof *udp || all > p->l4_len)
		return DROP_L4_HEADER;
	if (be16_raw(udp->sum) == 0 ||
	    csum_plus(csum_sum(udp, all), csum_pseudo6(&h->from, &h->to, PROTO_UDP, all)) != 0xffff)
		return DROP_UDP_CHECKSUM;
	*len = all - (uint32_t)sizeof *udp;
	return DROP_NONE;
}

enum verdict dhcp6_receive(struct gw *gw, struct pkt *p)
{
	const struct udp_hdr *udp = (const struct udp_hdr *)pkt_at(p, p->l4, sizeof *udp);
	if (!udp || p->l4_len < sizeof *udp || p->iface >= INTERFACES)
		return V_LOCAL;
	uint16_t to = be16_get(udp->to);
	bool group = ip6_is_group(&ip6_header(p)->to);
	bool client = to == DHCP6_CLIENT_PORT && p->iface == IF_WAN && !group &&
	              gw->dhcp6.state != DHCP6_OFF;
	bool server = to == DHCP6_SERVER_PORT && gw->dhcp6_server.listens[p->iface];
	uint32_t len;
	if (!client && !server)
		return V_LOCAL;
	const uint8_t *data = (const uint8_t *)(udp + 1);
	const ip6 *from = &ip6_header(p)->from;
	enum drop why = check(gw, p, &len);
	if (why == DROP_NONE)
		why = client ? take_answer(gw, data, len, from)
		             : dhcp6_serve(gw, p->iface, data, len, from, group);
	if (why != DROP_NONE)
		return gw_drop(gw, p, why);
	pkt_free(p);
	return V_KEPT;
}
