/* The card of e1000_model.h: registers and PHY. The EEPROM is in e1000_model_eeprom.c, the
 * rings are in e1000_model_dma.c.
 * Numbers in brackets are sections of the manual. */
#include "tests/models/e1000_model.h"
#include "tests/models/e1000_model_regs.h"

#include "kernel/seam/io.h"

/* Registers that exist (table 13-2), and their bits that keep a written value. */
static const struct {
	uint32_t off, n, mask;
} known[] = {
        {CTRL, 2, 0xffffffff},
        {EECD, 1, 0x7f},
        {EERD, 1, 0xffffffff},
        {CTRL_EXT, 1, 0xffffffff},
        {FLA, 1, 0},
        {MDIC, 1, 0xffffffff},
        {FCAL, 1, 0xffffffff},
        {FCAH, 1, 0xffff},
        {FCT, 1, 0xffff},
        {VET, 1, 0xffff},
        {ICR, 1, 0},
        {ITR, 1, 0xffff},
        {ICS, 1, 0},
        {IMS, 1, 0},
        {IMC, 1, 0},
        {RCTL, 1, 0x06dfbffe},
        {FCTTV, 1, 0xffff},
        {TXCW, 1, 0xffffffff},
        {TCTL, 1, 0x037ffffa},
        {TIPG, 1, 0x3fffffff},
        {AIT, 1, 0xffff},
        {LEDCTL, 1, 0xffffffff},
        {PBA, 1, 0xffff},
        {FCRTL, 1, 0xfff8},
        {FCRTH, 1, 0xfff8},
        {RDBAL, 1, 0xfffffff0},
        {RDBAH, 1, 0xffffffff},
        {RDLEN, 1, 0xfff80},
        {RDH, 1, 0xffff},
        {RDT, 1, 0xffff},
        {RDTR, 1, 0xffff},
        {RXDCTL, 1, 0x013f3f3f},
        {RADV, 1, 0xffff},
        {RSRPD, 1, 0xfff},
        {TDBAL, 1, 0xfffffff0},
        {TDBAH, 1, 0xffffffff},
        {TDLEN, 1, 0xfff80},
        {TDH, 1, 0xffff},
        {TDT, 1, 0xffff},
        {TIDV, 1, 0xffff},
        {TXDCTL, 1, 0xffffffff},
        {TARC0, 1, 0xffffffff},
        {TARC1, 1, 0xffffffff},
        {TXDCTL1, 1, 0xffffffff},
        {SWSM, 1, 0xf},
        {SWSM2, 1, 0xf},
        {EEMNGCTL, 1, 0},
        {RFCTL, 1, 0xffffffff},
        {PBA_ECC, 1, 0xffffffff},
        {EXTCNF, 1, 0xffffffff},
        {GCR, 1, 0xffffffff},
        {GCR2, 1, 0xffffffff},
        {TADV, 1, 0xffff},
        {STATS, 74, 0},
        {RXCSUM, 1, 0x3ff},
        {MTA, 128, 0xffffffff},
        {RAL, 32, 0xffffffff},
        {VFTA, 128, 0xffffffff},
        {WUC, 1, 0xf},
        {WUFC, 1, 0xffff},
        {WUS, 1, 0},
        {MANC, 1, 0xffffffff},
};

static bool lookup(uint32_t off, uint32_t *mask)
{
	for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
		if (off >= known[i].off && off < known[i].off + 4 * known[i].n) {
			*mask = known[i].mask;
			return true;
		}
	return false;
}

/* --- reset (13.4.1, 14.3) ---------------------------------------------------------- */

