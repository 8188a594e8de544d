/* Intel 82575 to I211: reset, address, PHY, carrier. Registers and sections: igb_reg.h.
 *
 * Left out on purpose: fibre and SGMII, the other queues, MSI-X, the chips' workarounds for
 * energy-efficient Ethernet, reading the EEPROM (the card loads its address by itself). */
#include "drivers/net/igb/igb.h"

#include "drivers/net/wire.h"

/* Waits until (register & bits) is `value`. */
static bool becomes(const struct igb *g, uint32_t reg, uint32_t bits, uint32_t value, uint32_t ms)
{
	for (;; ms--) {
		uint32_t v = igb_get(g, reg);
		if ((v & bits) == value)
			return true;
		if (ms == 0 || v == IGB_GONE)
			return false;
		io_delay_us(1000);
	}
}

/* Erratum of several chips: the link to the chip dies under load while it saves power. */
static void awake(const struct pci_dev *d)
{
	uint8_t cap = pci_capability(d, PCIE_CAP, 0);
	if (cap == 0)
		return;
	uint8_t at = (uint8_t)(cap + PCIE_LINK);
	pci_write16(d, at, (uint16_t)(pci_read16(d, at) & ~PCIE_ASPM));
}

bool igb_hw_reset(struct igb *g)
{
	if (igb_get(g, IGB_STATUS) == IGB_GONE)
		return false;
	awake(&g->nic.pci);
	/* 4.3.1: no transfer is under way when the reset comes. One that never ends is cut off. */
	igb_put(g, IGB_CTRL, igb_get(g, IGB_CTRL) | CTRL_NO_MASTER);
	(void)becomes(g, IGB_STATUS, STATUS_MASTER, 0, 80);
	igb_put(g, IGB_IMC, INT_ALL);
	igb_put(g, IGB_EIMC, INT_ALL);
	igb_put(g, IGB_RCTL, 0);
	igb_put(g, IGB_TCTL, 0);
	(void)igb_get(g, IGB_STATUS);
	io_delay_us(10000); /* frames under way end */
	igb_put(g, IGB_CTRL, igb_get(g, IGB_CTRL) | CTRL_RESET);
	io_delay_us(20000); /* the chip loads its EEPROM, and the PHY its settings */
	if (!becomes(g, IGB_CTRL, CTRL_RESET, 0, 30))
		return false;
	igb_put(g, IGB_IMC, INT_ALL);
	igb_put(g, IGB_EIMC, INT_ALL);
	(void)igb_get(g, IGB_ICR);
	return true;
}

bool igb_hw_address(struct igb *g)
{
	mac *a = &g->nic.address;
	store32(a->b, igb_get(g, IGB_RAL));
	store16(a->b + 4, (uint16_t)igb_get(g, IGB_RAH));
	return wire_station(a);
}

bool igb_hw_copper(const struct igb *g)
{
	return (igb_get(g, IGB_CTRL_EXT) & EXT_MODE) == 0;
}

/* --- PHY ------------------------------------------------------------------------------------ */

/* Gives the register, or all ones when the PHY does not answer. */
static uint16_t phy_access(const struct igb *g, uint32_t command)
{
	igb_put(g, IGB_MDIC, command);
	for (unsigned i = 0; i < 40; i++) {
		io_delay_us(50);
		uint32_t v = igb_get(g, IGB_MDIC);
		if (v & MDIC_READY)
			return v & MDIC_ERROR ? 0xffff : (uint16_t)v;
	}
	return 0xffff;
}

static uint16_t phy_get(const struct igb *g, uint32_t reg)
{
	return phy_access(g, MDIC_READ | MDIC_REG(reg));
}

static void phy_set(const struct igb *g, uint32_t reg, uint32_t v)
{
	(void)phy_access(g, MDIC_WRITE | MDIC_REG(reg) | v);
}

/* An operating system that ran before may have switched the PHY off, or reduced its offer. Only
 * then is the link negotiated again: that takes seconds. */
