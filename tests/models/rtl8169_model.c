/* The card of rtl8169_model.h. */
#include "tests/models/rtl8169_model.h"

#include "kernel/seam/io.h"

enum { ROK = 1, TOK = 4, RDU = 0x10, LINK = 0x20, FOVW = 0x40, TDU = 0x80, SERR = 0x8000 };
enum { STOP = 0x80, RST = 0x10, RE = 8, TE = 4 };
#define OWN  (1u << 31)
#define EOR  (1u << 30)
#define FS   (1u << 29)
#define LS   (1u << 28)
#define GATE (1u << 19)

static struct rtl8169_model *of(struct card *c)
{
	return (struct rtl8169_model *)c;
}

bool rtl8169_model_irq(const struct card *c)
{
	const struct rtl8169_model *m = (const struct rtl8169_model *)c;
	return (m->isr & m->imr) != 0;
}

bool rtl8169_model_quiet(const struct card *c)
{
	const struct rtl8169_model *m = (const struct rtl8169_model *)c;
	return !(m->cmd & (RE | TE)) && !rtl8169_model_irq(c);
}

static bool link_up(const struct rtl8169_model *m)
{
	return m->card.cable && !(m->phy[0] & 0x0c00) && (m->pmch & 0x80 || !m->pcie);
}

/* --- transmit --------------------------------------------------------------------------------- */

static bool held(const struct rtl8169_model *m)
{
	return m->card.tx_hold || m->card.tx_hung || !card_reaches(&m->card) || !(m->cmd & TE) ||
	       m->cmd & STOP;
}

void rtl8169_model_send(struct card *c)
{
	struct rtl8169_model *m = of(c);
	while (m->waiting_tx && !held(m)) {
		uint8_t *d = pci_model_dma(&c->pci, m->tnpds + 16ull * m->tx_at, 16);
		if (!d || !(load32(d) & OWN)) {
			m->waiting_tx = false;
			m->isr |= TDU;
			return;
		}
		uint32_t state = load32(d), n = state & 0xffff;
		if ((state & (FS | LS)) != (FS | LS) || state & 0x0fff0000 || load32(d + 4) ||
		    load32(d + 12))
			pci_model_fault("transmit descriptor %u: 0x%x", m->tx_at, state);
		const uint8_t *from = pci_model_dma(&c->pci, load32(d + 8), n);
		if (from)
			card_sent(c, from, n);
		store32(d, state & ~OWN);
		if (!(state & EOR) && m->tx_at == 1023)
			pci_model_fault("the transmit ring has no end");
		m->tx_at = state & EOR ? 0 : m->tx_at + 1;
		m->isr |= TOK;
	}
}

/* --- receive ---------------------------------------------------------------------------------- */

static uint32_t reversed(uint32_t v)
{
	uint32_t out = 0;
	for (unsigned i = 0; i < 32; i++)
		out |= (v >> i & 1) << (31 - i);
	return out;
}

/* The chips for PCI Express have the bytes of the hash in reverse order; one ignores it. */
static bool hashed(const struct rtl8169_model *m, const uint8_t *to)
{
	static const uint8_t all[8] = {255, 255, 255, 255, 255, 255, 255, 255};
	uint32_t bit = reversed(card_crc(to)) >> 26;
	if (m->xid == 0x480)
		return memcmp(m->mar, all, 8) == 0;
	return m->mar[m->pcie ? 7 - bit / 8 : bit / 8] >> bit % 8 & 1;
}

static bool accepted(const struct rtl8169_model *m, const uint8_t *to)
{
	static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
	if (m->rcr & 1)
		return true;
	if (memcmp(to, all, 6) == 0)
		return m->rcr & 8;
	if (to[0] & 1)
		return m->rcr & 4 && hashed(m, to);
	return m->rcr & 2 && memcmp(to, m->idr, 6) == 0;
}

static bool listens(const struct rtl8169_model *m)
{
	return card_reaches(&m->card) && m->cmd & RE && !(m->cmd & STOP) && !m->stalled &&
	       !(m->gated && (m->misc & GATE || m->mcu & 0x80));
}

