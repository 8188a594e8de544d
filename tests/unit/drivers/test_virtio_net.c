/* The virtio driver with a device that obeys the specification: all forms of it, full and
 * empty rings, carrier changes, interrupts. */
#include "tests/unit/drivers/virtio_rig.h"

static const enum virtio_model_form forms[] = {VIRTIO_MODEL_LEGACY, VIRTIO_MODEL_TRANSITIONAL,
                                               VIRTIO_MODEL_MODERN};

static void few(void)
{
	rig_receive(1);
	rig_send(1);
	rig_receive(5);
	rig_send(NIC_BURST);
	rig_poll();
}

static void each_form_starts_and_moves_frames(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		static const mac want = {{0x52, 0x54, 0, 0x0a, 0x0b, 0x0c}};
		rig_start(forms[i]);
		CHECK_EQ(rig.m.modern_used, forms[i] != VIRTIO_MODEL_LEGACY);
		CHECK(mac_eq(&rig.nic->address, &want));
		CHECK(rig.nic->carrier.up);
		CHECK_EQ(rig.nic->irq, 10);
		CHECK_EQ(rig.m.resets, 1);
		few();
		rig_end();
	}
}

static void legacy_without_any_layout_gets_two_descriptors(void)
{
	rig_new(VIRTIO_MODEL_LEGACY);
	rig.m.features &= ~F(F_ANY_LAYOUT);
	CHECK(!rig_probe());
	CHECK_EQ(virtio_model_waiting(&rig.m, VIRTIO_MODEL_RX), 128);
	few();
	rig_end();
}

static void msix_left_on_is_switched_off(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		rig_new(forms[i]);
		rig.m.msix_left_on = true;
		CHECK(!rig_probe());
		CHECK_EQ(rig.m.pci.cfg[rig.m.msix_cap + 3], 0);
		CHECK_EQ(rig.nic->address.b[5], 0x0c);
		few();
		rig_end();
	}
}

static void notification_addresses_follow_the_multiplier(void)
{
	static const uint32_t mult[] = {0, 2, 4, 0x800};
	for (unsigned i = 0; i < ARRAY_SIZE(mult); i++) {
		rig_new(VIRTIO_MODEL_MODERN);
		rig.m.notify_mult = mult[i];
		CHECK(!rig_probe());
		few();
		rig_end();
	}
}

static void any_queue_size(void)
{
	static const struct {
		enum virtio_model_form form;
		uint16_t rx, tx, used;
	} cases[] = {
	        {VIRTIO_MODEL_LEGACY, 1024, 1024, 256}, {VIRTIO_MODEL_LEGACY, 16, 128, 16},
	        {VIRTIO_MODEL_MODERN, 16, 16, 16},      {VIRTIO_MODEL_MODERN, 1024, 512, 256},
	        {VIRTIO_MODEL_TRANSITIONAL, 64, 1, 64}, {VIRTIO_MODEL_LEGACY, 1, 2, 1},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		rig_new(cases[i].form);
		rig.m.q[VIRTIO_MODEL_RX].size_max = rig.m.q[VIRTIO_MODEL_RX].size = cases[i].rx;
		rig.m.q[VIRTIO_MODEL_TX].size_max = rig.m.q[VIRTIO_MODEL_TX].size = cases[i].tx;
		CHECK(!rig_probe());
		CHECK_EQ(virtio_model_waiting(&rig.m, VIRTIO_MODEL_RX), cases[i].used);
		for (unsigned k = 0; k < 3 * 1024; k++) {
			rig_receive(1);
			rig_send(1);
		}
		rig_end();
	}
}

/* More than 65536 frames in each direction, in bursts of every size, also given back out of
 * order. */
static void traffic(enum virtio_model_form form, uint64_t without, bool disorder)
{
	rig_new(form);
	rig.m.features &= ~without;
	rig.m.shuffle = disorder;
	CHECK(!rig_probe());
	for (uint32_t i = 0; rig.next_rx < 66000 || rig.next_tx < 66000; i++) {
		rig_receive(1 + i % NIC_BURST);
		uint32_t n = 1 + i * 5 % NIC_BURST;
		CHECK_EQ(rig_offer(n), n);
		rig_seen(n);
		if (i % 3 != 0) /* the device keeps up to 64 frames for a while */
			virtio_model_complete(&rig.m, 64, disorder);
		if (i % 100 == 0)
			rig_poll();
	}
	CHECK_EQ(rig.m.missed, 0);
	CHECK_EQ(rig.nic->count.rx_errors + rig.nic->count.tx_errors + rig.nic->count.resets, 0);
	rig_end();
}

