/* Intel 8254x network cards: chips, reset, EEPROM, PHY, filters. Used at the start and after a
 * hang, never for a packet. Sections: see e1000_reg.h. Errata are those of Intel's
 * specification updates, as far as drivers of other systems know them.
 *
 * Left out on purpose: fibre and SerDes cards (there the MAC negotiates the link), writing
 * the EEPROM, flow control (an attacker could stop the gateway with PAUSE frames from a
 * neighbour), the half-duplex workaround for the 82547's send buffer, the cable tuning of
 * the 82541's PHY. */
#include "drivers/net/e1000/e1000.h"

/* --- chips, slots and resets --------------------------------------------------------- */

void e1000_hw_identify(struct e1000 *e)
{
	/* All chips but the 82540 and the 82545EM. */
	static const struct {
		uint16_t device;
		uint8_t kind, quirks;
	} chip[] = {
	        {0x1008, E1000_82544, 0}, /* EI, GC */
	        {0x100c, E1000_82544, 0},
	        {0x100d, E1000_82544, 0},
	        {0x1026, E1000_82540, E1000_COPY}, /* 82545GM */
	        {0x1010, E1000_82540, E1000_PAIR}, /* 82546EB */
	        {0x101d, E1000_82540, E1000_PAIR},
	        {0x1079, E1000_82540, E1000_PAIR | E1000_COPY}, /* 82546GB */
	        {0x1099, E1000_82540, E1000_PAIR | E1000_COPY | E1000_IN_ORDER},
	        {0x10b5, E1000_82540, E1000_PAIR | E1000_COPY | E1000_IN_ORDER},
	        {0x1013, E1000_82541, 0}, /* EI, ER */
	        {0x1018, E1000_82541, 0},
	        {0x1014, E1000_82541, 0},
	        {0x1078, E1000_82541, E1000_FLEX}, /* ER, GI, PI */
	        {0x1076, E1000_82541, E1000_FLEX},
	        {0x1077, E1000_82541, E1000_FLEX},
	        {0x107c, E1000_82541, E1000_FLEX},
	        {0x1019, E1000_82541, E1000_NO_PORTS}, /* 82547EI */
	        {0x101a, E1000_82541, E1000_NO_PORTS},
	        {0x1075, E1000_82541, E1000_NO_PORTS | E1000_FLEX}, /* 82547GI */
	        {0x105e, E1000_82571, E1000_NO_PORTS},
	        {0x10a4, E1000_82571, E1000_NO_PORTS}, /* four on a board */
	        {0x10bc, E1000_82571, E1000_NO_PORTS},
	        {0x10d5, E1000_82571, E1000_NO_PORTS},
	        {0x107d, E1000_82571, E1000_NO_PORTS | E1000_SINGLE}, /* 82572 */
	        {0x10b9, E1000_82571, E1000_NO_PORTS | E1000_SINGLE},
	        {0x108b, E1000_82573, E1000_NO_PORTS}, /* V, E, L */
	        {0x108c, E1000_82573, E1000_NO_PORTS},
	        {0x109a, E1000_82573, E1000_NO_PORTS},
	        {0x10d3, E1000_82574, E1000_NO_PORTS},
	        {0x10f6, E1000_82574, E1000_NO_PORTS},
	        {0x150c, E1000_82574, E1000_NO_PORTS}, /* 82583 */
	};
	e->kind = E1000_82540;
	e->quirks = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(chip); i++)
		if (chip[i].device == e->nic.pci.device) {
			e->kind = chip[i].kind;
			e->quirks = chip[i].quirks;
		}
}

/* Gives the first of the card's I/O ports, or 0 when it has none that respond. QEMU's have
 * no effect. */
static uint16_t find_ports(const struct e1000 *e)
{
	for (unsigned n = 1; n < 6; n++) {
		struct pci_bar bar = pci_bar(&e->nic.pci, n);
		if (!bar.io || bar.base == 0 || bar.base > 0x10000 - E1000_PORTS)
			continue;
		uint16_t port = (uint16_t)bar.base;
		io_out32(port + E1000_IOADDR, E1000_STATUS);
		if (io_in32(port + E1000_IOADDR) == E1000_STATUS)
			return port;
	}
	return 0;
}

