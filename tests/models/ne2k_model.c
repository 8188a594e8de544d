/* The card of ne2k_model.h. */
#include "tests/models/ne2k_model.h"

#include "kernel/seam/io.h"

enum { STOP = 1, START = 2, TXP = 4, READ = 8, WRITE = 16, NONE = 32 };
enum { PRX = 1, PTX = 2, TXE = 8, OVW = 16, RDC = 64, RST = 128 };

static struct ne2k_model *of(struct card *c)
{
	return (struct ne2k_model *)c;
}

bool ne2k_model_irq(const struct card *c)
{
	const struct ne2k_model *m = (const struct ne2k_model *)c;
	return m->isr & m->imr & 0x7f;
}

bool ne2k_model_quiet(const struct card *c)
{
	const struct ne2k_model *m = (const struct ne2k_model *)c;
	return m->cmd & STOP && !ne2k_model_irq(c);
}

static bool runs(const struct ne2k_model *m)
{
	return m->cmd & START && !(m->cmd & STOP) && !m->card.gone && !(m->tcr & 6);
}

/* Gives a byte of the memory, or NULL. */
static uint8_t *at(struct ne2k_model *m, uint32_t a)
{
	if (a < sizeof m->prom)
		return &m->prom[a];
	if (a >= 0x4000 && a < 0x8000)
		return &m->mem[a - 0x4000];
	pci_model_fault("memory at 0x%x", a);
	return NULL;
}

/* --- transmit ------------------------------------------------------------------------------- */

void ne2k_model_send(struct card *c)
{
	struct ne2k_model *m = of(c);
	if (!(m->cmd & TXP) || !runs(m) || c->tx_hold || c->tx_hung)
		return;
	uint32_t from = m->tpsr * 256u;
	if (from < 0x4000 || from + m->tbcr > min_u32(m->start * 256u, 0x8000))
		pci_model_fault("frame of %u bytes at 0x%x", m->tbcr, from);
	else if (!m->tx_fails)
		card_sent(c, &m->mem[from - 0x4000], m->tbcr);
	m->tsr = m->tx_fails ? 8 : 1;
	m->isr |= m->tx_fails ? TXE : PTX;
	m->tx_fails = false;
	m->cmd &= (uint8_t)~TXP;
}

/* --- receive -------------------------------------------------------------------------------- */

static bool accepted(const struct ne2k_model *m, const uint8_t *to)
{
	static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
	uint32_t crc = card_crc(to), bit = 0;
	for (unsigned i = 0; i < 6; i++)
		bit = bit << 1 | (crc >> i & 1);
	if (memcmp(to, all, 6) == 0)
		return m->rcr & 4;
	if (to[0] & 1)
		return m->rcr & 8 && m->mar[bit / 8] >> bit % 8 & 1;
	return m->rcr & 16 || memcmp(to, m->par, 6) == 0;
}

static enum card_rx receive(struct ne2k_model *m, const uint8_t *frame, uint32_t n, uint32_t size,
                            uint8_t status)
{
	uint32_t ring = m->stop - (uint32_t)m->start, pages = (n + 4 + 4 + 255) / 256;
	uint32_t room = (m->bnry + ring - m->curr) % ring;
	if (!m->runs_over && (m->over || pages >= room)) {
		m->over_bnry = m->over ? m->over_bnry : m->bnry;
		m->over = true;
		m->isr |= OVW;
		m->tally[2]++;
		return CARD_MISSED;
	}
	uint32_t a = m->curr * 256u, next = m->curr + pages;
	next = next >= m->stop ? next - ring : next;
	uint8_t h[4] = {status, m->next_is ? m->next_is : (uint8_t)next, (uint8_t)(size + 4),
	                (uint8_t)((size + 4) >> 8)};
	for (uint32_t i = 0; i < n + 4; i++) {
		m->mem[a - 0x4000] = i < 4 ? h[i] : frame[i - 4];
		if (++a == m->stop * 256u)
			a = m->start * 256u;
	}
	m->next_is = 0;
	m->curr = (uint8_t)next;
	m->isr |= PRX;
	return CARD_TAKEN;
}

