/* Shared by the files of the xHCI driver. Section numbers: see xhci_reg.h.
 *
 * A device has a set of commands that it needs (xhci_dev.need, xhci_ep.need). One command of the
 * controller is under way at a time; when it is complete, the next needed one is issued. A transfer
 * waits in its endpoint until neither the device nor the endpoint needs a command; then its TD is
 * put on the ring. So the order of calls from the core is kept without a queue, and a transfer can
 * be submitted at any time.
 *
 * Memory is all taken by probe: 24 devices and 64 endpoints of a controller, 56 to 80 KB. */
#ifndef DRIVERS_USB_XHCI_XHCI_H
#define DRIVERS_USB_XHCI_XHCI_H

#include "drivers/usb/usb_hcd.h"
#include "drivers/usb/xhci/xhci_reg.h"

#define XHCI_SLOTS     24u /* devices of one controller */
#define XHCI_ENDPOINTS 64u /* of all its devices, with their endpoints 0 */
#define XHCI_RING      16u /* TRBs of a transfer ring and of the command ring */
#define XHCI_EVENTS    256u
#define XHCI_DCIS      32u
#define XHCI_PROTOCOLS 8u

/* The producer's side of a ring. A TD never has a link inside of it: where there is no room for it
 * up to the end of the ring, the rest of the ring is links. */
struct xhci_ring {
	struct xhci_trb *trb;
	uint8_t at;    /* the next TRB to fill; XHCI_RING - 1: that of the link */
	uint8_t first; /* the first TRB of the TD that is being filled */
	uint8_t cycle;
};

/* Commands that an endpoint needs, in this order. */
enum { EP_NEEDS_STOP = 1, EP_NEEDS_RESET = 2, EP_NEEDS_DEQUEUE = 4 };
/* What the next Configure Endpoint does with it. */
enum { EP_ADD = 1, EP_DROP = 2 };

struct xhci_ep {
	struct xhci_dev *dev; /* NULL: free */
	struct usb_endpoint *e;
	struct usb_transfer *t;
	struct xhci_ring ring;
	uint8_t dci;
	uint8_t need, config;
	uint8_t td, td_n; /* first TRB and number of TRBs of the TD, while `queued` */
	uint8_t tries;    /* Stop Endpoint commands that the controller refused */
	bool queued;      /* the TD of `t` is on the ring; after a close, a TD without `t` */
	bool clean;       /* no TD since the data toggle was 0 */
	bool known;       /* the controller has it in its contexts */
	bool dead;        /* a command failed; no further transfers */
	uint32_t moved;   /* bytes of this transfer, as far as events said */
};

/* Commands that a device needs, in this order; those of its endpoints follow the second. */
enum { DEV_ENABLE = 1, DEV_DEFAULT = 2, DEV_EVALUATE = 4, DEV_ADDRESS = 8, DEV_CONFIGURE = 16 };

struct xhci_dev {
	bool used;
	bool closing; /* the core knows it no longer: `d` is NULL */
	bool failed;  /* a command failed; no further transfers */
	struct usb_device *d;
	uint8_t slot;  /* 0: none yet */
	uint8_t root;  /* the port of the controller */
	uint8_t speed; /* PSIV for the slot context */
	uint8_t need;
	uint16_t size0; /* of endpoint 0, as the controller knows it */
	uint32_t hub;   /* what the controller knows of a hub */
	struct xhci_ep *ep[XHCI_DCIS];
};

struct xhci_port {
	uint32_t portsc; /* as last read */
	uint8_t protocol;
	bool changed; /* for USB_PORT_CHANGED */
	bool used;    /* of a SuperSpeed port: a reset is needed to bring the device to address 0 */
	bool off;     /* of a SuperSpeed port: port_disable was called */
	enum { PORT_IDLE, PORT_TRAINS, PORT_RESETS } state;
	uint64_t until_us;
};

/* Ports of one protocol (7.2). */
struct xhci_protocol {
	uint8_t first, n; /* ports, from 1 */
	uint8_t slot_type;
	bool super;
	uint8_t speed[16]; /* enum usb_speed of each PSIV */
};

/* What the controller reads and writes, beside contexts and scratchpads. No part crosses a border
 * of its alignment's page. */