/* Limits the bytes that the card reads at once on PCI-X to 2048, and to what it is designed
 * for. Some firmware allows more, and then the card fails. */
static void limit_reads(const struct pci_dev *d)
{
	uint8_t cap = pci_capability(d, PCIX_CAP, 0);
	if (cap == 0)
		return;
	uint16_t command = pci_read16(d, (uint8_t)(cap + PCIX_COMMAND));
	uint32_t most = PCIX_READ_MAX(pci_read32(d, (uint8_t)(cap + PCIX_STATUS)));
	most = min_u32(most, PCIX_READ_2048);
	if (PCIX_READ(command) > most)
		pci_write16(d, (uint8_t)(cap + PCIX_COMMAND),
		            (uint16_t)((command & ~0xcu) | most << 2));
}

const char *e1000_hw_bus(struct e1000 *e)
{
	/* Erratum: on PCI-X the transmitter hangs when a frame ends in the lower half of
	 * eight aligned bytes. Each frame would need two descriptors. */
	if (e->kind == E1000_82544 && e1000_read(e, E1000_STATUS) & STATUS_PCIX)
		return "an 82544 hangs in a PCI-X slot; put it into a PCI slot";
	limit_reads(&e->nic.pci);
	if (!(e->quirks & (E1000_COPY | E1000_NO_PORTS)))
		e->ports = find_ports(e);
	if (e1000_is_82571(e))
		e1000_82571_begin(e);
	return NULL;
}

void e1000_hw_phy_reset(struct e1000 *e)
{
	uint32_t ctrl = e1000_read(e, E1000_CTRL);
	e1000_write(e, E1000_CTRL, ctrl | CTRL_PHY_RST);
	e1000_read(e, E1000_STATUS); /* pushes the write through the bridges before the wait */
	io_delay_us(10000);
	e1000_write(e, E1000_CTRL, ctrl & ~CTRL_PHY_RST);
	e1000_read(e, E1000_STATUS);
	io_delay_us(10000); /* the PHY loads its settings */
}

void e1000_hw_quiesce(struct e1000 *e)
{
	e1000_write(e, E1000_IMC, 0xffffffffu);
	uint32_t rctl = e1000_read(e, E1000_RCTL), tctl = e1000_read(e, E1000_TCTL);
	/* If both are off, nothing is written: a write to RCTL makes some emulated cards
	 * deaf for a second. */
	if (!(rctl & RCTL_EN) && !(tctl & TCTL_EN))
		return;
	e1000_write(e, E1000_RCTL, rctl & ~RCTL_EN);
	e1000_write(e, E1000_TCTL, tctl & ~TCTL_EN);
	e1000_read(e, E1000_STATUS); /* a read pushes the writes through the PCI bridges */
	io_delay_us(10000);          /* frames and bus transfers in progress end */
}

/* Sets CTRL.RST. Erratum: some chips cannot end the bus cycle of a write to the memory
 * window that resets them. These are reset through I/O ports if possible, the later 82545
 * and 82546 through a copy of the register. */
static void write_reset(struct e1000 *e)
{
	uint32_t ctrl = e1000_read(e, E1000_CTRL) | CTRL_RST;
	if (e->quirks & E1000_COPY) {
		e1000_write(e, E1000_CTRL_DUP, ctrl);
	} else if (e->ports) {
		io_out32((uint16_t)(e->ports + E1000_IOADDR), E1000_CTRL);
		io_out32((uint16_t)(e->ports + E1000_IODATA), ctrl);
	} else {
		e1000_write(e, E1000_CTRL, ctrl);
	}
}