/* Values after a reset; the EEPROM gives the address (5.6.1). */
static void defaults(struct e1000_model *m)
{
	/* Wake-up is on standby power (13.6): what frames wake, what woke. */
	uint32_t wuc = m->reg[WUC / 4] & ~(WUC_APME | WUC_APMPME);
	uint32_t wufc = m->reg[WUFC / 4], wus = m->reg[WUS / 4];
	memset(m->reg, 0, sizeof m->reg);
	m->reg[WUC / 4] = wuc | (m->apm ? WUC_APME | WUC_APMPME : 0);
	m->reg[WUFC / 4] = wufc;
	m->reg[WUS / 4] = wus;
	m->reg[CTRL / 4] = m->kind == E1000_KIND_82544 ? 0 : 0x00000201;
	m->reg[EECD / 4] = EECD_FLASH_OFF;
	m->reg[PBA / 4] = 0x00100030; /* 48 KB for receiving, 16 KB for sending */
	m->reg[TXDCTL / 4] = 0;
	m->reg[MANC / 4] = MANC_ARP_EN; /* as on a board with a management processor */
	m->icr = m->ims = 0;
	m->rdh = m->rdt = m->rx_owned = 0;
	m->tdh = m->tdt = m->tx_owned = 0;
	m->rx_off_us = 0;
	m->tx_hung = false;
	memset(&m->uwire, 0, sizeof m->uwire);
	/* A reset does not change the MTA and the other receive addresses (13.5.1, 13.5.2):
	 * they may hold anything. */
	memset(&m->reg[MTA / 4], 0x5a, 128 * 4);
	for (unsigned i = 1; i < 16; i++)
		m->reg[(RAL + 8 * i) / 4] = m->reg[(RAL + 8 * i) / 4 + 1] = 0xa5a5a5a5;
	for (unsigned i = 0; i < 74; i++) /* nor does it change the statistics (13.7) */
		m->reg[STATS / 4 + i] = 1000 + i;
	if ((m->eeprom[0x0a] & 0xc000) == 0x4000) { /* signature (5.6.8) */
		m->reg[RAL / 4] = m->eeprom[0] | (uint32_t)m->eeprom[1] << 16;
		m->reg[RAL / 4 + 1] = m->eeprom[2] | 0x80000000u;
	}
}

static void reset(struct e1000_model *m)
{
	uint32_t lock = m->reg[SWSM2 / 4];
	defaults(m);
	e1000_model_pcie_reset(m);
	m->reg[SWSM2 / 4] = lock;
	m->resets++;
	m->resetting = true;
	m->reset_us = host_now_us;
}

/* --- link (8.6.2) ------------------------------------------------------------------ */

static bool phy_link(const struct e1000_model *m)
{
	return m->cable && host_now_us >= m->linkup_us && !m->phy_lost && !m->phy_hung &&
	       !(m->reg[CTRL / 4] & CTRL_PHY_RST) &&
	       !(m->phy[PHY_BMCR] & (BMCR_POWER_DOWN | BMCR_ISOLATE)) &&
	       (m->phy[PHY_BMCR] & BMCR_AN_ENABLE);
}

static bool link_up(const struct e1000_model *m)
{
	return phy_link(m) && (m->reg[CTRL / 4] & CTRL_SLU);
}

/* Checks whether the link state changed since the last check. */
static void link_look(struct e1000_model *m)
{
	if (!phy_link(m))
		m->bmsr_down = true;
	if (link_up(m) == m->link_was_up)
		return;
	m->link_was_up = !m->link_was_up;
	m->icr |= ICR_LSC;
}

static uint32_t status(const struct e1000_model *m)
{
	uint32_t v = (m->lan_b ? 1u << 2 : 0) | (m->pcix ? STATUS_PCIX : 0);
	/* With flexible speed the 82541's PHY starts at the lowest speed. */
	uint16_t speed =
	        m->kind == E1000_KIND_82541 && m->phy[PHY_FIFO] & FIFO_FLEX_SPEED ? 10 : m->speed;
	if (link_up(m)) {
		v |= STATUS_LU;
		v |= m->half_duplex ? 0 : STATUS_FD;
		v |= speed == 1000 ? 2u << 6 : speed == 100 ? 1u << 6 : 0;
	}
	return v;
}

void e1000_model_cable(struct e1000_model *m, bool in)
{
	m->cable = in;
	m->linkup_us = host_now_us + m->negotiate_us;
	link_look(m);
}

/* --- PHY registers (13.4.7, 11) ---------------------------------------------------- */

static void phy_defaults(struct e1000_model *m)
{
	memset(m->phy, 0, sizeof m->phy);
	m->phy[PHY_BMCR] = BMCR_AN_ENABLE | 0x0140;
	m->phy[PHY_BMSR] = 0x7949;
	bool is41 = m->kind == E1000_KIND_82541;
	m->phy[PHY_ID1] = is41 ? 0x02a8 : 0x0141; /* IGP01, Marvell 88E1011 */
	m->phy[PHY_ID2] = is41 ? 0x0380 : 0x0c20;
	m->phy[PHY_ANAR] = 0x0de1;
	m->phy[PHY_GTCR] = 0x0e00;
	m->phy_crs = false;
}

