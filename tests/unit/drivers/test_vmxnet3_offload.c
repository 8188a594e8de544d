/* Partial packets of the vmxnet3 driver: the device's model sends the frames that net/offload makes
 * of the same packet. */
#include "tests/unit/drivers/card_kit.h"

#include "net/lib/csum.h"
#include "net/offload/offload.h"
#include "tests/models/vmxnet3_model.h"
#include "tests/unit/drivers/pool_kit.h"

#define ETH_IP 14u

static struct vmxnet3_model model;
static uint8_t bytes[PKT_TOTAL_MAX];
static struct card_sent seen[64];
static unsigned n_seen;

static struct card *plug(unsigned slot, const uint8_t address[6])
{
	return vmxnet3_model_plug(&model, slot, address);
}

static const struct card_kind kind = {.name = "vmxnet3",
                                      .driver = &vmxnet3_driver,
                                      .ring = 256,
                                      .plug = plug,
                                      .receive = vmxnet3_model_receive,
                                      .send = vmxnet3_model_send,
                                      .quiet = vmxnet3_model_quiet,
                                      .irq = vmxnet3_model_irq};

/* How a packet is made. */
struct shape {
	uint32_t len;
	bool udp, six;
	uint16_t segment;
	uint32_t each; /* bytes of a piece */
	uint8_t flags; /* of TCP */
};

static uint32_t l4_of(const struct shape *s)
{
	return ETH_IP + (s->six ? 40 : 20);
}

/* Writes a packet of TCP or UDP with a partial checksum into `bytes`. */
static void write_packet(const struct shape *s)
{
	uint32_t l4 = l4_of(s), n = s->len - l4, sum = swap16(s->udp ? 17 : 6);
	uint8_t *h = bytes + ETH_IP;
	for (uint32_t i = 0; i < s->len; i++)
		bytes[i] = (uint8_t)(i * 7 + (i >> 8) * 3 + s->len);
	store16(bytes + 12, swap16(s->six ? 0x86dd : 0x0800));
	if (s->six) {
		h[0] = 0x60;
		store16(h + 4, swap16((uint16_t)n));
		h[6] = s->udp ? 17 : 6;
		sum += (uint32_t)csum_sum(h + 8, 32);
	} else {
		h[0] = 0x45;
		store16(h + 2, swap16((uint16_t)(n + 20)));
		store16(h + 6, 0);
		h[9] = s->udp ? 17 : 6;
		store16(h + 10, 0);
		store16(h + 10, (uint16_t)~csum_ip4_header(h));
		sum += (uint32_t)csum_sum(h + 12, 8);
	}
	if (!s->udp) {
		bytes[l4 + 12] = 8 << 4;
		bytes[l4 + 13] = s->flags;
	}
	store16(bytes + l4 + (s->udp ? 6 : 16), csum_fold(sum + swap16((uint16_t)n)));
}

/* The packet in `bytes`. */
static struct pkt *packet_of(const struct shape *s)
{
	struct pkt *first = NULL, **link = &first;
	for (uint32_t at = 0, n; at < s->len; at += n) {
		struct pkt *p = pkt_alloc(&suite_pool);
		n = min_u32(at == 0 ? max_u32(s->each, 256) : s->each, s->len - at);
		uint8_t *to = p ? pkt_put(p, n) : NULL;
		if (!to)
			exit(1);
		memcpy(to, bytes + at, n);
		p->next = NULL;
		*link = p;
		link = &p->next;
	}
	first->flags = PKT_PARTIAL | (s->six && s->segment ? PKT_TSO6 : 0);
	first->total = s->len;
	first->segment = s->segment;
	first->segments = 1;
	first->l4 = (uint16_t)l4_of(s);
	first->l4_len = s->udp ? 6 : 16;
	CHECK_EQ(offload_check(first), DROP_NONE);
	return first;
}

/* The card keeps 64 frames that it sent; a packet here may become more. */
static void keep_sent(unsigned before)
{
	n_seen = suite_card->sent - before;
	CHECK(n_seen <= 64);
	for (unsigned i = 0; i < min_u32(n_seen, 64); i++)
		seen[i] = suite_card->out[(before + i) % 64];
}

/* Sends p, and compares what the card sent with the frames that software makes of `rest`, which is
 * the same packet. */
static void compare(struct pkt *p, struct pkt *rest)
{
	unsigned before = suite_card->sent, k = 0;
	CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, &p, 1), 1);
	keep_sent(before);
	while (rest) {
		struct pkt *f = offload_next(&suite_pool, &rest);
		if (!f)
			exit(1);
		CHECK(k < n_seen && seen[k].len == max_u32(f->len, 60));
		CHECK(memcmp(seen[k].bytes, f->data, f->len) == 0);
		k++;
		pkt_free(f);
	}
	CHECK_EQ(k, n_seen);
}

static void same(struct shape s)
{
	write_packet(&s);
	compare(packet_of(&s), packet_of(&s));
}

