/* The virtio driver with offloads: checksums, super-segments, merged buffers (VIRTIO 1.1). */
#include "tests/unit/drivers/virtio_rig.h"

#define TOTAL 65553u

static uint8_t sent[TOTAL + 64], got[TOTAL + 64];

static void rig_start_offloads(enum virtio_model_form form)
{
	rig_new(form);
	rig.m.features |= VIRTIO_MODEL_OFFLOADS;
	CHECK_STR(rig_probe() ? "failed" : "started", "started");
}

static void fill(uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sent[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + len);
}

static const struct virtio_model_said tcp4 = {.flags = H_NEEDS_CSUM,
                                              .type = H_TCP4,
                                              .hdr_len = 54,
                                              .size = 1448,
                                              .start = 34,
                                              .offset = 16};

/* Takes one burst, which must be one partial packet of those bytes, and checks its pieces. */
static void expect_partial(uint32_t len, const struct virtio_model_said *s)
{
	struct pkt *p = NULL;
	uint32_t n = 0, at = 0;
	CHECK_EQ(rig.nic->ops->rx(rig.nic, &p, 1), 1);
	if (!p)
		return;
	CHECK(p->flags & PKT_PARTIAL);
	CHECK_EQ((p->flags & PKT_TSO6) != 0, (s->type & 0x7f) == H_TCP6);
	CHECK_EQ((p->flags & PKT_USO) != 0, (s->type & 0x7f) == H_UDP_L4);
	CHECK_EQ(p->total, len);
	CHECK_EQ(p->segment, s->type ? s->size : 0);
	CHECK_EQ(p->l4, s->start);
	CHECK_EQ(p->l4_len, s->offset);
	CHECK(p->len >= min_u32(len, NIC_HEADER_MAX));
	for (const struct pkt *q = p; q; q = q->next, n++) {
		CHECK(q->len > 0 && at + q->len <= len && memcmp(q->data, sent + at, q->len) == 0);
		at += q->len;
	}
	CHECK_EQ(at, len);
	CHECK(n <= PKT_PIECES);
	pkt_free_all(p);
}

static void plain_frames_as_before(void)
{
	for (int form = VIRTIO_MODEL_LEGACY; form <= VIRTIO_MODEL_MODERN; form++) {
		rig_start_offloads((enum virtio_model_form)form);
		CHECK_EQ(rig.nic->offloads, NIC_SUM | NIC_TSO4 | NIC_TSO6 | NIC_ECN);
		for (uint32_t i = 0; i < 100; i++) {
			rig_receive(1 + i % 32);
			rig_send(1 + i % 32);
		}
		rig_end();
	}
}

static void each_feature_may_be_missing(void)
{
	static const unsigned bit[] = {F_CSUM,      F_GUEST_CSUM, F_GUEST_TSO4, F_GUEST_TSO6,
	                               F_GUEST_ECN, F_HOST_TSO4,  F_HOST_TSO6,  F_HOST_ECN,
	                               F_MRG_RXBUF, F_INDIRECT};
	for (uint32_t set = 0; set < 1u << ARRAY_SIZE(bit); set++) {
		uint64_t f = VIRTIO_MODEL_OFFLOADS;
		for (unsigned i = 0; i < ARRAY_SIZE(bit); i++)
			f &= ~(set >> i & 1 ? F(bit[i]) : 0);
		rig_new(set % 2 ? VIRTIO_MODEL_MODERN : VIRTIO_MODEL_LEGACY);
		rig.m.features = (rig.m.features & ~VIRTIO_MODEL_OFFLOADS) | f;
		CHECK(!rig_probe());
		bool tso = f & F(F_CSUM) && f & F(F_INDIRECT);
		CHECK_EQ(rig.nic->offloads & NIC_SUM, f & F(F_CSUM) ? NIC_SUM : 0);
		CHECK_EQ(rig.nic->offloads & NIC_TSO4, tso && f & F(F_HOST_TSO4) ? NIC_TSO4 : 0);
		CHECK_EQ(rig.nic->offloads & NIC_TSO6, tso && f & F(F_HOST_TSO6) ? NIC_TSO6 : 0);
		rig_receive(3);
		rig_send(3);
		rig_end();
	}
}

