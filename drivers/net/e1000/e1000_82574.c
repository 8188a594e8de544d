/* What the 82574 and 82583 need beyond the 8254x, and the reset of the 82571 to 82573 too: "Intel
 * 82574 GbE Controller Family Datasheet", revision 3.4. Rings, descriptors, filters and counters
 * are those of the 8254x. Errata are those that drivers of other systems know.
 *
 * Left out on purpose: MSI-X and the second queue, segmentation over IPv6, the I217 and
 * later ones, which are part of a chip set. */
#include "drivers/net/e1000/e1000.h"

/* Erratum: the link to the chip dies under load while it saves power. */
static void awake(const struct pci_dev *d)
{
	uint8_t cap = pci_capability(d, PCIE_CAP, 0);
	if (cap == 0)
		return;
	uint8_t at = (uint8_t)(cap + PCIE_LINK);
	pci_write16(d, at, (uint16_t)(pci_read16(d, at) & ~PCIE_ASPM));
}

/* Waits until (register & bits) is `value`. */
static bool becomes(const struct e1000 *e, uint32_t reg, uint32_t bits, uint32_t value, uint32_t us)
{
	uint64_t end = io_now_us() + us;
	uint32_t v;
	while (((v = e1000_read(e, reg)) & bits) != value) {
		if (v == E1000_GONE || io_now_us() > end)
			return false;
		io_delay_us(100);
	}
	return true;
}

void e1000_82574_before_reset(struct e1000 *e)
{
	awake(&e->nic.pci);
	/* 5.2.3.1: no transfer is under way when the reset comes. One that never ends is cut off.
	 */
	e1000_write(e, E1000_CTRL, e1000_read(e, E1000_CTRL) | CTRL_NO_MASTER);
	(void)becomes(e, E1000_STATUS, STATUS_MASTER, 0, 80000);
	if (e->kind == E1000_82571)
		return;
	/* Erratum: the management processor must not use the PHY meanwhile. */
	e1000_write(e, E1000_EXTCNF, e1000_read(e, E1000_EXTCNF) | EXTCNF_OWNER);
	for (unsigned i = 0; i < 10 && !becomes(e, E1000_EXTCNF, EXTCNF_OWNER, EXTCNF_OWNER, 1000);
	     i++)
		e1000_write(e, E1000_EXTCNF, e1000_read(e, E1000_EXTCNF) | EXTCNF_OWNER);
}

void e1000_82574_after_reset(struct e1000 *e)
{
	if (e->kind != E1000_82571)
		e1000_write(e, E1000_EXTCNF, e1000_read(e, E1000_EXTCNF) & ~EXTCNF_OWNER);
	if (e->kind == E1000_82573)
		e1000_82571_after_reset(e); /* may load the settings again */
	(void)becomes(e, E1000_EECD, EECD_AUTO_DONE, EECD_AUTO_DONE, 10000);
	if (e->kind == E1000_82571)
		e1000_82571_after_reset(e);
	if (e->kind != E1000_82571)
		io_delay_us(25000); /* the PHY loads its settings */
}

void e1000_82574_start(struct e1000 *e)
{
	uint32_t tarc = e1000_read(e, E1000_TARC0) & ~TARC_PRIORITY;
	uint32_t ext = e1000_read(e, E1000_CTRL_EXT) & ~CTRL_EXT_SDP;
	e1000_write(e, E1000_TARC0, tarc | TARC_ERRATUM);
	e1000_write(e, E1000_TXDCTL, e1000_read(e, E1000_TXDCTL) | TXDCTL_SET);
	e1000_write(e, E1000_CTRL, e1000_read(e, E1000_CTRL) & ~CTRL_GATE);
	e1000_write(e, E1000_CTRL_EXT, ext | CTRL_EXT_SET);
	e1000_write(e, E1000_GCR, e1000_read(e, E1000_GCR) | GCR_L1_WAIT);
	e1000_write(e, E1000_GCR2, e1000_read(e, E1000_GCR2) | GCR2_ERRATUM);
}

/* Erratum: the PHY may hang, and then counts nothing but errors. Two looks must show that. */
bool e1000_82574_phy_hangs(struct e1000 *e)
{
	uint16_t errors, status;
	bool hung = e1000_hw_phy_get(e, PHY_RX_ERRORS, &errors) && errors == 0xffff &&
	            e1000_hw_phy_get(e, PHY_STATUS_1000, &status) &&
	            (status & PHY_IDLE_ERRORS) == PHY_IDLE_ERRORS;
	bool again = hung && e->phy_hung;
	e->phy_hung = hung && !again;
	if (!again || e1000_read(e, E1000_STATUS) == E1000_GONE)
		return false;
	e1000_hw_phy_reset(e);
	return true;
}
