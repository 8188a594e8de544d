/* See nat_tcp.h. */
#include "apps/nat_tcp.h"

enum { OPT_END = 0, OPT_NOP = 1, OPT_SCALE = 3, SCALE_MOST = 14 };

/* Windows smaller than this are not taken at their word: what is under way when
 * a window closes is still of the connection. */
#define WINDOW_LEAST 4096u

/* The window scale of a SYN's options (RFC 7323 section 2.2), 0 without. */
static uint8_t window_scale(const struct tcp_hdr *tcp, uint32_t hlen)
{
	const uint8_t *o = (const uint8_t *)tcp;
	for (uint32_t i = sizeof *tcp; i < hlen;) {
		if (o[i] == OPT_END)
			return 0;
		if (o[i] == OPT_NOP) {
			i++;
			continue;
		}
		if (hlen - i < 2 || o[i + 1] < 2 || o[i + 1] > hlen - i)
			return 0;
		if (o[i] == OPT_SCALE && o[i + 1] == 3)
			return o[i + 2] < SCALE_MOST ? o[i + 2] : SCALE_MOST;
		i += o[i + 1];
	}
	return 0;
}

/* How far from what was last seen a segment of this side may lie: the window
 * that the other side offers. */
static uint32_t window(const struct nat_session *s, enum nat_side side)
{
	return max_u32((uint32_t)s->window[!side] << (s->scale >> 4 * !side & 15), WINDOW_LEAST);
}

static bool in_window(const struct nat_session *s, uint32_t seq, enum nat_side side)
{
	uint32_t w = window(s, side);
	return seq - s->end[side] + w <= 2 * w;
}

static const uint8_t heard[] = {NAT_HEARD_INSIDE, NAT_HEARD_OUTSIDE};
static const uint8_t acked[] = {NAT_ACK_INSIDE, NAT_ACK_OUTSIDE};

/* A side's SYN: from here its sequence numbers are known. */
static void note_syn(struct nat_session *s, const struct tcp_hdr *tcp, uint32_t hlen,
                     enum nat_side side)
{
	s->flags |= heard[side];
	s->end[side] = be32_get(tcp->seq) + 1;
	s->window[side] = be16_get(tcp->window);
	uint32_t scale = window_scale(tcp, hlen);
	s->scale = (uint8_t)((s->scale & ~(15u << 4 * side)) | scale << 4 * side);
}

/* A new connection on the 5-tuple of one that has ended. */
static bool reopens(const struct nat_session *s, const struct tcp_hdr *tcp)
{
	return nat_tcp_opens(tcp) && (s->state == NAT_BOTH_FIN || s->state == NAT_TRANS);
}

/* RFC 5961 section 3.2 in the words of someone on the path: the RST carries
 * exactly the number that comes next from its sender; of a side not heard yet it
 * acknowledges exactly the other side's SYN. */
static bool reset_is_real(const struct nat_session *s, const struct tcp_hdr *tcp,
                          enum nat_side side)
{
	if (s->flags & heard[side])
		return be32_get(tcp->seq) == s->end[side];
	return tcp->flags & TCP_ACK && be32_get(tcp->ack) == s->end[!side];
}

/* Whether a segment other than RST belongs to the connection. */
static bool is_real(const struct nat_session *s, const struct tcp_hdr *tcp, enum nat_side side)
{
	if (s->flags & heard[side])
		return in_window(s, be32_get(tcp->seq), side);
	if (!(tcp->flags & TCP_SYN))
		return false;
	/* The first word of the other side: SYN of a simultaneous open, or a
	 * SYN-ACK that acknowledges the SYN. */
	return !(tcp->flags & TCP_ACK) || be32_get(tcp->ack) == s->end[!side];
}

static uint8_t next_state(const struct nat_session *s, uint8_t flags, enum nat_side side)
{
	const uint8_t both = NAT_ACK_INSIDE | NAT_ACK_OUTSIDE;
	uint8_t mine = side == NAT_INSIDE ? NAT_IN_FIN : NAT_OUT_FIN;
	uint8_t theirs = side == NAT_INSIDE ? NAT_OUT_FIN : NAT_IN_FIN;
	switch (s->state) {
	case NAT_INIT: /* partly open until both ends have sent an ACK (RFC 5382) */
		if ((s->flags & both) != both)
			return NAT_INIT;
		return flags & TCP_FIN ? mine : NAT_ESTABLISHED;
	case NAT_ESTABLISHED:
		return flags & TCP_FIN ? mine : NAT_ESTABLISHED;
	case NAT_IN_FIN:
	case NAT_OUT_FIN:
		return flags & TCP_FIN && s->state == theirs ? NAT_BOTH_FIN : s->state;
	case NAT_TRANS: /* it lives on after all */
		return (s->flags & both) == both ? NAT_ESTABLISHED : NAT_INIT;
	default:
		return s->state;
	}
}

bool nat_tcp_segment(struct nat_session *s, const struct tcp_hdr *tcp, uint32_t len,
                     enum nat_side side)
{
	uint8_t flags = tcp->flags;
	uint32_t hlen = (uint32_t)(tcp->offset >> 4) * 4;
	if (flags & TCP_RST) {
		bool real = reset_is_real(s, tcp, side);
		if (real && s->state != NAT_INIT && s->state != NAT_BOTH_FIN)
			s->state = NAT_TRANS;
		return real;
	}
	if (UNLIKELY(reopens(s, tcp))) {
		s->state = NAT_INIT;
		s->flags = 0;
		s->scale = 0;
		note_syn(s, tcp, hlen, side);
		return true;
	}
	if (UNLIKELY(!is_real(s, tcp, side)))
		return false;
	if (UNLIKELY(!(s->flags & heard[side])))
		note_syn(s, tcp, hlen, side);
	/* What the segment takes up of the sequence space. */
	uint32_t end = be32_get(tcp->seq) + (len - hlen) + ((flags & TCP_SYN) != 0) +
	               ((flags & TCP_FIN) != 0);
	if ((int32_t)(end - s->end[side]) > 0)
		s->end[side] = end;
	if (LIKELY(flags & TCP_ACK)) {
		s->flags |= acked[side];
		if (!(flags & TCP_SYN))
			s->window[side] = be16_get(tcp->window);
	}
	if (s->state != NAT_ESTABLISHED || flags & TCP_FIN)
		s->state = next_state(s, flags, side);
	return true;
}
