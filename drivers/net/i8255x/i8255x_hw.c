/* Intel 8255x network cards: reset, EEPROM, PHY, configuration. Used at the start, after a hang and
 * a few times a second, never for a packet. Sections: see i8255x_reg.h. Errata are those that
 * drivers of other systems know.
 *
 * Left out on purpose: microcode, writing the EEPROM, flow control (an attacker could stop the
 * gateway with PAUSE frames from a neighbour), tuning of single makes of PHY. */
#include "drivers/net/i8255x/i8255x.h"

#include "kernel/lib/log.h"

#define COMMAND_READS 100u

static bool accepted(const struct i8255x *x)
{
	for (unsigned i = 0; i < COMMAND_READS; i++)
		if (x_read8(x, X_COMMAND) == 0)
			return true;
	return false;
}

bool i8255x_hw_command(const struct i8255x *x, uint8_t command)
{
	if (!accepted(x))
		return false;
	x_write8(x, X_COMMAND, command);
	return true;
}

bool i8255x_hw_point(const struct i8255x *x, uint32_t at, uint8_t command)
{
	if (!accepted(x))
		return false;
	x_write32(x, X_POINTER, at);
	x_write8(x, X_COMMAND, command);
	return true;
}

/* A base of 0. Waits up to 100 ms for the command before it. */
static bool base_slowly(const struct i8255x *x, uint8_t command)
{
	uint64_t end = io_now_us() + 100000;
	while (!i8255x_hw_point(x, 0, command)) {
		if (io_now_us() > end)
			return false;
		io_delay_us(100);
	}
	return true;
}

void i8255x_hw_identify(struct i8255x *x)
{
	uint16_t device = x->nic.pci.device;
	x->is_ich = device != 0x1229 && device != 0x1209 && device != 0x1029;
	x->is_82557 = !x->is_ich && x->nic.pci.revision < 4;
}

/* 6.3.3.1: the selective reset ends bus transfers, the reset then everything else. Interrupts are
 * enabled afterwards. */
bool i8255x_hw_reset(const struct i8255x *x)
{
	x_write8(x, X_MASK, MASK_ALL);
	x_write32(x, X_PORT, PORT_SELECTIVE);
	x_read16(x, X_STATUS); /* pushes the write through the bridges before the wait */
	io_delay_us(20);
	x_write32(x, X_PORT, PORT_RESET);
	x_read16(x, X_STATUS);
	io_delay_us(20);
	x_write8(x, X_MASK, MASK_ALL);
	if (x_read16(x, X_STATUS) == X_GONE)
		return false;
	x_write8(x, X_ACK, ACK_ALL);
	/* The third command shows that the second one was accepted. */
	return base_slowly(x, CU_BASE) && base_slowly(x, RU_BASE) && base_slowly(x, CU_BASE);
}

/* --- EEPROM ------------------------------------------------------------------------------------
 */

static void lines(const struct i8255x *x, uint16_t v)
{
	mmio_write16(x->regs + X_EEPROM, v);
	x_read16(x, X_EEPROM); /* pushes the write through the bridges before the wait */
	io_delay_us(4);
}

/* One clock cycle. Gives the bit that the EEPROM shows behind the rising edge. */
static bool clock_bit(const struct i8255x *x, bool di)
{
	uint16_t v = (uint16_t)(EE_CS | (di ? EE_DI : 0));
	lines(x, v);
	lines(x, v | EE_SK);
	bool out = (x_read16(x, X_EEPROM) & EE_DO) != 0;
	lines(x, v);
	return out;
}

/* Reads a word: 110b, the address, then 16 bits. With *bits 0, finds how many bits an address has:
 * the EEPROM shows a 0 behind the last one. Gives 0xffff when it never does. */
static uint16_t word(const struct i8255x *x, uint32_t at, uint32_t *bits)
{
	uint32_t v = 0, n = 0;
	lines(x, EE_CS);
	for (int i = 2; i >= 0; i--)
		clock_bit(x, 6 >> i & 1);
	if (*bits == 0) {
		while (n < 12 && clock_bit(x, 0))
			n++;
		*bits = n + 1;
	} else {
		for (n = *bits; n; n--)
			clock_bit(x, at >> (n - 1) & 1);
	}
	for (int i = 0; i < 16; i++)
		v = v << 1 | clock_bit(x, 0);
	lines(x, 0);
	return (uint16_t)v;
}

