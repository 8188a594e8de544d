/* The headers of all protocols, as they stand in a frame. All fields are byte arrays (bytes.h), so
 * the structs have alignment 1 and no padding. */
#ifndef NET_LIB_WIRE_H
#define NET_LIB_WIRE_H

#include "kernel/lib/bytes.h"

/* Ethernet II (IEEE 802.3, 3.2.6). */
struct eth_hdr {
	mac to;
	mac from;
	be16 type;
};
_Static_assert(sizeof(struct eth_hdr) == 14, "Ethernet header");

enum { ETH_MIN = 60 }; /* shortest frame, without FCS */
enum {
	ETH_IP4 = 0x0800,
	ETH_ARP = 0x0806,
	ETH_VLAN = 0x8100,
	ETH_IP6 = 0x86dd,
	ETH_PROVIDER = 0x88a8, /* the outer tag of 802.1ad */
};

/* ARP for IPv4 over Ethernet (RFC 826). */
struct arp_hdr {
	be16 hardware; /* 1 */
	be16 protocol; /* 0x0800 */
	uint8_t hardware_len;
	uint8_t protocol_len;
	be16 operation;
	mac sender_mac;
	ip4 sender_ip;
	mac target_mac;
	ip4 target_ip;
};
_Static_assert(sizeof(struct arp_hdr) == 28, "ARP packet");

enum { ARP_REQUEST = 1, ARP_REPLY = 2 };

/* IPv4 (RFC 791, section 3.1). */
struct ip4_hdr {
	uint8_t version_ihl;
	uint8_t tos;
	be16 len;
	be16 id;
	be16 frag; /* flags and offset in units of 8 bytes */
	uint8_t ttl;
	uint8_t proto;
	be16 sum;
	ip4 from;
	ip4 to;
};
_Static_assert(sizeof(struct ip4_hdr) == 20, "IPv4 header");

enum { IP4_DF = 0x4000, IP4_MF = 0x2000, IP4_OFFSET = 0x1fff };
enum { IP4_MIN = 20, IP4_TTL = 64 };
enum {
	IP4_OPT_END = 0,
	IP4_OPT_NOP = 1,
	IP4_OPT_RECORD = 7,
	IP4_OPT_TIMESTAMP = 68,
	IP4_OPT_LSRR = 131,
	IP4_OPT_SSRR = 137
};

/* IPv6 (RFC 8200 section 3). */
struct ip6_hdr {
	be32 first; /* version, traffic class, flow label */
	be16 len;   /* bytes behind this header */
	uint8_t next;
	uint8_t hops;
	ip6 from;
	ip6 to;
};
_Static_assert(sizeof(struct ip6_hdr) == 40, "IPv6 header");

enum { IP6_MIN = 40, IP6_HOPS = 64, IP6_ND_HOPS = 255 };
enum { IP6_MTU_MIN = 1280 }; /* every link carries packets of this size (RFC 8200 section 5) */

/* The start of hop-by-hop options, routing and destination options headers (RFC 8200 section 4);
 * `len` counts units of 8 bytes after the first. */
struct ip6_ext {
	uint8_t next;
	uint8_t len;
	uint8_t kind; /* routing header: its type */
	uint8_t left; /* routing header: segments left */
	be32 data;
};
_Static_assert(sizeof(struct ip6_ext) == 8, "IPv6 extension header");

/* RFC 8200 section 4.5. */
struct ip6_frag {
	uint8_t next;
	uint8_t reserved;
	be16 offset; /* in units of 8 bytes, in the upper 13 bits; the lowest: more follow */
	be32 id;
};
_Static_assert(sizeof(struct ip6_frag) == 8, "IPv6 fragment header");

enum { IP6_MF = 1, IP6_OFFSET = 0xfff8 };
enum { IP6_OPT_PAD1 = 0, IP6_OPT_PADN = 1, IP6_OPT_ALERT = 5 };

enum { PROTO_ICMP = 1, PROTO_IGMP = 2, PROTO_IP4 = 4, PROTO_TCP = 6, PROTO_UDP = 17 };
enum { PROTO_DCCP = 33, PROTO_IP6 = 41, PROTO_AH = 51, PROTO_SCTP = 132, PROTO_UDPLITE = 136 };
enum { PROTO_MOBILITY = 135, PROTO_HIP = 139, PROTO_SHIM6 = 140 }; /* extension headers */
enum { PROTO_HOP_BY_HOP = 0, PROTO_ROUTING = 43, PROTO_FRAGMENT = 44, PROTO_ICMP6 = 58 };
enum { PROTO_NONE = 59, PROTO_DESTINATION = 60 }; /* no next header; destination options */