enum card_rx ne2k_model_receive(struct card *c, const void *frame, uint32_t n)
{
	struct ne2k_model *m = of(c);
	if (!c->cable || !runs(m) || m->rcr & 32)
		return CARD_OFF;
	if (n < 60 || n > CARD_FRAME_MOST)
		return CARD_BAD;
	return accepted(m, frame)
	               ? receive(m, frame, n, n, (uint8_t)(1 | (*(const uint8_t *)frame & 1) << 5))
	               : CARD_FILTERED;
}

bool ne2k_model_lie(struct card *c, uint32_t len, bool error)
{
	static const uint8_t junk[2048];
	struct ne2k_model *m = of(c);
	return runs(m) && !(m->rcr & 32) &&
	       receive(m, junk, min_u32(len, 1518), len, error ? 2 : 1) == CARD_TAKEN;
}

/* --- the data port -------------------------------------------------------------------------- */

static void step(struct ne2k_model *m)
{
	m->rsar = (uint16_t)(m->rsar + 2);
	if (m->rsar == m->stop * 256u && m->stop)
		m->rsar = (uint16_t)(m->start * 256u);
	m->rbcr = (uint16_t)(m->rbcr - 2);
	if (m->rbcr == 0 && !(m->dma_stuck && m->cmd & WRITE))
		m->isr |= RDC;
}

static uint16_t data_read(struct ne2k_model *m)
{
	if (!(m->cmd & READ) || m->rbcr < 2) {
		pci_model_fault("data port is read, %u bytes left", m->rbcr);
		return 0;
	}
	const uint8_t *p = at(m, m->rsar), *q = at(m, m->rsar + 1u);
	step(m);
	return (uint16_t)(p && q ? *p | *q << 8 : 0);
}

static void data_write(struct ne2k_model *m, uint32_t v)
{
	if (!(m->cmd & WRITE) || m->rbcr < 2) {
		pci_model_fault("data port is written, %u bytes left", m->rbcr);
		return;
	}
	if (m->cmd & TXP && m->rsar >= m->tpsr * 256u && m->rsar < m->tpsr * 256u + m->tbcr)
		pci_model_fault("a frame changes while it is sent");
	uint8_t *p = at(m, m->rsar), *q = at(m, m->rsar + 1u);
	if (p && q) {
		*p = (uint8_t)v;
		*q = (uint8_t)(v >> 8);
	}
	step(m);
}

/* --- registers ------------------------------------------------------------------------------ */

static void reset(struct ne2k_model *m)
{
	if (m->card.reset_stuck)
		return;
	m->card.resets++;
	m->cmd = NONE | STOP;
	m->isr = RST;
	m->imr = 0;
	m->over = false;
	m->card.tx_hung = false;
}

static void cmd_write(struct ne2k_model *m, uint8_t v)
{
	bool was = m->cmd & START && !(m->cmd & STOP);
	uint8_t sends = m->cmd & TXP;
	if (v & STOP) {
		m->stop_us = was ? io_now_us() : m->stop_us;
		m->cmd = v; /* what is being sent is cut off */
		return;
	}
	if (!was && v & START && m->over) {
		if (io_now_us() < m->stop_us + 1600)
			pci_model_fault("started %u us after the overflow",
			                (unsigned)(io_now_us() - m->stop_us));
		if (!(m->tcr & 6))
			pci_model_fault("started with the cable after an overflow");
	}
	if (v & (READ | WRITE) && m->rbcr & 1)
		pci_model_fault("a transfer of %u bytes", m->rbcr);
	if (v & TXP && sends)
		pci_model_fault("sends while it sends");
	m->cmd = v | sends;
	if (m->isr & RST && v & START)
		m->isr &= (uint8_t)~RST;
	if (v & TXP)
		ne2k_model_send(&m->card);
}

