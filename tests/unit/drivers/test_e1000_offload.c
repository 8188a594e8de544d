/* Partial packets of the e1000 driver: the card's model sends the frames that net/offload makes of
 * the same packet. */
#include "tests/unit/drivers/e1000_kit.h"

#include "net/lib/csum.h"
#include "net/offload/offload.h"
#include "tests/unit/drivers/pool_kit.h"

#define ETH_IP 14u

static uint8_t bytes[PKT_TOTAL_MAX];

/* Writes a TCP packet over IPv4, or a UDP one, with a partial checksum into `bytes`. */
static void write_packet(uint32_t len, bool tcp, uint8_t flags)
{
	for (uint32_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 7 + (i >> 8) * 3 + len);
	store16(bytes + 12, swap16(0x0800));
	uint8_t *h = bytes + ETH_IP, *l4 = h + 20;
	h[0] = 0x45;
	store16(h + 2, swap16((uint16_t)(len - ETH_IP)));
	store16(h + 6, 0);
	h[9] = tcp ? 6 : 17;
	store16(h + 10, 0);
	store16(h + 10, (uint16_t)~csum_ip4_header(h));
	uint32_t n = len - ETH_IP - 20;
	if (tcp) {
		l4[12] = 8 << 4;
		l4[13] = flags;
	}
	store16(l4 + (tcp ? 16 : 6), csum_fold((uint32_t)csum_sum(h + 12, 8) +
	                                       swap16(tcp ? 6 : 17) + swap16((uint16_t)n)));
}

/* The packet in `bytes`, in pieces of `each` bytes. */
static struct pkt *packet_of(uint32_t len, bool tcp, uint16_t segment, uint32_t each)
{
	struct pkt *first = NULL, **link = &first;
	for (uint32_t at = 0, n; at < len; at += n) {
		struct pkt *p = pkt_alloc(&kit_pool);
		n = min_u32(at == 0 ? max_u32(each, 256) : each, len - at);
		uint8_t *to = p ? pkt_put(p, n) : NULL;
		if (!to)
			return NULL;
		memcpy(to, bytes + at, n);
		p->next = NULL;
		*link = p;
		link = &p->next;
	}
	first->flags = PKT_PARTIAL;
	first->total = len;
	first->segment = segment;
	first->l4 = ETH_IP + 20;
	first->l4_len = tcp ? 16 : 6;
	return first;
}

/* Sends p, and compares what the card sent with the frames that software makes of `rest`, which is
 * the same packet. */
static void compare(struct pkt *p, struct pkt *rest)
{
	struct e1000_model *m = &kit_card[0];
	unsigned before = m->sent;
	CHECK_EQ(kit_nic[0]->ops->tx_partial(kit_nic[0], &p, 1), 1);
	while (rest) {
		struct pkt *f = offload_next(&kit_pool, &rest);
		CHECK(f);
		if (!f)
			return;
		const struct e1000_model_sent *s = &m->out[before++ % 64];
		uint32_t n = max_u32(f->len, 60);
		CHECK(s->len == f->len || s->len == n);
		CHECK(memcmp(s->bytes, f->data, f->len) == 0);
		CHECK(f->data == f->bytes + PKT_HEADROOM);
		pkt_free(f);
	}
	CHECK_EQ(m->sent, before);
}

/* Does so with the packet in `bytes`, behind its first `cut` segments. */
static void same_behind(uint32_t cut, uint32_t len, bool tcp, uint16_t segment, uint32_t each)
{
	struct pkt *p[2];
	for (uint32_t i = 0; i < 2; i++) {
		p[i] = packet_of(len, tcp, segment, each);
		CHECK(p[i] && offload_check(p[i]) == DROP_NONE);
		for (uint32_t k = 0; k < cut && p[i]; k++) {
			struct pkt *f = offload_next(&kit_pool, &p[i]);
			CHECK(f);
			if (f)
				pkt_free(f);
		}
	}
	CHECK(p[0] && p[1]);
	if (p[0] && p[1])
		compare(p[0], p[1]);
}