/* A plain frame between, which is sent by either function. */
static void plain(uint32_t number)
{
	struct pkt *p = suite_packet(100, number);
	unsigned before = suite_card->sent;
	CHECK_EQ(number % 2 ? suite_nic->ops->tx(suite_nic, &p, 1)
	                    : suite_nic->ops->tx_partial(suite_nic, &p, 1),
	         1);
	CHECK_EQ(suite_card->sent, before + 1);
	CHECK(suite_sent(before, 100, number));
}

static void check_pool(void)
{
	suite_wait_ms(20);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total - suite->ring);
	CHECK_EQ(suite_nic->count.tx_errors, 0);
}

static void completes_checksums(void)
{
	suite_begin();
	for (uint32_t len = 86; len <= 1518; len += 1 + len % 7) {
		same((struct shape){len, .each = 2000, .flags = 0x10});
		same((struct shape){len, .udp = true, .each = 2000});
		same((struct shape){len, .each = 300, .flags = 0x18});
		same((struct shape){len, .six = true, .each = 2000, .flags = 0x10});
		plain(len);
	}
	check_pool();
	suite_end();
}

/* So many that each descriptor of the ring begins a packet, and many go around its end. */
static void cuts_segments(void)
{
	suite_begin();
	for (uint32_t i = 0; i < 600; i++) {
		struct shape s = {.len = 100 + i * 211 % 60000,
		                  .six = i & 1,
		                  .segment = (uint16_t)(1432 - i % 400),
		                  .each = 1700 + i % 349,
		                  .flags = i % 3 ? 0x10 : 0x19};
		same(s);
		if (i % 5 == 0)
			plain(i);
	}
	check_pool();
	suite_end();
}

/* Segments of one byte, of as much as there is, of more; and the largest packet. */
static void sizes_of_segments(void)
{
	suite_begin();
	for (uint32_t six = 0; six < 2; six++) {
		uint32_t header = six ? 86 : 66;
		same((struct shape){header + 45, .six = six, .segment = 1, .each = 2000,
		                    .flags = 0x18});
		same((struct shape){header + 1, .six = six, .segment = 1, .each = 2000,
		                    .flags = 0x18});
		for (uint32_t payload = 999; payload <= 1001; payload++)
			same((struct shape){header + payload, .six = six, .segment = 1000,
			                    .each = 300});
		same((struct shape){header + 1000, .six = six, .segment = 1400, .each = 300});
		same((struct shape){65549, .six = six, .segment = 1428, .each = 2048,
		                    .flags = 0x10});
	}
	check_pool();
	suite_end();
}

/* Packets of each number of pieces: none has more descriptors than it may, and where one is
 * divided, none of them has a single segment. */
static void each_number_of_pieces(void)
{
	suite_begin();
	for (uint32_t pieces = 1; pieces <= PKT_PIECES; pieces++)
		for (uint32_t each = 1448; each <= 1638; each += 19) {
			uint32_t len = pieces * each - 10;
			same((struct shape){len, .segment = 1448, .each = each, .flags = 0x19});
			same((struct shape){len, .segment = (uint16_t)(each * 3 / 4),
			                    .each = each});
		}
	CHECK_EQ(model.most, 24);
	check_pool();
	suite_end();
}

/* What the device cannot be given is dropped and counted: more pieces than descriptors, pieces
 * without bytes, headers or segments that have no room in a descriptor. */
static void refused(void)
{
	suite_begin();
	struct shape s = {.len = 1500, .each = 60, .flags = 0x10};
	write_packet(&s);
	struct pkt *p[4] = {packet_of(&s)};
	s = (struct shape){.len = 9000, .segment = 1400, .each = 2000, .flags = 0x10};
	write_packet(&s);
	for (unsigned i = 1; i < 3; i++)
		p[i] = packet_of(&s);
	p[1]->next->len = 0;
	p[1]->total -= 2000;
	p[2]->l4 = 1000;
	s.len = 40000;
	write_packet(&s);
	p[3] = packet_of(&s);
	p[3]->segment = 0x4000;
	unsigned before = suite_card->sent;
	CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, p, 4), 4);
	CHECK_EQ(suite_card->sent, before);
	CHECK_EQ(suite_nic->count.tx_errors, 1 + 2 * 7 + 29);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total - suite->ring);
	suite_nic->count.tx_errors = 0;
	check_pool();
	suite_alive();
	suite_end();
}

static void full_ring(void)
{
	struct shape s = {.len = 60000, .segment = 1448, .each = 2000, .flags = 0x10};
	struct pkt *burst[10];
	suite_begin();
	write_packet(&s);
	suite_card->tx_hold = true;
	for (uint32_t i = 0; i < 10; i++)
		burst[i] = packet_of(&s);
	uint32_t n = suite_nic->ops->tx_partial(suite_nic, burst, 10);
	CHECK_EQ(n, 7); /* 30 pieces, headers, and a piece that two packets share: 32, of 255 */
	suite_card->tx_hold = false;
	vmxnet3_model_send(suite_card);
	CHECK_EQ(suite_card->sent, 7 * 42);
	CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, burst + n, 10 - n), 3);
	CHECK_EQ(suite_card->sent, 10 * 42);
	check_pool();
	suite_end();
}

