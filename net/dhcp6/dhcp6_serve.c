/* See dhcp6_serve.h. */
#include "net/dhcp6/dhcp6_serve.h"

#include "net/dhcp6/dhcp6_message.h"
#include "net/dhcp6/dhcp6_send.h"
#include "net/ip6/mld.h"
#include "net/ra/ra.h"

#define ROOM      1232u /* what every link carries */
#define REFRESH_S RA_LIFETIME_S

void dhcp6_serve_tick(struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		bool *listens = &gw->dhcp6_server.listens[i], serves = ra_tells_dns(gw, i);
		if (serves && !*listens)
			mld_join(gw, i, &dhcp6_all_servers);
		else if (!serves && *listens)
			mld_leave(gw, i, &dhcp6_all_servers);
		*listens = serves;
	}
}

/* What is wrong with an Information-request (section 16.12). */
static bool is_odd(struct dhcp6_options all, const uint8_t duid[static DHCP6_DUID_LEN])
{
	struct dhcp6_option o;
	if (dhcp6_find(all, DHCP6_SERVER_ID, &o) &&
	    (o.len != DHCP6_DUID_LEN || memcmp(o.data, duid, DHCP6_DUID_LEN) != 0))
		return true;
	return dhcp6_find(all, DHCP6_IA_NA, &o) || dhcp6_find(all, DHCP6_IA_TA, &o) ||
	       dhcp6_find(all, DHCP6_IA_PD, &o);
}

/* What the host asks for, of what there is. */
static void put_answers(const struct gw *gw, uint32_t iface, struct dhcp6_build *b,
                        struct dhcp6_options all)
{
	ip6 servers[RA_SERVERS];
	uint8_t names[RA_DOMAINS * (CONFIG_DOMAIN + 2)];
	uint32_t n = ra_servers(gw, iface, servers);
	if (n && dhcp6_asks(all, DHCP6_DNS))
		dhcp6_build_put(b, DHCP6_DNS, servers, n * (uint32_t)sizeof(ip6));
	n = ra_domains(gw, iface, names);
	if (n && dhcp6_asks(all, DHCP6_SEARCH))
		dhcp6_build_put(b, DHCP6_SEARCH, names, n);
	if (dhcp6_asks(all, DHCP6_REFRESH))
		dhcp6_build_put32(b, DHCP6_REFRESH, REFRESH_S);
}

enum drop dhcp6_serve(struct gw *gw, uint32_t iface, const uint8_t *data, uint32_t len,
                      const ip6 *from, bool group)
{
	uint8_t answer[ROOM], duid[DHCP6_DUID_LEN];
	struct dhcp6_option id;
	struct dhcp6_build b;
	struct dhcp6_options all = {data + DHCP6_HEADER, len - DHCP6_HEADER};
	if (len < DHCP6_HEADER || !dhcp6_whole(all))
		return DROP_DHCP6_BAD;
	/* Section 18.4: none that is sent to us alone. */
	if (data[0] != DHCP6_INFORMATION_REQUEST || !group)
		return DROP_DHCP6_NOT_SERVED;
	dhcp6_duid(&gw->iface[IF_WAN].address, duid);
	if (is_odd(all, duid))
		return DROP_DHCP6_BAD;
	dhcp6_build_start(&b, answer, sizeof answer, DHCP6_REPLY, dhcp6_u32(data) & 0xffffff);
	dhcp6_build_put(&b, DHCP6_SERVER_ID, duid, sizeof duid);
	if (dhcp6_find(all, DHCP6_CLIENT_ID, &id)) {
		if (id.len > 130)
			return DROP_DHCP6_BAD;
		dhcp6_build_put(&b, DHCP6_CLIENT_ID, id.data, id.len);
	}
	put_answers(gw, iface, &b, all);
	gw->dhcp6_server.answered++;
	dhcp6_send_bytes(gw, iface, from, DHCP6_SERVER_PORT, DHCP6_CLIENT_PORT, answer, b.n);
	return DROP_NONE;
}
