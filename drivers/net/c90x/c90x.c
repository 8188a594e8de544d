/* 3Com EtherLink XL network cards: 3c900 and 3c905, their B and their C. Registers: c90x_reg.h;
 * reset, EEPROM, PHY and carrier: c90x_hw.c.
 *
 * Invariants: every receive descriptor has a packet. The transmit slots from tx_head up to tx_tail
 * hold the frames that the card is to send. Nothing is copied. The receive descriptors are a ring.
 * The transmit descriptors are a list that ends with the newest one; the slot before tx_head ends
 * it when no frame waits. A B or C looks at the end of the list again and again, so that a frame
 * costs no register access; for the others the list is stopped for each burst. A receiver that
 * finds its ring full stops: each burst that was received ends with one command to go on.
 *
 * Left out on purpose: checksums by the card (errata), an interrupt for the carrier. */
#include "drivers/net/c90x/c90x.h"

#include "drivers/net/nic_list.h"
#include "drivers/net/ring.h"
#include "drivers/net/wire.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define RX_MASK (C_RX_RING - 1)
#define TX_MASK (C_TX_RING - 1)

#define POLL_US  5000u /* shortest time between two full runs of poll() */
#define LINK_US  250000u
#define STATS_US 1000000u
#define HANG_US  2000000u
#define CAUSES   (STATUS_HOST | STATUS_TX | STATUS_UP)

static struct c90x *card(struct nic *nic)
{
	return (struct c90x *)nic;
}

/* A word that the device may write at any time. */
static inline uint32_t device_word(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/* --- receive ------------------------------------------------------------------------------ */

static inline void rx_give(struct c90x *c, uint32_t i, struct pkt *p)
{
	struct c_desc *d = &c->rx_desc[i];
	c->rx[i] = p;
	d->addr = (uint32_t)dma_addr(p->data);
	io_wmb();
	d->state = 0;
}

static inline bool rx_waiting(const struct c90x *c)
{
	return !c->broken && device_word(&c->rx_desc[c->rx_next].state) & RX_DONE;
}

static uint32_t c90x_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct c90x *c = card(nic);
	if (!rx_waiting(c))
		return 0;
	struct pool *pool = nic->pool;
	struct pkt **top = ring_top(pool), **out = burst;
	uint32_t i = c->rx_next;
	/* Each pass handles one descriptor, so that a flood of bad frames ends too. */
	for (max = min_u32(max, C_RX_RING); max; max--) {
		uint32_t state = device_word(&c->rx_desc[i].state);
		if (!(state & RX_DONE))
			break;
		io_rmb();
		uint32_t len = state & RX_LEN;
		struct pkt *p = c->rx[i];
		bool good = !(state & RX_ERROR) && wire_good_length(len);
		if (LIKELY(good && top != pool->stack)) {
			pkt_filled(p, len);
			*out++ = p;
			p = ring_alloc(&top);
		} else if (good) {
			nic->count.rx_no_packet++;
		} else {
			nic->count.rx_errors++;
		}
		rx_give(c, i, p);
		i = (i + 1) & RX_MASK;
	}
	c->rx_next = i;
	c->ack = 2;
	ring_settle(pool, top);
	io_wmb();
	c_command(c, UP_UNSTALL);
	return (uint32_t)(out - burst);
}

/* --- transmit ----------------------------------------------------------------------------- */

/* Gives how many of the frames that wait the card has read. An old card says only which one it
 * reads, or none. */
static uint32_t tx_read(const struct c90x *c)
{
	uint32_t n = c->tx_tail - c->tx_head;
	if (!c->old || n == 0)
		return n;
	uint32_t at = c_in32(c, C_DN_LIST);
	if (at == 0)
		return n;
	uint32_t slot = (at - (uint32_t)dma_addr(c->tx_desc)) / sizeof(struct c_desc);
	uint32_t behind = (slot - c->tx_head) & TX_MASK;
	return slot < C_TX_RING && behind < n ? behind : 0;
}

static inline bool tx_done(const struct c90x *c)
{
	return device_word(&c->tx_desc[c->tx_head & TX_MASK].state) & TX_DONE;
}

