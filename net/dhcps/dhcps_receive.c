/* See dhcps_receive.h. */
#include "net/dhcps/dhcps_receive.h"

#include "kernel/lib/bucket.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/dhcp/dhcp_frame.h"
#include "net/dhcps/dhcps.h"

#define SAY_MS 60000u

/* Messages of one client, of all behind one relay agent, and of all of a network: 1,000 leases a
 * second are 2,000 messages. */
static const struct bucket of_client = {.token_us = 50000, .depth_us = 1000000};
static const struct bucket of_agent = {.token_us = 5000, .depth_us = 1000000};
static const struct bucket of_net = {.token_us = 250, .depth_us = 500000};

static bool take_token(const struct gw *gw, const struct bucket *b, uint64_t *full_us)
{
	uint32_t owed = bucket_owed(gw->clock.us, *full_us);
	bool taken = bucket_take(b, &owed, 1);
	*full_us = gw->clock.us + owed;
	return taken;
}

/* The place of a client's bucket, which depends on who sent its frames too: messages that only name
 * it take nothing of it. */
static uint64_t *bucket_at(struct gw *gw, const struct dhcps_who *who)
{
	uint32_t w[3];
	_Static_assert(sizeof w == sizeof *who, "two MAC addresses");
	memcpy(w, who, sizeof w);
	return &gw->dhcps->bucket_us[hash_words(&gw->client_key, w, 3) % DHCPS_BUCKETS];
}

static bool is_allowed(struct gw *gw, uint32_t iface, const struct dhcps_ask *ask)
{
	const struct dhcps_who agent = {.agent = ask->who.agent};
	if (ask->relayed && !take_token(gw, &of_agent, bucket_at(gw, &agent)))
		return false;
	return take_token(gw, &of_client, bucket_at(gw, &ask->who)) &&
	       take_token(gw, &of_net, &gw->dhcps->net[iface].bucket_us);
}

/* Says why a message is dropped. That nothing is wrong with one for another server goes without
 * saying. */
static void say(struct gw *gw, uint32_t iface, const struct dhcps_ask *ask, const mac *station,
                enum drop why)
{
	struct dhcps_net *net = &gw->dhcps->net[iface];
	const char *name = gw->iface[iface].name;
	char who[FMT_MAC], agent[FMT_IP4];
	fmt_mac(who, station);
	if (why == DROP_DHCPS_BAD)
		log_limited(&net->said_bad_us, SAY_MS, "%s.dhcp: message of %s: %s", name, who,
		            ask->wrong ? ask->wrong : "it has no address of this network");
	else if (why == DROP_DHCPS_LIMITED)
		log_limited(&net->said_limited_us, SAY_MS, "%s.dhcp: too many messages of %s", name,
		            who);
	else if (ask->relayed)
		log_limited(&net->said_relay_us, SAY_MS,
		            "%s.dhcp: relay agent %s at %s has no address of this network", name,
		            fmt_ip4(agent, ask->m.hdr->giaddr), who);
}

static enum drop take(struct gw *gw, uint32_t iface, const struct dhcp_frame *f, const mac *station)
{
	struct dhcps_ask ask;
	gw->dhcps->messages++;
	enum drop why = dhcps_ask_read(gw, &ask, iface, f->data, f->len, f->from, station);
	if (why == DROP_NONE && !is_allowed(gw, iface, &ask)) {
		gw->dhcps->limited++;
		why = DROP_DHCPS_LIMITED;
	}
	if (why != DROP_NONE) {
		say(gw, iface, &ask, station, why);
		return why;
	}
	why = dhcps_take(gw, &ask, f->len);
	if (why == DROP_DHCPS_BAD)
		say(gw, iface, &ask, station, why);
	return why;
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
