/* An interface: the gateway's connection to one network, and its addresses there. */
#ifndef NET_INTERFACE_H
#define NET_INTERFACE_H

#include "net/setup/net_keys.h"
#include "kernel/lib/pkt_queue.h"
#include "net/ip6/mld_group.h"

/* Of an interface: the link-local one, those of the configuration, and some that the
 * forwarder makes, or that are made as routers of the WAN advertise. */
#define INTERFACE_ADDRESSES6 (1u + NET_ADDRESSES + 8u)

/* Prefixes of the link without an address of ours. */
#define INTERFACE_ON_LINK6 8u

/* RFC 4861 section 10, and the longest times that a router may ask for. */
#define INTERFACE_REACHABLE_MS      30000u
#define INTERFACE_REACHABLE_MOST_MS 400000u
#define INTERFACE_RETRANS_MS        1000u
#define INTERFACE_RETRANS_MOST_MS   3000u

#define INTERFACES NET_INTERFACES

/* Where an IPv6 route can lead, and the numbers of interfaces. Those below INTERFACES have cards:
 * IF_WAN is the outside, all others are networks of the inside (lan, lan2, …). IF_APP is the
 * forwarder: the far side of its tunnel or its translation. IF_NONE is for networks that do not
 * exist. */
enum { IF_LAN = NET_LAN, IF_WAN = NET_WAN, IF_APP = INTERFACES, IF_NONE };

/* True for the number of an interface of the inside; false for IF_WAN, IF_APP and PKT_IF_SELF. */
static inline bool interface_is_inside(uint32_t iface)
{
	return iface != IF_WAN && iface < INTERFACES;
}

/* An IPv4 address of ours and its network. */
struct address4 {
	ip4 addr;
	uint8_t len;
};

/* An IPv6 address of ours and its network. The first of an interface is the link-local
 * one made from its MAC address. */
enum address6_state {
	ADDRESS6_TENTATIVE, /* not known to be ours alone: not used (RFC 4862 section 5.4) */
	ADDRESS6_VALID,
	ADDRESS6_DUPLICATE, /* another station has it: not used until the carrier comes up again */
};
struct address6 {
	ip6 addr;
	uint8_t len;
	uint8_t state;   /* enum address6_state */
	uint8_t asked;   /* number of solicitations sent for it while tentative */
	bool deprecated; /* new connections use another one, where there is one (RFC 4862) */
	bool by_router;  /* made as a router advertised (net/autoconf) */
	bool by_dhcp;    /* a lease of DHCPv6 (net/dhcp6) */
	uint32_t due_ms; /* when the next solicitation is due, or the address becomes valid */
};

/* A prefix whose hosts are on the link, as a router says (RFC 4861 section 6.3.4). */
struct on_link6 {
	ip6 net;
	uint8_t len;
};
/* What a card does with partial packets, as NIC_SUM … of drivers/net/nic.h. */
enum {
	INTERFACE_SUM = 1,
	INTERFACE_TSO4 = 2,
	INTERFACE_TSO6 = 4,
	INTERFACE_ECN = 8,
	INTERFACE_USO = 16
};
enum { INTERFACE_NONE = 256 }; /* no card does this */

struct vlan_card;

struct interface {
	const char *name; /* "lan", "wan", "lan2" … */
	mac address;
	bool present;                      /* it has a card */
	uint8_t card;                      /* the first interface that has the same card */
	uint16_t vlan;                     /* of the card (net/vlan); 0: frames without a tag */
	bool carrier;                      /* there is a signal; set by the gateway's caller */
	uint64_t up_us;                    /* when the carrier last came up */
	uint32_t mtu;                      /* of IP packets */
	uint32_t mtu6;                     /* of IPv6 packets: no larger */
	uint8_t hops6;                     /* hop limit of our own packets that leave the link */
	uint8_t timing_due;                /* frames that may be timed now (stats/timing.h) */
	uint32_t reachable_ms, retrans_ms; /* of its IPv6 neighbours (RFC 4861 section 6.3.2) */
	struct address4 addr[NET_ADDRESSES];
	uint32_t n_addr;
	struct address6 addr6[INTERFACE_ADDRESSES6];
	uint32_t n_addr6; /* 0: no IPv6 on this interface */
	struct on_link6 on_link6[INTERFACE_ON_LINK6];
	uint32_t n_on_link6;
	struct mld_group group[MLD_GROUPS];
	uint32_t n_groups;
	bool mld_v1;               /* there is an MLDv1 router … */
	uint32_t mld_v1_ms;        /* … and it counts until this time */
	bool groups_changed;       /* the card's filter is not up to date */
	uint32_t burst;            /* frames taken at once at most; 0: no such limit */
	struct pkt_queue out;      /* transmit queue */
	uint32_t offloads;         /* what its card does with partial packets: INTERFACE_SUM … */
	bool partial;              /* there may be partial packets in `out` */
	bool to_cut;               /* its card cannot send all of them (net/offload) … */
	struct pkt_queue ready;    /* … and these are to be sent first */
	uint32_t sent, sent_bytes; /* put into `out` since interface_sent was last called */
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
	/* At the first interface of a card with tagged interfaces: the interfaces of its VLANs. */
	struct vlan_card *vlans;
	uint64_t conflict_us; /* when the log last named a station that claims our address */
};

/* The address of the interface in the same network as `peer`; NULL when there is none. */
const struct address4 *interface_on_link4(const struct interface *iface, ip4 peer);

/* The address of the interface for a packet to `peer`: the one on the network of `peer` if there
 * is one, else the first. NULL when the interface has no IPv4 address. */
const struct address4 *interface_own4(const struct interface *iface, ip4 peer);

/* True when `a` is an IPv4 address of the interface. */
bool interface_has4(const struct interface *iface, ip4 a);

/* True when all bits of the host part of `a` are ones or zeros in a network of the interface that
 * has room for such addresses (a /31 has none, RFC 3021). */
bool interface_is_broadcast4(const struct interface *iface, ip4 a);

/* The IPv6 address `a` of the interface, in any state; NULL when it has none such. */
struct address6 *interface_address6(struct interface *iface, const ip6 *a);

/* The valid address of the interface that has the longest prefix in common with `peer`, of those
 * with its scope (link-local or not); a deprecated one only where there is no other (RFC 6724
 * section 5, rules 3 and 8). *bits is the length of that prefix. NULL, and *bits as it was, when
 * there is none. */
const ip6 *interface_best6(const struct interface *iface, const ip6 *peer, uint32_t *bits);

/* The address for a packet to a neighbour: interface_best6, else the link-local one if it is
 * valid. NULL when neither is there. */
const ip6 *interface_own6(const struct interface *iface, const ip6 *peer);

/* The first address of the interface that is not link-local, in any state; NULL when there is none.
 */
const ip6 *interface_global6(const struct interface *iface);

/* True for an address that stations of the interface's network have. */
bool interface_on_link6(const struct interface *iface, const ip6 *a);

/* Adds what was put into the transmit queue to the counters of sent packets; once a burst. */
static inline void interface_sent(struct interface *iface)
{
	iface->tx_packets += iface->sent;
	iface->tx_bytes += iface->sent_bytes;
	iface->sent = iface->sent_bytes = 0;
}

#endif
