/* Registers and structures of the Open Host Controller Interface (OHCI) Specification for USB,
 * release 1.0a. Section numbers are of that document. All registers have 32 bits. */
#ifndef DRIVERS_USB_OHCI_OHCI_REG_H
#define DRIVERS_USB_OHCI_OHCI_REG_H

#include "kernel/lib/bytes.h"

enum {
	OHCI_REVISION = 0x00,
	OHCI_REVISION_LEGACY = 0x100, /* there is OHCI_HCE_CONTROL (B.1) */

	OHCI_CONTROL = 0x04, /* 7.1.2 */
	OHCI_CONTROL_CBSR = 3,
	OHCI_CONTROL_LISTS = 0x34, /* periodic, control, bulk; isochronous stays off */
	OHCI_CONTROL_HCFS = 0xc0,
	OHCI_CONTROL_RESET = 0x00,
	OHCI_CONTROL_OPERATIONAL = 0x80,
	OHCI_CONTROL_IR = 0x100,  /* interrupts go to the firmware: it owns the controller */
	OHCI_CONTROL_RWC = 0x200, /* remote wake-up is connected; set by firmware alone */

	OHCI_COMMAND = 0x08, /* 7.1.3 */
	OHCI_COMMAND_HCR = 1,
	OHCI_COMMAND_CLF = 2,
	OHCI_COMMAND_BLF = 4,
	OHCI_COMMAND_OCR = 8,

	OHCI_STATUS = 0x0c, /* 7.1.4; cleared by writing 1 */
	OHCI_STATUS_WDH = 0x02,
	OHCI_STATUS_UE = 0x10,

	OHCI_ENABLE = 0x10,
	OHCI_ENABLE_OC = 0x40000000,
	OHCI_DISABLE = 0x14,

	OHCI_HCCA = 0x18,
	OHCI_CONTROL_HEAD = 0x20,
	OHCI_CONTROL_CURRENT = 0x24,
	OHCI_BULK_HEAD = 0x28,
	OHCI_BULK_CURRENT = 0x2c,

	OHCI_FM_INTERVAL = 0x34, /* 7.3.1 */
	OHCI_FM_FI = 0x3fff,
	OHCI_FM_FI_DEFAULT = 0x2edf,
	OHCI_PERIODIC_START = 0x40,

	OHCI_RH_A = 0x48, /* 7.4.1 */
	OHCI_RH_STATUS = 0x50,
	OHCI_RH_POWER_ON = 0x10000, /* SetGlobalPower */
	OHCI_PORT = 0x54,           /* 7.4.4; one for each port */
	OHCI_PORTS_MAX = 15,

	OHCI_HCE_CONTROL = 0x100, /* B.2: keyboard emulation */

	OHCI_BYTES = 0x100, /* registers without those of the emulation */
};

/* A port's register: what a read gives ... */
enum {
	OHCI_PORT_CCS = 0x01,
	OHCI_PORT_PES = 0x02,
	OHCI_PORT_PRS = 0x10,
	OHCI_PORT_LSDA = 0x200,
	OHCI_PORT_CSC = 0x10000, /* cleared by writing 1, as the next */
	OHCI_PORT_PRSC = 0x100000,
	OHCI_PORT_CHANGES = 0x0f0000, /* all changes but PRSC */
};

/* ... and what a write of 1 does. */
enum {
	OHCI_PORT_DISABLE = 0x01,
	OHCI_PORT_RESET = 0x10,
	OHCI_PORT_POWER = 0x100,
};

/* The communications area (4.4), aligned to 256 bytes. */
struct ohci_hcca {
	uint32_t table[32]; /* first endpoint of the periodic list in each of 32 frames */
	volatile uint16_t frame;
	uint16_t zero;
	volatile uint32_t done; /* last descriptor that was done; bit 0: other interrupts */
	uint8_t reserved[120];
};

/* Endpoint descriptor (4.2), aligned to 16 bytes. */
struct ohci_ed {
	volatile uint32_t control;
	volatile uint32_t tail;
	volatile uint32_t head;
	volatile uint32_t next;
};

enum {
	OHCI_ED_OUT = 1 << 11,
	OHCI_ED_IN = 2 << 11,
	OHCI_ED_LOW = 1 << 13,
	OHCI_ED_SKIP = 1 << 14,
	/* in `head` */
	OHCI_ED_HALTED = 1,
	OHCI_ED_CARRY = 2, /* data toggle */
};

/* General transfer descriptor (4.3.1), aligned to 16 bytes. */
struct ohci_td {
	volatile uint32_t control;
	volatile uint32_t buffer; /* next byte to move; 0: all moved, or none */
	volatile uint32_t next;
	volatile uint32_t end; /* last byte */
};

enum {
	OHCI_TD_ROUND = 1 << 18, /* a short packet is no error */
	OHCI_TD_SETUP = 0 << 19,
	OHCI_TD_OUT = 1 << 19,
	OHCI_TD_IN = 2 << 19,
	OHCI_TD_TOGGLE = 1 << 24,
	OHCI_TD_OWN_TOGGLE = 2 << 24, /* OHCI_TD_TOGGLE counts, not that of the endpoint */
	OHCI_TD_CC = 28,              /* position of the condition code (4.3.3) */
	OHCI_CC_STALL = 4,
};
#define OHCI_TD_NEW 0xf0000000u /* condition code of a descriptor that was not accessed */

#endif
