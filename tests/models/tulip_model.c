/* The card of tulip_model.h. */
#include "tests/models/tulip_model.h"

#include "kernel/seam/io.h"

#define OWN      (1u << 31)
#define RING_END (1u << 25)
#define CAUSES   0x0c01ffffu
enum { TI = 1, TU = 4, RI = 0x40, RU = 0x80, FBE = 0x2000, AIS = 0x8000, NIS = 0x10000 };
enum { SR = 2, ST = 0x2000, PR = 0x40, PM = 0x80, FD = 0x200, PS = 0x40000, TTM = 0x400000 };

static struct tulip_model *of(struct card *c)
{
	return (struct tulip_model *)c;
}

static bool runs(const struct tulip_model *m, bool unit)
{
	return unit && card_reaches(&m->card) && !(m->csr[5] & FBE);
}

/* The sums of the causes, of those that are enabled. */
static void sums(struct tulip_model *m)
{
	uint32_t on = m->csr[5] & m->csr[7];
	m->csr[5] &= ~(uint32_t)(AIS | NIS);
	if (on & (TI | TU | RI))
		m->csr[5] |= NIS;
	if (on & (RU | FBE))
		m->csr[5] |= AIS;
}

bool tulip_model_irq(const struct card *c)
{
	const struct tulip_model *m = (const struct tulip_model *)c;
	return m->csr[5] & m->csr[7] & (AIS | NIS);
}

bool tulip_model_quiet(const struct card *c)
{
	const struct tulip_model *m = (const struct tulip_model *)c;
	return !m->rx_run && !m->tx_run && !tulip_model_irq(c);
}

static void cause(struct tulip_model *m, uint32_t bits)
{
	m->csr[5] |= bits;
	sums(m);
}

/* --- transmit ------------------------------------------------------------------------------- */

static void setup(struct tulip_model *m, const uint8_t *d)
{
	const uint8_t *b = pci_model_dma(&m->card.pci, load32(d + 8), 192);
	if ((load32(d + 4) & 0x7ff) != 192 || load32(d + 4) & 0x70400000u || load32(d + 8) & 3)
		pci_model_fault("setup frame: 0x%x", load32(d + 4));
	for (unsigned i = 0; b && i < 16; i++)
		for (unsigned k = 0; k < 6; k++)
			m->filter[i].b[k] = b[12 * i + 4 * (k / 2) + k % 2];
	m->filtered = true;
	m->setups++;
}

void tulip_model_send(struct card *c)
{
	struct tulip_model *m = of(c);
	while (runs(m, m->tx_run) && !c->tx_hold && !c->tx_hung) {
		uint8_t *d = pci_model_dma(&c->pci, m->tx_at, 16);
		uint32_t control = d ? load32(d + 4) : 0;
		if (!d || !(load32(d) & OWN)) {
			cause(m, TU);
			return;
		}
		if (m->bus_error) {
			m->bus_error = false;
			m->rx_run = m->tx_run = false;
			cause(m, FBE);
			return;
		}
		if (control & 1u << 27) {
			setup(m, d);
			store32(d, 0x7fffffff);
		} else {
			uint32_t n = control & 0x7ff;
			if ((control & 3u << 29) != 3u << 29 || control >> 11 & 0x7ff)
				pci_model_fault("transmit descriptor: 0x%x", control);
			const uint8_t *from = pci_model_dma(&c->pci, load32(d + 8), n);
			if (from)
				card_sent(c, from, n);
			store32(d, 0);
		}
		m->tx_at = control & RING_END ? m->csr[4] : m->tx_at + 16;
		if (control & OWN)
			cause(m, TI);
	}
}

/* --- receive -------------------------------------------------------------------------------- */

static bool accepted(const struct tulip_model *m, const uint8_t *to)
{
	if (m->csr[6] & PR || (m->csr[6] & PM && to[0] & 1))
		return true;
	for (unsigned i = 0; m->filtered && i < 16; i++)
		if (memcmp(to, m->filter[i].b, 6) == 0)
			return true;
	return false;
}

/* Ends the next descriptor: n bytes, and the length and flags that it claims. */
static enum card_rx receive(struct tulip_model *m, const uint8_t *frame, uint32_t n, uint32_t size,
                            uint32_t flags)
{
	uint8_t *d = pci_model_dma(&m->card.pci, m->rx_at, 16);
	uint32_t control = d ? load32(d + 4) : 0, room = control & 0x7ff;
	if (!d || !(load32(d) & OWN)) {
		m->missed++;
		cause(m, RU);
		return CARD_MISSED;
	}
	if (room < 1522 || room & 3 || control >> 11 & 0x7ff || load32(d + 8) & 3)
		pci_model_fault("receive descriptor: 0x%x at 0x%x", control, load32(d + 8));
	uint8_t *to = pci_model_dma(&m->card.pci, load32(d + 8), room);
	if (to)
		memcpy(to, frame, min_u32(n, room));
	store32(d, (size & 0x3fff) << 16 | flags);
	m->rx_at = control & RING_END ? m->csr[3] : m->rx_at + 16;
	cause(m, RI);
	return CARD_TAKEN;
}

