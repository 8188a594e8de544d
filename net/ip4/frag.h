/* Fragments of IPv4 packets that pass through a translation, without reassembly. The first
 * fragment has the ports and decides what happens to the packet; the later ones follow that
 * decision, in whatever order they come (RFC 4787 REQ-14).
 *
 * Later fragments that come before the first one are parked. Their number is limited for
 * each packet and for all together, and so is the time. A flood of fragments without a
 * first one uses only its own entries (REQ-14a). Nothing is copied into larger buffers.
 *
 * Not implemented on purpose: a check for overlaps; the host that reassembles does that
 * (RFC 5722 for IPv6; for IPv4 the first fragment must contain the whole transport header,
 * and no other may begin inside it, RFC 3128). */
#ifndef NET_IP4_FRAG_H
#define NET_IP4_FRAG_H

#include "net/gw.h"

void frag_init(struct gw *gw);

/* The key of the fragment p, which is not changed yet. */
struct frag_key frag_key(const struct pkt *p);

/* The entry with a decision for a key, NULL when there is none yet. A packet that has
 * passed completely has none any more: a further fragment belongs to the next packet with
 * that key. */
struct frag *frag_known(struct gw *gw, const struct frag_key *key);

/* Notes that a fragment passes by the decision. p is not changed yet or has new addresses
 * only. The entry of a complete packet is reused first. */
void frag_count(struct frag *f, const struct pkt *p);

/* Gives the entry for the decision about a first fragment. n_seen is not 0 when there is a
 * decision already: the first fragment came twice. The caller sets new_id and new_addr,
 * counts and sends the first fragment, and then calls frag_release. */
struct frag *frag_decide(struct gw *gw, const struct frag_key *key);

/* Reinjects the fragments that waited for the first one. */
void frag_release(struct gw *gw, struct frag *f);

/* Parks a later fragment until the first one comes. True when it is parked; false, and it
 * stays the caller's, when there is no room. */
bool frag_park(struct gw *gw, struct pkt *p);

/* Forgets all decisions, which may hold an address that is no longer ours, and drops what waits. */
void frag_forget_all(struct gw *gw);

/* Frees entries whose time is over. Called in the tick. */
void frag_tick(struct gw *gw);

#endif
