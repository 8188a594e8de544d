/* Realtek's gigabit cards: versions, reset, address, PHY, carrier. Registers: rtl8169_reg.h.
 *
 * Left out on purpose: the vendor's patches for the PHY (links come up without them), the 8168DP
 * and others whose management processor must be asked first, the 8125. */
#include "drivers/net/rtl8169/rtl8169.h"

#include "drivers/net/wire.h"

#define PCI_RCR 0xe700 /* no threshold before the first transfer, bursts without limit */

/* The first line that fits counts. The uppermost bit says nothing but for PCI. */
static const struct r_chip chips[] = {
        {0xfcf, 0x008, CHIP_PCI | CHIP_OLD, PCI_RCR},                 /* 8169S */
        {0xfcf, 0x040, CHIP_PCI | CHIP_OLD, PCI_RCR},                 /* 8110S */
        {0xfcf, 0x100, CHIP_PCI, PCI_RCR},                            /* 8169SB, 8110SB */
        {0xfcf, 0x180, CHIP_PCI, PCI_RCR},                            /* 8169SC, 8110SC */
        {0xfcf, 0x980, CHIP_PCI, PCI_RCR},                            /* 8169SC, 8110SC */
        {0x7c8, 0x300, CHIP_FIFO, PCI_RCR},                           /* 8168B, 8111B */
        {0x7c8, 0x380, 0, PCI_RCR},                                   /* 8168B, 8111B */
        {0x7c8, 0x340, 0, PCI_RCR},                                   /* 8101E */
        {0x7c8, 0x348, 0, 0x8700},                                    /* 8102E */
        {0x7c8, 0x248, 0, 0x8700},                                    /* 8102E */
        {0x7c8, 0x408, CHIP_PHY_OFF, 0x8700},                         /* 8105E */
        {0x7c8, 0x448, CHIP_PHY_OFF, 0x8700},                         /* 8106E */
        {0x7c8, 0x3c0, 0, 0xc700},                                    /* 8168C, 8111C */
        {0x7c8, 0x3c8, 0, 0xc700},                                    /* 8168CP */
        {0x7c8, 0x280, CHIP_PHY_OFF, 0x8700},                         /* 8168D, 8111D */
        {0x7c8, 0x2c0, CHIP_PHY_OFF, 0x8700},                         /* 8168E, 8111E */
        {0x7c8, 0x2c8, CHIP_EMPTY, 0xc700},                           /* 8168E-VL */
        {0x7cf, 0x480, CHIP_EMPTY | CHIP_ERI | CHIP_NO_HASH, 0xc700}, /* 8168F, 8111F */
        {0x7c8, 0x480, CHIP_EMPTY | CHIP_ERI, 0xc700},                /* 8168F, 8111F */
        {0x7c8, 0x488, CHIP_EMPTY | CHIP_ERI, 0xc700},                /* 8411 */
        {0x7c8, 0x4c0, CHIP_EMPTY | CHIP_ERI | CHIP_GATE, 0xcf00},    /* 8168G, 8111G */
        {0x7cf, 0x509, CHIP_EMPTY | CHIP_ERI | CHIP_GATE, 0xcf00},    /* 8168G, 8106E */
        {0x7cf, 0x5c8, CHIP_EMPTY | CHIP_ERI | CHIP_GATE, 0xcf00},    /* 8411B */
        {0x7cf, 0x540, CHIP_EMPTY | CHIP_ERI | CHIP_GATE, 0xcf00},    /* 8168H, 8107E */
        {0x7cf, 0x541, CHIP_EMPTY | CHIP_ERI | CHIP_GATE, 0xcf00},    /* 8168H, 8107E */
};

bool rtl8169_hw_version(struct rtl8169 *r)
{
	r->xid = TCR_XID(r_get32(r, R_TCR));
	for (unsigned i = 0; i < ARRAY_SIZE(chips); i++)
		if ((r->xid & chips[i].mask) == chips[i].xid) {
			r->chip = &chips[i];
			return true;
		}
	return false;
}

static bool is(const struct rtl8169 *r, unsigned flag)
{
	return r->chip->flags & flag;
}

static void clear8(const struct rtl8169 *r, uint32_t reg, uint32_t bits)
{
	r_put8(r, reg, r_get8(r, reg) & ~bits);
}

/* --- reset ---------------------------------------------------------------------------------- */

/* Erratum: the chip hangs, or its transmitter does, when its link saves power. */
static void awake(const struct rtl8169 *r)
{
	const struct pci_dev *d = &r->nic.pci;
	uint8_t cap = pci_capability(d, PCIE_CAP, 0);
	if (cap == 0)
		return;
	uint8_t at = (uint8_t)(cap + PCIE_LINK);
	pci_write16(d, at, (uint16_t)(pci_read16(d, at) & ~PCIE_ASPM));
}

/* Ends what is under way: a transfer may still be written after a reset in its midst. */
static void quiet(const struct rtl8169 *r)
{
	r_put32(r, R_RCR, r_get32(r, R_RCR) & ~RCR_ACCEPT);
	r_put8(r, R_CMD, r_get8(r, R_CMD) | CMD_STOP);
	io_delay_us(100);
	for (unsigned i = 0; i < 666 && is(r, CHIP_EMPTY) && !(r_get32(r, R_TCR) & TCR_EMPTY); i++)
		io_delay_us(100);
}

