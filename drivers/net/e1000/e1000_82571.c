/* What the 82571, 82572 and 82573 need beyond the 8254x: "PCIe* GbE Controllers Open Source
 * Software Developer's Manual", 316080. That document was not at hand: numbers and errata are those
 * that drivers of other systems know. Rings, descriptors, filters and counters are those of the
 * 8254x, the reset is that of the 82574 (e1000_82574.c).
 *
 * The PHY is shared with the firmware of the chip, and that of an 82571 or 82572 with the other
 * interface, by two semaphores. A read of SWSM takes the one of the interfaces.
 *
 * Left out on purpose: fibre and SerDes; the alternative address of a blade; segmentation, which
 * these chips do not do reliably at 10 and 100 Mbit/s; several transfers at a time (MULR). */
#include "drivers/net/e1000/e1000.h"

#define OWN_US       20000u
#define CONFIGURE_US 100000u

static bool is_82573(const struct e1000 *e)
{
	return e->kind == E1000_82573;
}

static void change(struct e1000 *e, uint32_t reg, uint32_t clear, uint32_t set)
{
	e1000_write(e, reg, (e1000_read(e, reg) & ~clear) | set);
}

/* Code that ran before, or an old driver of the other interface, may have kept the semaphore of the
 * interfaces. The first driver of a chip gives it back. */
void e1000_82571_begin(struct e1000 *e)
{
	uint32_t lock = is_82573(e) ? 0 : e1000_read(e, E1000_SWSM2);
	if (lock & SWSM2_LOCK)
		return;
	if (!is_82573(e))
		e1000_write(e, E1000_SWSM2, lock | SWSM2_LOCK);
	change(e, E1000_SWSM, SWSM_INTERFACE, 0);
}

bool e1000_82571_own(struct e1000 *e)
{
	uint64_t end = io_now_us() + OWN_US;
	uint32_t v;
	/* One that is never given back is that of a driver that ended: then only the other counts.
	 */
	while ((v = e1000_read(e, E1000_SWSM)) & SWSM_INTERFACE && io_now_us() < end) {
		if (v == E1000_GONE)
			return false;
		io_delay_us(50);
	}
	for (end = io_now_us() + OWN_US;;) {
		change(e, E1000_SWSM, 0, SWSM_FIRMWARE);
		v = e1000_read(e, E1000_SWSM);
		if (v == E1000_GONE)
			return false;
		if (v & SWSM_FIRMWARE)
			return true;
		if (io_now_us() > end)
			break;
		io_delay_us(50);
	}
	e1000_82571_release(e);
	return false;
}

void e1000_82571_release(struct e1000 *e)
{
	change(e, E1000_SWSM, SWSM_INTERFACE | SWSM_FIRMWARE, 0);
}

void e1000_82571_after_reset(struct e1000 *e)
{
	uint64_t end = io_now_us() + CONFIGURE_US;
	if (is_82573(e)) {
		/* Settings in a flash memory are loaded again by request; it is not to be updated.
		 */
		if ((e1000_read(e, E1000_EECD) & EECD_FLASH) == EECD_FLASH) {
			change(e, E1000_EECD, EECD_UPDATE, 0);
			change(e, E1000_CTRL_EXT, 0, CTRL_EXT_RELOAD);
		}
		return;
	}
	change(e, E1000_EECD, EECD_REQUEST | EECD_GRANT, 0);
	/* The firmware configures the PHY, which must not be touched meanwhile. */
	while (!(e1000_read(e, E1000_EEMNGCTL) & EEMNGCTL_DONE) && io_now_us() < end)
		io_delay_us(1000);
}

void e1000_82571_start(struct e1000 *e)
{
	uint16_t power;
	change(e, E1000_TXDCTL, 0, TXDCTL_SET);
	/* Erratum: some malformed extension headers of IPv6 hang the receiver. */
	change(e, E1000_RFCTL, 0, RFCTL_NO_IP6_EXT);
	if (is_82573(e)) {
		change(e, E1000_TARC0, TARC_PRIORITY, 0);
		change(e, E1000_CTRL, CTRL_GATE, 0);
		change(e, E1000_CTRL_EXT, CTRL_EXT_SDP, CTRL_EXT_SET);
		change(e, E1000_GCR, 0, GCR_L1_ALONE);
		return;
	}
	change(e, E1000_TXDCTL1, 0, TXDCTL_SET);
	change(e, E1000_TARC0, TARC_PRIORITY, TARC0_82571);
	change(e, E1000_TARC1, TARC1_82571_OFF, TARC1_82571);
	change(e, E1000_CTRL_EXT, CTRL_EXT_DMA_GATE, 0);
	if (!(e->quirks & E1000_SINGLE))
		change(e, E1000_PBA_ECC, 0, PBA_ECC_CORRECT);
	/* The PHY may be set to keep to the lowest speed, and any page may be chosen. This
	 * register's number chooses the first one. */
	if (e1000_hw_phy_put(e, PHY_IGP_PAGE, PHY_IGP_POWER) &&
	    e1000_hw_phy_get(e, PHY_IGP_POWER, &power) && power & PHY_IGP_LOW_SPEED &&
	    e1000_hw_phy_put(e, PHY_IGP_POWER, power & (uint16_t)~PHY_IGP_LOW_SPEED))
		(void)e1000_hw_phy_put(e, PHY_CONTROL, PHY_CONTROL_AN | PHY_CONTROL_REDO);
}

/* Erratum: a reset of the other interface of an 82571 loads the first address again, and frames to
 * one that was set are lost. The last entry keeps it. */
void e1000_82571_filters(struct e1000 *e)
{
	uint32_t at = 8 * (RA_PAIRS - 2);
	if (is_82573(e) || e->quirks & E1000_SINGLE)
		return;
	e1000_write(e, E1000_RAL + at, load32(e->nic.address.b));
	e1000_write(e, E1000_RAH + at, load16(e->nic.address.b + 4) | RAH_VALID);
}
