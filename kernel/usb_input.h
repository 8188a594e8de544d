/* USB at work: the controllers and their devices, and what is typed on USB keyboards. */
#ifndef KERNEL_USB_INPUT_H
#define KERNEL_USB_INPUT_H

#include "kernel/lib/bytes.h"

/* Polls USB (usb_poll), hands the keys of USB keyboards to the console, and shows the console's
 * lights on them. True when there was something to do. */
bool usb_input_poll(uint64_t now_us);

/* True when a keyboard of any kind has answered. */
bool usb_input_has_keyboard(void);

#endif
