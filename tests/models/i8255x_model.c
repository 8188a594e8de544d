/* The card of i8255x_model.h. Sections are those of the manual named there. */
#include "tests/models/i8255x_model.h"

#include "kernel/seam/io.h"

enum { CX = 0x80, FR = 0x40, CNA = 0x20, RNR = 0x10 }; /* causes, 6.3.2.1 */
enum { C = 0x8000, OK = 0x2000 };                      /* status of blocks */
enum { EL = 0x8000, S = 0x4000, I = 0x2000, SF = 8 };  /* commands of blocks */
enum { TX_GOOD = 0, RX_GOOD = 9, RX_CRC = 10, RX_RESOURCE = 12 };

static struct i8255x_model *of(struct card *c)
{
	return (struct i8255x_model *)c;
}

static void cause(struct i8255x_model *m, uint8_t what)
{
	m->ack |= what;
}

static bool is_82557(const struct i8255x_model *m)
{
	return m->card.pci.revision < 4;
}

bool i8255x_model_irq(const struct card *c)
{
	const struct i8255x_model *m = (const struct i8255x_model *)c;
	uint8_t masked = is_82557(m) ? 0 : m->mask & 0xfc;
	return !(m->mask & 1) && (m->ack & ~masked & 0xfd);
}

bool i8255x_model_quiet(const struct card *c)
{
	const struct i8255x_model *m = (const struct i8255x_model *)c;
	return m->cu != CU_ACTIVE && m->ru != RU_READY && !i8255x_model_irq(c);
}

/* --- command blocks (6.4.2) ----------------------------------------------------------------------
 */

static void configure(struct i8255x_model *m, const uint8_t *b)
{
	bool serial = m->eeprom[6] & 0x8000;
	if ((b[0] & 63) != 22)
		pci_model_fault("configuration of %u bytes", b[0]);
	memcpy(m->config, b, 22);
	if (!(b[6] & 0x20) || !(b[6] & 0x10) || (b[10] & 0xc0) || !(b[10] & 8) || (b[8] & 0x80))
		pci_model_fault("configuration: bytes 6, 8, 10: %x %x %x", b[6], b[8], b[10]);
	if (!is_82557(m) && !(b[19] & 2))
		pci_model_fault("configuration: a magic packet wakes the machine");
	if (serial != !(b[8] & 1) || serial != b[15] >> 7)
		pci_model_fault("configuration: MII, or a serial interface");
	if (is_82557(m) && (b[18] & 8))
		pci_model_fault("configuration: a reserved bit of the 82557");
}

static void groups(struct i8255x_model *m, const uint8_t *b)
{
	uint32_t n = load16(b) & 0x3fff;
	memset(m->groups, 0, sizeof m->groups);
	m->multicast_setups++;
	m->locked_up = false;
	for (uint32_t i = 0; i + 6 <= n; i += 6) {
		uint32_t bit = card_crc(b + 2 + i) >> 2 & 63;
		m->groups[bit / 8] |= (uint8_t)(1 << bit % 8);
	}
}

static bool transmit(struct i8255x_model *m, const uint8_t *b, uint16_t command)
{
	uint32_t array = load32(b + 8), count = load32(b + 12);
	if (!(command & SF) || (count & 0xffff) || count >> 24 != 1) {
		pci_model_fault("a block to send: command 0x%x, count 0x%x", command, count);
		return true;
	}
	const uint8_t *buffer = pci_model_dma(&m->card.pci, array, 8);
	uint32_t n = buffer ? load32(buffer + 4) & 0x3fff : 0;
	const uint8_t *from = buffer ? pci_model_dma(&m->card.pci, load32(buffer), n) : NULL;
	if (from)
		card_sent(&m->card, from, n);
	m->stats[TX_GOOD]++;
	return true;
}

/* Runs one block. Gives its command word. */
static uint16_t block(struct i8255x_model *m)
{
	uint8_t *b = pci_model_dma(&m->card.pci, m->cb, 64);
	if (m->cb & 3)
		pci_model_fault("a block at 0x%x", m->cb);
	if (!b)
		return EL;
	uint16_t command = load16(b + 2);
	if (load16(b) & C)
		pci_model_fault("the command unit runs into an old block");
	m->cb = load32(b + 4);
	switch (command & 7) {
	case 0:
		break;
	case 1:
		memcpy(m->address, b + 8, 6);
		break;
	case 2:
		configure(m, b + 8);
		break;
	case 3:
		groups(m, b + 8);
		break;
	case 4:
		transmit(m, b, command);
		break;
	default:
		pci_model_fault("command %u of a block", command & 7);
	}
	store16(b, C | OK);
	if (command & I)
		cause(m, CX);
	return load16(b + 2); /* the driver may have changed it meanwhile */
}