static void refused_step_by_step(void)
{
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.features |= VIRTIO_MODEL_OFFLOADS;
	rig.m.refuse = F(F_HOST_TSO4);
	CHECK(!rig_probe());
	CHECK_EQ(rig.nic->offloads, NIC_SUM);
	rig_receive(3);
	rig_end();
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.features |= VIRTIO_MODEL_OFFLOADS;
	rig.m.refuse = F(F_CSUM);
	CHECK(!rig_probe());
	CHECK_EQ(rig.nic->offloads, 0);
	CHECK_EQ(rig.m.accepted & VIRTIO_MODEL_OFFLOADS, 0);
	rig_receive(3);
	rig_send(3);
	rig_end();
}

/* Queues, both or one, that do not hold the longest super-segment: none is asked for. */
static void short_queues(void)
{
	for (uint32_t i = 0; i < 3 * 2 * 6; i++) {
		uint16_t size = (uint16_t)(8u << i % 6);
		rig_new(i / 6 % 2 ? VIRTIO_MODEL_MODERN : VIRTIO_MODEL_LEGACY);
		rig.m.features |= VIRTIO_MODEL_OFFLOADS;
		for (uint32_t k = 0; k < 2; k++)
			if (i / 12 != k)
				rig.m.q[k].size_max = rig.m.q[k].size = size;
		CHECK(!rig_probe());
		CHECK_EQ(rig.nic->offloads & NIC_SUM, NIC_SUM);
		CHECK_EQ((rig.nic->offloads & NIC_TSO4) != 0, size >= 64);
		CHECK_EQ((rig.m.accepted & F(F_GUEST_TSO6)) != 0, size >= 64);
		if (size >= 64) {
			fill(TOTAL);
			CHECK(virtio_model_deliver_said(&rig.m, sent, TOTAL, &tcp4, NULL, 0));
			expect_partial(TOTAL, &tcp4);
		}
		rig_receive(5);
		rig_send(5);
		rig_end();
	}
}

static void chains_of_every_length(void)
{
	rig_start_offloads(VIRTIO_MODEL_MODERN);
	for (uint32_t len = 60; len <= TOTAL; len += len < 5000 ? 1 : 997) {
		fill(len);
		CHECK(virtio_model_deliver_said(&rig.m, sent, len, &tcp4, NULL, 0));
		expect_partial(len, &tcp4);
	}
	fill(TOTAL);
	CHECK(virtio_model_deliver_said(&rig.m, sent, TOTAL, &tcp4, NULL, 0));
	expect_partial(TOTAL, &tcp4);
	CHECK_EQ(rig.nic->count.rx_errors, 0);
	rig_end();
}

static void header_split_anywhere(void)
{
	const struct virtio_model_said six = {.flags = H_NEEDS_CSUM | H_DATA_VALID,
	                                      .type = H_TCP6 | H_ECN,
	                                      .size = 1,
	                                      .start = 54,
	                                      .offset = 16};
	rig_start_offloads(VIRTIO_MODEL_LEGACY);
	fill(5000);
	for (uint16_t first = 1; first < 300; first++) {
		uint16_t sizes[] = {first, (uint16_t)(1 + first % 5), 7};
		CHECK(virtio_model_deliver_said(&rig.m, sent, 5000, &six, sizes, 3));
		expect_partial(5000, &six);
	}
	uint16_t ones[39];
	for (unsigned i = 0; i < ARRAY_SIZE(ones); i++)
		ones[i] = 1;
	CHECK(virtio_model_deliver_said(&rig.m, sent, 39 + 2000, &six, ones, 39));
	expect_partial(39 + 2000, &six);
	rig_end();
}

