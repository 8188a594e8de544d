/* Reports of keyboards (HID 1.11 appendix B.1 and C), and the repeat of a held key. */
#include "drivers/usb/hid/hid_report.h"

#include "tests/tap.h"

enum { A = 0x04, B = 0x05, C = 0x06, CAPS = 0x39 };

static struct hid_press press[HID_KEYS];

static uint32_t report(struct hid_keys *k, uint64_t now, uint8_t modifiers, uint8_t a, uint8_t b,
                       uint8_t c)
{
	uint8_t bytes[HID_REPORT_BYTES] = {modifiers, 0xff, a, b, c};
	return hid_keys_report(k, bytes, sizeof bytes, now, press);
}

static void a_key_goes_down_once(void)
{
	struct hid_keys k = {0};
	CHECK_EQ(report(&k, 0, 0, A, 0, 0), 1);
	CHECK_EQ(press[0].usage, A);
	CHECK_EQ(press[0].modifiers, 0);
	CHECK_EQ(report(&k, 0, 0, A, 0, 0), 0);
	CHECK_EQ(report(&k, 0, 0, 0, 0, 0), 0);
	CHECK_EQ(report(&k, 0, 2, A, 0, 0), 1);
	CHECK_EQ(press[0].modifiers, 2);
}

/* The order of the usages means nothing. */
static void other_orders(void)
{
	struct hid_keys k = {0};
	CHECK_EQ(report(&k, 0, 0, A, B, 0), 2);
	CHECK_EQ(report(&k, 0, 0, B, A, 0), 0);
	CHECK_EQ(report(&k, 0, 0, C, B, A), 1);
	CHECK_EQ(press[0].usage, C);
	CHECK_EQ(report(&k, 0, 0, 0, 0, A), 0);
	CHECK_EQ(report(&k, 0, 0, A, C, 0), 1);
}

static void the_same_usage_twice(void)
{
	struct hid_keys k = {0};
	CHECK_EQ(report(&k, 0, 0, A, A, A), 1);
	CHECK_EQ(report(&k, 0, 0, A, A, 0), 0);
}

/* Usages 1 to 3 in place of keys: too many keys, a failed self-test, an undefined error. What was
 * down stays down, and the modifiers are right. */
static void errors(void)
{
	for (uint8_t error = 1; error <= 3; error++) {
		struct hid_keys k = {0};
		CHECK_EQ(report(&k, 0, 0, A, 0, 0), 1);
		CHECK_EQ(report(&k, 0, 2, error, error, error), 0);
		CHECK_EQ(report(&k, 0, 2, A, B, 0), 1);
		CHECK_EQ(press[0].usage, B);
	}
}

static void short_and_long_reports(void)
{
	struct hid_keys k = {0};
	const uint8_t bytes[64] = {2, 0, A, B, C, 0, 0, 0, 0x10, 0x11};
	CHECK_EQ(hid_keys_report(&k, bytes, 0, 0, press), 0);
	CHECK_EQ(hid_keys_report(&k, bytes, 3, 0, press), 1);
	CHECK_EQ(hid_keys_report(&k, bytes, 5, 0, press), 2);
	CHECK_EQ(hid_keys_report(&k, bytes, 8, 0, press), 0);
	CHECK_EQ(hid_keys_report(&k, bytes, 64, 0, press), 0);
	CHECK_EQ(hid_keys_report(&k, bytes, 2, 0, press), 0); /* all released */
	CHECK_EQ(hid_keys_report(&k, bytes, 8, 0, press), 3);
}

static void repeat(void)
{
	struct hid_keys k = {0};
	CHECK(!hid_keys_repeat(&k, 1u << 30, press));
	CHECK_EQ(report(&k, 1000, 2, A, 0, 0), 1);
	CHECK(!hid_keys_repeat(&k, 1000 + HID_REPEAT_FIRST_US - 1, press));
	CHECK(hid_keys_repeat(&k, 1000 + HID_REPEAT_FIRST_US, press));
	CHECK_EQ(press[0].usage, A);
	CHECK_EQ(press[0].modifiers, 2);
	CHECK(!hid_keys_repeat(&k, 1000 + HID_REPEAT_FIRST_US + HID_REPEAT_US - 1, press));
	CHECK(hid_keys_repeat(&k, 1000 + HID_REPEAT_FIRST_US + HID_REPEAT_US, press));
	(void)report(&k, 2000000, 0, 0, 0, 0);
	CHECK(!hid_keys_repeat(&k, 1u << 30, press));
}

/* A second key repeats in place of the first, which does not repeat again when it alone is left. */
static void the_last_key_repeats(void)
{
	struct hid_keys k = {0};
	CHECK_EQ(report(&k, 0, 0, A, 0, 0), 1);
	CHECK_EQ(report(&k, 100000, 0, A, B, 0), 1);
	CHECK(!hid_keys_repeat(&k, 100000 + HID_REPEAT_FIRST_US - 1, press));
	CHECK(hid_keys_repeat(&k, 100000 + HID_REPEAT_FIRST_US, press));
	CHECK_EQ(press[0].usage, B);
	CHECK_EQ(report(&k, 800000, 0, A, 0, 0), 0);
	CHECK(!hid_keys_repeat(&k, 1u << 30, press));
}

static void locks_do_not_repeat(void)
{
	struct hid_keys k = {0};
	CHECK_EQ(report(&k, 0, 0, CAPS, 0, 0), 1);
	CHECK(!hid_keys_repeat(&k, 1u << 30, press));
	CHECK_EQ(report(&k, 0, 0, 0x53, 0, 0), 1);
	CHECK(!hid_keys_repeat(&k, 1u << 30, press));
}

int main(void)
{
	TEST(a_key_goes_down_once);
	TEST(other_orders);
	TEST(the_same_usage_twice);
	TEST(errors);
	TEST(short_and_long_reports);
	TEST(repeat);
	TEST(the_last_key_repeats);
	TEST(locks_do_not_repeat);
	return tap_done();
}