/* Ends the next descriptor: n bytes, the length that it claims, and flags. */
static enum card_rx receive(struct rtl8169_model *m, const uint8_t *frame, uint32_t n,
                            uint32_t size, uint32_t flags)
{
	uint8_t *d = pci_model_dma(&m->card.pci, m->rdsar + 16ull * m->rx_at, 16);
	uint32_t state = d ? load32(d) : 0, room = state & 0x3fff;
	if (!(state & OWN)) {
		m->missed++;
		m->isr |= RDU;
		return CARD_MISSED;
	}
	if (room < 1522 || room % 8 || load32(d + 8) % 8 || load32(d + 12) || state & 0x3fffc000)
		pci_model_fault("receive descriptor %u: 0x%x", m->rx_at, state);
	uint8_t *to = pci_model_dma(&m->card.pci, load32(d + 8), room);
	if (to)
		memcpy(to, frame, min_u32(n, room));
	if (!(state & EOR) && m->rx_at == 1023)
		pci_model_fault("the receive ring has no end");
	store32(d, (state & EOR) | flags | (size & 0x3fff));
	m->rx_at = state & EOR ? 0 : m->rx_at + 1;
	m->isr |= ROK;
	return CARD_TAKEN;
}

enum card_rx rtl8169_model_receive(struct card *c, const void *frame, uint32_t n)
{
	struct rtl8169_model *m = of(c);
	if (!listens(m) || !link_up(m))
		return CARD_OFF;
	if (n < 60 || n > CARD_FRAME_MOST || n + 4 > m->rms)
		return CARD_BAD;
	if (!accepted(m, frame))
		return CARD_FILTERED;
	return receive(m, frame, n, n + 4, FS | LS);
}

bool rtl8169_model_lie(struct card *c, uint32_t len, bool error)
{
	static const uint8_t junk[4096];
	struct rtl8169_model *m = of(c);
	return listens(m) && receive(m, junk, min_u32(len, 2000), len + 4,
	                             error ? FS | LS | 1u << 21 | 1u << 19 : FS | LS) == CARD_TAKEN;
}

void rtl8169_model_long(struct card *c, uint32_t n)
{
	static const uint8_t junk[2048]; /* the length is good in the last piece only */
	struct rtl8169_model *m = of(c);
	uint32_t flags = FS;
	for (uint32_t left = n + 4; left; flags = 0) {
		uint32_t here = min_u32(left, 2040);
		left -= here;
		receive(m, junk, here, left ? 100 : n + 4, flags | (left ? 0 : LS));
	}
}

void rtl8169_model_overflow(struct card *c)
{
	struct rtl8169_model *m = of(c);
	m->isr |= FOVW;
	m->overflows++;
	m->stalled = (m->xid & 0x7c8) == 0x300;
}

void rtl8169_model_bus_error(struct card *c)
{
	of(c)->isr |= SERR;
}

/* --- PHY -------------------------------------------------------------------------------------- */

static uint16_t phy_read(const struct rtl8169_model *m, unsigned reg)
{
	switch (reg) {
	case 1:
		return (uint16_t)(0x7809 | (link_up(m) ? 0x24 : 0) | (m->no_gbit ? 0 : 0x100));
	case 5:
		return m->partner;
	case 10:
		return m->partner_gbit;
	default:
		return m->phy[reg & 31];
	}
}

static uint8_t phy_status(const struct rtl8169_model *m)
{
	uint16_t both = m->phy[4] & m->partner;
	if (!link_up(m))
		return 0;
	if (!m->no_gbit && m->phy[9] & 0x200 && m->partner_gbit & 0x800)
		return 0x13;
	if (both & 0x100)
		return 0x0b;
	if (both & 0x80)
		return 0x0a;
	return both & 0x40 ? 0x07 : 0x06;
}

