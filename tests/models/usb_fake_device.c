/* The devices of usb_fake.h: standard requests (9.4) and hubs (11.24). */
#include "tests/models/usb_fake.h"

#include "kernel/seam/io.h"
#include "tests/models/usb_fake_hub.h"

enum { HUB_RESET_US = 15000 }; /* 7.1.7.5: TDRST */
enum { BLIND_US = 85000 }; /* the core looks at a port in motion each 40 ms, after other ports */
enum { C_ENABLE = 2, C_RESET = 16 };

static const uint8_t keyboard_config[] = {
        9, 2,    34,   0, 1, 1, 0,    0xa0, 50, /* configuration */
        9, 4,    0,    0, 1, 3, 1,    1,    0,  /* interface 3/1/1 */
        9, 0x21, 0x11, 1, 0, 1, 0x22, 63,   0,  /* HID */
        7, 5,    0x81, 3, 8, 0, 10,             /* interrupt IN */
};
static const uint8_t stick_config[] = {
        9, 2, 32,   0, 1,  1, 0, 0x80, 50, /* configuration */
        9, 4, 0,    0, 2,  8, 6, 0x50, 0,  /* interface 8/6/50 */
        7, 5, 0x81, 2, 64, 0, 0,           /* bulk IN */
        7, 5, 0x02, 2, 64, 0, 0,           /* bulk OUT */
};
static const uint8_t stick_config_high[] = {
        9,    2, 32, 0, 1,    1, 0, 0x80, 50, 9, 4, 0, 0, 2, 8, 6,
        0x50, 0, 7,  5, 0x81, 2, 0, 2,    0,  7, 5, 2, 2, 0, 2, 0,
};
static const uint8_t stick_config_super[] = {
        9, 2, 44, 0, 1,    1, 0, 0x80, 50, 9, 4, 0, 0, 2, 8, 6, 0x50, 0,    7, 5, 0x81, 2,
        0, 4, 0,  6, 0x30, 7, 0, 0,    0,  7, 5, 2, 2, 0, 4, 0, 6,    0x30, 7, 0, 0,    0,
};
static const uint8_t hub_config[] = {
        9, 2, 25, 0, 1, 1, 0, 0xe0, 0, 9, 4, 0, 0, 1, 9, 0, 0, 0, 7, 5, 0x81, 3, 1, 0, 255,
};
static const uint8_t hub_config_high[] = {
        9, 2, 41, 0,  1, 1, 0, 0xe0, 0, 9, 4, 0, 0, 1, 9, 0,    1, 0, 7, 5,  0x81,
        3, 1, 0,  12, 9, 4, 0, 1,    1, 9, 0, 2, 0, 7, 5, 0x81, 3, 1, 0, 12,
};
#define DESCRIPTOR(usb, class, packet0, vendor, product)                                         \
	{                                                                                        \
		18, 1, 0, usb, class, 0, 0, packet0, (vendor)&255, (vendor) >> 8, (product)&255, \
		        (product) >> 8, 0, 1, 1, 2, 3, 1                                         \
	}
static const uint8_t keyboard_descriptor[] = DESCRIPTOR(2, 0, 8, 0x0627, 0x0001);
static const uint8_t keyboard_descriptor_high[] = DESCRIPTOR(2, 0, 64, 0x0627, 0x0001);
static const uint8_t stick_descriptor[] = DESCRIPTOR(2, 0, 64, 0x46f4, 0x0001);
static const uint8_t stick_descriptor_super[] = DESCRIPTOR(3, 0, 9, 0x46f4, 0x0003);
static const uint8_t hub_descriptor[] = DESCRIPTOR(2, 9, 8, 0x0409, 0x55aa);
static const uint8_t hub_descriptor_high[] = DESCRIPTOR(2, 9, 64, 0x0409, 0x55ab);
static const uint8_t hub_descriptor_super[] = DESCRIPTOR(3, 9, 9, 0x0409, 0x55ac);

static void describe(struct usb_fake_device *d, uint8_t speed, const uint8_t descriptor[18],
                     const uint8_t *config, size_t config_len)
{
	*d = (struct usb_fake_device){.speed = speed,
	                              .descriptor = descriptor,
	                              .descriptor_len = 18,
	                              .config = config,
	                              .config_len = config_len};
}

void usb_fake_keyboard(struct usb_fake_device *d, uint8_t speed)
{
	describe(d, speed, speed == USB_HIGH ? keyboard_descriptor_high : keyboard_descriptor,
	         keyboard_config, sizeof keyboard_config);
}

void usb_fake_stick(struct usb_fake_device *d, uint8_t speed)
{
	if (speed == USB_SUPER)
		describe(d, speed, stick_descriptor_super, stick_config_super,
		         sizeof stick_config_super);
	else if (speed == USB_HIGH)
		describe(d, speed, stick_descriptor, stick_config_high, sizeof stick_config_high);
	else
		describe(d, speed, stick_descriptor, stick_config, sizeof stick_config);
}

