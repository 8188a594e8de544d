/* What root ports and ports of hubs of the fake controller share. */
#ifndef TESTS_MODELS_USB_FAKE_HUB_H
#define TESTS_MODELS_USB_FAKE_HUB_H

#include "tests/models/usb_fake.h"

/* Begins a reset of `us` microseconds; ends one that is over. What was plugged less than `blind_us`
 * ago the core cannot know; 0 for root ports, at which it looks before. */
void usb_fake_reset(struct usb_fake_port *p, uint32_t us, uint32_t blind_us);
void usb_fake_reset_end(struct usb_fake_port *p);

#endif