enum card_rx tulip_model_receive(struct card *c, const void *frame, uint32_t n)
{
	struct tulip_model *m = of(c);
	if (!c->cable || !runs(m, m->rx_run))
		return CARD_OFF;
	if (n < 60 || n > CARD_FRAME_MOST)
		return CARD_BAD;
	if (!accepted(m, frame))
		return CARD_FILTERED;
	/* A frame of more than 1518 bytes with FCS is "too long", which is an error only in name.
	 */
	return receive(m, frame, n, n + 4, n + 4 > 1518 ? 0x8380 : 0x300);
}

bool tulip_model_lie(struct card *c, uint32_t len, bool error)
{
	static const uint8_t junk[4096];
	struct tulip_model *m = of(c);
	return runs(m, m->rx_run) &&
	       receive(m, junk, min_u32(len, 2048), len + 4, error ? 0x8302 : 0x300) == CARD_TAKEN;
}

/* --- EEPROM and PHY ------------------------------------------------------------------------- */

static void srom_write(struct tulip_model *m, uint32_t v, uint32_t old)
{
	if (!(v & 1)) {
		m->sr_n = m->sr_in = 0;
		m->sr_do = true;
	} else if (v & 2 && !(old & 2)) {
		m->sr_n++;
		if (m->sr_n <= 3 + m->srom_bits) {
			m->sr_in = m->sr_in << 1 | (v >> 2 & 1);
			m->sr_do = m->sr_n < 3 + m->srom_bits;
			uint32_t at = m->sr_in & ((1u << m->srom_bits) - 1);
			m->sr_out = at < 64 ? m->srom[at] : 0xffff;
			if (!m->sr_do && m->sr_in >> m->srom_bits != 6)
				pci_model_fault("EEPROM operation %u", m->sr_in >> m->srom_bits);
		} else {
			m->sr_do = m->sr_out >> 15 & 1;
			m->sr_out <<= 1;
		}
	}
}

static bool phy_here(const struct tulip_model *m, unsigned phy)
{
	return phy == m->phy_at && host_now_us >= m->phy_ready_us;
}

static uint16_t phy_read(struct tulip_model *m, unsigned phy, unsigned reg)
{
	if (!phy_here(m, phy))
		return 0xffff;
	if (reg == 1)
		return m->card.cable && !(m->phy[0] & 0xc00) ? 0x782d : 0x7809;
	return reg == 5 ? m->partner : m->phy[reg & 7];
}

static void mii_clock(struct tulip_model *m, bool bit)
{
	unsigned op = m->mii_in >> 10 & 3, phy = m->mii_in >> 5 & 31, reg = m->mii_in & 31;
	switch (m->mii_state) {
	case 0: /* ones, then a zero */
		if (!bit && m->ones >= 32) {
			m->mii_state = 1;
			m->mii_n = 1;
			m->mii_in = 0;
		}
		m->ones = bit ? m->ones + 1 : 0;
		break;
	case 1: /* start, operation, numbers */
		m->mii_in = m->mii_in << 1 | bit;
		if (++m->mii_n < 14)
			break;
		op = m->mii_in >> 10 & 3;
		phy = m->mii_in >> 5 & 31;
		reg = m->mii_in & 31;
		m->mii_state = op == 2 ? 2 : 3;
		m->mii_out = phy_read(m, phy, reg);
		m->mdi = true;
		m->mii_n = 0;
		break;
	case 2: /* turnaround, data */
		m->mii_n++;
		m->mdi = m->mii_n == 1    ? !phy_here(m, phy)
		         : m->mii_n <= 17 ? m->mii_out >> (17 - m->mii_n) & 1
		                          : 1;
		m->ones = 0;
		if (m->mii_n == 19)
			m->mii_state = 0;
		break;
	default:
		m->mii_out = (uint16_t)(m->mii_out << 1 | bit);
		if (++m->mii_n < 18)
			break;
		if (op == 1 && phy_here(m, phy))
			m->phy[reg & 7] = m->mii_out;
		m->mii_state = m->ones = 0;
	}
}

static void csr9_write(struct tulip_model *m, uint32_t v)
{
	uint32_t old = m->csr[9];
	m->csr[9] = v;
	if (v & 0x800)
		srom_write(m, v, old);
	else if (v & 0x10000 && !(old & 0x10000))
		mii_clock(m, v & 0x40000 ? true : v >> 17 & 1);
}

/* --- registers ------------------------------------------------------------------------------ */

