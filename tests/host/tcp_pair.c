/* See tcp_pair.h. */
#include "tests/host/tcp_pair.h"

#include "kernel/seam/io.h"
#include "kernel/seam/panic.h"
#include "net/lib/csum.h"
#include "net/gw_address.h"
#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"

#define STEP_US 1000u

struct pair pair;
static struct rng chance;

struct frame {
	uint64_t at_us;
	uint32_t to, len, order;
	uint8_t bytes[1600];
};
static struct frame *wire_frame[PAIR_WIRE];
static struct frame slots[PAIR_WIRE];
static uint32_t n_wire;
static uint32_t next_order;

/* --- the bytes -------------------------------------------------------------------------------- */

static uint8_t byte_at(uint32_t seed, uint32_t place)
{
	return (uint8_t)((place * 2654435761u >> 24) ^ seed ^ (place >> 13));
}

static uint32_t side_of(const struct gw *gw)
{
	return gw == &pair.side[1].rig.gw;
}

static struct flow *flow_of(const struct gw *gw, uint32_t conn)
{
	uint32_t tag = tcp_tag(gw, conn);
	return tag ? &pair.side[side_of(gw)].flow[tag - 1] : NULL;
}

static void read_all(struct gw *gw, struct flow *f)
{
	uint32_t len;
	uint8_t data[1460];
	while (f->reads && (len = tcp_readable(gw, f->conn)) != 0) {
		/* In pieces that may begin and end anywhere in a segment. */
		uint32_t n = 1 + rng_below(&chance, min_u32(len, sizeof data));
		uint32_t skip = rng_below(&chance, 8) == 0 ? rng_below(&chance, n) : 0;
		f->wrong |= !tcp_copy(gw, f->conn, skip, data + skip, n - skip) ||
		            !tcp_copy(gw, f->conn, 0, data, skip) ||
		            tcp_copy(gw, f->conn, len - n + 1, data, n);
		for (uint32_t i = 0; i < n; i++)
			f->wrong |= data[i] != byte_at(f->seed ^ 0x55, f->got + i);
		f->got += n;
		tcp_take(gw, f->conn, n);
	}
	if (tcp_at_end(gw, f->conn) && tcp_readable(gw, f->conn) == 0) {
		f->at_end = true;
		if (f->close_at_end && f->sent == f->to_send) {
			uint32_t conn = f->conn;
			f->conn = TCP_NONE;
			f->ended = true;
			tcp_close(gw, conn);
		}
	}
}

static void write_more(struct gw *gw, struct flow *f)
{
	uint8_t data[8192];
	bool any = false;
	while (f->conn && f->opened && f->sent < f->to_send) {
		uint32_t n = 1 + rng_below(&chance, f->chunk);
		n = min_u32(min_u32(n, f->to_send - f->sent), sizeof data);
		for (uint32_t i = 0; i < n; i++)
			data[i] = byte_at(f->seed, f->sent + i);
		if (!tcp_send(gw, f->conn, data, n))
			break;
		f->sent += n;
		any = true;
		if (rng_below(&chance, 3) == 0)
			break;
	}
	if (any)
		tcp_push(gw, f->conn);
	if (f->conn && f->opened && f->sent == f->to_send && f->shut_when_all)
		tcp_shut(gw, f->conn);
}

static void event(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	struct side *s = &pair.side[side_of(gw)];
	struct flow *f = flow_of(gw, conn);
	if (what == TCP_OPENED && !f) { /* opened by the other side */
		uint32_t i = 0;
		while (i < pair.n &&
		       (s->flow[i].port != tcp_ends(gw, conn)->remote_port || s->flow[i].opened))
			i++;
		if (i == pair.n) { /* not a connection of this test */
			tcp_abort(gw, conn);
			return;
		}
		tcp_set_tag(gw, conn, i + 1);
		f = &s->flow[i];
		f->conn = conn;
	}
	if (!f)
		panic("an event of no flow");
	f->opened |= what == TCP_OPENED;
	f->idle_events += what == TCP_IDLE;
	if (what == TCP_IDLE && pair.idle_ends) {
		f->conn = TCP_NONE;
		f->ended = true;
		f->why = TCP_TIMEOUT;
		tcp_abort(gw, conn);
		return;
	}
	f->rooms += what == TCP_ROOM;
	if (what == TCP_ENDED) {
		if (f->ended)
			panic("ended twice");
		f->ended = true;
		f->why = tcp_why(gw);
		f->conn = TCP_NONE;
		return;
	}
	if (f->conn != conn)
		panic("an event of another connection");
	if (what == TCP_INPUT)
		read_all(gw, f);
	if (f->conn)
		write_more(gw, f);
}

