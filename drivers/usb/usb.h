/* USB devices and transfers: what class drivers (keyboards, storage) see.
 * USB 2.0 specification; section numbers in this folder are of that document.
 *
 * Everything is asynchronous and called from MAIN alone. A transfer is submitted, and its `done`
 * is called from a later usb_poll, exactly once, whatever happens to the device. */
#ifndef DRIVERS_USB_USB_H
#define DRIVERS_USB_USB_H

#include "kernel/lib/bytes.h"

#define USB_TRANSFER_MAX 4096u /* bytes of one transfer */
#define USB_ENDPOINTS    8u    /* of one device, without endpoint 0 */
#define USB_INTERFACES   4u    /* of one device that class drivers may claim */
#define USB_DEPTH        5u    /* hubs one behind the other (4.1.1) */

enum usb_speed { USB_LOW, USB_FULL, USB_HIGH, USB_SUPER };
enum usb_kind { USB_CONTROL, USB_ISOCHRONOUS, USB_BULK, USB_INTERRUPT }; /* as in bmAttributes */

enum usb_status {
	USB_OK,        /* `actual` bytes moved; fewer than `len` is no error */
	USB_STALLED,   /* the endpoint is halted; of endpoint 0: the request was refused */
	USB_FAILED,    /* no or a wrong answer (after three tries), or more data than fit */
	USB_CANCELLED, /* usb_cancel, or the deadline passed */
	USB_GONE,      /* the device was unplugged or its controller was switched off */
};

struct usb_class;
struct usb_controller;
struct usb_device;
struct usb_port;
struct usb_transfer;

struct usb_endpoint {
	struct usb_device *device;
	uint8_t address;  /* number; bit 7: IN */
	uint8_t kind;     /* enum usb_kind */
	uint8_t interval; /* bInterval as the descriptor says */
	uint8_t burst;    /* bMaxBurst of a SuperSpeed device */
	uint16_t max_packet;
	bool toggle; /* for controllers whose driver keeps the data toggle */
	void *hc;    /* belongs to the controller's driver; NULL: closed */

	bool open;                     /* belongs to the core, as the next */
	struct usb_transfer *transfer; /* the one that the controller works on */
};

/* A transfer. The owner fills in the first part and keeps the struct and the data where they are
 * until `done` was called. The data lies in memory of alloc(), which controllers can reach. */
struct usb_transfer {
	struct usb_endpoint *endpoint;
	uint8_t setup[8];    /* of a control transfer (9.3); bit 7 of the first byte: IN */
	void *data;          /* NULL when len is 0 */
	uint32_t len;        /* up to USB_TRANSFER_MAX */
	uint32_t timeout_ms; /* 0: none; for interrupt transfers that wait for a key */
	bool lazy;           /* usb_busy ignores it: nobody waits for this answer */
	void (*done)(struct usb_transfer *t);
	void *owner; /* for `done` */

	uint32_t actual;        /* bytes that moved */
	enum usb_status status; /* valid in `done` */

	bool active; /* between usb_submit and `done` */
	/* The next four belong to the core. */
	uint8_t stage;
	uint64_t submitted_us, deadline_us;
	struct usb_transfer *next;
	void *hc; /* belongs to the controller's driver */
};

/* One interface of the configuration in use, alternate setting 0 or the one with `alternate`. */
struct usb_interface {
	uint8_t number, alternate;
	uint8_t class_code, subclass, protocol;
	uint32_t n_endpoints;
	struct usb_endpoint *endpoint[USB_ENDPOINTS]; /* opened */
};

struct usb_device {
	struct usb_controller *controller;
	struct usb_device *hub; /* NULL: a port of the controller itself */
	uint8_t port;           /* of that hub or controller, from 1 */
	uint8_t depth;          /* 0: at the controller itself */
	uint8_t address;        /* 0 until SET_ADDRESS */
	uint8_t speed;          /* enum usb_speed */
	/* The nearest high-speed hub and its port, through which a full- or low-speed device is
	 * reached (11.14); NULL: none. */
	struct usb_device *tt_hub;
	uint8_t tt_port;
	uint32_t
	        route; /* ports of the hubs on the way, 4 bits each, that of the first hub lowest */
	bool is_hub;   /* set, with the next two, before usb_hcd_ops.device_changed */
	uint8_t n_ports;  /* of a hub */
	uint8_t tt_think; /* of a high-speed hub: bits 5 and 6 of wHubCharacteristics */
	bool multi_tt;
	uint16_t vendor, product;
	struct usb_endpoint
	        control; /* endpoint 0; max_packet is the default of its speed at first */
	struct usb_endpoint endpoint[USB_ENDPOINTS];
	uint32_t n_endpoints;
	void *hc; /* belongs to the controller's driver */
	bool gone;