static void indices_wrap_legacy(void)
{
	traffic(VIRTIO_MODEL_LEGACY, 0, false);
}

static void indices_wrap_split_header(void)
{
	traffic(VIRTIO_MODEL_LEGACY, F(F_ANY_LAYOUT), true);
}

static void indices_wrap_modern(void)
{
	traffic(VIRTIO_MODEL_MODERN, 0, false);
}

static void indices_wrap_out_of_order(void)
{
	traffic(VIRTIO_MODEL_TRANSITIONAL, 0, true);
}

static void full_transmit_ring_refuses(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		rig_start(forms[i]);
		for (unsigned k = 0; k < 256 / NIC_BURST; k++) {
			CHECK_EQ(rig_offer(NIC_BURST), NIC_BURST);
			rig_seen(NIC_BURST);
		}
		uint32_t before = rig.m.q[VIRTIO_MODEL_TX].notified;
		CHECK_EQ(rig_offer(NIC_BURST), 0);
		CHECK_EQ(rig.m.q[VIRTIO_MODEL_TX].notified, before);
		CHECK_EQ(virtio_model_complete(&rig.m, 3, true), 3);
		CHECK_EQ(rig_offer(NIC_BURST), 0); /* the oldest is not sent yet */
		CHECK_EQ(virtio_model_complete(&rig.m, 3, false), 3);
		CHECK_EQ(rig_offer(NIC_BURST), 3);
		rig_seen(3);
		virtio_model_complete(&rig.m, 1000, false);
		rig_poll(); /* poll() reclaims too */
		CHECK_EQ(rig.pool.n_free, RIG_POOL - 256);
		rig_send(NIC_BURST);
		rig_end();
	}
}

static void full_receive_ring_misses_and_continues(void)
{
	rig_start(VIRTIO_MODEL_MODERN);
	uint32_t first = rig.next_rx;
	for (; rig.next_rx < first + 256; rig.next_rx++)
		CHECK(rig_deliver());
	CHECK(!rig_deliver());
	CHECK_EQ(rig.m.missed, 1);
	struct pkt *burst[NIC_BURST];
	for (uint32_t n = 0; n < 256;) {
		uint32_t got = rig.nic->ops->rx(rig.nic, burst, 7);
		CHECK(got > 0 && got <= 7);
		if (got == 0)
			break;
		for (uint32_t i = 0; i < got; i++, n++) {
			CHECK(rig_is_frame(first + n, burst[i]->data, burst[i]->len));
			pkt_free(burst[i]);
		}
	}
	CHECK_EQ(rig.nic->ops->rx(rig.nic, burst, NIC_BURST), 0);
	rig_receive(NIC_BURST);
	rig_end();
}

static void empty_pool_drops_and_counts(void)
{
	static struct pkt *held[RIG_POOL];
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		uint32_t n = 0;
		rig_start(forms[i]);
		while (rig.pool.n_free > 3)
			held[n++] = pkt_alloc(&rig.pool);
		struct pkt *burst[NIC_BURST];
		for (unsigned k = 0; k < 10; k++, rig.next_rx++)
			CHECK(rig_deliver());
		CHECK_EQ(rig.nic->ops->rx(rig.nic, burst, NIC_BURST), 3);
		CHECK_EQ(rig.nic->count.rx_no_packet, 7);
		for (unsigned k = 0; k < 3; k++) {
			CHECK(rig_is_frame(rig.next_rx - 10 + k, burst[k]->data, burst[k]->len));
			held[n++] = burst[k];
		}
		CHECK_EQ(rig.pool.n_free, 0);
		for (unsigned k = 0; k < 600; k++, rig.next_rx++) { /* more than the ring */
			CHECK(rig_deliver());
			CHECK_EQ(rig.nic->ops->rx(rig.nic, burst, NIC_BURST), 0);
		}
		CHECK_EQ(rig.nic->count.rx_no_packet, 607);
		CHECK_EQ(virtio_model_waiting(&rig.m, VIRTIO_MODEL_RX), 256);
		while (n > 0)
			pkt_free(held[--n]);
		rig_receive(NIC_BURST);
		rig_end();
	}
}

