/* Registers and descriptors of Realtek's gigabit cards, as far as the driver uses them, after the
 * data sheet "RTL8169" 1.21 where its descriptors are concerned. All else is what drivers of other
 * systems use; those marked "8168" are in no public data sheet. */
#ifndef DRIVERS_NET_RTL8169_RTL8169_REG_H
#define DRIVERS_NET_RTL8169_RTL8169_REG_H

#include "drivers/net/mii.h"
#include "kernel/lib/bytes.h"

#define R_WINDOW 256u

#define R_IDR          0x00 /* the MAC address; written in words of 32 bits, upper one first */
#define R_MAR          0x08 /* hash of the groups, 8 bytes */
#define R_TALLY        0x10 /* where counters are written to, 64 bits, 64-aligned */
#define TALLY_DUMP     8u
#define R_TNPDS        0x20 /* the transmit ring, 64 bits, 256-aligned */
#define R_CMD          0x37 /* 8 bits */
#define CMD_STOP       0x80 /* 8168: end what is under way */
#define CMD_RST        0x10
#define CMD_RE         0x08
#define CMD_TE         0x04
#define R_TPPOLL       0x38 /* 8 bits */
#define TPPOLL_NORMAL  0x40
#define R_IMR          0x3c /* 16 bits */
#define R_ISR          0x3e /* 16 bits; writing ones clears */
#define INT_ROK        0x0001
#define INT_RER        0x0002
#define INT_TOK        0x0004
#define INT_TER        0x0008
#define INT_NO_ROOM    0x0010
#define INT_LINK       0x0020
#define INT_FIFO       0x0040
#define INT_SYSTEM     0x8000
#define INT_ALL        0xffff
#define R_GONE         0xffff
#define R_TCR          0x40
#define TCR_USUAL      0x03000700u /* gap of the standard; bursts without limit */
#define TCR_AUTO_FIFO  0x80u       /* 8168E-VL and later */
#define TCR_EMPTY      0x800u      /* 8168E-VL and later: nothing is under way */
#define TCR_XID(v)     ((v) >> 20 & 0xfcf)
#define R_RCR          0x44
#define RCR_ALL        1u
#define RCR_OWN        2u
#define RCR_GROUPS     4u
#define RCR_BROADCAST  8u
#define RCR_ACCEPT     0x3fu
#define R_9346         0x50
#define EE_NORMAL      0x00
#define EE_UNLOCK      0xc0
#define R_CONFIG2      0x53
#define CONFIG2_CLKREQ 0x80
#define R_CONFIG3      0x54
#define CONFIG3_WAKE   0x33 /* magic packet, carrier; readiness to sleep, beacon */
#define R_CONFIG5      0x56
#define CONFIG5_WAKE   0x72 /* frames, pin */
#define CONFIG5_ASPM   0x01
#define R_PHYAR        0x60 /* 32 bits */
#define PHYAR_FLAG     (1u << 31)
#define R_PHYSTATUS    0x6c
#define PHY_FULL       0x01
#define PHY_LINK       0x02
#define PHY_10         0x04
#define PHY_100        0x08
#define PHY_1000       0x10
#define R_PMCH         0x6f /* 8168: power of the PHY */
#define R_ERIDR        0x70 /* 8168 */
#define R_ERIAR        0x74
#define ERIAR_READ     0xf000u /* all four bytes */
#define ERIAR_DONE     (1u << 31)
#define ERI_ADDRESS    0xe0u
#define R_OCP          0xb0 /* 8168G and later */
#define R_PHY_OCP      0xb8
#define OCP_WRITE      (1u << 31)
#define OCP_AT(reg)    ((uint32_t)(reg) << 15)
#define OCP_PHY        0xa400u
#define OCP_SHARE      0xe8deu /* the FIFO that is shared with the management processor */
#define SHARE_ON       0x4000u
#define SHARE_REDO     0x8000u
#define R_MCU          0xd3 /* 8168G and later, 8 bits */
#define MCU_OOB        0x80 /* the management processor has the receiver */
#define MCU_READY      0x02
#define R_RMS          0xda   /* 16 bits: longest frame */
#define RMS_ALL        0x3fff /* lower values misbehave: the driver checks what it gets */
#define R_CPCR         0xe0   /* 16 bits */
#define CPCR_KEEP      0x2003
#define CPCR_MULRW     0x0008 /* 8169 */
#define CPCR_OLD       0x4000 /* the first two of them */
#define R_MITIGATE     0xe2   /* 16 bits: delays of interrupts */
#define R_RDSAR        0xe4   /* the receive ring, 64 bits, 256-aligned */
#define R_EARLY        0xec   /* 8169: when to start sending; 8168: longest frame to send */
#define EARLY_USUAL    0x3f
#define EARLY_VL       0x27
#define R_MISC         0xf0 /* 8168G and later */
#define MISC_GATE      (1u << 19)

#define PCI_STATUS 6
#define PCIE_CAP   0x10
#define PCIE_LINK  0x10
#define PCIE_ASPM  0x0103 /* states that save power; the clock on request */

/* The counters of a dump. */
#define TALLY_BYTES  64u
#define TALLY_MISSED 28u /* 16 bits */

struct r_desc {
	uint32_t state, vlan, addr, addr_high;
};
#define D_OWN   (1u << 31)
#define D_LAST  (1u << 30) /* of the ring */
#define D_FIRST (1u << 29) /* the first and the last one of a frame */
#define D_END   (1u << 28)
#define D_ERROR (15u << 19) /* too long, summary, runt, CRC */
#define D_LEN   0x3fffu
#define FCS     4u

_Static_assert(sizeof(struct r_desc) == 16, "descriptor");

#endif
