/* Messages of the DHCP client (RFC 2131 section 4.4.1, table 5). */
#ifndef NET_DHCP_DHCP_SEND_H
#define NET_DHCP_DHCP_SEND_H

#include "net/dhcp/dhcp_message.h"
#include "net/gw.h"

#define DHCP_CLIENT_ID_MAX 19u

/* Writes the client identifier (RFC 4361 section 6.1, or RFC 2132 section 9.14) and gives its
 * length. */
uint32_t dhcp_send_client_id(const struct gw *gw, uint8_t out[DHCP_CLIENT_ID_MAX]);

/* What a message says beside its type; zero: nothing. */
struct dhcp_say {
	ip4 ciaddr;         /* our address, where it is in force; then the message is from it */
	ip4 address;        /* option: the address that we want */
	ip4 server_id;      /* option: the server that we mean */
	ip4 to;             /* the server; zero: all of them */
	const mac *station; /* that gets the frame to `to`; NULL: the next hop */
	const char *why;    /* option: words for a person; NULL: none */
};

/* Sends a message on the WAN with the transaction identifier of the client. */
void dhcp_send(struct gw *gw, enum dhcp_type type, const struct dhcp_say *say);

#endif
