/* The card of c90x_model.h. */
#include "tests/models/c90x_model.h"

#include "kernel/seam/io.h"

enum { HOST = 2, TXC = 4, STATS = 0x80, DNC = 0x200, UPC = 0x400, BUSY = 0x1000 };
#define DPD_EMPTY    (1u << 29)
#define DPD_COMPLETE (1u << 16)
#define DPD_TELL     (1u << 31)
#define ROUND_DEFEAT (1u << 28)
#define LAST_FRAG    (1u << 31)
#define UP_COMPLETE  0x8000u

static struct c90x_model *of(struct card *c)
{
	return (struct c90x_model *)c;
}

bool c90x_model_irq(const struct card *c)
{
	return ((const struct c90x_model *)c)->latch;
}

bool c90x_model_quiet(const struct card *c)
{
	const struct c90x_model *m = (const struct c90x_model *)c;
	return !m->latch && !m->up_list && !m->dn_list;
}

static void update_latch(struct c90x_model *m)
{
	m->latch = m->latch || m->status & m->int_on & m->ind_on;
}

static void cause(struct c90x_model *m, unsigned bits)
{
	m->status |= (uint16_t)bits;
	update_latch(m);
}

static bool full_duplex(const struct c90x_model *m)
{
	uint16_t both = m->phy[4] & m->partner;
	return m->phy_at < 32 && (both & 0x100 || (both & 0xc0) == 0x40);
}

/* --- transmit --------------------------------------------------------------------------------- */

static void send_frame(struct c90x_model *m, uint8_t *d)
{
	uint32_t head = load32(d + 4), n = load32(d + 12) & 0x1fff;
	if (!(load32(d + 12) & LAST_FRAG) || load32(d + 12) & 0x7fffe000)
		pci_model_fault("fragment of 0x%x", load32(d + 12));
	if (m->old && ((head & 0x1fff) != n || m->free_thresh == 0))
		pci_model_fault("a frame of %u bytes as one of %u", n, head & 0x1fff);
	if (!m->old && (!(head & ROUND_DEFEAT) || head & 0x1fff || head & 0x0e000000))
		pci_model_fault("frame start header 0x%x", head);
	if (full_duplex(m) != ((m->mac_control & 0x20) != 0))
		pci_model_fault("the duplex is not that of the PHY");
	if (m->next_error) {
		m->tx_status = m->next_error;
		m->tx_dead = m->next_error & 0x30;
		m->tx_on = false;
		m->next_error = 0;
		cause(m, TXC);
		return;
	}
	const uint8_t *from = pci_model_dma(&m->card.pci, load32(d + 8), n);
	if (from)
		card_sent(&m->card, from, n);
}

void c90x_model_send(struct card *c)
{
	struct c90x_model *m = of(c);
	while (m->dn_list && m->tx_on && !m->dn_stalled && !c->tx_hold && !c->tx_hung &&
	       card_reaches(c) && !m->resetting) {
		uint8_t *d = pci_model_dma(&c->pci, m->dn_list, 16);
		if (!d) {
			m->dn_list = 0;
			return;
		}
		uint32_t head = load32(d + 4);
		if (!m->dn_done) {
			m->dn_done = true;
			if (m->old || !(head & DPD_EMPTY))
				send_frame(m, d);
			if (!m->old)
				store32(d + 4, head | DPD_COMPLETE);
			if (head & DPD_TELL)
				cause(m, DNC);
		}
		uint32_t next = load32(d);
		if (next & 7)
			pci_model_fault("a descriptor at 0x%x", next);
		if (!next && !m->old && m->dn_poll)
			return; /* it looks again later */
		m->dn_list = next;
		m->dn_done = false;
	}
}

/* --- receive ---------------------------------------------------------------------------------- */

/* A B has 64 bits: it ignores the upper two bits of a number. */
static uint32_t hash_bits(const struct c90x_model *m)
{
	return m->small_hash ? 63 : 255;
}

static uint32_t hash_of(const struct c90x_model *m, const uint8_t *to)
{
	uint32_t v = card_crc(to), out = 0;
	for (unsigned i = 0; i < 32; i++)
		out |= (v >> i & 1) << (31 - i);
	return out & hash_bits(m);
}

static bool own(const struct c90x_model *m, const uint8_t *to)
{
	for (unsigned i = 0; i < 6; i++)
		if ((to[i] ^ m->station[i]) & ~m->station[6 + i])
			return false;
	return true;
}

static bool accepted(const struct c90x_model *m, const uint8_t *to)
{
	static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
	if (m->filter & 8)
		return true;
	if (memcmp(to, all, 6) == 0)
		return m->filter & 4;
	if (to[0] & 1)
		return m->filter & 2 || (m->filter & 16 && !m->old && m->hash[hash_of(m, to)]);
	return m->filter & 1 && own(m, to);
}

