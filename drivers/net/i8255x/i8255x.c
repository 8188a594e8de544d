/* Intel 8255x Fast Ethernet cards (82557, 82558, 82559, 82550, 82551, and those in chip sets with
 * an 82562): "Intel 8255x 10/100 Mbps Ethernet Controller Family Open Source Software Developer
 * Manual", revision 1.3. Registers and sections: i8255x_reg.h; EEPROM and PHY: i8255x_hw.c.
 *
 * Invariants: the receive list is a circle of packets. Each has its descriptor in the headroom,
 * just before the frame, so nothing is copied. The receiver stops behind the descriptor before
 * rx_next, the only one with RFD_LAST. Command blocks are a ring; the blocks from tx_head up to
 * tx_tail belong to the card, and the newest block of all is the only one with CB_SUSPEND: there
 * the command unit waits, so that block is never reused before another one follows it. Besides
 * frames, commands for the filters go through the ring.
 *
 * No register is read for a received frame. A burst to be sent takes one read and one write.
 *
 * Left out on purpose: checksums by the 82550 and 82551 (their errata), the 82559's reception with
 * extended descriptors, an interrupt for the carrier (the card has none: poll() reads it). */
#include "drivers/net/nic_list.h"
#include "drivers/net/i8255x/i8255x.h"
#include "drivers/net/ring.h"

#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define TX_MASK  (X_TX_RING - 1)
#define WIRE_MIN 60u /* IEEE 802.3 3.2.8, without FCS */

/* QEMU's cards stop after so many blocks, and go on with another resume. */
#define EMULATED_STOP 16u

#define POLL_US   5000u /* shortest time between two full runs of poll() */
#define STATS_US  1000000u
#define HANG_US   2000000u
#define SILENT_US 2000000u /* a receiver that may lock up is revived after this time */

/* --- command blocks --------------------------------------------------------------- */

static inline bool cb_done(const struct i8255x *x, uint32_t i)
{
	return (x_device_word(&x->cb[i & TX_MASK].state) & CB_DONE) != 0;
}

static inline uint32_t room(const struct i8255x *x)
{
	return X_TX_RING - 1 - (x->tx_tail - x->tx_head);
}

/* Frees the frames that were sent. */
static inline void tx_reclaim(struct i8255x *x)
{
	struct pool *pool = x->nic.pool;
	struct pkt **top = ring_top(pool);
	uint32_t i = x->tx_head;
	for (; i != x->tx_tail && cb_done(x, i); i++) {
		struct pkt *p = x->tx[i & TX_MASK];
		if (UNLIKELY(!p))
			continue;
		if (UNLIKELY(!(x->cb[i & TX_MASK].state & CB_OK)))
			x->nic.count.tx_errors++;
		ring_free(pool, &top, p);
	}
	x->tx_head = i;
	ring_settle(pool, top);
}

/* Lets the command unit go on behind the block where it waits. */
static void cu_resume(struct i8255x *x)
{
	if (UNLIKELY(x->nop_first)) {
		(void)i8255x_hw_command(x, 0);
		io_delay_us(1);
	}
	x->cu_owed = !i8255x_hw_command(x, CU_RESUME);
}

/* Gives the card the blocks from `first` up to tx_tail. */
static inline void cb_publish(struct i8255x *x, uint32_t first)
{
	uint32_t *last = &x->cb[(x->tx_tail - 1) & TX_MASK].state;
	*last |= CB_SUSPEND << 16;
	io_wmb();
	uint32_t *old = &x->cb[(first - 1) & TX_MASK].state;
	x_set_command(old, (uint16_t)(x_device_word(old) >> 16 & ~CB_SUSPEND));
	cu_resume(x);
	uint32_t stop = first + EMULATED_STOP;
	if ((int32_t)(x->tx_tail - stop) > 0 && cb_done(x, stop - 1) && !cb_done(x, stop))
		cu_resume(x);
}