static void phy_access(struct rtl8169_model *m, uint32_t v, unsigned reg)
{
	if (host_now_us < m->phy_next_us)
		pci_model_fault("the PHY is busy");
	if (m->gated && reg >= 32)
		pci_model_fault("access to 0x%x, which is no register of the PHY", v);
	m->phy_us = host_now_us + 25;
	m->phy_next_us = m->phy_us + 20;
	m->phyar = v;
	if (!(v >> 31)) {
		m->phyar = (v & 0x7fff0000) | phy_read(m, reg);
		return;
	}
	m->phy[reg & 31] = (uint16_t)v;
	if ((reg & 31) == 0) {
		m->negotiations += (v & 0x200) != 0;
		m->phy[0] &= (uint16_t)~0x200;
	}
}

/* The flag changes when the access is done. */
static uint32_t phy_result(const struct rtl8169_model *m)
{
	return host_now_us < m->phy_us ? m->phyar : m->phyar ^ 1u << 31;
}

/* --- registers -------------------------------------------------------------------------------- */

static void reset(struct rtl8169_model *m)
{
	m->cmd = 0;
	m->isr = m->imr = 0;
	m->rcr = m->tcr = 0;
	m->rms = 0x600;
	m->cpcr = 0x2060;
	m->early = 0;
	m->rdsar = m->tnpds = 0xdead0000;
	m->tally &= ~8u;
	m->rx_at = m->tx_at = 0;
	m->waiting_tx = m->stalled = false;
	m->card.tx_hung = false;
}

static void cmd_write(struct rtl8169_model *m, uint8_t v)
{
	if (v & RST) {
		if (m->cmd & (RE | TE) &&
		    (!(m->cmd & STOP) || host_now_us < m->stop_us + 100 || m->rcr & 0x3f))
			pci_model_fault("reset of a card that runs");
		m->cmd |= RST;
		if (!m->card.reset_stuck) {
			m->card.resets++;
			reset(m);
		}
		return;
	}
	if (v & STOP && !(m->cmd & STOP))
		m->stop_us = host_now_us;
	if (v & (RE | TE) && !(m->cmd & (RE | TE)) && m->pcie) {
		if (m->card.pci.cfg[m->pcie_cap + 16] & 3 || m->config[5] & 1 ||
		    m->config[2] & 0x80)
			pci_model_fault("the link saves power");
	}
	m->cmd = (uint8_t)((v & 0xefu) | (m->cmd & RST));
}

static void tally_write(struct rtl8169_model *m, uint32_t v)
{
	m->tally = v;
	if (!(v & 8) || !(m->cmd & RE) || !card_reaches(&m->card))
		return;
	uint8_t *to = pci_model_dma(&m->card.pci, v & ~63u, 64);
	if (!to)
		return;
	memset(to, 0, 64);
	store16(to + 28, (uint16_t)m->missed);
	m->tally &= ~8u;
}

static uint32_t read_byte(struct rtl8169_model *m, uint32_t off)
{
	if (off < 6)
		return m->idr[off];
	if (off > 0x50 && off < 0x57)
		return m->config[off - 0x51];
	switch (off) {
	case 0x37:
		return m->cmd;
	case 0x38:
		return m->waiting_tx ? 0x40 : 0;
	case 0x6c:
		return phy_status(m);
	case 0x6f:
		return m->pmch;
	case 0xd3:
		return m->mcu;
	default:
		pci_model_fault("read of a byte at 0x%x", off);
		return 0;
	}
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct rtl8169_model *m = ctx;
	if (m->card.gone)
		return 0xffffffffu >> (32 - 8 * size);
	if (size == 1)
		return read_byte(m, off);
	switch (off | size << 8) {
	case 0x23e:
		return m->isr;
	case 0x23c:
		return m->imr;
	case 0x2e0:
		return m->cpcr;
	case 0x400:
	case 0x404:
		return load32(m->idr + (off & 4));
	case 0x410:
		return m->tally;
	case 0x440:
		return m->tcr | m->xid << 20 |
		       (m->cmd & STOP && !m->card.tx_hung && host_now_us >= m->stop_us + 200
		                ? 1u << 11
		                : 0);
	case 0x444:
		return m->rcr;
	case 0x460:
		return phy_result(m);
	case 0x470:
		return m->eri_data;
	case 0x474:
		return m->eri | 1u << 31;
	case 0x4b0:
		return m->ocp_word;
	case 0x4b8:
		return phy_result(m);
	case 0x4f0:
		return m->misc;
	default:
		pci_model_fault("read of %u at 0x%x", size, off);
		return 0;
	}
}