static uint8_t reg_get(struct ne2k_model *m, uint32_t off)
{
	uint8_t v;
	if (m->cmd >> 6 == 1) {
		if (off == 7)
			return m->curr;
		return off >= 8 ? m->mar[off - 8] : m->par[(off - 1) % 6];
	}
	switch (off) {
	case 3:
		return m->bnry;
	case 4:
		return m->tsr;
	case 7:
		return m->isr & (m->card.reset_stuck ? 0x7f : 0xff);
	case 0xd:
	case 0xe:
	case 0xf:
		v = m->tally[off - 0xd];
		m->tally[off - 0xd] = 0;
		return v;
	default:
		pci_model_fault("read of register %u of page %u", off, m->cmd >> 6);
		return 0;
	}
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct ne2k_model *m = ctx;
	if (m->card.gone)
		return 0xffffffffu >> (32 - 8 * size);
	if (off == 0x10 && size == 2)
		return data_read(m);
	if (size != 1 || off > 0x1f || (off > 0xf && off != 0x1f))
		pci_model_fault("read of %u at 0x%x", size, off);
	if (off == 0x1f) {
		reset(m);
		return 0;
	}
	return off == 0 ? m->cmd : reg_get(m, off);
}

static void put_half(uint16_t *r, bool high, uint8_t v)
{
	*r = (uint16_t)(high ? (*r & 0xff) | v << 8 : (*r & 0xff00) | v);
}

static void ring_put(struct ne2k_model *m, uint32_t off, uint8_t v)
{
	if (off != 3 && runs(m))
		pci_model_fault("register %u while the card runs", off);
	if (v < 0x40 || v > 0x80 || (off == 3 && (v < m->start || v >= m->stop)))
		pci_model_fault("register %u: page 0x%x", off, v);
	*(off == 1 ? &m->start : off == 2 ? &m->stop : &m->bnry) = v;
}

/* Bits 1 and 2 take the card off its cable. */
static void tcr_write(struct ne2k_model *m, uint8_t v)
{
	bool back = m->tcr & 6 && !(v & 6);
	m->tcr = v;
	if (!back || !m->over || !(m->cmd & START))
		return;
	if (m->bnry == m->over_bnry || m->isr & OVW)
		pci_model_fault("on the cable again before the overflow was handled");
	m->over = false;
	m->overflows++;
}

static void reg_put(struct ne2k_model *m, uint32_t off, uint8_t v)
{
	switch (off) {
	case 1:
	case 2:
	case 3:
		ring_put(m, off, v);
		break;
	case 4:
		m->tpsr = v;
		break;
	case 5:
	case 6:
		put_half(&m->tbcr, off == 6, v);
		break;
	case 7:
		m->isr &= (uint8_t) ~(v & 0x7f);
		break;
	case 8:
	case 9:
		put_half(&m->rsar, off == 9, v);
		break;
	case 0xa:
	case 0xb:
		put_half(&m->rbcr, off == 0xb, v);
		break;
	case 0xc:
		m->rcr = v;
		break;
	case 0xd:
		tcr_write(m, v);
		break;
	case 0xe:
		m->dcr = v;
		break;
	default:
		m->imr = v;
	}
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct ne2k_model *m = ctx;
	if (m->card.gone)
		return;
	if (off == 0x10 && size == 2) {
		data_write(m, v);
		return;
	}
	if (size != 1 || (off > 0xf && off != 0x1f))
		pci_model_fault("write of %u at 0x%x", size, off);
	if (off == 0x1f)
		return;
	if (off == 0)
		cmd_write(m, (uint8_t)v);
	else if (m->cmd >> 6 == 0)
		reg_put(m, off, (uint8_t)v);
	else if (m->cmd >> 6 != 1)
		pci_model_fault("write of register %u of page %u", off, m->cmd >> 6);
	else if (off >= 8)
		m->mar[off - 8] = (uint8_t)v;
	else if (off == 7)
		m->curr = (uint8_t)v;
	else
		m->par[off - 1] = (uint8_t)v;
}

struct card *ne2k_model_plug(struct ne2k_model *m, unsigned slot, const uint8_t address[6])
{
	memset(m, 0, sizeof *m);
	m->card.pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x10ec,
	        .device = 0x8029,
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
	for (unsigned i = 0; i < 32; i++)
		m->prom[i] = i < 12 ? address[i / 2] : 0x57;
	reset(m);
	m->card.resets = 0;
	pci_model_add(&m->card.pci);
	return &m->card;
}