/* --- the wire --------------------------------------------------------------------------------- */

static bool is_tcp(const uint8_t *frame, uint32_t len, uint32_t *l4)
{
	uint16_t type = (uint16_t)(frame[12] << 8 | frame[13]);
	if (len < 54)
		return false;
	*l4 = type == ETH_IP6 ? 54 : 34;
	return type == ETH_IP6 ? frame[20] == PROTO_TCP : type == ETH_IP4 && frame[23] == PROTO_TCP;
}

static void fix_sums(uint8_t *frame, uint32_t len, uint32_t l4)
{
	uint8_t *ip = frame + 14;
	uint16_t n = (uint16_t)(len - l4);
	struct tcp_hdr *t = (struct tcp_hdr *)(frame + l4);
	uint16_t pseudo;
	t->sum = be16_of(0);
	if (l4 == 54) {
		struct ip6_hdr *h = (struct ip6_hdr *)ip;
		h->len = be16_of(n);
		pseudo = csum_pseudo6(&h->from, &h->to, PROTO_TCP, n);
	} else {
		struct ip4_hdr *h = (struct ip4_hdr *)ip;
		h->len = be16_of((uint16_t)(len - 14));
		h->sum = be16_of(0);
		h->sum = be16_from_raw((uint16_t)~csum_sum(h, 20));
		pseudo = csum_pseudo4(h->from, h->to, PROTO_TCP, n);
	}
	t->sum = be16_from_raw((uint16_t)~csum_plus(csum_sum(t, n), pseudo));
}

static void enqueue(uint32_t to, const uint8_t *frame, uint32_t len)
{
	struct wire *w = &pair.wire;
	if (n_wire == PAIR_WIRE || len > sizeof slots[0].bytes) {
		w->lost++;
		return;
	}
	struct frame *f = wire_frame[n_wire++];
	f->at_us =
	        pair.now_us + w->delay_us + (w->jitter_us ? rng_below(&chance, w->jitter_us) : 0);
	f->to = to;
	f->len = len;
	f->order = next_order++;
	memcpy(f->bytes, frame, len);
	if (rng_below(&chance, 1000) < w->corrupt)
		f->bytes[14 + rng_below(&chance, len - 14)] ^=
		        (uint8_t)(1u << rng_below(&chance, 8));
}

void pair_put(uint32_t to, const uint8_t *frame, uint32_t len)
{
	if (!rig_input(&pair.side[to].rig, IF_LAN, frame, len))
		pair.wire.lost++;
}

/* Sends a router's error about a packet that was too long to the packet's sender. */
static void send_too_big(uint32_t from, const uint8_t *frame, uint32_t len)
{
	uint8_t e[14 + 40 + 8 + 128];
	uint32_t quote = min_u32(len - 14, 128), head = pair.is6 ? 40 : 20;
	const uint8_t *ip = frame + 14;
	memset(e, 0, sizeof e);
	memcpy(e, frame + 6, 6);
	memcpy(e + 6, frame, 6);
	memcpy(e + 12, frame + 12, 2);
	uint8_t *icmp = e + 14 + head;
	memcpy(icmp + 8, ip, quote);
	uint16_t n = (uint16_t)(8 + quote);
	if (pair.is6) {
		struct ip6_hdr *h = (struct ip6_hdr *)(e + 14);
		const struct ip6_hdr *was = (const struct ip6_hdr *)ip;
		h->first = be32_of(0x60000000u);
		h->len = be16_of(n);
		h->next = PROTO_ICMP6;
		h->hops = 64;
		h->from = was->to; /* any address will do */
		h->to = was->from;
		icmp[0] = ICMP6_TOO_BIG;
		store32(icmp + 4, swap32(pair.wire.mtu));
		store16(icmp + 2,
		        (uint16_t)~csum_plus(csum_sum(icmp, n),
		                             csum_pseudo6(&h->from, &h->to, PROTO_ICMP6, n)));
	} else {
		struct ip4_hdr *h = (struct ip4_hdr *)(e + 14);
		const struct ip4_hdr *was = (const struct ip4_hdr *)ip;
		h->version_ihl = 0x45;
		h->len = be16_of((uint16_t)(20 + n));
		h->ttl = 64;
		h->proto = PROTO_ICMP;
		h->from = was->to;
		h->to = was->from;
		h->sum = be16_from_raw((uint16_t)~csum_sum(h, 20));
		icmp[0] = ICMP_UNREACHABLE;
		icmp[1] = ICMP_TOO_BIG;
		icmp[6] = (uint8_t)(pair.wire.mtu >> 8);
		icmp[7] = (uint8_t)pair.wire.mtu;
		store16(icmp + 2, (uint16_t)~csum_sum(icmp, n));
	}
	enqueue(from, e, 14 + head + n);
}