bool e1000_hw_reset(struct e1000 *e)
{
	if (e1000_read(e, E1000_STATUS) == E1000_GONE)
		return false;
	e1000_hw_quiesce(e);
	if (e1000_is_pcie(e))
		e1000_82574_before_reset(e);
	write_reset(e);
	io_delay_us(20); /* 13.4.1: no access within the first microsecond */
	uint64_t end = io_now_us() + 20000;
	while (e1000_read(e, E1000_CTRL) & CTRL_RST) {
		if (io_now_us() > end)
			return false;
		io_delay_us(50);
	}
	/* The card now loads its EEPROM (14.3), which would overwrite later settings. */
	io_delay_us(e->kind == E1000_82541 ? 20000 : 5000);
	if (e1000_is_pcie(e))
		e1000_82574_after_reset(e);
	e1000_write(e, E1000_IMC, 0xffffffffu);
	e1000_read(e, E1000_ICR);
	/* The EEPROM may have armed the wake-up by frames. A gateway that is switched off
	 * stays off. */
	e1000_write(e, E1000_WUC, WUC_PME_STATUS);
	e1000_write(e, E1000_WUFC, 0);
	e1000_write(e, E1000_WUS, 0xffffffffu);
	if (e->quirks & E1000_IN_ORDER)
		e1000_write(e, E1000_CTRL_EXT, e1000_read(e, E1000_CTRL_EXT) | CTRL_EXT_RO_DIS);
	return true;
}

/* --- EEPROM ------------------------------------------------------------------------ */

/* Reads one word with the card's EEPROM reader, register EERD (5.3.1). */
static bool eerd_word(struct e1000 *e, uint32_t at, uint16_t *out)
{
	bool is41 = e->kind == E1000_82541 || e1000_is_pcie(e);
	uint32_t done = is41 ? EERD_DONE_41 : EERD_DONE;
	uint32_t shift = is41 ? EERD_ADDR_SHIFT_41 : EERD_ADDR_SHIFT;
	uint64_t end = io_now_us() + 2000; /* one word takes about 30 us */
	e1000_write(e, E1000_EERD, at << shift | EERD_START);
	for (;;) {
		uint32_t v = e1000_read(e, E1000_EERD);
		if (v & done) {
			*out = (uint16_t)(v >> 16);
			return true;
		}
		if (io_now_us() > end)
			return false;
		io_delay_us(5);
	}
}

/* Sets the lines to the EEPROM. The other bits of the register, among them the write
 * protection of the flash memory, stay as they are. */
static void uwire_lines(struct e1000 *e, uint32_t lines)
{
	uint32_t v = e1000_read(e, E1000_EECD) & ~(EECD_SK | EECD_CS | EECD_DI);
	e1000_write(e, E1000_EECD, v | lines);
	io_delay_us(2); /* 250 kHz, the limit of the slowest EEPROM */
}

/* One clock cycle of the Microwire bus. At the rising edge the EEPROM takes the bit DI and
 * shows its next bit. Gives that bit. */
static bool uwire_bit(struct e1000 *e, bool di)
{
	uint32_t lines = EECD_CS | (di ? EECD_DI : 0);
	uwire_lines(e, lines);
	uwire_lines(e, lines | EECD_SK);
	bool out = (e1000_read(e, E1000_EECD) & EECD_DO) != 0;
	uwire_lines(e, lines);
	return out;
}

/* Reads one word bit by bit: the 82544 has a Microwire EEPROM of 64 words and no EERD. The
 * command is 110b (start bit and read), then six bits of address. */
static bool uwire_word(struct e1000 *e, uint32_t at, uint16_t *out)
{
	uint32_t command = 6u << 6 | at, v = 0;
	for (int i = 8; i >= 0; i--)
		uwire_bit(e, command >> i & 1);
	for (int i = 0; i < 16; i++)
		v = v << 1 | uwire_bit(e, false);
	uwire_lines(e, 0); /* deselected: ready for the next command */
	*out = (uint16_t)v;
	return true;
}

/* Reads the MAC address from the first three words. False when the checksum is wrong
 * (5.6.1, 5.6.35). */