static void same(uint32_t len, bool tcp, uint16_t segment, uint32_t each, uint8_t flags)
{
	write_packet(len, tcp, flags);
	same_behind(0, len, tcp, segment, each);
}

/* A plain frame between, which is sent by either function. */
static void plain(uint32_t number)
{
	struct pkt *p = pkt_alloc(&kit_pool);
	uint8_t *to = p ? pkt_put(p, 100) : NULL;
	unsigned before = kit_card[0].sent;
	if (!to)
		return;
	memset(to, (int)number, 100);
	CHECK_EQ(kit_nic[0]->ops->tx(kit_nic[0], &p, 1), 1);
	CHECK_EQ(kit_card[0].sent, before + 1);
	CHECK_EQ(kit_card[0].out[before % 64].len, 100);
	CHECK_EQ(kit_card[0].out[before % 64].bytes[99], (uint8_t)number);
}

static void completes_checksums(void)
{
	kit_begin();
	for (uint32_t len = 66; len <= 1518; len += 1 + len % 7) {
		same(len, true, 0, 2000, 0x10);
		same(len, false, 0, 2000, 0);
		same(len, true, 0, 300, 0x18);
		plain(len);
	}
	kit_wait_ms(20);
	kit_check_pool();
	kit_end();
}

/* Half of a super-segment begins with the headers alone, fewer bytes than a frame has at least. */
static void rest_of_a_super_segment(void)
{
	kit_begin();
	for (uint32_t segments = 3; segments < 9; segments++)
		for (uint32_t cut = 1; cut < segments - 1; cut++) {
			uint32_t len = 54 + segments * 1000 - 100;
			write_packet(len, true, 0x10);
			bytes[ETH_IP + 20 + 12] = 5 << 4;
			same_behind(cut, len, true, 1000, 54 + 1000);
			plain(cut);
		}
	kit_wait_ms(20);
	kit_check_pool();
	kit_end();
}

/* So many that each descriptor of the ring begins a packet, and many go around its end. */
static void cuts_segments(void)
{
	kit_begin();
	for (uint32_t i = 0; i < 300; i++) {
		uint16_t segment = (uint16_t)(1452 - i % 400);
		same(67 + i * 211 % 60000, true, segment, 1700 + i % 300, i % 3 ? 0x10 : 0x19);
		if (i % 5 == 0)
			plain(i);
	}
	same(66 + 45, true, 1, 2000, 0x18);
	same(PKT_TOTAL_MAX - 4, true, 1448, 2048, 0x10);
	kit_wait_ms(20);
	kit_check_pool();
	kit_end();
}

static uint32_t send_partial(struct pkt *p)
{
	CHECK_EQ(offload_check(p), DROP_NONE);
	return kit_nic[0]->ops->tx_partial(kit_nic[0], &p, 1);
}

/* Pieces that need several descriptors; the model knows how long one may be. */
static void large_pieces(void)
{
	kit_room = PKT_ROOM_LARGE;
	kit_begin();
	for (uint32_t each = 2046; each <= PKT_ROOM_LARGE; each += each < 2052 ? 1 : 1023)
		for (uint32_t len = each - 1; len < 60000; len += 7001 + each / 7) {
			same(len, true, 1000, each, 0x10);
			plain(each);
		}
	same(PKT_TOTAL_MAX - 4, true, 1448, PKT_ROOM_LARGE, 0x10);
	kit_wait_ms(20);
	write_packet(6000, true, 0x10);
	struct pkt *p = packet_of(6000, true, 1448, 6000);
	struct pkt *list = pool_leave_free(&kit_pool, 3); /* a context, a tail, two more buffers */
	CHECK_EQ(send_partial(p), 1);
	CHECK_EQ(kit_nic[0]->count.tx_errors, 5);
	pool_give_back(list);
	kit_wait_ms(20);
	p = packet_of(6000, true, 1448, 6000);
	list = pool_leave_free(&kit_pool, 4);
	CHECK_EQ(send_partial(p), 1);
	CHECK_EQ(kit_nic[0]->count.tx_errors, 5);
	pool_give_back(list);
	kit_wait_ms(20);
	kit_check_pool();
	kit_end();
	kit_room = PKT_ROOM;
}