static void gate(const struct rtl8169 *r, bool shut)
{
	uint32_t v = r_get32(r, R_MISC) & ~MISC_GATE;
	r_put32(r, R_MISC, v | (shut ? MISC_GATE : 0));
	(void)r_get32(r, R_MISC);
}

static void share(const struct rtl8169 *r, uint16_t clear, uint16_t set)
{
	r_put32(r, R_OCP, OCP_AT(OCP_SHARE));
	uint32_t v = (r_get32(r, R_OCP) & 0xffffu & ~(uint32_t)clear) | set;
	r_put32(r, R_OCP, OCP_WRITE | OCP_AT(OCP_SHARE) | v);
	for (unsigned i = 0; i < 42 && !(r_get8(r, R_MCU) & MCU_READY); i++)
		io_delay_us(100);
}

/* Takes the receiver from the management processor, which has it while no driver runs. */
static void take_receiver(const struct rtl8169 *r)
{
	clear8(r, R_CMD, CMD_RE | CMD_TE);
	io_delay_us(1000);
	clear8(r, R_MCU, MCU_OOB);
	share(r, SHARE_ON, 0);
	share(r, 0, SHARE_REDO);
}

bool rtl8169_hw_reset(struct rtl8169 *r)
{
	if (r_get16(r, R_ISR) == R_GONE)
		return false;
	r_put16(r, R_IMR, 0);
	r_put16(r, R_ISR, INT_ALL);
	if (is(r, CHIP_GATE))
		gate(r, true);
	quiet(r);
	r_put8(r, R_CMD, CMD_RST);
	for (unsigned i = 0; r_get8(r, R_CMD) & CMD_RST; i++) {
		if (i == 100)
			return false;
		io_delay_us(100);
	}
	r_put16(r, R_ISR, INT_ALL);
	return true;
}

/* --- address -------------------------------------------------------------------------------- */

static bool eri_get(const struct rtl8169 *r, uint32_t at, uint32_t *v)
{
	r_put32(r, R_ERIAR, ERIAR_READ | at);
	for (unsigned i = 0; i < 100; i++) {
		io_delay_us(100);
		if (r_get32(r, R_ERIAR) & ERIAR_DONE) {
			*v = r_get32(r, R_ERIDR);
			return true;
		}
	}
	return false;
}

bool rtl8169_hw_address(struct rtl8169 *r)
{
	mac *a = &r->nic.address, burned;
	uint32_t low, high;
	for (unsigned i = 0; i < 6; i++)
		a->b[i] = r_get8(r, R_IDR + i);
	if (is(r, CHIP_ERI) && eri_get(r, ERI_ADDRESS, &low) &&
	    eri_get(r, ERI_ADDRESS + 4, &high)) {
		store32(burned.b, low);
		store16(burned.b + 4, (uint16_t)high);
		if (wire_station(&burned))
			*a = burned; /* another system may have changed the other one */
	}
	return wire_station(a);
}

static void write_address(const struct rtl8169 *r)
{
	const uint8_t *a = r->nic.address.b;
	r_put32(r, R_IDR + 4, load16(a + 4)); /* erratum: the upper half first, and read back */
	(void)r_get32(r, R_IDR + 4);
	r_put32(r, R_IDR, load32(a));
	(void)r_get32(r, R_IDR);
}

/* --- PHY ------------------------------------------------------------------------------------ */

/* Waits until the flag of the last access is as it should. 20 us later the next one may come. */
static uint32_t phy_done(const struct rtl8169 *r, uint32_t reg, uint32_t flag)
{
	uint32_t v = 0;
	for (unsigned i = 0; i < 20; i++) {
		io_delay_us(25);
		v = r_get32(r, reg);
		if ((v & PHYAR_FLAG) == flag)
			break;
	}
	io_delay_us(20);
	return v;
}

static uint16_t phy_get(const struct rtl8169 *r, uint32_t reg)
{
	bool other = is(r, CHIP_GATE);
	uint32_t at = other ? R_PHY_OCP : R_PHYAR;
	r_put32(r, at, other ? OCP_AT(OCP_PHY + 2 * reg) : reg << 16);
	return (uint16_t)phy_done(r, at, PHYAR_FLAG);
}

static void phy_set(const struct rtl8169 *r, uint32_t reg, uint16_t v)
{
	bool other = is(r, CHIP_GATE);
	uint32_t at = other ? R_PHY_OCP : R_PHYAR;
	r_put32(r, at, PHYAR_FLAG | (other ? OCP_AT(OCP_PHY + 2 * reg) : reg << 16) | v);
	(void)phy_done(r, at, 0);
}

/* An operating system that ran before may have switched the PHY off, or reduced its offer. Only
 * then is the link negotiated again: that takes seconds. */
