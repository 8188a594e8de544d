/* Registers, TRBs and contexts of xHCI controllers, as far as the driver uses them. Sections are
 * those of the "eXtensible Host Controller Interface for Universal Serial Bus", revision 1.2. */
#ifndef DRIVERS_USB_XHCI_XHCI_REG_H
#define DRIVERS_USB_XHCI_XHCI_REG_H

#include "kernel/lib/bytes.h"

#define XHCI_GONE 0xffffffffu /* what a controller that is no longer on the bus reads as */

/* --- capability registers (5.3) ------------------------------------------------------ */
#define XHCI_CAPLENGTH  0x00 /* lowest byte: offset of the operational registers */
#define XHCI_HCSPARAMS1 0x04
#define HCS1_SLOTS(v)   ((v)&0xff)
#define HCS1_PORTS(v)   ((v) >> 24)
#define XHCI_HCSPARAMS2 0x08
#define HCS2_PADS(v)    (((v) >> 21 & 31) << 5 | (v) >> 27) /* scratchpad pages */
#define XHCI_HCCPARAMS1 0x10
#define HCC1_CSZ        (1u << 2) /* contexts of 64 bytes */
#define HCC1_PPC        (1u << 3) /* the ports' power is switched */
#define HCC1_XECP(v)    ((v) >> 16)
#define XHCI_DBOFF      0x14
#define XHCI_RTSOFF     0x18

/* --- operational registers (5.4), from CAPLENGTH --------------------------------------- */
#define XHCI_USBCMD   0x00
#define CMD_RUN       (1u << 0)
#define CMD_RESET     (1u << 1)
#define XHCI_USBSTS   0x04
#define STS_HALTED    (1u << 0)
#define STS_HSE       (1u << 2)  /* host system error */
#define STS_NOT_READY (1u << 11) /* CNR: registers must not be written */
#define STS_HCE       (1u << 12) /* host controller error */
#define XHCI_PAGESIZE 0x08
#define XHCI_DNCTRL   0x14
#define XHCI_CRCR     0x18
#define CRCR_CYCLE    (1u << 0)
#define CRCR_ABORT    (1u << 2)
#define CRCR_RUNNING  (1u << 3)
#define XHCI_DCBAAP   0x30
#define XHCI_CONFIG   0x38
#define XHCI_PORTSC   0x400 /* of port 1; each further one 16 bytes on */

/* PORTSC (5.4.8). PED and the change bits are cleared by writing ones. */
#define PORT_CCS       (1u << 0) /* connected */
#define PORT_PED       (1u << 1) /* enabled */
#define PORT_OCA       (1u << 3) /* over-current */
#define PORT_PR        (1u << 4) /* reset */
#define PORT_PLS(v)    ((v) >> 5 & 15)
#define PLS_INACTIVE   6u
#define PLS_COMPLIANCE 10u
#define PORT_PP        (1u << 9)
#define PORT_SPEED(v)  ((v) >> 10 & 15)
#define PORT_CSC       (1u << 17)
#define PORT_WRC       (1u << 19) /* the warm reset is complete */
#define PORT_PRC       (1u << 21) /* the reset is complete */
#define PORT_CHANGES   (0x7fu << 17)
#define PORT_CAS       (1u << 24) /* something is there, and a warm reset must wake it */
#define PORT_WPR       (1u << 31) /* warm reset */
/* What a write must repeat: power, indicators, wake-up. */
#define PORT_KEEP (PORT_PP | 3u << 14 | 7u << 25)

/* --- runtime registers (5.5), interrupter 0, from RTSOFF ---------------------------------- */
#define XHCI_IMAN   0x20
#define IMAN_IP     1u /* cleared by writing one */
#define XHCI_ERSTSZ 0x28
#define XHCI_ERSTBA 0x30
#define XHCI_ERDP   0x38
#define ERDP_EHB    (1u << 3) /* cleared by writing one */

/* --- extended capabilities (7) ------------------------------------------------------------- */
#define XECP_ID(v)      ((v)&0xff)
#define XECP_NEXT(v)    ((v) >> 8 & 0xff) /* dwords on from here; 0: the last one */
#define XECP_LEGACY     1
#define LEGACY_FIRMWARE (1u << 16)
#define LEGACY_OS       (1u << 24)
#define LEGACY_CONTROL  4
#define LEGACY_SMI      (1u << 0 | 1u << 4 | 7u << 13) /* enables of SMI */
#define LEGACY_EVENTS   (7u << 29)                     /* cleared by writing ones */
#define XECP_PROTOCOL   2
#define PROTOCOL_USB    0x20425355u /* "USB " */

