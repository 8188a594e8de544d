/* What chips with PCI Express have beyond the card of e1000_model.h: the 82574, whose data sheet
 * was at hand, and the 82571 to 82573, as drivers of other systems know them. */
#include "tests/models/e1000_model.h"
#include "tests/models/e1000_model_regs.h"

#include "kernel/seam/io.h"

enum { INTERFACE = 1, FIRMWARE = 2 }; /* SWSM */
#define REQ_GNT 0xc0u                 /* EECD: left set when the settings were loaded */
#define RELOAD  (1u << 13)            /* CTRL_EXT */

void e1000_model_pcie_before(struct e1000_model *m, uint32_t ctrl)
{
	if (!e1000_model_is_pcie(m))
		return;
	if (!m->master_stuck && !(ctrl & 4))
		pci_model_fault("CTRL.RST while transfers may be under way");
	if (m->kind != E1000_KIND_82571 && !m->owner_stuck && !(m->reg[EXTCNF / 4] & 32))
		pci_model_fault("CTRL.RST without the PHY's semaphore");
}

void e1000_model_pcie_reset(struct e1000_model *m)
{
	if (m->kind == E1000_KIND_82571)
		m->reg[EECD / 4] |= REQ_GNT;
	if (m->kind == E1000_KIND_82573 && m->flash)
		m->reg[EECD / 4] |= 3u << 15 | 1u << 20;
	if (!e1000_model_is_82571(m))
		return;
	m->reg[SWSM / 4] = INTERFACE; /* as the firmware's boot agent leaves it */
	m->reg[TARC0 / 4] = 0x78000403;
	m->reg[TARC1 / 4] = 0x60000403;
	m->reg[CTRL_EXT / 4] = 1u << 19 | 1u << 23;
	m->reg[CTRL / 4] |= m->kind == E1000_KIND_82573 ? 1u << 29 : 0;
}

uint32_t e1000_model_pcie_status(const struct e1000_model *m)
{
	bool busy = !(m->reg[CTRL / 4] & 4) || m->master_stuck;
	return e1000_model_is_pcie(m) && busy ? 1u << 19 : 0;
}

uint32_t e1000_model_pcie_eecd(const struct e1000_model *m)
{
	uint32_t all = m->reg[EECD / 4] & (REQ_GNT | 3u << 15 | 1u << 20);
	return e1000_model_is_pcie(m) ? 1u << 9 | (e1000_model_is_82571(m) ? all : 0) : 0;
}

uint32_t e1000_model_pcie_read(struct e1000_model *m, uint32_t off)
{
	uint32_t v = m->reg[off / 4];
	if (off == EXTCNF)
		return m->owner_stuck ? v & ~32u : v;
	if (off == EEMNGCTL)
		return host_now_us >= m->reset_us + m->configure_us ? 1u << 18 : 0;
	if (off != SWSM)
		return v;
	m->reg[SWSM / 4] |= INTERFACE; /* who reads it clear has it */
	return v | (m->interface_stuck ? INTERFACE : 0);
}

void e1000_model_pcie_write(struct e1000_model *m, uint32_t off, uint32_t v)
{
	if (off == SWSM && m->firmware_stuck)
		v &= ~(uint32_t)FIRMWARE;
	if (off == CTRL_EXT && v & RELOAD) {
		m->reloads++;
		v &= ~RELOAD;
	}
	m->reg[off / 4] = v;
}

void e1000_model_pcie_phy(const struct e1000_model *m)
{
	if (!e1000_model_is_82571(m))
		return;
	if (!(m->reg[SWSM / 4] & FIRMWARE))
		pci_model_fault("MDIC written without the PHY's semaphore");
	if (m->kind == E1000_KIND_82571 &&
	    host_now_us < m->reset_us + min_u32(m->configure_us, 90000))
		pci_model_fault("MDIC written while the firmware configures the PHY");
	if (m->reg[EECD / 4] & REQ_GNT)
		pci_model_fault("EECD still requests the EEPROM");
}

void e1000_model_pcie_start(const struct e1000_model *m)
{
	bool is_82573 = m->kind == E1000_KIND_82573;
	const uint32_t *r = m->reg;
	if (!e1000_model_is_82571(m))
		return;
	if (!(r[TXDCTL / 4] & 1u << 22) || (r[TARC0 / 4] & 15u << 27) ||
	    (r[RFCTL / 4] & 3u << 16) != 3u << 16 || r[SWSM / 4] & FIRMWARE)
		pci_model_fault("started without its settings");
	if (is_82573 && (r[CTRL / 4] & 1u << 29 || (r[CTRL_EXT / 4] & 3u << 22) != 1u << 22 ||
	                 !(r[GCR / 4] & 1u << 27)))
		pci_model_fault("82573 started without its settings");
	if (is_82573 && m->flash && (m->reloads != m->resets || r[EECD / 4] & 1u << 20))
		pci_model_fault("82573 started without the settings of its flash memory");
	if (!is_82573 && (!(r[TXDCTL1 / 4] & 1u << 22) || (r[TARC0 / 4] & 15u << 23) != 15u << 23 ||
	                  (r[TARC1 / 4] & 0x77400000) != 0x17400000 || r[CTRL_EXT / 4] & 1u << 19))
		pci_model_fault("82571 started without its settings");
	bool first = m->pci.device != 0x107d && m->pci.device != 0x10b9; /* no 82572 */
	if (!is_82573 && first &&
	    (!(r[PBA_ECC / 4] & 1) || memcmp(r + (RAL + 8 * 14) / 4, r + RAL / 4, 8) != 0))
		pci_model_fault("82571 started without correction, or one address alone");
}
