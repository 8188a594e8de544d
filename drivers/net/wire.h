/* What drivers of cards do alike with frames: padding, drops, the receive ring's packets. */
#ifndef DRIVERS_NET_WIRE_H
#define DRIVERS_NET_WIRE_H

#include "drivers/net/nic.h"

#define WIRE_MIN 60u /* IEEE 802.3 3.2.8, without FCS */
#define WIRE_L3  14u /* bytes of an Ethernet header without tags */

/* True when a frame needs neither padding nor a drop. */
static inline bool wire_fits(const struct pkt *p)
{
	return LIKELY(p->len - WIRE_MIN <= NIC_FRAME_MAX - WIRE_MIN);
}

/* Pads a short frame with zeros. False when the frame cannot be sent: then it is counted and
 * freed. */
static inline bool wire_pad(struct nic *nic, struct pkt *p)
{
	if (p->len >= NIC_FRAME_MIN && p->len < WIRE_MIN) {
		uint32_t missing = WIRE_MIN - p->len;
		uint8_t *pad = pkt_put(p, missing);
		if (pad) {
			memset(pad, 0, missing);
			return true;
		}
	}
	nic->count.tx_errors++;
	pkt_free(p);
	return false;
}

/* Bytes in front of the IP header of a partial packet: an Ethernet header and tags. */
static inline uint32_t wire_l3(const struct pkt *p)
{
	uint32_t l3 = WIRE_L3;
	while (l3 < p->l4 && load16(p->data + l3 - 2) == swap16(0x8100))
		l3 += PKT_TAG;
	return l3;
}

/* Drops a burst that finds no carrier; its packets may be partial. Gives n. */
static inline uint32_t wire_no_carrier(struct nic *nic, struct pkt **burst, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		nic->count.tx_link_down += pkt_segments(burst[i]);
		pkt_free_all(burst[i]);
	}
	return n;
}

/* True when a card may report a received frame of this length, without FCS. */
static inline bool wire_good_length(uint32_t len)
{
	return len - NIC_FRAME_MIN <= NIC_FRAME_MAX - NIC_FRAME_MIN;
}

static inline void wire_free(struct pkt **slot, uint32_t n)
{
	while (n--)
		pkt_free(slot[n]);
}

/* Lends a packet to the card for each slot. False when the pool has too few; then it has all. */
static inline bool wire_fill(struct pkt **slot, uint32_t n, struct pool *pool)
{
	for (uint32_t i = 0; i < n; i++) {
		struct pkt *p = pkt_alloc(pool);
		if (!p) {
			wire_free(slot, i);
			return false;
		}
		pkt_lend(p);
		slot[i] = p;
	}
	return true;
}

/* The CRC-32 of an address (IEEE 802.3 3.2.9), least significant bit first, not inverted at the
 * end: from it cards take the number of a bit of their hash. */
static inline uint32_t wire_crc(const mac *address)
{
	uint32_t crc = 0xffffffffu;
	for (unsigned i = 0; i < 48; i++) {
		uint32_t out = (crc ^ (uint32_t)address->b[i / 8] >> i % 8) & 1;
		crc = crc >> 1 ^ (out ? 0xedb88320u : 0);
	}
	return crc;
}

/* The same, most significant bit of the result first. */
static inline uint32_t wire_crc_be(const mac *address)
{
	uint32_t crc = 0xffffffffu;
	for (unsigned i = 0; i < 48; i++) {
		uint32_t out = (crc >> 31 ^ (uint32_t)address->b[i / 8] >> i % 8) & 1;
		crc = crc << 1 ^ (out ? 0x04c11db7u : 0);
	}
	return crc;
}

/* True when an address may be that of a station. */
static inline bool wire_station(const mac *address)
{
	static const mac zero;
	return !mac_is_group(address) && !mac_eq(address, &zero);
}

#endif