static void partial_checksum_alone(void)
{
	const struct virtio_model_said sum = {.flags = H_NEEDS_CSUM, .start = 34, .offset = 6};
	rig_start_offloads(VIRTIO_MODEL_MODERN);
	for (uint32_t len = 14; len <= 1518; len++) {
		fill(len);
		CHECK(virtio_model_deliver_said(&rig.m, sent, len, &sum, NULL, 0));
		expect_partial(len, &sum);
	}
	rig_end();
}

/* Delivers a packet that the driver must drop and count; the next one arrives. */
static void dropped(const struct virtio_model_said *s, uint32_t len, const uint16_t *sizes,
                    uint32_t n)
{
	struct pkt *burst[NIC_BURST];
	uint64_t before = rig.nic->count.rx_errors;
	fill(len);
	CHECK(virtio_model_deliver_said(&rig.m, sent, len, s, sizes, n));
	CHECK_EQ(rig.nic->ops->rx(rig.nic, burst, NIC_BURST), 0);
	CHECK_EQ(rig.nic->count.rx_errors, before + 1);
	rig_receive(2);
}

static void what_was_not_negotiated(void)
{
	static const struct virtio_model_said lies[] = {
	        {.flags = H_NEEDS_CSUM, .type = H_UDP, .size = 1000, .start = 34, .offset = 6},
	        {.flags = H_NEEDS_CSUM, .type = 5, .size = 1000, .start = 34, .offset = 6},
	        {.flags = H_NEEDS_CSUM, .type = H_ECN, .size = 1000, .start = 34, .offset = 16},
	        {.flags = H_NEEDS_CSUM, .type = 2, .size = 1000, .start = 34, .offset = 16},
	        {.flags = 0, .type = H_TCP4, .size = 1000, .start = 34, .offset = 16},
	        {.flags = H_DATA_VALID, .type = H_TCP4, .size = 1000, .start = 34, .offset = 16},
	        {.flags = H_NEEDS_CSUM, .type = H_TCP4, .size = 0, .start = 34, .offset = 16},
	        {.flags = H_NEEDS_CSUM | 4, .type = H_TCP4, .size = 9, .start = 34, .offset = 16},
	        {.flags = 0x80, .type = H_NONE},
	        {.flags = 0, .type = H_NONE}, /* two buffers without need */
	};
	rig_start_offloads(VIRTIO_MODEL_MODERN);
	for (unsigned i = 0; i < ARRAY_SIZE(lies); i++)
		dropped(&lies[i], 3000, NULL, 0);
	rig_end();
	rig_new(VIRTIO_MODEL_MODERN); /* checksums, but no super-segments */
	rig.m.features |= VIRTIO_MODEL_OFFLOADS & ~(F(F_GUEST_TSO4) | F(F_GUEST_TSO6));
	CHECK(!rig_probe());
	dropped(&tcp4, 1000, NULL, 0);
	rig_end();
	rig_new(VIRTIO_MODEL_MODERN); /* no marks of congestion */
	rig.m.features |= VIRTIO_MODEL_OFFLOADS & ~F(F_GUEST_ECN);
	struct virtio_model_said ecn = tcp4;
	ecn.type |= H_ECN;
	CHECK(!rig_probe());
	dropped(&ecn, 3000, NULL, 0);
	rig_end();
	rig_new(VIRTIO_MODEL_MODERN); /* only sending */
	rig.m.features |= F(F_CSUM);
	CHECK(!rig_probe());
	dropped(&(struct virtio_model_said){.flags = H_NEEDS_CSUM, .start = 34, .offset = 16}, 100,
	        NULL, 0);
	rig_end();
}

static void sizes_that_are_impossible(void)
{
	uint16_t thin[60];
	for (unsigned i = 0; i < ARRAY_SIZE(thin); i++)
		thin[i] = 1000;
	rig_start_offloads(VIRTIO_MODEL_MODERN);
	dropped(&tcp4, 13, NULL, 0);
	dropped(&tcp4, TOTAL + 1, NULL, 0);
	dropped(&tcp4, 41000, thin, ARRAY_SIZE(thin)); /* 41 pieces */
	rig_end();
}

