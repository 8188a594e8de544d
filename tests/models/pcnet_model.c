/* The card of pcnet_model.h. */
#include "tests/models/pcnet_model.h"

#include "kernel/seam/io.h"

enum { INIT = 1, STRT = 2, STOP = 4, TDMD = 8, TXON = 16, RXON = 32, INEA = 64 };
enum { IDON = 0x100, TINT = 0x200, RINT = 0x400, MISS = 0x1000, CAUSES = 0x7f00 };
#define OWN (1u << 31)
#define ERR (1u << 30)
#define STP (1u << 25)
#define ENP (1u << 24)

static struct pcnet_model *of(struct card *c)
{
	return (struct pcnet_model *)c;
}

static bool has_spnd(const struct pcnet_model *m)
{
	return m->part >= 0x2621;
}

static bool has_mii(const struct pcnet_model *m)
{
	return m->part >= 0x2623;
}

static bool link_up(const struct pcnet_model *m)
{
	return m->card.cable && !(has_mii(m) && m->phy[0] & 0x0c00);
}

bool pcnet_model_irq(const struct card *c)
{
	const struct pcnet_model *m = (const struct pcnet_model *)c;
	return (m->csr[0] & INEA) && (m->csr[0] & ~m->csr[3] & CAUSES);
}

bool pcnet_model_quiet(const struct card *c)
{
	const struct pcnet_model *m = (const struct pcnet_model *)c;
	return (m->csr[0] & STOP) && !pcnet_model_irq(c);
}

static bool runs(const struct pcnet_model *m, uint16_t unit)
{
	return (m->csr[0] & unit) && !(m->csr[5] & 1 && has_spnd(m)) && card_reaches(&m->card);
}

/* --- transmit ----------------------------------------------------------------------------------
 */

static bool full_duplex(const struct pcnet_model *m)
{
	uint16_t both = m->phy[4] & m->partner;
	return both & 0x100 || (both & 0xc0) == 0x40;
}

void pcnet_model_send(struct card *c)
{
	struct pcnet_model *m = of(c);
	while (runs(m, TXON) && !c->tx_hold && !c->tx_hung) {
		uint8_t *d = pci_model_dma(&c->pci, m->tx + 16ull * m->tx_at, 16);
		uint32_t state = d ? load32(d + 4) : 0, n = (0u - state) & 0xfff;
		if (!(state & OWN))
			return;
		if ((state & 0xf000) != 0xf000 || (state & (STP | ENP)) != (STP | ENP))
			pci_model_fault("transmit descriptor %u: 0x%x", m->tx_at, state);
		if (full_duplex(m) != (m->bcr[9] & 1) && has_mii(m))
			pci_model_fault("the duplex is not that of the PHY");
		const uint8_t *from = pci_model_dma(&c->pci, load32(d), n);
		if (from && !m->underflow)
			card_sent(c, from, n);
		if (m->underflow && !(m->csr[3] & 0x40)) /* DXSUFLO */
			m->csr[0] &= (uint16_t)~TXON;
		store32(d + 4, (state & ~OWN) | (m->underflow ? ERR : 0));
		m->underflow = false;
		m->tx_at = (m->tx_at + 1) % m->n_tx;
		m->csr[0] |= TINT;
	}
}

/* --- receive
 * --------------------------------------------------------------------------------------- */

static bool accepted(const struct pcnet_model *m, const uint8_t *to)
{
	static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
	uint32_t bit = card_crc(to) >> 26;
	if (m->csr[15] & 0x8000 || memcmp(to, all, 6) == 0)
		return true;
	if (to[0] & 1)
		return m->csr[8 + bit / 16] >> bit % 16 & 1;
	return memcmp(to, m->address, 6) == 0;
}