static void a_short_pool_gets_a_short_ring(void)
{
	static struct pkt *held[RIG_POOL];
	for (uint32_t left = 0; left <= 11; left += 11) {
		uint32_t n = 0;
		rig_new(VIRTIO_MODEL_LEGACY);
		while (rig.pool.n_free > left)
			held[n++] = pkt_alloc(&rig.pool);
		const char *wrong = rig_probe();
		CHECK_STR(wrong ? wrong : "", left ? "" : "no packets to receive into");
		if (!wrong)
			CHECK_EQ(virtio_model_waiting(&rig.m, VIRTIO_MODEL_RX), 8);
		while (n > 0)
			pkt_free(held[--n]);
		if (wrong)
			continue;
		for (n = 0; n < 100; n++)
			rig_receive(8);
		rig_send(NIC_BURST);
		rig_end();
	}
}

static void short_frames_are_padded_with_zeros(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		rig_start(forms[i]);
		for (uint32_t len = 14; len <= 61; len++) {
			struct pkt *p = pkt_alloc(&rig.pool);
			if (!p)
				break;
			pkt_lend(p);
			memset(p->bytes, 0xee, sizeof p->bytes); /* bytes that must not leak */
			uint8_t *at = pkt_put(p, len), out[2048];
			memset(at, 0x11, len);
			uint32_t got = 0;
			CHECK_EQ(rig.nic->ops->tx(rig.nic, &p, 1), 1);
			CHECK(virtio_model_take(&rig.m, out, sizeof out, &got));
			CHECK_EQ(got, max_u32(len, 60));
			for (uint32_t k = 0; k < got; k++)
				CHECK_EQ(out[k], k < len ? 0x11 : 0);
			virtio_model_complete(&rig.m, 1, false);
		}
		rig_end();
	}
}

static void frames_without_room_are_dropped(void)
{
	struct pkt *p[3];
	rig_start(VIRTIO_MODEL_MODERN);
	for (unsigned i = 0; i < 3; i++)
		p[i] = rig_packet(rig.next_tx);
	CHECK(pkt_push(p[0], PKT_HEADROOM - 11) != NULL); /* no headroom left */
	p[1]->len = 40;                                   /* no room to pad */
	p[1]->data = p[1]->bytes + sizeof p[1]->bytes - 50;
	CHECK_EQ(rig.nic->ops->tx(rig.nic, p, 3), 3);
	CHECK_EQ(rig.nic->count.tx_errors, 2);
	rig_seen(1);
	virtio_model_complete(&rig.m, 1, false);
	rig_end();
}

static void registers_are_touched_once_a_burst(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		rig_start(forms[i]);
		unsigned before = pci_model_reads() + pci_model_writes();
		rig_receive(NIC_BURST); /* one notification for all fresh buffers */
		rig_send(NIC_BURST);
		CHECK_EQ(pci_model_reads() + pci_model_writes() - before, 2);
		virtio_model_quiet(&rig.m, VIRTIO_MODEL_RX, true);
		virtio_model_quiet(&rig.m, VIRTIO_MODEL_TX, true);
		before = pci_model_reads() + pci_model_writes();
		for (unsigned k = 0; k < 20; k++) {
			rig_receive(NIC_BURST);
			rig_send(NIC_BURST);
		}
		CHECK_EQ(pci_model_reads() + pci_model_writes() - before, 0);
		virtio_model_quiet(&rig.m, VIRTIO_MODEL_RX, false);
		virtio_model_quiet(&rig.m, VIRTIO_MODEL_TX, false);
		few();
		rig_end();
	}
}

static void interrupts_come_only_when_armed(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		rig_start(forms[i]);
		few();
		CHECK_EQ(rig.m.interrupts, 0);
		CHECK(!rig.nic->ops->arm(rig.nic));
		CHECK(rig_deliver()); /* raises the interrupt */
		CHECK(virtio_model_line(&rig.m));
		CHECK_EQ(rig.m.interrupts, 1);
		/* arm() finds the frame: work waits, no halt, and the line falls. */
		CHECK(rig.nic->ops->arm(rig.nic));
		CHECK(!virtio_model_line(&rig.m));
		rig.next_rx++;
		CHECK(rig_deliver()); /* not armed: no interrupt */
		CHECK_EQ(rig.m.interrupts, 1);
		struct pkt *burst[NIC_BURST];
		CHECK_EQ(rig.nic->ops->rx(rig.nic, burst, NIC_BURST), 2);
		pkt_free(burst[0]);
		pkt_free(burst[1]);
		rig.next_rx++;
		/* The other order: armed, interrupt, received, and the line is still
		 * asserted. */
		CHECK(!rig.nic->ops->arm(rig.nic));
		rig_receive(1);
		CHECK_EQ(rig.m.signals, 2);
		rig_receive(3);
		rig_send(4); /* sent frames raise no interrupt */
		CHECK_EQ(rig.m.signals, 2);
		CHECK_EQ(rig.m.interrupts, 2);
		CHECK(!rig.nic->ops->arm(rig.nic));
		CHECK(!virtio_model_line(&rig.m));
		rig_end();
	}
}

