/* The virtio driver with a device that breaks the specification, fails or does not start.
 * The driver believes no wrong value, leaks nothing, and every wait ends. */
#include "tests/unit/drivers/virtio_rig.h"

static struct pkt *burst[NIC_BURST];

static uint32_t receive(void)
{
	return rig.nic->ops->rx(rig.nic, burst, NIC_BURST);
}

/* Polls until the driver has restarted the device. */
static void recover(uint64_t resets)
{
	CHECK(!rig.nic->carrier.up);
	for (unsigned i = 0; i < 20 && !rig.nic->carrier.up; i++)
		rig_poll();
	CHECK(rig.nic->carrier.up);
	CHECK_EQ(rig.nic->count.resets, resets);
	CHECK_EQ(virtio_model_waiting(&rig.m, VIRTIO_MODEL_RX), 256);
	CHECK_EQ(virtio_model_waiting(&rig.m, VIRTIO_MODEL_TX), 0);
	rig_receive(NIC_BURST);
	rig_send(NIC_BURST);
	rig_poll();
}

static void used_id_out_of_range(void)
{
	static const uint32_t ids[] = {256,        257,        0xffff,    0x10000,
	                               0x7fffffff, 0x80000000, 0xffffffff};
	rig_start(VIRTIO_MODEL_MODERN);
	for (unsigned i = 0; i < ARRAY_SIZE(ids); i++) {
		rig_deliver(); /* a good frame before it is still passed on */
		virtio_model_used_raw(&rig.m, VIRTIO_MODEL_RX, ids[i], 100);
		CHECK_EQ(receive(), 1);
		CHECK(rig_is_frame(rig.next_rx, burst[0]->data, burst[0]->len));
		pkt_free(burst[0]);
		CHECK_EQ(rig.nic->count.rx_errors, i + 1);
		CHECK_EQ(receive(), 0);
		CHECK(!rig.nic->ops->arm(rig.nic));
		recover(2 * i + 1);
		rig_offer(3);
		virtio_model_used_raw(&rig.m, VIRTIO_MODEL_TX, ids[i], 0);
		CHECK_EQ(rig_offer(1), 1); /* dropped: carrier down */
		recover(2 * i + 2);
		rig_now_us += 61000000; /* long enough that a restart comes at once */
	}
	CHECK_EQ(rig.nic->count.tx_errors, 3 * ARRAY_SIZE(ids));
	CHECK_EQ(rig.nic->count.tx_link_down, ARRAY_SIZE(ids));
	rig_end();
}

static void split_header_ids_are_heads_only(void)
{
	rig_new(VIRTIO_MODEL_LEGACY);
	rig.m.features &= ~F(F_ANY_LAYOUT);
	CHECK(!rig_probe());
	virtio_model_used_raw(&rig.m, VIRTIO_MODEL_RX, 128, 100);
	CHECK_EQ(receive(), 0);
	CHECK_EQ(rig.nic->count.rx_errors, 1);
	rig_poll();
	CHECK_EQ(rig.nic->count.resets, 1);
	rig_receive(5);
	rig_end();
}

static void the_same_buffer_twice(void)
{
	rig_start(VIRTIO_MODEL_MODERN);
	uint8_t buf[64] = {0};
	CHECK(virtio_model_deliver(&rig.m, buf, 60));
	virtio_model_used_raw(&rig.m, VIRTIO_MODEL_RX, rig.m.q[VIRTIO_MODEL_RX].order[0], 72);
	CHECK_EQ(receive(), 1);
	pkt_free(burst[0]);
	CHECK_EQ(rig.nic->count.rx_errors, 1);
	recover(1);

	CHECK_EQ(rig_offer(2), 2);
	rig_seen(2);
	virtio_model_complete(&rig.m, 1, false);
	struct virtio_model_queue *q = &rig.m.q[VIRTIO_MODEL_TX];
	virtio_model_used_raw(&rig.m, VIRTIO_MODEL_TX, q->order[(q->next - 2u) % 1024], 0);
	rig.next_tx += 2;
	rig_now_us += 61000000;
	rig_poll(); /* the poll finds it and restarts at once */
	CHECK_EQ(rig.nic->count.resets, 2);
	CHECK_EQ(rig.nic->count.tx_errors, 1);
	rig_send(4);
	rig_end();
}