/* --- TRBs (6.4) ------------------------------------------------------------------------------ */
struct xhci_trb {
	uint32_t ptr, ptr_high, status, control;
};
#define TRB_CYCLE      (1u << 0)
#define TRB_TOGGLE     (1u << 1) /* of a link: the cycle bit of the ring changes */
#define TRB_ISP        (1u << 2) /* event on a short packet */
#define TRB_CHAIN      (1u << 4)
#define TRB_IOC        (1u << 5)
#define TRB_IDT        (1u << 6) /* the data are in the TRB itself */
#define TRB_BSR        (1u << 9) /* Address Device: without SET_ADDRESS */
#define TRB_IN         (1u << 16)
#define TRB_TYPE(n)    ((uint32_t)(n) << 10)
#define TRB_DCI(n)     ((uint32_t)(n) << 16)
#define TRB_SLOT(n)    ((uint32_t)(n) << 24)
#define TRB_ED         (1u << 2) /* of a transfer event: its pointer is no address */
#define TRB_TYPE_OF(c) ((c) >> 10 & 63)
#define TRB_DCI_OF(c)  ((c) >> 16 & 31)
#define TRB_SLOT_OF(c) ((c) >> 24)
#define TRB_CC(s)      ((s) >> 24)
#define TRB_LEFT(s)    ((s)&0xffffff) /* bytes that were not moved */

enum { /* table 6-91 */
       TRB_NORMAL = 1,
       TRB_SETUP = 2,
       TRB_DATA = 3,
       TRB_STATUS = 4,
       TRB_LINK = 6,
       TRB_ENABLE_SLOT = 9,
       TRB_DISABLE_SLOT = 10,
       TRB_ADDRESS = 11,
       TRB_CONFIGURE = 12,
       TRB_EVALUATE = 13,
       TRB_RESET_EP = 14,
       TRB_STOP_EP = 15,
       TRB_SET_DEQUEUE = 16,
       TRB_EV_TRANSFER = 32,
       TRB_EV_COMMAND = 33,
       TRB_EV_PORT = 34,
       TRB_EV_MOST = 39,
};

enum { /* completion codes, table 6-90 */
       CC_SUCCESS = 1,
       CC_BABBLE = 3,
       CC_TRANSACTION = 4,
       CC_TRB = 5,
       CC_STALL = 6,
       CC_NO_SLOT = 11,
       CC_SHORT = 13,
       CC_UNDERRUN = 14,
       CC_OVERRUN = 15,
       CC_STATE = 19, /* the context does not allow this command */
       CC_RING_STOPPED = 24,
       CC_ABORTED = 25,
       CC_STOPPED = 26,
       CC_STOPPED_EMPTY = 27, /* the length is invalid */
       CC_STOPPED_SHORT = 28,
       CC_SPLIT = 36,
};

/* --- contexts (6.2) -----------------------------------------------------------------------------
 */
/* Device context: slot, then endpoints by their index (DCI): 1 for endpoint 0, then 2 n for OUT and
 * 2 n + 1 for IN. Input context: control, then the same. Words of the slot context: */
#define SLOT_SPEED(n)   ((uint32_t)(n) << 20)
#define SLOT_MTT        (1u << 25)
#define SLOT_HUB        (1u << 26)
#define SLOT_ENTRIES(n) ((uint32_t)(n) << 27)
#define SLOT_ROOT(n)    ((uint32_t)(n) << 16)
#define SLOT_PORTS(n)   ((uint32_t)(n) << 24)
#define SLOT_TTT(n)     ((uint32_t)(n) << 16)
/* Words of an endpoint context: */
#define EP_STATE(v)    ((v)&7)
#define EP_INTERVAL(n) ((uint32_t)(n) << 16)
#define EP_CERR        (3u << 1)
#define EP_TYPE(n)     ((uint32_t)(n) << 3)
#define EP_BURST(n)    ((uint32_t)(n) << 8)
#define EP_PACKET(n)   ((uint32_t)(n) << 16)

enum { EP_DISABLED, EP_RUNNING, EP_HALTED, EP_STOPPED, EP_ERROR };
enum { EP_BULK_OUT = 2, EP_INTERRUPT_OUT = 3, EP_CONTROL = 4, EP_BULK_IN = 6, EP_INTERRUPT_IN = 7 };

_Static_assert(sizeof(struct xhci_trb) == 16, "TRB");

#endif
