/* What the gateway advertises as a router. See ra.h. */
#ifndef NET_IP6_RA_STATE_H
#define NET_IP6_RA_STATE_H

#include "kernel/config/config.h"
#include "kernel/lib/bytes.h"

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
	struct prefix pref64[CONFIG_PREF64];
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

#endif
