/* Frames with DHCP messages, for client and server: a station may have no address yet, so they do
 * not pass the IP path (RFC 2131 section 4.1). */
#ifndef NET_DHCP_DHCP_FRAME_H
#define NET_DHCP_DHCP_FRAME_H

#include "net/gw.h"

/* A DHCP message of a frame; it points into the frame's packet. */
struct dhcp_frame {
	const uint8_t *data; /* payload of UDP */
	uint32_t len;
	ip4 from, to;
};

/* True for a whole datagram without IP options to a port (host order) that reached this interface:
 * to its MAC address or to a group. The frame, data at its Ethernet header, is not checked further.
 */
bool dhcp_frame_is(const struct interface *in, const struct pkt *p, uint16_t to_port);

/* Checks IP and UDP headers of such a frame and says where its message is. Gives DROP_NONE, or what
 * is wrong. The packet's data then begins with the IP header. */
enum drop dhcp_frame_open(struct pkt *p, struct dhcp_frame *f);

/* Puts UDP, IP and Ethernet headers in front of a message and sends it to a station on an
 * interface. Ports are in host order. Takes the packet. */
void dhcp_frame_send(struct gw *gw, uint32_t iface, struct pkt *p, const mac *station, ip4 from,
                     ip4 to, uint16_t from_port, uint16_t to_port);

extern const mac dhcp_frame_all; /* all stations */

#endif
