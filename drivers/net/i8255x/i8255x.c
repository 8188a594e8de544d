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

#define RX_MASK  (X_RX_RING - 1)
#define TX_MASK  (X_TX_RING - 1)
#define WIRE_MIN 60u /* IEEE 802.3 3.2.8, without FCS */
#define RX_COUNT (PKT_ROOM << 16)

/* QEMU's cards stop after so many blocks, and go on with another resume. */
#define EMULATED_STOP 16u

#define POLL_US   5000u /* shortest time between two full runs of poll() */
#define STATS_US  1000000u
#define HANG_US   2000000u
#define SILENT_US 2000000u /* a receiver that may lock up is revived after this time */

static struct i8255x *card(struct nic *nic)
{
	return (struct i8255x *)nic;
}

/* A word that the device may write at any time. */
static inline uint32_t device_word(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/* The upper half of a block's first word; the device may write the lower one meanwhile. */
static inline void set_command(uint32_t *state, uint16_t command)
{
	*(volatile uint16_t *)((uint8_t *)state + 2) = command;
}

/* --- receive ------------------------------------------------------------------- */

static inline struct x_rfd *rfd_of(struct pkt *p)
{
	return (struct x_rfd *)(p->bytes + PKT_HEADROOM - sizeof(struct x_rfd));
}

static inline uint32_t bus(const void *p)
{
	return (uint32_t)dma_addr(p);
}

static inline void rx_fresh(struct x_rfd *r)
{
	r->state = 0;
	r->unused = 0xffffffffu;
	r->count = RX_COUNT;
}

static inline bool rx_done(struct pkt *p)
{
	return (device_word(&rfd_of(p)->state) & RFD_DONE) != 0;
}

static inline bool rx_waiting(const struct i8255x *x)
{
	return rx_done(x->rx[x->rx_next]);
}

/* Starts the receiver at the first free descriptor, if it has stopped. */
static void rx_kick(struct i8255x *x)
{
	uint16_t status = x_read16(x, X_STATUS);
	x->rx_stopped = false;
	if (status == X_GONE || STATUS_RUS(status) == RUS_READY)
		return;
	x->rx_stopped = true;
	for (uint32_t i = 0; i < X_RX_RING; i++) {
		struct pkt *p = x->rx[(x->rx_next + i) & RX_MASK];
		if (rx_done(p))
			continue;
		x->rx_stopped = !i8255x_hw_point(x, bus(rfd_of(p)), RU_START);
		return;
	}
}

/* Drops a frame and counts why. */
static void rx_drop(struct i8255x *x, uint32_t state, bool good)
{
	if (good)
		x->nic.count.rx_no_packet++;
	else if (state & RFD_OK || !x->is_82557) /* the 82557's own counters have its bad frames */
		x->nic.count.rx_errors++;
}

/* Gives how many frames wait from slot `at` on, at most n. QEMU's cards mark a frame as done before
 * they write it; any access to a register waits until it is written. Real ones set RFD_ENDED. */
static inline uint32_t rx_count(struct i8255x *x, uint32_t at, uint32_t n)
{
	uint32_t k = 0;
	while (k < n && rx_done(x->rx[at + k]))
		k++;
	if (k && !(device_word(&rfd_of(x->rx[at + k - 1])->count) & RFD_ENDED))
		x_read8(x, X_STATUS);
	io_rmb();
	return k;
}

/* Gives the n slots before `next` back to the card: the receiver now stops behind `last`. */
static void rx_return(struct i8255x *x, uint32_t next, struct x_rfd *last)
{
	struct x_rfd *old = x->rx_last;
	x->rx_next = next & RX_MASK;
	last->link = bus(rfd_of(x->rx[x->rx_next]));
	last->state = RFD_LAST << 16;
	x->rx_last = last;
	x->ack = 2;
	io_wmb();
	bool stopped = device_word(&old->state) & RFD_DONE;
	set_command(&old->state, 0);
	if (UNLIKELY(stopped || x->rx_stopped))
		rx_kick(x);
}

/* A separate function, so that i8255x_rx costs little when no frame waits. */
static __attribute__((noinline)) uint32_t rx_burst(struct i8255x *x, struct pkt **burst,
                                                   uint32_t max)
{
	struct pool *pool = x->nic.pool;
	uint32_t at = x->rx_next;
	uint32_t n = rx_count(x, at, min_u32(min_u32(max, NIC_BURST), X_RX_RING - at));
	if (n == 0)
		return 0; /* max was 0 */
	struct pkt **top = ring_top(pool), **out = burst, **slot = &x->rx[at];
	struct x_rfd *prev = x->rx_last;
	for (struct pkt **end = slot + n; slot != end; slot++) {
		struct pkt *p = *slot;
		struct x_rfd *r = rfd_of(p);
		uint32_t state = r->state, len = r->count & RFD_LEN;
		bool good = !(state & RFD_ERRORS) &&
		            len - NIC_FRAME_MIN <= NIC_FRAME_MAX - NIC_FRAME_MIN;
		if (LIKELY(good && top != pool->stack)) {
			struct pkt *fresh = ring_alloc(&top);
			*slot = fresh;
			r = rfd_of(fresh);
			pkt_filled(p, len);
			*out++ = p;
		} else {
			rx_drop(x, state, good);
		}
		rx_fresh(r);
		prev->link = bus(r);
		prev = r;
	}
	ring_settle(pool, top);
	rx_return(x, at + n, prev);
	x->received += n;
	return (uint32_t)(out - burst);
}

static uint32_t i8255x_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct i8255x *x = card(nic);
	return rx_waiting(x) ? rx_burst(x, burst, max) : 0;
}