static bool listens(const struct c90x_model *m)
{
	return card_reaches(&m->card) && m->rx_on && !m->resetting;
}

/* Ends the next descriptor: n bytes, and the status that it claims. */
static enum card_rx receive(struct c90x_model *m, const uint8_t *frame, uint32_t n, uint32_t status)
{
	uint8_t *d = m->up_list ? pci_model_dma(&m->card.pci, m->up_list, 16) : NULL;
	if (!d || m->up_stalled || load32(d + 4) & UP_COMPLETE) {
		m->up_stalled = true;
		m->overruns += m->stats_on;
		if (m->overruns >= 128)
			cause(m, STATS);
		return CARD_MISSED;
	}
	uint32_t room = load32(d + 12) & 0x1fff, next = load32(d);
	if (room < 1522 || !(load32(d + 12) & LAST_FRAG) || next & 7 || load32(d + 4))
		pci_model_fault("receive descriptor: room 0x%x", load32(d + 12));
	uint8_t *to = pci_model_dma(&m->card.pci, load32(d + 8), room);
	if (to)
		memcpy(to, frame, min_u32(n, room));
	store32(d + 4, status | UP_COMPLETE);
	m->up_list = next;
	cause(m, UPC);
	return CARD_TAKEN;
}

static bool link_up(const struct c90x_model *m)
{
	return m->card.cable && (m->phy_at < 32 ? !(m->phy[0] & 0xc00) : m->media & 0x80);
}

enum card_rx c90x_model_receive(struct card *c, const void *frame, uint32_t n)
{
	struct c90x_model *m = of(c);
	uint32_t most = m->old ? (m->mac_control & 0x40 ? 4494 : 1514) : m->max_size;
	if (!listens(m) || !link_up(m))
		return CARD_OFF;
	if (n < 60 || n > CARD_FRAME_MOST)
		return CARD_BAD;
	if (!accepted(m, frame))
		return CARD_FILTERED;
	return receive(m, frame, n, n | (n > most ? 0x104000 : 0));
}

bool c90x_model_lie(struct card *c, uint32_t len, bool error)
{
	static const uint8_t junk[4096];
	struct c90x_model *m = of(c);
	return listens(m) && receive(m, junk, min_u32(len, 2000),
	                             (len & 0x1fff) | (error ? 0x84000 : 0)) == CARD_TAKEN;
}

void c90x_model_host_error(struct card *c)
{
	cause(of(c), HOST);
}

/* --- PHY -------------------------------------------------------------------------------------- */

static uint16_t phy_read(const struct c90x_model *m, unsigned phy, unsigned reg)
{
	if (phy != m->phy_at)
		return 0xffff;
	if (reg == 1)
		return link_up(m) ? 0x782d : 0x7809;
	return reg == 5 ? m->partner : m->phy[reg & 7];
}

static void phy_write(struct c90x_model *m, unsigned reg, uint16_t v)
{
	m->negotiations += reg == 0 && v & 0x200;
	m->phy[reg & 7] = reg ? v : v & 0xfdff;
}

static void mii_clock(struct c90x_model *m, bool bit)
{
	unsigned phy = m->mii_in >> 5 & 31, op = m->mii_in >> 10 & 3;
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
		m->mii_state = (m->mii_in >> 10 & 3) == 2 ? 2 : 3;
		m->mii_out = phy_read(m, m->mii_in >> 5 & 31, m->mii_in & 31);
		m->mdi = true;
		m->mii_n = 0;
		break;
	case 2: /* turnaround, data */
		m->mii_n++;
		m->mdi = m->mii_n == 1    ? phy != m->phy_at
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
		if (op == 1 && phy == m->phy_at)
			phy_write(m, m->mii_in & 31, m->mii_out);
		m->mii_state = m->ones = 0;
	}
}

/* --- commands --------------------------------------------------------------------------------- */

static void rx_reset(struct c90x_model *m)
{
	m->rx_on = false;
	m->filter = 0;
	m->max_size = 1514;
	memset(m->hash, 0, sizeof m->hash);
}

static void tx_reset(struct c90x_model *m)
{
	m->tx_on = m->tx_dead = false;
	m->dn_list = 0;
	m->dn_poll = m->free_thresh = 0;
	m->card.tx_hung = false;
}

static void global_reset(struct c90x_model *m, unsigned kept)
{
	m->resetting = true;
	m->busy_us = host_now_us + 1000;
	m->rx_on = m->tx_on = false; /* at once; the rest when it ends */
	if (m->card.reset_stuck)
		return;
	m->card.resets++;
	m->link_losses += !(kept & 4);
	rx_reset(m);
	tx_reset(m);
	m->up_list = m->dma_ctrl = 0;
	m->up_stalled = m->dn_stalled = m->stats_on = m->latch = false;
	m->status = m->int_on = m->ind_on = 0;
	m->tx_status = 0;
	m->overruns = 0;
	m->window = 0;
	m->mac_control = 0;
	memset(m->station, 0xff, sizeof m->station);
}