/* On the first page, a register above 15 of the 82571's PHY is what this model has. */
static void check_page(const struct e1000_model *m, unsigned r)
{
	if (m->kind == E1000_KIND_82571 && r > 15 && r < PHY_IGP_PAGE && m->phy[PHY_IGP_PAGE] >> 5)
		pci_model_fault("PHY register %u on page 0x%x", r, m->phy[PHY_IGP_PAGE]);
}

static uint16_t phy_read(struct e1000_model *m, unsigned r)
{
	check_page(m, r);
	if (r == PHY_BMSR) {
		/* Link status latches low until read (IEEE 802.3, 22.2.4.2.13). */
		bool up = phy_link(m) && !m->bmsr_down;
		m->bmsr_down = !phy_link(m);
		return (uint16_t)(m->phy[r] | (up ? 0x24 : 0));
	}
	if (m->phy_hung && (r == 10 || r == 21))
		return 0xffff;
	return m->phy[r];
}

static void phy_write(struct e1000_model *m, unsigned r, uint16_t v)
{
	check_page(m, r);
	if (r == PHY_BMSR || r == PHY_ID1 || r == PHY_ID2 || r == 5 || r == 10)
		return; /* read only */
	if (r == PHY_BMCR && (v & BMCR_RESET)) {
		/* A reset by software keeps and applies this register (88E1000). */
		uint16_t keep = m->phy[PHY_M88_CONTROL];
		phy_defaults(m);
		m->phy[PHY_M88_CONTROL] = keep;
		m->phy_crs = keep & M88_CRS_ON_TX;
		m->linkup_us = host_now_us + m->negotiate_us;
		m->bmsr_down = true;
	} else if (r == PHY_BMCR) {
		m->phy[r] = v & (uint16_t)~BMCR_AN_RESTART;
		if (v & BMCR_AN_RESTART) {
			m->linkup_us = host_now_us + m->negotiate_us;
			m->bmsr_down = true;
		}
	} else {
		m->phy[r] = v;
	}
	link_look(m);
}

static void mdic_write(struct e1000_model *m, uint32_t v)
{
	unsigned r = v >> 16 & 31;
	if (!(m->reg[MDIC / 4] & MDIC_R) && m->mdic_us)
		pci_model_fault("MDIC written while an access is under way");
	if (m->reg[CTRL / 4] & CTRL_PHY_RST || host_now_us < m->phy_ready_us)
		pci_model_fault("MDIC written while the PHY resets");
	m->mdic_us = host_now_us + 64; /* a frame of 64 bits at about 1 MHz */
	v &= ~(MDIC_R | MDIC_E);
	if ((v >> 21 & 31) != 1) /* the internal PHY is number 1 */
		v |= MDIC_E;
	else if ((v >> 26 & 3) == 2)
		v = (v & 0xffff0000u) | phy_read(m, r);
	else if ((v >> 26 & 3) == 1)
		phy_write(m, r, (uint16_t)v);
	else
		v |= MDIC_E;
	m->reg[MDIC / 4] = v;
}

static uint32_t mdic_read(struct e1000_model *m)
{
	if (m->mdic_us && host_now_us >= m->mdic_us && !m->phy_dead) {
		m->reg[MDIC / 4] |= MDIC_R;
		m->mdic_us = 0;
	}
	if (m->reg[MDIC / 4] & MDIC_R)
		return m->reg[MDIC / 4];
	return m->reg[MDIC / 4] & 0xffff0000u; /* no data yet */
}

/* CTRL.PHY_RST resets the PHY as long as it is set, at least 10 ms; then the PHY needs 10 ms
 * more. */
static void phy_reset_line(struct e1000_model *m, bool on)
{
	bool was = m->reg[CTRL / 4] & CTRL_PHY_RST;
	if (on && !was) {
		m->phy_rst_us = host_now_us;
	} else if (was && !on) {
		if (host_now_us < m->phy_rst_us + 10000)
			pci_model_fault("CTRL.PHY_RST set for less than 10 ms");
		phy_defaults(m);
		m->phy[PHY_FIFO] = 0x0020 | (m->flex_speed ? FIFO_FLEX_SPEED : 0);
		m->phy_resets++;
		m->phy_lost = m->phy_hung = false;
		m->phy_ready_us = host_now_us + 10000;
		m->linkup_us = host_now_us + m->negotiate_us;
	}
}

/* --- registers ------------------------------------------------------------------------ */

static bool too_soon(struct e1000_model *m, uint32_t off)
{
	if (m->resetting && !m->reset_stuck && host_now_us >= m->reset_us + 1000)
		m->resetting = false;
	if (!m->resetting)
		return false;
	/* 13.4.1: no access for a microsecond, then only CTRL until RST clears. */
	if (host_now_us < m->reset_us + 1 || off != CTRL)
		pci_model_fault("register 0x%x touched during the reset", off);
	return true;
}

