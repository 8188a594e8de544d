/* The contract of a USB host controller's driver.
 *
 * The core (usb.h) enumerates devices, runs hubs and watches the deadlines. A driver moves
 * transfers and reports the ports of its root hub. No function waits, but for those of
 * struct usb_driver. What cannot be done at once is a state machine that `poll` advances. */
#ifndef DRIVERS_USB_USB_HCD_H
#define DRIVERS_USB_USB_HCD_H

#include "drivers/usb/usb.h"
#include "kernel/board/pci.h"

#define USB_CONTROLLERS 16u
#define USB_PORTS       32u /* of one controller's root hub at most; further ones are not used */

/* State of a root port. The first three are as the port says, the fourth is remembered by the
 * driver until usb_hcd_ops.port gave it. */
enum {
	USB_PORT_CONNECTED = 1,
	USB_PORT_ENABLED = 2,   /* a reset is complete, and the device may be addressed */
	USB_PORT_RESETTING = 4, /* port_reset goes on */
	USB_PORT_CHANGED = 8,   /* something was plugged or unplugged since the last call */
	USB_PORT_OTHER = 16,    /* the device belongs to a companion controller: leave it alone */
};

struct usb_port_state {
	uint8_t bits;
	uint8_t speed; /* enum usb_speed, valid while enabled */
};

/* The core calls `submit`, `cancel` and `endpoint_reset` also from inside of usb_complete, the
 * others never. */
struct usb_hcd_ops {
	/* Advances everything: completes transfers (usb_complete), follows ports. Bounded work: at
	 * most some tens of register accesses and of descriptors. Notices a controller that is
	 * halted, gone (all ones) or faulty, and reports it by usb_controller_failed. */
	void (*poll)(struct usb_controller *c, uint64_t now_us);

	/* Gives the state of root port `port` (from 1). */
	struct usb_port_state (*port)(struct usb_controller *c, uint8_t port);
	/* Starts a reset of the port: 50 ms of reset signal for root ports (7.1.7.5). The state is
	 * RESETTING, then ENABLED, or neither when it failed. The core waits for the debounce
	 * before and for the recovery after it. */
	void (*port_reset)(struct usb_controller *c, uint8_t port);
	/* Disables the port: the device behind it is not answered any more. */
	void (*port_disable)(struct usb_controller *c, uint8_t port);

	/* A new device, at address 0, speed, hub, port, route and tt_* filled in, endpoint 0 with
	 * the default size of its speed (8, 8, 64, 512). One device of a controller is at address 0
	 * at a time. False: no room. After it, control transfers may be submitted.
	 *
	 * The core sends SET_ADDRESS as a control transfer. A controller that gives addresses by
	 * itself (xHCI) does so instead of the transfer, and sets d->address before it completes
	 * it; otherwise the core sets it after the transfer, and calls device_changed. */
	bool (*device_open)(struct usb_controller *c, struct usb_device *d);
	/* The address, the size of endpoint 0 or what is known of a hub has changed. Later
	 * transfers use it. */
	void (*device_changed)(struct usb_controller *c, struct usb_device *d);
	/* The device is gone. All its transfers are completed with USB_GONE in this call, its
	 * endpoints are closed; the driver never touches *d afterwards. */
	void (*device_close)(struct usb_controller *c, struct usb_device *d);

	/* Prepares a bulk or interrupt endpoint of a device that has its address, in front of
	 * SET_CONFIGURATION.
	 * `e->hc` must be set. False: no room or no bandwidth. */
	bool (*endpoint_open)(struct usb_controller *c, struct usb_endpoint *e);
	/* See usb_endpoint_reset. */
	void (*endpoint_reset)(struct usb_controller *c, struct usb_endpoint *e);

	/* Takes a transfer. One transfer of an endpoint is under way at a time; the core sees to
	 * it. A halt of endpoint 0 is cleared by the driver itself. False: no room for the moment;
	 * the core completes the transfer with USB_FAILED. */
	bool (*submit)(struct usb_controller *c, struct usb_transfer *t);
	/* Takes the transfer back from the hardware, within a second. It is completed
	 * (USB_CANCELLED) when the hardware no longer uses its memory: in this call or in a later
	 * poll. */
	void (*cancel)(struct usb_controller *c, struct usb_transfer *t);

	/* Has the controller stop, and tells whether it has: without a wait. For power-off, panic,
	 * and a controller that failed. The core calls it until it has stopped, 20 ms at most, and
	 * then cuts its DMA (pci_cut). */
	bool (*stop)(struct usb_controller *c);
};

struct usb_controller {
	const struct usb_hcd_ops *ops;
	const char *driver; /* "uhci", "ohci", "ehci", "xhci" */
	struct pci_dev pci;
	uint32_t n_ports;    /* of the root hub */
	bool failed;         /* switched off; the core calls nothing but `stop` */
	struct usb_bus *bus; /* belongs to the core */
};

/* Called by a driver when a transfer has ended; status and actual are set. Calls its `done`, which
 * may submit further transfers. */
void usb_complete(struct usb_transfer *t, enum usb_status status, uint32_t actual);

/* Called by a driver whose controller cannot go on. The core prints one line with `reason`, stops
 * the controller and completes all its transfers with USB_GONE, from the next usb_poll. */
void usb_controller_failed(struct usb_controller *c, const char *reason);

/* A kind of controllers. */
struct usb_driver {
	const char *name;
	uint8_t prog_if; /* of PCI class 0x0c, subclass 0x03 */
	/* First pass over all controllers: finds the registers and asks the firmware to give the
	 * controller up, without a wait. Gives NULL or what is wrong; sets *asked (0 before) to
	 * something else than 0 when an answer is to be waited for. The core has enabled the device
	 * (pci_enable). NULL: the firmware of such controllers need not be asked. */
	const char *(*ask)(const struct pci_dev *dev, uint32_t *asked);
	/* True when the firmware has given it up, or need not be waited for any longer. */
	bool (*given)(const struct pci_dev *dev, uint32_t asked);
	/* Second pass, after all have given up what they have, or a second: takes the controller,
	 * by force if need be, and stops and resets it, so that neither SMM nor DMA of the firmware
	 * is left. Bounded; gives NULL or what is wrong. `asked` is 0 or as `ask` set it. */
	const char *(*take)(const struct pci_dev *dev, uint32_t asked);
	/* Third pass: allocates memory and starts the controller with its ports powered. Gives
	 * NULL and sets *out, or what is wrong; then the core cuts its DMA (pci_cut). */
	const char *(*probe)(const struct pci_dev *dev, struct usb_controller **out);
};

/* All drivers, EHCI before the companions that share its ports (usb_list.c). */
extern const struct usb_driver *const usb_drivers[];
extern const uint32_t n_usb_drivers;

/* All classes, in the order in which they are offered an interface (usb_list.c). */
extern const struct usb_class *const usb_classes[];
extern const uint32_t n_usb_classes;

#endif
