/* The rings of the card of e1000_model.h (chapters 3, 13.4.22 to 13.4.44). */
#include "tests/models/e1000_model.h"
#include "tests/models/e1000_model_regs.h"

#include "kernel/seam/io.h"

#define RX_BUFFER  2048u /* RCTL.BSIZE 00b; other sizes are a fault */
#define TX_LONGEST 1518u /* a VLAN-tagged frame without FCS */

enum {
	RX_DD = 1,
	RX_EOP = 2,
	RX_IXSM = 4,
	TX_DD = 1,
};
#define TX_EOP  (1u << 24)
#define TX_IFCS (1u << 25)
#define TX_RS   (1u << 27)
#define TX_DEXT (1u << 29)
#define TX_DATA (1u << 20) /* extended: the type, 0 is a context */
#define TX_TSE  (1u << 26)
#define TX_IP   (1u << 25) /* of a context */
#define TX_TCP  (1u << 24)
enum { OPT_IXSM = 1, OPT_TXSM = 2 };

static uint32_t ring_size(const struct e1000_model *m, uint32_t len_reg)
{
	return m->reg[len_reg / 4] / 16;
}

static uint8_t *descriptor(struct e1000_model *m, uint32_t base_reg, uint32_t i)
{
	uint64_t base = (uint64_t)m->reg[base_reg / 4 + 1] << 32 | m->reg[base_reg / 4];
	return pci_model_dma(&m->pci, base + 16ull * i, 16);
}

static uint64_t load64(const uint8_t *p)
{
	return load32(p) | (uint64_t)load32(p + 4) << 32;
}

static bool receiving(const struct e1000_model *m)
{
	return (m->reg[RCTL / 4] & RCTL_EN) || host_now_us < m->rx_off_us;
}

static bool link_is_up(const struct e1000_model *m)
{
	return m->cable && m->link_was_up;
}

/* --- descriptors given by the driver ------------------------------------------------ */

/* Gives how many descriptors a new tail hands to the card. A tail that passes the head
 * would hand over descriptors that the card already owns (3.2.6, 3.4). */
static uint32_t given(const char *what, uint32_t n, uint32_t old, uint32_t now, uint32_t owned)
{
	if (n == 0 || now >= n) {
		pci_model_fault("%s tail %u of a ring of %u", what, now, n);
		return 0;
	}
	uint32_t more = (now + n - old) % n;
	if (more > n - 1 - owned) {
		pci_model_fault("%s tail %u passes the head", what, now);
		return 0;
	}
	return more;
}

static void rx_fetch(struct e1000_model *m, uint32_t i, uint32_t n)
{
	const uint8_t *d = descriptor(m, RDBAL, i);
	if (!d)
		return;
	uint64_t addr = load64(d);
	if (d[12])
		pci_model_fault("receive descriptor %u given with status 0x%x", i, d[12]);
	if (!pci_model_dma(&m->pci, addr, RX_BUFFER))
		addr = 0;
	for (uint32_t k = 0; k < m->rx_owned; k++) {
		uint64_t other = m->rx_buf[(m->rdh + k) % n];
		if (addr < other + RX_BUFFER && other < addr + RX_BUFFER)
			pci_model_fault("receive buffers %u and %u overlap", i, (m->rdh + k) % n);
	}
	m->rx_buf[i] = addr;
	m->rx_owned++;
}

static void rx_tail(struct e1000_model *m, uint32_t v)
{
	uint32_t n = ring_size(m, RDLEN);
	uint32_t more = given("receive", n, m->rdt, v, m->rx_owned);
	for (; more; more--) {
		rx_fetch(m, m->rdt, n);
		m->rdt = (m->rdt + 1) % n;
	}
}

static void tx_fetch(struct e1000_model *m, uint32_t i)
{
	const uint8_t *d = descriptor(m, TDBAL, i);
	if (!d)
		return;
	m->tx_desc[i].addr = load64(d);
	m->tx_desc[i].cmd = load32(d + 8);
	if (d[12] & TX_DD)
		pci_model_fault("transmit descriptor %u given with DD set", i);
	m->tx_desc[i].last = load32(d + 12);
	m->tx_owned++;
}

static void tx_tail(struct e1000_model *m, uint32_t v)
{
	uint32_t n = ring_size(m, TDLEN);
	uint32_t more = given("transmit", n, m->tdt, v, m->tx_owned);
	for (; more; more--) {
		tx_fetch(m, m->tdt);
		m->tdt = (m->tdt + 1) % n;
	}
	if (!m->tx_hold)
		e1000_model_send(m, E1000_MODEL_RING);
}

/* --- receive ------------------------------------------------------------------------ */