/* Splits a segment into small ones. */
static void cut_up(uint32_t to, const uint8_t *frame, uint32_t len, uint32_t l4)
{
	uint32_t hlen = (uint32_t)(frame[l4 + 12] >> 4) * 4, data = l4 + hlen;
	for (uint32_t at = data; at < len; at += pair.wire.cut) {
		uint8_t piece[1600];
		uint32_t n = min_u32(pair.wire.cut, len - at);
		struct tcp_hdr *t = (struct tcp_hdr *)(piece + l4);
		memcpy(piece, frame, data);
		memcpy(piece + data, frame + at, n);
		t->seq = be32_of(be32_get(t->seq) + at - data);
		if (at + n < len)
			t->flags &= (uint8_t)~TCP_FIN;
		fix_sums(piece, data + n, l4);
		enqueue(to, piece, data + n);
	}
}

static void sink(struct rig *rig, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	struct wire *w = &pair.wire;
	uint32_t from = rig == &pair.side[1].rig, l4;
	uint8_t copy[1600];
	if (iface != IF_LAN || len > sizeof copy || !is_tcp(frame, len, &l4))
		return;
	memcpy(copy, frame, len);
	pair.n_frames++;
	if ((w->see && !w->see(from, copy, len)) || w->dead || rng_below(&chance, 1000) < w->lose) {
		w->lost++;
		return;
	}
	if (w->mtu && len - 14 > w->mtu) {
		w->lost++;
		send_too_big(from, copy, len);
		return;
	}
	w->passed++;
	uint32_t hlen = (uint32_t)(copy[l4 + 12] >> 4) * 4;
	uint32_t times = rng_below(&chance, 1000) < w->twice ? 2 : 1;
	for (uint32_t i = 0; i < times; i++) {
		if (w->cut && len > l4 + hlen + w->cut)
			cut_up(1 - from, copy, len, l4);
		else
			enqueue(1 - from, copy, len);
	}
}

/* Removes the earliest frame whose time has come from the wire, and gives it. NULL when
 * there is none. */
static struct frame *next_frame(void)
{
	uint32_t best = n_wire;
	for (uint32_t i = 0; i < n_wire; i++)
		if (wire_frame[i]->at_us <= pair.now_us &&
		    (best == n_wire || wire_frame[i]->at_us < wire_frame[best]->at_us ||
		     (wire_frame[i]->at_us == wire_frame[best]->at_us &&
		      wire_frame[i]->order < wire_frame[best]->order)))
			best = i;
	if (best == n_wire)
		return NULL;
	struct frame *f = wire_frame[best];
	wire_frame[best] = wire_frame[--n_wire];
	wire_frame[n_wire] = f;
	return f;
}

/* --- both ------------------------------------------------------------------------------------- */

static const char *test_init(struct gw *gw)
{
	return tcp_init(gw) ? NULL : "not enough memory";
}

static enum verdict test_ip4(struct gw *gw, struct pkt *p)
{
	return gw_is_own(gw, ip4_to(p)) ? V_LOCAL : gw_drop(gw, p, DROP_FOREIGN);
}

static enum verdict test_ip6(struct gw *gw, struct pkt *p)
{
	return gw_drop(gw, p, DROP_FOREIGN);
}