static void reset(struct tulip_model *m)
{
	if (m->card.reset_stuck)
		return;
	m->card.resets++;
	memset(m->csr, 0, sizeof m->csr);
	m->csr[6] = 0x02000040;
	m->rx_run = m->tx_run = m->filtered = false;
	m->missed = 0;
	m->card.tx_hung = false;
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct tulip_model *m = ctx;
	if (m->card.gone)
		return 0xffffffffu >> (32 - 8 * size);
	if (size != 4 || off & 7)
		pci_model_fault("read of %u at 0x%x", size, off);
	uint32_t v = m->csr[off / 8 & 15];
	switch (off / 8) {
	case 5:
		return v | 0xf0000000u | (m->rx_run || m->card.reset_stuck ? 3u << 17 : 0) |
		       (m->tx_run ? 6u << 20 : 0);
	case 8:
		v = 0xe0000000u | min_u32(m->missed, 0xffff);
		m->missed = 0;
		return v;
	case 9:
		return (v & ~0x80008u) | (m->sr_do ? 8 : 0) | (m->mdi ? 0x80000 : 0);
	default:
		return v;
	}
}

static void csr6_write(struct tulip_model *m, uint32_t v)
{
	if (!(v & 0x02000000))
		pci_model_fault("CSR6 0x%x without its fixed bit", v);
	if ((m->rx_run || m->tx_run) && (v ^ m->csr[6]) & (FD | PS | TTM | 0x200000))
		pci_model_fault("CSR6 0x%x while the card runs", v);
	m->csr[6] = v;
	m->rx_run = v & SR || (m->rx_run && m->card.reset_stuck);
	m->tx_run = v & ST || (m->tx_run && m->card.reset_stuck);
	if (m->rx_run && !m->csr[3])
		pci_model_fault("receiver without a ring");
	tulip_model_send(&m->card);
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct tulip_model *m = ctx;
	uint32_t n = off / 8;
	if (m->card.gone)
		return;
	if (size != 4 || off & 7 || n > 15)
		pci_model_fault("write of %u at 0x%x", size, off);
	switch (n) {
	case 0:
		m->csr[0] = v;
		if (v & 1)
			reset(m);
		break;
	case 1:
		tulip_model_send(&m->card);
		break;
	case 2:
		break;
	case 3:
	case 4:
		if (n == 3 ? m->rx_run : m->tx_run)
			pci_model_fault("CSR%u while the card runs", n);
		if (v & 3)
			pci_model_fault("ring at 0x%x", v);
		m->csr[n] = v;
		*(n == 3 ? &m->rx_at : &m->tx_at) = v;
		break;
	case 5:
		m->csr[5] &= ~(v & CAUSES);
		sums(m);
		break;
	case 6:
		csr6_write(m, v);
		break;
	case 7:
		m->csr[7] = v;
		sums(m);
		break;
	case 9:
		csr9_write(m, v);
		break;
	case 12:
	case 15:
		m->phy_ready_us = host_now_us + m->phy_us;
		if (m->n_pins < ARRAY_SIZE(m->pins))
			m->pins[m->n_pins++] = (uint16_t)(n == 12 ? v : v >> 16);
		break;
	case 13:
		m->csr[13] = v;
		break;
	default:
		pci_model_fault("write of CSR%u", n);
	}
}

/* The EEPROM of a board with one MII PHY: three bytes of reset sequence, two that choose the PHY.
 */
static void srom_fill(struct tulip_model *m, uint16_t device, const uint8_t address[6])
{
	static const uint8_t leaf_40[] = {0, 8, 0x0f, 2, 4,    0x11, 0x22, 0x33, 0x8d, 1, 0,
	                                  2, 1, 2,    3, 0x10, 0,    0x11, 0,    0,    0, 0x00};
	static const uint8_t leaf_43[] = {0,    8, 1, 0x90, 3, 0, 2,    0x01, 0x08, 0x02, 0x00, 3,
	                                  0x10, 0, 4, 0x00, 5, 0, 0x00, 0,    0,    0,    0};
	uint8_t b[128] = {0};
	b[18] = 4;
	b[19] = 1;
	memcpy(b + 20, address, 6);
	b[27] = 30;
	if (device == 0x0009)
		memcpy(b + 30, leaf_40, sizeof leaf_40);
	else
		memcpy(b + 30, leaf_43, sizeof leaf_43);
	for (unsigned i = 0; i < 64; i++)
		m->srom[i] = load16(b + 2 * i);
}

struct card *tulip_model_plug(struct tulip_model *m, uint16_t device, unsigned slot,
                              const uint8_t address[6])
{
	memset(m, 0, sizeof *m);
	m->card.pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x1011,
	        .device = device,
	        .revision = 0x41,
	        .class_code = 2,
	        .irq = (uint8_t)(10 + slot),
	        .bar = {{.io = true,
	                 .base = 0xc000u + slot * 0x80u,
	                 .size = 128,
	                 .read = reg_read,
	                 .write = reg_write},
	                {.base = 0xfe800000u + slot * 0x1000u,
	                 .size = 128,
	                 .read = reg_read,
	                 .write = reg_write}},
	        .ctx = m,
	};
	m->card.cable = true;
	m->srom_bits = 6;
	srom_fill(m, device, address);
	m->phy_at = 1;
	m->partner = 0x45e1;
	m->phy[0] = 0x1000;
	m->phy[4] = 0x01e1;
	m->mdi = true;
	reset(m);
	m->card.resets = 0;
	pci_model_add(&m->card.pci);
	return &m->card;
}
