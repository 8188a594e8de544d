/* Fragments of IPv4 packets on their way through a translation, without
 * reassembly: the first fragment has the ports and decides what becomes of the
 * packet; the later ones follow that decision, in whatever order they come
 * (RFC 4787 REQ-14).
 *
 * Later fragments that come before the first wait for it, few and not for long:
 * each packet's, and all together, are capped, and a flood of fragments
 * without a first one takes only its own places (REQ-14a). Nothing is copied
 * into larger buffers.
 *
 * Left out on purpose: checking for overlaps; the host that reassembles does
 * that (RFC 5722 for IPv6; for IPv4 the first fragment must hold the whole
 * transport header and none may begin inside it, RFC 3128). */
#ifndef NET_IP4_FRAG_H
#define NET_IP4_FRAG_H

#include "net/gw.h"

void frag_init(struct gw *gw);

/* The key of the fragment p, before it is changed. */
struct frag_key frag_key(const struct pkt *p);

/* The entry with a decision, NULL when there is none yet. A packet that was seen
 * whole needs it no more: what comes then is a piece of the next one. */
struct frag *frag_known(struct gw *gw, const struct frag_key *key);

/* A fragment takes the way that was decided: notes how much of the packet has
 * passed. A packet that is complete gives its place away first. */
void frag_count(struct frag *f, const struct pkt *p);

/* The place for the decision about a first fragment. Where n_seen is not 0 it has
 * one already: the first fragment came twice. The caller fills new_id and new_addr
 * in, counts and sends the first fragment, and then calls frag_release. */
struct frag *frag_decide(struct gw *gw, const struct frag_key *key);

/* Lets go what waited for the first fragment: each goes through the application
 * once more. */
void frag_release(struct gw *gw, struct frag *f);

/* A later fragment before the first: true when it waits now, false (it stays
 * the caller's) when there is no room. */
bool frag_park(struct gw *gw, struct pkt *p);

/* Ends what has waited or lived long enough. */
void frag_tick(struct gw *gw);

#endif