/* A partial packet of n pieces of `each` bytes. */
static struct pkt *partial_of(uint32_t n, uint32_t each)
{
	struct pkt *first = NULL, **link = &first;
	for (uint32_t i = 0; i < n; i++) {
		struct pkt *p = pkt_alloc(&rig.pool);
		uint8_t *at = p ? pkt_put(p, each) : NULL;
		if (!at)
			return first;
		memcpy(at, sent + i * each, each);
		p->next = NULL;
		*link = p;
		link = &p->next;
	}
	first->flags = PKT_PARTIAL;
	first->total = n * each;
	first->segment = 1000;
	first->segments = (uint16_t)((n * each + 945) / 1000);
	first->l4 = 34;
	first->l4_len = 16;
	first->data[34 + 12] = 5 << 4;
	sent[34 + 12] = 5 << 4;
	return first;
}

/* Receives what breaks the rules, while packets wait in both queues: it is counted, the card is
 * started again, and no packet is lost. `free` are those that were free at the start. */
static void broken(uint32_t free)
{
	struct pkt *burst[NIC_BURST];
	uint32_t n;
	while ((n = rig.nic->ops->rx(rig.nic, burst, NIC_BURST)) > 0)
		while (n > 0)
			pkt_free_all(burst[--n]);
	CHECK_EQ(rig.nic->count.rx_errors, 1);
	CHECK(!rig.nic->carrier.up);
	rig_now_us += 200000;
	rig_poll();
	CHECK_EQ(rig.nic->count.resets, 1);
	CHECK(rig.nic->carrier.up);
	CHECK_EQ(rig.pool.n_free, free);
}

/* Delivers a packet with a wrong number of buffers. */
static void broken_by(uint16_t buffers)
{
	struct virtio_model_said s = tcp4;
	s.buffers = buffers;
	rig_start_offloads(VIRTIO_MODEL_MODERN);
	uint32_t free = rig.pool.n_free;
	struct pkt *waiting[3] = {partial_of(7, 1000), rig_packet(0), partial_of(1, 500)};
	CHECK_EQ(rig.nic->ops->tx(rig.nic, waiting, 3), 3);
	for (uint32_t i = 0; i < 5; i++, rig.next_rx++)
		CHECK(rig_deliver());
	fill(30000);
	CHECK(virtio_model_deliver_said(&rig.m, sent, 30000, &tcp4, NULL, 0));
	CHECK(virtio_model_deliver_said(&rig.m, sent, 30000, &s, NULL, 0));
	broken(free);
	fill(3000);
	CHECK(virtio_model_deliver_said(&rig.m, sent, 3000, &tcp4, NULL, 0));
	expect_partial(3000, &tcp4);
	rig_end();
}

static void number_of_buffers_that_lies(void)
{
	broken_by(3); /* the third was not used */
	broken_by(65535);
}

/* The device says that it wrote more than a buffer has room for: into one of a packet, or into the
 * one of a plain frame. */
static void more_than_a_buffer_has(void)
{
	const struct virtio_model_queue *q = &rig.m.q[VIRTIO_MODEL_RX];
	for (uint32_t entry = 0; entry < 4; entry++) {
		rig_start_offloads(VIRTIO_MODEL_MODERN);
		uint32_t free = rig.pool.n_free, room = rig_room + 12, len = 2 * rig_room + 900;
		fill(len);
		if (entry == 3) {
			CHECK(virtio_model_deliver_claim(&rig.m, sent, 100, room + 1));
		} else {
			CHECK(virtio_model_deliver_said(&rig.m, sent, len, &tcp4, NULL, 0));
			store32(pci_model_dma(&rig.m.pci, q->used + 8 + 8 * entry, 4), room + 1);
		}
		broken(free);
		rig_receive(2);
		rig_end();
	}
}

