/* 3Com EtherLink XL: reset, EEPROM, PHY, carrier. Registers: c90x_reg.h.
 *
 * The registers are reached through I/O ports: after a reset memory must rest for 100 ms.
 *
 * Left out on purpose: thin coax, AUI and fibre, flow control, wake-up, cards of notebooks. */
#include "drivers/net/c90x/c90x.h"

#include "drivers/net/wire.h"

static void select_window(struct c90x *c, uint8_t window)
{
	if (c->window == window)
		return;
	c_command(c, SELECT(window));
	c->window = window;
}

bool c90x_hw_done(const struct c90x *c, uint32_t us)
{
	for (;; us--) {
		uint16_t v = c_in16(c, C_STATUS);
		if (!(v & STATUS_BUSY))
			return true;
		if (v == C_GONE || us == 0)
			return false;
		io_delay_us(1);
	}
}

/* The same for what takes milliseconds. */
static bool done_slowly(const struct c90x *c, uint32_t ms)
{
	for (; ms; ms--) {
		if (c90x_hw_done(c, 0))
			return true;
		if (c_in16(c, C_STATUS) == C_GONE)
			return false;
		io_delay_us(1000);
	}
	return false;
}

bool c90x_hw_reset(struct c90x *c)
{
	if (c_in16(c, C_STATUS) == C_GONE)
		return false;
	c_command(c, RESET_ALL);
	io_delay_us(1000);
	c->window = 0;
	return done_slowly(c, 200);
}

/* --- EEPROM ---------------------------------------------------------------------------------- */

static bool ee_word(struct c90x *c, uint32_t at, uint16_t *v)
{
	select_window(c, 0);
	c_out16(c, C_EE_COMMAND, EE_READ | at);
	for (unsigned i = 0; i < 100; i++) {
		io_delay_us(20);
		if (!(c_in16(c, C_EE_COMMAND) & EE_BUSY)) {
			*v = c_in16(c, C_EE_DATA);
			return true;
		}
	}
	return false;
}

static bool read_address(struct c90x *c, uint32_t at)
{
	for (uint32_t i = 0; i < 3; i++) {
		uint16_t v;
		if (!ee_word(c, at + i, &v))
			return false;
		c->nic.address.b[2 * i] = (uint8_t)(v >> 8);
		c->nic.address.b[2 * i + 1] = (uint8_t)v;
	}
	return wire_station(&c->nic.address);
}

bool c90x_hw_address(struct c90x *c)
{
	/* The address of who built the PC, then 3Com's. */
	return read_address(c, EE_ADDRESS) || read_address(c, 0);
}

/* --- PHY ------------------------------------------------------------------------------------- */

static void mii_out(const struct c90x *c, uint32_t bits, unsigned n)
{
	while (n--) {
		uint32_t v = MII_WRITE | (bits >> n & 1 ? MII_DATA : 0);
		c_out16(c, C_MII, v);
		io_delay_us(1);
		c_out16(c, C_MII, v | MII_CLOCK);
		io_delay_us(1);
	}
}

/* Reads a register (IEEE 802.3 22.2.4.5): 32 ones, start, operation, numbers, turnaround. */
static uint16_t mii_get(struct c90x *c, uint32_t phy, uint32_t reg)
{
	uint32_t v = 0;
	select_window(c, 4);
	mii_out(c, 0xffffffffu, 32);
	mii_out(c, 0x6u << 10 | phy << 5 | reg, 14);
	for (unsigned i = 0; i < 19; i++) {
		c_out16(c, C_MII, 0);
		io_delay_us(1);
		v = v << 1 | ((c_in16(c, C_MII) & MII_DATA) != 0);
		c_out16(c, C_MII, MII_CLOCK);
		io_delay_us(1);
	}
	return (uint16_t)(v >> 1); /* the last one is idle */
}

static void mii_set(struct c90x *c, uint32_t phy, uint32_t reg, uint16_t v)
{
	select_window(c, 4);
	mii_out(c, 0xffffffffu, 32);
	mii_out(c, 0x5u << 12 | phy << 7 | reg << 2 | 2, 16);
	mii_out(c, v, 16);
	c_out16(c, C_MII, 0);
}

static bool phy_answers(struct c90x *c, uint32_t phy)
{
	uint16_t v = mii_get(c, phy, MII_STATUS);
	return v != 0 && v != 0xffff;
}

/* An operating system that ran before may have switched the PHY off, or reduced its offer. Only
 * then is the link negotiated again: that takes seconds. */
static void negotiate(struct c90x *c)
{
	uint16_t control = mii_get(c, c->phy, MII_CONTROL), offer = mii_get(c, c->phy, MII_OFFER);
	if ((control & (MII_CONTROL_AN | MII_CONTROL_OFF)) == MII_CONTROL_AN &&
	    (offer & MII_OFFER_ALL) == MII_OFFER_ALL)
		return;
	mii_set(c, c->phy, MII_OFFER, offer | MII_OFFER_ALL);
	mii_set(c, c->phy, MII_CONTROL, MII_CONTROL_AN | MII_CONTROL_REDO);
}

/* Finds the PHY: the one of the chip is number 24. A write of another connection costs the link, so
 * the same one is not written again. */