/* Fills the next block with a command other than a frame. Gives its bytes. */
static uint8_t *cb_command(struct i8255x *x, uint32_t command)
{
	uint32_t i = x->tx_tail++ & TX_MASK;
	x->tx[i] = NULL;
	x->cb[i].state = command << 16;
	return x->cb[i].bytes;
}

/* Fills two blocks: the configuration, which has the modes of the filter, and the groups. */
static void filter_put(struct i8255x *x)
{
	i8255x_hw_configuration(x, cb_command(x, CB_CONFIGURE));
	uint8_t *b = cb_command(x, CB_MULTICAST);
	store16(b, (uint16_t)(6 * x->n_group));
	memcpy(b + 2, x->group, 6u * x->n_group);
}

static void filter_write(struct i8255x *x)
{
	uint32_t first = x->tx_tail;
	tx_reclaim(x);
	x->filter_owed = room(x) < 2;
	if (x->filter_owed || x->broken)
		return;
	filter_put(x);
	cb_publish(x, first);
}

static void i8255x_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n)
{
	struct i8255x *x = x_card(nic);
	x->promiscuous = promiscuous;
	x->all_groups = n > X_GROUPS;
	x->n_group = (uint8_t)(x->all_groups ? 0 : n);
	if (x->n_group)
		memcpy(x->group, group, x->n_group * sizeof *group);
	filter_write(x);
}

/* --- transmit --------------------------------------------------------------------------- */

/* Pads a short frame with zeros. False when the frame cannot be sent: then it is counted and
 * freed. */
static bool tx_fits(struct i8255x *x, struct pkt *p)
{
	if (p->len >= NIC_FRAME_MIN && p->len < WIRE_MIN) {
		uint32_t missing = WIRE_MIN - p->len;
		uint8_t *pad = pkt_put(p, missing);
		if (pad) {
			memset(pad, 0, missing);
			return true;
		}
	}
	x->nic.count.tx_errors++;
	pkt_free(p);
	return false;
}

static uint32_t no_carrier(struct i8255x *x, struct pkt **burst, uint32_t n)
{
	x->nic.count.tx_link_down += n;
	for (uint32_t i = 0; i < n; i++)
		pkt_free(burst[i]);
	return n;
}

static uint32_t i8255x_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct i8255x *x = x_card(nic);
	tx_reclaim(x);
	if (UNLIKELY(!nic->carrier.up))
		return no_carrier(x, burst, n);
	uint32_t most = room(x), first = x->tx_tail, i = first;
	x->tx_refused = n > most;
	if (UNLIKELY(n > most))
		n = most;
	for (struct pkt **end = burst + n; burst != end; burst++) {
		struct pkt *p = *burst;
		if (UNLIKELY(p->len - WIRE_MIN > NIC_FRAME_MAX - WIRE_MIN) && !tx_fits(x, p))
			continue;
		struct x_cb *cb = &x->cb[i & TX_MASK];
		cb->tx.array = x_bus(&cb->tx.buffer);
		cb->tx.count = TX_COUNT;
		cb->tx.buffer = x_bus(p->data);
		cb->tx.size = p->len;
		cb->state = (CB_SEND | CB_FLEXIBLE) << 16;
		x->tx[i & TX_MASK] = p;
		i++;
	}
	x->tx_tail = i;
	if (i != first)
		cb_publish(x, first);
	return n;
}

/* --- start and stop ---------------------------------------------------------------------- */

/* The first commands: configuration, filter, address. The command unit then waits behind them. */
static void start_tx(struct i8255x *x)
{
	memset(x->cb, 0, X_TX_RING * sizeof *x->cb);
	for (uint32_t i = 0; i < X_TX_RING; i++)
		x->cb[i].link = x_bus(&x->cb[(i + 1) & TX_MASK]);
	x->tx_head = x->tx_tail = 0;
	x->tx_refused = x->tx_wake = x->cu_owed = x->filter_owed = false;
	filter_put(x);
	memcpy(cb_command(x, CB_ADDRESS), x->nic.address.b, 6);
	x->cb[x->tx_tail - 1].state |= CB_SUSPEND << 16;
	io_wmb();
	(void)i8255x_hw_point(x, x_bus(x->cb), CU_START);
}