/* When the ring is full and frames were refused, a sent frame raises the interrupt too. */
static void wakes_for_room(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		rig_start(forms[i]);
		for (unsigned k = 0; k < 256 / NIC_BURST; k++) {
			CHECK_EQ(rig_offer(NIC_BURST), NIC_BURST);
			rig_seen(NIC_BURST);
		}
		CHECK(!rig.nic->ops->arm(rig.nic)); /* full, but nothing was refused */
		CHECK_EQ(virtio_model_complete(&rig.m, 1, false), 1);
		CHECK_EQ(rig.m.signals, 0);
		CHECK_EQ(rig_offer(2), 1);
		rig_seen(1);
		CHECK(!rig.nic->ops->arm(rig.nic));
		CHECK_EQ(virtio_model_complete(&rig.m, 3, false), 3);
		CHECK(virtio_model_line(&rig.m));
		CHECK(rig.nic->ops->arm(rig.nic)); /* there is room: no halt */
		CHECK_EQ(rig_offer(4), 3);
		rig_seen(3);
		CHECK_EQ(rig.m.signals, 3);
		CHECK_EQ(virtio_model_complete(&rig.m, 2, false), 2); /* not armed: no interrupt */
		CHECK_EQ(rig.m.signals, 3);
		CHECK(rig.nic->ops->arm(rig.nic)); /* room that came before arm() */
		CHECK_EQ(rig_offer(2), 2);
		rig_seen(2);
		CHECK(!rig.nic->ops->arm(rig.nic)); /* nothing waits */
		virtio_model_complete(&rig.m, 1000, false);
		CHECK_EQ(rig.m.signals, 3);
		rig_end();
	}
}

static void carrier_down_drops_and_up_continues(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		rig_start(forms[i]);
		virtio_model_link(&rig.m, false);
		CHECK(rig.nic->carrier.up);
		rig_poll();
		CHECK(!rig.nic->carrier.up);
		CHECK_EQ(rig_offer(5), 5);
		CHECK_EQ(rig.nic->count.tx_link_down, 5);
		CHECK_EQ(virtio_model_waiting(&rig.m, VIRTIO_MODEL_TX), 0);
		virtio_model_link(&rig.m, true);
		/* The interrupt for the change is enough; poll() would see it too. */
		CHECK(!rig.nic->ops->arm(rig.nic));
		CHECK(rig.nic->carrier.up);
		CHECK(!virtio_model_line(&rig.m));
		few();
		CHECK_EQ(rig.nic->count.resets, 0);
		rig_end();
	}
}

static void carrier_is_up_without_status(void)
{
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.features &= ~F(F_STATUS);
	CHECK(!rig_probe());
	rig.m.config[6] = 0;
	rig_poll();
	CHECK(rig.nic->carrier.up);
	few();
	rig_end();
}

static void two_cards_do_not_mix(void)
{
	static struct virtio_model other;
	struct nic *second = NULL;
	struct pci_dev dev;
	uint32_t cursor = 0;
	rig_new(VIRTIO_MODEL_LEGACY);
	CHECK(!rig_probe());
	virtio_model_init(&other, VIRTIO_MODEL_MODERN);
	other.mac[5] = 0x0d;
	virtio_model_plug(&other, 1);
	CHECK(pci_next(&cursor, &dev) && pci_next(&cursor, &dev));
	CHECK(!virtio_net_driver.probe(&dev, &rig.pool, &second));
	CHECK_EQ(rig.nic->address.b[5], 0x0c);
	CHECK_EQ(second->address.b[5], 0x0d);
	/* From one card to the other, as */
	for (uint32_t k = 0; k < 3000; k++) {
		struct pkt *burst[NIC_BURST];
		uint8_t out[2048];
		uint32_t len, n = 1 + k % NIC_BURST;
		for (uint32_t i = 0; i < n; i++, rig.next_rx++)
			CHECK(rig_deliver());
		CHECK_EQ(rig.nic->ops->rx(rig.nic, burst, NIC_BURST), n);
		CHECK_EQ(second->ops->tx(second, burst, n), n);
		for (uint32_t i = 0; i < n; i++, rig.next_tx++)
			CHECK(virtio_model_take(&other, out, sizeof out, &len) &&
			      rig_is_frame(rig.next_tx, out, len));
		virtio_model_complete(&other, n, false);
	}
	second->ops->stop(second);
	rig_end();
}