static void connect(struct c90x *c)
{
	uint32_t i = 0;
	while (i < PHY_NONE && !phy_answers(c, (PHY_USUAL + i) & 31))
		i++;
	c->phy = i == PHY_NONE ? PHY_NONE : (uint8_t)((PHY_USUAL + i) & 31);
	uint32_t port = i == PHY_NONE ? PORT_10BASET : c->old ? PORT_MII : PORT_AUTO;
	select_window(c, 3);
	uint32_t old = c_in32(c, C_INTERNAL);
	if ((old & PORT_ANY) != port && !(port == PORT_AUTO && (old & PORT_ANY) == PORT_MII))
		c_out32(c, C_INTERNAL, (old & ~PORT_ANY) | port);
	if (c->phy != PHY_NONE) {
		negotiate(c);
		return;
	}
	select_window(c, 4);
	c_out16(c, C_MEDIA, c_in16(c, C_MEDIA) | MEDIA_10BASET);
}

static void write_mac(struct c90x *c, uint16_t v)
{
	c->mac = v;
	select_window(c, 3);
	c_out16(c, C_MAC, v);
}

void c90x_hw_carrier(struct c90x *c)
{
	struct nic_carrier now = {0};
	if (c->phy == PHY_NONE) {
		select_window(c, 4);
		now.up = c_in16(c, C_MEDIA) & MEDIA_LINK;
		now.mbit = now.up ? 10 : 0;
		c->nic.carrier = now;
		return;
	}
	uint16_t status = mii_get(c, c->phy, MII_STATUS);
	if (status & MII_STATUS_LINK && status != 0xffff) {
		uint16_t both = mii_get(c, c->phy, MII_OFFER) & mii_get(c, c->phy, MII_PARTNER);
		now.up = true;
		now.mbit = both & (MII_100FD | MII_100HD) ? 100 : 10;
		now.full_duplex = both & MII_100FD || (both & (MII_100HD | MII_10FD)) == MII_10FD;
		/* The card does not follow its PHY by itself. */
		uint32_t wanted = (c->mac & ~(uint32_t)MAC_FULL) | (now.full_duplex ? MAC_FULL : 0);
		if (wanted != c->mac)
			write_mac(c, (uint16_t)wanted);
	}
	c->nic.carrier = now;
}

/* --- start ----------------------------------------------------------------------------------- */

static void write_address(struct c90x *c)
{
	select_window(c, 2);
	for (uint32_t i = 0; i < 6; i += 2) {
		c_out16(c, C_STATION + i, load16(c->nic.address.b + i));
		c_out16(c, C_MASK + i, 0); /* a reset leaves it as it was */
	}
}

bool c90x_hw_start(struct c90x *c)
{
	connect(c);
	c_command(c, TX_RESET);
	if (!c90x_hw_done(c, 2000))
		return false;
	c_command(c, RX_RESET);
	if (!done_slowly(c, 20))
		return false;
	write_address(c);
	write_mac(c, c->old ? MAC_LARGE : 0);
	if (!c->old) {
		/* Not with the register behind it: 32 bits at once would write that too. */
		c_out16(c, C_MAX_SIZE, RX_SIZE_MOST);
		select_window(c, 7);
		c_out16(c, C_PME, 0);
		c_out32(c, C_DMA_CONTROL, c_in32(c, C_DMA_CONTROL) | DMA_NO_MWI);
	}
	c90x_hw_filter(c);
	c90x_hw_carrier(c);
	return true;
}

/* A B looks at six bits of a number only, so one number clears what another one sets: all are
 * cleared before one is set. Meanwhile the frames to all groups pass. */
static void write_hash(const struct c90x *c, uint32_t meanwhile)
{
	c_command(c, FILTER(meanwhile | FILTER_GROUPS));
	for (uint32_t i = 0; i < 256; i++)
		c_command(c, HASH(i, 0));
	for (uint32_t i = 0; i < 256; i++)
		if (c->hash[i / 32] >> i % 32 & 1)
			c_command(c, HASH(i, 1));
}

void c90x_hw_filter(const struct c90x *c)
{
	uint32_t v = FILTER_OWN | FILTER_BROADCAST | (c->promiscuous ? FILTER_ALL : 0);
	if (!c->old)
		write_hash(c, v);
	if (c->groups || c->promiscuous)
		v |= c->old || c->promiscuous ? FILTER_GROUPS : FILTER_HASH;
	c_command(c, FILTER(v));
}

/* All counters are read, because one that is half full is a cause until it is read. */
void c90x_hw_stats(struct c90x *c)
{
	select_window(c, 6);
	for (uint32_t i = 0; i < C_COUNTERS; i++) {
		uint8_t v = c_in8(c, i);
		if (i == C_OVERRUNS)
			c->nic.count.rx_missed += v;
	}
	(void)c_in16(c, C_BYTES_IN);
	(void)c_in16(c, C_BYTES);
}

void c90x_hw_report(struct nic *nic, struct nic_report *r)
{
	static const char *const name[] = {"control", "phystatus", "id", "id2", "offer", "partner"};
	struct c90x *c = (struct c90x *)nic;
	nic_report_add(r, "status", c_in16(c, C_STATUS));
	nic_report_add(r, "dmacontrol", c_in32(c, C_DMA_CONTROL));
	select_window(c, 3);
	nic_report_add(r, "internal", c_in32(c, C_INTERNAL));
	nic_report_add(r, "mac", c_in16(c, C_MAC));
	select_window(c, 4);
	nic_report_add(r, "netdiag", c_in16(c, C_NET_DIAG));
	nic_report_add(r, "media", c_in16(c, C_MEDIA));
	nic_report_add(r, "phy", c->phy);
	for (uint32_t i = 0; c->phy != PHY_NONE && i < ARRAY_SIZE(name); i++)
		nic_report_add(r, name[i], mii_get(c, c->phy, i));
}
