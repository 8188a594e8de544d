/* The card of rtl8139_model.h. */
#include "tests/models/rtl8139_model.h"

#include "kernel/seam/io.h"

enum { ROK = 1, RER = 2, TOK = 4, TER = 8, RXOVW = 0x10, LINK = 0x20, FOVW = 0x40, SERR = 0x8000 };
enum { RST = 0x10, RE = 8, TE = 4, BUFE = 1 };
#define OWN     (1u << 31)
#define EOR     (1u << 30)
#define FS      (1u << 29)
#define LS      (1u << 28)
#define RING    0x8000u
#define OWN_OLD (1u << 13)
#define TUN     (1u << 14)
#define TOK_OLD (1u << 15)
#define TABT    (1u << 30)

static struct rtl8139_model *of(struct card *c)
{
	return (struct rtl8139_model *)c;
}

bool rtl8139_model_irq(const struct card *c)
{
	const struct rtl8139_model *m = (const struct rtl8139_model *)c;
	return (m->isr & m->imr) != 0;
}

bool rtl8139_model_quiet(const struct card *c)
{
	const struct rtl8139_model *m = (const struct rtl8139_model *)c;
	return !(m->cmd & (RE | TE)) && !rtl8139_model_irq(c);
}

static bool held(const struct rtl8139_model *m)
{
	return m->card.tx_hold || m->card.tx_hung || !card_reaches(&m->card) || !(m->cmd & TE);
}

/* --- transmit --------------------------------------------------------------------------------- */

static void send_frame(struct rtl8139_model *m, uint64_t at, uint32_t n)
{
	const uint8_t *from = pci_model_dma(&m->card.pci, at, n);
	if (from)
		card_sent(&m->card, from, n);
	m->isr |= TOK;
}

/* A frame that is given up stays the next one, and the transmitter waits until TCR says that it is
 * to be sent again. */
static void send_old(struct rtl8139_model *m)
{
	while (!held(m) && !m->aborted && !(m->tsd[m->next_sent] & OWN_OLD)) {
		uint32_t *tsd = &m->tsd[m->next_sent];
		if (m->aborts) {
			m->aborts--;
			m->aborted = true;
			*tsd |= TABT;
			m->isr |= TER;
			return;
		}
		if (m->underrun) {
			*tsd |= TUN | OWN_OLD;
			m->isr |= TER;
		} else {
			send_frame(m, m->tsad[m->next_sent], *tsd & 0x1fff);
			*tsd |= TOK_OLD | OWN_OLD;
		}
		m->underrun = false;
		m->next_sent = (m->next_sent + 1) & 3;
	}
}

static void tcr_write(struct rtl8139_model *m, uint32_t v)
{
	m->tcr = v & ~1u;
	if (!(v & 1))
		return;
	if (!m->aborted && !(m->tsd[m->next_sent] & TABT))
		pci_model_fault("no frame was given up");
	m->aborted = false;
	send_old(m);
}

static void send_plus(struct rtl8139_model *m)
{
	while (m->waiting_tx && !held(m)) {
		uint8_t *d = pci_model_dma(&m->card.pci, m->tnpds + 16ull * m->tx_at, 16);
		if (!d || !(load32(d) & OWN)) {
			m->waiting_tx = false;
			return;
		}
		uint32_t state = load32(d);
		if ((state & (FS | LS)) != (FS | LS) || load32(d + 12))
			pci_model_fault("transmit descriptor %u: 0x%x", m->tx_at, state);
		send_frame(m, load32(d + 8), state & 0xffff);
		store32(d, state & ~OWN);
		if (!(state & EOR) && m->tx_at == 63)
			pci_model_fault("the transmit ring has no end");
		m->tx_at = state & EOR ? 0 : m->tx_at + 1;
	}
}

void rtl8139_model_send(struct card *c)
{
	struct rtl8139_model *m = of(c);
	if (m->plus)
		send_plus(m);
	else
		send_old(m);
}

static void tsd_write(struct rtl8139_model *m, uint32_t i, uint32_t v)
{
	if (!(m->tsd[i] & 1u << 13) || i != m->next_slot)
		pci_model_fault("transmit slot %u is not the next free one", i);
	if (m->tsad[i] & 3)
		pci_model_fault("a frame at 0x%x", m->tsad[i]);
	m->next_slot = (i + 1) & 3;
	m->tsd[i] = v & 0x003f1fff;
	send_old(m);
}

