/* What all hosts of the inside are told after a start, and when the outer address has changed: an
 * ANNOUNCE of PCP (RFC 6887 section 14.1) and the address of NAT-PMP (RFC 6886 section 3.2.1), ten
 * times, the first after 250 ms, when the cards have their links; the gaps double from 250 ms on.
 */
#include "apps/pcp/pcp.h"
#include "net/dhcp/dhcp_frame.h"
#include "net/dhcp6/dhcp6_send.h"
#include "net/ip6/mld.h"

#define FIRST_GAP_US 250000u
#define ANNOUNCE_LEN 24u

void pcp_announce_begin(struct gw *gw, struct pcp *c)
{
	c->epoch_s = gw->clock.s;
	c->announced = 0;
	c->announce_us = gw->clock.us + FIRST_GAP_US;
}

/* To 224.0.0.1. */
static void send4(struct gw *gw, uint32_t iface, const uint8_t *data, uint32_t len)
{
	static const mac group = {{0x01, 0x00, 0x5e, 0x00, 0x00, 0x01}};
	struct pkt *p = pkt_alloc(gw->pool);
	uint8_t *to = p ? pkt_put(p, len) : NULL;
	if (!to) {
		if (p)
			pkt_free(p);
		return;
	}
	memcpy(to, data, len);
	p->iface = PKT_IF_SELF;
	dhcp_frame_send(gw, iface, p, &group, gw->iface[iface].addr[0].addr, ip4_of(0xe0000001),
	                PCP_PORT, PCP_CLIENT_PORT);
}

static void announce(struct gw *gw, struct pcp *c)
{
	uint8_t pcp[ANNOUNCE_LEN] = {2, 0x80}, pmp[12];
	store32(pcp + 8, swap32(pcp_epoch(gw, c)));
	pcp_natpmp_address(gw, c, NULL, pmp);
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		if (!interface_is_inside(i))
			continue;
		if (gw->iface[i].n_addr > 0) {
			send4(gw, i, pcp, sizeof pcp);
			send4(gw, i, pmp, sizeof pmp);
		}
		if (gw->forwarder->ip6 && gw->iface[i].n_addr6 > 0 &&
		    gw->iface[i].addr6[0].state == ADDRESS6_VALID)
			dhcp6_send_bytes(gw, i, &mld_all_nodes, PCP_PORT, PCP_CLIENT_PORT, pcp,
			                 sizeof pcp);
	}
}

void pcp_announce_tick(struct gw *gw, struct pcp *c)
{
	/* Without an outer address there is nothing to ask for. */
	if (c->announced == PCP_ANNOUNCES || c->ext_ip == 0)
		return;
	if (gw->clock.us >= c->announce_us) {
		announce(gw, c);
		c->announcements++;
		c->announce_us = gw->clock.us + ((uint64_t)FIRST_GAP_US << c->announced);
		c->announced++;
	}
	gw_wake_at(gw, c->announce_us);
}