struct xhci_dma {
	struct xhci_trb event[XHCI_EVENTS]; /* 4096 bytes */
	uint8_t input[33 * 64];             /* input context */
	uint8_t unused[4096 - 33 * 64 - sizeof(struct xhci_trb) * XHCI_RING - 64 - 256];
	struct xhci_trb command[XHCI_RING];
	uint32_t segment[16];  /* event ring segment table */
	uint32_t contexts[64]; /* DCBAA: pairs of words */
	struct xhci_trb ring[XHCI_ENDPOINTS][XHCI_RING];
};
_Static_assert(offsetof(struct xhci_dma, ring) == 8192, "pages");
_Static_assert(2 * (XHCI_SLOTS + 1) <= 64, "DCBAA");

struct xhci_command {
	enum { CMD_IDLE, CMD_RUNS, CMD_ABORTS } state;
	uint8_t type;
	uint8_t code; /* completion code */
	uint8_t slot; /* of the completion event */
	struct xhci_dev *dev;
	struct xhci_ep *ep;
	uint32_t trb; /* its place in the ring */
	uint64_t until_us;
};

struct xhci {
	struct usb_controller usb; /* must be first: the ops get a pointer to it */
	volatile uint8_t *op, *run, *doorbell;
	struct xhci_dma *dma;
	uint8_t *context;      /* device contexts, by slot */
	uint32_t context_size; /* of one context: 32 or 64 bytes */
	uint32_t n_slots;
	uint32_t event_at, event_cycle;
	uint32_t bad; /* events in a row that cannot be */
	struct xhci_ring ring;
	struct xhci_command cmd;
	uint32_t turn; /* the device that is looked at first for the next command */
	uint64_t now_us, check_us;
	uint32_t check_port;
	bool switched; /* the ports' power is switched */
	uint32_t n_protocols;
	struct xhci_protocol protocol[XHCI_PROTOCOLS];
	struct xhci_port port[USB_PORTS];
	struct xhci_dev dev[XHCI_SLOTS];
	struct xhci_dev *by_slot[XHCI_SLOTS + 1];
	struct xhci_ep ep[XHCI_ENDPOINTS];
};

/* The driver of a controller. */
static inline struct xhci *xhci_of(struct usb_controller *c)
{
	return (struct xhci *)c;
}

/* --- xhci_hw.c: the controller ----------------------------------------------------------- */

/* What was found in the capability registers. */
struct xhci_caps {
	volatile uint8_t *regs;
	uint32_t window; /* mapped bytes */
	uint32_t op, run, doorbell, extended;
	uint32_t slots, ports, pads;
	bool wide; /* contexts of 64 bytes */
	bool switched;
};

/* See usb_driver (4.22.1). `asked` is the place of the semaphore among the registers. */
const char *xhci_hw_ask(const struct pci_dev *dev, uint32_t *asked);
bool xhci_hw_given(const struct pci_dev *dev, uint32_t asked);
const char *xhci_hw_take(const struct pci_dev *dev, uint32_t asked);

/* Reads the capability registers of a controller that xhci_hw_ask has mapped. Gives NULL or what
 * is wrong. */
const char *xhci_hw_caps(const struct pci_dev *dev, struct xhci_caps *caps);

/* Reads which ports are of which protocol into x->protocol and x->port. */
void xhci_hw_protocols(struct xhci *x, const struct xhci_caps *caps);

/* Gives the controller its rings, tables and scratchpads, and starts it. Gives NULL or what is
 * wrong. Takes up to 20 ms. */
const char *xhci_hw_start(struct xhci *x, const struct xhci_caps *caps);

/* See usb_hcd_ops.stop. */
bool xhci_hw_stop(const struct xhci *x);

/* Moves the ports that an Intel chip set shares between EHCI and xHCI to xHCI. */
void xhci_hw_route(const struct pci_dev *dev);

/* Gives NULL, or why the controller cannot go on. */
const char *xhci_hw_wrong(const struct xhci *x);

/* Writes a 64-bit register: the lower half, then the upper one, which is 0 (5.1). */
void xhci_hw_write64(volatile uint8_t *reg, uint32_t low);

/* --- xhci_ring.c ------------------------------------------------------------------------------ */

/* Makes the ring empty. */
void xhci_ring_reset(struct xhci_ring *r);
/* Begins a TD or command of n TRBs, at most XHCI_RING - 1. The ring must have no other TD. */
void xhci_ring_begin(struct xhci_ring *r, uint32_t n);
/* Adds a TRB, without its cycle bit. */
void xhci_ring_put(struct xhci_ring *r, uint64_t ptr, uint32_t status, uint32_t control);
/* Hands the TRBs since xhci_ring_begin to the controller, which still needs the doorbell. */
void xhci_ring_end(struct xhci_ring *r);
/* The bus address of the next TRB with the cycle bit in bit 0, for a dequeue pointer. */
uint32_t xhci_ring_next(const struct xhci_ring *r);
/* Makes the ring empty, beginning at its next TRB at a 64-byte border. */
void xhci_ring_skip(struct xhci_ring *r);