static void sent_buffer_that_was_never_offered(void)
{
	rig_start(VIRTIO_MODEL_LEGACY);
	CHECK_EQ(rig_offer(1), 1);
	uint16_t other = rig.m.q[VIRTIO_MODEL_TX].order[0] == 9 ? 8 : 9;
	virtio_model_used_raw(&rig.m, VIRTIO_MODEL_TX, other, 0);
	rig_poll();
	CHECK_EQ(rig.nic->count.resets, 1);
	CHECK_EQ(rig.nic->count.tx_errors, 1);
	rig_send(4);
	rig_end();
}

static void lengths_that_lie(void)
{
	static const enum virtio_model_form forms[] = {VIRTIO_MODEL_LEGACY, VIRTIO_MODEL_MODERN};
	for (unsigned f = 0; f < ARRAY_SIZE(forms); f++) {
		rig_start(forms[f]);
		uint32_t h = virtio_model_header(&rig.m);
		const uint32_t bad[] = {0,      1,          h - 1,      h,
		                        h + 13, h + 1519,   h + 2048,   h + 2049,
		                        65536,  0x7fffffff, 0x80000000, 0xffffffff};
		uint8_t buf[100] = {0};
		for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
			CHECK(virtio_model_deliver_claim(&rig.m, buf, 60, bad[i]));
			CHECK_EQ(receive(), 0);
			CHECK_EQ(rig.nic->count.rx_errors, i + 1);
			rig_receive(3); /* it continues without a restart */
		}
		CHECK(virtio_model_deliver_claim(&rig.m, buf, 60, h + 1518));
		CHECK(virtio_model_deliver_claim(&rig.m, buf, 60, h + 14));
		CHECK_EQ(receive(), 2);
		CHECK_EQ(burst[0]->len, 1518);
		CHECK_EQ(burst[1]->len, 14);
		pkt_free(burst[0]);
		pkt_free(burst[1]);
		CHECK_EQ(virtio_model_waiting(&rig.m, VIRTIO_MODEL_RX), 256);
		CHECK_EQ(rig.nic->count.resets, 0);
		rig_end();
	}
}

static void indices_that_jump(void)
{
	static const uint16_t by[] = {1, 257, 300, 0x7fff, 0x8000, 0xffff};
	rig_start(VIRTIO_MODEL_TRANSITIONAL);
	for (unsigned i = 1; i < ARRAY_SIZE(by); i++) {
		virtio_model_jump(&rig.m, VIRTIO_MODEL_RX, by[i]);
		CHECK_EQ(receive(), 0);
		recover(2 * i - 1);
		rig_now_us += 61000000;
		CHECK_EQ(rig_offer(NIC_BURST), NIC_BURST);
		virtio_model_jump(&rig.m, VIRTIO_MODEL_TX, (uint16_t)(NIC_BURST + by[i - 1]));
		rig_poll();
		CHECK_EQ(rig.nic->count.resets, 2 * i);
		rig_now_us += 61000000;
	}
	/* Beyond what the device has, where the old entries in the rings are plausible. */
	for (unsigned i = 0; i < 2 * 256 / NIC_BURST; i++) {
		rig_receive(NIC_BURST);
		rig_send(NIC_BURST);
	}
	rig_poll();
	uint64_t rx_errors = rig.nic->count.rx_errors, tx_errors = rig.nic->count.tx_errors;
	uint64_t resets = rig.nic->count.resets;
	virtio_model_jump(&rig.m, VIRTIO_MODEL_RX, 257);
	CHECK_EQ(receive(), 0);
	CHECK_EQ(rig.nic->count.rx_errors, rx_errors + 1);
	recover(resets + 1);
	rig_now_us += 61000000;
	for (unsigned i = 0; i < 2 * 256 / NIC_BURST; i++)
		rig_send(NIC_BURST);
	rig_poll();
	CHECK_EQ(rig_offer(5), 5);
	virtio_model_jump(&rig.m, VIRTIO_MODEL_TX, 6);
	rig_poll();
	CHECK_EQ(rig.nic->count.tx_errors, tx_errors + 5); /* none counts as sent */
	rig_now_us += 61000000;
	/* Within what the device has, but without entries. */
	virtio_model_jump(&rig.m, VIRTIO_MODEL_RX, 256);
	while (receive())
		pkt_free(burst[0]);
	CHECK(rig.nic->count.rx_errors >= ARRAY_SIZE(by));
	rig_poll();
	rig_receive(3);
	rig_end();
}

