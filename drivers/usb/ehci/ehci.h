/* EHCI controllers: state and the functions that the files of this folder share.
 *
 * The controller reads queue heads and transfer descriptors at any time while they are linked, and
 * keeps copies. So what it may read changes in two ways only:
 *  - The inactive descriptor at the end of a queue becomes the first of the next transfer; its
 *    token is written last (4.10.2).
 *  - A queue that is linked nowhere, and of which the controller has confirmed that it has no
 *    copy, is written freely. One queue at a time is on the way there (`unlinking`).
 * Data moves through buffers of the driver, so a transfer can be completed at once when its
 * device is gone, whatever the controller still does. */
#ifndef DRIVERS_USB_EHCI_EHCI_H
#define DRIVERS_USB_EHCI_EHCI_H

#include "drivers/usb/ehci/ehci_reg.h"
#include "drivers/usb/usb_hcd.h"
#include "kernel/seam/io.h"

#define EHCI_QUEUES 64u /* open endpoints of all devices of a controller */
#define EHCI_PAGES  8u  /* buffers for more than EHCI_SMALL bytes */
#define EHCI_PHASES 8u  /* frames between two services of most interrupt endpoints */
#define EHCI_SMALL  64u
#define EHCI_RING   4u /* descriptors of a queue: the longest transfer has 3 */

/* What the controller reads of one queue. It lies in one page. */
struct ehci_slot {
	struct ehci_qh qh;
	struct ehci_qtd qtd[EHCI_RING];
	uint8_t small[EHCI_SMALL];
	uint8_t setup[8];
	uint8_t unused[88];
};
_Static_assert(sizeof(struct ehci_slot) == 512, "divides a page");

enum ehci_place {
	EHCI_FREE,    /* no endpoint */
	EHCI_IDLE,    /* not linked */
	EHCI_LINKED,  /* the controller may read it */
	EHCI_LEAVING, /* linked, and waits for its turn to be unlinked */
	EHCI_LEFT,    /* unlinked; the controller may still have a copy: e->unlinking */
};

struct ehci_queue {
	struct ehci_slot *slot;
	struct usb_endpoint *endpoint; /* NULL: closed, and freed when nothing uses it */
	struct usb_device *device;     /* valid while endpoint is set */
	struct ehci_queue *next;       /* in its schedule */
	struct usb_transfer *t;        /* waits or runs */
	uint8_t place;                 /* enum ehci_place */
	uint8_t kind;                  /* enum usb_kind */
	bool running;                  /* the descriptors of t are the controller's */
	bool toggle_reset;             /* the toggle becomes 0 before the next transfer */
	uint8_t first, count; /* descriptors of t in the ring; the one behind them is inactive */
	uint8_t *page;        /* buffer of t, or NULL: slot->small */
	uint8_t period;       /* interrupt: frames between two services */
	uint8_t phase;        /* of period EHCI_PHASES: the frame */
	uint16_t load;        /* interrupt: byte times of full speed, 1 at high speed */
	/* The transaction translator on the way; NULL: none. */
	struct usb_device *tt_hub;
	uint8_t tt_port; /* 1 if the hub has a single one */
	uint8_t tt_left; /* CLEAR_TT_BUFFER requests to be sent before the next transfer */
	uint8_t address; /* of the device when t was started */
	uint8_t number;  /* of the endpoint; bit 7: IN */
	uint64_t tt_us;  /* since when a request is wanted */
};

enum ehci_reset {
	RESET_NONE,
	RESET_BEGUN, /* the signal is on; the next poll notes the time */
	RESET_ON,
	RESET_ENDS, /* the controller ends the signal */
};

struct ehci_port {
	uint8_t reset; /* enum ehci_reset */
	bool changed;  /* see USB_PORT_CHANGED */
	bool refused;  /* a device that no controller can serve, until it is unplugged */
	bool lost;     /* contact, in the last reset */
	uint64_t since_us;
	uint64_t told_refused, told_current; /* for log_limited */
};

struct ehci {
	struct usb_controller hc; /* the first member */
	volatile uint8_t *op;     /* operational registers */
	uint32_t params;          /* HCSPARAMS */
	uint8_t eecp;             /* first extended capability; 0: none */
	bool wide;                /* 64-bit addresses */
	bool dead;                /* reported as failed, or stopped */
	uint32_t cmd;             /* USBCMD without its doorbell */
	uint64_t now_us;          /* of the last poll */

	uint32_t *frames;                      /* the periodic frame list */
	struct ehci_slot *head;                /* of the asynchronous schedule */
	struct ehci_queue *async;              /* linked, from the head on */
	struct ehci_queue *chain[EHCI_PHASES]; /* interrupt, one of EHCI_PHASES frames */
	struct ehci_queue *always;             /* interrupt, each frame; behind all chains */
	uint64_t async_us;                     /* when an asynchronous queue last ran */
	uint64_t async_wait_us,
	        periodic_wait_us;     /* since when a schedule does not follow; 0: follows */
	struct ehci_queue *unlinking; /* the queue that is EHCI_LEFT */
	uint8_t rings;                /* doorbells that must still be answered */
	uint64_t unlink_us;           /* doorbell or unlinking; 0: not noted yet */