const struct forwarder tcp_pair_forwarder = {
        .lan_alone = true,
        .init = test_init,
        .ip4 = test_ip4,
        .ip6 = test_ip6,
};

static void start_side(uint32_t i, uint32_t seed, uint32_t packets)
{
	static const char *const text[2] = {
	        "lan.address 10.0.0.1/24\nlan.address 2001:db8::1/64\n"
	        "neighbour 10.0.0.2 02:00:00:00:00:01\nneighbour 2001:db8::2 02:00:00:00:00:01\n",
	        "lan.address 10.0.0.2/24\nlan.address 2001:db8::2/64\n"
	        "neighbour 10.0.0.1 02:00:00:00:00:01\nneighbour 2001:db8::1 02:00:00:00:00:01\n",
	};
	struct side *s = &pair.side[i];
	s->rig.sink = sink;
	s->rig.forwarder = &tcp_pair_forwarder;
	rig_clear(&s->rig, seed * 2 + i, pair.now_us);
	if (!rig_config(&s->rig, text[i], strlen(text[i])))
		panic("tcp_pair: %s", s->rig.config.error[0].what);
	const char *wrong = rig_start(&s->rig, "tcp", packets);
	if (wrong)
		panic("tcp_pair: %s", wrong);
	s->user = (struct tcp_user){.event = event, .window = 16384, .send_most = 65536};
	if (!tcp_listen(&s->rig.gw, PAIR_PORT, &s->user))
		panic("tcp_pair: tcp_listen failed");
}

void pair_start(uint32_t seed, bool is6, uint32_t packets)
{
	host_arena(64u << 20);
	memset(&pair, 0, sizeof pair);
	memset(&chance, 0, sizeof chance);
	rng_seed(&chance, &seed, sizeof seed);
	for (uint32_t i = 0; i < PAIR_WIRE; i++)
		wire_frame[i] = &slots[i];
	n_wire = next_order = 0;
	pair.is6 = is6;
	/* With some seeds the time is near a wrap of the 32-bit clock. */
	pair.now_us = seed % 4 == 3 ? 0xfff00000u : 1000000;
	pair.wire.delay_us = 5000;
	start_side(0, seed, packets);
	start_side(1, seed, packets);
	pair_run(3000000); /* IPv6 addresses become valid */
}

uint32_t pair_connect(uint32_t from, uint32_t bytes_out, uint32_t bytes_back)
{
	struct side *s = &pair.side[from], *other = &pair.side[1 - from];
	struct gw *gw = &s->rig.gw;
	struct udp_ends ends;
	memset(&ends, 0, sizeof ends);
	ends.remote_port = PAIR_PORT;
	ends.iface = IF_LAN;
	ends.remote.is6 = pair.is6;
	const char *to = pair.is6 ? (from ? "2001:db8::1" : "2001:db8::2")
	                          : (from ? "10.0.0.1" : "10.0.0.2");
	if (!addr_any(to, strlen(to), &ends.remote) || pair.n == PAIR_FLOWS)
		return 0;
	uint32_t conn = tcp_connect(gw, &ends, &s->user);
	if (conn == TCP_NONE)
		return 0;
	uint32_t i = pair.n++, seed = rng_u32(&chance) & 0xff;
	s->flow[i] = (struct flow){.conn = conn,
	                           .port = ends.local_port,
	                           .to_send = bytes_out,
	                           .peer_sends = bytes_back,
	                           .chunk = 3000,
	                           .reads = true,
	                           .shut_when_all = true,
	                           .close_at_end = true,
	                           .seed = seed};
	other->flow[i] = (struct flow){.port = ends.local_port,
	                               .to_send = bytes_back,
	                               .peer_sends = bytes_out,
	                               .chunk = 3000,
	                               .reads = true,
	                               .shut_when_all = true,
	                               .close_at_end = true,
	                               .seed = seed ^ 0x55};
	tcp_set_tag(gw, conn, i + 1);
	rig_flush(&s->rig);
	return i + 1;
}

static const char *check_sides(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		const char *bad = tcp_check(&pair.side[i].rig.gw);
		if (bad)
			return bad;
		for (uint32_t k = 0; k < pair.n; k++)
			if (pair.side[i].flow[k].wrong)
				return "a byte came that was not sent there";
	}
	return NULL;
}