static uint16_t summary(const struct rtl8139_model *m)
{
	uint16_t v = 0;
	for (unsigned i = 0; i < 4; i++)
		v |= (uint16_t)((m->tsd[i] >> 13 & 1) << i | (m->tsd[i] >> 30 & 1) << (i + 4) |
		                (m->tsd[i] >> 14 & 1) << (i + 8) |
		                (m->tsd[i] >> 15 & 1) << (i + 12));
	return v;
}

/* --- receive -------------------------------------------------------------------------------------
 */

static uint32_t reversed(uint32_t v)
{
	uint32_t out = 0;
	for (unsigned i = 0; i < 32; i++)
		out |= (v >> i & 1) << (31 - i);
	return out;
}

static bool accepted(const struct rtl8139_model *m, const uint8_t *to)
{
	static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
	uint32_t bit = reversed(card_crc(to)) >> 26;
	if (m->rcr & 1)
		return true;
	if (memcmp(to, all, 6) == 0)
		return m->rcr & 8;
	if (to[0] & 1)
		return m->rcr & 4 && m->mar[bit / 8] >> bit % 8 & 1;
	return m->rcr & 2 && memcmp(to, m->idr, 6) == 0;
}

static enum card_rx missed(struct rtl8139_model *m)
{
	m->missed++;
	m->isr |= RXOVW;
	m->stalled = !m->plus; /* until the cause is acknowledged */
	return CARD_MISSED;
}

/* Writes a header with `size`, and n bytes. */
static enum card_rx receive_old(struct rtl8139_model *m, const uint8_t *frame, uint32_t n,
                                uint32_t size, uint16_t status)
{
	uint32_t used = (m->cbr - (m->capr + 16u)) % RING, need = (4 + size + 3) & ~3u;
	uint8_t *to = pci_model_dma(&m->card.pci, m->rbstart, RING + 16 + 2048);
	if (m->stalled || need >= RING - used || !to)
		return missed(m);
	store16(to + m->cbr, status);
	store16(to + m->cbr + 2, (uint16_t)size);
	memcpy(to + m->cbr + 4, frame, n);
	if (n + 4 <= size)
		memcpy(to + m->cbr + 4 + n, "FCS!", 4);
	m->cbr = (uint16_t)((m->cbr + need) % RING);
	m->isr |= ROK;
	return CARD_TAKEN;
}

static enum card_rx receive_plus(struct rtl8139_model *m, const uint8_t *frame, uint32_t n,
                                 uint32_t size, uint32_t status)
{
	uint8_t *d = pci_model_dma(&m->card.pci, m->rdsar + 16ull * m->rx_at, 16);
	uint32_t state = d ? load32(d) : 0, room = state & 0x1fff;
	if (!(state & OWN))
		return missed(m);
	uint8_t *to = pci_model_dma(&m->card.pci, load32(d + 8), room);
	if (room < 1522 || load32(d + 12))
		pci_model_fault("receive descriptor %u: %u bytes", m->rx_at, room);
	if (to)
		memcpy(to, frame, min_u32(n, room));
	if (!(state & EOR) && m->rx_at == 63)
		pci_model_fault("the receive ring has no end");
	store32(d, (state & EOR) | status | (size & 0x3fff));
	m->rx_at = state & EOR ? 0 : m->rx_at + 1;
	m->isr |= ROK;
	return CARD_TAKEN;
}

enum card_rx rtl8139_model_receive(struct card *c, const void *frame, uint32_t n)
{
	struct rtl8139_model *m = of(c);
	if (!c->cable || !card_reaches(c) || !(m->cmd & RE))
		return CARD_OFF;
	if (n < 60 || n > CARD_FRAME_MOST)
		return CARD_BAD;
	if (!accepted(m, frame))
		return CARD_FILTERED;
	return m->plus ? receive_plus(m, frame, n, n + 4, FS | LS)
	               : receive_old(m, frame, n, n + 4, 1);
}

bool rtl8139_model_lie(struct card *c, uint32_t len, bool error)
{
	static const uint8_t junk[4096];
	struct rtl8139_model *m = of(c);
	if (!card_reaches(c) || !(m->cmd & RE))
		return false;
	uint32_t n = min_u32(len, 2000);
	if (m->plus)
		return receive_plus(m, junk, n, len + 4,
		                    error ? FS | LS | 1u << 20 | 1u << 18 : FS | LS) == CARD_TAKEN;
	return receive_old(m, junk, n, len + 4, error ? 2 : 1) == CARD_TAKEN;
}