static void write_mask(const struct i8255x *x)
{
	/* The 82557 has one bit for all causes. */
	x_write8(x, X_MASK, x->is_82557 ? 0 : MASK_CX | MASK_EARLY | (x->tx_wake ? 0 : MASK_CNA));
}

/* Adds up the counters that the card wrote since the last call, and asks for new ones. */
static void stats(struct i8255x *x)
{
	struct nic_counters *c = &x->nic.count;
	const uint32_t *s = x->stats;
	bool there = false;
	for (unsigned i = STAT_FIRST_END; i < STAT_WORDS; i++)
		there |= x_device_word(&s[i]) == STAT_MARK;
	if (x->stats_asked && !there)
		return; /* the card is still writing */
	io_rmb();
	if (x->stats_asked) {
		c->rx_missed += (uint64_t)s[STAT_RX_RESOURCE] + s[STAT_RX_OVERRUN];
		c->rx_errors += (uint64_t)s[STAT_RX_CRC] + s[STAT_RX_ALIGN] + s[STAT_RX_SHORT];
		c->tx_errors += (uint64_t)s[STAT_TX_UNDERRUN];
	}
	memset(x->stats, 0, STAT_WORDS * sizeof *s);
	io_wmb();
	x->stats_asked = i8255x_hw_command(x, CU_STATS_RESET);
}

/* Starts a card that was just reset, with empty rings. */
static void start(struct i8255x *x)
{
	memset(x->stats, 0, STAT_WORDS * sizeof *x->stats);
	(void)i8255x_hw_point(x, x_bus(x->stats), CU_STATS_ADDRESS);
	x->stats_asked = false;
	i8255x_hw_phy(x);
	start_tx(x);
	i8255x_rx_start(x);
	write_mask(x);
	x->ack = 2;
	x->hang_head = 0;
	x->hang_us = x->heard_us = io_now_us();
	i8255x_hw_carrier(x);
}

static void tx_drop_all(struct i8255x *x, uint64_t *counter)
{
	for (; x->tx_head != x->tx_tail; x->tx_head++) {
		struct pkt *p = x->tx[x->tx_head & TX_MASK];
		if (!p)
			continue;
		++*counter;
		pkt_free(p);
	}
}

/* Resets and starts the card. Adds the frames that were not sent to *counter. */
static void restart(struct i8255x *x, uint64_t *counter, const char *why)
{
	const struct pci_dev *d = &x->nic.pci;
	log_line("pci %02x:%02x.%x: i8255x: %s, reset", d->bus, d->dev, d->fn, why);
	x->nic.count.resets++;
	bool ok = i8255x_hw_reset(x);
	x->hang_us = io_now_us();
	tx_reclaim(x);
	tx_drop_all(x, counter);
	x->broken = !ok;
	x->nic.carrier = (struct nic_carrier){0};
	if (!ok) {
		pci_cut(d); /* the card may still write into packets */
		return;
	}
	pci_enable(d);
	start(x);
}

static void i8255x_stop(struct nic *nic)
{
	struct i8255x *x = x_card(nic);
	uint64_t ignored = 0;
	if (!i8255x_hw_reset(x))
		pci_cut(&nic->pci);
	tx_drop_all(x, &ignored);
	for (uint32_t i = 0; i < X_RX_RING; i++)
		pkt_free(x->rx[i]);
	nic->carrier.up = false;
}

/* --- watching ----------------------------------------------------------------------------------
 */

static bool frames_wait(const struct i8255x *x)
{
	for (uint32_t i = x->tx_head; i != x->tx_tail; i++)
		if (x->tx[i & TX_MASK])
			return true;
	return false;
}

