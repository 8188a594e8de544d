/* USB keyboards in the boot protocol (HID 1.11): the class driver. */
#ifndef DRIVERS_USB_HID_KEYBOARD_H
#define DRIVERS_USB_HID_KEYBOARD_H

#include "drivers/usb/hid/hid_report.h"
#include "drivers/usb/usb.h"

#define HID_KEYBOARDS \
	8u /* that are used at once; further ones are ignored with a line in the log */

extern const struct usb_class hid_keyboard_class;

/* Gives the next key that went down or repeats on any keyboard. False when there is none. Keys that
 * are not taken are lost when 32 wait. */
bool hid_keyboard_press(struct hid_press *press);

/* Sets the lights of all keyboards: bits as in HID 1.11 appendix B.1. They follow later; a keyboard
 * that refuses keeps its own. */
void hid_keyboard_leds(uint8_t leds);

/* Gives how many keyboards there are. */
uint32_t hid_keyboard_count(void);

#endif
