/* Router advertisements (RFC 4861 section 6.2), with router preference (RFC 4191),
 * DNS servers and search domains (RFC 8106), and NAT64 prefixes (RFC 8781).
 *
 * An application starts them on a port and says which prefixes there are; the rest is
 * the configuration's (lan.ra, lan.rdnss, lan.dnssl, lan.pref64).
 *
 * Left out on purpose: managed addresses (DHCPv6), and learning from other routers;
 * one that advertises itself on our port is logged. */
#ifndef NET_IP6_RA_H
#define NET_IP6_RA_H

#include "net/drop.h"
#include "net/ip6/ra_keys.h"
#include "net/wire.h"

#define RA_PREFIXES 4u
#define RA_ANSWERS  4u /* single stations that wait for one */

struct ra_prefix {
	ip6 net;
	uint8_t len;
	uint8_t flags; /* ND_PREFIX_… */
	bool deprecated;
	uint32_t valid_s, preferred_s; /* lifetimes told; while deprecated: */
	uint32_t until_s;              /* gateway's time when it ends */
};

/* What one port advertises. */
struct ra {
	bool on;
	uint16_t lifetime_s; /* as default router; 0: it is none */
	uint8_t preference;  /* RA_PREF_… */
	uint32_t mtu;        /* 0: not told */
	struct ra_prefix prefix[RA_PREFIXES];
	uint32_t n_prefixes;
	/* Told where lan.rdnss and lan.pref64 say nothing. */
	bool has_dns;
	ip6 dns;
	struct prefix pref64[RA_PREF64];
	uint32_t n_pref64;

	uint32_t apart_ms; /* not before: one to all nodes was sent lately */
	uint32_t next_ms;  /* the next */
	uint32_t n_first;  /* of the first few, which come sooner */
	struct {
		bool waits;
		ip6 to;
		uint32_t due_ms;
	} answer[RA_ANSWERS];
	uint64_t other_us; /* last word about another router */
};

struct gw;
struct pkt;

/* Lifetimes of a prefix that stays (RFC 4861 section 6.2.1), and how long hosts keep
 * one that goes (RFC 4862 section 5.5.3 (e)). */
#define RA_VALID_S     2592000u
#define RA_PREFERRED_S 604800u
#define RA_LEAVING_S   7200u
#define RA_LIFETIME_S  1800u /* three of the longest intervals between two */

/* Starts advertising on a port, if the configuration wants it: from the application's
 * init. */
void ra_start(struct gw *gw, uint32_t iface, uint16_t lifetime_s, uint8_t preference, uint32_t mtu);

/* A DNS server and NAT64 prefixes of the application's own, told unless the configuration
 * names others. From its init; prefixes beyond RA_PREF64 are left out. */
void ra_set_dns(struct gw *gw, uint32_t iface, const ip6 *server, const struct prefix *pref64,
                uint32_t n);

/* Adds a prefix, or changes the lifetimes of one that is advertised; soon told to all.
 * False when there are too many. */
bool ra_set_prefix(struct gw *gw, uint32_t iface, const ip6 *net, uint8_t len, uint8_t flags,
                   uint32_t valid_s, uint32_t preferred_s) MUST_USE;

/* A prefix goes: no new connections from it, old ones for two hours at most. */
void ra_deprecate(struct gw *gw, uint32_t iface, const ip6 *net, uint8_t len);

/* A router solicitation or advertisement that nd_input found well-formed so far (hop
 * limit, code, extension headers); the packet stays the caller's. */
enum drop ra_solicited(struct gw *gw, const struct pkt *p);
enum drop ra_heard(struct gw *gw, const struct pkt *p);

/* The link came up, or the port got its link-local address. */
void ra_restart(struct gw *gw, uint32_t iface);

/* Timers, about ten times a second. */
void ra_tick(struct gw *gw);

/* Tells the hosts of all ports that this router goes (RFC 4861 section 6.2.5), and its
 * prefixes with it: another start may have others, and advertises these anew if not. */
void ra_stop(struct gw *gw);

#endif
