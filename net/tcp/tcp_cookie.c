/* Initial sequence numbers and SYN cookies. When too many connections are half open, the
 * state of another one is coded into the sequence number of our SYN-ACK and comes back with
 * the acknowledgment (RFC 4987 section 3.6). See tcp_conn.h.
 *
 * A cookie consists of 28 bits of a keyed hash over both ends, the other side's sequence
 * number, the time in units of 67 seconds and the segment size; of the lowest bit of that
 * time; and of the index of the segment size in a table. It is valid for one to two units,
 * and is checked only when cookies were sent recently. Only the exact segment size is lost.
 * When the acknowledgment of the SYN-ACK is lost, the client must send data first, as DNS
 * clients do. */
#include "net/tcp/tcp_conn.h"

#define UNIT_SHIFT 26u /* a unit is 2^26 microseconds; the number of units does not wrap */

static const uint16_t sizes[8] = {TCP_MSS_MIN, TCP_MSS4, 966, TCP_MSS6, 1360, 1400, 1440, 1460};

uint32_t tcp_iss(const struct gw *gw, const struct udp_ends *ends)
{
	/* A clock of 4 microseconds, plus an offset for each pair of ends. */
	return (uint32_t)(gw->clock.us / 4) + tcp_hash(&gw->tcp->iss_key, ends);
}

static uint32_t unit_of(const struct gw *gw)
{
	return (uint32_t)(gw->clock.us >> UNIT_SHIFT);
}

/* `theirs` is the initial sequence number of the other side. */
static uint32_t cookie(const struct gw *gw, const struct udp_ends *ends, uint32_t theirs,
                       uint32_t unit, uint32_t size)
{
	const struct hash_key *key = &gw->tcp->cookie_key;
	uint32_t h = hash_three(key, tcp_hash(key, ends), theirs, unit << 3 | size);
	return (h & ~15u) | (unit & 1) << 3 | size;
}

uint32_t tcp_cookie(struct gw *gw, const struct tcp_seg *s)
{
	uint32_t mss = s->mss ? s->mss : (uint32_t)(s->ends.remote.is6 ? TCP_MSS6 : TCP_MSS4);
	uint32_t size = 0;
	while (size + 1 < ARRAY_SIZE(sizes) && sizes[size + 1] <= mss)
		size++;
	gw->tcp->cookies_sent = true;
	gw->tcp->cookie_unit = unit_of(gw);
	gw->tcp->count.cookies++;
	return cookie(gw, &s->ends, s->seq, unit_of(gw), size);
}

uint32_t tcp_cookie_mss(const struct gw *gw, const struct tcp_seg *s)
{
	uint32_t got = s->ack - 1, size = got & 7, unit = unit_of(gw);
	if (!gw->tcp->cookies_sent || unit - gw->tcp->cookie_unit > 1)
		return 0;
	if ((unit & 1) != (got >> 3 & 1))
		unit--;
	return cookie(gw, &s->ends, s->seq - 1, unit, size) == got ? sizes[size] : 0;
}
