/* Registers and descriptors of Intel's 82575 to I211, as far as the driver uses them. Sections are
 * those of the "Intel Ethernet Controller I210 Datasheet", 333016; the numbers were not compared
 * with the document. Queue 0 has the same addresses in all chips. */
#ifndef DRIVERS_NET_IGB_IGB_REG_H
#define DRIVERS_NET_IGB_IGB_REG_H

#include "drivers/net/mii.h"
#include "kernel/lib/bytes.h"

#define IGB_WINDOW     0x8000u
#define IGB_CTRL       0x0000 /* 8.2.1 */
#define CTRL_NO_MASTER 0x4u
#define CTRL_UP        0x40u
#define CTRL_RESET     (1u << 26)
#define IGB_STATUS     0x0008 /* 8.2.2 */
#define STATUS_FULL    0x1u
#define STATUS_LINK    0x2u
#define STATUS_SPEED   0xc0u
#define STATUS_100     0x40u
#define STATUS_MASTER  (1u << 19)
#define IGB_GONE       0xffffffffu
#define IGB_CTRL_EXT   0x0018     /* 8.2.3 */
#define EXT_MODE       (3u << 22) /* 0: copper */
#define EXT_DRIVER     (1u << 28) /* a driver runs: the management processor leaves the card to it */
#define IGB_MDIC       0x0020     /* 8.2.4 */
#define MDIC_REG(n)    ((uint32_t)(n) << 16 | 1u << 21)
#define MDIC_WRITE     (1u << 26)
#define MDIC_READ      (2u << 26)
#define MDIC_READY     (1u << 28)
#define MDIC_ERROR     (1u << 30)
#define IGB_ICR        0x00c0 /* 8.8.9: reading clears */
#define IGB_IMS        0x00d0
#define IGB_IMC        0x00d8
#define INT_SENT       0x1u
#define INT_LINK       0x4u
#define INT_RECEIVED   0x80u
#define INT_ALL        0xffffffffu
#define IGB_RCTL       0x0100 /* 8.9.1 */
#define RCTL_ON        0x2u
#define RCTL_PROMISC   0x8u
#define RCTL_GROUPS    0x10u
#define RCTL_BROADCAST 0x8000u
#define RCTL_NO_FCS    (1u << 26)
#define IGB_TCTL       0x0400 /* 8.11.1 */
#define TCTL_USUAL     0xf8u  /* padding by the card, 15 collisions */
#define TCTL_ON        0x2u
#define IGB_EIMC       0x1528
#define IGB_IVAR       0x1700  /* 8.8.15 */
#define IVAR_QUEUE_0   0x8180u /* receive: cause 0, transmit: cause 1 */
#define IGB_MISSED     0x4010  /* 8.18.4: reading clears */
#define IGB_MTA        0x5200
#define MTA_WORDS      128u
#define IGB_RAL        0x5400
#define IGB_RAH        0x5404
#define IGB_WUC        0x5800
#define IGB_WUFC       0x5808 /* the frames that wake the machine */
#define IGB_MRQC       0x5818

/* A queue (8.9.5, 8.11.10). */
#define IGB_RX       0x2800
#define IGB_TX       0x3800
#define Q_BASE       0x00
#define Q_BASE_HIGH  0x04
#define Q_BYTES      0x08
#define Q_SRRCTL     0x0c            /* receive */
#define SRRCTL_USUAL (1u << 25 | 2u) /* advanced descriptors with one buffer, of 2 KB */
#define Q_HEAD       0x10
#define Q_TAIL       0x18
#define Q_CONTROL    0x28
#define QUEUE_ON     (1u << 25)
#define QUEUE_USUAL  (1u << 16 | 8u << 8 | 8u) /* write back each; when to fetch */

#define PCIE_CAP  0x10
#define PCIE_LINK 0x10
#define PCIE_ASPM 0x0003

/* Advanced descriptors (7.1.4, 7.2.2.3). To receive: address, then zeros; the card writes status
 * and length over the upper half. To send: address, command, length. */
struct igb_desc {
	uint32_t addr, addr_high, a, b;
};
#define RX_DONE    0x1u /* in a */
#define RX_END     0x2u
#define RX_BAD     (1u << 31)
#define RX_LEN     0xffffu     /* in b */
#define TX_COMMAND 0x2b300000u /* in a: data, one piece, FCS, report, extended */
#define TX_LEN(n)  ((n) << 14) /* in b */
#define TX_DONE    0x1u        /* in b */

_Static_assert(sizeof(struct igb_desc) == 16, "descriptor");

#endif
