/* See hid_report.h. */
#include "drivers/usb/hid/hid_report.h"

enum { MODIFIERS = 0, KEYS = 2 };
enum {
	USAGE_ERROR_LAST = 3,
	USAGE_CAPS_LOCK = 0x39,
	USAGE_SCROLL_LOCK = 0x47,
	USAGE_NUM_LOCK = 0x53
};

static bool is_down(const uint8_t *report, uint8_t usage)
{
	return memchr(report + KEYS, usage, HID_KEYS) != NULL;
}

static bool is_lock(uint8_t usage)
{
	return usage == USAGE_CAPS_LOCK || usage == USAGE_SCROLL_LOCK || usage == USAGE_NUM_LOCK;
}

/* True when the keyboard does not know which keys are down. */
static bool is_error(const uint8_t *report)
{
	for (uint32_t i = 0; i < HID_KEYS; i++)
		if (report[KEYS + i] && report[KEYS + i] <= USAGE_ERROR_LAST)
			return true;
	return false;
}

uint32_t hid_keys_report(struct hid_keys *k, const uint8_t *bytes, size_t len, uint64_t now_us,
                         struct hid_press *press)
{
	uint8_t report[HID_REPORT_BYTES] = {0};
	uint32_t n = 0;
	memcpy(report, bytes, len < sizeof report ? len : sizeof report);
	k->report[MODIFIERS] = report[MODIFIERS];
	if (is_error(report))
		return 0;
	for (uint32_t i = 0; i < HID_KEYS; i++) {
		uint8_t usage = report[KEYS + i];
		if (usage && !is_down(k->report, usage) && memchr(report + KEYS, usage, i) == NULL)
			press[n++] = (struct hid_press){usage, report[MODIFIERS]};
	}
	if (k->repeating && !is_down(report, k->repeating))
		k->repeating = 0;
	if (n) {
		k->repeating = is_lock(press[n - 1].usage) ? 0 : press[n - 1].usage;
		k->repeat_us = now_us + HID_REPEAT_FIRST_US;
	}
	memcpy(k->report, report, sizeof report);
	return n;
}

bool hid_keys_repeat(struct hid_keys *k, uint64_t now_us, struct hid_press *press)
{
	if (!k->repeating || now_us < k->repeat_us)
		return false;
	k->repeat_us = now_us + HID_REPEAT_US;
	*press = (struct hid_press){k->repeating, k->report[MODIFIERS]};
	return true;
}