/* --- xhci_cmd.c: commands ------------------------------------------------------------------------
 */

/* Issues a command. No other is under way. */
void xhci_cmd_issue(struct xhci *x, struct xhci_dev *dev, struct xhci_ep *ep, uint32_t type,
                    uint64_t ptr, uint32_t control);
/* Takes a command completion event. False when it fits no command. */
bool xhci_cmd_event(struct xhci *x, const struct xhci_trb *ev);
/* Aborts a command that takes too long, and restarts the ring after that. */
void xhci_cmd_watch(struct xhci *x);

/* --- xhci_dev.c: devices and what they need
 * ------------------------------------------------------- */

/* See usb_hcd_ops. */
bool xhci_dev_open(struct usb_controller *c, struct usb_device *d);
void xhci_dev_changed(struct usb_controller *c, struct usb_device *d);
void xhci_dev_close(struct usb_controller *c, struct usb_device *d);
bool xhci_dev_endpoint(struct usb_controller *c, struct usb_endpoint *e);

/* Issues the next command that a device needs, if none is under way. */
void xhci_dev_work(struct xhci *x);
/* A command has ended; its completion code is in it. */
void xhci_dev_done(struct xhci *x, const struct xhci_command *cmd);

/* --- xhci_ctx.c: contexts
 * ---------------------------------------------------------------------------- */

/* Fill in the input context of a command; give its bus address. */
uint32_t xhci_ctx_address(struct xhci *x, struct xhci_dev *dev);
uint32_t xhci_ctx_evaluate(struct xhci *x, struct xhci_dev *dev);
uint32_t xhci_ctx_configure(struct xhci *x, struct xhci_dev *dev);
/* The device context of a slot, as the controller writes it: word `word` of context `dci`. */
uint32_t xhci_ctx_word(const struct xhci *x, uint32_t slot, uint32_t dci, uint32_t word);
/* Gives a slot its cleared device context, or takes it away. */
void xhci_ctx_give(struct xhci *x, uint32_t slot);
void xhci_ctx_take(struct xhci *x, uint32_t slot);
/* What the slot context says about a hub, as one word for comparisons. 0: no hub. */
uint32_t xhci_ctx_hub(const struct usb_device *d);

/* --- xhci_xfer.c: transfers
 * ---------------------------------------------------------------------------- */

/* See usb_hcd_ops. */
bool xhci_xfer_submit(struct usb_controller *c, struct usb_transfer *t);
void xhci_xfer_cancel(struct usb_controller *c, struct usb_transfer *t);
void xhci_xfer_reset(struct usb_controller *c, struct usb_endpoint *e);

/* True for SET_ADDRESS, which is a command here. */
bool xhci_xfer_is_address(const struct usb_transfer *t);
/* Puts the waiting transfers of a device on their rings, as far as they need no command. */
void xhci_xfer_kick(struct xhci *x, struct xhci_dev *dev);
/* Ends the transfer of an endpoint, which has one. Its `done` may call the driver. */
void xhci_xfer_end(struct xhci_ep *ep, enum usb_status status);
/* Takes a transfer event. False when it fits nothing. */
bool xhci_xfer_event(struct xhci *x, const struct xhci_trb *ev);

/* --- xhci_port.c
 * ------------------------------------------------------------------------------------------ */

/* See usb_hcd_ops. */
struct usb_port_state xhci_port_state(struct usb_controller *c, uint8_t port);
void xhci_port_reset(struct usb_controller *c, uint8_t port);
void xhci_port_disable(struct usb_controller *c, uint8_t port);

/* Reads a port (from 0) and acknowledges its changes. */
void xhci_port_read(struct xhci *x, uint32_t port);
/* Ends resets that take too long. */
void xhci_port_watch(struct xhci *x);
/* Powers all ports. */
void xhci_port_start(struct xhci *x);
/* The PSIV of a device for its slot context. */
uint8_t xhci_port_speed(const struct xhci *x, const struct usb_device *d, uint8_t root);
/* A device is opened at root port `port` (from 1). */
void xhci_port_use(struct xhci *x, uint8_t port);

#endif