static bool held(const struct i8255x_model *m)
{
	return m->card.tx_hold || m->card.tx_hung || m->card.reset_stuck || !card_reaches(&m->card);
}

static void cu_run(struct i8255x_model *m)
{
	unsigned most = m->emulated ? 16 : 100000;
	while (m->cu == CU_ACTIVE && !held(m) && most--) {
		uint16_t command = block(m);
		if (command & (EL | S)) {
			m->cu = command & EL ? CU_IDLE : CU_SUSPENDED;
			cause(m, CNA);
		}
	}
}

void i8255x_model_send(struct card *c)
{
	struct i8255x_model *m = of(c);
	while (m->cu == CU_ACTIVE && !held(m))
		cu_run(m);
}

static void dump(struct i8255x_model *m)
{
	unsigned n = is_82557(m) || m->config[6] & 0x20 ? 16 : 20;
	uint8_t *to = pci_model_dma(&m->card.pci, m->stats_at, 4 * n + 4);
	if (!to)
		return;
	memcpy(to, m->stats, 4 * n);
	store32(to + 4 * n, 0xa007);
	memset(m->stats, 0, sizeof m->stats);
}

static void cu_command(struct i8255x_model *m, uint8_t v)
{
	switch (v) {
	case 0x00:
		break;
	case 0x10:
		if (m->cu == CU_ACTIVE)
			pci_model_fault("start of an active command unit");
		m->cu = CU_ACTIVE;
		m->cb = m->pointer;
		cu_run(m);
		break;
	case 0x20:
		if (m->cu == CU_IDLE)
			pci_model_fault("resume of an idle command unit");
		m->cu = CU_ACTIVE;
		cu_run(m);
		break;
	case 0x40:
		m->stats_at = m->pointer;
		break;
	case 0x60:
		if (m->pointer)
			pci_model_fault("base 0x%x", m->pointer);
		break;
	case 0x70:
		dump(m);
		break;
	default:
		pci_model_fault("command 0x%x", v);
	}
}

static void ru_command(struct i8255x_model *m, uint8_t v)
{
	if (v == 1) {
		const uint8_t *r = pci_model_dma(&m->card.pci, m->pointer, 16);
		if (m->ru == RU_READY)
			pci_model_fault("start of a running receiver");
		if (r && load16(r) & C)
			pci_model_fault("start at a used descriptor");
		m->ru = RU_READY;
		m->rfd = m->pointer;
	} else if (v != 0 && v != 6) {
		pci_model_fault("receiver command %u", v);
	}
}

static void command(struct i8255x_model *m, uint8_t v)
{
	if (m->busy)
		pci_model_fault("command 0x%x before the previous one was accepted", v);
	m->busy = true; /* accepted at the next read */
	if (m->card.reset_stuck)
		return;
	m->nops += v == 0;
	ru_command(m, v & 15);
	cu_command(m, v & 0xf0);
}

/* --- receive (6.4.3)
 * --------------------------------------------------------------------------------- */

static bool accepted(const struct i8255x_model *m, const uint8_t *to)
{
	static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
	uint32_t bit = card_crc(to) >> 2 & 63;
	if (m->config[15] & 1)
		return true;
	if (to[0] & 1)
		return memcmp(to, all, 6) == 0 || m->config[21] & 8 ||
		       m->groups[bit / 8] >> bit % 8 & 1;
	return memcmp(to, m->address, 6) == 0;
}

static enum card_rx receive(struct i8255x_model *m, const uint8_t *frame, uint32_t n,
                            uint32_t count, uint16_t status)
{
	uint8_t *r = m->ru == RU_READY ? pci_model_dma(&m->card.pci, m->rfd, 16) : NULL;
	if (!r) {
		m->stats[RX_RESOURCE]++;
		cause(m, RNR);
		return CARD_MISSED;
	}
	uint32_t size = load16(r + 14);
	uint8_t *to = pci_model_dma(&m->card.pci, m->rfd + 16, size);
	uint16_t command = load16(r + 2);
	if (load16(r) & C || load16(r + 12) || m->rfd & 1 || size & 1 || size < 1522)
		pci_model_fault("descriptor: status 0x%x, count 0x%x, size %u", load16(r),
		                load16(r + 12), size);
	if (to)
		memcpy(to, frame, min_u32(n, size));
	store16(r + 12, (uint16_t)(count | (m->emulated ? 0 : 0xc000)));
	store16(r, status);
	m->rfd = load32(r + 4);
	cause(m, FR);
	if (command & EL) {
		m->ru = RU_NONE;
		cause(m, RNR);
	}
	return CARD_TAKEN;
}

