/* Registers and structures of the Universal Host Controller Interface (UHCI) Design Guide, revision
 * 1.1. Section numbers are of that document. All registers are I/O ports. */
#ifndef DRIVERS_USB_UHCI_UHCI_REG_H
#define DRIVERS_USB_UHCI_UHCI_REG_H

#include "kernel/lib/bytes.h"

enum {
	UHCI_CMD = 0x00, /* 2.1.1, 16 bits */
	UHCI_CMD_RS = 0x01,
	UHCI_CMD_HCRESET = 0x02,
	UHCI_CMD_CF = 0x40,   /* "configured": a sign for other software only */
	UHCI_CMD_MAXP = 0x80, /* full-speed packets of 64 bytes fit before the end of a frame */

	UHCI_STS = 0x02,      /* 2.1.2, 16 bits; bits 0 to 4 are cleared by writing 1 */
	UHCI_STS_HSE = 0x08,  /* host system error: the PCI bus failed */
	UHCI_STS_HCPE = 0x10, /* process error: a structure in memory is wrong */
	UHCI_STS_HALTED = 0x20,
	UHCI_STS_CLEAR = 0x1f,

	UHCI_INTR = 0x04,    /* 2.1.3, 16 bits */
	UHCI_FRNUM = 0x06,   /* 2.1.4, 16 bits, of which 11 count */
	UHCI_FRBASE = 0x08,  /* 2.1.5, 32 bits */
	UHCI_SOFMOD = 0x0c,  /* 2.1.6, 8 bits */
	UHCI_SOF_1MS = 0x40, /* frames of 12000 bit times */

	UHCI_PORT = 0x10, /* 2.1.7, 16 bits for each port */
	UHCI_PORT_CCS = 0x0001,
	UHCI_PORT_CSC = 0x0002, /* cleared by writing 1 */
	UHCI_PORT_PED = 0x0004,
	UHCI_PORT_PEDC = 0x0008, /* cleared by writing 1 */
	UHCI_PORT_ONE = 0x0080,  /* always reads as 1: there is a port */
	UHCI_PORT_LOW = 0x0100,
	UHCI_PORT_RESET = 0x0200,
	UHCI_PORT_OCC = 0x0800, /* over-current changed (Intel ICH); cleared by writing 1 */

	UHCI_PORTS_MAX = 7,

	/* PCI configuration space (5.2.1): keyboard emulation of the firmware. 0x8f00 switches all
	 * traps off and clears their status; without 0x2000 there are no interrupts. */
	UHCI_LEGSUP = 0xc0,
	UHCI_LEGSUP_OFF = 0x8f00,

	UHCI_FRAMES = 1024, /* 3.1 */
	UHCI_FRAME_MASK = 0x7ff,
};

/* A link to the next structure (3.1.1, 3.2.1, 3.3). */
enum {
	UHCI_END = 1,   /* there is none */
	UHCI_QUEUE = 2, /* a queue head, else a transfer descriptor */
	UHCI_DEPTH = 4, /* the queue goes on with the next descriptor in the same frame */
};

/* Transfer descriptor (3.2), aligned to 16 bytes. */
struct uhci_td {
	volatile uint32_t link;
	volatile uint32_t status;
	volatile uint32_t token;
	volatile uint32_t buffer;
};

enum {
	UHCI_TD_LENGTH = 0x7ff, /* bytes that moved, less 1; 0x7ff: none */
	UHCI_TD_BABBLE = 1 << 20,
	UHCI_TD_STALLED = 1 << 22, /* also after babble and after the third error */
	UHCI_TD_ACTIVE = 1 << 23,
	UHCI_TD_LOW = 1 << 26,
	UHCI_TD_ERRORS = 3 << 27, /* counts down to 0 */
	UHCI_TD_SHORT = 1 << 29,  /* a short packet stops the queue */

	UHCI_PID_SETUP = 0x2d,
	UHCI_PID_IN = 0x69,
	UHCI_PID_OUT = 0xe1,
	UHCI_TOKEN_TOGGLE = 1 << 19,
};

/* Queue head (3.3), aligned to 16 bytes. */
struct uhci_qh {
	volatile uint32_t link;
	volatile uint32_t element;
	uint32_t unused[2];
};

#endif