static bool exact_match(const struct e1000_model *m, const uint8_t *to)
{
	for (unsigned i = 0; i < 16; i++) {
		uint32_t low = m->reg[RAL / 4 + 2 * i], high = m->reg[RAL / 4 + 2 * i + 1];
		if ((high & 0x80000000u) && low == load32(to) && (high & 0xffff) == load16(to + 4))
			return true;
	}
	return false;
}

/* 13.4.22 and 13.5.1; RCTL.MO 0 takes bits 47:36 of the address. */
static bool accepted(const struct e1000_model *m, const uint8_t *to)
{
	static const uint8_t broadcast[6] = {255, 255, 255, 255, 255, 255};
	uint32_t rctl = m->reg[RCTL / 4];
	if (exact_match(m, to))
		return true;
	if (memcmp(to, broadcast, 6) == 0)
		return (rctl & (RCTL_BAM | RCTL_MPE)) != 0;
	if (!(to[0] & 1))
		return (rctl & RCTL_UPE) != 0;
	static const uint8_t shift[4] = {4, 3, 2, 0};
	uint32_t hash = (load16(to + 4) >> shift[rctl >> 12 & 3]) & 0xfff;
	return (rctl & RCTL_MPE) || (m->reg[MTA / 4 + hash / 32] >> hash % 32 & 1);
}

static void rx_done(struct e1000_model *m, uint8_t *d, uint16_t len, uint8_t state, uint8_t errors)
{
	uint32_t n = ring_size(m, RDLEN);
	store16(d + 8, len);
	store16(d + 10, 0xc5c5); /* packet checksum: any value */
	d[13] = errors;
	store16(d + 14, 0);
	d[12] = state;
	m->rdh = (m->rdh + 1) % n;
	m->rx_owned--;
	m->icr |= ICR_RXT0;
	if (m->rx_owned < n >> (1 + (m->reg[RCTL / 4] >> 8 & 3)))
		m->icr |= ICR_RXDMT0;
}

enum e1000_rx e1000_model_receive(struct e1000_model *m, const void *frame, uint32_t n)
{
	if (!receiving(m) || !link_is_up(m))
		return E1000_RX_OFF;
	if (n < 60 || (n > 1518 && !(m->reg[RCTL / 4] & RCTL_LPE))) {
		e1000_model_count(m, n < 60 ? RUC : ROC, 1);
		e1000_model_count(m, RLEC, 1);
		return E1000_RX_BAD;
	}
	if (!accepted(m, frame))
		return E1000_RX_FILTERED;
	const uint8_t *type = (const uint8_t *)frame + 12;
	if (type[0] == 8 && type[1] == 6 && (m->reg[MANC / 4] & MANC_ARP_EN) &&
	    m->kind != E1000_KIND_82544)
		return E1000_RX_FILTERED; /* the management processor gets it (3.2.1) */
	if (m->rx_owned == 0) {
		e1000_model_count(m, MPC, 1);
		m->icr |= ICR_RXO;
		return E1000_RX_MISSED;
	}
	uint8_t *d = descriptor(m, RDBAL, m->rdh);
	uint8_t *buf = pci_model_dma(&m->pci, m->rx_buf[m->rdh], RX_BUFFER);
	if (!d || !buf)
		return E1000_RX_OFF;
	memcpy(buf, frame, n);
	if (!(m->reg[RCTL / 4] & RCTL_SECRC)) {
		memcpy(buf + n, "FCS!", 4);
		n += 4;
	}
	e1000_model_count(m, GPRC, 1);
	rx_done(m, d, (uint16_t)n, RX_DD | RX_EOP | RX_IXSM, 0);
	return E1000_RX_TAKEN;
}

bool e1000_model_lie(struct e1000_model *m, uint16_t len, uint8_t state, uint8_t errors,
                     uint32_t fill)
{
	if (m->rx_owned == 0 || !receiving(m))
		return false;
	uint8_t *d = descriptor(m, RDBAL, m->rdh);
	uint8_t *buf = pci_model_dma(&m->pci, m->rx_buf[m->rdh], RX_BUFFER);
	if (!d || !buf)
		return false;
	memset(buf, 0xee, min_u32(fill, RX_BUFFER));
	rx_done(m, d, len, state, errors);
	return true;
}

/* --- transmit ----------------------------------------------------------------------- */

/* Adds one descriptor's bytes to the current frame. True when the frame is complete. */
static bool tx_gather(struct e1000_model *m, struct e1000_model_sent *f, uint32_t i)
{
	uint32_t cmd = m->tx_desc[i].cmd, len = cmd & 0xffff;
	const uint8_t *from = pci_model_dma(&m->pci, m->tx_desc[i].addr, len);
	if (from && len <= sizeof f->bytes - f->len) {
		memcpy(f->bytes + f->len, from, len);
		f->len += len;
	}
	if (!(cmd & TX_EOP))
		return false;
	if (!(cmd & TX_IFCS))
		pci_model_fault("transmit descriptor %u: a frame without FCS", i);
	if (f->len == 0 || f->len > TX_LONGEST)
		pci_model_fault("transmit descriptor %u: a frame of %u bytes", i, f->len);
	if (f->len < 60)
		m->sent_padded++;
	return true;
}

