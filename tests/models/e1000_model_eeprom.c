/* The EEPROM of the card of e1000_model.h (5.3.1, 13.4.3, 13.4.4). */
#include "tests/models/e1000_model.h"
#include "tests/models/e1000_model_regs.h"

void e1000_model_eerd_write(struct e1000_model *m, uint32_t v)
{
	if (m->kind == E1000_KIND_82544) {
		pci_model_fault("EERD does not exist on the 82544");
		return;
	}
	m->reg[EERD / 4] = v & 0xffff & ~(e1000_model_is_new(m) ? 2u : 0x10u);
	m->eerd_left = (v & 1) ? m->eeprom_reads : 0;
}

uint32_t e1000_model_eerd_read(struct e1000_model *m)
{
	uint32_t v = m->reg[EERD / 4];
	bool is41 = e1000_model_is_new(m);
	if (!(v & 1) || m->eeprom_dead || m->kind == E1000_KIND_82544)
		return v;
	if (m->eerd_left && --m->eerd_left)
		return v;
	uint32_t word = is41 ? v >> 2 & 0x3fff : v >> 8 & 0xff;
	uint32_t data = word < ARRAY_SIZE(m->eeprom) ? m->eeprom[word] : 0xffff;
	data ^= m->eeprom_noise;
	return (v & 0xffff) | data << 16 | (is41 ? 2 : 0x10);
}

/* Microwire: each rising clock edge shifts in one bit: start bit, two bits of opcode, six
 * bits of address. Then sixteen data bits come out, highest first. */
static void uwire_clock(struct e1000_model *m, bool di)
{
	if (m->uwire.reading) {
		m->uwire.out = m->uwire.out << 1 & 0x1ffff;
		return;
	}
	if (m->uwire.bits == 0 && !di)
		return; /* no start bit yet */
	m->uwire.shift = m->uwire.shift << 1 | di;
	if (++m->uwire.bits < 9)
		return;
	if ((m->uwire.shift >> 6 & 7) != 6)
		pci_model_fault("EEPROM: not a read command: 0x%x", m->uwire.shift);
	m->uwire.reading = true;
	/* the first bit out is a zero */
	m->uwire.out = m->eeprom[m->uwire.shift & 63] ^ m->eeprom_noise;
}

void e1000_model_eecd_write(struct e1000_model *m, uint32_t v)
{
	bool clk = v & EECD_SK;
	if ((v & EECD_FLASH) != (m->reg[EECD / 4] & EECD_FLASH))
		pci_model_fault("EECD: write protection of the flash memory changed");
	m->reg[EECD / 4] = v & 0x77;
	if (!(v & EECD_CS)) {
		m->uwire.bits = 0;
		m->uwire.shift = 0;
		m->uwire.reading = false;
	} else if (clk && !m->uwire.clk) {
		if (!(v & EECD_REQ) && m->kind != E1000_KIND_82544)
			pci_model_fault("EEPROM clocked without a grant");
		uwire_clock(m, v & EECD_DI);
	}
	m->uwire.clk = clk;
}

uint32_t e1000_model_eecd_read(const struct e1000_model *m)
{
	uint32_t v = m->reg[EECD / 4] | EECD_PRES;
	if (v & EECD_REQ && !m->eeprom_dead)
		v |= EECD_GNT;
	if (!m->uwire.reading || m->uwire.out & 0x10000)
		v |= EECD_DO;
	if (m->eeprom_dead)
		v |= EECD_DO;
	return v;
}

void e1000_model_eeprom_sum(struct e1000_model *m)
{
	uint16_t sum = 0;
	for (unsigned i = 0; i < 63; i++)
		sum = (uint16_t)(sum + m->eeprom[i]);
	m->eeprom[63] = (uint16_t)(0xbaba - sum);
}
