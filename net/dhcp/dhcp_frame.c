/* See dhcp_frame.h. */
#include "net/dhcp/dhcp_frame.h"

#include "net/ip4/ip4.h"
#include "net/lib/csum.h"

const mac dhcp_frame_all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

bool dhcp_frame_is(const struct interface *in, const struct pkt *p, uint16_t to_port)
{
	const struct eth_hdr *eth = (const struct eth_hdr *)p->data;
	const struct ip4_hdr *h = (const struct ip4_hdr *)(eth + 1);
	if (p->len < sizeof *eth + sizeof *h + sizeof(struct udp_hdr) ||
	    be16_get(eth->type) != ETH_IP4 || h->version_ihl != 0x45 || h->proto != PROTO_UDP)
		return false;
	const struct udp_hdr *udp = (const struct udp_hdr *)(h + 1);
	return be16_get(udp->to) == to_port && !(be16_get(h->frag) & IP4_OFFSET) &&
	       (mac_eq(&eth->to, &in->address) || mac_is_group(&eth->to));
}

enum drop dhcp_frame_open(struct pkt *p, struct dhcp_frame *f)
{
	if (!pkt_pull(p, sizeof(struct eth_hdr)))
		return DROP_RUNT;
	enum drop wrong = ip4_parse(p);
	if (wrong != DROP_NONE)
		return wrong;
	if (p->flags & PKT_FRAGMENT)
		return DROP_FRAGMENT;
	const struct udp_hdr *udp = (const struct udp_hdr *)pkt_at(p, p->l4, sizeof *udp);
	if (!udp || p->l4_len < sizeof *udp)
		return DROP_L4_HEADER;
	const struct ip4_hdr *h = ip4_header(p);
	uint16_t len = be16_get(udp->len);
	if (len < sizeof *udp || len > p->l4_len)
		return DROP_L4_HEADER;
	if (be16_raw(udp->sum) != 0 &&
	    csum_plus(csum_sum(udp, len), csum_pseudo4(h->from, h->to, PROTO_UDP, len)) != 0xffff)
		return DROP_UDP_CHECKSUM;
	*f = (struct dhcp_frame){.data = (const uint8_t *)(udp + 1),
	                         .len = len - (uint32_t)sizeof *udp,
	                         .from = h->from,
	                         .to = h->to};
	return DROP_NONE;
}

void dhcp_frame_send(struct gw *gw, uint32_t iface, struct pkt *p, const mac *station, ip4 from,
                     ip4 to, uint16_t from_port, uint16_t to_port)
{
	struct udp_hdr *udp = (struct udp_hdr *)pkt_push(p, sizeof *udp);
	struct eth_hdr *eth = NULL;
	if (udp) {
		uint16_t len = (uint16_t)p->len;
		*udp = (struct udp_hdr){
		        .from = be16_of(from_port), .to = be16_of(to_port), .len = be16_of(len)};
		uint16_t sum =
		        csum_plus(csum_sum(udp, len), csum_pseudo4(from, to, PROTO_UDP, len));
		udp->sum = be16_from_raw(sum == 0xffff ? sum : (uint16_t)~sum);
	}
	if (udp && pkt_push(p, IP4_MIN)) {
		ip4_build(gw, p, from, to, PROTO_UDP, 0);
		eth = (struct eth_hdr *)pkt_push(p, sizeof *eth);
	}
	if (!eth) {
		gw_discard(gw, p, DROP_NO_PACKET);
		return;
	}
	*eth = (struct eth_hdr){*station, gw->iface[iface].address, be16_of(ETH_IP4)};
	gw_transmit(gw, &gw->iface[iface], p);
}
