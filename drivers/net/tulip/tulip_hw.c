/* DEC 21140 and 21143: reset, EEPROM, PHY, carrier. Sections: see tulip_reg.h.
 *
 * Left out on purpose: boards without MII (their EEPROM describes the transceiver; the log says
 * so), flow control, wake-up. */
#include "drivers/net/tulip/tulip.h"

#include "drivers/net/wire.h"

#define MODE_LINK (CSR6_FULL | CSR6_10)

static bool stopped(const struct tulip *t)
{
	for (unsigned i = 0; i < 100; i++) {
		uint32_t v = tulip_get(t, 5);
		if (v == TULIP_GONE)
			return false;
		if (CSR5_RX(v) == 0 && CSR5_TX(v) == 0)
			return true;
		io_delay_us(20); /* running transfers end */
	}
	return false;
}

bool tulip_hw_reset(struct tulip *t)
{
	tulip_put(t, 7, 0);
	tulip_put(t, 6, (tulip_get(t, 6) & ~(CSR6_RX | CSR6_TX)) | CSR6_ONE);
	(void)stopped(t);
	tulip_put(t, 0, CSR0_RESET);
	io_delay_us(100); /* at least 50 bus cycles */
	tulip_put(t, 0, CSR0_BUS);
	tulip_put(t, 7, 0);
	return stopped(t);
}

/* --- EEPROM ---------------------------------------------------------------------------------- */

static void srom_lines(const struct tulip *t, uint32_t v)
{
	tulip_put(t, 9, CSR9_SROM | CSR9_READ | v);
	(void)tulip_get(t, 9); /* pushes the write through the bridges before the wait */
	io_delay_us(2);
}

/* One clock cycle. Gives the bit that the EEPROM shows behind the rising edge. */
static bool srom_bit(const struct tulip *t, bool di)
{
	uint32_t v = CSR9_SROM_CS | (di ? CSR9_SROM_DI : 0);
	srom_lines(t, v);
	srom_lines(t, v | CSR9_SROM_SK);
	bool out = tulip_get(t, 9) & CSR9_SROM_DO;
	srom_lines(t, v);
	return out;
}

/* Reads one word. With *bits 0 it finds how many bits the address has: the EEPROM shows a 0 behind
 * the last one. */
static uint16_t srom_word(const struct tulip *t, uint32_t at, uint32_t *bits)
{
	uint32_t v = 0, n = 0;
	srom_lines(t, CSR9_SROM_CS);
	for (int i = 2; i >= 0; i--)
		srom_bit(t, 6 >> i & 1);
	if (*bits == 0) {
		while (n < 12 && srom_bit(t, 0))
			n++;
		*bits = n + 1;
	} else {
		for (n = *bits; n; n--)
			srom_bit(t, at >> (n - 1) & 1);
	}
	for (int i = 0; i < 16; i++)
		v = v << 1 | srom_bit(t, 0);
	srom_lines(t, 0);
	return (uint16_t)v;
}

bool tulip_hw_address(struct tulip *t)
{
	uint32_t bits = 0;
	(void)srom_word(t, 0, &bits);
	if (bits != 6 && bits != 8)
		return false;
	for (uint32_t i = 0; i < SROM_BYTES / 2; i++)
		store16(t->srom + 2 * i, srom_word(t, i, &bits));
	/* Boards older than the format have the address first, and again from byte 16 on. */
	bool old = memcmp(t->srom, t->srom + 16, 8) == 0;
	memcpy(t->nic.address.b, t->srom + (old ? 0 : SROM_ADDRESS), 6);
	return wire_station(&t->nic.address);
}

/* --- PHY ------------------------------------------------------------------------------------- */

static void mii_out(const struct tulip *t, uint32_t bits, unsigned n)
{
	while (n--) {
		uint32_t v = CSR9_WRITE | (bits >> n & 1 ? CSR9_MDO : 0);
		tulip_put(t, 9, v);
		io_delay_us(1);
		tulip_put(t, 9, v | CSR9_MDC);
		io_delay_us(1);
	}
}

/* Reads a register (IEEE 802.3 22.2.4.5): 32 ones, start, operation, numbers, turnaround. */
static uint16_t mii_get(const struct tulip *t, uint32_t phy, uint32_t reg)
{
	uint32_t v = 0;
	mii_out(t, 0xffffffffu, 32);
	mii_out(t, 0x6u << 10 | phy << 5 | reg, 14);
	for (unsigned i = 0; i < 19; i++) {
		tulip_put(t, 9, CSR9_MII_IN | CSR9_READ);
		io_delay_us(1);
		v = v << 1 | ((tulip_get(t, 9) & CSR9_MDI) != 0);
		tulip_put(t, 9, CSR9_MII_IN | CSR9_READ | CSR9_MDC);
		io_delay_us(1);
	}
	return (uint16_t)(v >> 1); /* the last one is idle */
}

static void mii_set(const struct tulip *t, uint32_t phy, uint32_t reg, uint16_t v)
{
	mii_out(t, 0xffffffffu, 32);
	mii_out(t, 0x5u << 12 | phy << 7 | reg << 2 | 2, 16);
	mii_out(t, v, 16);
	tulip_put(t, 9, CSR9_MII_IN | CSR9_READ);
}

/* Writes a sequence of the EEPROM to the general-purpose pins: bytes, or words. Gives the offset
 * behind it; what lies outside of the EEPROM is not there. */
static uint32_t pins(const struct tulip *t, uint32_t at)
{
	uint32_t n = at < SROM_BYTES ? t->srom[at++] : 0;
	for (; n; n--) {
		if (t->is_21140) {
			if (at >= SROM_BYTES)
				break;
			tulip_put(t, 12, t->srom[at++]);
		} else {
			if (at + 2 > SROM_BYTES)
				break;
			tulip_put(t, 15, (uint32_t)load16(t->srom + at) << 16);
			at += 2;
		}
		io_delay_us(100);
	}
	return at;
}