static bool eeprom_address(struct e1000 *e, mac *out)
{
	uint16_t word, sum = 0;
	for (uint32_t i = 0; i < EEPROM_WORDS; i++) {
		bool ok = e->kind == E1000_82544 ? uwire_word(e, i, &word) : eerd_word(e, i, &word);
		if (!ok)
			return false;
		sum = (uint16_t)(sum + word);
		if (i < 3)
			store16(out->b + 2 * i, word);
	}
	/* The address of an 82546's second interface differs in the last bit (5.6.1). */
	if (e->quirks & E1000_PAIR && e1000_read(e, E1000_STATUS) & STATUS_LAN_B)
		out->b[5] ^= 1;
	return sum == EEPROM_SUM;
}

static bool usable(const mac *a)
{
	static const mac zero;
	return !mac_is_group(a) && !mac_eq(a, &zero);
}

bool e1000_hw_address(struct e1000 *e, mac *out)
{
	/* The 82571 to 82573 load that of the right interface, also from where firmware keeps it;
	 * the sum of a flash memory may be wrong. */
	if (!e1000_is_82571(e) && eeprom_address(e, out) && usable(out))
		return true;
	store32(out->b, e1000_read(e, E1000_RAL));
	uint32_t high = e1000_read(e, E1000_RAH);
	store16(out->b + 4, (uint16_t)high);
	return (high & RAH_VALID) && usable(out);
}

/* --- PHY ------------------------------------------------------------------------------ */

/* Runs one management command and waits until its frame (64 bits at some MHz) has ended.
 * False on an error or after 2 ms. */
static bool mdic_run(struct e1000 *e, uint32_t command, uint16_t *out)
{
	uint64_t end = io_now_us() + 2000;
	e1000_write(e, E1000_MDIC, command | MDIC_PHY);
	for (;;) {
		uint32_t v = e1000_read(e, E1000_MDIC);
		if (v & MDIC_READY) {
			*out = (uint16_t)v;
			return !(v & MDIC_ERROR);
		}
		if (io_now_us() > end)
			return false;
		io_delay_us(10);
	}
}

/* The same; it owns the PHY meanwhile where that is shared. */
static bool mdic(struct e1000 *e, uint32_t command, uint16_t *out)
{
	if (!e1000_is_82571(e))
		return mdic_run(e, command, out);
	if (!e1000_82571_own(e))
		return false;
	bool ok = mdic_run(e, command, out);
	e1000_82571_release(e);
	return ok;
}

static bool phy_read(struct e1000 *e, uint32_t reg, uint16_t *out)
{
	return mdic(e, MDIC_READ | reg << MDIC_REG_SHIFT, out);
}

bool e1000_hw_phy_get(struct e1000 *e, uint32_t reg, uint16_t *out)
{
	return phy_read(e, reg, out);
}

static bool phy_write(struct e1000 *e, uint32_t reg, uint16_t v)
{
	uint16_t ignored;
	return mdic(e, MDIC_WRITE | reg << MDIC_REG_SHIFT | v, &ignored);
}

bool e1000_hw_phy_put(struct e1000 *e, uint32_t reg, uint16_t v)
{
	return phy_write(e, reg, v);
}

void e1000_hw_host_arp(struct e1000 *e)
{
	if (e->kind != E1000_82544) /* the 82544 has no such register */
		e1000_write(e, E1000_MANC, e1000_read(e, E1000_MANC) & ~MANC_ARP_EN);
}

