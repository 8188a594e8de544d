/* Numbers of the specification for the controller's model, written down independently of the
 * driver, and what the files of the model share. */
#ifndef TESTS_MODELS_XHCI_MODEL_REGS_H
#define TESTS_MODELS_XHCI_MODEL_REGS_H

#include "tests/models/xhci_model.h"

enum { /* where this controller has its registers */
       OPER = 0x40,
       PORTS = OPER + 0x400,
       RUNTIME = 0x1000,
       IR0 = RUNTIME + 0x20,
       DOORBELL = 0x2000,
       EXTENDED = 0x3000,
       WINDOW = 0x10000,
};

enum { /* table 6-90 */
       SUCCESS = 1,
       BABBLE = 3,
       TRANSACTION = 4,
       TRB_ERROR = 5,
       STALL = 6,
       NO_SLOTS = 9,
       NOT_ENABLED = 11,
       EP_NOT_ENABLED = 12,
       SHORT = 13,
       PARAMETER = 17,
       STATE = 19,
       RING_STOPPED = 24,
       ABORTED = 25,
       STOPPED = 26,
       STOPPED_INVALID = 27,
       SPLIT = 36,
};

#define PORT_CCS    (1u << 0)
#define PORT_PED    (1u << 1)
#define PORT_PR     (1u << 4)
#define PORT_PLS(n) ((uint32_t)(n) << 5)
#define PORT_PP     (1u << 9)
#define PORT_CSC    (1u << 17)
#define PORT_WRC    (1u << 19)
#define PORT_PRC    (1u << 21)
#define PORT_W1C    (0x7fu << 17)
#define PORT_WPR    (1u << 31)

struct trb {
	uint64_t at; /* its bus address */
	uint64_t ptr;
	uint32_t status, control;
};

static inline unsigned trb_type(const struct trb *t)
{
	return t->control >> 10 & 63;
}

/* xhci_model.c */
bool xhci_model_running(const struct xhci_model *m);

/* xhci_model_port.c */
uint32_t xhci_model_port_read(struct xhci_model *m, unsigned port);
void xhci_model_port_write(struct xhci_model *m, unsigned port, uint32_t v);
/* Ends a reset that is over. */
void xhci_model_port_time(struct xhci_model *m, unsigned port);
/* The links of SuperSpeed ports come up. */
void xhci_model_links(struct xhci_model *m);
/* The device that a slot context names. */
struct xhci_model_usb *xhci_model_find(struct xhci_model *m, unsigned port, uint32_t route);

/* Reads the TRB at *at if it belongs to the controller; follows links. */
bool xhci_model_fetch(struct xhci_model *m, uint64_t *at, bool *cycle, struct trb *out);

/* xhci_model_cmd.c */
void xhci_model_commands(struct xhci_model *m);
uint32_t *xhci_model_context(struct xhci_model *m, unsigned slot, unsigned dci);
void xhci_model_ep_state(struct xhci_model *m, unsigned slot, unsigned dci, uint8_t state);

/* xhci_model_xfer.c */
void xhci_model_transfers(struct xhci_model *m, unsigned slot, unsigned dci);
/* True when a TD waits on a running endpoint. */
bool xhci_model_waits(struct xhci_model *m, unsigned slot, unsigned dci);
/* The endpoint is stopped: gives the event for the TD that waits. */
void xhci_model_stopped(struct xhci_model *m, unsigned slot, unsigned dci);

#endif
