/* The UHCI driver: what its files share.
 *
 * The schedule. Each entry of the frame list names the queue head of one of eight phases. Behind
 * it come the queues of the interrupt endpoints of that phase, which so are visited every 8 ms,
 * then the queues of control and bulk endpoints, then a queue with a dead descriptor, which the
 * PIIX needs at the end. A queue is linked from its first round on; a cancel unlinks it. */
#ifndef DRIVERS_USB_UHCI_UHCI_H
#define DRIVERS_USB_UHCI_UHCI_H

#include "drivers/usb/pipe/pipe.h"
#include "drivers/usb/uhci/uhci_reg.h"

#define UHCI_PHASES    8u
#define UHCI_ASYNC     24u /* queues for control and bulk endpoints */
#define UHCI_INTERRUPT 24u /* queues for interrupt endpoints, three in each phase */
#define UHCI_QUEUES    (UHCI_ASYNC + UHCI_INTERRUPT)

#define UHCI_PACKETS    16u /* data packets of a round of a control or bulk endpoint */
#define UHCI_ROOM       1024u
#define UHCI_ROOM_SMALL 64u

/* The queue of a pipe. */
struct uhci_queue {
	struct pipe pipe;
	struct uhci_qh *qh;
	struct uhci_td *td;
	uint32_t n;   /* descriptors of the round */
	uint8_t list; /* phase, or UHCI_PHASES for control and bulk */
	bool linked;
	bool settling; /* the controller may still read the queue in frame `frame` */
	uint16_t frame;
	uint64_t since_us; /* start of settling */
};

struct uhci_port {
	bool resetting;
	bool changed;
	uint64_t until_us; /* end of the reset signal */
};

struct uhci {
	struct pipe_set pipes; /* first, so that one can be made of the other */
	struct pipe *pipe[UHCI_QUEUES];
	struct uhci_queue queue[UHCI_QUEUES];
	struct uhci_qh *head; /* UHCI_PHASES phases, control and bulk, the end */
	uint16_t io;
	struct uhci_port port[UHCI_PORTS_MAX];
};

static inline struct uhci *uhci_of(struct usb_controller *c)
{
	return (struct uhci *)(void *)c;
}

/* Allocates the schedule, and gives the frame list in *frames. False: no memory. (uhci_queue.c) */
bool uhci_queue_init(struct uhci *u, uint32_t **frames) MUST_USE;

/* Gives the number of the current frame. */
uint16_t uhci_frame(const struct uhci *u);

#endif
