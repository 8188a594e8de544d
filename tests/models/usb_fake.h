/* A host controller that exists only here, with devices that follow the USB 2.0 specification, for
 * tests of the core and of classes without the driver of a real controller.
 *
 * It implements usb_hcd.h. Devices hang at its root ports and at hubs; a transfer reaches the
 * device that has its address and whose ports are all enabled. A test may answer requests itself,
 * with any lie. What the core must not do is a fault (pci_model_fault): two devices at address 0, a
 * reset before the contacts settled, a request before the device recovered, a second transfer of an
 * endpoint, memory that is not of alloc(), calls that the contract forbids. */
#ifndef TESTS_MODELS_USB_FAKE_H
#define TESTS_MODELS_USB_FAKE_H

#include "drivers/usb/usb_hcd.h"
#include "tests/models/pci_model.h"

#define USB_FAKE_PORTS     32u
#define USB_FAKE_TRANSFERS 64u
#define USB_FAKE_DEVICES   128u

/* What a device answers instead of a number of bytes. */
enum {
	USB_FAKE_PASS = -1, /* as the specification says */
	USB_FAKE_STALL = -2,
	USB_FAKE_SILENT = -3, /* nothing yet: the transfer stays */
	USB_FAKE_BROKEN = -4, /* a wrong answer */
};

struct usb_fake_device;

struct usb_fake_port {
	struct usb_fake_device *device; /* NULL: nothing is plugged in */
	bool enabled, powered;
	bool resetting;
	uint8_t speed;
	uint16_t change; /* of a hub: wPortChange; of a root port: not 0 when something changed */
	uint64_t plugged_us, reset_us; /* the last plugging; the end of the last reset */
};

struct usb_fake_device {
	uint8_t speed; /* enum usb_speed */
	const uint8_t *descriptor, *config;
	size_t descriptor_len, config_len;
	/* Answers a control transfer: bytes of data, or one of the above. NULL: PASS. */
	int (*control)(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data,
	               uint32_t len);
	/* Answers a transfer of another endpoint. NULL: SILENT. */
	int (*transfer)(struct usb_fake_device *d, uint8_t endpoint, uint8_t *data, uint32_t len);
	void *ctx;
	/* Of a hub: its ports. */
	uint8_t n_ports;
	struct usb_fake_port *port;
	uint8_t power_delay; /* bPwrOn2PwrGood */
	uint64_t power_us;   /* when the last port got its power */
	bool multi_tt;       /* alternate setting 1 was chosen */
	/* The state of the device. */
	uint8_t address, configuration;
	uint8_t depth; /* SET_HUB_DEPTH; 0xff: not sent */
	uint32_t requests;
};

struct usb_fake {
	struct usb_controller c; /* the first member */
	struct pci_model_dev pci;
	uint32_t n_ports;
	struct usb_fake_port port[USB_FAKE_PORTS];
	struct usb_transfer *transfer[USB_FAKE_TRANSFERS];
	uint32_t n_transfers;
	const struct usb_device *device[USB_FAKE_DEVICES]; /* those that are open */
	bool inside;                                       /* a `done` runs */
	uint32_t opened, closed, endpoints, changed;
	bool taken, forced, stopped;
	uint64_t asked_us;
	uint32_t stops; /* calls of `stop` */
	/* What goes wrong. */
	const char *ask_fails, *take_fails, *probe_fails;
	uint32_t firmware_us; /* in which the firmware gives it up; 0: it has not got it */
	uint32_t slow_stop;   /* calls of `stop` that find it running */
	bool no_device, no_endpoint, no_transfer; /* there is no room */
	bool keeps;                               /* a cancelled transfer is not given back */
	bool slow_cancel;                         /* it is given back by the next poll */
	bool never_enables, never_ends;           /* resets */
	bool companion;                           /* a reset shows USB_PORT_OTHER */
	bool gives_addresses;                     /* as xHCI does */
};

/* Two kinds of controllers: prog_if 0xfd and 0xfe. */
extern const struct usb_driver usb_fake_first, usb_fake_second;

/* Makes a controller of `n_ports` ports in PCI slot 3 + n, and puts it on the bus. */
void usb_fake_init(struct usb_fake *f, uint32_t n, uint8_t prog_if, uint32_t n_ports);

/* Plugs a device into port `port` (from 1) of the controller, or of a hub; NULL unplugs what is
 * there. */
void usb_fake_plug(struct usb_fake *f, uint8_t port, struct usb_fake_device *d);
void usb_fake_plug_hub(struct usb_fake_device *hub, uint8_t port, struct usb_fake_device *d);

/* The way of the devices to answer; for tests' own `control`. */
int usb_fake_standard(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data,
                      uint32_t len);

/* Ready devices: a keyboard (3/1/1, endpoint 0x81), a stick (8/6/50, 0x81 and 0x02), hubs. */
void usb_fake_keyboard(struct usb_fake_device *d, uint8_t speed);
void usb_fake_stick(struct usb_fake_device *d, uint8_t speed);
/* A hub with ports in `port`. At high speed it has alternate setting 1 with multiple TTs. */
void usb_fake_hub(struct usb_fake_device *d, uint8_t speed, struct usb_fake_port *port,
                  uint8_t n_ports);

#endif
