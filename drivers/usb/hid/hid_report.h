/* The reports of a keyboard in the boot protocol (HID 1.11 appendix B.1), and the repeat of a key
 * that is held. Pure.
 *
 * A report has a byte of modifiers, a reserved byte and the usages of up to six keys that are down,
 * in any order. */
#ifndef DRIVERS_USB_HID_REPORT_H
#define DRIVERS_USB_HID_REPORT_H

#include "kernel/lib/bytes.h"

#define HID_REPORT_BYTES    8u
#define HID_KEYS            6u
#define HID_REPEAT_FIRST_US 500000u /* from the press to the first repeat */
#define HID_REPEAT_US       33000u

/* A key that went down or repeats: its usage, and the modifiers that were held. */
struct hid_press {
	uint8_t usage, modifiers;
};

/* The state of a keyboard. All zeros at first. */
struct hid_keys {
	uint8_t report[HID_REPORT_BYTES]; /* the last one */
	uint8_t repeating;                /* the usage that repeats; 0: none */
	uint64_t repeat_us;               /* when it repeats next */
};

/* Takes a report of `len` bytes; bytes that lack count as zero, further ones are ignored. Writes
 * the keys that went down into press, which has room for HID_KEYS, and gives how many. The last of
 * them repeats from then on, unless it is a lock key. A report that says that too many keys are
 * down changes the modifiers alone. */
uint32_t hid_keys_report(struct hid_keys *k, const uint8_t *report, size_t len, uint64_t now_us,
                         struct hid_press *press);

/* True when the key that is held repeats now; then *press is set. To be called again and again. */
bool hid_keys_repeat(struct hid_keys *k, uint64_t now_us, struct hid_press *press);

#endif