enum card_rx i8255x_model_receive(struct card *c, const void *frame, uint32_t n)
{
	struct i8255x_model *m = of(c);
	bool long_ok = is_82557(m) ? m->config[6] & 0x80 : m->config[18] & 8;
	if (!c->cable || !card_reaches(c) || m->ru == RU_IDLE || m->locked_up)
		return CARD_OFF;
	if (n < 60 || n > (long_ok ? CARD_FRAME_MOST : 1514))
		return CARD_BAD;
	if (!accepted(m, frame))
		return CARD_FILTERED;
	/* The 82557 does not call a frame with a VLAN tag good. */
	enum card_rx r = receive(m, frame, n, n, n > 1514 && is_82557(m) ? C : C | OK);
	m->stats[RX_GOOD] += r == CARD_TAKEN;
	return r;
}

bool i8255x_model_lie(struct card *c, uint32_t len, bool error)
{
	static const uint8_t junk[4096];
	struct i8255x_model *m = of(c);
	if (m->ru != RU_READY || !card_reaches(c))
		return false;
	return receive(m, junk, min_u32(len, 2048), len & 0x3fff, error ? C | 0x0800 : C | OK) ==
	       CARD_TAKEN;
}

/* --- EEPROM (6.3.4)
 * ------------------------------------------------------------------------------------ */

enum { SK = 1, CS = 2, DI = 4, DO = 8 };

static void wire_write(struct i8255x_model *m, uint16_t v)
{
	bool rise = (v & SK) && !(m->wire.lines & SK);
	if ((v & ~0xfu) != 0)
		pci_model_fault("EEPROM register 0x%x", v);
	if (!(v & CS) || !(m->wire.lines & CS)) {
		m->wire.n = 0;
		m->wire.in = 0;
		m->wire.out = 0xffffffffu;
	} else if (rise) {
		m->wire.n++;
		unsigned head = 3 + m->eeprom_bits;
		if (m->wire.n <= head)
			m->wire.in = m->wire.in << 1 | ((v & DI) != 0);
		if (m->wire.n == head) { /* the dummy bit 0 */
			uint32_t at = m->wire.in & ((1u << m->eeprom_bits) - 1);
			if (m->wire.in >> m->eeprom_bits != 6)
				pci_model_fault("EEPROM command 0x%x", m->wire.in);
			m->wire.out = (uint32_t)m->eeprom[at] << 15;
		} else if (m->wire.n > head) {
			m->wire.out <<= 1;
		}
	}
	m->wire.lines = v;
}

static uint16_t wire_read(const struct i8255x_model *m)
{
	bool out = m->wire.out >> 31 & 1;
	return (uint16_t)((m->wire.lines & ~DO) | (out ? DO : 0));
}

void i8255x_model_sum(struct i8255x_model *m)
{
	uint32_t last = (1u << m->eeprom_bits) - 1;
	uint16_t sum = 0;
	for (uint32_t i = 0; i < last; i++)
		sum = (uint16_t)(sum + m->eeprom[i]);
	m->eeprom[last] = (uint16_t)(0xbaba - sum);
}

/* --- PHY (6.3.6)
 * ------------------------------------------------------------------------------------------ */

static bool has_link(const struct i8255x_model *m)
{
	return m->card.cable && !(m->phy[0] & 0x4c00);
}

static uint16_t phy_read(struct i8255x_model *m, unsigned reg)
{
	if (!has_link(m))
		m->link_was_lost = true;
	if (reg == 1) {
		bool link = has_link(m) && !m->link_was_lost;
		m->link_was_lost = false;
		return (uint16_t)(0x7829 | (link ? 4 : 0));
	}
	return reg == 5 ? m->partner : m->phy[reg];
}

static void mdi_write(struct i8255x_model *m, uint32_t v)
{
	unsigned phy = v >> 21 & 31, reg = v >> 16 & 31;
	if (host_now_us < m->mdi_us)
		pci_model_fault("a management command during another one");
	m->mdi_us = host_now_us + 64;
	uint16_t value = 0xffff;
	if (phy == m->phy_at && v >> 26 == 2)
		value = phy_read(m, reg);
	else if (phy == m->phy_at && v >> 26 == 1)
		m->phy[reg] = (uint16_t)v;
	m->mdi = (v & 0x03ff0000u) | value;
}

