/* Paths to clients that were answered before.
 *
 * What the slow path finds out about a client (its address is good on this interface and may query,
 * our address is valid, the way back) is noted once. It holds until an address or a route
 * changes. */
#ifndef APPS_DNS64_CLIENT_DNS64_PATH_H
#define APPS_DNS64_CLIENT_DNS64_PATH_H

#include "apps/dns64/shared/dns64_parts.h"
#include "net/client.h"
#include "net/udp/udp_path.h"

#define DNS64_PATH_BITS 11u /* of the number of a path */

struct dns64_paths {
	uint32_t mul[2]; /* secret, odd */
	struct udp_path path[1u << DNS64_PATH_BITS];
};

static inline struct dns64_paths *dns64_paths_of(const struct gw *gw)
{
	return dns64_parts_of(gw)->paths;
}

/* Adding words up is enough of a hash, as in xlat_cache.h. */
static inline uint32_t dns64_path_place6(const struct dns64_paths *d, const ip6 *a)
{
	uint32_t h = (ip6_word(a, 1) + ip6_word(a, 2)) * d->mul[0] + ip6_word(a, 3) * d->mul[1];
	return h >> (32 - DNS64_PATH_BITS);
}

static inline uint32_t dns64_path_place4(const struct dns64_paths *d, ip4 a)
{
	return ip4_raw(a) * d->mul[1] >> (32 - DNS64_PATH_BITS);
}

/* The path from our address `to` to the client `from`; NULL: there is none. */
static inline struct udp_path *dns64_path6(const struct gw *gw, const ip6 *from, const ip6 *to)
{
	struct dns64_paths *d = dns64_paths_of(gw);
	struct udp_path *w = &d->path[dns64_path_place6(d, from)];
	bool same = w->remote.is6 && ip6_eq(&w->remote.v6, from) && ip6_eq(&w->local.v6, to);
	return same && udp_path_holds(gw, w) ? w : NULL;
}

/* The IPv4 form of dns64_path6. */
static inline struct udp_path *dns64_path4(const struct gw *gw, ip4 from, ip4 to)
{
	struct dns64_paths *d = dns64_paths_of(gw);
	struct udp_path *w = &d->path[dns64_path_place4(d, from)];
	bool same = !w->remote.is6 && ip4_eq(w->remote.v4, from) && ip4_eq(w->local.v4, to);
	return same && udp_path_holds(gw, w) ? w : NULL;
}

/* The number of the client at the remote end of an IPv6 path, `next` being the neighbour that it
 * leads to: the same as client_of gives, without its lookups. */
static inline uint32_t dns64_path_client6(const struct gw *gw, const struct udp_path *w,
                                          const struct neigh *next)
{
	return w->next.hop == 0 ? client_station(gw, w->iface, &next->eth.to)
	                        : client_beyond(gw, &w->remote);
}

/* Draws the secret. */
void dns64_path_init(struct gw *gw, struct dns64_paths *d);

/* Notes the path to a client whose query took the slow path and was answered. */
void dns64_path_note(struct gw *gw, const struct udp_ends *e);

/* The path between two ends; NULL: there is none. */
struct udp_path *dns64_path_to(const struct gw *gw, const struct udp_ends *e);

/* The number of the client at the remote end (client_of). */
uint32_t dns64_path_client(struct gw *gw, const struct udp_ends *e);

#endif
