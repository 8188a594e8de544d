/* What the files of the core share: buses, ports, enumeration. Not for drivers and classes. */
#ifndef DRIVERS_USB_USB_CORE_H
#define DRIVERS_USB_USB_CORE_H

#include "drivers/usb/usb_hcd.h"
#include "drivers/usb/usb_parse.h"
#include "kernel/lib/fmt.h"

#define USB_DEVICES 64u  /* of all controllers together */
#define USB_BUFFER  1024 /* bytes of descriptors read of one device */
#define USB_PATH    32u  /* room for the longest usb_path */

#define USB_POLL_US (10 * 1000u)  /* how often ports in motion are looked at */
#define USB_IDLE_US (100 * 1000u) /* how often the other ports of a root hub are */

/* Where a port stands. */
enum usb_port_phase {
	USB_PORT_EMPTY,
	USB_PORT_SETTLING, /* something was plugged in: its contacts bounce */
	USB_PORT_QUEUED,   /* waits until no other device of the bus is at address 0 */
	USB_PORT_BUSY,     /* is being enumerated */
	USB_PORT_READY,
	USB_PORT_OFF,  /* given up until it is unplugged */
	USB_PORT_HELD, /* plugged too often: given up until until_us */
};

/* A port of a root hub or of a hub. All zeros, but for the first three fields, at first. */
struct usb_port {
	struct usb_bus *bus;
	struct usb_device *hub; /* NULL: the root hub */
	uint8_t number;
	uint8_t phase;               /* enum usb_port_phase */
	struct usb_port_state state; /* as usb_port_poll saw it */
	uint8_t tries;               /* attempts with this device that failed */
	uint8_t starts, resets;      /* enumerations, and resets by classes, in this window */
	bool known;                  /* its device was in use since it was plugged in */
	bool held;                   /* the line about HELD was said since the last READY */
	uint64_t window_us;          /* when the window began */
	uint64_t until_us;           /* of SETTLING, QUEUED, HELD */
	uint64_t unsettled_us;       /* when SETTLING gives up */
	uint64_t look_us;            /* when the port is looked at next */
	struct usb_device *device;   /* BUSY, READY */
};

struct usb_bus;
struct usb_enum;
typedef const char *(*usb_enum_step)(struct usb_enum *e);

/* The enumeration of one device: steps that each end in a transfer, in the reset of the port, or in
 * a time. */
struct usb_enum {
	struct usb_bus *bus;
	struct usb_port *port; /* NULL: none runs */
	struct usb_device *device;
	usb_enum_step step; /* called when what the last one began has ended */
	bool resetting;     /* the port is being reset */
	uint64_t until_us;  /* nothing happens before; while resetting the deadline */
	const char *doing;  /* for messages */
	uint32_t setting;   /* next interface whose setting is chosen */
	struct usb_transfer t;
	struct usb_parse_config config;
	uint8_t *buffer; /* USB_BUFFER bytes */
};

/* A controller, as the core sees it. */
struct usb_bus {
	struct usb_controller *controller;
	uint8_t index;
	bool dead;     /* what it had is cleaned up */
	bool stopping; /* it failed, and has until then to stop */
	uint64_t until_us;
	const char *reason;    /* why it failed */
	uint32_t addresses[4]; /* bits of those in use */
	uint8_t last_address;  /* the last that was given */
	uint32_t n_ports;
	struct usb_port *port;
	struct usb_enum enumeration;
};

/* Counters of `stats`. */
struct usb_counts {
	uint64_t enumerations, enumeration_failures, resets, stalls, failures, timeouts;
	uint64_t controllers_failed, hub_errors;
};
extern struct usb_counts usb_counts;

/* The time of this usb_poll. */
extern uint64_t usb_now_us;

/* Notes that something is under way; see usb_moves. */
void usb_moved(void);

/* The buses, by index from 0; NULL behind the last. */
struct usb_bus *usb_bus(uint32_t index);

/* Writes the place of a port: the controller, and the ports on the way to it: usb0-2.1. */
const char *usb_path(char buf[static USB_PATH], const struct usb_port *p);

/* Adds a line about a port to the log: `PATH: text`. All ports together have 30 lines a minute; of
 * further ones only their number is logged. */
void usb_log(const struct usb_port *p, const char *format, ...) PRINTF_LIKE(2, 3);

/* --- usb_transfer.c --- */

/* Completes what the controllers refused, and cancels what took too long. */
void usb_transfer_poll(void);
/* Completes all transfers of a bus (device NULL) or of one device with USB_GONE. */
void usb_transfer_end(const struct usb_bus *bus, const struct usb_device *device);
/* Removes all transfers without a word. For usb_init. */
void usb_transfer_reset(void);

/* --- usb_device.c --- */

/* Allocates the devices. False: no memory. */
bool usb_device_init(void);
/* Gives an unused device at port `p`, of which everything but the descriptors is filled in. NULL:
 * none is left. */
struct usb_device *usb_device_new(struct usb_port *p, uint8_t speed);
/* Removes a device with everything behind it: transfers end with USB_GONE, classes are detached.
 * `opened`: the driver knows it. */
void usb_device_remove(struct usb_device *d, bool opened);
/* Offers the interface of a claim to the classes; the first that takes it has it. */
void usb_device_offer(struct usb_device *d, struct usb_claim *claim);
/* True when class `index` of usb_classes got its memory. */
bool usb_device_usable(uint32_t index);
/* True when a class wants such an interface. */
bool usb_device_wanted(const struct usb_interface *i);
/* Device `index` of those in use; NULL when this place is free; false behind the last place. */
bool usb_device_at(uint32_t index, struct usb_device **out);

/* --- usb_enum.c --- */

/* Begins to enumerate what is at a port that has settled. The bus enumerates nothing. */
void usb_enum_start(struct usb_port *p);
/* Goes on. */
void usb_enum_poll(struct usb_enum *e);
/* Ends the enumeration of a port whose device is gone; nothing when another one is enumerated. */
void usb_enum_stop(struct usb_port *p);

/* --- usb_port.c --- */

/* Follows a port: what was plugged, what was unplugged. */
void usb_port_poll(struct usb_port *p);
/* Resets the port, by its controller or its hub. */
void usb_port_reset(struct usb_port *p);
/* The enumeration has ended: well (NULL) or with a reason. */
void usb_port_enumerated(struct usb_port *p, const char *wrong);
/* Removes what is at the port: its hub or its controller is gone. */
void usb_port_gone(struct usb_port *p);

/* --- usb_hub.c --- */

/* The same of a hub's port as usb_hcd_ops has of a root port. */
struct usb_port_state usb_hub_port(struct usb_port *p);
void usb_hub_port_reset(struct usb_port *p);
void usb_hub_port_disable(struct usb_port *p);

#endif
