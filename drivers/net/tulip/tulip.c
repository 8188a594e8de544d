/* DEC 21140 and 21143 network cards ("tulip") with an MII PHY. Registers: tulip_reg.h; EEPROM, PHY
 * and carrier: tulip_hw.c.
 *
 * Invariants: every receive descriptor has a packet. The transmit slots from tx_head up to tx_tail
 * hold the frames that the card is to send; one of them may be the filter, which travels through
 * the ring too, and whose packet is NULL. Nothing is copied. No register is read for a packet, and
 * one is written for each burst that is sent.
 *
 * Left out on purpose: the hash filter (16 addresses are compared, more groups are all groups), an
 * interrupt for the carrier (MII has none here: poll() reads it). */
#include "drivers/net/tulip/tulip.h"

#include "drivers/net/nic_list.h"
#include "drivers/net/ring.h"
#include "drivers/net/wire.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define RX_MASK (T_RX_RING - 1)
#define TX_MASK (T_TX_RING - 1)

#define POLL_US  5000u /* shortest time between two full runs of poll() */
#define LINK_US  250000u
#define STATS_US 1000000u
#define HANG_US  2000000u

static struct tulip *card(struct nic *nic)
{
	return (struct tulip *)nic;
}

/* A word that the device may write at any time. */
static inline uint32_t device_word(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/* --- receive ------------------------------------------------------------------------------ */

static inline void rx_give(struct tulip *t, uint32_t i, struct pkt *p)
{
	struct t_desc *d = &t->rx_desc[i];
	t->rx[i] = p;
	d->addr = (uint32_t)dma_addr(p->data);
	io_wmb();
	d->state = D_OWN;
}

static inline bool rx_waiting(const struct tulip *t)
{
	return !t->broken && !(device_word(&t->rx_desc[t->rx_next].state) & D_OWN);
}

static uint32_t tulip_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct tulip *t = card(nic);
	if (!rx_waiting(t))
		return 0;
	struct pool *pool = nic->pool;
	struct pkt **top = ring_top(pool), **out = burst;
	uint32_t i = t->rx_next;
	/* Each pass handles one descriptor, so that a flood of bad frames ends too. */
	for (max = min_u32(max, T_RX_RING); max; max--) {
		uint32_t state = device_word(&t->rx_desc[i].state);
		if (state & D_OWN)
			break;
		io_rmb();
		uint32_t len = RX_LEN(state) - FCS;
		struct pkt *p = t->rx[i];
		bool good = (state & (RX_BAD | RX_FIRST | RX_LAST)) == (RX_FIRST | RX_LAST) &&
		            wire_good_length(len);
		if (LIKELY(good && top != pool->stack)) {
			pkt_filled(p, len);
			*out++ = p;
			p = ring_alloc(&top);
		} else if (good) {
			nic->count.rx_no_packet++;
		} else if (state & RX_FIRST) { /* one in several buffers counts once */
			nic->count.rx_errors++;
		}
		rx_give(t, i, p);
		i = (i + 1) & RX_MASK;
	}
	t->rx_next = i;
	t->ack = 2;
	ring_settle(pool, top);
	return (uint32_t)(out - burst);
}

/* --- transmit ----------------------------------------------------------------------------- */

static inline bool tx_done(const struct tulip *t)
{
	return !(device_word(&t->tx_desc[t->tx_head & TX_MASK].state) & D_OWN);
}

static inline uint32_t room(const struct tulip *t)
{
	return T_TX_RING - 1 - (t->tx_tail - t->tx_head);
}

static inline void tx_reclaim(struct tulip *t)
{
	struct pool *pool = t->nic.pool;
	struct pkt **top = ring_top(pool);
	for (; t->tx_head != t->tx_tail && tx_done(t); t->tx_head++) {
		struct pkt *p = t->tx[t->tx_head & TX_MASK];
		if (UNLIKELY(!p)) {
			t->setup_waits = false;
			continue;
		}
		if (UNLIKELY(t->tx_desc[t->tx_head & TX_MASK].state & TX_ERROR))
			t->nic.count.tx_errors++;
		ring_free(pool, &top, p);
	}
	ring_settle(pool, top);
}

