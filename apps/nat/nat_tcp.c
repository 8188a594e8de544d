/* See nat_tcp.h. */
#include "apps/nat/nat_tcp.h"

enum { OPT_END = 0, OPT_NOP = 1, OPT_SCALE = 3, SCALE_MOST = 14 };

/* The smallest window that is assumed. Segments that are on their way while a window closes
 * still belong to the connection. */
#define WINDOW_LEAST 4096u

/* The window scale in the options of a SYN (RFC 7323 section 2.2), 0 without the option. */
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

/* How far a segment of this side may lie from the last byte seen: the window that the other
 * side offers. */
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
static const uint8_t syn_sent[] = {NAT_SYN_INSIDE, NAT_SYN_OUTSIDE};

/* The scale assumed for a side whose SYN was not seen: a usual one. */
#define SCALE_UNKNOWN 7u

static void set_scale(struct nat_session *s, enum nat_side side, uint32_t scale)
{
	s->scale = (uint8_t)((s->scale & ~(15u << 4 * side)) | scale << 4 * side);
}

/* Takes the sequence number, window and scale from a valid SYN or SYN-ACK of a side. */
static void note_syn(struct nat_session *s, const struct tcp_hdr *tcp, uint32_t hlen,
                     enum nat_side side)
{
	s->flags |= heard[side];
	s->end[side] = be32_get(tcp->seq) + 1;
	s->window[side] = be16_get(tcp->window);
	set_scale(s, side, window_scale(tcp, hlen));
}

/* The most data that a SYN carries: an Ethernet MTU less both headers. */
#define SYN_DATA_MOST 1460u

/* True for the answer to a SYN of the other side: an ACK of the inside's last SYN, with all
 * or some of the data that came with it (RFC 7413), or of the SYN alone. In a known
 * connection the length of that data is not stored, so SYN_DATA_MOST bounds it. An answer
 * from inside cannot be forged by an off-path attacker; it is accepted when a SYN came from
 * outside, whichever of several SYNs it answers. */
static bool answers_syn(const struct nat_session *s, const struct tcp_hdr *tcp, enum nat_side side)
{
	if (!(tcp->flags & TCP_ACK) || !(s->flags & syn_sent[!side]))
		return false;
	uint32_t most =
	        s->flags & NAT_HEARD_OUTSIDE ? SYN_DATA_MOST : s->end[NAT_INSIDE] - s->syn_end;
	return side == NAT_INSIDE || be32_get(tcp->ack) - s->syn_end <= most;
}

/* RFC 5961 section 3.2 as a middlebox can check it: a RST is valid when it carries exactly
 * the next sequence number of its sender, or when it refuses a SYN. */
static bool reset_is_real(const struct nat_session *s, const struct tcp_hdr *tcp,
                          enum nat_side side)
{
	if (s->flags & heard[side] && be32_get(tcp->seq) == s->end[side])
		return true;
	return answers_syn(s, tcp, side);
}

/* Follows a SYN without ACK; gives whether it belongs to the connection. While one side is
 * not known yet it does, and another attempt replaces the one before. In a connection that
 * is known it is only remembered: the other side's SYN-ACK will show whether there is a new
 * connection (RFC 7857 section 2.2: forged segments change nothing). A SYN that lies in the
 * window is not a repetition for that reason alone: sequence numbers of the next attempt
 * follow a clock (RFC 6528 section 3). SYNs of the two sides are remembered separately, so
 * that a forged one from outside does not replace the inside's. */
static bool take_syn(struct nat_session *s, const struct tcp_hdr *tcp, uint32_t hlen,
                     enum nat_side side)
{
	const uint8_t both = NAT_HEARD_INSIDE | NAT_HEARD_OUTSIDE;
	s->flags |= syn_sent[side];
	if (side == NAT_INSIDE)
		s->syn_end = be32_get(tcp->seq) + 1;
	if ((s->flags & both) == both)
		return false;
	note_syn(s, tcp, hlen, side);
	return true;
}