/* Puts the checksum of the bytes from `at` on into a field; `end` 0 is the end of the frame
 * (3.5.4). */
static void put_sum(uint8_t *f, uint32_t len, uint32_t at, uint32_t field, uint32_t end)
{
	uint32_t sum = 0, stop = end ? end + 1 : len;
	if (field + 2 > len || at > stop || stop > len) {
		pci_model_fault("checksum from %u in %u to %u of %u bytes", at, field, stop, len);
		return;
	}
	for (uint32_t i = at; i < stop; i++)
		sum += (uint32_t)f[i] << ((i - at) % 2 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum;
	f[field] = (uint8_t)(sum >> 8);
	f[field + 1] = (uint8_t)sum;
}

/* Sends one frame of those that a packet of extended descriptors becomes. */
static void send_large(struct e1000_model *m, const uint8_t *frame, uint32_t len, uint32_t options)
{
	struct e1000_model_sent *f = &m->out[m->sent++ % 64];
	uint64_t s = m->context.sums;
	if (len > TX_LONGEST)
		pci_model_fault("a frame of %u bytes", len);
	f->len = min_u32(len, sizeof f->bytes);
	memcpy(f->bytes, frame, f->len);
	if (options & OPT_IXSM)
		put_sum(f->bytes, len, s & 255, s >> 8 & 255, s >> 16 & 0xffff);
	if (options & OPT_TXSM)
		put_sum(f->bytes, len, s >> 32 & 255, s >> 40 & 255, (uint32_t)(s >> 48));
	if (f->len < 60)
		m->sent_padded++;
	e1000_model_count(m, GPTC, 1);
}

/* Cuts the packet by the context (3.5). */
static void segment_large(struct e1000_model *m, uint32_t options)
{
	uint32_t header = m->context.last >> 8 & 255, mss = m->context.last >> 16;
	uint32_t l3 = m->context.sums & 255, l4 = m->context.sums >> 32 & 255;
	uint32_t field = m->context.sums >> 40 & 255, payload = m->context.cmd & 0xfffff;
	uint32_t number = swap16(load16(m->large + l3 + 4)),
	         seq = swap32(load32(m->large + l4 + 4));
	uint8_t f[2048], flags = m->large[l4 + 13];
	if (!(m->context.cmd & TX_TSE) || !(m->context.cmd & TX_IP) || !(m->context.cmd & TX_TCP) ||
	    mss == 0 || header + mss > TX_LONGEST || header + payload != m->large_len ||
	    load16(m->large + l3 + 2) || load16(m->large + l3 + 10) ||
	    options != (OPT_IXSM | OPT_TXSM)) {
		pci_model_fault("segments of %u bytes, header of %u, %u of %u bytes", mss, header,
		                payload, m->large_len);
		return;
	}
	for (uint32_t at = 0; at < payload; at += mss, number++) {
		uint32_t n = min_u32(mss, payload - at), sum;
		memcpy(f, m->large, header);
		memcpy(f + header, m->large + header + at, n);
		store16(f + l3 + 2, swap16((uint16_t)(header - l3 + n)));
		store16(f + l3 + 4, swap16((uint16_t)number));
		store32(f + l4 + 4, swap32(seq + at));
		f[l4 + 13] = at + n < payload ? flags & 0xf6 : flags; /* FIN and PSH in the last */
		sum = swap16(load16(f + field)) + header - l4 + n;
		store16(f + field, swap16((uint16_t)(sum + (sum >> 16))));
		send_large(m, f, header + n, options);
	}
}

/* One extended descriptor. True when it ends a packet. */
static bool tx_extended(struct e1000_model *m, uint32_t i)
{
	uint32_t cmd = m->tx_desc[i].cmd, len = cmd & 0xfffff,
	         options = m->tx_desc[i].last >> 8 & 255;
	if (!(cmd & TX_DATA)) {
		if (m->large_len)
			pci_model_fault("a context inside a packet");
		m->context.sums = m->tx_desc[i].addr;
		m->context.cmd = cmd;
		m->context.last = m->tx_desc[i].last;
		return false;
	}
	if (m->kind == E1000_KIND_82544)
		pci_model_fault("extended descriptors with the errata of the 82544");
	if (m->large_len == 0)
		m->large_first = options;
	if (cmd & TX_TSE && len > max_u32(4 * (m->context.last >> 16), 2048))
		pci_model_fault("the transmit FIFO may not hold a buffer of %u bytes", len);
	const uint8_t *from = pci_model_dma(&m->pci, m->tx_desc[i].addr, len);
	if (from && len && len <= sizeof m->large - m->large_len) {
		memcpy(m->large + m->large_len, from, len);
		m->large_len += len;
	} else {
		pci_model_fault("transmit descriptor %u of %u bytes", i, len);
	}
	if (!(cmd & TX_EOP))
		return false;
	if (cmd & TX_TSE)
		segment_large(m, m->large_first);
	else
		send_large(m, m->large, m->large_len, m->large_first);
	m->large_len = 0;
	return true;
}

unsigned e1000_model_send(struct e1000_model *m, unsigned n)
{
	uint32_t size = ring_size(m, TDLEN);
	struct e1000_model_sent *f = &m->out[m->sent % 64];
	unsigned done = 0;
	if (!(m->reg[TCTL / 4] & TCTL_EN) || !link_is_up(m) || m->tx_hung)
		return 0;
	f->len = 0;
	while (m->tx_owned && done < n) {
		uint32_t i = m->tdh;
		uint8_t *d = descriptor(m, TDBAL, i);
		if (!d)
			break;
		/* Erratum of the 82544: it hangs in a PCI-X slot when a buffer ends in the
		 * lower half of eight aligned bytes. */
		if (m->kind == E1000_KIND_82544 && m->pcix &&
		    !((m->tx_desc[i].addr + (m->tx_desc[i].cmd & 0xffff) - 1) & 4)) {
			m->tx_hung = true;
			break;
		}
		if (m->tx_desc[i].cmd & TX_DEXT) {
			done += tx_extended(m, i);
			f = &m->out[m->sent % 64];
			f->len = 0;
		} else if (tx_gather(m, f, i)) {
			e1000_model_count(m, GPTC, 1);
			/* At half duplex the MAC needs the carrier of its own frames. */
			m->crs_missing +=
			        m->half_duplex && !m->phy_crs && m->kind != E1000_KIND_82541;
			done++;
			f = &m->out[++m->sent % 64];
			f->len = 0;
		}
		if (m->tx_desc[i].cmd & TX_RS) {
			d[12] |= TX_DD;
			m->icr |= ICR_TXDW;
		}
		m->tdh = (m->tdh + 1) % size;
		m->tx_owned--;
	}
	if (m->tx_owned == 0)
		m->icr |= ICR_TXQE;
	return done;
}

bool e1000_model_quiet(const struct e1000_model *m)
{
	return !receiving(m) && !(m->reg[TCTL / 4] & TCTL_EN) && m->ims == 0;
}

/* --- registers of the rings ------------------------------------------------------------ */

static void rctl_write(struct e1000_model *m, uint32_t v)
{
	m->rctl_writes++;
	if (v & 0x02030000) /* BSEX, BSIZE */
		pci_model_fault("receive buffers of another size than 2048");
	if ((v & RCTL_EN) && e1000_model_reads_too_much(m))
		pci_model_fault("PCI-X reads of more than 2048 bytes");
	if ((v & RCTL_EN) && is_quad(m) && !(m->reg[CTRL_EXT / 4] & CTRL_EXT_RO_DIS))
		pci_model_fault("a board with four cards and relaxed ordering");
	if ((v & RCTL_EN) && ring_size(m, RDLEN) == 0)
		pci_model_fault("receiver enabled without a ring");
	if ((m->reg[RCTL / 4] & RCTL_EN) && !(v & RCTL_EN))
		m->rx_off_us = host_now_us + m->dma_tail_us;
	m->reg[RCTL / 4] = v;
}

void e1000_model_dma_write(struct e1000_model *m, uint32_t off, uint32_t v)
{
	bool rx_ring = off == RDBAL || off == RDBAH || off == RDLEN || off == RDH;
	bool tx_ring = off == TDBAL || off == TDBAH || off == TDLEN || off == TDH;
	if ((rx_ring && receiving(m)) || (tx_ring && (m->reg[TCTL / 4] & TCTL_EN)))
		pci_model_fault("register 0x%x of a running ring written", off);
	switch (off) {
	case RCTL:
		if (v & RCTL_EN)
			e1000_model_pcie_start(m);
		rctl_write(m, v);
		break;
	case RDH:
		m->rdh = v;
		break;
	case RDT:
		rx_tail(m, v);
		break;
	case TDH:
		m->tdh = v;
		break;
	case TDT:
		tx_tail(m, v);
		break;
	case RDLEN:
	case TDLEN:
		if (v == 0 || v / 16 > E1000_MODEL_RING)
			pci_model_fault("ring of %u bytes", v);
		m->reg[off / 4] = v;
		break;
	default:
		m->reg[off / 4] = v;
		/* Erratum of the 82544: an odd word of the MTA also replaces the word before. */
		if (m->kind == E1000_KIND_82544 && off >= MTA && off < MTA + 128 * 4 && off % 8)
			m->reg[off / 4 - 1] = v;
	}
}