/* A packet waits for the pool only while the ring has packets that come back, and only for as many
 * as it needs. */
static void pool_without_free_packets(void)
{
	struct shape small = {.len = 5000, .segment = 1448, .each = 2000, .flags = 0x10};
	struct shape large = {.len = 60000, .segment = 1448, .each = 2000, .flags = 0x10};
	suite_begin();
	write_packet(&small);
	struct pkt *p = packet_of(&small), *frame = suite_packet(100, 3),
	           *list = pool_leave_free(&suite_pool, 0);
	CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, &p, 1), 1); /* needs none */
	CHECK_EQ(suite_card->sent, 4);
	pool_give_back(list);
	suite_wait_ms(10);

	write_packet(&large);
	p = packet_of(&large);
	list = pool_leave_free(&suite_pool, 1);
	suite_card->tx_hold = true;
	CHECK_EQ(suite_nic->ops->tx(suite_nic, &frame, 1), 1);
	CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, &p, 1), 0); /* that frame comes back */
	suite_card->tx_hold = false;
	vmxnet3_model_send(suite_card);
	CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, &p, 1), 1);
	CHECK_EQ(suite_card->sent, 4 + 1 + 42);
	pool_give_back(list);
	suite_wait_ms(10);

	p = packet_of(&large);
	list = pool_leave_free(&suite_pool, 1);
	CHECK_EQ(suite_nic->count.tx_errors, 0);
	CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, &p, 1), 1); /* nothing would */
	CHECK_EQ(suite_card->sent, 4 + 1 + 42);
	CHECK_EQ(suite_nic->count.tx_errors, 42);
	pool_give_back(list);
	suite_nic->count.tx_errors = 0;
	check_pool();
	suite_end();
}

/* Puts one more VLAN tag into a packet, as net/vlan does. */
static void put_tag(struct pkt *p)
{
	uint8_t *to = pkt_push(p, 4);
	if (!to)
		exit(1);
	memmove(to, to + 4, 12);
	store16(to + 12, swap16(0x8100));
	store16(to + 14, swap16(7));
	p->l4 = (uint16_t)(p->l4 + 4);
	p->total += 4;
}

/* A bridged frame with a tag, which leaves by an interface with one more. */
static void tags_in_front_of_the_header(void)
{
	struct shape s = {.len = 60000, .segment = 1400, .each = 2000, .flags = 0x10};
	suite_begin();
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t tags = i >> 1;
		s.six = i & 1;
		write_packet(&s);
		struct pkt *p = packet_of(&s), *rest = packet_of(&s);
		for (uint32_t k = 0; k < tags; k++)
			put_tag(p);
		unsigned before = suite_card->sent, k = 0;
		CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, &p, 1), 1);
		keep_sent(before);
		while (rest) {
			struct pkt *f = offload_next(&suite_pool, &rest);
			if (!f)
				exit(1);
			const struct card_sent *out = &seen[k++];
			CHECK_EQ(out->len, f->len + tags * 4);
			CHECK(memcmp(out->bytes, f->data, 12) == 0);
			CHECK(memcmp(out->bytes + 12 + tags * 4, f->data + 12, f->len - 12) == 0);
			CHECK(!tags || load16(out->bytes + 14) == swap16(7));
			pkt_free(f);
		}
		CHECK_EQ(k, n_seen);
	}
	check_pool();
	suite_end();
}

static void nothing_is_lost_when_it_stops(void)
{
	struct shape s = {.len = 60000, .segment = 1448, .each = 2000, .flags = 0x10};
	suite_begin();
	write_packet(&s);
	suite_card->tx_hold = true;
	struct pkt *p = packet_of(&s);
	CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, &p, 1), 1);
	suite_end();
	suite_begin();
	suite_card->cable = false;
	suite_wait_ms(600);
	p = packet_of(&s);
	CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, &p, 1), 1);
	CHECK_EQ(suite_nic->count.tx_link_down, 42);
	check_pool();
	suite_end();
}

/* What the device has when it is started again counts as its segments. */
static void segments_that_the_device_had(void)
{
	struct shape s = {.len = 60000, .segment = 1448, .each = 2000, .flags = 0x10};
	suite_begin();
	write_packet(&s);
	suite_card->tx_hold = true;
	for (uint32_t i = 0; i < 4; i++) {
		struct pkt *p = i == 1 ? suite_packet(100, 1) : packet_of(&s);
		CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, &p, 1), 1);
	}
	suite_card->cable = false;
	suite_wait_ms(600);
	CHECK_EQ(suite_nic->count.tx_link_down, 3 * 42 + 1);
	suite_card->tx_hold = false;
	check_pool();
	suite_end();
}

int main(void)
{
	suite = &kind;
	TEST(completes_checksums);
	TEST(cuts_segments);
	TEST(sizes_of_segments);
	TEST(each_number_of_pieces);
	TEST(refused);
	TEST(full_ring);
	TEST(pool_without_free_packets);
	TEST(tags_in_front_of_the_header);
	TEST(nothing_is_lost_when_it_stops);
	TEST(segments_that_the_device_had);
	return tap_done();
}