/* Ends the next descriptor: n bytes, and the length and flags that it claims. */
static enum card_rx receive(struct pcnet_model *m, const uint8_t *frame, uint32_t n, uint32_t size,
                            uint32_t flags)
{
	uint8_t *d = pci_model_dma(&m->card.pci, m->rx + 16ull * m->rx_at, 16);
	uint32_t state = d ? load32(d + 4) : 0, room = (0u - state) & 0xfff;
	if (!(state & OWN)) {
		m->csr[0] |= MISS;
		m->csr[112]++;
		return CARD_MISSED;
	}
	if ((state & 0xf000) != 0xf000 || room < 1522)
		pci_model_fault("receive descriptor %u: 0x%x", m->rx_at, state);
	uint8_t *to = pci_model_dma(&m->card.pci, load32(d), room);
	if (to)
		memcpy(to, frame, min_u32(n, room));
	if (m->end_late) {
		m->late = d;
		m->late_size = size & 0xfff;
		m->late_state = (state & 0xffff) | flags;
		store32(d + 4, (state & 0xffff) | STP);
	} else {
		store32(d + 8, size & 0xfff);
		store32(d + 4, (state & 0xffff) | flags);
	}
	m->rx_at = (m->rx_at + 1) % m->n_rx;
	m->csr[0] |= RINT;
	return CARD_TAKEN;
}

void pcnet_model_end(struct pcnet_model *m)
{
	if (!(load32(m->late + 4) & OWN)) {
		store32(m->late + 8, m->late_size);
		store32(m->late + 4, m->late_state);
	}
}

enum card_rx pcnet_model_receive(struct card *c, const void *frame, uint32_t n)
{
	struct pcnet_model *m = of(c);
	if (!link_up(m) || !runs(m, RXON))
		return CARD_OFF;
	if (n < 60 || n > CARD_FRAME_MOST)
		return CARD_BAD;
	if (!accepted(m, frame))
		return CARD_FILTERED;
	return receive(m, frame, n, n + 4, STP | ENP);
}

bool pcnet_model_lie(struct card *c, uint32_t len, bool error)
{
	static const uint8_t junk[4096];
	struct pcnet_model *m = of(c);
	if (!runs(m, RXON))
		return false;
	return receive(m, junk, min_u32(len, 2048), len + 4, error ? ERR | STP | ENP : STP | ENP) ==
	       CARD_TAKEN;
}

/* --- registers
 * ------------------------------------------------------------------------------------------ */

static void initialize(struct pcnet_model *m)
{
	uint32_t at = m->csr[1] | (uint32_t)m->csr[2] << 16;
	const uint8_t *b = pci_model_dma(&m->card.pci, at, 28);
	if (!b || m->init_stuck)
		return;
	if (at & 3 || (m->bcr[20] & 0xff) != 2)
		pci_model_fault("init block at 0x%x, style %u", at, m->bcr[20]);
	m->csr[15] = load16(b);
	m->n_rx = 1u << (b[2] >> 4);
	m->n_tx = 1u << (b[3] >> 4);
	memcpy(m->address, b + 4, 6);
	for (unsigned i = 0; i < 4; i++)
		m->csr[8 + i] = load16(b + 12 + 2 * i);
	m->rx = load32(b + 20);
	m->tx = load32(b + 24);
	if (m->rx & 15 || m->tx & 15 || m->n_rx > 512 || m->n_tx > 512)
		pci_model_fault("rings at 0x%x, 0x%x", m->rx, m->tx);
	m->rx_at = m->tx_at = 0;
	m->csr[0] |= IDON;
}

static void csr0_write(struct pcnet_model *m, uint16_t v)
{
	if (v & STOP) {
		if (!m->card.reset_stuck)
			m->csr[0] = STOP;
		return;
	}
	m->csr[0] &= (uint16_t) ~(v & CAUSES);
	m->csr[0] = (uint16_t)((m->csr[0] & ~INEA) | (v & INEA));
	if (v & INIT) {
		m->csr[0] = (uint16_t)((m->csr[0] & ~STOP) | INIT);
		initialize(m);
	}
	if (v & STRT) {
		if (!m->n_rx)
			pci_model_fault("started without initialization");
		m->csr[0] = (uint16_t)((m->csr[0] & ~STOP) | STRT | TXON | RXON);
	}
	if (v & TDMD)
		pcnet_model_send(&m->card);
}

static void csr_write(struct pcnet_model *m, uint16_t v)
{
	bool still = (m->csr[0] & STOP) || (m->csr[5] & 1 && has_spnd(m));
	switch (m->rap) {
	case 0:
		csr0_write(m, v);
		return;
	case 3:
		if (!still && (v ^ m->csr[3]) & 0x00ff)
			pci_model_fault("CSR3 while the card runs");
		break;
	case 4:
		break;
	case 5:
		if (!has_spnd(m))
			return;
		break;
	case 1:
	case 2:
	case 8:
	case 9:
	case 10:
	case 11:
	case 15:
		if (!still)
			pci_model_fault("CSR%u while the card runs", m->rap);
		break;
	default:
		pci_model_fault("write of CSR%u", m->rap);
	}
	m->csr[m->rap & 127] = v;
}

