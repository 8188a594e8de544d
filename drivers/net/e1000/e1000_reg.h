/* Registers and descriptors of the Intel 8254x Gigabit Ethernet controllers, as far as the
 * driver uses them. Sections are those of the "PCI/PCI-X Family of Gigabit Ethernet
 * Controllers Software Developer's Manual", 317453, revision 4.0. */
#ifndef DRIVERS_NET_E1000_E1000_REG_H
#define DRIVERS_NET_E1000_E1000_REG_H

#include "kernel/lib/bytes.h"

#define E1000_WINDOW 0x20000u /* bytes of the register window at base address 0 (13.2.1) */

/* I/O ports (13.2.2): the address of a register, and the register. */
#define E1000_IOADDR 0u
#define E1000_IODATA 4u
#define E1000_PORTS  8u /* bytes */

/* --- device control (13.4.1) and status (13.4.2) ------------------------------ */
#define E1000_CTRL      0x0000
#define CTRL_ASDE       (1u << 5)  /* detect the speed from the receive clock */
#define CTRL_SLU        (1u << 6)  /* set link up: use the PHY's view of the link */
#define CTRL_ILOS       (1u << 7)  /* invert the loss-of-signal input */
#define CTRL_FRCSPD     (1u << 11) /* force the speed; CTRL_FRCDPLX: force the duplex mode */
#define CTRL_FRCDPLX    (1u << 12)
#define CTRL_RST        (1u << 26) /* global reset, clears itself */
#define CTRL_RFCE       (1u << 27) /* obey PAUSE frames; CTRL_TFCE: send them */
#define CTRL_TFCE       (1u << 28)
#define CTRL_VME        (1u << 30) /* strip VLAN tags */
#define CTRL_PHY_RST    (1u << 31)
#define E1000_CTRL_DUP  0x0004      /* copy of CTRL, 82545GM and 82546GB */
#define E1000_GONE      0xffffffffu /* what a card that is no longer on the bus reads as */
#define E1000_STATUS    0x0008
#define STATUS_FD       (1u << 0)
#define STATUS_LU       (1u << 1)
#define STATUS_LAN_B    (1u << 2)      /* second interface of an 82546 */
#define STATUS_SPEED(v) ((v) >> 6 & 3) /* 0: 10, 1: 100, 2 and 3: 1000 Mbit/s */
#define STATUS_PCIX     (1u << 13)     /* the card is in a PCI-X slot */
#define E1000_CTRL_EXT  0x0018         /* 13.4.6 */
#define CTRL_EXT_RO_DIS (1u << 17)     /* no relaxed ordering on PCI-X */

/* --- EEPROM (5.3.1, 13.4.3, 13.4.4) -------------------------------------------- */
#define E1000_EECD 0x0010
#define EECD_SK    (1u << 0) /* clock */
#define EECD_CS    (1u << 1) /* chip select */
#define EECD_DI    (1u << 2) /* to the EEPROM */
#define EECD_DO    (1u << 3) /* from the EEPROM */
#define E1000_EERD 0x0014
#define EERD_START (1u << 0)
/* The 82541, 82547 and 82574 have the done bit and the address at other positions. */
#define EERD_DONE          (1u << 4)
#define EERD_ADDR_SHIFT    8
#define EERD_DONE_41       (1u << 1)
#define EERD_ADDR_SHIFT_41 2
#define EEPROM_WORDS       0x40
#define EEPROM_SUM         0xbaba /* of all words (5.6.35) */

/* --- PHY (13.4.7) ---------------------------------------------------------------- */
#define E1000_MDIC     0x0020
#define MDIC_REG_SHIFT 16
#define MDIC_PHY       (1u << 21) /* the internal PHY is number 1 */
#define MDIC_WRITE     (1u << 26)
#define MDIC_READ      (2u << 26)
#define MDIC_READY     (1u << 28)
#define MDIC_ERROR     (1u << 30)
/* PHY registers (IEEE 802.3 clauses 22, 28, 40). */
#define PHY_CONTROL      0
#define PHY_CONTROL_AN   0x1000 /* auto-negotiation enabled */
#define PHY_CONTROL_RST  0x8000
#define PHY_CONTROL_OFF  0x4c00 /* loopback, power down, isolate */
#define PHY_CONTROL_REDO 0x0200 /* start auto-negotiation again */
#define PHY_OFFER        4
#define PHY_OFFER_ALL    0x01e0 /* 10 and 100 Mbit/s, half and full duplex */
#define PHY_OFFER_1000   9
#define PHY_OFFER_1000FD 0x0200
#define PHY_STATUS_1000  10
#define PHY_IDLE_ERRORS  0x00ff
/* PHY of all chips but the 82541 and the 82547 (Marvell 88E1000). */
#define PHY_M88       16
#define PHY_M88_CRS   0x0800 /* report the carrier of sent frames too */
#define PHY_RX_ERRORS 21     /* of the 82574 */
/* PHY of the 82541GI and 82547GI. */
#define PHY_FIFO      20
#define PHY_FIFO_FLEX 0x0010 /* flexible speed: the carrier comes up with the lowest one */
/* PHY of the 82571 and 82572. */
#define PHY_IGP_POWER     25
#define PHY_IGP_PAGE      31 /* of the registers above 15, in its upper bits */
#define PHY_IGP_LOW_SPEED 0x0002

