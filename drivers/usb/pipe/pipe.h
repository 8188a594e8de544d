/* Pipes: the way of a transfer through a USB 1.1 host controller (USB 1.1 specification, chapter
 * 5). UHCI and OHCI share this part; each provides a struct pipe_ops.
 *
 * A transfer moves in rounds of at most `room` bytes and `packets` packets through the pipe's own
 * buffer. A control transfer has its SETUP packet in the first round and its status stage in a
 * round of its own, so a short data stage needs no special case.
 *
 * Invariants: the hardware uses a pipe's memory only in PIPE_RUN and PIPE_DRAIN. A transfer's own
 * memory is never given to the hardware. */
#ifndef DRIVERS_USB_PIPE_PIPE_H
#define DRIVERS_USB_PIPE_PIPE_H

#include "drivers/usb/usb_hcd.h"

enum pipe_state {
	PIPE_FREE,
	PIPE_IDLE,  /* open, without a transfer */
	PIPE_READY, /* a round is prepared; `start` has not taken it yet */
	PIPE_RUN,   /* the hardware has the round */
	PIPE_DRAIN, /* taken back from the hardware, which may still use it for a moment */
};

enum pipe_stage {
	PIPE_SETUP,  /* SETUP packet and first data */
	PIPE_DATA,   /* data only */
	PIPE_STATUS, /* status stage: one packet without data, against the direction of the data */
};

/* What became of a round. */
enum pipe_result { PIPE_BUSY, PIPE_DONE, PIPE_STALLED, PIPE_FAILED };

struct pipe {
	/* Set up once by the driver. */
	uint8_t kinds;    /* bits 1 << enum usb_kind: endpoints that may have this pipe */
	uint8_t *setup;   /* 8 bytes that the hardware can read */
	uint8_t *data;    /* `room` bytes that the hardware can read and write */
	uint32_t room;    /* at least 64 */
	uint32_t packets; /* data packets of one round at most */

	struct usb_endpoint *endpoint; /* NULL: free, or closed while it drains */
	struct usb_transfer *transfer; /* NULL: none */
	uint8_t state;                 /* enum pipe_state */

	/* The current round, for pipe_ops. */
	uint8_t stage;  /* enum pipe_stage */
	bool in;        /* direction of the data */
	uint32_t round; /* data bytes of the round */

	uint32_t moved; /* data bytes of earlier rounds */
};

struct pipe_set;

struct pipe_ops {
	/* Gives the round to the hardware. False: not yet, it will be offered again. */
	bool (*start)(struct pipe_set *s, struct pipe *p);
	/* Looks at a round in the hardware. When it has ended, or has drained, sets *moved to the
	 * data bytes that moved. A short IN round is PIPE_DONE. */
	enum pipe_result (*look)(struct pipe_set *s, struct pipe *p, uint32_t *moved);
	/* Takes the round back; `drained` follows. */
	void (*halt)(struct pipe_set *s, struct pipe *p);
	/* True when the hardware uses nothing of the pipe any more. */
	bool (*drained)(struct pipe_set *s, struct pipe *p);
};

/* A controller and its pipes: the first member of the driver's own struct. */
struct pipe_set {
	struct usb_controller c; /* first, so that one can be made of the other */
	const struct pipe_ops *ops;
	struct pipe **pipe;
	uint32_t n;
};

/* What usb_hcd_ops says of devices and transfers. The controller is that of a struct pipe_set. */

/* Finds a pipe for endpoint 0, as pipe_endpoint_open. */
bool pipe_device_open(struct usb_controller *c, struct usb_device *d) MUST_USE;
/* Does nothing: the next round takes address and packet size from device and endpoint. */
void pipe_device_changed(struct usb_controller *c, struct usb_device *d);
void pipe_device_close(struct usb_controller *c, struct usb_device *d);
/* Finds a pipe for an endpoint and sets e->hc. False: no pipe is left, or the endpoint is one that
 * a USB 1.1 controller cannot serve (5.5.3, 5.7.3, 5.8.3: packets of 1 to 64 bytes, 8 at low
 * speed; no bulk endpoints at low speed). */
bool pipe_endpoint_open(struct usb_controller *c, struct usb_endpoint *e) MUST_USE;
void pipe_endpoint_reset(struct usb_controller *c, struct usb_endpoint *e);
bool pipe_submit(struct usb_controller *c, struct usb_transfer *t) MUST_USE;
void pipe_cancel(struct usb_controller *c, struct usb_transfer *t);

/* Advances all pipes and completes transfers. */
void pipe_poll(struct pipe_set *s);

/* Gives the packet size of the pipe's endpoint. 0: it is out of range. */
uint32_t pipe_max_packet(const struct pipe *p);

#endif
