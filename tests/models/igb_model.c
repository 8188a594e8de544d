/* The card of igb_model.h. */
#include "tests/models/igb_model.h"

#include "kernel/seam/io.h"

enum { TXDW = 1, LSC = 4, RXDW = 0x80 };
#define ENABLE (1u << 25)
#define NO_DMA 4u

static struct igb_model *of(struct card *c)
{
	return (struct igb_model *)c;
}

bool igb_model_irq(const struct card *c)
{
	const struct igb_model *m = (const struct igb_model *)c;
	return (m->icr & m->ims) != 0;
}

bool igb_model_quiet(const struct card *c)
{
	const struct igb_model *m = (const struct igb_model *)c;
	return !((m->q[0].ctl | m->q[1].ctl) & ENABLE) && !igb_model_irq(c);
}

static bool works(const struct igb_model *m, unsigned k)
{
	return card_reaches(&m->card) && m->q[k].ctl & ENABLE && !(m->ctrl & NO_DMA);
}

static bool link_up(const struct igb_model *m)
{
	return m->card.cable && m->ctrl & 0x40 && !(m->phy[0] & 0x0c00);
}

/* --- transmit --------------------------------------------------------------------------------- */

void igb_model_send(struct card *c)
{
	struct igb_model *m = of(c);
	while (works(m, 1) && m->tctl & 2 && !c->tx_hold && !c->tx_hung &&
	       m->q[1].head != m->q[1].tail) {
		uint8_t *d = pci_model_dma(&c->pci, m->q[1].base + 16ull * m->q[1].head, 16);
		if (!d)
			return;
		uint32_t command = load32(d + 8), n = command & 0xffff;
		if ((command & 0xfff00000u) != 0x2b300000u || load32(d + 12) != n << 14 ||
		    load32(d + 4))
			pci_model_fault("transmit descriptor: 0x%x 0x%x", command, load32(d + 12));
		const uint8_t *from = pci_model_dma(&c->pci, load32(d), n);
		if (from)
			card_sent(c, from, n);
		store32(d + 12, 1);
		m->q[1].head = (m->q[1].head + 1) % (m->q[1].len / 16);
		m->icr |= TXDW;
	}
}

/* --- receive ---------------------------------------------------------------------------------- */

static bool accepted(const struct igb_model *m, const uint8_t *to)
{
	static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
	uint32_t hash = to[4] >> 4 | (uint32_t)to[5] << 4;
	uint8_t own[6];
	store32(own, m->ral);
	store16(own + 4, (uint16_t)m->rah);
	if (memcmp(to, all, 6) == 0)
		return m->rctl & 0x8000;
	if (to[0] & 1)
		return m->rctl & 0x10 || m->mta[hash / 32] >> hash % 32 & 1;
	return m->rctl & 8 || (m->rah >> 31 && memcmp(to, own, 6) == 0);
}

static enum card_rx receive(struct igb_model *m, const uint8_t *frame, uint32_t n, uint32_t size,
                            uint32_t status)
{
	if (m->q[0].head == m->q[0].tail) {
		m->missed++;
		return CARD_MISSED;
	}
	uint8_t *d = pci_model_dma(&m->card.pci, m->q[0].base + 16ull * m->q[0].head, 16);
	if (!d)
		return CARD_OFF;
	if (load32(d + 4) || load32(d + 8) || load32(d + 12))
		pci_model_fault("receive descriptor %u", m->q[0].head);
	uint8_t *to = pci_model_dma(&m->card.pci, load32(d), 2048);
	if (to)
		memcpy(to, frame, min_u32(n, 2048));
	memset(d, 0xa5, 8);
	store32(d + 12, size & 0xffff);
	store32(d + 8, status);
	m->q[0].head = (m->q[0].head + 1) % (m->q[0].len / 16);
	m->icr |= RXDW;
	return CARD_TAKEN;
}

