/* AMD PCnet-PCI network cards: reset, initialization, carrier, filters. Registers and sections: see
 * pcnet_reg.h. RAP is 0 whenever a function here returns, so that the packet path needs one access.
 *
 * Left out on purpose: 32-bit access to registers (a card stays in it until it is switched off),
 * writing the EEPROM, the HomePNA port of the 978, flow control. */
#include "drivers/net/pcnet/pcnet.h"

static uint16_t in16(const struct pcnet *c, uint16_t port)
{
	return io_in16((uint16_t)(c->ports + port));
}

static void out16(const struct pcnet *c, uint16_t port, uint16_t v)
{
	io_out16((uint16_t)(c->ports + port), v);
}

static uint16_t get(const struct pcnet *c, uint16_t port, uint16_t n)
{
	out16(c, P_RAP, n);
	uint16_t v = in16(c, port);
	out16(c, P_RAP, 0);
	return v;
}

static void put(const struct pcnet *c, uint16_t port, uint16_t n, uint16_t v)
{
	out16(c, P_RAP, n);
	out16(c, port, v);
	out16(c, P_RAP, 0);
}

bool pcnet_hw_reset(const struct pcnet *c)
{
	(void)in16(c, P_RESET);
	io_delay_us(50);
	out16(c, P_RAP, 0);
	pcnet_csr0(c, CSR0_STOP);
	io_delay_us(50);
	return pcnet_status(c) == CSR0_STOP;
}

static uint16_t mii(const struct pcnet *c, uint32_t phy, uint32_t reg)
{
	put(c, P_BDP, BCR_MII_ADDR, (uint16_t)(phy << 5 | reg));
	return get(c, P_BDP, BCR_MII_DATA);
}

static void mii_set(const struct pcnet *c, uint32_t reg, uint32_t v)
{
	put(c, P_BDP, BCR_MII_ADDR, (uint16_t)((uint32_t)c->phy << 5 | reg));
	put(c, P_BDP, BCR_MII_DATA, (uint16_t)v);
}

/* An operating system that ran before may have switched the PHY off, or reduced its offer. Only
 * then is the link negotiated again: that takes seconds. */
static void negotiate(const struct pcnet *c)
{
	uint16_t control = mii(c, c->phy, MII_CONTROL), offer = mii(c, c->phy, MII_OFFER);
	if (control == P_GONE ||
	    ((control & (MII_CONTROL_AN | MII_CONTROL_OFF)) == MII_CONTROL_AN &&
	     (offer & MII_OFFER_ALL) == MII_OFFER_ALL))
		return;
	mii_set(c, MII_OFFER, offer | MII_OFFER_ALL);
	mii_set(c, MII_CONTROL, MII_CONTROL_AN | MII_CONTROL_REDO);
}

const char *pcnet_hw_identify(struct pcnet *c)
{
	uint32_t id = (uint32_t)get(c, P_RDP, CSR_ID_HIGH) << 16 | get(c, P_RDP, CSR_ID_LOW);
	uint32_t part = ID_PART(id);
	if (part < PART_FIRST || part > PART_LAST)
		return "not a PCnet-PCI, or in 32-bit mode: switch the machine off and on";
	c->has_mii = part >= PART_MII;
	for (uint8_t i = 0; c->has_mii && i < MII_PHYS; i++) {
		uint16_t v = mii(c, i, MII_STATUS);
		if (v == 0 || v == 0xffff)
			continue;
		c->phy = i;
		return NULL;
	}
	return c->has_mii ? "no PHY" : NULL;
}

bool pcnet_hw_address(struct pcnet *c)
{
	static const mac zero;
	mac *a = &c->nic.address;
	for (uint16_t i = 0; i < 6; i++)
		a->b[i] = io_in8((uint16_t)(c->ports + i));
	return !mac_is_group(a) && !mac_eq(a, &zero);
}

static uint16_t mode(const struct pcnet *c)
{
	return MODE_AUTO | (c->promiscuous ? MODE_PROM : 0);
}

void pcnet_hw_mask(const struct pcnet *c)
{
	put(c, P_RDP, 3, (uint16_t)((CSR3_MASKS | CSR3_DXSUFLO) & ~(c->tx_wake ? CSR3_TINT : 0)));
}