static void needs_a_reset_in_mid_traffic(void)
{
	static const enum virtio_model_form forms[] = {VIRTIO_MODEL_LEGACY, VIRTIO_MODEL_MODERN};
	for (unsigned f = 0; f < ARRAY_SIZE(forms); f++) {
		rig_start(forms[f]);
		rig.m.reset_reads = 5;
		for (unsigned i = 1; i <= 10; i++) {
			rig_receive(20);
			CHECK_EQ(rig_offer(NIC_BURST), NIC_BURST);
			rig_deliver();
			virtio_model_needs_reset(&rig.m);
			if (i % 2) { /* the interrupt says so; poll() would see it too */
				CHECK(!rig.nic->ops->arm(rig.nic));
				CHECK(!rig.nic->carrier.up);
			}
			rig_poll(); /* frames and buffers from before the reset are gone */
			CHECK_EQ(rig.nic->count.resets, i);
			CHECK_EQ(rig.nic->count.tx_errors, NIC_BURST * i);
			CHECK_EQ(rig.pool.n_free, RIG_POOL - 256);
			rig_receive(20);
			rig_send(NIC_BURST);
			rig_now_us += 61000000;
		}
		rig_end();
	}
}

static void restarts_get_rarer(void)
{
	rig_start(VIRTIO_MODEL_MODERN);
	for (unsigned i = 0; i < 60 * 100; i++) { /* a minute of lies */
		virtio_model_needs_reset(&rig.m);
		rig_poll();
	}
	CHECK(rig.nic->count.resets >= 5 && rig.nic->count.resets <= 12);
	CHECK_EQ(rig.pool.n_free, RIG_POOL - 256);
	for (unsigned i = 0; i < 6100 && !rig.nic->carrier.up; i++)
		rig_poll();
	rig_send(4);
	rig_end();
}

static void slow_reset(void)
{
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.reset_reads = 50;
	CHECK(!rig_probe());
	rig_receive(4);
	rig_end();
}

static void reset_that_never_ends(void)
{
	static const enum virtio_model_form forms[] = {VIRTIO_MODEL_LEGACY, VIRTIO_MODEL_MODERN};
	for (unsigned f = 0; f < ARRAY_SIZE(forms); f++) {
		rig_new(forms[f]);
		rig.m.reset_reads = VIRTIO_MODEL_FOREVER;
		uint64_t began = host_now_us;
		const char *wrong = rig_probe();
		CHECK_STR(wrong ? wrong : "", "does not reset");
		CHECK(host_now_us - began < 150000);
		CHECK(!pci_model_can_master(&rig.m.pci));
		CHECK_EQ(rig.pool.n_free, RIG_POOL);
		CHECK_EQ(pci_model_faults(), 0);

		/* The device works, then does not reset for a while, then works again. */
		rig_start(forms[f]);
		rig_offer(9);
		rig.m.reset_reads = VIRTIO_MODEL_FOREVER;
		virtio_model_needs_reset(&rig.m);
		began = host_now_us;
		for (unsigned i = 0; i < 1000; i++)
			rig_poll();
		CHECK(host_now_us - began < 1500000);
		CHECK(!rig.nic->carrier.up);
		CHECK_EQ(receive(), 0);
		CHECK_EQ(rig.pool.n_free,
		         RIG_POOL - 256 - 9); /* the device may still use the rest */
		rig.m.reset_reads = rig.m.reset_left = 0;
		for (unsigned i = 0; i < 6100 && !rig.nic->carrier.up; i++)
			rig_poll();
		rig_send(4);
		rig_receive(4);

		/* Stopped while it does not reset: it loses its bus access. */
		rig.m.reset_reads = VIRTIO_MODEL_FOREVER;
		rig.nic->ops->stop(rig.nic);
		CHECK(!pci_model_can_master(&rig.m.pci));
		CHECK_EQ(rig.pool.n_free, RIG_POOL);
		CHECK_EQ(pci_model_faults(), 0);
	}
}