/* UDP (RFC 768). */
struct udp_hdr {
	be16 from;
	be16 to;
	be16 len;
	be16 sum;
};
_Static_assert(sizeof(struct udp_hdr) == 8, "UDP header");

/* TCP (RFC 9293, section 3.1). */
struct tcp_hdr {
	be16 from;
	be16 to;
	be32 seq;
	be32 ack;
	uint8_t offset; /* header length in words, upper four bits */
	uint8_t flags;
	be16 window;
	be16 sum;
	be16 urgent;
};
_Static_assert(sizeof(struct tcp_hdr) == 20, "TCP header");

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_PSH = 8, TCP_ACK = 16, TCP_URG = 32 };
enum { TCP_CWR = 128 }; /* RFC 3168 section 6.1.2 */

/* ICMP (RFC 792); `rest` is identifier and sequence number, or unused and MTU. */
struct icmp_hdr {
	uint8_t type;
	uint8_t code;
	be16 sum;
	be16 id;
	be16 seq; /* next-hop MTU in 3/4 (RFC 1191) */
};
_Static_assert(sizeof(struct icmp_hdr) == 8, "ICMP header");

enum {
	ICMP_ECHO_REPLY = 0,
	ICMP_UNREACHABLE = 3,
	ICMP_QUENCH = 4,
	ICMP_REDIRECT = 5,
	ICMP_ECHO = 8,
	ICMP_TIME_EXCEEDED = 11,
	ICMP_PARAMETER = 12,
	ICMP_TIMESTAMP = 13,
	ICMP_TIMESTAMP_REPLY = 14,
};
/* Codes of ICMP_UNREACHABLE (RFC 792, RFC 1812 section 5.2.7.1). */
enum {
	ICMP_NET = 0,
	ICMP_HOST = 1,
	ICMP_PROTOCOL = 2,
	ICMP_PORT = 3,
	ICMP_TOO_BIG = 4,
	ICMP_SOURCE_ROUTE = 5,
	ICMP_NET_UNKNOWN = 6,
	ICMP_NET_ADMIN = 9,
	ICMP_HOST_ADMIN = 10,
	ICMP_NET_TOS = 11,
	ICMP_ADMIN = 13,
};

/* ICMPv6 (RFC 4443 section 2.1); `rest` is MTU, pointer, identifier and sequence. */
struct icmp6_hdr {
	uint8_t type;
	uint8_t code;
	be16 sum;
	be32 rest;
};
_Static_assert(sizeof(struct icmp6_hdr) == 8, "ICMPv6 header");

enum {
	ICMP6_UNREACHABLE = 1,
	ICMP6_TOO_BIG = 2,
	ICMP6_TIME_EXCEEDED = 3,
	ICMP6_PARAMETER = 4,
	ICMP6_INFORMATION = 128, /* from here on no errors */
	ICMP6_ECHO = 128,
	ICMP6_ECHO_REPLY = 129,
	ICMP6_MLD_QUERY = 130,
	ICMP6_MLD_REPORT = 131,
	ICMP6_MLD_DONE = 132,
	ICMP6_RS = 133,
	ICMP6_RA = 134,
	ICMP6_NS = 135,
	ICMP6_NA = 136,
	ICMP6_REDIRECT = 137,
	ICMP6_MLD2_REPORT = 143,
};
/* Codes of ICMP6_UNREACHABLE (RFC 4443 section 3.1) and of ICMP6_PARAMETER (3.4). */
enum {
	ICMP6_NO_ROUTE = 0,
	ICMP6_ADMIN = 1,
	ICMP6_SCOPE = 2,
	ICMP6_ADDRESS = 3,
	ICMP6_PORT = 4,
	ICMP6_POLICY = 5,
};
enum { ICMP6_FIELD = 0, ICMP6_NEXT_HEADER = 1, ICMP6_OPTION = 2 };

/* Neighbour solicitation and advertisement (RFC 4861 sections 4.3 and 4.4). */
struct nd_msg {
	uint8_t type;
	uint8_t code;
	be16 sum;
	be32 flags; /* in an advertisement */
	ip6 target;
};
_Static_assert(sizeof(struct nd_msg) == 24, "neighbour solicitation");