/* Gives the next slot to the card. `p` is NULL for the filter. */
static inline void tx_give(struct tulip *t, struct pkt *p, const void *from, uint32_t control)
{
	uint32_t i = t->tx_tail++ & TX_MASK;
	struct t_desc *d = &t->tx_desc[i];
	t->tx[i] = p;
	d->addr = (uint32_t)dma_addr(from);
	d->control = control | (i == TX_MASK ? D_RING_END : 0);
	io_wmb();
	d->state = D_OWN;
}

static uint32_t tulip_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct tulip *t = card(nic);
	tx_reclaim(t);
	if (UNLIKELY(!nic->carrier.up))
		return wire_no_carrier(nic, burst, n);
	uint32_t most = room(t), old = t->tx_tail;
	t->tx_refused = n > most;
	if (UNLIKELY(n > most))
		n = most;
	for (struct pkt **end = burst + n; burst != end; burst++) {
		struct pkt *p = *burst;
		if (UNLIKELY(!wire_fits(p)) && !wire_pad(nic, p))
			continue;
		tx_give(t, p, p->data, TX_FIRST | TX_LAST | TX_TELL | p->len);
	}
	if (t->tx_tail != old) {
		io_wmb();
		tulip_put(t, 1, 1);
	}
	return n;
}

/* --- filter -------------------------------------------------------------------------------- */

/* A word of the filter has two bytes of an address. */
static void setup_slot(uint32_t *at, const mac *a)
{
	for (unsigned i = 0; i < 3; i++)
		at[i] = load16(a->b + 2 * i);
}

/* Puts the filter into the ring: our address, broadcast, the groups, our address again. It may not
 * change while the card reads it. */
static void setup_send(struct tulip *t)
{
	static const mac all = {{255, 255, 255, 255, 255, 255}};
	tx_reclaim(t);
	t->setup_owed = t->setup_waits || !room(t);
	if (t->setup_owed || t->broken)
		return;
	for (unsigned i = 0; i < SETUP_SLOTS; i++)
		setup_slot(t->setup + 3 * i, i == 1                     ? &all
		                             : i && i < 2u + t->n_group ? &t->group[i - 2]
		                                                        : &t->nic.address);
	t->setup_waits = true;
	tx_give(t, NULL, t->setup, TX_SETUP | TX_TELL | SETUP_BYTES);
	io_wmb();
	tulip_put(t, 1, 1);
}

static void tulip_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n)
{
	struct tulip *t = card(nic);
	uint32_t old = t->mode;
	bool all = n > T_GROUPS;
	t->n_group = (uint8_t)(all ? 0 : n);
	if (t->n_group)
		memcpy(t->group, group, t->n_group * sizeof *group);
	t->mode = (t->mode & ~(CSR6_PROMISCUOUS | CSR6_ALL_GROUPS)) |
	          (promiscuous ? CSR6_PROMISCUOUS : 0) | (all ? CSR6_ALL_GROUPS : 0);
	if (!t->broken)
		tulip_hw_mode(t, old);
	setup_send(t);
}

/* --- start and stop ----------------------------------------------------------------------- */

static void write_mask(const struct tulip *t)
{
	tulip_put(t, 7,
	          CSR5_NORMAL | CSR5_ABNORMAL | CSR5_RX_DONE | CSR5_BUS_ERROR |
	                  (t->tx_wake ? CSR5_TX_DONE : 0));
}