static void mac_is_whole_or_made_up(void)
{
	/* The address changes while the driver reads it: the result is never half of each. */
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++)
		for (uint32_t after = 1; after < 12; after++) {
			rig_new(forms[i]);
			memcpy(rig.m.tear_mac, "\x52\x55\x56\x57\x58\x59", 6);
			rig.m.tear_after = after;
			CHECK(!rig_probe());
			CHECK(memcmp(&rig.nic->address, rig.m.mac, 6) == 0 ||
			      memcmp(&rig.nic->address, rig.m.tear_mac, 6) == 0);
			rig_end();
		}
	static const uint8_t bad[][6] = {
	        {0}, {1, 0, 0x5e, 1, 2, 3}, {255, 255, 255, 255, 255, 255}};
	for (unsigned i = 0; i < ARRAY_SIZE(bad) + 1; i++) {
		rig_new(VIRTIO_MODEL_MODERN);
		if (i < ARRAY_SIZE(bad))
			memcpy(rig.m.mac, bad[i], 6);
		else
			rig.m.features &= ~F(F_MAC);
		CHECK(!rig_probe());
		CHECK_EQ(rig.nic->address.b[0], 2); /* locally administered, not a group */
		CHECK(load32(rig.nic->address.b + 2) != 0);
		rig_end();
	}
}

static void platform_features_are_taken(void)
{
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.features |= F(F_ACCESS_PLATFORM) | F(F_ORDER_PLATFORM);
	CHECK(!rig_probe());
	CHECK((rig.m.accepted & F(F_ACCESS_PLATFORM)) && (rig.m.accepted & F(F_ORDER_PLATFORM)));
	few();
	rig_end();
}

static void bare_features_are_enough(void)
{
	rig_new(VIRTIO_MODEL_LEGACY);
	rig.m.features = 0;
	CHECK(!rig_probe());
	CHECK_EQ(rig.m.accepted, 0);
	few();
	rig_end();
}

static void a_stopped_card_stays_silent(void)
{
	struct pkt *burst[NIC_BURST];
	rig_start(VIRTIO_MODEL_TRANSITIONAL);
	few();
	rig_offer(5); /* waiting when the card stops */
	rig.nic->ops->stop(rig.nic);
	CHECK_EQ(rig.pool.n_free, RIG_POOL);
	unsigned before = pci_model_reads() + pci_model_writes();
	CHECK_EQ(rig.nic->ops->rx(rig.nic, burst, NIC_BURST), 0);
	CHECK_EQ(rig_offer(2), 2);
	CHECK_EQ(rig.nic->count.tx_link_down, 2);
	CHECK(!rig.nic->ops->arm(rig.nic));
	rig_poll();
	rig.nic->ops->filter(rig.nic, true, NULL, 0);
	CHECK_EQ(pci_model_reads() + pci_model_writes(), before);
	rig_end();
}

int main(void)
{
	TEST(each_form_starts_and_moves_frames);
	TEST(legacy_without_any_layout_gets_two_descriptors);
	TEST(msix_left_on_is_switched_off);
	TEST(notification_addresses_follow_the_multiplier);
	TEST(any_queue_size);
	TEST(indices_wrap_legacy);
	TEST(indices_wrap_split_header);
	TEST(indices_wrap_modern);
	TEST(indices_wrap_out_of_order);
	TEST(full_transmit_ring_refuses);
	TEST(full_receive_ring_misses_and_continues);
	TEST(empty_pool_drops_and_counts);
	TEST(a_short_pool_gets_a_short_ring);
	TEST(short_frames_are_padded_with_zeros);
	TEST(frames_without_room_are_dropped);
	TEST(registers_are_touched_once_a_burst);
	TEST(interrupts_come_only_when_armed);
	TEST(wakes_for_room);
	TEST(carrier_down_drops_and_up_continues);
	TEST(carrier_is_up_without_status);
	TEST(two_cards_do_not_mix);
	TEST(mac_is_whole_or_made_up);
	TEST(platform_features_are_taken);
	TEST(bare_features_are_enough);
	TEST(a_stopped_card_stays_silent);
	return tap_done();
}