/* --- registers
 * --------------------------------------------------------------------------------------- */

static void reset(struct rtl8139_model *m)
{
	m->cmd = 0;
	m->isr = m->imr = m->cpcr = 0;
	m->rcr = 0;
	m->tcr = 0;
	m->early = 0;
	m->cbr = 0;
	m->capr = (uint16_t)(0 - 16);
	for (unsigned i = 0; i < 4; i++)
		m->tsd[i] = 1u << 13;
	m->next_slot = m->next_sent = 0;
	m->stalled = m->waiting_tx = m->aborted = false;
	m->rx_at = m->tx_at = 0;
	m->card.tx_hung = false;
}

static void cmd_write(struct rtl8139_model *m, uint8_t v)
{
	if (v & RST) {
		m->cmd |= RST;
		if (!m->card.reset_stuck) {
			m->card.resets++;
			reset(m);
		}
		return;
	}
	if ((v & RE) && !(m->cmd & RE)) {
		m->rx_at = 0;
		m->cbr = 0;
		m->capr = (uint16_t)(0 - 16);
		m->stalled = false;
	}
	if ((v & TE) && !(m->cmd & TE))
		m->tx_at = 0;
	m->cmd = v;
}

static void capr_write(struct rtl8139_model *m, uint16_t v)
{
	uint32_t used = (m->cbr - (m->capr + 16u)) % RING, now = (m->cbr - (v + 16u)) % RING;
	if (now > used || v & 3)
		pci_model_fault("CAPR 0x%x beyond CBR 0x%x", v, m->cbr);
	m->capr = v;
}

static uint32_t read_wide(struct rtl8139_model *m, uint32_t off)
{
	switch (off) {
	case 0x3a:
		return m->cbr == 0 && m->cbr_at_end && m->rbstart ? RING : m->cbr;
	case 0x3e:
		return m->isr;
	case 0x40:
		return m->tcr | m->version << 22;
	case 0x4c:
		return m->missed;
	case 0x60:
		return summary(m);
	case 0x62:
		return m->bmcr;
	case 0x66:
		return m->anar;
	case 0x68:
		return m->partner;
	default:
		pci_model_fault("read at 0x%x", off);
		return 0;
	}
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct rtl8139_model *m = ctx;
	if (m->card.gone)
		return 0xffffffffu >> (32 - 8 * size);
	if (size != 1)
		return read_wide(m, off);
	if (off < 6)
		return m->idr[off];
	switch (off) {
	case 0x37:
		return m->cmd | (m->cbr == (uint16_t)(m->capr + 16u) ? BUFE : 0);
	case 0x50:
		if (host_now_us >= m->load_us && (m->mode9346 & 0xc0) == 0x40 &&
		    !m->card.reset_stuck)
			m->mode9346 = 0;
		return m->mode9346;
	case 0x52:
		return m->config1;
	case 0x58:
		return (m->card.cable && !(m->bmcr & 0x0c00) ? 0 : 4) |
		       (m->partner & 0x0180 ? 0 : 8);
	case 0x59:
		return m->config3;
	case 0xd8:
		return m->config5;
	default:
		pci_model_fault("read of a byte at 0x%x", off);
		return 0;
	}
}

static void write_byte(struct rtl8139_model *m, uint32_t off, uint8_t v)
{
	bool locked = (m->mode9346 & 0xc0) != 0xc0;
	switch (off) {
	case 0x37:
		cmd_write(m, v);
		break;
	case 0x50:
		m->mode9346 = v;
		if ((v & 0xc0) == 0x40) {
			m->load_us = host_now_us + 2000;
			memcpy(m->idr, m->eeprom, 6);
			reset(m);
		}
		break;
	case 0x52:
		if (locked)
			pci_model_fault("Config1 is locked");
		m->config1 = v;
		break;
	case 0x59:
		if (locked)
			pci_model_fault("Config3 is locked");
		m->config3 = v;
		break;
	case 0x5b:
		m->clock = v;
		break;
	case 0xd8:
		if (locked)
			pci_model_fault("Config5 is locked");
		m->config5 = v;
		break;
	case 0xec:
		if (!m->plus)
			pci_model_fault("no threshold in this card");
		m->early = v;
		break;
	case 0xd9:
		if (!m->plus || v != 0x40 || m->early == 0)
			pci_model_fault("TPPoll 0x%x, threshold %u", v, m->early);
		m->waiting_tx = true;
		send_plus(m);
		break;
	default:
		pci_model_fault("write of a byte at 0x%x", off);
	}
}

