/* VLANs (IEEE 802.1Q-2018): interfaces that share a card.
 *
 * Each interface has a VLAN of its card (1 to 4094) or the frames without a tag. It has the card's
 * MAC address, and counters of its own, which count frames without their tags. Priorities in tags
 * are not looked at, and those sent have none. The first of the interfaces that share a card
 * stands for the card: frames of all of them come in by its number. A card without tagged
 * interfaces costs nothing here: gw_frame meets its tagged frames where it looks at the type.
 *
 * Left out on purpose: tags in tags (802.1ad), priorities, and registration of VLANs (MVRP). */
#ifndef NET_VLAN_VLAN_H
#define NET_VLAN_VLAN_H

#include "net/gw.h"

#define VLAN_IDS     4096u   /* 0: the frames without a tag */
#define VLAN_LAST    4094u   /* the largest number that a network may have */
#define VLAN_TAG     PKT_TAG /* bytes of a tag: its type, then priority and number */
#define VLAN_NO_ONES 0xffu   /* no interface has that VLAN */

/* Of a card with tagged interfaces: the interface of each VLAN. */
struct vlan_card {
	uint8_t of[VLAN_IDS];
};

/* Takes the VLANs of all interfaces from the configuration and makes the tables of their cards,
 * from alloc(). iface[].card is set: the first interface with the same card. Gives NULL, or the
 * text of what is wrong (static). */
const char *vlan_init(struct gw *gw);

/* Handles n frames, in order, that came in on a card with tagged interfaces (iface[card].vlans is
 * not NULL), as gw_input and gw_input_partial do. A tag without a number (priority alone) is as
 * none. Takes the packets. */
void vlan_input(struct gw *gw, uint32_t card, struct pkt **burst, uint32_t n);

/* Puts the tag of an interface into n frames that its card is about to send, partial packets among
 * them where iface->partial is set. Each has VLAN_TAG bytes of headroom (pkt_push_ethernet). A
 * frame of a bridge may become longer than 1518 bytes. */
void vlan_tag(const struct interface *iface, struct pkt **burst, uint32_t n);

/* Takes the tag out again of frames that the card has refused. */
void vlan_untag(const struct interface *iface, struct pkt **burst, uint32_t n);

/* Handles a frame that has a tag although nobody expects one, data behind its Ethernet header. On a
 * card without tagged interfaces a tag without a number is taken off, and the frame handled once
 * more. All others are dropped. Takes the packet. */
void vlan_unexpected(struct gw *gw, const struct interface *in, struct pkt *p);

#endif
