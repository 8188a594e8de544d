/* Registers and data structures of EHCI controllers, as far as the driver uses them. Sections are
 * those of the "Enhanced Host Controller Interface Specification for Universal Serial Bus",
 * revision 1.0. */
#ifndef DRIVERS_USB_EHCI_EHCI_REG_H
#define DRIVERS_USB_EHCI_EHCI_REG_H

#include "kernel/lib/bytes.h"

/* --- capability registers (2.2) ------------------------------------------------- */
#define EHCI_CAPLENGTH 0x00 /* byte: offset of the operational registers */
#define CAPLENGTH_MIN  0x10u
#define EHCI_HCSPARAMS 0x04
#define HCS_PORTS(v)   ((v)&15)
#define HCS_PPC        (1u << 4)        /* software switches the power of the ports */
#define HCS_CC(v)      ((v) >> 12 & 15) /* companion controllers */
#define EHCI_HCCPARAMS 0x08
#define HCC_64BIT      (1u << 0)
#define HCC_EECP(v)    ((v) >> 8 & 0xff) /* offset in PCI configuration space */

/* --- operational registers (2.3) ------------------------------------------------ */
#define EHCI_USBCMD           0x00
#define CMD_RS                (1u << 0)
#define CMD_HCRESET           (1u << 1)
#define CMD_PSE               (1u << 4) /* periodic schedule enable */
#define CMD_ASE               (1u << 5) /* asynchronous schedule enable */
#define CMD_IAAD              (1u << 6) /* doorbell: interrupt on async advance */
#define CMD_ITC               (8u << 16)
#define EHCI_USBSTS           0x04
#define STS_CHANGES           0x3fu /* cleared by writing ones */
#define STS_HSE               (1u << 4)
#define STS_IAA               (1u << 5)
#define STS_HALTED            (1u << 12)
#define STS_PSS               (1u << 14)
#define STS_ASS               (1u << 15)
#define EHCI_USBINTR          0x08
#define EHCI_FRINDEX          0x0c
#define EHCI_CTRLDSSEGMENT    0x10
#define EHCI_PERIODICLISTBASE 0x14
#define EHCI_ASYNCLISTADDR    0x18
#define EHCI_CONFIGFLAG       0x40
#define EHCI_PORTSC(port)     (0x40u + 4u * (port)) /* ports count from 1 */

#define PORT_CCS     (1u << 0)
#define PORT_CSC     (1u << 1)
#define PORT_PED     (1u << 2)
#define PORT_PEDC    (1u << 3)
#define PORT_OCA     (1u << 4)
#define PORT_OCC     (1u << 5)
#define PORT_PR      (1u << 8)
#define PORT_LINE    (3u << 10) /* while connected and not enabled */
#define PORT_LINE_K  (1u << 10)
#define PORT_PP      (1u << 12)
#define PORT_OWNER   (1u << 13)
#define PORT_CHANGES (PORT_CSC | PORT_PEDC | PORT_OCC) /* cleared by writing ones */

#define EHCI_GONE 0xffffffffu /* what a controller that is no longer there reads as */

/* --- legacy support, in PCI configuration space (2.1.7, 2.1.8, 5.1) --------------- */
#define LEG_ID      1u /* capability ID, byte 0; byte 1 is the next offset */
#define LEG_BIOS    2u /* byte: bit 0: the firmware owns the controller */
#define LEG_OS      3u /* byte: bit 0: the operating system owns it */
#define LEG_CTLSTS  4u /* which events cause an SMI */
#define LEG_IS_BIOS (1u << 16)

/* --- data structures (3, appendix B) ----------------------------------------------- */
#define EHCI_FRAMES 1024u

#define LINK_END 1u
#define LINK_QH  (1u << 1)

#define TOKEN_PING     (1u << 0)
#define TOKEN_MISSED   (1u << 2) /* missed micro-frame */
#define TOKEN_BABBLE   (1u << 4)
#define TOKEN_HALTED   (1u << 6)
#define TOKEN_ACTIVE   (1u << 7)
#define TOKEN_OUT      (0u << 8)
#define TOKEN_IN       (1u << 8)
#define TOKEN_SETUP    (2u << 8)
#define TOKEN_TRIES    (3u << 10) /* CERR */
#define TOKEN_BYTES(n) ((uint32_t)(n) << 16)
#define TOKEN_LEFT(v)  ((v) >> 16 & 0x7fff)
#define TOKEN_TOGGLE   (1u << 31)

/* What a transfer descriptor and the overlay of a queue head have in common (3.5, B.2). The upper
 * halves of the addresses exist only in controllers with 64-bit addresses; others ignore them. */
struct ehci_work {
	uint32_t next, alt, token;
	uint32_t page[5], page_high[5];
};

/* Transfer descriptor; 32-byte alignment, and it must not cross a page. */
struct ehci_qtd {
	struct ehci_work work;
	uint32_t unused[3];
};

/* Queue head (3.6, B.3). */
struct ehci_qh {
	uint32_t link;
	uint32_t ends;    /* endpoint characteristics */
	uint32_t splits;  /* endpoint capabilities */
	uint32_t current; /* transfer descriptor */
	struct ehci_work work;
	uint32_t unused[7];
};

_Static_assert(sizeof(struct ehci_qtd) == 64 && sizeof(struct ehci_qh) == 96, "B.2, B.3");

#define ENDS_NUMBER(n) ((uint32_t)(n) << 8)
#define ENDS_FULL      (0u << 12)
#define ENDS_LOW       (1u << 12)
#define ENDS_HIGH      (2u << 12)
#define ENDS_DTC       (1u << 14) /* the toggle comes from the transfer descriptor */
#define ENDS_HEAD      (1u << 15)
#define ENDS_SIZE(n)   ((uint32_t)(n) << 16)
#define ENDS_CONTROL   (1u << 27) /* a control endpoint that is not high-speed */
#define ENDS_NAKS      (4u << 28) /* RL: NAKs until the controller waits a while */

#define SPLITS_START(m)    ((uint32_t)(m) << 0)
#define SPLITS_COMPLETE(m) ((uint32_t)(m) << 8)
#define SPLITS_HUB(a)      ((uint32_t)(a) << 16)
#define SPLITS_PORT(p)     ((uint32_t)(p) << 23)
#define SPLITS_MULT        (1u << 30) /* one transaction a micro-frame */

#endif