static void write_word(struct rtl8139_model *m, uint32_t off, uint16_t v)
{
	switch (off) {
	case 0x38:
		capr_write(m, v);
		break;
	case 0x3c:
		m->imr = v;
		break;
	case 0x3e:
		m->isr &= (uint16_t)~v;
		if (v & RXOVW)
			m->stalled = false;
		break;
	case 0x62:
	case 0x66:
		if ((m->mode9346 & 0xc0) != 0xc0)
			pci_model_fault("the PHY's registers are locked");
		*(off == 0x62 ? &m->bmcr : &m->anar) = v;
		break;
	case 0xe0:
		if (!m->plus || v & ~0x6bu)
			pci_model_fault("CPCR 0x%x", v);
		m->cpcr = v;
		break;
	default:
		pci_model_fault("write of two bytes at 0x%x", off);
	}
}

/* The address of a ring: it counts only when the rings are enabled, and must not move afterwards.
 */
static void ring_write(struct rtl8139_model *m, uint32_t *ring, uint32_t v, uint8_t running)
{
	if ((m->cpcr & 3) != 3 || v & 255 || m->cmd & running)
		pci_model_fault("ring 0x%x: CPCR 0x%x, command 0x%x", v, m->cpcr, m->cmd);
	*ring = v;
}

static void write_dword(struct rtl8139_model *m, uint32_t off, uint32_t v)
{
	if (off == 0x08 || off == 0x0c) {
		store32(m->mar + (off & 4), v);
	} else if (!m->plus && off >= 0x10 && off < 0x20) {
		tsd_write(m, (off - 0x10) / 4, v);
	} else if (!m->plus && off >= 0x20 && off < 0x30) {
		m->tsad[(off - 0x20) / 4] = v;
	} else if (off == 0x20) {
		ring_write(m, &m->tnpds, v, TE);
	} else if (off == 0xe4) {
		ring_write(m, &m->rdsar, v, RE);
	} else if (off == 0x24 || off == 0xe8) {
		if (v)
			pci_model_fault("a ring above 4 GB");
	} else if (off == 0x30) {
		if (m->cmd & RE || v & 3)
			pci_model_fault("RBSTART 0x%x while the receiver runs", v);
		m->rbstart = v;
	} else if (off == 0x40 || off == 0x44) {
		if (!(m->cmd & (off == 0x40 ? TE : RE)))
			pci_model_fault("0x%x before it is enabled", off);
		if (off == 0x44 && !m->plus && (v & 0x1880) != 0x1080)
			pci_model_fault("RCR 0x%x", v);
		if (off == 0x40)
			tcr_write(m, v);
		else
			m->rcr = v;
	} else if (off == 0x4c) {
		m->missed = 0;
	} else {
		pci_model_fault("write of four bytes at 0x%x", off);
	}
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct rtl8139_model *m = ctx;
	if (m->card.gone)
		return;
	if (size == 1)
		write_byte(m, off, (uint8_t)v);
	else if (size == 2)
		write_word(m, off, (uint16_t)v);
	else
		write_dword(m, off, v);
}

struct card *rtl8139_model_plug(struct rtl8139_model *m, uint8_t revision, unsigned slot,
                                const uint8_t address[6])
{
	memset(m, 0, sizeof *m);
	m->plus = revision >= 0x20;
	m->card.pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x10ec,
	        .device = 0x8139,
	        .revision = revision,
	        .class_code = 2,
	        .irq = (uint8_t)(10 + slot),
	        .bar[0] = {.io = true,
	                   .base = 0xc000u + slot * 0x100u,
	                   .size = 256,
	                   .read = reg_read,
	                   .write = reg_write},
	        .ctx = m,
	};
	m->card.cable = true;
	m->version = 0x1e0; /* 8139B */
	memcpy(m->eeprom, address, 6);
	memset(m->idr, 2, 6); /* what another system wrote */
	m->bmcr = 0x1000;
	m->anar = 0x05e1;
	m->partner = 0x45e1;
	m->config3 = 0x30;
	m->config5 = 0x72;
	reset(m);
	pci_model_add(&m->card.pci);
	static const uint8_t power[8] = {1, 0, 0x22, 0xfe};
	pci_model_add_cap(&m->card.pci, power, sizeof power);
	return &m->card;
}