static void tx_reclaim(struct c90x *c)
{
	struct pool *pool = c->nic.pool;
	uint32_t n = tx_read(c);
	struct pkt **top = ring_top(pool);
	for (; n && (c->old || tx_done(c)); n--, c->tx_head++)
		ring_free(pool, &top, c->tx[c->tx_head & TX_MASK]);
	ring_settle(pool, top);
}

static inline uint32_t bus_of(const struct c90x *c, uint32_t i)
{
	return (uint32_t)dma_addr(&c->tx_desc[i & TX_MASK]);
}

/* Writes the next slot, which ends the list. */
static inline void tx_fill(struct c90x *c, struct pkt *p)
{
	uint32_t i = c->tx_tail++ & TX_MASK;
	struct c_desc *d = &c->tx_desc[i];
	c->tx[i] = p;
	d->next = 0;
	d->state = TX_TELL | (c->old ? p->len : TX_NO_ROUND);
	d->addr = (uint32_t)dma_addr(p->data);
	d->len = D_LAST | p->len;
}

/* Appends the slots from `first` on, which are linked among themselves, to the list. */
static void tx_append(struct c90x *c, uint32_t first)
{
	struct c_desc *last = &c->tx_desc[(first - 1) & TX_MASK];
	io_wmb();
	if (!c->old) {
		last->next = bus_of(c, first);
		return;
	}
	c_command(c, DN_STALL);
	(void)c90x_hw_done(c, 2000); /* one that hangs is found by poll() */
	last->next = bus_of(c, first);
	io_wmb();
	if (c_in32(c, C_DN_LIST) == 0)
		c_out32(c, C_DN_LIST, bus_of(c, first));
	c_command(c, DN_UNSTALL);
}

static uint32_t c90x_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct c90x *c = card(nic);
	tx_reclaim(c);
	if (UNLIKELY(!nic->carrier.up))
		return wire_no_carrier(nic, burst, n);
	/* The slot before tx_head stays as it is: the card may look at it again. */
	uint32_t room = C_TX_RING - 1 - (c->tx_tail - c->tx_head), old = c->tx_tail;
	c->tx_refused = n > room;
	if (UNLIKELY(n > room))
		n = room;
	for (struct pkt **end = burst + n; burst != end; burst++) {
		struct pkt *p = *burst;
		if (UNLIKELY(!wire_fits(p)) && !wire_pad(nic, p))
			continue;
		tx_fill(c, p);
		if (c->tx_tail - old > 1)
			c->tx_desc[(c->tx_tail - 2) & TX_MASK].next = bus_of(c, c->tx_tail - 1);
	}
	if (c->tx_tail != old)
		tx_append(c, old);
	return n;
}

/* --- start and stop ----------------------------------------------------------------------- */

static void write_mask(const struct c90x *c)
{
	c_command(c, INT_ENABLE(CAUSES | (c->tx_wake ? STATUS_DOWN : 0)));
}

static void start_lists(struct c90x *c)
{
	memset(c->tx_desc, 0, C_TX_RING * sizeof *c->tx_desc);
	for (uint32_t i = 0; i < C_RX_RING; i++) {
		c->rx_desc[i].next = (uint32_t)dma_addr(&c->rx_desc[(i + 1) & RX_MASK]);
		c->rx_desc[i].len = D_LAST | PKT_ROOM;
		rx_give(c, i, c->rx[i]);
	}
	c->rx_next = c->tx_head = c->tx_tail = 0;
	c->tx_desc[TX_MASK].state =
	        TX_EMPTY | TX_NO_ROUND; /* the list of a B or C is never empty */
	io_wmb();
	c_out32(c, C_UP_LIST, (uint32_t)dma_addr(c->rx_desc));
	if (c->old) {
		c_out8(c, C_TX_FREE, TX_FREE_USUAL);
	} else {
		c_out8(c, C_DN_POLL, DN_POLL_USUAL);
		c_out32(c, C_DN_LIST, bus_of(c, TX_MASK));
	}
}

/* Starts a card that was just reset. */
static bool start(struct c90x *c)
{
	c->tx_refused = c->tx_wake = false;
	c->ack = 2;
	c->hang_head = 0;
	if (!c90x_hw_start(c))
		return false;
	start_lists(c);
	c_command(c, STATS_ENABLE);
	c_command(c, IND_ENABLE(CAUSES | STATUS_DOWN | STATUS_STATS));
	c_command(c, RX_ENABLE);
	c_command(c, TX_ENABLE);
	write_mask(c);
	c->link_us = c->hang_us = io_now_us();
	return true;
}

