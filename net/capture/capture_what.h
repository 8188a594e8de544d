/* Which packets somebody wants to see. */
#ifndef NET_CAPTURE_CAPTURE_WHAT_H
#define NET_CAPTURE_CAPTURE_WHAT_H

#include "kernel/lib/addr.h"

struct gw;

#define CAPTURE_WHAT 80u /* bytes of the text of a selection, with NUL */

enum capture_of {
	CAPTURE_ALL,   /* what passed the interfaces */
	CAPTURE_DROPS, /* what was dropped */
	CAPTURE_IFACE, /* what passed one interface */
};

/* A selection. All zeros: all that passed the interfaces. */
struct capture_what {
	uint8_t of; /* enum capture_of */
	uint8_t iface;
	bool has_end; /* only packets from or to this endpoint */
	struct addr addr;
	uint32_t port; /* host order; 0: any */
};

/* Where a packet comes from and goes to. */
struct capture_ends {
	bool is6;
	uint8_t proto;
	const uint8_t *from, *to; /* addresses */
	const uint8_t *l4; /* transport header; NULL where it is not there (a later fragment) */
	uint32_t n_l4;     /* bytes there */
};

/* Reads a selection: `of` is "" or "all", "drops", or the name of an interface; `end` is "",
 * ADDRESS, ADDRESS:PORT, or [ADDRESS]:PORT. False when it is none; then *out is as it was. */
bool capture_what_parse(const struct gw *gw, const char *of, const char *end,
                        struct capture_what *out) MUST_USE;

/* Writes a selection in words, such as `drops of 192.0.2.1:80`. */
void capture_what_text(const struct gw *gw, const struct capture_what *what,
                       char buf[CAPTURE_WHAT]);

/* Finds the ends of an IP packet of n bytes; false when it is none. Nothing is checked but lengths.
 */
bool capture_what_ends(const uint8_t *ip, uint32_t n, struct capture_ends *out) MUST_USE;

/* True when the IP packet of n bytes goes from or to the endpoint of `what`, or is a tunnel's
 * packet or an ICMP error about such a packet. A later fragment has no ports: its address counts
 * alone. */
bool capture_what_has(const struct capture_what *what, const uint8_t *ip, uint32_t n) MUST_USE;

#endif