/* --- flow control (13.4.8 to 13.4.12), VLAN type ---------------------------------- */
#define E1000_FCAL 0x0028
#define E1000_FCAH 0x002c
#define E1000_FCT  0x0030

/* --- interrupts (13.4.17, 13.4.20, 13.4.21) --------------------------------------- */
#define E1000_ICR  0x00c0 /* a read clears all causes */
#define E1000_IMS  0x00d0
#define E1000_IMC  0x00d8
#define INT_TXDW   (1u << 0) /* a descriptor with RS was written back */
#define INT_LSC    (1u << 2) /* the carrier changed */
#define INT_RXDMT0 (1u << 4) /* few receive descriptors left */
#define INT_RXO    (1u << 6) /* the ring overran: a frame was lost */
#define INT_RXT0   (1u << 7) /* a frame was received */

/* --- receive (13.4.22, 13.4.25 to 13.4.31) ----------------------------------------- */
#define E1000_RCTL   0x0100
#define RCTL_EN      (1u << 1)
#define RCTL_UPE     (1u << 3)  /* all unicast */
#define RCTL_MPE     (1u << 4)  /* all multicast */
#define RCTL_BAM     (1u << 15) /* broadcast; BSIZE 0 = 2048 bytes */
#define RCTL_SECRC   (1u << 26) /* without FCS */
#define E1000_RDBAL  0x2800
#define E1000_RDBAH  0x2804
#define E1000_RDLEN  0x2808
#define E1000_RDH    0x2810
#define E1000_RDT    0x2818
#define E1000_RDTR   0x2820
#define E1000_RXDCTL 0x2828                /* 13.4.46 */
#define RXDCTL_EACH  (1u << 24 | 1u << 16) /* write back after each descriptor */
#define E1000_RXCSUM 0x5000
#define E1000_MTA    0x5200 /* 13.5.1: 128 words, not reset by hardware */
#define MTA_WORDS    128
#define E1000_RAL    0x5400 /* 13.5.2, 13.5.3: 16 pairs */
#define E1000_RAH    0x5404
#define RAH_VALID    (1u << 31)
#define RA_PAIRS     16

/* --- PCI-X capability (PCI-X Addendum 1.0, 7.2) ------------------------------------------ */
#define PCIX_CAP         7
#define PCIX_COMMAND     2 /* bits 3:2: longest read, 512 bytes << n; same code in status */
#define PCIX_STATUS      4
#define PCIX_READ(v)     ((v) >> 2 & 3)
#define PCIX_READ_MAX(v) ((v) >> 21 & 3) /* the most that the card is designed for */
#define PCIX_READ_2048   2

/* --- 82574: sections of its own data sheet ------------------------------------------------- */
#define PCIE_CAP       0x10
#define PCIE_LINK      0x10      /* offset of Link Control */
#define PCIE_ASPM      0x0003    /* states that save power */
#define CTRL_NO_MASTER (1u << 2) /* begin no transfers, 10.2.2.1 */
#define CTRL_GATE      (1u << 29)
#define STATUS_MASTER  (1u << 19) /* transfers may be under way */
#define CTRL_EXT_SDP   (1u << 23)
#define CTRL_EXT_SET   (1u << 22)
#define EECD_AUTO_DONE (1u << 9) /* the EEPROM was loaded */
#define E1000_EXTCNF   0x0f00
#define EXTCNF_OWNER   (1u << 5) /* software owns the PHY */
#define E1000_TXDCTL   0x3828
#define TXDCTL_SET     (1u << 22)
#define E1000_TARC0    0x3840
#define TARC_PRIORITY  (15u << 27)
#define TARC_ERRATUM   (1u << 26)
#define E1000_GCR      0x5b00
#define GCR_L1_WAIT    (1u << 22)
#define E1000_GCR2     0x5b64
#define GCR2_ERRATUM   (1u << 0)

