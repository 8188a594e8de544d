/* Descriptors as devices send them (9.6). Pure: every length is checked before it is used, and what
 * a device claims beyond what it sent is not believed. */
#ifndef DRIVERS_USB_USB_PARSE_H
#define DRIVERS_USB_USB_PARSE_H

#include "drivers/usb/usb.h"

#define USB_PARSE_SETTINGS \
	16u /* interfaces with their alternate settings; further ones are ignored */

enum { USB_DEVICE_BYTES = 18, USB_CONFIG_BYTES = 9 };

struct usb_parse_endpoint {
	uint8_t address, kind, interval, burst;
	uint16_t max_packet;
};

/* An interface descriptor with its endpoints. `is` has no endpoints. */
struct usb_parse_setting {
	struct usb_interface is;
	uint32_t n_endpoints;
	struct usb_parse_endpoint endpoint[USB_ENDPOINTS];
};

struct usb_parse_config {
	uint8_t value; /* of SET_CONFIGURATION */
	uint32_t n_settings;
	struct usb_parse_setting setting[USB_PARSE_SETTINGS];
};

/* Reads the size of endpoint 0 from the first eight bytes of a device descriptor (9.6.1). 0: `len`
 * bytes are not the beginning of one, or the size is none that this speed has. */
uint16_t usb_parse_packet0(const uint8_t *b, size_t len, uint8_t speed);

/* Reads `len` bytes of a configuration descriptor with all that follows it (9.6.3), into *out.
 * Endpoints that break the rules of this speed are left out, or made smaller. What lies behind a
 * descriptor with a wrong length is ignored. NULL, or what is wrong. */
const char *usb_parse_config(const uint8_t *b, size_t len, uint8_t speed,
                             struct usb_parse_config *out);

/* Gives the setting to use of the first interface at or behind setting *i whose number has not come
 * before, and moves *i behind it. Setting 0 of each interface; of a hub the one with a transaction
 * translator for each port (11.23.1). NULL behind the last. */
const struct usb_parse_setting *usb_parse_choose(const struct usb_parse_config *c, uint32_t *i);

#endif