/* Checks that the probe fails with this text and leaves the device idle. */
static void refused(const char *text)
{
	const char *wrong = rig_probe();
	CHECK_STR(wrong ? wrong : "started", text);
	CHECK_EQ(rig.pool.n_free, RIG_POOL);
	CHECK(!(rig.m.status & ST_DRIVER_OK));
	CHECK(rig.m.status == 0 || (rig.m.status & ST_FAILED)); /* 3.1.1 */
	CHECK_EQ(pci_model_faults(), 0);
}

static void features_refused(void)
{
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.refuse_features = true;
	refused("features refused");
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.features &= ~F(F_VERSION_1);
	refused("modern registers without VERSION_1");
	/* The same at a restart: no endless loop, no packet lost. */
	rig_start(VIRTIO_MODEL_MODERN);
	rig.m.refuse_features = true;
	virtio_model_needs_reset(&rig.m);
	for (unsigned i = 0; i < 50; i++)
		rig_poll();
	CHECK(!rig.nic->carrier.up);
	CHECK(rig.nic->count.resets < 5);
	rig.nic->ops->stop(rig.nic);
	CHECK_EQ(rig.pool.n_free, RIG_POOL);
	CHECK_EQ(pci_model_faults(), 0);
}

static void impossible_queues(void)
{
	static const uint16_t sizes[] = {0, 3, 100, 0xffff, 0x8001};
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		rig_new(i % 2 ? VIRTIO_MODEL_LEGACY : VIRTIO_MODEL_MODERN);
		struct virtio_model_queue *q = &rig.m.q[i / 2 % 2];
		q->size_max = q->size = sizes[i / 2];
		refused("queue size is not a power of two up to 32768");
	}
	rig_new(VIRTIO_MODEL_LEGACY); /* one packet needs two descriptors */
	rig.m.features = 0;
	rig.m.q[VIRTIO_MODEL_TX].size_max = 1;
	refused("queue too small");
}

static void memory_for_huge_queues_is_bounded(void)
{
	rig_new(VIRTIO_MODEL_LEGACY);
	rig.m.q[VIRTIO_MODEL_RX].size_max = 32768;
	while (alloc(64 << 10, 4)) /* almost no memory is left */
		;
	refused("no memory for a queue");
}

static void queue_that_changes_its_size(void)
{
	/* The driver cannot choose a legacy size: a restart uses the new one. */
	rig_start(VIRTIO_MODEL_LEGACY);
	static const uint16_t sizes[] = {16, 512, 64, 0, 256};
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		rig.m.q[VIRTIO_MODEL_RX].size_max = sizes[i];
		virtio_model_needs_reset(&rig.m);
		rig_now_us += 61000000;
		rig_poll();
		CHECK_EQ(rig.nic->carrier.up, sizes[i] != 0);
		if (sizes[i])
			rig_receive(min_u32(sizes[i], 256));
	}
	rig_end();
}

static void notification_out_of_range(void)
{
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.notify_mult = 0x1000;
	refused("notification address out of range");
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.notify_mult = 0xffffffff;
	refused("notification address out of range");
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.notify_bytes = 3;
	rig.m.notify_mult = 2;
	refused("notification address out of range");
}

/* Wrong capabilities: the structure counts as missing. A transitional device then works
 * through its legacy registers. */