/* Follows a SYN-ACK; gives whether it belongs to the connection. It is the answer to the
 * first SYN, or the proof that a later SYN began a new connection with the same 5-tuple.
 * When it fits a living connection, and the SYN that it answers does too, it is a
 * repetition or part of a simultaneous open. */
static bool take_syn_ack(struct nat_session *s, const struct tcp_hdr *tcp, uint32_t hlen,
                         enum nat_side side)
{
	uint32_t ack = be32_get(tcp->ack);
	bool fits = s->flags & heard[side] && in_window(s, be32_get(tcp->seq), side);
	if (!answers_syn(s, tcp, side))
		return fits;
	s->flags &= (uint8_t)~syn_sent[!side];
	bool known = in_window(s, ack, !side);
	if (fits && known && (s->state == NAT_INIT || s->state == NAT_ESTABLISHED))
		return true;
	if (!known) {
		s->window[!side] = 0xffff;
		set_scale(s, !side, SCALE_UNKNOWN);
	}
	if (s->flags & heard[side] || !known) {
		s->state = NAT_INIT;
		s->flags &= (uint8_t) ~(NAT_ACK_INSIDE | NAT_ACK_OUTSIDE);
		s->end[!side] = ack;
	}
	note_syn(s, tcp, hlen, side);
	return true;
}

/* Follows a segment other than RST; gives whether it belongs to the connection. */
static bool is_real(struct nat_session *s, const struct tcp_hdr *tcp, uint32_t hlen,
                    enum nat_side side)
{
	if (LIKELY(!(tcp->flags & TCP_SYN)))
		return s->flags & heard[side] && in_window(s, be32_get(tcp->seq), side);
	return tcp->flags & TCP_ACK ? take_syn_ack(s, tcp, hlen, side)
	                            : take_syn(s, tcp, hlen, side);
}

static uint8_t next_state(const struct nat_session *s, uint8_t flags, enum nat_side side)
{
	const uint8_t both = NAT_ACK_INSIDE | NAT_ACK_OUTSIDE;
	uint8_t mine = side == NAT_INSIDE ? NAT_IN_FIN : NAT_OUT_FIN;
	uint8_t theirs = side == NAT_INSIDE ? NAT_OUT_FIN : NAT_IN_FIN;
	switch (s->state) {
	case NAT_INIT: /* partly open until both sides have sent an ACK (RFC 5382) */
		if ((s->flags & both) != both)
			return NAT_INIT;
		return flags & TCP_FIN ? mine : NAT_ESTABLISHED;
	case NAT_ESTABLISHED:
		return flags & TCP_FIN ? mine : NAT_ESTABLISHED;
	case NAT_IN_FIN:
	case NAT_OUT_FIN:
		return flags & TCP_FIN && s->state == theirs ? NAT_BOTH_FIN : s->state;
	case NAT_TRANS: /* the connection is alive after all */
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
	if (UNLIKELY(!is_real(s, tcp, hlen, side)))
		/* Another attempt from inside keeps the session alive. */
		return side == NAT_INSIDE && nat_tcp_opens(tcp);
	/* The number behind the segment in the sequence space. */
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

uint32_t nat_tcp_base(const struct tcp_hdr *tcp)
{
	return be32_get(tcp->seq) - (uint32_t)(tcp->offset >> 4) * 4 +
	       ((tcp->flags & TCP_SYN) != 0) + ((tcp->flags & TCP_FIN) != 0);
}

void nat_tcp_fragment(struct nat_session *s, uint32_t base, uint32_t len, enum nat_side side)
{
	/* Only when the first fragment belonged to the connection: then the end lies behind
	 * the base. */
	if (s->flags & heard[side] && (int32_t)(s->end[side] - base) > 0 &&
	    (int32_t)(base + len - s->end[side]) > 0)
		s->end[side] = base + len;
}