/* True when blocks wait, and none was done for HANG_US. */
static bool tx_hangs(struct i8255x *x, uint64_t now_us)
{
	if (x->tx_head == x->tx_tail || x->tx_head != x->hang_head) {
		x->hang_head = x->tx_head;
		x->hang_us = now_us;
		return false;
	}
	return now_us > x->hang_us + HANG_US; /* start() may have set hang_us later than now_us */
}

/* Erratum of the 82557: noise between frames may lock the receiver up. Setting the multicast
 * filter frees it. */
static void revive(struct i8255x *x, uint64_t now_us)
{
	if (x->received != x->heard) {
		x->heard = x->received;
		x->heard_us = now_us;
	} else if (now_us > x->heard_us + SILENT_US) {
		x->heard_us = now_us;
		filter_write(x);
	}
}

static void watch(struct i8255x *x, uint64_t now_us)
{
	struct nic_counters *c = &x->nic.count;
	uint16_t status = x_read16(x, X_STATUS);
	if (status == X_GONE) {
		restart(x, &c->tx_errors, "no longer answers");
		return;
	}
	i8255x_hw_carrier(x);
	if (STATUS_RUS(status) != RUS_READY)
		i8255x_rx_kick(x);
	/* A block that is not done is not behind the one where the command unit waits. */
	if (x->tx_head != x->tx_tail && (x->cu_owed || !cb_done(x, x->tx_head)))
		cu_resume(x);
	if (x->filter_owed)
		filter_write(x);
	if (!x->nic.carrier.up && frames_wait(x))
		restart(x, &c->tx_link_down, "carrier lost while frames wait");
	else if (tx_hangs(x, now_us))
		restart(x, &c->tx_errors, "transmitter hangs");
	if (x->lockup && x->nic.carrier.up)
		revive(x, now_us);
	if (now_us - x->stats_us >= STATS_US && !x->broken) {
		x->stats_us = now_us;
		stats(x);
	}
}

static void i8255x_poll(struct nic *nic, uint64_t now_us)
{
	struct i8255x *x = x_card(nic);
	tx_reclaim(x);
	if (now_us - x->poll_us < POLL_US)
		return;
	x->poll_us = now_us;
	if (!x->ack)
		x->ack = 1; /* clears a cause that came late (see i8255x_arm) */
	if (!x->broken)
		watch(x, now_us);
	else if (now_us > x->hang_us + HANG_US)
		restart(x, &nic->count.tx_errors, "did not finish its reset");
}

/* True when the ring has room for frames that tx() refused before. */
static bool tx_waiting(const struct i8255x *x)
{
	return x->tx_refused && x->tx_head != x->tx_tail && cb_done(x, x->tx_head);
}

/* The causes are enabled all the time. To arm is to acknowledge them, and then to look at the
 * ring. The read behind the acknowledgement makes it reach the card, and pushes the card's writes
 * to memory before it (PCI 3.0, 3.2.5). A frame after that raises the line again. A card without
 * new frames is not read. */
static bool i8255x_arm(struct nic *nic)
{
	struct i8255x *x = x_card(nic);
	if (x_rx_waiting(x))
		return true;
	if (UNLIKELY(x->tx_refused != x->tx_wake)) {
		x->tx_wake = x->tx_refused;
		write_mask(x);
		x->ack = 2;
	}
	if ((x->ack || x->tx_wake) && !x->broken) {
		x->ack -= x->ack != 0;
		x_write8(x, X_ACK, ACK_ALL);
		if (STATUS_RUS(x_read16(x, X_STATUS)) != RUS_READY)
			i8255x_rx_kick(x);
		io_rmb();
	}
	/* poll() repeats a resume that the card has not accepted. */
	return x_rx_waiting(x) || tx_waiting(x) || (x->cu_owed && !x->broken);
}

