/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files about the hosts: the payload of every packet, and bytes on the wire.
 *
 *   hosts.c     the flows; plain IPv4 and ARP
 *   six.c       the same flows in IPv6, through a 6to4 gateway or a translator; neighbour discovery
 *   dns.c       queries and answers instead
 */
#ifndef HOSTS_H
#define HOSTS_H

#include "gen.h"

enum {
	ETH = 14,
	IP = 20,
	UDP = 8,
	TCP = 20,
	DATA = ETH + IP + UDP, /* of a datagram */
	ARP_LEN = 28,
	IP6 = 40,
	FIRST_PORT = 1024,
	SERVER_PORT = 7000,
	SERVER_PORTS = 49151, /* RFC 4814, section 4.5: from 1 */
	TTL = 64,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	SYN = 0x02,
	PSH = 0x08,
	ACK = 0x10,
	CLIENT_SEQ = 100000, /* of the SYN; every later segment repeats the first byte behind it */
	SERVER_SEQ = 200000,
	MARK_REQUEST = 0xb6a1,
	MARK_ANSWER = 0xb6a2,
};

struct payload {
	uint16_t mark;
	uint32_t flow;
	uint32_t seq;
	uint64_t sent_ns;
} __attribute__((packed));

struct ends {
	uint32_t client, server;
	unsigned port, server_port;
};

/* Do the clients use IPv6 where the servers do not? */
static inline bool is_translated(void)
{
	return plan.mode == MODE_XLAT || plan.mode == MODE_NAT64;
}

/* ---- six.c ---- */

/* IPv6 address of a host of the LAN, or of the gateway there. */
void six_inside(uint8_t *at, uint32_t address);

/* Makes a packet as a host of the side sends it; `size` is the frame size of the IPv4 packet. */
void six_build(struct frame *f, int side, const struct ends *e, const struct payload *p,
               unsigned size);
/* Makes the server's answer to a frame that came out of a tunnel; the caller sets the mark. */
void six_answer(const struct frame *in, struct frame *out, uint16_t mark);
/* The payload of a frame that arrived on the side; NULL if it is not one of our packets. */
const uint8_t *six_payload(int side, const struct frame *f);
/* What is wrong with one of our frames that arrived on the side; NULL if nothing. */
const char *six_wrong(int side, const struct frame *f, const struct ends *e, unsigned size);
/* Answers a neighbour solicitation for one of the clients. */
bool six_neighbour(int side, const struct frame *f, struct frame *reply);
/* Makes a client's request for the gateway's MAC address; the address in an answer, or NULL if it
 * is no answer. */
void six_request(struct frame *f, uint32_t address);
const uint8_t *six_learn(const struct frame *f);

/* ---- dns.c ---- */

/* Makes the next query, for flow `number`. */
void dns_build(struct frame *f, const struct traffic *t, unsigned number, uint64_t now);
/* Answers a query to upstream in *reply, or checks an answer to a client. */
struct arrival dns_accept(int side, const struct frame *f, struct frame *reply);

/* ---- hosts.c ---- */

/* Sets the text of hosts_complaint(). */
void hosts_complain(const char *why);

/* ---- bytes ---- */

static inline void put16(uint8_t *at, unsigned v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

static inline void put32(uint8_t *at, uint32_t v)
{
	put16(at, v >> 16);
	put16(at + 2, v & 0xffff);
}

static inline unsigned get16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

static inline uint32_t get32(const uint8_t *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static inline struct mac mac_of(int side, uint32_t address)
{
	struct mac m = {
	        {0x02, 0xba, 0x6e, (uint8_t)side, (uint8_t)(address >> 8), (uint8_t)address}};

	return m;
}

static inline uint32_t add_words(uint32_t sum, const uint8_t *at, unsigned len)
{
	for (; len > 1; at += 2, len -= 2)
		sum += get16(at);
	if (len != 0)
		sum += (unsigned)at[0] << 8;
	return sum;
}

static inline unsigned fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

#endif