enum card_rx igb_model_receive(struct card *c, const void *frame, uint32_t n)
{
	struct igb_model *m = of(c);
	if (!works(m, 0) || !(m->rctl & 2) || !link_up(m))
		return CARD_OFF;
	if (n < 60 || n > CARD_FRAME_MOST)
		return CARD_BAD;
	if (!accepted(m, frame))
		return CARD_FILTERED;
	return receive(m, frame, n, m->rctl & 1u << 26 ? n : n + 4, 3);
}

bool igb_model_lie(struct card *c, uint32_t len, bool error)
{
	static const uint8_t junk[4096];
	struct igb_model *m = of(c);
	return works(m, 0) && m->rctl & 2 &&
	       receive(m, junk, min_u32(len, 2048), len, error ? 0x80000003u : 3) == CARD_TAKEN;
}

/* --- registers -------------------------------------------------------------------------------- */

static void reset(struct igb_model *m)
{
	if ((m->q[0].ctl | m->q[1].ctl) & ENABLE && !(m->ctrl & NO_DMA))
		pci_model_fault("reset while transfers may be under way");
	m->ctrl |= 1u << 26;
	if (m->card.reset_stuck)
		return;
	m->card.resets++;
	m->ctrl = 0;
	m->icr = m->ims = m->rctl = m->tctl = m->ivar = m->missed = 0;
	m->srrctl = 0x400;
	memset(m->q, 0, sizeof m->q);
	m->ral = load32(m->burned);
	m->rah = load16(m->burned + 4) | 1u << 31;
	m->card.tx_hung = false;
	m->reset_us = host_now_us;
}

static uint32_t status(const struct igb_model *m)
{
	uint32_t v = m->ctrl & NO_DMA && !m->card.tx_hung ? 0 : 1u << 19;
	if (host_now_us >= m->reset_us + 3000)
		v |= 1u << 21;
	if (link_up(m))
		v |= 2 | (m->half_duplex ? 0 : 1) |
		     (m->mbit == 1000  ? 0x80
		      : m->mbit == 100 ? 0x40
		                       : 0);
	return v;
}

static void mdic_write(struct igb_model *m, uint32_t v)
{
	uint32_t reg = v >> 16 & 31;
	if ((v >> 21 & 31) != 1)
		pci_model_fault("PHY %u", v >> 21 & 31);
	if ((v >> 26 & 3) == 1) {
		m->negotiations += reg == 0 && v & 0x200;
		m->phy[reg] = (uint16_t)(reg ? v : v & 0xfdff);
		m->mdic = v | 1u << 28;
	} else {
		m->mdic = (v & 0xffff0000u) | m->phy[reg] | 1u << 28;
	}
}

static uint32_t queue_read(const struct igb_model *m, unsigned k, uint32_t off)
{
	switch (off) {
	case 0x10:
		return m->q[k].head;
	case 0x18:
		return m->q[k].tail;
	case 0x28:
		return m->q[k].ctl;
	default:
		pci_model_fault("read of queue register 0x%x", off);
		return 0;
	}
}

