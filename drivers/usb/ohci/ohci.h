/* The OHCI driver: what its files share.
 *
 * All endpoint descriptors are linked from the start and stay linked; one without a pipe, or one
 * that is to be changed, has its skip bit. There is a list for control, one for bulk, and one for
 * each of eight phases of interrupt endpoints, which so are visited every 8 ms.
 *
 * A controller that the firmware does not give up at once is waited for in the background. */
#ifndef DRIVERS_USB_OHCI_OHCI_H
#define DRIVERS_USB_OHCI_OHCI_H

#include "drivers/usb/ohci/ohci_reg.h"
#include "drivers/usb/pipe/pipe.h"
#include "kernel/seam/io.h"

#define OHCI_PHASES    8u
#define OHCI_CONTROLS  16u /* endpoints of each kind */
#define OHCI_BULKS     12u
#define OHCI_INTERRUPT 24u
#define OHCI_QUEUES    (OHCI_CONTROLS + OHCI_BULKS + OHCI_INTERRUPT)

#define OHCI_TDS        4u    /* of a queue: two of a round, the end, and one to spare */
#define OHCI_ROOM       1024u /* aligned, so that a buffer lies in one page (4.3.1.2) */
#define OHCI_ROOM_SMALL 64u
#define OHCI_BUFFERS    ((OHCI_CONTROLS + OHCI_BULKS) * OHCI_ROOM + OHCI_INTERRUPT * OHCI_ROOM_SMALL)

/* The queue of a pipe. */
struct ohci_queue {
	struct pipe pipe;
	struct ohci_ed *ed;
	struct ohci_td *td;
	uint32_t end;     /* the descriptor at which the queue ends */
	uint8_t round[2]; /* descriptors of the round */
	uint8_t n;        /* their number */
	uint8_t owned;    /* bits of descriptors that the controller has */
	uint8_t settling; /* steps until the controller has done with the endpoint */
	uint16_t frame;   /* start of the step */
};

struct ohci_port {
	bool changed;
	uint8_t pulses; /* of reset signal still to give; 0: no reset */
	uint64_t until_us;
};

enum ohci_phase {
	OHCI_WAITING,   /* for the firmware to give it up */
	OHCI_RESETTING, /* reset signal on the bus */
	OHCI_POWERING,  /* running; the ports get power */
	OHCI_RUNNING,
};

struct ohci {
	struct pipe_set pipes; /* first, so that one can be made of the other */
	struct pipe *pipe[OHCI_QUEUES];
	struct ohci_queue queue[OHCI_QUEUES];
	struct ohci_td *td; /* OHCI_TDS for each queue */
	struct ohci_hcca *hcca;
	volatile uint8_t *regs;
	bool legacy;       /* has registers of the keyboard emulation */
	uint32_t interval; /* bit times of a frame, less 1 */
	uint8_t phase;     /* enum ohci_phase */
	uint64_t until_us; /* end of the phase */
	uint16_t frame;    /* last frame number, and when it changed */
	uint64_t frame_us;
	struct ohci_port port[OHCI_PORTS_MAX];
};

static inline struct ohci *ohci_of(struct usb_controller *c)
{
	return (struct ohci *)(void *)c;
}

static inline uint32_t ohci_read(const struct ohci *o, uint32_t off)
{
	return mmio_read32(o->regs + off);
}

static inline void ohci_write(const struct ohci *o, uint32_t off, uint32_t v)
{
	mmio_write32(o->regs + off, v);
}

/* Allocates the lists and queues. False: no memory. (ohci_queue.c) */
bool ohci_queue_init(struct ohci *o) MUST_USE;
/* Tells the controller where the lists are. */
void ohci_queue_show(const struct ohci *o);
/* Takes the descriptors that the controller has done. False: their list is damaged. */
bool ohci_queue_done(struct ohci *o) MUST_USE;

/* Switches the power of all ports on. Gives the microseconds until it is good. (ohci_port.c) */
uint32_t ohci_port_power(struct ohci *o);
/* Advances resets of ports. */
void ohci_port_poll(struct ohci *o, uint64_t now_us);
/* As in usb_hcd_ops. */
struct usb_port_state ohci_port(struct usb_controller *c, uint8_t number);
void ohci_port_reset(struct usb_controller *c, uint8_t number);
void ohci_port_disable(struct usb_controller *c, uint8_t number);

#endif