static void negotiate(const struct rtl8169 *r)
{
	if (is(r, CHIP_PHY_OFF | CHIP_EMPTY))
		r_put8(r, R_PMCH, r_get8(r, R_PMCH) | (is(r, CHIP_GATE) ? 0xc0 : 0x80));
	uint16_t control = phy_get(r, MII_CONTROL), offer = phy_get(r, MII_OFFER);
	bool gbit = phy_get(r, MII_STATUS) & MII_STATUS_GBIT;
	uint16_t offer2 = gbit ? phy_get(r, MII_GBIT) : MII_GBIT_FD;
	if ((control & (MII_CONTROL_AN | MII_CONTROL_OFF)) == MII_CONTROL_AN &&
	    (offer & MII_OFFER_ALL) == MII_OFFER_ALL && offer2 & MII_GBIT_FD)
		return;
	phy_set(r, MII_OFFER, offer | MII_OFFER_ALL);
	if (gbit)
		phy_set(r, MII_GBIT, offer2 | MII_GBIT_FD);
	phy_set(r, MII_CONTROL, MII_CONTROL_AN | MII_CONTROL_REDO);
}

void rtl8169_hw_carrier(struct rtl8169 *r)
{
	uint8_t v = r_get8(r, R_PHYSTATUS);
	struct nic_carrier c = {0};
	if (v & PHY_LINK) {
		c.up = true;
		c.full_duplex = v & (PHY_FULL | PHY_1000);
		c.mbit = v & PHY_1000 ? 1000 : v & PHY_100 ? 100 : 10;
	}
	r->nic.carrier = c;
}

/* --- start ---------------------------------------------------------------------------------- */

static void settings(const struct rtl8169 *r)
{
	uint16_t cpcr = r_get16(r, R_CPCR) & CPCR_KEEP;
	r_put8(r, R_9346, EE_UNLOCK);
	if (is(r, CHIP_PCI)) {
		cpcr |= CPCR_MULRW | (is(r, CHIP_OLD) ? CPCR_OLD : 0);
	} else {
		clear8(r, R_CONFIG2, CONFIG2_CLKREQ);
		clear8(r, R_CONFIG5, CONFIG5_ASPM);
	}
	clear8(r, R_CONFIG3, CONFIG3_WAKE);
	clear8(r, R_CONFIG5, CONFIG5_WAKE);
	write_address(r);
	r_put16(r, R_CPCR, cpcr);
	r_put16(r, R_MITIGATE, 0);
	r_put8(r, R_EARLY, is(r, CHIP_EMPTY) ? EARLY_VL : EARLY_USUAL);
	r_put16(r, R_RMS, RMS_ALL);
	/* Erratum: the upper half first, else some chips ignore the address. */
	r_put32(r, R_TNPDS + 4, 0);
	r_put32(r, R_TNPDS, (uint32_t)dma_addr(r->tx_desc));
	r_put32(r, R_RDSAR + 4, 0);
	r_put32(r, R_RDSAR, (uint32_t)dma_addr(r->rx_desc));
	r_put8(r, R_9346, EE_NORMAL);
}

void rtl8169_hw_start(struct rtl8169 *r)
{
	awake(r);
	if (is(r, CHIP_GATE))
		take_receiver(r);
	negotiate(r);
	io_wmb();
	settings(r);
	/* The configuration registers count only while both units are enabled. */
	r_put8(r, R_CMD, CMD_RE | CMD_TE);
	rtl8169_hw_filter(r);
	r_put32(r, R_TCR, TCR_USUAL | (is(r, CHIP_EMPTY) ? TCR_AUTO_FIFO : 0));
	if (is(r, CHIP_GATE))
		gate(r, false);
	rtl8169_hw_carrier(r);
}

void rtl8169_hw_filter(const struct rtl8169 *r)
{
	uint8_t hash[8];
	/* The chips for PCI Express have the bytes in reverse order. */
	for (unsigned i = 0; i < 8; i++)
		hash[i] = is(r, CHIP_NO_HASH) ? 0xff : r->hash[is(r, CHIP_PCI) ? i : 7 - i];
	r_put32(r, R_MAR + 4, load32(hash + 4));
	r_put32(r, R_MAR, load32(hash));
	r_put32(r, R_RCR, r->chip->rcr | r->rcr);
}

void rtl8169_hw_report(struct nic *nic, struct nic_report *report)
{
	const struct rtl8169 *r = (const struct rtl8169 *)nic;
	nic_report_add(report, "version", r->xid);
	nic_report_add(report, "cmd", r_get8(r, R_CMD));
	nic_report_add(report, "isr", r_get16(r, R_ISR));
	nic_report_add(report, "tcr", r_get32(r, R_TCR));
	nic_report_add(report, "rcr", r_get32(r, R_RCR));
	nic_report_add(report, "phystatus", r_get8(r, R_PHYSTATUS));
	nic_report_add(report, "control", phy_get(r, MII_CONTROL));
	nic_report_add(report, "status", phy_get(r, MII_STATUS));
	nic_report_add(report, "offer", phy_get(r, MII_OFFER));
	nic_report_add(report, "partner", phy_get(r, MII_PARTNER));
	nic_report_add(report, "gbit", phy_get(r, MII_GBIT));
}
