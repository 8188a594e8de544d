/* Router advertisements (RFC 4861 section 6.2), with router preference (RFC 4191), DNS
 * servers and search domains (RFC 8106), and prefixes of translators (PREF64, RFC 8781).
 *
 * An application starts them on an interface and sets the prefixes; everything else comes
 * from the configuration (lan.ra, lan.rdnss, lan.dnssl, lan.pref64).
 *
 * Not implemented on purpose: managed addresses (stateful DHCPv6; net/dhcp6 answers questions for
 * the rest), and learning from other routers; a router that advertises on our link is logged. */
#ifndef NET_RA_RA_H
#define NET_RA_RA_H

#include "net/gw.h"
#include "net/ra/ra_keys.h"

/* Lifetimes of a prefix that stays (RFC 4861 section 6.2.1), and how long hosts keep a
 * prefix that is withdrawn (RFC 4862 section 5.5.3 (e)). */
#define RA_VALID_S     2592000u
#define RA_PREFERRED_S 604800u
#define RA_LEAVING_S   7200u
/* Of a delegated prefix (RFC 9096 section 3.4). */
#define RA_LEASED_VALID_S     5400u
#define RA_LEASED_PREFERRED_S 2700u
#define RA_LIFETIME_S         1800u /* three times the longest interval */

/* Starts advertising on an interface if the configuration says so. lifetime_s is that of
 * the default router, mtu 0: none. Called in the application's init. */
void ra_start(struct gw *gw, uint32_t iface, uint16_t lifetime_s, uint8_t preference, uint32_t mtu);

/* Advertises for a forwarder that routes IPv6: on each inside interface with a global address its
 * networks, and this gateway as default router where `leads` says that there is a way out (RFC 7084
 * G-4). For a forwarder's init and changed. False when there are too many networks. */
bool ra_advertise_inside(struct gw *gw, bool leads) MUST_USE;

/* Set a DNS server (NULL: none), and prefixes of a translator (PREF64), which are advertised unless
 * the configuration has others; `works` false: their lifetime is 0, so that hosts leave them. So
 * is that of those which were set before. For init and changed of forwarders and services. Prefixes
 * beyond RA_PREF64 are ignored. */
void ra_set_dns(struct gw *gw, uint32_t iface, const ip6 *server);
void ra_set_pref64(struct gw *gw, uint32_t iface, const struct prefix *pref64, uint32_t n,
                   bool works);

/* Adds a prefix, or changes the lifetimes of an advertised one; all nodes are informed
 * soon. Where there are too many, it takes the place of the one deprecated first; false when none
 * is deprecated. */
bool ra_set_prefix(struct gw *gw, uint32_t iface, const ip6 *net, uint8_t len, uint8_t flags,
                   uint32_t valid_s, uint32_t preferred_s) MUST_USE;

/* Advertises the networks of all addresses of an interface but link-local ones, with these flags,
 * and deprecates what was advertised and is no longer one of them. False when there are too many.
 */
bool ra_follow(struct gw *gw, uint32_t iface, uint8_t flags) MUST_USE;

/* Says that an advertised prefix of 64 bits is delegated: its lifetimes are short and end at these
 * times at the latest (gw->clock.us). When it is no longer one of ours both are 0 (RFC 9096 section
 * 3.5). Nothing where the prefix is not advertised. */
void ra_lease(struct gw *gw, uint32_t iface, const ip6 *net, uint64_t valid_us,
              uint64_t preferred_us);

/* What hosts of an interface are told about DNS: writes the servers and gives their number; writes
 * search domains as labels (RFC 1035 section 3.1) and gives the number of bytes. */
uint32_t ra_servers(const struct gw *gw, uint32_t iface, ip6 out[static RA_SERVERS]);
uint32_t ra_domains(const struct gw *gw, uint32_t iface,
                    uint8_t out[static RA_DOMAINS * (CONFIG_DOMAIN + 2)]);

/* True when hosts of an inside interface are told anything about DNS. They may ask for it by DHCPv6
 * too (net/dhcp6): the flag O says so. */
bool ra_tells_dns(const struct gw *gw, uint32_t iface);

/* True when hosts of an inside interface are told the prefix of a translator, which works. */
bool ra_tells_pref64(const struct gw *gw, uint32_t iface);

/* True for an address in a prefix that was advertised and is not one of ours any more. */
bool ra_was_ours(const struct gw *gw, uint32_t iface, const ip6 *a);

/* Deprecates a prefix: hosts open no new connections from it, and keep old ones for two
 * hours at most. */
void ra_deprecate(struct gw *gw, uint32_t iface, const ip6 *net, uint8_t len);

/* Handle a router solicitation or advertisement whose hop limit, code and extension headers
 * nd_input checked. The packet stays the caller's. Give DROP_NONE or what is wrong. */
enum drop ra_solicited(struct gw *gw, const struct pkt *p);
enum drop ra_heard(struct gw *gw, const struct pkt *p);

/* Advertises again soon: the carrier came up, or the interface got its link-local address. */
void ra_restart(struct gw *gw, uint32_t iface);

/* Runs the timers; called about ten times a second. */
void ra_tick(struct gw *gw);
/* True while a station waits for an answer of its own, or an advertisement to all is due within
 * half a second. */
bool ra_is_busy(const struct gw *gw);

/* Informs the hosts of all interfaces that this router and its prefixes end (RFC 4861
 * section 6.2.5). After a restart the router may have other prefixes. If it has the same ones, it
 * advertises them again. */
void ra_stop(struct gw *gw);

#endif