void usb_fake_hub(struct usb_fake_device *d, uint8_t speed, struct usb_fake_port *port,
                  uint8_t n_ports)
{
	if (speed == USB_HIGH)
		describe(d, speed, hub_descriptor_high, hub_config_high, sizeof hub_config_high);
	else
		describe(d, speed, speed == USB_SUPER ? hub_descriptor_super : hub_descriptor,
		         hub_config, sizeof hub_config);
	memset(port, 0, n_ports * sizeof *port);
	d->port = port;
	d->n_ports = n_ports;
	d->power_delay = 50;
}

static int give(const void *from, size_t size, uint8_t *data, uint32_t len)
{
	uint32_t n = min_u32((uint32_t)size, len);
	memcpy(data, from, n);
	return (int)n;
}

/* --- hubs ------------------------------------------------------------------------------ */

static int hub_describe(const struct usb_fake_device *d, uint8_t type, uint8_t *data, uint32_t len)
{
	bool super = d->speed == USB_SUPER;
	const uint8_t b[] = {super ? 12 : 9,  type, d->n_ports, 0x60, 0, d->power_delay, 0, 0,
	                     super ? 0 : 255, 0,    0,          0};
	if (type != (super ? 0x2a : 0x29))
		return USB_FAKE_STALL;
	return give(b, b[0], data, len);
}

static int port_status(struct usb_fake_device *d, struct usb_fake_port *p, uint8_t *data,
                       uint32_t len)
{
	uint8_t b[4];
	bool super = d->speed == USB_SUPER, was = p->resetting;
	usb_fake_reset_end(p);
	if (was && !p->resetting)
		p->change |= C_RESET;
	uint32_t status = (p->powered && p->device ? 1u : 0) | (p->enabled ? 2u : 0) |
	                  (p->resetting ? 16u : 0) | (p->powered ? super ? 0x200u : 0x100u : 0);
	if (p->device && p->enabled && !super)
		status |= p->device->speed == USB_LOW    ? 0x200
		          : p->device->speed == USB_HIGH ? 0x400
		                                         : 0;
	store16(b, (uint16_t)status);
	store16(b + 2, p->powered ? p->change : 0);
	return give(b, 4, data, len);
}

static int port_feature(struct usb_fake_device *d, struct usb_fake_port *p, bool set,
                        uint16_t feature)
{
	static const uint8_t bit[] = {0, 1, 2, 3, 4, 8, 9, 10, 11, 6, 7, 12, 13, 5};
	if (set && feature == 8) {
		p->powered = true;
		d->power_us = host_now_us;
	} else if (set && feature == 4) {
		if (host_now_us - d->power_us < 2000u * d->power_delay)
			pci_model_fault("reset of a port whose power is not good");
		usb_fake_reset(p, HUB_RESET_US, BLIND_US);
	} else if (!set && feature == 1) {
		p->enabled = false;
	} else if (!set && feature >= 16 && feature < 30) {
		p->change &= (uint16_t) ~(1u << bit[feature - 16]);
	} else {
		return USB_FAKE_STALL;
	}
	return 0;
}

static int hub_class(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data, uint32_t len)
{
	uint16_t value = load16(setup + 2), index = load16(setup + 4);
	struct usb_fake_port *p = index >= 1 && index <= d->n_ports ? &d->port[index - 1] : NULL;
	if (!d->configuration)
		return USB_FAKE_STALL;
	if (setup[0] == 0xa0 && setup[1] == 6)
		return hub_describe(d, (uint8_t)(value >> 8), data, len);
	if (setup[0] == 0x20 && setup[1] == 12 && d->speed == USB_SUPER) {
		d->depth = (uint8_t)value;
		return 0;
	}
	if (d->speed == USB_SUPER && d->depth == 0xff)
		return USB_FAKE_STALL;
	if (setup[0] == 0xa3 && setup[1] == 0 && p)
		return port_status(d, p, data, len);
	if (setup[0] == 0x23 && (setup[1] == 1 || setup[1] == 3) && p)
		return port_feature(d, p, setup[1] == 3, value);
	return USB_FAKE_STALL;
}

/* --- standard requests ----------------------------------------------------------------- */

int usb_fake_standard(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data,
                      uint32_t len)
{
	uint16_t value = load16(setup + 2);
	uint16_t request = (uint16_t)(setup[0] << 8 | setup[1]);
	if ((setup[0] & 0x60) == 0x20)
		return d->n_ports ? hub_class(d, setup, data, len) : USB_FAKE_STALL;
	switch (request) {
	case 0x8006:
		if (value == 0x100)
			return give(d->descriptor, d->descriptor_len, data, len);
		if (value == 0x200)
			return give(d->config, d->config_len, data, len);
		return USB_FAKE_STALL;
	case 0x0005:
		d->address = (uint8_t)value;
		return 0;
	case 0x0009:
		if (value != d->config[5])
			return USB_FAKE_STALL;
		d->configuration = (uint8_t)value;
		return 0;
	case 0x010b:
		d->multi_tt = value == 1;
		return 0;
	case 0x0201:
		return 0; /* CLEAR_FEATURE of an endpoint */
	default:
		return USB_FAKE_STALL;
	}
}