	struct usb_transfer tt; /* CLEAR_TT_BUFFER */
	struct ehci_queue *tt_queue;

	uint8_t *pages;
	uint8_t pages_free; /* bit for each */
	struct ehci_port port[USB_PORTS];
	struct ehci_queue queue[EHCI_QUEUES];
};

static inline struct ehci *ehci_of(struct usb_controller *c)
{
	return (struct ehci *)c;
}

/* Reads and writes the operational register at offset `reg`. */
static inline uint32_t ehci_read(const struct ehci *e, uint32_t reg)
{
	return mmio_read32(e->op + reg);
}

static inline void ehci_write(const struct ehci *e, uint32_t reg, uint32_t v)
{
	mmio_write32(e->op + reg, v);
}

/* A word of memory that the controller may write at any time. */
static inline uint32_t ehci_word(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/* Reports the controller as failed, once, and ends all work of the driver. */
void ehci_fail(struct ehci *e, const char *reason);

/* --- ehci_hw.c -------------------------------------------------------------------- */

/* Maps the registers and fills in op, params, eecp and wide. Gives NULL or what is wrong. */
const char *ehci_hw_map(struct ehci *e, const struct pci_dev *dev);

/* Asks the firmware for the controller (5.1). Gives the place of the semaphore in configuration
 * space, or 0 when there is none. */
uint8_t ehci_hw_ask(const struct ehci *e, const struct pci_dev *dev);

/* True when the firmware has given the semaphore up. */
bool ehci_hw_given(const struct pci_dev *dev, uint8_t at);

/* Takes the controller, by force if the firmware still has it; no event causes an SMI any more. */
void ehci_hw_take(const struct pci_dev *dev, uint8_t at);

/* Sets what some controllers need in their configuration space. */
void ehci_hw_quirks(const struct pci_dev *dev);

/* Has the controller stop (2.3.1). True when it has. */
bool ehci_hw_stop(const struct ehci *e);

/* Stops the controller. False when it still runs after 20 ms. */
bool ehci_hw_halt(const struct ehci *e);

/* Resets the controller, which must be stopped. False when it does not end within 250 ms. */
bool ehci_hw_reset(const struct ehci *e);

/* Starts the controller with empty schedules and takes its ports from the companions (4.1).
 * False when it does not run. Takes 5 to 25 ms. */
bool ehci_hw_start(struct ehci *e);

/* --- ehci_port.c -------------------------------------------------------------------- */

/* See usb_hcd_ops. */
struct usb_port_state ehci_port(struct usb_controller *c, uint8_t port);
void ehci_port_reset(struct usb_controller *c, uint8_t port);
void ehci_port_disable(struct usb_controller *c, uint8_t port);
/* Advances the resets of ports. */
void ehci_port_poll(struct ehci *e);

/* --- ehci_queue.c -------------------------------------------------------------------- */

/* See usb_hcd_ops. */
bool ehci_device_open(struct usb_controller *c, struct usb_device *d);
void ehci_device_changed(struct usb_controller *c, struct usb_device *d);
void ehci_device_close(struct usb_controller *c, struct usb_device *d);
bool ehci_endpoint_open(struct usb_controller *c, struct usb_endpoint *end);
void ehci_endpoint_reset(struct usb_controller *c, struct usb_endpoint *end);
bool ehci_submit(struct usb_controller *c, struct usb_transfer *t);
void ehci_cancel(struct usb_controller *c, struct usb_transfer *t);

/* Completes the transfers that have ended, and starts those that wait and can. */
void ehci_queue_poll(struct ehci *e);

/* Called when an unlinked queue is the driver's: ends the transfer that was cancelled. */
void ehci_queue_left(struct ehci *e, struct ehci_queue *q);

/* --- ehci_schedule.c ------------------------------------------------------------------- */

/* Links a queue that is EHCI_IDLE. */
void ehci_link(struct ehci *e, struct ehci_queue *q);

/* Has a queue that is EHCI_LINKED unlinked; ehci_queue_left follows in a later poll. */
void ehci_unlink(struct ehci_queue *q);

/* Finds a phase for an interrupt queue whose period and load are set. False: no bandwidth. */
bool ehci_phase(struct ehci *e, struct ehci_queue *q);

/* Advances unlinking and switches the schedules on and off. `sts` is USBSTS, just read. */
void ehci_schedule_poll(struct ehci *e, uint32_t sts);

/* Switches the schedules on that are needed and off that are not, if that can be done now. */
void ehci_schedule_follow(struct ehci *e, uint32_t sts);

/* --- ehci_tt.c ------------------------------------------------------------------------- */

/* Notes that the transaction translator holds a transfer of q that was broken off (USB 2.0
 * 11.17.5). No transfer of q is started before its buffer was cleared. */
void ehci_tt_broken(struct ehci *e, struct ehci_queue *q);

/* Sends what is to be sent. */
void ehci_tt_poll(struct ehci *e);

/* A device is gone, maybe a hub: its transaction translators need nothing any more. */
void ehci_tt_gone(struct ehci *e, const struct usb_device *hub);

#endif