static uint8_t *to_change; /* the length of the second used entry of a packet */

/* The driver gives the device a fresh buffer: it has read the entries, and takes the packet. */
static void change_length(void)
{
	if (to_change)
		store32(to_change, 100000);
}

/* A device that changes a length behind the driver's back gains nothing. */
static void length_that_changes(void)
{
	rig_start_offloads(VIRTIO_MODEL_MODERN);
	fill(5000);
	CHECK(virtio_model_deliver_said(&rig.m, sent, 5000, &tcp4, NULL, 0));
	to_change = pci_model_dma(&rig.m.pci, rig.m.q[VIRTIO_MODEL_RX].used + 4 + 8 + 4, 4);
	host_dma_watch = change_length;
	expect_partial(5000, &tcp4);
	CHECK_EQ(load32(to_change), 100000);
	host_dma_watch = NULL;
	to_change = NULL;
	rig_end();
}

static void a_burst_is_of_one_kind(void)
{
	struct pkt *burst[NIC_BURST];
	uint32_t n, kinds = 0, packets = 0;
	rig_start_offloads(VIRTIO_MODEL_MODERN);
	for (uint32_t i = 0; i < 20; i++) {
		fill(3000);
		if (i % 4 < 2)
			CHECK(virtio_model_deliver_said(
			        &rig.m, sent, 3000,
			        &(struct virtio_model_said){.flags = H_NEEDS_CSUM,
			                                    .type = H_TCP4,
			                                    .size = (uint16_t)(1000 + i),
			                                    .start = 34,
			                                    .offset = 16},
			        NULL, 0));
		else if (rig_deliver())
			rig.next_rx++;
	}
	uint32_t plain = 0;
	while ((n = rig.nic->ops->rx(rig.nic, burst, NIC_BURST)) > 0) {
		CHECK_EQ(n, 2);
		for (uint32_t i = 0; i < n; i++) {
			CHECK_EQ(burst[i]->flags & PKT_PARTIAL, kinds % 2 ? 0 : PKT_PARTIAL);
			if (kinds % 2)
				CHECK(rig_is_frame(plain++, burst[i]->data, burst[i]->len));
			else
				CHECK_EQ(burst[i]->segment, 1000 + packets);
			pkt_free_all(burst[i]);
			packets++;
		}
		kinds++;
	}
	CHECK_EQ(packets, 20);
	rig_end();
}

static void no_packet_in_the_pool(void)
{
	static struct pkt *held[RIG_POOL], *p;
	uint32_t n = 0, three = 2 * rig_room + 1900, two = rig_room + 1900; /* buffers */
	rig_start_offloads(VIRTIO_MODEL_MODERN);
	while (rig.pool.n_free > 2)
		held[n++] = pkt_alloc(&rig.pool);
	fill(three);
	sent[34 + 12] = 5 << 4;
	CHECK(virtio_model_deliver_said(&rig.m, sent, three, &tcp4, NULL, 0));
	CHECK_EQ(rig.nic->ops->rx(rig.nic, &p, 1), 0);
	CHECK_EQ(rig.nic->count.rx_no_packet, (three - 34 - 20 + 1447) / 1448);
	CHECK_EQ(rig.pool.n_free, 2);
	fill(two);
	CHECK(virtio_model_deliver_said(&rig.m, sent, two, &tcp4, NULL, 0));
	expect_partial(two, &tcp4);
	while (n > 0)
		pkt_free(held[--n]);
	rig_end();
}