static void full_ring(void)
{
	struct e1000_model *m = kit_begin();
	struct pkt *burst[NIC_BURST];
	uint32_t n = 0;
	write_packet(60000, true, 0x10);
	m->tx_hold = true;
	for (uint32_t i = 0; i < 10; i++) {
		burst[i] = packet_of(60000, true, 1448, 2000);
		CHECK_EQ(offload_check(burst[i]), DROP_NONE);
	}
	n = kit_nic[0]->ops->tx_partial(kit_nic[0], burst, 10);
	CHECK_EQ(n, 8); /* 31 descriptors each, of 255 */
	m->tx_hold = false;
	e1000_model_send(m, 1000);
	CHECK_EQ(kit_nic[0]->ops->tx_partial(kit_nic[0], burst + n, 10 - n), 2);
	kit_wait_ms(20);
	kit_check_pool();
	kit_end();
}

/* A packet waits for the empty ones of its descriptors only while the ring has some that come back,
 * and only for as many as it needs. */
static void pool_without_free_packets(void)
{
	struct e1000_model *m = kit_begin();
	struct pkt *burst[2] = {kit_packet(0, 100, 1), kit_packet(0, 100, 2)}, *p, *list;
	list = pool_leave_free(&kit_pool, 0);
	CHECK_EQ(kit_nic[0]->ops->tx_partial(kit_nic[0], burst, 2), 2); /* need none */
	CHECK_EQ(m->sent, 2);
	CHECK(kit_sent(0, 0, 100, 1) && kit_sent(0, 1, 100, 2));
	kit_wait_ms(10);
	pool_give_back(list);

	write_packet(5000, true, 0x10);
	p = packet_of(5000, true, 1448, 2000);
	list = pool_leave_free(&kit_pool, 1);
	CHECK_EQ(send_partial(p), 1); /* in pieces: one for the context */
	CHECK_EQ(m->sent, 2 + 4);
	pool_give_back(list);
	kit_wait_ms(10);

	p = packet_of(5000, true, 1448, 2000);
	m->tx_hold = true;
	burst[0] = kit_packet(0, 100, 3);
	CHECK_EQ(kit_nic[0]->ops->tx(kit_nic[0], burst, 1), 1);
	list = pool_leave_free(&kit_pool, 0);
	CHECK_EQ(send_partial(p), 0); /* that frame comes back */
	m->tx_hold = false;
	e1000_model_send(m, 1000);
	CHECK_EQ(kit_nic[0]->ops->tx_partial(kit_nic[0], &p, 1), 1);
	CHECK_EQ(m->sent, 7 + 4);
	pool_give_back(list);
	kit_wait_ms(10);

	p = packet_of(5000, true, 1448, 2000);
	list = pool_leave_free(&kit_pool, 0);
	CHECK_EQ(kit_nic[0]->count.tx_errors, 0);
	CHECK_EQ(send_partial(p), 1); /* nothing would */
	CHECK_EQ(m->sent, 7 + 4);
	CHECK_EQ(kit_nic[0]->count.tx_errors, 4);
	pool_give_back(list);
	kit_wait_ms(10);
	kit_check_pool();
	kit_end();
}

/* Puts one more VLAN tag into a packet, as net/vlan does. */
static void put_tag(struct pkt *p)
{
	uint8_t *to = pkt_push(p, 4);
	CHECK(to != NULL);
	if (!to)
		return;
	memmove(to, to + 4, 12);
	store16(to + 12, swap16(0x8100));
	store16(to + 14, swap16(7));
	p->l4 = (uint16_t)(p->l4 + 4);
	p->total += 4;
}