static void missing_structures(void)
{
	static const struct {
		uint8_t at;
		uint32_t v;
	} bad[] = {{8, 0x7fc9}, {8, 0xfffffff0}, {8, 0x8000}, {4, 0}, {4, 1}, {4, 6}};
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(bad); i++) {
		rig_new(i % 2 ? VIRTIO_MODEL_TRANSITIONAL : VIRTIO_MODEL_MODERN);
		virtio_model_plug(&rig.m, 0);
		uint8_t *cfg = rig.m.pci.cfg;
		for (unsigned k = 0x40; k < rig.m.pci.cap_end; k += 4)
			if (cfg[k] == 9 && cfg[k + 3] == 1) /* the common structure */
				store32(cfg + k + bad[i / 2].at, bad[i / 2].v);
		uint32_t cursor = 0;
		struct pci_dev dev;
		CHECK(pci_next(&cursor, &dev));
		const char *wrong = virtio_net_driver.probe(&dev, &rig.pool, &rig.nic);
		if (i % 2 == 0) {
			CHECK_STR(wrong ? wrong : "", "registers not found or out of reach");
			continue;
		}
		CHECK(!wrong && rig.m.legacy_used);
		rig_receive(2);
		rig_end();
	}
}

/* Random lies, with traffic and time between them. */
static void random_lies(void)
{
	static uint32_t seed = 12345;
	for (unsigned round = 0; round < 30; round++) {
		rig_start(round % 3);
		for (unsigned i = 0; i < 4000; i++) {
			seed = seed * 1664525 + 1013904223;
			uint32_t r = seed >> 8, what = r % 256;
			uint8_t buf[2048] = {0};
			uint32_t len = 0;
			if (what < 80)
				virtio_model_deliver(&rig.m, buf, 60 + r % 1000);
			else if (what < 160)
				rig_offer(1 + r % NIC_BURST);
			else if (what < 200)
				while (virtio_model_take(&rig.m, buf, sizeof buf, &len))
					;
			else if (what < 240)
				virtio_model_complete(&rig.m, r % 64, r & 1024);
			else if (what == 241)
				virtio_model_used_raw(&rig.m, r >> 10 & 1, r >> 12, r & 0xfff);
			else if (what == 242)
				virtio_model_used_raw(&rig.m, r >> 10 & 1, r >> 12 & 255, 100);
			else if (what == 243)
				virtio_model_jump(&rig.m, r >> 10 & 1, (uint16_t)(r >> 11));
			else if (what == 244)
				virtio_model_needs_reset(&rig.m);
			else if (what == 245)
				virtio_model_deliver_claim(&rig.m, buf, 60, r >> 4);
			else if (what == 246)
				virtio_model_link(&rig.m, r & 512);
			for (uint32_t n = receive(); n > 0; n--)
				pkt_free(burst[n - 1]);
			if (r % 5 == 0)
				rig.nic->ops->arm(rig.nic);
			rig_now_us += r % 50000;
			rig.nic->ops->poll(rig.nic, rig_now_us);
		}
		rig.nic->ops->stop(rig.nic);
		CHECK_EQ(rig.pool.n_free, RIG_POOL);
		CHECK_EQ(pci_model_faults(), 0);
	}
}

int main(void)
{
	TEST(used_id_out_of_range);
	TEST(split_header_ids_are_heads_only);
	TEST(the_same_buffer_twice);
	TEST(sent_buffer_that_was_never_offered);
	TEST(lengths_that_lie);
	TEST(indices_that_jump);
	TEST(needs_a_reset_in_mid_traffic);
	TEST(restarts_get_rarer);
	TEST(slow_reset);
	TEST(reset_that_never_ends);
	TEST(features_refused);
	TEST(impossible_queues);
	TEST(memory_for_huge_queues_is_bounded);
	TEST(queue_that_changes_its_size);
	TEST(notification_out_of_range);
	TEST(missing_structures);
	TEST(random_lies);
	return tap_done();
}