/* Starts a card that was just reset, with empty rings. */
static bool start(struct tulip *t)
{
	memset(t->tx_desc, 0, T_TX_RING * sizeof *t->tx_desc);
	for (uint32_t i = 0; i < T_RX_RING; i++) {
		rx_give(t, i, t->rx[i]);
		t->rx_desc[i].control = RX_ROOM | (i == RX_MASK ? D_RING_END : 0);
	}
	t->rx_next = t->tx_head = t->tx_tail = 0;
	t->tx_refused = t->tx_wake = t->setup_waits = false;
	t->ack = 2;
	t->hang_head = 0;
	t->link_us = t->hang_us = io_now_us();
	tulip_hw_board(t);
	t->phy_found = t->phy_found || tulip_hw_find_phy(t);
	if (!t->phy_found)
		return false;
	io_wmb();
	tulip_put(t, 3, (uint32_t)dma_addr(t->rx_desc));
	tulip_put(t, 4, (uint32_t)dma_addr(t->tx_desc));
	tulip_hw_carrier(t);
	/* The filter is there before the receiver starts (4.2.3). */
	t->mode |= CSR6_TX;
	tulip_put(t, 6, t->mode);
	setup_send(t);
	io_delay_us(100);
	t->mode |= CSR6_RX;
	tulip_put(t, 6, t->mode);
	(void)tulip_get(t, 8);
	write_mask(t);
	return true;
}

static void tx_drop_all(struct tulip *t, uint64_t *counter)
{
	for (; t->tx_head != t->tx_tail; t->tx_head++) {
		struct pkt *p = t->tx[t->tx_head & TX_MASK];
		if (!p)
			continue;
		++*counter;
		pkt_free(p);
	}
}

/* Resets and starts the card. Adds the frames that were not sent to *counter. */
static void restart(struct tulip *t, uint64_t *counter, const char *why)
{
	const struct pci_dev *d = &t->nic.pci;
	log_line("pci %02x:%02x.%x: tulip: %s, reset", d->bus, d->dev, d->fn, why);
	t->nic.count.resets++;
	bool ok = tulip_hw_reset(t);
	tx_reclaim(t);
	tx_drop_all(t, counter);
	t->nic.carrier = (struct nic_carrier){0};
	t->broken = false;
	if (ok) {
		pci_enable(d);
		ok = start(t);
	}
	t->hang_us = io_now_us();
	t->broken = !ok;
	if (!ok)
		pci_cut(d); /* the card may still write into packets */
}

static void tulip_stop(struct nic *nic)
{
	struct tulip *t = card(nic);
	uint64_t ignored = 0;
	if (!tulip_hw_reset(t))
		pci_cut(&nic->pci);
	tx_drop_all(t, &ignored);
	wire_free(t->rx, T_RX_RING);
	nic->carrier.up = false;
}

/* --- watching ----------------------------------------------------------------------------- */

static bool frames_wait(const struct tulip *t)
{
	for (uint32_t i = t->tx_head; i != t->tx_tail; i++)
		if (t->tx[i & TX_MASK])
			return true;
	return false;
}

/* True when frames wait, and none was sent for HANG_US. */
static bool tx_hangs(struct tulip *t, uint64_t now_us)
{
	if (t->tx_head == t->tx_tail || t->tx_head != t->hang_head) {
		t->hang_head = t->tx_head;
		t->hang_us = now_us;
		return false;
	}
	return now_us > t->hang_us + HANG_US; /* start() may have set hang_us later than now_us */
}

static void watch_slowly(struct tulip *t, uint64_t now_us)
{
	if (now_us - t->link_us >= LINK_US) {
		uint32_t old = t->mode;
		t->link_us = now_us;
		tulip_hw_carrier(t);
		tulip_hw_mode(t, old);
	}
	if (now_us - t->stats_us >= STATS_US) {
		t->stats_us = now_us;
		t->nic.count.rx_missed += CSR8_MISSED(tulip_get(t, 8) & ~CSR8_UNUSED);
	}
}

static void watch(struct tulip *t, uint64_t now_us)
{
	struct nic_counters *n = &t->nic.count;
	uint32_t status = tulip_get(t, 5);
	if (status == TULIP_GONE) {
		restart(t, &n->tx_errors, "no longer answers");
		return;
	}
	watch_slowly(t, now_us);
	if (status & CSR5_RX_NO_ROOM) {
		tulip_put(t, 5, CSR5_RX_NO_ROOM);
		tulip_put(t, 2, 1); /* the receiver looks at its ring again */
	}
	if (t->setup_owed)
		setup_send(t);
	if (status & CSR5_BUS_ERROR || CSR5_RX(status) == 0 || CSR5_TX(status) == 0)
		restart(t, &n->tx_errors, "has stopped");
	else if (!t->nic.carrier.up && frames_wait(t))
		restart(t, &n->tx_link_down, "carrier lost while frames wait");
	else if (tx_hangs(t, now_us))
		restart(t, &n->tx_errors, "transmitter hangs");
}