static void write_byte(struct rtl8169_model *m, uint32_t off, uint8_t v)
{
	if (off > 0x50 && off < 0x57) {
		if (m->lock != 0xc0)
			pci_model_fault("Config%u is locked", off - 0x51);
		m->config[off - 0x51] = v;
		return;
	}
	switch (off) {
	case 0x37:
		cmd_write(m, v);
		break;
	case 0x38:
		if (v != 0x40)
			pci_model_fault("TPPoll 0x%x", v);
		if (m->lose) {
			m->lose--;
			break;
		}
		m->waiting_tx = true;
		rtl8169_model_send(&m->card);
		break;
	case 0x50:
		m->lock = v;
		break;
	case 0x6f:
		if (!m->pcie || (m->xid & 0x700) == 0x300)
			pci_model_fault("PMCH of a chip without it");
		m->pmch = v;
		break;
	case 0xd3:
		m->mcu = v;
		break;
	case 0xec:
		m->early = v;
		break;
	default:
		pci_model_fault("write of a byte at 0x%x", off);
	}
}

static void write_word(struct rtl8169_model *m, uint32_t off, uint16_t v)
{
	switch (off) {
	case 0x3c:
		m->imr = v;
		break;
	case 0x3e:
		m->isr &= (uint16_t)~v;
		break;
	case 0xda:
		m->rms = v;
		break;
	case 0xe0:
		if (v & 0x70) /* 64-bit addresses, checksums, VLAN tags taken off */
			pci_model_fault("C+ command 0x%x", v);
		m->cpcr = v;
		break;
	case 0xe2:
		break;
	default:
		pci_model_fault("write of two bytes at 0x%x", off);
	}
}

static void ring_write(struct rtl8169_model *m, uint32_t *ring, uint32_t v)
{
	if (v & 255 || m->cmd & (RE | TE))
		pci_model_fault("ring 0x%x: command 0x%x", v, m->cmd);
	*ring = v;
}

static void rcr_write(struct rtl8169_model *m, uint32_t v)
{
	if (v & 0x3f && !(m->cmd & RE))
		pci_model_fault("RCR 0x%x before the receiver is enabled", v);
	if (v & 0x3f && ((v & 0x700) != 0x700 || (m->gated && !(v & 0x800)) ||
	                 (!m->pcie && (v & 0xe000) != 0xe000)))
		pci_model_fault("RCR 0x%x", v);
	m->rcr = v;
}

