/* Realtek RTL8139 Fast Ethernet cards: start, carrier, filters, watching. Registers and sections:
 * rtl8139_reg.h. Packets: rtl8139_plus.c for the 8139C+, rtl8139_old.c for all others.
 *
 * The registers are reached through I/O ports: errata of some chips lose writes through memory.
 *
 * Left out on purpose: checksums and VLAN tags by the C+, its high-priority ring, flow control,
 * writing the EEPROM, tuning of the PHY to bad cables, Realtek's 8129 (no PHY). */
#include "drivers/net/rtl8139/rtl8139.h"

#include "drivers/net/nic_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define POLL_US    5000u /* shortest time between two full runs of poll() */
#define HANG_US    2000000u
#define FIRST_PLUS 0x20 /* revision of the first 8139C+ */
#define CAUSES     (INT_ROK | INT_RER | INT_OVERFLOW | INT_LINK | INT_FIFO | INT_SYSTEM)

static uint16_t in16(const struct rtl8139 *r, uint32_t reg)
{
	return io_in16((uint16_t)(r->ports + reg));
}

static uint8_t in8(const struct rtl8139 *r, uint32_t reg)
{
	return io_in8((uint16_t)(r->ports + reg));
}

static void out8(const struct rtl8139 *r, uint32_t reg, uint8_t v)
{
	io_out8((uint16_t)(r->ports + reg), v);
}

static void out16(const struct rtl8139 *r, uint32_t reg, uint16_t v)
{
	io_out16((uint16_t)(r->ports + reg), v);
}

static void out32(const struct rtl8139 *r, uint32_t reg, uint32_t v)
{
	io_out32((uint16_t)(r->ports + reg), v);
}

bool rtl8139_fits(struct rtl8139 *r, struct pkt *p)
{
	if (p->len >= NIC_FRAME_MIN && p->len < R_WIRE_MIN) {
		uint32_t missing = R_WIRE_MIN - p->len;
		uint8_t *pad = pkt_put(p, missing);
		if (pad) {
			memset(pad, 0, missing);
			return true;
		}
	}
	r->nic.count.tx_errors++;
	pkt_free(p);
	return false;
}

uint32_t rtl8139_no_carrier(struct rtl8139 *r, struct pkt **burst, uint32_t n)
{
	r->nic.count.tx_link_down += n;
	for (uint32_t i = 0; i < n; i++)
		pkt_free(burst[i]);
	return n;
}

/* --- start and stop --------------------------------------------------------------------- */

/* Waits until the bits are clear in a register of 8 bits. */
static bool clears(const struct rtl8139 *r, uint32_t reg, uint8_t bits, uint32_t us)
{
	uint64_t end = io_now_us() + us;
	uint8_t v;
	while ((v = in8(r, reg)) & bits) {
		if (v == 0xff || io_now_us() > end) /* gone, or stuck */
			return false;
		io_delay_us(10);
	}
	return true;
}

/* Ends all DMA and masks all interrupts. False when the card does not finish its reset within
 * 100 ms. */
static bool reset(const struct rtl8139 *r)
{
	out16(r, R_IMR, 0);
	out8(r, R_CMD, 0);
	out8(r, R_CMD, CMD_RST);
	if (!clears(r, R_CMD, CMD_RST, 100000))
		return false;
	out16(r, R_ISR, INT_ALL);
	return true;
}

/* Makes the card load its settings and its address from the EEPROM (5.15), which another system may
 * have changed, and wakes an old one. */