static void sends_pieces(void)
{
	rig_start_offloads(VIRTIO_MODEL_MODERN);
	for (uint32_t i = 0, round = 0; i < 12; round = ++i % 3) /* all slots, several times */
		for (uint32_t n = 1; n <= PKT_PIECES; n++) {
			struct virtio_model_said s;
			uint32_t len;
			fill(n * 1600);
			struct pkt *p = partial_of(n, 1600);
			if (round == 1)
				p->flags |= PKT_TSO6;
			if (round == 2)
				p->flags |= PKT_ECN;
			CHECK_EQ(rig.nic->ops->tx(rig.nic, &p, 1), 1);
			CHECK(virtio_model_take_said(&rig.m, got, sizeof got, &len, &s));
			CHECK_EQ(len, n * 1600);
			CHECK(memcmp(got, sent, len) == 0);
			CHECK_EQ(s.type, round == 1   ? H_TCP6
			                 : round == 2 ? H_TCP4 | H_ECN
			                              : H_TCP4);
			CHECK_EQ(s.size, 1000);
			CHECK_EQ(s.start, 34);
			CHECK_EQ(s.offset, 16);
			CHECK_EQ(s.hdr_len, 54);
			CHECK_EQ(virtio_model_complete(&rig.m, 1, false), 1);
			rig_send(1);
		}
	fill(41 * 1000);
	struct pkt *p = partial_of(PKT_PIECES + 1, 1000);
	CHECK_EQ(rig.nic->ops->tx(rig.nic, &p, 1), 1);
	CHECK_EQ(rig.nic->count.tx_errors, 41); /* segments */
	rig_send(1);
	rig_end();
}

/* Half of a super-segment that net/offload has cut begins with the headers alone. */
static void sends_a_short_first_piece(void)
{
	struct virtio_model_said s;
	uint32_t len;
	rig_start_offloads(VIRTIO_MODEL_MODERN);
	fill(54 + 2000);
	struct pkt *p = pkt_alloc(&rig.pool), *rest = pkt_alloc(&rig.pool);
	uint8_t *head = p ? pkt_put(p, 54) : NULL, *data = rest ? pkt_put(rest, 2000) : NULL;
	CHECK(head && data);
	if (!head || !data)
		return;
	sent[34 + 12] = 5 << 4;
	memcpy(head, sent, 54);
	memcpy(data, sent + 54, 2000);
	p->flags = PKT_PARTIAL;
	p->next = rest;
	rest->next = NULL;
	p->total = 54 + 2000;
	p->segment = 1000;
	p->segments = 2;
	p->l4 = 34;
	p->l4_len = 16;
	CHECK_EQ(rig.nic->ops->tx(rig.nic, &p, 1), 1);
	CHECK(virtio_model_take_said(&rig.m, got, sizeof got, &len, &s));
	CHECK_EQ(len, 54 + 2000);
	CHECK(memcmp(got, sent, len) == 0);
	rig_end();
}

/* Segmentation of UDP (VIRTIO 1.3), which few devices offer. */
static void datagrams(void)
{
	static const struct virtio_model_said uso = {
	        .flags = H_NEEDS_CSUM, .type = H_UDP_L4, .size = 1400, .start = 34, .offset = 6};
	struct virtio_model_said s;
	uint32_t len;
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.features |= VIRTIO_MODEL_OFFLOADS | VIRTIO_MODEL_USO;
	CHECK(!rig_probe());
	CHECK_EQ(rig.m.accepted & VIRTIO_MODEL_USO, VIRTIO_MODEL_USO);
	CHECK_EQ(rig.nic->offloads, NIC_SUM | NIC_TSO4 | NIC_TSO6 | NIC_ECN | NIC_USO);
	for (len = 100; len < 65000; len += 1777) {
		fill(len);
		CHECK(virtio_model_deliver_said(&rig.m, sent, len, &uso, NULL, 0));
		expect_partial(len, &uso);
	}
	s = uso;
	s.type |= H_ECN;
	dropped(&s, 3000, NULL, 0);
	fill(5 * 1000);
	struct pkt *p = partial_of(5, 1000);
	p->flags |= PKT_USO;
	p->l4_len = 6;
	CHECK_EQ(rig.nic->ops->tx(rig.nic, &p, 1), 1);
	CHECK(virtio_model_take_said(&rig.m, got, sizeof got, &len, &s));
	CHECK(len == 5000 && memcmp(got, sent, len) == 0);
	CHECK_EQ(s.type, H_UDP_L4);
	CHECK_EQ(s.hdr_len, 42);
	CHECK_EQ(s.size, 1000);
	rig_end();
	for (unsigned missing = 0; missing < 5; missing++) { /* each bit alone may be missing */
		static const unsigned bit[] = {F_GUEST_USO4, F_GUEST_USO6, F_HOST_USO, F_CSUM,
		                               F_GUEST_CSUM};
		rig_new(VIRTIO_MODEL_MODERN);
		rig.m.features |= VIRTIO_MODEL_OFFLOADS | VIRTIO_MODEL_USO;
		rig.m.features &= ~F(bit[missing]);
		CHECK(!rig_probe());
		CHECK_EQ((rig.nic->offloads & NIC_USO) != 0,
		         bit[missing] != F_HOST_USO && bit[missing] != F_CSUM);
		if (bit[missing] == F_GUEST_USO4 || bit[missing] == F_GUEST_USO6)
			dropped(&uso, 3000, NULL, 0);
		rig_receive(3);
		rig_send(3);
		rig_end();
	}
}