/* --- 82571 to 82573: as drivers of other systems know them ------------------------------------ */
#define E1000_SWSM        0x5b50
#define SWSM_INTERFACE    (1u << 0) /* a read sets it: who reads it clear has it … */
#define SWSM_FIRMWARE     (1u << 1) /* … and owns the PHY once this one stays set too */
#define E1000_SWSM2       0x5b58
#define SWSM2_LOCK        (1u << 1) /* a driver of the chip's other interface has begun */
#define E1000_EEMNGCTL    0x1010
#define EEMNGCTL_DONE     (1u << 18) /* the firmware has configured the PHY */
#define EECD_REQUEST      (1u << 6)
#define EECD_GRANT        (1u << 7)
#define EECD_FLASH        (3u << 15) /* of an 82573: both set, the settings are in a flash memory */
#define EECD_UPDATE       (1u << 20)
#define CTRL_EXT_RELOAD   (1u << 13)
#define CTRL_EXT_DMA_GATE (1u << 19)
#define E1000_TXDCTL1     0x3928
#define TARC0_82571       (15u << 23)
#define E1000_TARC1       0x3940
#define TARC1_82571_OFF   (3u << 29)
#define TARC1_82571       (1u << 22 | 7u << 24 | 1u << 28) /* 28: without TCTL.MULR */
#define E1000_RFCTL       0x5008
#define RFCTL_NO_IP6_EXT  (3u << 16)
#define E1000_PBA_ECC     0x1100
#define PBA_ECC_CORRECT   (1u << 0)
#define GCR_L1_ALONE      (1u << 27)

/* --- wake-up (13.6) -------------------------------------------------------------------- */
#define E1000_WUC      0x5800
#define WUC_PME_STATUS (1u << 2) /* writing one clears it */
#define E1000_WUFC     0x5808
#define E1000_WUS      0x5810 /* writing ones clears */

/* --- manageability (3.2.1): may keep ARP requests from the host ----------------------- */
#define E1000_MANC  0x5820
#define MANC_ARP_EN (1u << 13)

/* --- transmit (13.4.33, 13.4.34, 13.4.36 to 13.4.41) --------------------------------- */
#define E1000_TCTL     0x0400
#define TCTL_EN        (1u << 1)
#define TCTL_CT        (0x0fu << 4)  /* 16 attempts */
#define TCTL_COLD      (0x40u << 12) /* 64 byte times: full duplex, and 10/100 half */
#define E1000_TIPG     0x0410
#define TIPG_COPPER    (10u | 8u << 10 | 6u << 20) /* values of table 13-77 */
#define TIPG_COPPER_44 (8u | 8u << 10 | 6u << 20)
#define E1000_TDBAL    0x3800
#define E1000_TDBAH    0x3804
#define E1000_TDLEN    0x3808
#define E1000_TDH      0x3810
#define E1000_TDT      0x3818
#define E1000_TIDV     0x3820

/* --- statistics (13.7): 32 bits, a read clears, not reset by hardware ------------------ */
#define E1000_CRCERRS  0x4000
#define E1000_ALGNERRC 0x4004
#define E1000_RXERRC   0x400c
#define E1000_MPC      0x4010
#define E1000_ECOL     0x4018
#define E1000_LATECOL  0x4020
#define E1000_RLEC     0x4040

/* --- descriptors -------------------------------------------------------------------- */
struct e1000_rx_desc { /* 3.2.3 */
	uint32_t addr, addr_high;
	uint16_t len, checksum;
	uint32_t state; /* status, then errors in the second byte, then VLAN tag */
};
#define RXD_DD     (1u << 0)
#define RXD_EOP    (1u << 1)
#define RXD_ERRORS (0x97u << 8) /* 3.2.3.2: RXE, CXE, SEQ, SE, CE */

struct e1000_tx_desc { /* 3.3.3 */
	uint32_t addr, addr_high;
	uint32_t cmd;   /* length in the lower half */
	uint32_t state; /* status in the lowest byte */
};
#define TXD_EOP  (1u << 24)
#define TXD_IFCS (1u << 25) /* the card adds the FCS */
#define TXD_RS   (1u << 27) /* write back when done */
#define TXD_DD   (1u << 0)

/* Extended descriptors: a context (3.3.6) and data (3.3.7). Of both, `cmd` has the length in its
 * lower bits. The context's address words hold offsets: begin, field and end of a checksum; an end
 * of 0 is the end of the packet. */
#define TXD_DEXT   (1u << 29)
#define TXD_DATA   (1u << 20)
#define TXD_TSE    (1u << 26) /* segmentation */
#define TXD_C_IP4  (1u << 25) /* context: IPv4 */
#define TXD_C_TCP  (1u << 24)
#define TXD_O_IXSM (1u << 8)   /* data: insert the IPv4 checksum, by the context … */
#define TXD_O_TXSM (1u << 9)   /* … and that of TCP or UDP */
#define TXD_HDR(n) ((n) << 8)  /* context: bytes of all headers, … */
#define TXD_MSS(n) ((n) << 16) /* … and of each segment behind them */

_Static_assert(sizeof(struct e1000_rx_desc) == 16 && sizeof(struct e1000_tx_desc) == 16,
               "descriptors");

#endif