static void tx_drop_all(struct c90x *c, uint64_t *counter)
{
	for (; c->tx_head != c->tx_tail; c->tx_head++) {
		++*counter;
		pkt_free(c->tx[c->tx_head & TX_MASK]);
	}
}

/* Resets and starts the card. Adds the frames that were not sent to *counter. */
static void restart(struct c90x *c, uint64_t *counter, const char *why)
{
	const struct pci_dev *d = &c->nic.pci;
	log_line("pci %02x:%02x.%x: 3c90x: %s, reset", d->bus, d->dev, d->fn, why);
	c->nic.count.resets++;
	if (!c->broken)
		tx_reclaim(c);
	bool ok = c90x_hw_reset(c);
	tx_drop_all(c, counter);
	c->nic.carrier = (struct nic_carrier){0};
	c->broken = false;
	if (ok) {
		pci_enable(d);
		ok = start(c);
	}
	c->hang_us = io_now_us();
	c->broken = !ok;
	if (!ok) {
		c->nic.carrier = (struct nic_carrier){0};
		pci_cut(d); /* the card may still write into packets */
	}
}

static void c90x_stop(struct nic *nic)
{
	struct c90x *c = card(nic);
	uint64_t ignored = 0;
	if (!c90x_hw_reset(c))
		pci_cut(&nic->pci);
	tx_drop_all(c, &ignored);
	wire_free(c->rx, C_RX_RING);
	nic->carrier.up = false;
}

/* --- watching ----------------------------------------------------------------------------- */

/* True when frames wait, and none was sent for HANG_US. */
static bool tx_hangs(struct c90x *c, uint64_t now_us)
{
	if (c->tx_head == c->tx_tail || c->tx_head != c->hang_head) {
		c->hang_head = c->tx_head;
		c->hang_us = now_us;
		return false;
	}
	return now_us > c->hang_us + HANG_US; /* start() may have set hang_us later than now_us */
}

/* A frame that could not be sent stops the transmitter. After too many collisions it goes on by a
 * command. True when it needs a reset. */
static bool tx_failed(struct c90x *c)
{
	for (unsigned i = 0; i < 32; i++) { /* more than it stores */
		uint8_t v = c_in8(c, C_TX_STATUS);
		if (v == 0)
			break;
		c->nic.count.tx_errors++;
		if (v & (TX_JABBER | TX_UNDERRUN))
			return true;
		c_out8(c, C_TX_STATUS, 0);
	}
	c_command(c, TX_ENABLE);
	return false;
}

static void watch_slowly(struct c90x *c, uint64_t now_us, uint16_t status)
{
	if (now_us - c->link_us >= LINK_US) {
		c->link_us = now_us;
		c90x_hw_carrier(c);
	}
	if (status & STATUS_STATS || now_us - c->stats_us >= STATS_US) {
		c->stats_us = now_us;
		c90x_hw_stats(c);
	}
}

static void watch(struct c90x *c, uint64_t now_us)
{
	struct nic_counters *n = &c->nic.count;
	uint16_t status = c_in16(c, C_STATUS);
	if (status == C_GONE) {
		restart(c, &n->tx_errors, "no longer answers");
		return;
	}
	watch_slowly(c, now_us, status);
	if (status & STATUS_HOST)
		restart(c, &n->tx_errors, "error on the bus");
	else if (status & STATUS_TX && tx_failed(c))
		restart(c, &n->tx_errors, "transmitter stopped");
	else if (!c->nic.carrier.up && c->tx_head != c->tx_tail)
		restart(c, &n->tx_link_down, "carrier lost while frames wait");
	else if (tx_hangs(c, now_us))
		restart(c, &n->tx_errors, "transmitter hangs");
}

static void c90x_poll(struct nic *nic, uint64_t now_us)
{
	struct c90x *c = card(nic);
	if (now_us - c->poll_us < POLL_US)
		return;
	c->poll_us = now_us;
	if (!c->ack)
		c->ack = 1; /* clears a cause that came late (see c90x_arm) */
	if (!c->broken) {
		tx_reclaim(c);
		watch(c, now_us);
	} else if (now_us > c->hang_us + HANG_US) {
		restart(c, &nic->count.tx_errors, "did not finish its reset");
	}
}