static void negotiate(const struct igb *g)
{
	uint16_t control = phy_get(g, MII_CONTROL), offer = phy_get(g, MII_OFFER),
	         gbit = phy_get(g, MII_GBIT);
	if (control == 0xffff ||
	    ((control & (MII_CONTROL_AN | MII_CONTROL_OFF)) == MII_CONTROL_AN &&
	     (offer & MII_OFFER_ALL) == MII_OFFER_ALL && gbit & MII_GBIT_FD))
		return;
	phy_set(g, MII_OFFER, offer | MII_OFFER_ALL);
	phy_set(g, MII_GBIT, gbit | MII_GBIT_FD);
	phy_set(g, MII_CONTROL, MII_CONTROL_AN | MII_CONTROL_REDO);
}

void igb_hw_carrier(struct igb *g)
{
	uint32_t v = igb_get(g, IGB_STATUS);
	struct nic_carrier c = {0};
	if (v & STATUS_LINK && v != IGB_GONE) {
		c.up = true;
		c.full_duplex = v & STATUS_FULL;
		c.mbit = (v & STATUS_SPEED) == 0            ? 10
		         : (v & STATUS_SPEED) == STATUS_100 ? 100
		                                            : 1000;
	}
	g->nic.carrier = c;
}

/* --- start ---------------------------------------------------------------------------------- */

/* 4.5.9, 4.5.10: the queue is enabled, and only then its tail is written. */
static bool queue_start(const struct igb *g, uint32_t queue, const struct igb_desc *ring,
                        uint32_t n)
{
	igb_put(g, queue + Q_BASE, (uint32_t)dma_addr(ring));
	igb_put(g, queue + Q_BASE_HIGH, 0);
	igb_put(g, queue + Q_BYTES, n * (uint32_t)sizeof *ring);
	igb_put(g, queue + Q_HEAD, 0);
	igb_put(g, queue + Q_CONTROL, QUEUE_USUAL | QUEUE_ON);
	return becomes(g, queue + Q_CONTROL, QUEUE_ON, QUEUE_ON, 10);
}

void igb_hw_filter(const struct igb *g)
{
	for (uint32_t i = 0; i < MTA_WORDS; i++)
		igb_put(g, IGB_MTA + 4 * i, g->mta[i]);
	igb_put(g, IGB_RCTL, g->rctl);
}

bool igb_hw_start(struct igb *g)
{
	igb_put(g, IGB_CTRL, igb_get(g, IGB_CTRL) | CTRL_UP);
	igb_put(g, IGB_CTRL_EXT, igb_get(g, IGB_CTRL_EXT) | EXT_DRIVER);
	igb_put(g, IGB_WUC, 0);
	igb_put(g, IGB_WUFC, 0);
	igb_put(g, IGB_MRQC, 0); /* all frames to queue 0 */
	if (!g->is_82575)
		igb_put(g, IGB_IVAR, IVAR_QUEUE_0);
	negotiate(g);
	io_wmb();
	igb_put(g, IGB_RX + Q_SRRCTL, SRRCTL_USUAL);
	if (!queue_start(g, IGB_RX, g->rx_desc, I_RX_RING) ||
	    !queue_start(g, IGB_TX, g->tx_desc, I_TX_RING))
		return false;
	igb_put(g, IGB_TCTL, TCTL_USUAL | TCTL_ON);
	igb_hw_filter(g);
	igb_put(g, IGB_RX + Q_TAIL, I_RX_RING - 1);
	(void)igb_get(g, IGB_MISSED);
	igb_hw_carrier(g);
	return true;
}

void igb_hw_report(struct nic *nic, struct nic_report *r)
{
	static const char *const name[] = {"control", "phystatus", "id", "id2", "offer", "partner"};
	const struct igb *g = (const struct igb *)nic;
	nic_report_add(r, "ctrl", igb_get(g, IGB_CTRL));
	nic_report_add(r, "status", igb_get(g, IGB_STATUS));
	nic_report_add(r, "ctrlext", igb_get(g, IGB_CTRL_EXT));
	nic_report_add(r, "rxdctl", igb_get(g, IGB_RX + Q_CONTROL));
	nic_report_add(r, "txdctl", igb_get(g, IGB_TX + Q_CONTROL));
	for (uint32_t i = 0; i < ARRAY_SIZE(name); i++)
		nic_report_add(r, name[i], phy_get(g, i));
}