static void ctrl_write(struct e1000_model *m, uint32_t v)
{
	phy_reset_line(m, v & CTRL_PHY_RST);
	m->reg[CTRL / 4] = v;
	if (!(v & CTRL_RST)) {
		link_look(m);
		return;
	}
	e1000_model_pcie_before(m, v);
	if (m->kind == E1000_KIND_82541 && m->phy_resets == 0)
		pci_model_fault("CTRL.RST before the first reset of the PHY");
	reset(m);
}

/* Errata: most cards of the family may not end the bus cycle of a write that resets them.
 * The 82545GM and 82546GB are reset through CTRL_DUP, those before them through their I/O
 * ports if these respond. The 82547 is no PCI device and has no such limit. */
static void check_reset_way(const struct e1000_model *m, uint32_t off)
{
	bool io = m->pci.bar[2].size && !m->io_deaf && !e1000_model_is_pcie(m);
	if (is_third(m) ? off != CTRL_DUP : io && !is_82547(m))
		pci_model_fault("reset by a write to register 0x%x", off);
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct e1000_model *m = ctx;
	uint32_t mask, v;
	if (m->gone || (m->gone_in && --m->gone_in == 0)) {
		m->gone = true;
		return 0xffffffffu;
	}
	if (size != 4 || off % 4 || (off != STATUS && !lookup(off, &mask))) {
		pci_model_fault("read of %u at register 0x%x", size, off);
		return 0;
	}
	if (too_soon(m, off))
		return CTRL_RST;
	link_look(m);
	switch (off) {
	case CTRL_DUP:
		return m->reg[CTRL / 4];
	case STATUS:
		return status(m) | e1000_model_pcie_status(m);
	case EECD:
		return e1000_model_eecd_read(m) | e1000_model_pcie_eecd(m);
	case EXTCNF:
	case SWSM:
	case EEMNGCTL:
		return e1000_model_pcie_read(m, off);
	case EERD:
		return e1000_model_eerd_read(m);
	case MDIC:
		return mdic_read(m);
	case ICR: /* 13.4.17: all bits clear on a read */
		if (m->at_icr)
			m->at_icr(m);
		v = m->icr;
		m->icr = 0;
		m->icr_reads++;
		return v;
	case IMS:
		return m->ims;
	case RDH:
		return m->rdh;
	case TDH:
		return m->tdh;
	default:
		v = m->reg[off / 4];
		if (off >= STATS && off < STATS + 74 * 4) /* 13.7: cleared by a read */
			m->reg[off / 4] = 0;
		return v;
	}
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct e1000_model *m = ctx;
	uint32_t mask = 0;
	if (m->gone)
		return;
	if (size != 4 || off % 4 || !lookup(off, &mask)) {
		pci_model_fault("write of %u at register 0x%x", size, off);
		return;
	}
	if (too_soon(m, off))
		return;
	link_look(m);
	switch (off) {
	case CTRL_DUP:
		if (!is_third(m))
			pci_model_fault("CTRL_DUP does not exist");
	/* fall through */
	case CTRL:
		if (v & CTRL_RST)
			check_reset_way(m, off);
		ctrl_write(m, v);
		return;
	case EECD:
		if (e1000_model_is_82571(m))
			m->reg[EECD / 4] = v;
		else
			e1000_model_eecd_write(m, v);
		return;
	case SWSM:
	case CTRL_EXT:
		e1000_model_pcie_write(m, off, v & mask);
		return;
	case EERD:
		e1000_model_eerd_write(m, v);
		return;
	case MDIC:
		e1000_model_pcie_phy(m);
		mdic_write(m, v);
		return;
	case ICR: /* 13.4.17: writing ones clears */
		m->icr &= ~v;
		return;
	case WUC:
		if (!(v & WUC_PME_STATUS)) /* 13.6.1: writing one clears */
			v |= m->reg[off / 4] & WUC_PME_STATUS;
		else
			v &= ~WUC_PME_STATUS;
		m->reg[off / 4] = v & mask;
		return;
	case WUS:
		m->reg[off / 4] &= ~v;
		return;
	case ICS:
		m->icr |= v;
		return;
	case IMS:
		m->ims |= v;
		return;
	case IMC:
		m->ims &= ~v;
		return;
	case RDTR:
	case RADV:
	case TIDV:
	case TADV:
	case ITR:
		if (v)
			pci_model_fault("moderation register 0x%x is not modelled", off);
		return;
	default:
		if (v & ~mask && off >= RDBAL && off < STATS)
			pci_model_fault("register 0x%x: reserved bits of 0x%x", off, v);
		e1000_model_dma_write(m, off, v & mask);
		return;
	}
}