static void tulip_poll(struct nic *nic, uint64_t now_us)
{
	struct tulip *t = card(nic);
	tx_reclaim(t);
	if (now_us - t->poll_us < POLL_US)
		return;
	t->poll_us = now_us;
	if (!t->ack)
		t->ack = 1; /* clears a cause that came late (see tulip_arm) */
	if (!t->broken)
		watch(t, now_us);
	else if (now_us > t->hang_us + HANG_US)
		restart(t, &nic->count.tx_errors, "did not finish its reset");
}

/* The causes are enabled all the time. To arm is to acknowledge them, and then to look at the ring.
 * The read behind the acknowledgement pushes the card's writes to memory before it
 * (PCI 3.0, 3.2.5). A frame after that raises the line again. A card without new frames is not
 * read. */
static bool tulip_arm(struct nic *nic)
{
	struct tulip *t = card(nic);
	if (rx_waiting(t))
		return true;
	if (UNLIKELY(t->tx_refused != t->tx_wake) && !t->broken) {
		t->tx_wake = t->tx_refused;
		write_mask(t);
		t->ack = 2;
	}
	if ((t->ack || t->tx_wake) && !t->broken) {
		t->ack -= t->ack != 0;
		/* A bus error stays for poll(). */
		tulip_put(t, 5, CSR5_ACK & ~(CSR5_BUS_ERROR | CSR5_RX_NO_ROOM));
		(void)tulip_get(t, 5);
		io_rmb();
	}
	return rx_waiting(t) || (t->tx_refused && t->tx_head != t->tx_tail && tx_done(t));
}

/* --- probe -------------------------------------------------------------------------------- */

static const struct nic_ops ops = {
        .rx = tulip_rx,
        .tx = tulip_tx,
        .poll = tulip_poll,
        .arm = tulip_arm,
        .stop = tulip_stop,
        .filter = tulip_filter,
        .report = tulip_hw_report,
};

static const char *tulip_probe(const struct pci_dev *dev, struct pool *pool, struct nic **out)
{
	struct pci_bar bar = pci_bar(dev, 1);
	if (bar.base == 0 || bar.io || bar.size < TULIP_WINDOW)
		return "no memory window";
	struct tulip *t = alloc(sizeof *t, 64);
	if (!t)
		return "no memory";
	t->rx_desc = alloc(T_RX_RING * sizeof *t->rx_desc, 4096);
	t->tx_desc = alloc(T_TX_RING * sizeof *t->tx_desc, 4096);
	t->setup = alloc(SETUP_BYTES, 64);
	t->regs = mem_map(bar.base, TULIP_WINDOW);
	if (!t->rx_desc || !t->tx_desc || !t->setup || !t->regs)
		return "no memory";
	t->nic = (struct nic){
	        .ops = &ops, .driver = "tulip", .pool = pool, .irq = dev->irq, .pci = *dev};
	t->is_21140 = dev->device == 0x0009;
	pci_enable(dev);
	pci_write32(dev, CFDD, pci_read32(dev, CFDD) & ~CFDD_POWER_DOWN);
	io_delay_us(10000); /* the chip wakes (3.1.3) */
	if (!tulip_hw_reset(t))
		return "does not come out of reset";
	if (!tulip_hw_address(t))
		return "no valid MAC address";
	if (!wire_fill(t->rx, T_RX_RING, pool))
		return "too few packets for the receive ring";
	if (!start(t)) {
		pci_cut(dev);
		wire_free(t->rx, T_RX_RING);
		return "no PHY: boards without MII are not supported";
	}
	*out = &t->nic;
	return NULL;
}

static const struct pci_id ids[] = {{0x1011, 0x0009}, {0x1011, 0x0019}};

const struct pci_driver tulip_driver = {
        .name = "tulip",
        .ids = ids,
        .n_ids = ARRAY_SIZE(ids),
        .probe = tulip_probe,
};
