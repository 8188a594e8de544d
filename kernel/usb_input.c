/* See usb_input.h. */
#include "kernel/usb_input.h"

#include "drivers/usb/hid/hid_keyboard.h"
#include "kernel/console/console.h"

bool usb_input_poll(uint64_t now_us)
{
	struct hid_press press;
	bool did = usb_poll(now_us);
	while (hid_keyboard_press(&press)) {
		console_press(press.usage, press.modifiers);
		did = true;
	}
	hid_keyboard_leds(console_leds());
	return did;
}

bool usb_input_has_keyboard(void)
{
	return console_has_keyboard() || hid_keyboard_count() > 0;
}