/* --- command blocks --------------------------------------------------------------- */

static inline bool cb_done(const struct i8255x *x, uint32_t i)
{
	return (device_word(&x->cb[i & TX_MASK].state) & CB_DONE) != 0;
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
	set_command(old, (uint16_t)(device_word(old) >> 16 & ~CB_SUSPEND));
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
	struct i8255x *x = card(nic);
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
	struct i8255x *x = card(nic);
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
		cb->tx.array = bus(&cb->tx.buffer);
		cb->tx.count = TX_COUNT;
		cb->tx.buffer = bus(p->data);
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

static void start_rx(struct i8255x *x)
{
	x->rx_next = 0;
	x->rx_stopped = false;
	for (uint32_t i = 0; i < X_RX_RING; i++) {
		struct x_rfd *r = rfd_of(x->rx[i]);
		rx_fresh(r);
		r->link = bus(rfd_of(x->rx[(i + 1) & RX_MASK]));
	}
	x->rx_last = rfd_of(x->rx[RX_MASK]);
	x->rx_last->state = RFD_LAST << 16;
	io_wmb();
	rx_kick(x);
}

/* The first commands: configuration, filter, address. The command unit then waits behind them. */
static void start_tx(struct i8255x *x)
{
	memset(x->cb, 0, X_TX_RING * sizeof *x->cb);
	for (uint32_t i = 0; i < X_TX_RING; i++)
		x->cb[i].link = bus(&x->cb[(i + 1) & TX_MASK]);
	x->tx_head = x->tx_tail = 0;
	x->tx_refused = x->tx_wake = x->cu_owed = x->filter_owed = false;
	filter_put(x);
	memcpy(cb_command(x, CB_ADDRESS), x->nic.address.b, 6);
	x->cb[x->tx_tail - 1].state |= CB_SUSPEND << 16;
	io_wmb();
	(void)i8255x_hw_point(x, bus(x->cb), CU_START);
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
		there |= device_word(&s[i]) == STAT_MARK;
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
	(void)i8255x_hw_point(x, bus(x->stats), CU_STATS_ADDRESS);
	x->stats_asked = false;
	i8255x_hw_phy(x);
	start_tx(x);
	start_rx(x);
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
	struct i8255x *x = card(nic);
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
		rx_kick(x);
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
	struct i8255x *x = card(nic);
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
	struct i8255x *x = card(nic);
	if (rx_waiting(x))
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
			rx_kick(x);
		io_rmb();
	}
	return rx_waiting(x) || tx_waiting(x);
}

/* --- probe ------------------------------------------------------------------------------- */

static const struct nic_ops ops = {
        .rx = i8255x_rx,
        .tx = i8255x_tx,
        .poll = i8255x_poll,
        .arm = i8255x_arm,
        .stop = i8255x_stop,
        .filter = i8255x_filter,
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