static void write_dword(struct rtl8169_model *m, uint32_t off, uint32_t v)
{
	switch (off) {
	case 0x00:
	case 0x04:
		if (m->lock != 0xc0)
			pci_model_fault("the address is locked");
		store32(m->idr + off, v);
		break;
	case 0x08:
	case 0x0c:
		store32(m->mar + (off & 4), v);
		break;
	case 0x10:
		tally_write(m, v);
		break;
	case 0x14:
	case 0x24:
	case 0xe8:
		if (v)
			pci_model_fault("an address above 4 GB");
		break;
	case 0x20:
		ring_write(m, &m->tnpds, v);
		break;
	case 0xe4:
		ring_write(m, &m->rdsar, v);
		break;
	case 0x40:
		if (!(m->cmd & TE) || (v & 0x03000700) != 0x03000700)
			pci_model_fault("TCR 0x%x", v);
		m->tcr = v & 0x030007ff;
		break;
	case 0x44:
		rcr_write(m, v);
		break;
	case 0x60:
		if (m->gated)
			pci_model_fault("PHYAR of a chip that has it elsewhere");
		phy_access(m, v, v >> 16 & 31);
		break;
	case 0x74:
		m->eri = v & 0x7fffffff;
		m->eri_data = (v & 0xfff) == 0xe0   ? load32(m->burned)
		              : (v & 0xfff) == 0xe4 ? load16(m->burned + 4)
		                                    : 0;
		break;
	case 0xb0:
		m->ocp = v;
		if (v >> 31)
			m->ocp_word = v & 0xffff;
		if (v >> 31 && (v >> 15 & 0xffff) == 0xe8de && v & 0x8000)
			m->mcu |= 2; /* the FIFO that both sides share is ready */
		break;
	case 0xb8:
		if (!m->gated)
			pci_model_fault("the PHY is at PHYAR");
		phy_access(m, v, ((v >> 15 & 0xffff) - 0xa400) / 2);
		break;
	case 0xf0:
		m->misc = v;
		break;
	default:
		pci_model_fault("write of four bytes at 0x%x", off);
	}
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct rtl8169_model *m = ctx;
	if (m->card.gone)
		return;
	if (size == 1)
		write_byte(m, off, (uint8_t)v);
	else if (size == 2)
		write_word(m, off, (uint16_t)v);
	else
		write_dword(m, off, v);
}

static void add_to_bus(struct rtl8169_model *m, unsigned slot)
{
	struct pci_model_bar mem = {.base = 0xfe900000u + slot * 0x10000u,
	                            .size = m->pcie ? 4096 : 256,
	                            .is64 = m->pcie,
	                            .read = reg_read,
	                            .write = reg_write};
	m->card.pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x10ec,
	        .device = m->no_gbit ? 0x8136
	                  : m->pcie  ? 0x8168
	                             : 0x8169,
	        .revision = 0x10,
	        .class_code = 2,
	        .irq = (uint8_t)(10 + slot),
	        .bar[0] = {.io = true,
	                   .base = 0xd000u + slot * 0x100u,
	                   .size = 256,
	                   .read = reg_read,
	                   .write = reg_write},
	        .ctx = m,
	};
	m->card.pci.bar[m->pcie ? 2 : 1] = mem;
	pci_model_add(&m->card.pci);
	static const uint8_t power[8] = {1, 0, 0x22, 0xfe};
	pci_model_add_cap(&m->card.pci, power, sizeof power);
	if (m->pcie) {
		static const uint8_t express[20] = {0x10, [16] = 0x43, 1};
		m->pcie_cap = pci_model_add_cap(&m->card.pci, express, sizeof express);
		m->card.pci.writable[m->pcie_cap + 16] = 0xff;
		m->card.pci.writable[m->pcie_cap + 17] = 0xff;
	}
}

struct card *rtl8169_model_plug(struct rtl8169_model *m, uint32_t xid, unsigned slot,
                                const uint8_t address[6])
{
	memset(m, 0, sizeof *m);
	m->xid = xid;
	m->pcie = xid != 0x980 && (xid & 0x7ff) >= 0x200;
	m->gated = m->pcie && (xid & 0x7ff) >= 0x4c0;
	m->no_gbit = (xid & 0x7c8) == 0x348;
	add_to_bus(m, slot);
	m->card.cable = true;
	memcpy(m->burned, address, 6);
	memcpy(m->idr, address, 6);
	m->phy[0] = 0x1000;
	m->phy[4] = 0x0de1;
	m->phy[9] = m->no_gbit ? 0 : 0x0200;
	m->partner = 0x45e1;
	m->partner_gbit = 0x0800;
	m->config[2] = m->pcie ? 0x80 : 0;
	m->config[3] = 0x33;
	m->config[5] = 0x73;
	m->misc = m->gated ? GATE : 0;
	m->mcu = 0x80;
	m->pmch = (xid & 0x700) == 0x300 || (xid & 0x7c8) == 0x248 ? 0x80 : 0; /* always on */
	reset(m);
	return &m->card;
}