static void sends_a_short_partial_frame(void)
{
	struct virtio_model_said s;
	uint32_t len;
	rig_start_offloads(VIRTIO_MODEL_LEGACY);
	fill(54);
	struct pkt *p = partial_of(1, 54);
	p->segment = 0;
	CHECK_EQ(rig.nic->ops->tx(rig.nic, &p, 1), 1);
	CHECK(virtio_model_take_said(&rig.m, got, sizeof got, &len, &s));
	CHECK_EQ(len, 60);
	CHECK_EQ(s.flags, H_NEEDS_CSUM);
	CHECK_EQ(s.type, 0);
	CHECK(memcmp(got, sent, 54) == 0);
	for (uint32_t i = 54; i < 60; i++)
		CHECK_EQ(got[i], 0);
	rig_end(); /* what was not sent is free again */
}

static void dropped_with_all_pieces(void)
{
	rig_start_offloads(VIRTIO_MODEL_MODERN);
	uint32_t before = rig.pool.n_free;
	fill(5000);
	virtio_model_link(&rig.m, false);
	rig_poll();
	struct pkt *p = partial_of(5, 1000);
	CHECK_EQ(rig.nic->ops->tx(rig.nic, &p, 1), 1);
	CHECK_EQ(rig.nic->count.tx_link_down, 5);
	CHECK_EQ(rig.pool.n_free, before);
	virtio_model_link(&rig.m, true);
	rig_poll();
	p = partial_of(5, 1000); /* the device keeps it, and is stopped */
	CHECK_EQ(rig.nic->ops->tx(rig.nic, &p, 1), 1);
	virtio_model_needs_reset(&rig.m);
	rig_poll();
	rig_now_us += 200000;
	rig_poll();
	CHECK_EQ(rig.nic->count.tx_errors, 5);
	CHECK_EQ(rig.pool.n_free, before);
	rig_send(3);
	rig_end();
}

int main(void)
{
	for (uint32_t large = 0; large < 2; large++) {
		rig_room = large ? PKT_ROOM_LARGE : PKT_ROOM;
		TEST(plain_frames_as_before);
		TEST(each_feature_may_be_missing);
		TEST(refused_step_by_step);
		TEST(short_queues);
		TEST(chains_of_every_length);
		TEST(header_split_anywhere);
		TEST(partial_checksum_alone);
		TEST(what_was_not_negotiated);
		TEST(sizes_that_are_impossible);
		TEST(number_of_buffers_that_lies);
		TEST(more_than_a_buffer_has);
		TEST(length_that_changes);
		TEST(a_burst_is_of_one_kind);
		TEST(no_packet_in_the_pool);
		TEST(sends_pieces);
		TEST(sends_a_short_partial_frame);
		TEST(sends_a_short_first_piece);
		TEST(datagrams);
		TEST(dropped_with_all_pieces);
	}
	return tap_done();
}