static bool load(const struct rtl8139 *r)
{
	out8(r, R_9346, EE_LOAD);
	io_delay_us(2000);
	if (!clears(r, R_9346, EE_MODE, 10000))
		return false;
	out8(r, R_9346, EE_UNLOCK);
	if (TCR_VERSION(io_in32((uint16_t)(r->ports + R_TCR))) < VERSION_8139B) {
		out8(r, R_CLOCK, CLOCK_RUN);
		out8(r, R_CONFIG1, (uint8_t)(in8(r, R_CONFIG1) & ~CONFIG1_SLEEP));
	} else {
		out8(r, R_CONFIG3, (uint8_t)(in8(r, R_CONFIG3) & ~CONFIG3_WAKE));
		out8(r, R_CONFIG5, (uint8_t)(in8(r, R_CONFIG5) & ~CONFIG5_WAKE));
	}
	out8(r, R_9346, EE_NORMAL);
	return true;
}

/* The PHY's registers are among those of the card. An operating system that ran before may have
 * switched it off, or reduced its offer: only then is the link negotiated again. */
static void negotiate(const struct rtl8139 *r)
{
	uint16_t control = in16(r, R_BMCR), offer = in16(r, R_ANAR);
	if ((control & (BMCR_AN | BMCR_OFF)) == BMCR_AN && (offer & ANAR_ALL) == ANAR_ALL)
		return;
	out8(r, R_9346, EE_UNLOCK);
	out16(r, R_ANAR, offer | ANAR_ALL);
	out16(r, R_BMCR, BMCR_AN | BMCR_REDO);
	out8(r, R_9346, EE_NORMAL);
}

static void read_carrier(struct rtl8139 *r)
{
	uint8_t v = in8(r, R_MSR);
	struct nic_carrier c = {0};
	if (!(v & MSR_DOWN)) {
		uint16_t both = in16(r, R_ANAR) & in16(r, R_ANLPAR), control = in16(r, R_BMCR);
		c.up = true;
		c.mbit = v & MSR_10 ? 10 : 100;
		c.full_duplex = both & AN_100FD || (both & (AN_100HD | AN_10FD)) == AN_10FD;
		if (!(control & BMCR_AN))
			c.full_duplex = (control & BMCR_FD) != 0;
	}
	r->nic.carrier = c;
}

static void write_mask(const struct rtl8139 *r)
{
	out16(r, R_IMR, (uint16_t)(CAUSES | (r->tx_wake ? INT_TOK | INT_TER : 0)));
}

static void write_hash(const struct rtl8139 *r)
{
	out32(r, R_MAR, load32(r->hash));
	out32(r, R_MAR + 4, load32(r->hash + 4));
}

/* Starts a card that was just reset. */
static void start(struct rtl8139 *r)
{
	negotiate(r);
	write_hash(r);
	r->mode->start(r);
	out32(r, R_TCR,
	      TCR_USUAL); /* counts only when the transmitter is on, as RCR for the receiver */
	out32(r, R_MPC, 0);
	r->tx_refused = r->tx_wake = false;
	r->ack = 2;
	r->hang_head = 0;
	r->hang_us = io_now_us();
	write_mask(r);
	read_carrier(r);
}

static void tx_drop_all(struct rtl8139 *r, uint64_t *counter)
{
	uint32_t mask = r->mode == &rtl8139_plus ? R_RING - 1 : R_OLD_RING - 1;
	for (; r->tx_head != r->tx_tail; r->tx_head++) {
		++*counter;
		pkt_free(r->tx[r->tx_head & mask]);
	}
}

/* Resets and starts the card. Adds the frames that were not sent to *counter. */
static void restart(struct rtl8139 *r, uint64_t *counter, const char *why)
{
	const struct pci_dev *d = &r->nic.pci;
	log_line("pci %02x:%02x.%x: rtl8139: %s, reset", d->bus, d->dev, d->fn, why);
	r->nic.count.resets++;
	r->mode->reclaim(r);
	bool ok = reset(r);
	r->hang_us = io_now_us();
	tx_drop_all(r, counter);
	r->broken = !ok;
	r->nic.carrier = (struct nic_carrier){0};
	if (!ok) {
		pci_cut(d); /* the card may still write into packets */
		return;
	}
	pci_enable(d);
	start(r);
}

