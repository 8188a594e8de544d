/* The virtio driver's restarts where 32-bit counts of microseconds, milliseconds or seconds
 * wrap, and after equally long pauses. Restarts get rarer; after a time without faults the
 * next one comes at once. */
#include "tests/unit/drivers/virtio_rig.h"

static const uint64_t boundaries[] = {1ull << 31,    1ull << 32,       1000ull << 31,
                                      1000ull << 32, 1000000ull << 31, 1000000ull << 32};

static void restarts(void)
{
	for (unsigned k = 0; k < ARRAY_SIZE(boundaries); k++) {
		rig_now_us = boundaries[k] - 30000000;
		rig_start(VIRTIO_MODEL_MODERN);
		for (unsigned i = 0; i < 60 * 100; i++) { /* a minute of lies */
			virtio_model_needs_reset(&rig.m);
			rig_poll();
		}
		CHECK(rig.nic->count.resets >= 5 && rig.nic->count.resets <= 12);
		rig_now_us += boundaries[k];
		rig_poll();
		rig_poll();
		CHECK(rig.nic->carrier.up);
		rig_send(4);
		rig_now_us += boundaries[k];
		uint64_t resets = rig.nic->count.resets;
		virtio_model_needs_reset(&rig.m);
		rig_poll();
		CHECK_EQ(rig.nic->count.resets, resets + 1);
		rig_send(4);
		rig_end();
	}
}

int main(void)
{
	TEST(restarts);
	return tap_done();
}