bool pcnet_hw_start(const struct pcnet *c)
{
	struct p_init *b = c->init;
	uint32_t at = (uint32_t)dma_addr(b);
	*b = (struct p_init){.mode = mode(c),
	                     .rx_len = P_RX_LOG << 4,
	                     .tx_len = P_TX_LOG << 4,
	                     .rx = (uint32_t)dma_addr(c->rx_desc),
	                     .tx = (uint32_t)dma_addr(c->tx_desc)};
	memcpy(b->address, c->nic.address.b, 6);
	memcpy(b->hash, c->hash, 8);
	put(c, P_BDP, BCR_STYLE, STYLE_32);
	put(c, P_BDP, BCR_MISC, get(c, P_BDP, BCR_MISC) | BCR2_ASEL);
	put(c, P_BDP, BCR_LINK, BCR4_SHOW_LINK);
	put(c, P_BDP, BCR_BURST, get(c, P_BDP, BCR_BURST) | BCR18_BURSTS);
	if (c->has_mii)
		negotiate(c);
	pcnet_hw_mask(c);
	put(c, P_RDP, 4, CSR4_USUAL);
	put(c, P_RDP, 1, (uint16_t)at);
	put(c, P_RDP, 2, (uint16_t)(at >> 16));
	io_wmb();
	pcnet_csr0(c, CSR0_INIT);
	uint64_t end = io_now_us() + 100000;
	uint16_t v;
	while (!((v = pcnet_status(c)) & CSR0_IDON) || v == P_GONE) {
		if (io_now_us() > end)
			return false;
		io_delay_us(20);
	}
	pcnet_csr0(c, CSR0_IDON | CSR0_STRT | CSR0_INEA);
	return true;
}

bool pcnet_hw_filter(const struct pcnet *c)
{
	bool ok = false;
	put(c, P_RDP, 5, CSR5_SPND);
	for (unsigned i = 0; i < 100 && !ok; i++) {
		ok = get(c, P_RDP, 5) & CSR5_SPND;
		if (!ok)
			io_delay_us(20);
	}
	for (uint16_t i = 0; ok && i < 4; i++)
		put(c, P_RDP, CSR_LADRF + i, load16(c->hash + 2 * i));
	if (ok)
		put(c, P_RDP, CSR_MODE, mode(c));
	put(c, P_RDP, 5, 0);
	return ok;
}

/* The card does not follow its PHY by itself. */
static void write_duplex(const struct pcnet *c, bool full)
{
	uint16_t old = get(c, P_BDP, BCR_DUPLEX);
	uint16_t wanted = (uint16_t)((old & ~BCR9_FDEN) | (full ? BCR9_FDEN : 0));
	if (wanted != old)
		put(c, P_BDP, BCR_DUPLEX, wanted);
}

void pcnet_hw_carrier(struct pcnet *c)
{
	struct nic_carrier now = {0};
	if (!c->has_mii) {
		now.up = get(c, P_BDP, BCR_LINK) & BCR4_LINK;
		now.mbit = now.up ? 10 : 0;
		now.full_duplex = now.up && get(c, P_BDP, BCR_DUPLEX) & BCR9_FDEN;
	} else if (mii(c, c->phy, MII_STATUS) & MII_STATUS_LINK) {
		uint16_t both = mii(c, c->phy, MII_OFFER) & mii(c, c->phy, MII_PARTNER);
		now.up = true;
		now.mbit = both & (MII_100FD | MII_100HD) ? 100 : 10;
		now.full_duplex = both & MII_100FD || (both & (MII_100HD | MII_10FD)) == MII_10FD;
		write_duplex(c, now.full_duplex);
	}
	c->nic.carrier = now;
}

uint32_t pcnet_hw_missed(struct pcnet *c)
{
	uint16_t before = c->missed;
	c->missed = get(c, P_RDP, CSR_MISSED);
	return (uint16_t)(c->missed - before);
}

void pcnet_hw_report(struct nic *nic, struct nic_report *r)
{
	static const char *const name[] = {"control", "status", "id", "id2", "offer", "partner"};
	const struct pcnet *c = (const struct pcnet *)nic;
	nic_report_add(r, "csr0", pcnet_status(c));
	nic_report_add(r, "part",
	               (uint32_t)get(c, P_RDP, CSR_ID_HIGH) << 16 | get(c, P_RDP, CSR_ID_LOW));
	nic_report_add(r, "bcr4", get(c, P_BDP, BCR_LINK));
	nic_report_add(r, "bcr9", get(c, P_BDP, BCR_DUPLEX));
	for (uint32_t i = 0; c->has_mii && i < ARRAY_SIZE(name); i++)
		nic_report_add(r, name[i], mii(c, c->phy, i));
}