static void queue_write(struct igb_model *m, unsigned k, uint32_t off, uint32_t v)
{
	bool on = m->q[k].ctl & ENABLE;
	if (on != (off == 0x18) && off != 0x28)
		pci_model_fault("queue register 0x%x: %s", off, on ? "enabled" : "disabled");
	switch (off) {
	case 0x00:
		if (v & 127)
			pci_model_fault("ring at 0x%x", v);
		m->q[k].base = v;
		break;
	case 0x04:
		if (v)
			pci_model_fault("a ring above 4 GB");
		break;
	case 0x08:
		if (v == 0 || v & 127)
			pci_model_fault("a ring of %u bytes", v);
		m->q[k].len = v;
		break;
	case 0x0c:
		if ((v & 0x0e00007f) != 0x02000002)
			pci_model_fault("SRRCTL 0x%x", v);
		m->srrctl = v;
		break;
	case 0x10:
		m->q[k].head = v;
		break;
	case 0x18:
		if (v >= m->q[k].len / 16)
			pci_model_fault("tail %u", v);
		m->q[k].tail = v;
		igb_model_send(&m->card);
		break;
	case 0x28:
		if (v & ENABLE && (!m->q[k].len || (k == 0 && m->srrctl == 0x400)))
			pci_model_fault("a queue without a ring");
		m->q[k].ctl = m->queue_stuck ? v & ~ENABLE : v;
		break;
	default:
		pci_model_fault("write of queue register 0x%x", off);
	}
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct igb_model *m = ctx;
	uint32_t v;
	if (m->card.gone)
		return 0xffffffffu >> (32 - 8 * size);
	if (size != 4 || off & 3)
		pci_model_fault("read of %u at 0x%x", size, off);
	if (off >> 8 == 0x28 || off >> 8 == 0x38)
		return queue_read(m, off >> 12 & 1, off & 255);
	switch (off) {
	case 0x00:
		return m->ctrl;
	case 0x08:
		return status(m);
	case 0x18:
		return m->ctrl_ext | (m->serdes ? 3u << 22 : 0);
	case 0x20:
		return m->mdic;
	case 0xc0: /* reading clears */
		v = m->icr;
		m->icr = 0;
		return v;
	case 0x100:
		return m->rctl;
	case 0x400:
		return m->tctl;
	case 0x4010:
		v = m->missed;
		m->missed = 0;
		return v;
	case 0x5400:
		return m->ral;
	case 0x5404:
		return m->rah;
	default:
		pci_model_fault("read at 0x%x", off);
		return 0;
	}
}

static void ctrl_write(struct igb_model *m, uint32_t v)
{
	m->ctrl = (v & ~(1u << 26)) | (m->ctrl & 1u << 26);
	if (v & 1u << 26)
		reset(m);
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct igb_model *m = ctx;
	if (m->card.gone)
		return;
	if (size != 4 || off & 3)
		pci_model_fault("write of %u at 0x%x", size, off);
	if (host_now_us < m->reset_us + 1000 && m->reset_us)
		pci_model_fault("write at 0x%x too soon after a reset", off);
	if (off >> 8 == 0x28 || off >> 8 == 0x38) {
		queue_write(m, off >> 12 & 1, off & 255, v);
		return;
	}
	if (off >= 0x5200 && off < 0x5400) {
		m->mta[(off - 0x5200) / 4] = v;
		return;
	}
	switch (off) {
	case 0x00:
		ctrl_write(m, v);
		break;
	case 0x18:
		m->ctrl_ext = v;
		break;
	case 0x20:
		mdic_write(m, v);
		break;
	case 0xd0:
		m->ims |= v;
		break;
	case 0xd8:
		m->ims &= ~v;
		break;
	case 0x100:
		m->rctl = v;
		break;
	case 0x400:
		m->tctl = v;
		igb_model_send(&m->card);
		break;
	case 0x1528: /* EIMC */
	case 0x5818: /* MRQC */
	case 0x5800: /* WUC */
		break;
	case 0x5808:
		m->wufc = v;
		break;
	case 0x1700:
		m->ivar = v;
		break;
	default:
		pci_model_fault("write at 0x%x", off);
	}
}

struct card *igb_model_plug(struct igb_model *m, uint16_t device, unsigned slot,
                            const uint8_t address[6])
{
	memset(m, 0, sizeof *m);
	m->card.pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x8086,
	        .device = device,
	        .class_code = 2,
	        .irq = (uint8_t)(10 + slot),
	        .bar[0] = {.base = 0xfea00000u + slot * 0x20000u,
	                   .size = 0x20000,
	                   .read = reg_read,
	                   .write = reg_write},
	        .ctx = m,
	};
	m->card.cable = true;
	m->mbit = 1000;
	m->wufc = 2; /* by a magic packet */
	memcpy(m->burned, address, 6);
	m->phy[0] = 0x1140;
	m->phy[4] = 0x0de1;
	m->phy[9] = 0x0200;
	pci_model_add(&m->card.pci);
	static const uint8_t power[8] = {1, 0, 0x22, 0xfe};
	pci_model_add_cap(&m->card.pci, power, sizeof power);
	reset(m);
	m->card.resets = 0;
	m->reset_us = 0;
	return &m->card;
}
