/* Register offsets and bits for the card's model. They were written down from the manual
 * (317453, chapters 3 and 13) independently of the driver, so that a wrong number in the
 * driver shows. */
#ifndef TESTS_MODELS_E1000_MODEL_REGS_H
#define TESTS_MODELS_E1000_MODEL_REGS_H

#include "tests/models/e1000_model.h"

enum { /* table 13-2 */
       CTRL = 0x00000,
       CTRL_DUP = 0x00004, /* 82545GM, 82546GB: a copy of CTRL */
       STATUS = 0x00008,
       EECD = 0x00010,
       EERD = 0x00014,
       CTRL_EXT = 0x00018,
       FLA = 0x0001c,
       MDIC = 0x00020,
       FCAL = 0x00028,
       FCAH = 0x0002c,
       FCT = 0x00030,
       VET = 0x00038,
       ICR = 0x000c0,
       ITR = 0x000c4,
       ICS = 0x000c8,
       IMS = 0x000d0,
       IMC = 0x000d8,
       RCTL = 0x00100,
       FCTTV = 0x00170,
       TXCW = 0x00178,
       TCTL = 0x00400,
       TIPG = 0x00410,
       AIT = 0x00458,
       LEDCTL = 0x00e00,
       PBA = 0x01000,
       FCRTL = 0x02160,
       FCRTH = 0x02168,
       RDBAL = 0x02800,
       RDBAH = 0x02804,
       RDLEN = 0x02808,
       RDH = 0x02810,
       RDT = 0x02818,
       RDTR = 0x02820,
       RXDCTL = 0x02828,
       RADV = 0x0282c,
       RSRPD = 0x02c00,
       TDBAL = 0x03800,
       TDBAH = 0x03804,
       TDLEN = 0x03808,
       TDH = 0x03810,
       TDT = 0x03818,
       TIDV = 0x03820,
       TXDCTL = 0x03828,
       TADV = 0x0382c,
       SWSM = 0x05b50, /* this one and the next five: 82571 to 82573 */
       SWSM2 = 0x05b58,
       EEMNGCTL = 0x01010,
       TXDCTL1 = 0x03928,
       RFCTL = 0x05008,
       PBA_ECC = 0x01100,
       TARC1 = 0x03940, /* this one and the next four: PCI Express */
       TARC0 = 0x03840,
       EXTCNF = 0x00f00,
       GCR = 0x05b00,
       GCR2 = 0x05b64,
       STATS = 0x04000,
       CRCERRS = 0x04000,
       MPC = 0x04010,
       ECOL = 0x04018,
       RLEC = 0x04040,
       RUC = 0x040a4,
       ROC = 0x040ac,
       GPRC = 0x04074,
       GPTC = 0x04080,
       RXCSUM = 0x05000,
       MTA = 0x05200,
       RAL = 0x05400,
       VFTA = 0x05600,
       WUC = 0x05800,
       WUFC = 0x05808,
       WUS = 0x05810,
       MANC = 0x05820,
};

#define CTRL_SLU     (1u << 6)
#define CTRL_RST     (1u << 26)
#define CTRL_PHY_RST (1u << 31)

#define STATUS_FD   (1u << 0)
#define STATUS_LU   (1u << 1)
#define STATUS_PCIX (1u << 13)

#define CTRL_EXT_RO_DIS (1u << 17) /* no relaxed ordering on PCI-X */

#define EECD_SK        (1u << 0)
#define EECD_CS        (1u << 1)
#define EECD_DI        (1u << 2)
#define EECD_DO        (1u << 3)
#define EECD_FLASH     (3u << 4)
#define EECD_FLASH_OFF (1u << 4) /* writes are off; 0 would erase */
#define EECD_REQ       (1u << 6)
#define EECD_GNT       (1u << 7)
#define EECD_PRES      (1u << 8)

#define WUC_APME       (1u << 0) /* a magic packet wakes, also without a driver */
#define WUC_PME_STATUS (1u << 2) /* an event is raised; writing one clears it */
#define WUC_APMPME     (1u << 3) /* and raises an event */

#define MDIC_R (1u << 28)
#define MDIC_E (1u << 30)

#define ICR_TXDW   (1u << 0)
#define ICR_TXQE   (1u << 1)
#define ICR_LSC    (1u << 2)
#define ICR_RXDMT0 (1u << 4)
#define ICR_RXO    (1u << 6)
#define ICR_RXT0   (1u << 7)