static bool usable(const mac *a)
{
	static const mac zero;
	return !mac_is_group(a) && !mac_eq(a, &zero);
}

bool i8255x_hw_eeprom(struct i8255x *x)
{
	const struct pci_dev *d = &x->nic.pci;
	uint32_t bits = 0;
	(void)word(x, 0, &bits);
	if (bits != 6 && bits != 8)
		return false;
	uint16_t sum = 0, flags = 0, phy = 0, id = 0;
	for (uint32_t i = 0; i < 1u << bits; i++) {
		uint16_t v = word(x, i, &bits);
		sum = (uint16_t)(sum + v);
		if (i < 3)
			store16(x->nic.address.b + 2 * i, v);
		flags = i == EE_WORD_COMPAT ? v : flags;
		phy = i == EE_WORD_PHY ? v : phy;
		id = i == EE_WORD_ID ? v : id;
	}
	if (sum != EE_SUM) /* many boards were made like that */
		log_line("pci %02x:%02x.%x: i8255x: the EEPROM's checksum is wrong", d->bus, d->dev,
		         d->fn);
	x->lockup = x->is_82557 && (flags & COMPAT_NO_LOCKUP) != COMPAT_NO_LOCKUP;
	x->mii = !(phy & PHY_WORD_SERIAL);
	x->phy = phy & 31;
	x->standby = !x->is_82557 && (id & ID_STANDBY);
	x->nop_first = x->standby;
	return usable(&x->nic.address);
}

/* --- PHY -----------------------------------------------------------------------------------------
 */

static uint32_t mdi_state(const struct i8255x *x)
{
	return mmio_read32(x->regs + X_MDI);
}

/* Waits for the end of a management command, at most 2 ms. */
static bool mdi_wait(const struct i8255x *x, uint32_t *out)
{
	for (unsigned i = 0; i < 100; i++) {
		*out = mdi_state(x);
		if (*out & MDI_READY)
			return *out != 0xffffffffu;
		io_delay_us(20);
	}
	return false;
}

/* Runs one management command. */
static bool mdi(const struct i8255x *x, uint32_t command, uint16_t *out)
{
	uint32_t v;
	if (!mdi_wait(x, &v)) /* one that poll() began */
		return false;
	x_write32(x, X_MDI, command | MDI_PHY(x->phy));
	bool ok = mdi_wait(x, &v);
	*out = (uint16_t)v;
	return ok;
}

static bool phy_get(const struct i8255x *x, uint32_t reg, uint16_t *out)
{
	return mdi(x, MDI_READ | MDI_REG(reg), out);
}

static bool phy_set(const struct i8255x *x, uint32_t reg, uint16_t v)
{
	uint16_t ignored;
	return mdi(x, MDI_WRITE | MDI_REG(reg) | v, &ignored);
}

/* True when there is a PHY, or when none can be asked. */
static bool phy_answers(const struct i8255x *x)
{
	uint16_t v;
	return !phy_get(x, PHY_STATUS, &v) || (v != 0 && v != 0xffff);
}

/* Asks for a register; poll() takes it 5 ms later. */
static void phy_ask(struct i8255x *x, uint8_t reg)
{
	x->phy_reg = reg;
	x_write32(x, X_MDI, MDI_READ | MDI_REG(reg) | MDI_PHY(x->phy));
}

void i8255x_hw_phy(struct i8255x *x)
{
	uint16_t control, offer;
	if (!x->mii)
		return;
	/* The EEPROM names the PHY. Where it is wrong, most boards have number 1, then 0. */
	for (unsigned i = 0; i < 33 && !phy_answers(x); i++)
		x->phy = i < 2 ? (uint8_t)(1 - i) : (uint8_t)(i & 31);
	/* An operating system that ran before may have switched the PHY off, or reduced its offer.
	 * Only then is the link negotiated again: that takes seconds. */
	if (phy_get(x, PHY_CONTROL, &control) && phy_get(x, PHY_OFFER, &offer) &&
	    ((control & (PHY_CONTROL_AN | PHY_CONTROL_OFF)) != PHY_CONTROL_AN ||
	     (offer & PHY_OFFER_ALL) != PHY_OFFER_ALL)) {
		bool ok = phy_set(x, PHY_OFFER, offer | PHY_OFFER_ALL) &&
		          phy_set(x, PHY_CONTROL, PHY_CONTROL_AN | PHY_CONTROL_REDO);
		(void)ok; /* on failure the link stays as it is, and its state shows that */
	}
	if (mdi_state(x) & MDI_READY)
		phy_ask(x, PHY_STATUS);
}