/* --- probe ------------------------------------------------------------------------------- */

static const struct nic_ops ops = {
        .rx = i8255x_rx,
        .tx = i8255x_tx,
        .poll = i8255x_poll,
        .arm = i8255x_arm,
        .stop = i8255x_stop,
        .filter = i8255x_filter,
        .report = i8255x_hw_report,
};

static bool fill_ring(struct i8255x *x, struct pool *pool)
{
	for (uint32_t i = 0; i < X_RX_RING; i++) {
		struct pkt *p = pkt_alloc(pool);
		if (!p) {
			while (i--)
				pkt_free(x->rx[i]);
			return false;
		}
		pkt_lend(p);
		x->rx[i] = p;
	}
	return true;
}

static const char *i8255x_probe(const struct pci_dev *dev, struct pool *pool, struct nic **out)
{
	struct pci_bar bar = pci_bar(dev, 0);
	if (bar.base == 0 || bar.io || bar.size < X_WINDOW)
		return "no memory window";
	struct i8255x *x = alloc(sizeof *x, 64);
	if (!x)
		return "no memory";
	x->rx = alloc(X_RX_RING * sizeof(struct pkt *), 64);
	x->tx = alloc(X_TX_RING * sizeof(struct pkt *), 64);
	x->cb = alloc(X_TX_RING * sizeof *x->cb, 4096);
	x->stats = alloc(STAT_WORDS * sizeof *x->stats, 64);
	x->regs = mem_map(bar.base, X_WINDOW);
	if (!x->rx || !x->tx || !x->cb || !x->stats || !x->regs)
		return "no memory";
	x->nic = (struct nic){
	        .ops = &ops, .driver = "i8255x", .pool = pool, .irq = dev->irq, .pci = *dev};
	i8255x_hw_identify(x);
	pci_enable(dev);
	if (!i8255x_hw_reset(x))
		return "does not come out of reset";
	if (!i8255x_hw_eeprom(x))
		return "no valid MAC address";
	if (!fill_ring(x, pool))
		return "too few packets for the receive ring";
	start(x);
	*out = &x->nic;
	return NULL;
}

static const struct pci_id ids[] = {
        {0x8086, 0x1229},
        {0x8086, 0x1209},
        {0x8086, 0x1029}, /* 82557 to 82559, 82551 */
        /* In chip sets, with an 82562. */
        {0x8086, 0x1030},
        {0x8086, 0x1031},
        {0x8086, 0x1032},
        {0x8086, 0x1033},
        {0x8086, 0x1034},
        {0x8086, 0x1038},
        {0x8086, 0x1039},
        {0x8086, 0x103a},
        {0x8086, 0x103b},
        {0x8086, 0x103c},
        {0x8086, 0x103d},
        {0x8086, 0x103e},
        {0x8086, 0x1050},
        {0x8086, 0x1051},
        {0x8086, 0x1052},
        {0x8086, 0x1053},
        {0x8086, 0x1054},
        {0x8086, 0x1055},
        {0x8086, 0x1056},
        {0x8086, 0x1057},
        {0x8086, 0x1059},
        {0x8086, 0x1064},
        {0x8086, 0x1065},
        {0x8086, 0x1066},
        {0x8086, 0x1067},
        {0x8086, 0x1068},
        {0x8086, 0x1069},
        {0x8086, 0x106a},
        {0x8086, 0x106b},
        {0x8086, 0x1091},
        {0x8086, 0x1092},
        {0x8086, 0x1093},
        {0x8086, 0x1094},
        {0x8086, 0x1095},
        {0x8086, 0x10fe},
        {0x8086, 0x2449},
        {0x8086, 0x2459},
        {0x8086, 0x245d},
        {0x8086, 0x27dc},
};

const struct pci_driver i8255x_driver = {
        .name = "i8255x",
        .ids = ids,
        .n_ids = ARRAY_SIZE(ids),
        .probe = i8255x_probe,
};