static void run_flows(uint32_t i)
{
	struct side *s = &pair.side[i];
	for (uint32_t k = 0; k < pair.n; k++) {
		struct flow *f = &s->flow[k];
		if (f->conn && f->opened) {
			write_more(&s->rig.gw, f);
			if (f->conn)
				read_all(&s->rig.gw, f);
		}
	}
	rig_flush(&s->rig);
}

const char *pair_run(uint64_t us)
{
	uint64_t end = pair.now_us + us;
	for (uint32_t pass = 0; pair.now_us < end; pass++) {
		/* With an empty wire nothing happens between two slots of the timer wheel. */
		uint64_t left = end - pair.now_us, step = n_wire ? STEP_US : 8 * STEP_US;
		pair.now_us += left < step ? left : step;
		for (uint32_t i = 0; i < 2; i++)
			rig_advance(&pair.side[i].rig, pair.now_us - pair.side[i].rig.gw.clock.us);
		struct frame *f;
		while ((f = next_frame()) != NULL)
			pair_put(f->to, f->bytes, f->len);
		run_flows(0);
		run_flows(1);
		const char *bad = pass % 64 == 0 ? check_sides() : NULL;
		if (bad)
			return bad;
	}
	return check_sides();
}

const char *pair_finish(uint64_t most_us)
{
	for (uint64_t us = 0; us < most_us; us += 500000) {
		const char *bad = pair_run(500000);
		if (bad)
			return bad;
		if (pair.side[0].rig.gw.tcp->n + pair.side[1].rig.gw.tcp->n == 0)
			break;
	}
	for (uint32_t i = 0; i < 2; i++) {
		const struct rig *r = &pair.side[i].rig;
		if (r->gw.tcp->n)
			return "connections are left";
		if (r->pool.n_free != r->free_at_start || r->pool.kept)
			return "packets are lost";
	}
	return NULL;
}

uint32_t pair_segment(uint8_t *frame, uint32_t from, uint16_t from_port, uint16_t to_port,
                      uint32_t seq, uint32_t ack, uint8_t flags, uint16_t window, const void *data,
                      uint32_t len)
{
	uint32_t head = pair.is6 ? 40 : 20, l4 = 14 + head;
	static const uint8_t station[6] = {2, 0, 0, 0, 0, 1};
	memset(frame, 0, l4 + 20);
	memcpy(frame, station, 6);
	memcpy(frame + 6, station, 6);
	frame[12] = pair.is6 ? 0x86 : 8;
	frame[13] = pair.is6 ? 0xdd : 0;
	uint8_t *ip = frame + 14;
	if (pair.is6) {
		struct ip6_hdr *h = (struct ip6_hdr *)ip;
		h->first = be32_of(0x60000000u);
		h->next = PROTO_TCP;
		h->hops = 64;
		h->from = h->to = (ip6){{0x20, 1, 0xd, 0xb8}};
		h->from.b[15] = (uint8_t)(1 + from);
		h->to.b[15] = (uint8_t)(2 - from);
	} else {
		struct ip4_hdr *h = (struct ip4_hdr *)ip;
		h->version_ihl = 0x45;
		h->ttl = 64;
		h->proto = PROTO_TCP;
		h->from = ip4_of(0x0a000001 + from);
		h->to = ip4_of(0x0a000002 - from);
	}
	struct tcp_hdr *t = (struct tcp_hdr *)(frame + l4);
	t->from = be16_of(from_port);
	t->to = be16_of(to_port);
	t->seq = be32_of(seq);
	t->ack = be32_of(ack);
	t->offset = 5 << 4;
	t->flags = flags;
	t->window = be16_of(window);
	if (len)
		memcpy(frame + l4 + 20, data, len);
	fix_sums(frame, l4 + 20 + len, l4);
	return l4 + 20 + len;
}

struct tcp_conn *pair_conn(uint32_t side, uint32_t flow)
{
	struct side *s = &pair.side[side];
	return tcp_of(&s->rig.gw, s->flow[flow - 1].conn);
}

uint64_t pair_drops(uint32_t side, enum drop reason)
{
	return pair.side[side].rig.gw.counts.drops[reason];
}