/* --- registers
 * --------------------------------------------------------------------------------------------- */

static void reset(struct i8255x_model *m)
{
	m->ack = m->mask = 0;
	m->busy = false;
	m->cu = CU_IDLE;
	m->ru = RU_IDLE;
	m->pointer = m->stats_at = 0;
	memset(m->config, 0, sizeof m->config);
	memset(m->address, 0, sizeof m->address);
	memset(m->groups, 0, sizeof m->groups);
	m->card.tx_hung = false;
}

static void port_write(struct i8255x_model *m, uint32_t v)
{
	if (v != 0 && v != 2)
		pci_model_fault("PORT 0x%x", v);
	m->resetting = true;
	m->reset_us = host_now_us;
	if (m->card.reset_stuck)
		return;
	if (v == 0) {
		m->card.resets++;
		reset(m);
	} else {
		m->cu = CU_IDLE;
		m->ru = RU_IDLE;
	}
}

/* The manual wants ten system clocks and five transmit clocks behind a reset; a read that pushes
 * the write is allowed here. */
static void too_soon(struct i8255x_model *m, const char *what, uint32_t off)
{
	if (m->resetting && host_now_us < m->reset_us + 10)
		pci_model_fault("%s of 0x%x too soon after a reset", what, off);
}

static uint32_t reg_read(void *ctx, uint32_t off, unsigned size)
{
	struct i8255x_model *m = ctx;
	if (m->card.gone)
		return 0xffffffffu >> (32 - 8 * size);
	if (off != 0)
		too_soon(m, "read", off);
	switch (off << 4 | size) {
	case 0x001:
	case 0x002: {
		uint32_t v = (uint32_t)m->ru << 2 | (uint32_t)m->cu << 6 | (uint32_t)m->ack << 8;
		return size == 1 ? v & 0xff : v;
	}
	case 0x021: {
		bool was = m->busy;
		m->busy = m->card.reset_stuck && was;
		return was ? 0x20 : 0;
	}
	case 0x031:
		return m->mask;
	case 0x0e2:
		return wire_read(m);
	case 0x104:
		return m->mdi | (host_now_us >= m->mdi_us ? 1u << 28 : 0);
	default:
		pci_model_fault("read of %u at 0x%x", size, off);
		return 0;
	}
}

static void reg_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct i8255x_model *m = ctx;
	if (m->card.gone)
		return;
	too_soon(m, "write", off);
	switch (off << 4 | size) {
	case 0x011:
		m->ack &= (uint8_t)~v;
		break;
	case 0x021:
		command(m, (uint8_t)v);
		break;
	case 0x031:
		if (v & 2 || (is_82557(m) && v & ~1u))
			pci_model_fault("interrupt mask 0x%x", v);
		m->mask = (uint8_t)v;
		break;
	case 0x044:
		if (m->busy)
			pci_model_fault("the pointer changes before the command was accepted");
		m->pointer = v;
		break;
	case 0x084:
		port_write(m, v);
		break;
	case 0x0e2:
		wire_write(m, (uint16_t)v);
		break;
	case 0x104:
		mdi_write(m, v);
		break;
	default:
		pci_model_fault("write of %u at 0x%x", size, off);
	}
}

struct card *i8255x_model_plug(struct i8255x_model *m, uint16_t device, uint8_t revision,
                               unsigned slot, const uint8_t address[6])
{
	memset(m, 0, sizeof *m);
	m->card.pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x8086,
	        .device = device,
	        .revision = revision,
	        .class_code = 2,
	        .irq = (uint8_t)(10 + slot),
	        .bar[0] = {.base = 0xfeb00000u + slot * 0x40000u,
	                   .size = 0x1000,
	                   .read = reg_read,
	                   .write = reg_write},
	        .ctx = m,
	};
	m->card.cable = true;
	m->eeprom_bits = 6;
	for (unsigned i = 0; i < 3; i++)
		m->eeprom[i] = load16(address + 2 * i);
	m->eeprom[3] = 3;
	m->eeprom[6] = 0x4701;
	m->eeprom[10] = 0x40a0;
	i8255x_model_sum(m);
	m->phy_at = 1;
	m->phy[0] = 0x3100;
	m->phy[4] = 0x01e1;
	m->partner = 0x45e1;
	reset(m);
	pci_model_add(&m->card.pci);
	static const uint8_t power[8] = {1, 0, 0x22, 0xfe};
	if (revision >= 4)
		pci_model_add_cap(&m->card.pci, power, sizeof power);
	return &m->card;
}