#define ND_ROUTER    0x80000000u
#define ND_SOLICITED 0x40000000u
#define ND_OVERRIDE  0x20000000u

/* Link-layer address option (RFC 4861 section 4.6.1); lengths count 8 bytes. */
struct nd_opt_mac {
	uint8_t type;
	uint8_t len;
	mac address;
};
_Static_assert(sizeof(struct nd_opt_mac) == 8, "link-layer address option");

enum { ND_OPT_SOURCE = 1, ND_OPT_TARGET = 2, ND_OPT_PREFIX = 3, ND_OPT_MTU = 5 };
enum { ND_OPT_ROUTE = 24, ND_OPT_RDNSS = 25, ND_OPT_DNSSL = 31, ND_OPT_PREF64 = 38 };

/* Router solicitation (RFC 4861 section 4.1). */
struct rs_msg {
	uint8_t type;
	uint8_t code;
	be16 sum;
	be32 reserved;
};
_Static_assert(sizeof(struct rs_msg) == 8, "router solicitation");

/* Router advertisement (RFC 4861 section 4.2, RFC 4191 section 2.2) and its options. */
struct ra_msg {
	uint8_t type;
	uint8_t code;
	be16 sum;
	uint8_t hops;
	uint8_t flags; /* managed, other configuration; preference in bits 3 and 4 */
	be16 lifetime; /* seconds as default router */
	be32 reachable;
	be32 retrans;
};
_Static_assert(sizeof(struct ra_msg) == 16, "router advertisement");

struct nd_opt_prefix { /* RFC 4861 section 4.6.2 */
	uint8_t type;
	uint8_t len;
	uint8_t prefix_len;
	uint8_t flags;
	be32 valid;
	be32 preferred;
	be32 reserved;
	ip6 prefix;
};
struct nd_opt_mtu { /* RFC 4861 section 4.6.4 */
	uint8_t type;
	uint8_t len;
	be16 reserved;
	be32 mtu;
};
struct nd_opt_dns { /* RFC 8106 sections 5.1 and 5.2; addresses or names follow */
	uint8_t type;
	uint8_t len;
	be16 reserved;
	be32 lifetime;
};
struct nd_opt_route { /* RFC 4191 section 2.3; up to 16 bytes of the prefix follow */
	uint8_t type;
	uint8_t len;
	uint8_t prefix_len;
	uint8_t flags; /* preference in bits 3 and 4 */
	be32 lifetime;
};
struct nd_opt_pref64 { /* RFC 8781 section 4 */
	uint8_t type;
	uint8_t len;
	be16 lifetime; /* in units of 8 seconds in the upper 13 bits; a code for the length */
	uint8_t prefix[12];
};
_Static_assert(sizeof(struct nd_opt_prefix) == 32 && sizeof(struct nd_opt_mtu) == 8, "options");
_Static_assert(sizeof(struct nd_opt_dns) == 8 && sizeof(struct nd_opt_pref64) == 16, "options");

enum { RA_PREF_HIGH = 0x08, RA_PREF_MEDIUM = 0, RA_PREF_LOW = 0x18, RA_PREF_RESERVED = 0x10 };
enum { RA_MANAGED = 0x80, RA_OTHER = 0x40 }; /* flags of an advertisement (RFC 4861) */
enum { ND_PREFIX_ON_LINK = 0x80, ND_PREFIX_AUTONOMOUS = 0x40 };

/* MLDv1 messages, and what an MLDv2 query begins with (RFC 2710 section 3, RFC 3810
 * section 5.1). */
struct mld_msg {
	uint8_t type;
	uint8_t code;
	be16 sum;
	be16 wait; /* of a query: longest wait before the answer */
	be16 reserved;
	ip6 group; /* unspecified in a general query */
};
_Static_assert(sizeof(struct mld_msg) == 24, "MLD message");

/* MLDv2 report (RFC 3810 section 5.2) and its records without sources. */
struct mld2_report {
	uint8_t type;
	uint8_t code;
	be16 sum;
	be16 reserved;
	be16 n_records;
};
struct mld2_record {
	uint8_t type;
	uint8_t auxiliary;
	be16 n_sources;
	ip6 group;
};
_Static_assert(sizeof(struct mld2_report) == 8 && sizeof(struct mld2_record) == 20, "MLDv2");

#endif
