/* What the gateway advertises as a router. See ra.h. */
#ifndef NET_RA_RA_STATE_H
#define NET_RA_RA_STATE_H

#include "net/ra/ra_keys.h"
#include "kernel/lib/bytes.h"

#define RA_PREFIXES 4u
#define RA_ANSWERS  4u /* stations that wait for an answer of their own */

struct ra_prefix {
	ip6 net;
	uint8_t len;
	uint8_t flags; /* ND_PREFIX_… */
	bool deprecated;
	uint32_t valid_s, preferred_s; /* advertised lifetimes; while deprecated: */
	uint32_t until_s;              /* gateway's time when it ends */
	/* A delegated prefix: its lifetimes end then (gw->clock.us) at the latest. */
	bool leased;
	uint64_t valid_us, preferred_us;
};

/* What one interface advertises. */
struct ra {
	bool on;
	uint16_t lifetime_s; /* as default router; 0: it is not one */
	uint8_t preference;  /* RA_PREF_… */
	uint32_t mtu;        /* 0: not advertised */
	struct ra_prefix prefix[RA_PREFIXES];
	uint32_t n_prefixes;
	/* Advertised when lan.rdnss and lan.pref64 are not set. */
	bool has_dns, has_gone_dns; /* gone_dns: hosts must forget it (RFC 8106 section 5.1) */
	ip6 gone_dns;
	ip6 dns;
	struct prefix pref64[RA_PREF64];
	uint32_t n_pref64;
	bool pref64_gone;                /* hosts must leave them (RFC 8781 section 4) … */
	struct prefix gone64[RA_PREF64]; /* … and those that were advertised before */
	uint32_t n_gone64;

	uint32_t apart_ms; /* no advertisement to all nodes before this time */
	uint32_t next_ms;  /* time of the next one to all nodes */
	uint32_t n_first;  /* how many of the first ones, at shorter intervals, were sent */
	struct {
		bool waits;
		ip6 to;
		uint32_t due_ms;
	} answer[RA_ANSWERS];
	uint64_t other_us; /* last log line about another router */
};

#endif