	/* The rest belongs to the core. */
	bool used, reset_wanted;
	uint8_t class_code; /* of the device descriptor */
	struct usb_port *at;
	struct usb_claim {
		const struct usb_class *class;
		void *state;
		struct usb_interface interface;
	} claim[USB_INTERFACES];
	uint32_t n_claims;
};

/* A kind of devices. */
struct usb_class {
	const char *name;
	/* Allocates what the class needs. Called once by usb_init, in front of the first
	 * controller. NULL: nothing. False: no memory; the class is offered nothing. */
	bool (*init)(void);
	/* True when the class may take such an interface: only those are opened. Pure; `i` has no
	 * endpoints yet. NULL: all. */
	bool (*wants)(const struct usb_interface *i);
	/* Offers an interface of a device that is configured; its endpoints are open. Gives the
	 * driver's state when the class takes the interface, else NULL. Must not wait. *i stays
	 * where it is as long as the device is there. */
	void *(*attach)(struct usb_device *d, const struct usb_interface *i);
	/* The device is gone. All its transfers have been completed. */
	void (*detach)(void *state);
	/* Called from each usb_poll. NULL: none. */
	void (*tick)(uint64_t now_us);
};

/* Starts a transfer. False, and no call of `done`, when the endpoint is closed or has a transfer
 * already, or the device is gone. Transfers of endpoint 0 wait for each other instead: the classes
 * of one device share it. */
bool usb_submit(struct usb_transfer *t) MUST_USE;

/* Ends a transfer; `done` follows with USB_CANCELLED (or with what came first), in this call or in
 * a later usb_poll. */
void usb_cancel(struct usb_transfer *t);

/* Fills in a control transfer on endpoint 0 of `d`: setup, data, length (9.3), with a timeout of
 * five seconds. The caller sets `done` and `owner` and submits it. */
void usb_control(struct usb_transfer *t, struct usb_device *d, uint8_t type, uint8_t request,
                 uint16_t value, uint16_t index, void *data, uint16_t len);

/* Forgets the halt and the data toggle of an endpoint on our side. The caller has sent
 * CLEAR_FEATURE(ENDPOINT_HALT), which does the same on the side of the device (9.4.5). The
 * endpoint has no transfer. */
void usb_endpoint_reset(struct usb_endpoint *e);

/* Resets the port of a device, which is then found again: its classes get detach and attach.
 * For a device that no longer answers. A few times a minute at most; then the device is switched
 * off with a line in the log. */
void usb_device_reset(struct usb_device *d);

/* Looks for controllers, takes them from the firmware and starts them. Must be called before the
 * keyboard controller (8042) is used. Takes a bounded time. */
void usb_init(void);

/* Does what is due, a bounded amount. To be called about every 100 ms, every 10 ms while usb_moves,
 * and each millisecond while usb_busy. True when there was something to do. */
bool usb_poll(uint64_t now_us);

/* True while control or bulk transfers are under way that were submitted a moment ago. */
bool usb_busy(void);

/* True while something was under way within the last second: a transfer, also one that waits for a
 * key, or a port at which something was plugged in. A hub is asked often enough to be always under
 * way; a stick that nobody uses is not. */
bool usb_moves(void);

/* Writes line *cursor of the command `usb` into buf: each controller, then its devices. Moves the
 * cursor, which is 0 at first. False behind the last line. */
bool usb_show(uint64_t *cursor, char *buf, size_t size);

/* Writes counter *i as `NAME VALUE` into buf. False behind the last: then their number is taken off
 * *i. */
bool usb_show_stats(uint32_t *i, char *buf, size_t size);

/* Ends all DMA of all controllers. For restart, poweroff and panic. Takes a bounded time. */
void usb_stop(void);

#endif
