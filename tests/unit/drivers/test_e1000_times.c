/* The e1000 driver's check for a hang where 32-bit counts of microseconds or milliseconds
 * wrap. A transmitter that hangs is found after two seconds. One that was idle for long
 * does not count as hung. */
#include "tests/unit/drivers/e1000_kit.h"

static const uint64_t boundaries[] = {1ull << 31,    1ull << 32,       1000ull << 31,
                                      1000ull << 32, 1000000ull << 31, 1000000ull << 32};

static void hang(uint64_t at)
{
	struct e1000_model *m = kit_begin();
	host_now_us = at - 1000000; /* no poll meanwhile */
	kit_wait_ms(100);
	CHECK_EQ(kit_send(0, 3, 64, 0), 3);
	kit_wait_ms(20);
	CHECK_EQ(m->sent, 3);
	m->tx_hung = true;
	CHECK_EQ(kit_send(0, 100, 64, 0), 100);
	kit_wait_ms(1900);
	CHECK_EQ(kit_nic[0]->count.resets, 0);
	kit_wait_ms(200);
	CHECK_EQ(kit_nic[0]->count.resets, 1);
	host_now_us += at; /* frames go out after a long pause */
	unsigned sent = m->sent;
	CHECK_EQ(kit_send(0, 1, 64, 5), 1);
	kit_wait_ms(3000);
	CHECK(kit_sent(0, sent, 64, 5));
	CHECK_EQ(kit_nic[0]->count.resets, 1);
	kit_end();
}

static void hangs(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(boundaries); i++)
		hang(boundaries[i]);
}

int main(void)
{
	TEST(hangs);
	return tap_done();
}