/* I/O ports: an address and the register at that address (13.2.2). */
static uint32_t io_read(void *ctx, uint32_t off, unsigned size)
{
	const struct e1000_model *m = ctx;
	if (size != 4 || (off != 0 && off != 4))
		pci_model_fault("read of %u at I/O port %u", size, off);
	if (m->gone)
		return 0xffffffffu;
	if (m->io_deaf)
		return 0;
	return off == 0 ? m->io_address : reg_read(ctx, m->io_address, 4);
}

static void io_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct e1000_model *m = ctx;
	if (size != 4 || (off != 0 && off != 4))
		pci_model_fault("write of %u at I/O port %u", size, off);
	if (m->io_deaf || m->gone)
		return;
	if (off == 0)
		m->io_address = v;
	else if (m->io_address == CTRL && !too_soon(m, CTRL))
		ctrl_write(m, v);
	else
		pci_model_fault("register 0x%x written through I/O ports", m->io_address);
}

static void delay(void *ctx, uint32_t us)
{
	(void)us;
	link_look(ctx);
}

bool e1000_model_irq(const struct e1000_model *m)
{
	return (m->icr & m->ims) != 0;
}

bool e1000_model_reads_too_much(const struct e1000_model *m)
{
	return m->pcix && m->pcix_cap && (m->pci.cfg[m->pcix_cap + 2] >> 2 & 3) > 2;
}

bool e1000_model_may_wake(const struct e1000_model *m)
{
	return m->reg[WUC / 4] || m->reg[WUFC / 4] || m->reg[WUS / 4] ||
	       pci_model_may_wake(&m->pci);
}

void e1000_model_count(struct e1000_model *m, uint32_t off, uint32_t n)
{
	m->reg[off / 4] += n; /* the counters saturate (13.7), which no test reaches */
}

void e1000_model_init(struct e1000_model *m, enum e1000_kind kind, uint16_t device, unsigned slot,
                      const uint8_t address[6])
{
	memset(m, 0, sizeof *m);
	m->kind = kind;
	m->pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x8086,
	        .device = device,
	        .class_code = 2,
	        .irq = (uint8_t)(10 + slot),
	        .bar[0] = {.base = 0xfeb00000u + slot * 0x40000u,
	                   .size = 0x20000,
	                   .read = reg_read,
	                   .write = reg_write},
	        .bar[2] = {.io = true,
	                   .base = 0xc000 + slot * 0x40u,
	                   .size = 0x40,
	                   .read = io_read,
	                   .write = io_write},
	        .delay = delay,
	        .ctx = m,
	};
	for (unsigned i = 0; i < 3; i++)
		m->eeprom[i] = (uint16_t)(address[2 * i] | address[2 * i + 1] << 8);
	m->eeprom[0x0a] = 0x4408;
	e1000_model_eeprom_sum(m);
	m->eeprom_reads = 3;
	m->cable = true;
	m->speed = 1000;
	defaults(m);
	e1000_model_pcie_reset(m);
	phy_defaults(m);
	if (kind == E1000_KIND_82571)
		m->phy[PHY_IGP_PAGE] = 0x11b1; /* what a driver before may have left */
	pci_model_add(&m->pci);
	static const uint8_t power[8] = {1, 0, 0x22, 0xc8}; /* PME from all states */
	pci_model_add_cap(&m->pci, power, sizeof power);
	/* PCI-X: reads of 4096 bytes, set by the firmware and possible by design. */
	static const uint8_t pcix[8] = {7, 0, 0x0c, 0, 0, 0, 0x60, 0};
	if (e1000_model_is_pcie(m)) {
		static const uint8_t pcie[60] = {0x10, 0, 2, 0, [16] = 0x43};
		m->pcie_cap = pci_model_add_cap(&m->pci, pcie, sizeof pcie);
		m->pci.writable[m->pcie_cap + 16] = 0xfb;
	} else if (kind != E1000_KIND_82541) {
		m->pcix_cap = pci_model_add_cap(&m->pci, pcix, sizeof pcix);
		m->pci.writable[m->pcix_cap + 2] = 0x7f;
	}
}