static uint16_t phy_read(const struct pcnet_model *m)
{
	unsigned reg = m->bcr[33] & 31;
	if ((m->bcr[33] >> 5 & 31) != m->phy_at)
		return 0xffff;
	if (reg == 1)
		return link_up(m) ? 0x782d : 0x7829;
	return reg == 5 ? m->partner : m->phy[reg & 7];
}

static void bcr_write(struct pcnet_model *m, uint16_t v)
{
	unsigned reg = m->bcr[33] & 31;
	if (m->rap == 20 && !(m->csr[0] & STOP))
		pci_model_fault("BCR20 while the card runs");
	if (m->rap == 34) {
		if (!has_mii(m) || (m->bcr[33] >> 5 & 31) != m->phy_at || reg > 7)
			pci_model_fault("write of a PHY: 0x%x", m->bcr[33]);
		m->negotiations += reg == 0 && v & 0x200;
		m->phy[reg & 7] = reg ? v : v & 0xfdff;
		return;
	}
	m->bcr[m->rap & 63] = v;
}

static uint16_t bcr_read(struct pcnet_model *m)
{
	if (m->rap == 4)
		return (uint16_t)((m->bcr[4] & 0x7fff) |
		                  (m->card.cable && m->bcr[4] & 0x40 ? 0x8000 : 0));
	if (m->rap == 34)
		return phy_read(m);
	return m->bcr[m->rap & 63];
}

static void stop(struct pcnet_model *m)
{
	if (m->card.reset_stuck)
		return;
	m->card.resets++;
	memset(m->csr, 0, sizeof m->csr);
	m->csr[0] = STOP;
	m->csr[88] = (uint16_t)(m->part << 12 | 3);
	m->csr[89] = (uint16_t)(m->part >> 4);
	m->rap = 0;
	m->n_rx = m->n_tx = 0;
	m->card.tx_hung = false;
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct pcnet_model *m = ctx;
	if (m->card.gone)
		return 0xffffffffu >> (32 - 8 * size);
	if (off < 16 && size == 1)
		return m->prom[off];
	if (size != 2)
		pci_model_fault("read of %u at 0x%x", size, off);
	switch (off) {
	case 0x10:
		return m->rap == 0 && m->card.reset_stuck ? m->csr[0] & (uint32_t)~STOP
		                                          : m->csr[m->rap & 127];
	case 0x12:
		return m->rap;
	case 0x14:
		stop(m);
		return 0;
	case 0x16:
		return bcr_read(m);
	default:
		pci_model_fault("read at 0x%x", off);
		return 0;
	}
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct pcnet_model *m = ctx;
	if (m->card.gone)
		return;
	if (size != 2)
		pci_model_fault("write of %u at 0x%x", size, off);
	switch (off) {
	case 0x10:
		csr_write(m, (uint16_t)v);
		break;
	case 0x12:
		m->rap = (uint16_t)v;
		break;
	case 0x16:
		bcr_write(m, (uint16_t)v);
		break;
	default:
		pci_model_fault("write at 0x%x", off);
	}
}

struct card *pcnet_model_plug(struct pcnet_model *m, uint32_t part, unsigned slot,
                              const uint8_t address[6])
{
	memset(m, 0, sizeof *m);
	m->part = part;
	m->card.pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x1022,
	        .device = 0x2000,
	        .revision = 0x10,
	        .class_code = 2,
	        .irq = (uint8_t)(10 + slot),
	        .bar[0] = {.io = true,
	                   .base = 0xc000u + slot * 0x20u,
	                   .size = 32,
	                   .read = reg_read,
	                   .write = reg_write},
	        .ctx = m,
	};
	m->card.cable = true;
	memcpy(m->prom, address, 6);
	m->phy_at = 1;
	m->partner = 0x45e1;
	m->phy[0] = 0x1000;
	m->phy[4] = 0x01e1;
	stop(m);
	m->card.resets = 0;
	pci_model_add(&m->card.pci);
	return &m->card;
}
