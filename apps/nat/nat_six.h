/* Native IPv6 beside the NAT of `nat`: routed between WAN and LAN, through the filter of
 * net/filter6. It is there where the configuration has an IPv6 address on some interface. */
#ifndef APPS_NAT_NAT_SIX_H
#define APPS_NAT_NAT_SIX_H

#include "apps/nat/nat.h"
#include "net/filter6/filter6.h"

/* What gw->state of the forwarder `nat` is. */
struct nat_app {
	struct nat nat;
	struct filter6 filter;
};

/* Sets up the filter, and the advertisements of the inside. NULL, or what is wrong. */
const char *nat_six_init(struct gw *gw);

/* The hooks of struct forwarder; changed, tick and show call those of the NAT as well. */
enum verdict nat_six_ip6(struct gw *gw, struct pkt *p);
void nat_six_changed(struct gw *gw);
bool nat_six_tick(struct gw *gw);
bool nat_six_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size);
extern const struct count_table nat_six_counts;

#endif
