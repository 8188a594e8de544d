/* See dhcps_receive.h. */
#include "net/dhcps/dhcps_receive.h"

#include "kernel/lib/bucket.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/dhcp/dhcp_frame.h"
#include "net/dhcps/dhcps.h"

/* Messages of one station, and of all of a network: 1,000 leases a second are 2,000 messages. */
static const struct bucket of_station = {.token_us = 50000, .depth_us = 1000000};
static const struct bucket of_net = {.token_us = 250, .depth_us = 500000};

static bool take_token(const struct gw *gw, const struct bucket *b, uint64_t *full_us)
{
	uint32_t owed = bucket_owed(gw->clock.us, *full_us);
	bool taken = bucket_take(b, &owed, 1);
	*full_us = gw->clock.us + owed;
	return taken;
}

static bool is_allowed(struct gw *gw, uint32_t iface, const struct dhcps_ask *ask)
{
	struct dhcps *d = gw->dhcps;
	const mac *a = &ask->m.hdr->chaddr;
	uint32_t i = hash_three(&gw->client_key, load32(a->b), load16(a->b + 4), 1) % DHCPS_BUCKETS;
	return take_token(gw, &of_station, &d->bucket_us[i]) &&
	       take_token(gw, &of_net, &d->net[iface].bucket_us);
}

static enum drop take(struct gw *gw, uint32_t iface, const struct dhcp_frame *f, const mac *station)
{
	struct dhcps_ask ask;
	gw->dhcps->messages++;
	enum drop why = dhcps_ask_read(gw, &ask, iface, f->data, f->len, f->from, station);
	if (why != DROP_NONE)
		return why;
	if (!is_allowed(gw, iface, &ask)) {
		gw->dhcps->limited++;
		return DROP_DHCPS_LIMITED;
	}
	return dhcps_take(gw, &ask, f->len);
}

/* Another server answers here: two of them give the same addresses to different hosts. */
static enum drop rogue(struct gw *gw, uint32_t iface, const struct dhcp_frame *f,
                       const mac *station)
{
	struct dhcp_message m;
	char text[FMT_IP4], who[FMT_MAC];
	if (dhcp_message_read(&m, f->data, f->len) || m.hdr->op != DHCP_BOOTREPLY)
		return DROP_DHCPS_BAD;
	gw->dhcps->rogues++;
	log_limited(&gw->dhcps->net[iface].said_rogue_us, DHCPS_ROGUE_SAY,
	            "%s.dhcp: there is another DHCP server, %s at %s", gw->iface[iface].name,
	            fmt_ip4(text, f->from), fmt_mac(who, station));
	return DROP_DHCPS_ROGUE;
}

bool dhcps_receive(struct gw *gw, const struct interface *in, struct pkt *p)
{
	const struct eth_hdr *eth = (const struct eth_hdr *)p->data;
	const struct ip4_hdr *h = (const struct ip4_hdr *)(eth + 1);
	uint32_t iface = p->iface;
	struct dhcp_frame f;
	if (!gw->dhcps->net[iface].on)
		return false;
	if (p->len >= sizeof *eth + sizeof(struct arp_hdr) && be16_get(eth->type) == ETH_ARP) {
		const struct arp_hdr *a = (const struct arp_hdr *)(eth + 1);
		if (gw->dhcps->n_probes && !mac_eq(&a->sender_mac, &in->address))
			dhcps_heard(gw, iface, a->sender_ip, &a->sender_mac);
		return false;
	}
	bool asks = dhcp_frame_is(in, p, DHCP_SERVER_PORT);
	bool answers = !asks && dhcp_frame_is(in, p, DHCP_CLIENT_PORT);
	/* A frame to our MAC address may be on its way through us. */
	if ((!asks && !answers) || (!interface_has4(in, h->to) && ip4_raw(h->to) != UINT32_MAX &&
	                            !interface_is_broadcast4(in, h->to)))
		return false;
	const mac station = eth->from;
	enum drop why = dhcp_frame_open(p, &f);
	if (why == DROP_NONE)
		why = asks ? take(gw, iface, &f, &station) : rogue(gw, iface, &f, &station);
	if (why != DROP_NONE)
		gw_drop(gw, p, why);
	pkt_free(p);
	return true;
}