void rtl8139_stop(struct nic *nic)
{
	struct rtl8139 *r = rtl8139_card(nic);
	uint64_t ignored = 0;
	if (!reset(r))
		pci_cut(&nic->pci);
	tx_drop_all(r, &ignored);
	r->mode->give(r);
	nic->carrier.up = false;
}

/* --- watching ------------------------------------------------------------------------------ */

/* True when frames wait, and none was sent for HANG_US. */
static bool tx_hangs(struct rtl8139 *r, uint64_t now_us)
{
	if (r->tx_head == r->tx_tail || r->tx_head != r->hang_head) {
		r->hang_head = r->tx_head;
		r->hang_us = now_us;
		return false;
	}
	return now_us > r->hang_us + HANG_US; /* start() may have set hang_us later than now_us */
}

static void watch(struct rtl8139 *r, uint64_t now_us)
{
	struct nic_counters *c = &r->nic.count;
	uint16_t causes = in16(r, R_ISR);
	if (causes == R_GONE) {
		restart(r, &c->tx_errors, "no longer answers");
		return;
	}
	/* A receiver that ran over goes on when the causes were acknowledged, together. */
	if (causes & (INT_OVERFLOW | INT_FIFO)) {
		out16(r, R_ISR, INT_OVERFLOW | INT_FIFO | INT_ROK);
		r->ack = 2;
	}
	read_carrier(r);
	uint32_t missed = io_in32((uint16_t)(r->ports + R_MPC)) & 0xffffff;
	if (missed) {
		c->rx_missed += missed;
		out32(r, R_MPC, 0);
	}
	if (causes & INT_SYSTEM)
		restart(r, &c->tx_errors, "error on the bus");
	else if (!r->nic.carrier.up && r->tx_head != r->tx_tail)
		restart(r, &c->tx_link_down, "carrier lost while frames wait");
	else if (tx_hangs(r, now_us))
		restart(r, &c->tx_errors, "transmitter hangs");
}

void rtl8139_poll(struct nic *nic, uint64_t now_us)
{
	struct rtl8139 *r = rtl8139_card(nic);
	r->mode->reclaim(r);
	if (now_us - r->poll_us < POLL_US)
		return;
	r->poll_us = now_us;
	if (!r->ack)
		r->ack = 1; /* clears a cause that came late (see rtl8139_arm) */
	if (!r->broken)
		watch(r, now_us);
	else if (now_us > r->hang_us + HANG_US)
		restart(r, &nic->count.tx_errors, "did not finish its reset");
}

/* The causes are enabled all the time. To arm is to acknowledge them, and then to look at the ring.
 * The read behind the acknowledgement pushes the card's writes to memory before it
 * (PCI 3.0, 3.2.5). A frame after that raises the line again. */
bool rtl8139_arm(struct nic *nic)
{
	struct rtl8139 *r = rtl8139_card(nic);
	if (r->broken)
		return false;
	if (r->mode->waiting(r))
		return true;
	if (UNLIKELY(r->tx_refused != r->tx_wake)) {
		r->tx_wake = r->tx_refused;
		write_mask(r);
		r->ack = 2;
	}
	if (r->ack || r->tx_wake) {
		r->ack -= r->ack != 0;
		out16(r, R_ISR, INT_ALL);
		(void)in16(r, R_ISR);
		io_rmb();
	}
	if (r->mode->waiting(r))
		return true;
	uint32_t head = r->tx_head;
	if (r->tx_refused)
		r->mode->reclaim(r);
	return head != r->tx_head;
}

/* The six upper bits of the CRC-32 of an address, most significant bit first, choose the bit. */
static uint32_t hash_bit(const mac *group)
{
	uint32_t crc = 0xffffffffu;
	for (unsigned i = 0; i < 48; i++) {
		uint32_t out = (crc >> 31 ^ (uint32_t)group->b[i / 8] >> i % 8) & 1;
		crc = crc << 1 ^ (out ? 0x04c11db7u : 0);
	}
	return crc >> 26;
}