/* The causes are enabled all the time. To arm is to acknowledge them, and then to look at the ring.
 * The read behind the acknowledgement pushes the card's writes to memory before it
 * (PCI 3.0, 3.2.5). A frame after that raises the line again. */
static bool c90x_arm(struct nic *nic)
{
	struct c90x *c = card(nic);
	if (c->broken)
		return false;
	if (rx_waiting(c))
		return true;
	if (UNLIKELY(c->tx_refused != c->tx_wake)) {
		c->tx_wake = c->tx_refused;
		write_mask(c);
		c->ack = 2;
	}
	if (c->ack || c->tx_wake) {
		c->ack -= c->ack != 0;
		/* What else is wrong with the card stays for poll(). */
		c_command(c, ACKNOWLEDGE);
		(void)c_in16(c, C_STATUS);
		io_rmb();
	}
	if (rx_waiting(c))
		return true;
	uint32_t head = c->tx_head;
	if (c->tx_refused)
		tx_reclaim(c);
	return head != c->tx_head;
}

static void c90x_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n)
{
	struct c90x *c = card(nic);
	c->promiscuous = promiscuous;
	c->groups = n != 0;
	memset(c->hash, 0, sizeof c->hash);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bit = wire_crc_be(&group[i]) & 255;
		c->hash[bit / 32] |= 1u << bit % 32;
	}
	if (!c->broken)
		c90x_hw_filter(c);
}

/* --- probe -------------------------------------------------------------------------------- */

static const struct nic_ops ops = {
        .rx = c90x_rx,
        .tx = c90x_tx,
        .poll = c90x_poll,
        .arm = c90x_arm,
        .stop = c90x_stop,
        .filter = c90x_filter,
        .report = c90x_hw_report,
};

static bool is_old(uint16_t device)
{
	return device == 0x9000 || device == 0x9001 || device == 0x9050 || device == 0x9051;
}

static const char *c90x_probe(const struct pci_dev *dev, struct pool *pool, struct nic **out)
{
	struct pci_bar bar = pci_bar(dev, 0);
	if (bar.base == 0 || !bar.io || bar.size < C_PORTS || bar.base > 0x10000 - C_PORTS)
		return "no I/O ports";
	struct c90x *c = alloc(sizeof *c, 64);
	if (!c)
		return "no memory";
	c->ports = (uint16_t)bar.base;
	c->rx_desc = alloc(C_RX_RING * sizeof *c->rx_desc, 4096);
	c->tx_desc = alloc(C_TX_RING * sizeof *c->tx_desc, 4096);
	if (!c->rx_desc || !c->tx_desc)
		return "no memory";
	c->nic = (struct nic){
	        .ops = &ops, .driver = "3c90x", .pool = pool, .irq = dev->irq, .pci = *dev};
	c->old = is_old(dev->device);
	pci_enable(dev);
	if (!c90x_hw_reset(c))
		return "does not come out of reset";
	if (!c90x_hw_address(c))
		return "no valid MAC address";
	if (!wire_fill(c->rx, C_RX_RING, pool))
		return "too few packets for the receive ring";
	if (!start(c)) {
		pci_cut(dev);
		wire_free(c->rx, C_RX_RING);
		return "a command does not end";
	}
	*out = &c->nic;
	return NULL;
}

static const struct pci_id ids[] = {
        {0x10b7, 0x9000}, {0x10b7, 0x9001}, {0x10b7, 0x9004}, {0x10b7, 0x9005}, {0x10b7, 0x9006},
        {0x10b7, 0x9050}, {0x10b7, 0x9051}, {0x10b7, 0x9054}, {0x10b7, 0x9055}, {0x10b7, 0x9056},
        {0x10b7, 0x9058}, {0x10b7, 0x9200}, {0x10b7, 0x9201}, {0x10b7, 0x9202}, {0x10b7, 0x9210},
        {0x10b7, 0x9800}, {0x10b7, 0x9805},
};

const struct pci_driver c90x_driver = {
        .name = "3c90x",
        .ids = ids,
        .n_ids = ARRAY_SIZE(ids),
        .probe = c90x_probe,
};