void e1000_hw_negotiate(struct e1000 *e)
{
	uint16_t control, offer, offer_1000, fifo;
	if (e->quirks & E1000_FLEX && phy_read(e, PHY_FIFO, &fifo) && fifo & PHY_FIFO_FLEX)
		(void)phy_write(e, PHY_FIFO, fifo & (uint16_t)~PHY_FIFO_FLEX);
	/* The PHY negotiates by itself after power-on (8.6.2.1). An operating system that
	 * ran before may have reduced the offer, or switched the PHY off to save power
	 * until a wake-up frame. Only then does the driver start the negotiation again,
	 * because that takes the carrier down for seconds. The driver does not touch a PHY
	 * that does not answer. */
	if (phy_read(e, PHY_CONTROL, &control) && phy_read(e, PHY_OFFER, &offer) &&
	    phy_read(e, PHY_OFFER_1000, &offer_1000) &&
	    ((control & (PHY_CONTROL_AN | PHY_CONTROL_OFF)) != PHY_CONTROL_AN ||
	     (offer & PHY_OFFER_ALL) != PHY_OFFER_ALL || !(offer_1000 & PHY_OFFER_1000FD))) {
		bool ok = phy_write(e, PHY_OFFER, offer | PHY_OFFER_ALL) &&
		          phy_write(e, PHY_OFFER_1000, offer_1000 | PHY_OFFER_1000FD) &&
		          phy_write(e, PHY_CONTROL, PHY_CONTROL_AN | PHY_CONTROL_REDO);
		(void)ok; /* on failure the link stays as it is, and its state shows that */
	}
	/* The MAC uses the speed and duplex mode that the PHY indicates (8.6.2.2.3,
	 * 8.6.2.3). */
	uint32_t ctrl = e1000_read(e, E1000_CTRL);
	ctrl &= ~(CTRL_ASDE | CTRL_ILOS | CTRL_FRCSPD | CTRL_FRCDPLX | CTRL_RFCE | CTRL_TFCE |
	          CTRL_VME | CTRL_RST | CTRL_PHY_RST);
	e1000_write(e, E1000_CTRL, ctrl | CTRL_SLU);
}

void e1000_hw_half_duplex(struct e1000 *e)
{
	uint16_t control, m88;
	e->half_duplex = true;
	/* At half duplex the MAC expects the carrier of its own frames. The 88E1000 family
	 * reports it only on request, and takes that over at its next reset. */
	if (e->kind == E1000_82541 || e->kind == E1000_82571 || !phy_read(e, PHY_M88, &m88) ||
	    m88 & PHY_M88_CRS || !phy_read(e, PHY_CONTROL, &control))
		return;
	if (phy_write(e, PHY_M88, m88 | PHY_M88_CRS))
		(void)phy_write(e, PHY_CONTROL, control | PHY_CONTROL_RST);
}

void e1000_hw_carrier_read(struct e1000 *e)
{
	static const uint16_t mbit[4] = {10, 100, 1000, 1000};
	uint32_t s = e1000_read(e, E1000_STATUS);
	bool up = (s & STATUS_LU) && s != E1000_GONE;
	e->nic.carrier = (struct nic_carrier){
	        .up = up,
	        .full_duplex = up && (s & STATUS_FD),
	        .mbit = up ? mbit[STATUS_SPEED(s)] : 0,
	};
}

/* --- filters ------------------------------------------------------------------------- */

void e1000_hw_groups(struct e1000 *e)
{
	/* Erratum of the 82544: a write of an odd word also replaces the even word before
	 * it. So all words are written, downwards: each even word after its odd one. */
	for (uint32_t i = MTA_WORDS; i--;)
		e1000_write(e, E1000_MTA + 4 * i, e->mta[i]);
}

/* The hardware does not reset the filters (13.5). */
void e1000_hw_filters(struct e1000 *e)
{
	for (uint32_t i = 1; i < RA_PAIRS; i++) {
		e1000_write(e, E1000_RAH + 8 * i, 0); /* 13.5.3: high before low */
		e1000_write(e, E1000_RAL + 8 * i, 0);
	}
	e1000_write(e, E1000_RAL, load32(e->nic.address.b));
	e1000_write(e, E1000_RAH, load16(e->nic.address.b + 4) | RAH_VALID);
	if (e->kind == E1000_82571)
		e1000_82571_filters(e);
	e1000_hw_groups(e);
}

void e1000_hw_report(struct nic *nic, struct nic_report *r)
{
	static const char *const name[] = {"control", "status", "id", "id2", "offer", "partner"};
	struct e1000 *e = (struct e1000 *)nic;
	nic_report_add(r, "ctrl", e1000_read(e, E1000_CTRL));
	nic_report_add(r, "status", e1000_read(e, E1000_STATUS));
	for (uint32_t i = 0; i < ARRAY_SIZE(name); i++) {
		uint16_t v;
		if (!phy_read(e, i, &v))
			break; /* each further one may take as long */
		nic_report_add(r, name[i], v);
	}
}