/* Looks whether the command has ended. */
static bool busy(struct c90x_model *m)
{
	if (m->resetting && (host_now_us < m->busy_us || m->card.reset_stuck))
		return true;
	m->resetting = false;
	return host_now_us < m->busy_us;
}

static void stall(struct c90x_model *m, unsigned how)
{
	*(how < 2 ? &m->up_stalled : &m->dn_stalled) = !(how & 1);
	if (how == 0 || how == 2)
		m->busy_us = host_now_us + 3;
	c90x_model_send(&m->card);
}

static void acknowledge(struct c90x_model *m, unsigned v)
{
	m->status &= (uint16_t) ~(v & (DNC | UPC | 0x60));
	if (v & 1)
		m->latch = false;
	update_latch(m);
}

static void command(struct c90x_model *m, uint16_t v)
{
	unsigned p = v & 0x7ff;
	if (v >> 11 == 0) {
		global_reset(m, p);
		return;
	}
	if (busy(m))
		pci_model_fault("command 0x%x while another is under way", v);
	switch (v >> 11) {
	case 1:
		m->window = p & 7;
		break;
	case 3:
		m->rx_on = false;
		break;
	case 4:
		if (!m->up_list)
			pci_model_fault("receiver without a list");
		m->rx_on = true;
		break;
	case 5:
		m->busy_us = host_now_us + (p & 4 ? 100 : 1000000);
		rx_reset(m);
		break;
	case 6:
		stall(m, p & 3);
		break;
	case 9:
		m->tx_on = !m->tx_dead;
		c90x_model_send(&m->card);
		break;
	case 10:
		m->tx_on = false;
		break;
	case 11:
		m->busy_us = host_now_us + 20;
		tx_reset(m);
		break;
	case 13:
		acknowledge(m, p);
		break;
	case 14:
		m->int_on = (uint16_t)p;
		update_latch(m);
		break;
	case 15:
		m->ind_on = (uint16_t)p;
		update_latch(m);
		break;
	case 16:
		m->filter = (uint8_t)p;
		break;
	case 21:
		m->stats_on = true;
		break;
	case 22:
		m->stats_on = false;
		break;
	case 25:
		if (m->old)
			pci_model_fault("no hash in this card");
		m->hash[p & hash_bits(m)] = p & 0x400;
		break;
	default:
		pci_model_fault("command 0x%x", v);
	}
}

/* --- registers -------------------------------------------------------------------------------- */

#define AT(w, off, size) ((uint32_t)(w) << 12 | (uint32_t)(size) << 8 | (off))

static uint32_t overruns_read(struct c90x_model *m)
{
	uint32_t v = m->overruns & 255;
	m->overruns = 0;
	m->status &= (uint16_t)~STATS;
	return v;
}

/* A register of the selected window. */
static uint32_t window_read(struct c90x_model *m, uint32_t off, unsigned size)
{
	if (m->window == 6 && (size == 1 ? off < 10 : off == 10 || off == 12))
		return off == 5 ? overruns_read(m) : 0;
	switch (AT(m->window, off, size)) {
	case AT(0, 0xa, 2):
		return host_now_us < m->ee_us ? 0x8000 : 0;
	case AT(0, 0xc, 2):
		return host_now_us < m->ee_us ? 0xffff : m->ee_data;
	case AT(3, 0, 4):
		return m->internal;
	case AT(3, 6, 2):
		return m->mac_control;
	case AT(4, 6, 2):
		return 0;
	case AT(4, 8, 2):
		return (m->mii_reg & ~2u) | (m->mdi ? 2 : 0);
	case AT(4, 0xa, 2):
		return m->media | (link_up(m) ? 0x800 : 0);
	case AT(7, 0xc, 2):
		return m->pme;
	default:
		pci_model_fault("read of %u at 0x%x of window %u", size, off, m->window);
		return 0;
	}
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct c90x_model *m = ctx;
	if (m->card.gone)
		return 0xffffffffu >> (32 - 8 * size);
	bool b = busy(m);
	if (off == 0x0e && size == 2)
		return (m->status & m->ind_on) | m->latch | (b ? BUSY : 0) | m->window << 13;
	if (b && m->resetting)
		pci_model_fault("read at 0x%x during a reset", off);
	if (off < 0x10)
		return window_read(m, off, size);
	switch (off | size << 8) {
	case 0x11b:
		return m->tx_status;
	case 0x420:
		return m->dma_ctrl;
	case 0x424:
		return m->dn_list;
	case 0x438:
		return m->up_list;
	default:
		pci_model_fault("read of %u at 0x%x", size, off);
		return 0;
	}
}