#define RCTL_EN     (1u << 1)
#define RCTL_UPE    (1u << 3)
#define RCTL_MPE    (1u << 4)
#define RCTL_LPE    (1u << 5)
#define RCTL_BAM    (1u << 15)
#define RCTL_SECRC  (1u << 26)
#define MANC_ARP_EN (1u << 13)
#define TCTL_EN     (1u << 1)
#define TCTL_PSP    (1u << 3)

enum { /* IEEE 802.3 clause 22 and 40 */
       PHY_BMCR = 0,
       PHY_BMSR = 1,
       PHY_ID1 = 2,
       PHY_ID2 = 3,
       PHY_ANAR = 4,
       PHY_GTCR = 9,
       PHY_IGP_PAGE = 31,    /* of the 82571's: the page of registers above 15 */
       PHY_M88_CONTROL = 16, /* of the PHY of the other chips */
       M88_CRS_ON_TX = 0x0800,
       PHY_FIFO = 20, /* of the 82541's PHY */
       FIFO_FLEX_SPEED = 0x10,
       BMCR_RESET = 0x8000,
       BMCR_AN_ENABLE = 0x1000,
       BMCR_POWER_DOWN = 0x0800,
       BMCR_ISOLATE = 0x0400,
       BMCR_AN_RESTART = 0x0200,
};

/* True for an 82545GM or 82546GB, for an 82547, for an 82546GB on a board with four. */
static inline bool is_third(const struct e1000_model *m)
{
	uint16_t d = m->pci.device;
	return d == 0x1026 || d == 0x1079 || d == 0x1099 || d == 0x10b5;
}

static inline bool is_82547(const struct e1000_model *m)
{
	return m->pci.device == 0x1019 || m->pci.device == 0x101a || m->pci.device == 0x1075;
}

static inline bool is_quad(const struct e1000_model *m)
{
	return m->pci.device == 0x1099 || m->pci.device == 0x10b5;
}

/* True for those with the later layout of EERD (13.4.4). */
static inline bool e1000_model_is_new(const struct e1000_model *m)
{
	return m->kind == E1000_KIND_82541 || m->kind >= E1000_KIND_82571;
}

/* True in a PCI-X slot when the card may read more than 2048 bytes at once. */
bool e1000_model_reads_too_much(const struct e1000_model *m);

/* Handles a write to any other register: control, rings, filters. (e1000_model_dma.c) */
void e1000_model_dma_write(struct e1000_model *m, uint32_t off, uint32_t v);

/* The registers of the EEPROM: EERD reads a word, EECD its lines. (e1000_model_eeprom.c) */
void e1000_model_eerd_write(struct e1000_model *m, uint32_t v);
uint32_t e1000_model_eerd_read(struct e1000_model *m);
void e1000_model_eecd_write(struct e1000_model *m, uint32_t v);
uint32_t e1000_model_eecd_read(const struct e1000_model *m);

/* --- PCI Express (e1000_model_pcie.c) --- */

static inline bool e1000_model_is_pcie(const struct e1000_model *m)
{
	return m->kind >= E1000_KIND_82571;
}

/* True for the 82571, 82572 and 82573. */
static inline bool e1000_model_is_82571(const struct e1000_model *m)
{
	return m->kind == E1000_KIND_82571 || m->kind == E1000_KIND_82573;
}

/* A reset begins: faults when the driver may not reset the chip now. */
void e1000_model_pcie_before(struct e1000_model *m, uint32_t ctrl);

/* What a reset leaves in the registers of these chips. */
void e1000_model_pcie_reset(struct e1000_model *m);

/* The bits of STATUS and EECD that these chips have besides. */
uint32_t e1000_model_pcie_status(const struct e1000_model *m);
uint32_t e1000_model_pcie_eecd(const struct e1000_model *m);

/* Reads and writes of SWSM, EEMNGCTL, EXTCNF, CTRL_EXT. */
uint32_t e1000_model_pcie_read(struct e1000_model *m, uint32_t off);
void e1000_model_pcie_write(struct e1000_model *m, uint32_t off, uint32_t v);

/* The driver uses the PHY: a fault when it is not its own. */
void e1000_model_pcie_phy(const struct e1000_model *m);

/* The receiver starts: faults when the chip is not configured as its errata need. */
void e1000_model_pcie_start(const struct e1000_model *m);

#endif