void rtl8139_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n)
{
	struct rtl8139 *r = rtl8139_card(nic);
	memset(r->hash, promiscuous ? 0xff : 0, sizeof r->hash);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bit = hash_bit(&group[i]);
		r->hash[bit / 8] |= (uint8_t)(1u << bit % 8);
	}
	uint32_t rcr =
	        RCR_USUAL | RCR_OWN | RCR_BROADCAST | RCR_GROUPS | (promiscuous ? RCR_ALL : 0);
	bool other = rcr != r->rcr;
	r->rcr = rcr;
	if (r->broken)
		return;
	write_hash(r);
	if (other)
		r->mode->configure(r);
}

/* --- probe ------------------------------------------------------------------------------------ */

static bool read_address(struct rtl8139 *r)
{
	static const mac zero;
	mac *a = &r->nic.address;
	for (unsigned i = 0; i < 6; i++)
		a->b[i] = in8(r, R_IDR + i);
	return !mac_is_group(a) && !mac_eq(a, &zero);
}

static const char *rtl8139_probe(const struct pci_dev *dev, struct pool *pool, struct nic **out)
{
	struct pci_bar bar = pci_bar(dev, 0);
	if (bar.base == 0 || !bar.io || bar.size < R_PORTS || bar.base > 0x10000 - R_PORTS)
		return "no I/O ports";
	struct rtl8139 *r = alloc(sizeof *r, 64);
	if (!r)
		return "no memory";
	r->ports = (uint16_t)bar.base;
	r->mode =
	        dev->device == 0x8139 && dev->revision >= FIRST_PLUS ? &rtl8139_plus : &rtl8139_old;
	r->nic = (struct nic){.ops = &r->mode->ops,
	                      .driver = "rtl8139",
	                      .pool = pool,
	                      .irq = dev->irq,
	                      .pci = *dev};
	r->rcr = RCR_USUAL | RCR_OWN | RCR_BROADCAST | RCR_GROUPS;
	pci_enable(dev);
	if (!load(r) || !reset(r))
		return "does not come out of reset";
	if (!read_address(r))
		return "no valid MAC address";
	const char *wrong = r->mode->take(r);
	if (wrong)
		return wrong;
	start(r);
	*out = &r->nic;
	return NULL;
}

void rtl8139_report(struct nic *nic, struct nic_report *report)
{
	const struct rtl8139 *r = (const struct rtl8139 *)nic;
	nic_report_add(report, "cmd", in8(r, R_CMD));
	nic_report_add(report, "isr", in16(r, R_ISR));
	nic_report_add(report, "tcr", io_in32((uint16_t)(r->ports + R_TCR)));
	nic_report_add(report, "msr", in8(r, R_MSR));
	nic_report_add(report, "control", in16(r, R_BMCR));
	nic_report_add(report, "offer", in16(r, R_ANAR));
	nic_report_add(report, "partner", in16(r, R_ANLPAR));
}

static const struct pci_id ids[] = {
        {0x10ec, 0x8139}, {0x10ec, 0x8138}, {0x1113, 0x1211}, {0x1186, 0x1300}, {0x1186, 0x1340},
        {0x4033, 0x1360}, {0x13d1, 0xab06}, {0x1259, 0xa117}, {0x1259, 0xa11e}, {0x14ea, 0xab06},
        {0x14ea, 0xab07}, {0x11db, 0x1234}, {0x1432, 0x9130}, {0x02ac, 0x1012}, {0x018a, 0x0106},
        {0x126c, 0x1211}, {0x1743, 0x8139}, {0x021b, 0x8139}, {0x16ec, 0xab06},
};

const struct pci_driver rtl8139_driver = {
        .name = "rtl8139",
        .ids = ids,
        .n_ids = ARRAY_SIZE(ids),
        .probe = rtl8139_probe,
};