/* Notes speed and duplex: without negotiation as PHY_CONTROL says, else the best that both sides
 * offer (IEEE 802.3 28B.3). */
static void resolve(struct i8255x *x, uint16_t partner)
{
	struct nic_carrier *c = &x->nic.carrier;
	uint16_t both = x->phy_offer & partner;
	c->mbit = both & (PHY_100FD | PHY_100HD) ? 100 : 10;
	c->full_duplex = both & PHY_100FD || ((both & (PHY_100HD | PHY_10FD)) == PHY_10FD);
	if (!(x->phy_control & PHY_CONTROL_AN)) {
		c->mbit = x->phy_control & PHY_CONTROL_100 ? 100 : 10;
		c->full_duplex = (x->phy_control & PHY_CONTROL_FD) != 0;
	}
	/* Erratum of the chip sets: a resume gets lost at 10 Mbit/s half duplex. */
	x->nop_first = x->standby || (x->is_ich && c->mbit == 10 && !c->full_duplex);
	c->up = true;
}

void i8255x_hw_carrier(struct i8255x *x)
{
	struct nic_carrier *c = &x->nic.carrier;
	if (!x->mii) {
		*c = (struct nic_carrier){.up = true, .mbit = 10};
		return;
	}
	uint32_t v = mdi_state(x);
	if (!(v & MDI_READY))
		return; /* a PHY that does not answer has no carrier */
	uint16_t value = (uint16_t)v;
	uint8_t next = PHY_STATUS;
	switch (x->phy_reg) {
	case PHY_STATUS: /* a link that was lost shows once as such (22.2.4.2.13) */
		if (!(value & PHY_STATUS_LINK) || value == 0xffff)
			*c = (struct nic_carrier){0};
		else if (!c->up)
			next = PHY_CONTROL;
		break;
	case PHY_CONTROL:
		x->phy_control = value;
		next = PHY_OFFER;
		break;
	case PHY_OFFER:
		x->phy_offer = value;
		next = PHY_PARTNER;
		break;
	default:
		resolve(x, value);
	}
	phy_ask(x, next);
}

/* --- configuration
 * ------------------------------------------------------------------------------------ */

void i8255x_hw_configuration(const struct i8255x *x, uint8_t *out)
{
	/* The defaults of 6.4.2.3, with: standard blocks and counters (byte 6), MII (8), no
	 * insertion of the source address (10), padding (18, unused), duplex by the PHY's line
	 * (19). */
	static const uint8_t usual[CONFIG_BYTES] = {
	        CONFIG_BYTES, 0x08, 0,    0,    0, 0,    0x32, 0x03, 0x01, 0,   0x2e, 0,
	        0x60,         0,    0xf2, 0x48, 0, 0x40, 0xf2, 0x80, 0x3f, 0x05};
	memcpy(out, usual, sizeof usual);
	if (!x->mii) {
		out[8] = 0;
		out[15] |= 0x80; /* the 82503: a carrier, or a collision */
	}
	if (x->is_82557) {
		out[6] |= 0x80; /* frames with a VLAN tag count as bad: pass bad ones too */
	} else {
		out[18] |= 0x08; /* frames with a VLAN tag are not too long */
		out[19] |= 0x06; /* no wake-up by a magic packet, no frames for flow control */
	}
	out[15] |= x->promiscuous ? 0x01 : 0;
	out[21] |= x->promiscuous || x->all_groups ? 0x08 : 0;
}

void i8255x_hw_report(struct nic *nic, struct nic_report *r)
{
	static const char *const name[] = {"control", "status", "id", "id2", "offer", "partner"};
	struct i8255x *x = x_card(nic);
	nic_report_add(r, "scb", x_read16(x, X_STATUS));
	nic_report_add(r, "phy", x->mii ? x->phy : 0xff);
	for (uint32_t i = 0; x->mii && i < ARRAY_SIZE(name); i++) {
		uint16_t v;
		if (phy_get(x, i, &v))
			nic_report_add(r, name[i], v);
	}
	if (x->mii && mdi_state(x) & MDI_READY)
		phy_ask(x, x->phy_reg); /* poll() goes on where it was */
}