/* Does what the EEPROM says about a board with MII: the reset sequence, then that which chooses the
 * PHY ("Serial ROM Format", 6 and 7). */
static void choose_phy(const struct tulip *t)
{
	uint32_t at = load16(t->srom + SROM_LEAF),
	         want = t->is_21140 ? BLOCK_MII_GP : BLOCK_MII_SIA;
	if (at < 30 || at + 4 > SROM_BYTES)
		return;
	at += 2; /* the connection chosen by the maker */
	if (t->is_21140)
		tulip_put(t, 12, CSR12_DIRECTION | t->srom[at++]);
	uint32_t blocks = t->srom[at++];
	for (; blocks && at + 4 <= SROM_BYTES; blocks--) {
		uint32_t len = t->srom[at];
		if (!(len & BLOCK_EXTENDED)) {
			at += 4; /* the short form, never MII */
			continue;
		}
		if (t->srom[at + 1] == want) {
			uint32_t choose = at + 3, step = t->is_21140 ? 1 : 2;
			uint32_t reset = choose + 1 + step * t->srom[choose];
			(void)pins(t, reset);
			(void)pins(t, choose);
			return;
		}
		at += (len & 0x7f) + 1;
	}
}

static bool phy_answers(const struct tulip *t, uint32_t phy)
{
	uint16_t v = mii_get(t, phy, MII_STATUS);
	return v != 0 && v != 0xffff;
}

void tulip_hw_board(struct tulip *t)
{
	t->mode = CSR6_ONE | CSR6_PORT_MII | CSR6_NO_SQE | CSR6_WHOLE |
	          (t->mode & (CSR6_PROMISCUOUS | CSR6_ALL_GROUPS));
	tulip_put(t, 6, t->mode);
	if (!t->is_21140)
		tulip_put(t, 13, 0); /* the built-in transceiver is off */
	choose_phy(t);
	t->negotiated = false;
}

bool tulip_hw_find_phy(struct tulip *t)
{
	uint64_t end = io_now_us() + PHY_RESET_US;
	for (;;) {
		for (uint8_t i = 0; i < 32; i++)
			if (phy_answers(t, i)) {
				t->phy = i;
				return true;
			}
		if (tulip_get(t, 5) == TULIP_GONE || io_now_us() > end)
			return false;
		io_delay_us(5000);
	}
}

/* An operating system that ran before may have switched the PHY off, or reduced its offer. Only
 * then is the link negotiated again: that takes seconds. A PHY that does not answer yet is left for
 * the next look at the carrier. */
static void negotiate(struct tulip *t)
{
	uint16_t control = mii_get(t, t->phy, MII_CONTROL), offer = mii_get(t, t->phy, MII_OFFER);
	t->negotiated = control != 0xffff && offer != 0xffff && !(control & MII_CONTROL_RESET);
	if (t->negotiated && ((control & (MII_CONTROL_AN | MII_CONTROL_OFF)) != MII_CONTROL_AN ||
	                      (offer & MII_OFFER_ALL) != MII_OFFER_ALL)) {
		mii_set(t, t->phy, MII_OFFER, offer | MII_OFFER_ALL);
		mii_set(t, t->phy, MII_CONTROL, MII_CONTROL_AN | MII_CONTROL_REDO);
	}
}

void tulip_hw_carrier(struct tulip *t)
{
	struct nic_carrier now = {0};
	if (!t->negotiated)
		negotiate(t);
	uint16_t status = mii_get(t, t->phy, MII_STATUS);
	if (status & MII_STATUS_LINK && status != 0xffff) {
		uint16_t both = mii_get(t, t->phy, MII_OFFER) & mii_get(t, t->phy, MII_PARTNER);
		now.up = true;
		now.mbit = both & (MII_100FD | MII_100HD) ? 100 : 10;
		now.full_duplex = both & MII_100FD || (both & (MII_100HD | MII_10FD)) == MII_10FD;
		t->mode = (t->mode & ~MODE_LINK) | (now.full_duplex ? CSR6_FULL : 0) |
		          (now.mbit == 10 ? CSR6_10 : 0);
	}
	t->nic.carrier = now;
}

void tulip_hw_mode(struct tulip *t, uint32_t old)
{
	if (t->mode == old)
		return;
	/* Speed and duplex may change only while both processes are stopped (3.2.2.6). What does
	 * not stop keeps them: the next look at the carrier tries again. */
	if ((t->mode ^ old) & MODE_LINK) {
		tulip_put(t, 6, old & ~(CSR6_RX | CSR6_TX));
		if (stopped(t))
			tulip_put(t, 6, t->mode & ~(CSR6_RX | CSR6_TX));
		else
			t->mode = (t->mode & ~MODE_LINK) | (old & MODE_LINK);
	}
	tulip_put(t, 6, t->mode);
}

void tulip_hw_report(struct nic *nic, struct nic_report *r)
{
	static const char *const name[] = {"control", "status", "id", "id2", "offer", "partner"};
	const struct tulip *t = (const struct tulip *)nic;
	nic_report_add(r, "csr5", tulip_get(t, 5));
	nic_report_add(r, "csr6", tulip_get(t, 6));
	nic_report_add(r, "csr12", tulip_get(t, 12));
	nic_report_add(r, "phy", t->phy);
	for (uint32_t i = 0; i < ARRAY_SIZE(name); i++)
		nic_report_add(r, name[i], mii_get(t, t->phy, i));
}