static void mii_write(struct c90x_model *m, uint16_t v)
{
	uint16_t old = m->mii_reg;
	m->mii_reg = v;
	if (v & 1 && !(old & 1))
		mii_clock(m, v & 4 ? v >> 1 & 1 : true);
}

static void window_write(struct c90x_model *m, uint32_t off, unsigned size, uint32_t v)
{
	if (m->window == 2 && off < 12 && size == 2) {
		store16(m->station + off, (uint16_t)v);
		return;
	}
	switch (AT(m->window, off, size)) {
	case AT(0, 0xa, 2):
		if ((v & 0xc0) != 0x80 || host_now_us < m->ee_us)
			pci_model_fault("EEPROM command 0x%x", v);
		m->ee_us = host_now_us + 162;
		m->ee_data = m->eeprom[v & 63];
		break;
	case AT(3, 0, 4):
		m->internal = v;
		break;
	case AT(3, 4, 2):
		if (m->old)
			pci_model_fault("no longest frame in this card");
		m->max_size = (uint16_t)v;
		break;
	case AT(3, 6, 2):
		m->mac_control = (uint16_t)v;
		break;
	case AT(4, 8, 2):
		mii_write(m, (uint16_t)v);
		break;
	case AT(4, 0xa, 2):
		m->media = v & 0xc8;
		break;
	case AT(7, 0xc, 2):
		m->pme = (uint16_t)v;
		break;
	default:
		pci_model_fault("write of %u at 0x%x of window %u", size, off, m->window);
	}
}

static void list_write(uint32_t *list, uint32_t v)
{
	if (v & 7)
		pci_model_fault("a list at 0x%x", v);
	if (*list == 0) /* else it is ignored */
		*list = v;
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct c90x_model *m = ctx;
	if (m->card.gone)
		return;
	bool b = busy(m);
	if (off == 0x0e && size == 2) {
		command(m, (uint16_t)v);
		return;
	}
	if (b && m->resetting)
		pci_model_fault("write at 0x%x during a reset", off);
	if (off < 0x10) {
		window_write(m, off, size, v);
		return;
	}
	switch (off | size << 8) {
	case 0x11b: /* takes the oldest one away */
		m->tx_status = 0;
		m->status &= (uint16_t)~TXC;
		break;
	case 0x12d:
		m->dn_poll = (uint8_t)v;
		break;
	case 0x12f:
		m->free_thresh = (uint8_t)v;
		break;
	case 0x420:
		m->dma_ctrl = v;
		break;
	case 0x424:
		m->dn_done = m->dn_list ? m->dn_done : false;
		list_write(&m->dn_list, v);
		c90x_model_send(&m->card);
		break;
	case 0x438:
		list_write(&m->up_list, v);
		break;
	default:
		pci_model_fault("write of %u at 0x%x", size, off);
	}
}

static void eeprom_fill(struct c90x_model *m, const uint8_t address[6])
{
	for (unsigned i = 0; i < 3; i++)
		m->eeprom[10 + i] = m->eeprom[i] =
		        (uint16_t)(address[2 * i] << 8 | address[2 * i + 1]);
	m->eeprom[7] = 0x6d50;
}

struct card *c90x_model_plug(struct c90x_model *m, uint16_t device, unsigned slot,
                             const uint8_t address[6])
{
	memset(m, 0, sizeof *m);
	m->old = (device & 0xffae) == 0x9000;
	m->small_hash = device < 0x9100;
	m->card.pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x10b7,
	        .device = device,
	        .class_code = 2,
	        .irq = (uint8_t)(10 + slot),
	        .bar[0] = {.io = true,
	                   .base = 0xe000u + slot * 0x100u,
	                   .size = m->old ? 64 : 128,
	                   .read = reg_read,
	                   .write = reg_write},
	        .ctx = m,
	};
	m->card.cable = true;
	m->phy_at = device & 0xf0 || device >= 0x9200 ? 24 : 32;
	m->partner = 0x45e1;
	m->phy[0] = 0x1000;
	m->phy[4] = 0x01e1;
	m->mdi = true;
	m->internal = m->old ? 0x00400000 : 0x00800000;
	m->pme = 0x101;
	eeprom_fill(m, address);
	pci_model_add(&m->card.pci);
	if (!m->old) {
		static const uint8_t power[8] = {1, 0, 0x22, 0xfe};
		pci_model_add_cap(&m->card.pci, power, sizeof power);
	}
	global_reset(m, 4);
	m->resetting = false;
	m->busy_us = 0;
	m->card.resets = 0;
	return &m->card;
}