/* A bridged frame with tags, which leaves by an interface with one more. */
static void tags_in_front_of_the_header(void)
{
	struct e1000_model *m = kit_begin();
	write_packet(9000, true, 0x10);
	for (uint32_t tags = 0; tags < 4; tags++) {
		struct pkt *p = packet_of(9000, true, 1400, 2000), *rest;
		rest = packet_of(9000, true, 1400, 2000);
		CHECK(offload_check(p) == DROP_NONE && offload_check(rest) == DROP_NONE);
		for (uint32_t i = 0; i < tags; i++)
			put_tag(p);
		unsigned before = m->sent;
		CHECK_EQ(kit_nic[0]->ops->tx_partial(kit_nic[0], &p, 1), 1);
		while (rest) {
			struct pkt *f = offload_next(&kit_pool, &rest);
			const struct e1000_model_sent *s = &m->out[before++ % 64];
			CHECK_EQ(s->len, f->len + tags * 4);
			CHECK(memcmp(s->bytes, f->data, 12) == 0);
			CHECK(memcmp(s->bytes + 12 + tags * 4, f->data + 12, f->len - 12) == 0);
			pkt_free(f);
		}
		CHECK_EQ(m->sent, before);
	}
	kit_wait_ms(20);
	kit_check_pool();
	kit_end();
}

static void nothing_is_lost_when_it_stops(void)
{
	struct e1000_model *m = kit_begin();
	write_packet(30000, true, 0x10);
	m->tx_hold = true;
	struct pkt *p = packet_of(30000, true, 1448, 2000);
	CHECK_EQ(offload_check(p), DROP_NONE);
	CHECK_EQ(kit_nic[0]->ops->tx_partial(kit_nic[0], &p, 1), 1);
	kit_end();
	kit_begin();
	e1000_model_cable(&kit_card[0], false);
	kit_wait_ms(600);
	CHECK(!kit_nic[0]->carrier.up);
	p = packet_of(30000, true, 1448, 2000);
	CHECK_EQ(offload_check(p), DROP_NONE);
	CHECK_EQ(kit_nic[0]->ops->tx_partial(kit_nic[0], &p, 1), 1);
	CHECK_EQ(kit_nic[0]->count.tx_link_down, 21);
	kit_check_pool();
	kit_end();
}

/* What the card has when it is started again counts as its segments. */
static void segments_that_the_card_had(void)
{
	struct e1000_model *m = kit_begin();
	write_packet(30000, true, 0x10);
	m->tx_hold = true;
	for (uint32_t i = 0; i < 4; i++) {
		struct pkt *p = packet_of(i == 1 ? 1500 : 30000, true, i == 1 ? 0 : 1448, 2000);
		if (i == 1) {
			store16(p->data + ETH_IP + 2, swap16(1500 - ETH_IP));
			p->segment = 0;
		}
		CHECK_EQ(offload_check(p), DROP_NONE);
		CHECK_EQ(kit_nic[0]->ops->tx_partial(kit_nic[0], &p, 1), 1);
	}
	e1000_model_cable(m, false);
	kit_wait_ms(600);
	CHECK_EQ(kit_nic[0]->count.tx_link_down, 3 * 21 + 1);
	m->tx_hold = false;
	kit_check_pool();
	kit_end();
}

static void cards_with_errata(void)
{
	kit_machine(KIT_POOL);
	kit_plug(0, E1000_KIND_82544, 0x1008);
	CHECK(!kit_probe());
	CHECK_EQ(kit_nic[0]->offloads, 0);
	kit_end();
	kit_machine(KIT_POOL);
	kit_plug(0, E1000_KIND_82541, 0x1019);
	CHECK(!kit_probe());
	CHECK_EQ(kit_nic[0]->offloads, NIC_SUM);
	kit_end();
}

int main(void)
{
	TEST(completes_checksums);
	TEST(cuts_segments);
	TEST(rest_of_a_super_segment);
	TEST(large_pieces);
	TEST(full_ring);
	TEST(pool_without_free_packets);
	TEST(tags_in_front_of_the_header);
	TEST(nothing_is_lost_when_it_stops);
	TEST(segments_that_the_card_had);
	TEST(cards_with_errata);
	return tap_done();
}
