/* Notifications and interrupts of the virtio driver by index (EVENT_IDX), which it takes with
 * offloads. Section numbers: virtio specification 1.1. */
#include "tests/unit/drivers/virtio_rig.h"

static void start_with_events(void)
{
	rig_new(VIRTIO_MODEL_MODERN);
	rig.m.features |= VIRTIO_MODEL_OFFLOADS;
	CHECK(!rig_probe());
	CHECK(rig.m.accepted & F(F_EVENT_IDX));
}

/* 2.6.10: the device says which buffer it waits for; the notification comes with that one, also
 * where the indices wrap. */
static void notified_at_the_event(void)
{
	start_with_events();
	for (uint32_t round = 0; round < 2100; round++) { /* 65,536 and more */
		const struct virtio_model_queue *q = &rig.m.q[VIRTIO_MODEL_TX];
		uint32_t ahead = round % 12, before = q->notified;
		virtio_model_ahead(&rig.m, VIRTIO_MODEL_TX, (uint16_t)ahead);
		for (uint32_t sent = 0; sent < ahead / 4 * 4; sent += 4) {
			CHECK_EQ(rig_offer(4), 4);
			CHECK_EQ(q->notified, before);
		}
		CHECK_EQ(rig_offer(4), 4);
		CHECK_EQ(q->notified, before + 1);
		uint32_t n = ahead / 4 * 4 + 4, len;
		for (uint32_t i = 0; i < n; i++)
			CHECK(virtio_model_take(&rig.m, (uint8_t[2048]){0}, 2048, &len));
		virtio_model_ahead(&rig.m, VIRTIO_MODEL_TX, 0);
		CHECK_EQ(virtio_model_complete(&rig.m, n, false), n);
		rig_send(32 - n);
	}
	rig_end();
}

/* 2.6.7.1: an interrupt for the first frame after arm(), and for no other; without EVENT_IDX the
 * same. */
static void interrupted_at_the_event(void)
{
	for (unsigned without = 0; without < 2; without++) {
		rig_new(VIRTIO_MODEL_MODERN);
		rig.m.features |= VIRTIO_MODEL_OFFLOADS;
		if (without)
			rig.m.features &= ~F(F_EVENT_IDX);
		CHECK(!rig_probe());
		CHECK_EQ((rig.m.accepted & F(F_EVENT_IDX)) != 0, !without);
		for (uint32_t round = 0; round < 1000; round++) {
			uint32_t before = rig.m.signals;
			CHECK(!rig.nic->ops->arm(rig.nic));
			CHECK_EQ(rig.m.signals, before);
			rig_receive(1);
			CHECK_EQ(rig.m.signals, before + 1);
			rig_receive(round % 70);
			rig_send(round % 32);
			/* One more where the index comes round to the last event. */
			CHECK(rig.m.signals <= before + 1);
		}
		rig_end();
	}
}

/* A frame that came between the last look and arm() is found by arm(). */
static void frame_before_the_event(void)
{
	start_with_events();
	rig_receive(5);
	CHECK(rig_deliver());
	CHECK(rig.nic->ops->arm(rig.nic));
	struct pkt *p;
	CHECK_EQ(rig.nic->ops->rx(rig.nic, &p, 1), 1);
	pkt_free(p);
	rig.next_rx++;
	CHECK(!rig.nic->ops->arm(rig.nic));
	rig_end();
}

/* Without offloads the driver goes by flags. */
static void events_come_with_offloads(void)
{
	rig_start(VIRTIO_MODEL_MODERN);
	CHECK(rig.m.features & F(F_EVENT_IDX));
	CHECK(!(rig.m.accepted & F(F_EVENT_IDX)));
	rig_receive(3);
	rig_end();
}

int main(void)
{
	TEST(notified_at_the_event);
	TEST(interrupted_at_the_event);
	TEST(frame_before_the_event);
	TEST(events_come_with_offloads);
	return tap_done();
}
