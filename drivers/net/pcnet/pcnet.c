/* AMD PCnet-PCI network cards: "Am79C970A PCnet-PCI II", 19436, and its successors, with
 * descriptors of 32 bits. Registers: pcnet_reg.h; initialization and carrier: pcnet_hw.c.
 *
 * Invariants: every receive descriptor has a packet. The transmit slots from tx_head up to tx_tail
 * hold the frames that the card is to send. Nothing is copied. No register is read for a packet,
 * and one is written for each burst that is sent. The card looks at its ring by itself too, some
 * 600 times a second. */
#include "drivers/net/pcnet/pcnet.h"

#include "drivers/net/nic_list.h"
#include "drivers/net/ring.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define RX_MASK  (P_RX_RING - 1)
#define TX_MASK  (P_TX_RING - 1)
#define WIRE_MIN 60u /* IEEE 802.3 3.2.8, without FCS */

#define POLL_US  5000u /* shortest time between two full runs of poll() */
#define STATS_US 1000000u
#define HANG_US  2000000u

static struct pcnet *card(struct nic *nic)
{
	return (struct pcnet *)nic;
}

/* A word that the device may write at any time. */
static inline uint32_t device_word(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/* --- receive ------------------------------------------------------------------------------ */

static inline void rx_give(struct pcnet *c, uint32_t i, struct pkt *p)
{
	struct p_desc *d = &c->rx_desc[i];
	c->rx[i] = p;
	d->addr = (uint32_t)dma_addr(p->data);
	d->more = 0;
	io_wmb();
	d->state = D_OWN | D_BYTES(PKT_ROOM);
}

/* The state of a descriptor, or D_OWN while it may still change. A part of a frame without its end
 * is final when the card is done with the next one: it may be about to write the end. The model of
 * QEMU 7.2 gives each descriptor back first, and writes ENP and the length then. */
static inline uint32_t rx_state(const struct pcnet *c, uint32_t i)
{
	uint32_t state = device_word(&c->rx_desc[i].state);
	if (LIKELY(state & (D_OWN | D_ERR | D_ENP)))
		return state;
	if (device_word(&c->rx_desc[(i + 1) & RX_MASK].state) & D_OWN)
		return D_OWN;
	io_rmb();
	return device_word(&c->rx_desc[i].state);
}

static inline bool rx_waiting(const struct pcnet *c)
{
	return !c->broken && !(rx_state(c, c->rx_next) & D_OWN);
}

static uint32_t pcnet_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct pcnet *c = card(nic);
	if (!rx_waiting(c))
		return 0;
	struct pool *pool = nic->pool;
	struct pkt **top = ring_top(pool), **out = burst;
	uint32_t i = c->rx_next;
	/* Each pass handles one descriptor, so that a flood of bad frames ends too. */
	for (max = min_u32(max, P_RX_RING); max; max--) {
		uint32_t state = rx_state(c, i);
		if (state & D_OWN)
			break;
		io_rmb();
		uint32_t len = (device_word(&c->rx_desc[i].more) & D_LEN) - FCS;
		struct pkt *p = c->rx[i];
		bool good = (state & (D_ERR | D_STP | D_ENP)) == (D_STP | D_ENP) &&
		            len - NIC_FRAME_MIN <= NIC_FRAME_MAX - NIC_FRAME_MIN;
		if (LIKELY(good && top != pool->stack)) {
			pkt_filled(p, len);
			*out++ = p;
			p = ring_alloc(&top);
		} else if (good) {
			nic->count.rx_no_packet++;
		} else if (state &
		           D_STP) { /* a frame in several buffers counts once: it is too long */
			nic->count.rx_errors++;
		}
		rx_give(c, i, p);
		i = (i + 1) & RX_MASK;
	}
	c->rx_next = i;
	c->ack = 2;
	ring_settle(pool, top);
	return (uint32_t)(out - burst);
}

/* --- transmit ----------------------------------------------------------------------------- */

static inline bool tx_done(const struct pcnet *c)
{
	return !(device_word(&c->tx_desc[c->tx_head & TX_MASK].state) & D_OWN);
}

static inline void tx_reclaim(struct pcnet *c)
{
	struct pool *pool = c->nic.pool;
	struct pkt **top = ring_top(pool);
	for (; c->tx_head != c->tx_tail && tx_done(c); c->tx_head++) {
		if (UNLIKELY(c->tx_desc[c->tx_head & TX_MASK].state & D_ERR))
			c->nic.count.tx_errors++;
		ring_free(pool, &top, c->tx[c->tx_head & TX_MASK]);
	}
	ring_settle(pool, top);
}

/* Pads a short frame with zeros. False when the frame cannot be sent: then it is counted and
 * freed. */
static bool tx_fits(struct pcnet *c, struct pkt *p)
{
	if (p->len >= NIC_FRAME_MIN && p->len < WIRE_MIN) {
		uint32_t missing = WIRE_MIN - p->len;
		uint8_t *pad = pkt_put(p, missing);
		if (pad) {
			memset(pad, 0, missing);
			return true;
		}
	}
	c->nic.count.tx_errors++;
	pkt_free(p);
	return false;
}

static uint32_t no_carrier(struct pcnet *c, struct pkt **burst, uint32_t n)
{
	c->nic.count.tx_link_down += n;
	for (uint32_t i = 0; i < n; i++)
		pkt_free(burst[i]);
	return n;
}

static uint32_t pcnet_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct pcnet *c = card(nic);
	tx_reclaim(c);
	if (UNLIKELY(!nic->carrier.up))
		return no_carrier(c, burst, n);
	uint32_t room = P_TX_RING - 1 - (c->tx_tail - c->tx_head), old = c->tx_tail;
	c->tx_refused = n > room;
	if (UNLIKELY(n > room))
		n = room;
	for (struct pkt **end = burst + n; burst != end; burst++) {
		struct pkt *p = *burst;
		if (UNLIKELY(p->len - WIRE_MIN > NIC_FRAME_MAX - WIRE_MIN) && !tx_fits(c, p))
			continue;
		uint32_t i = c->tx_tail++ & TX_MASK;
		struct p_desc *d = &c->tx_desc[i];
		c->tx[i] = p;
		d->addr = (uint32_t)dma_addr(p->data);
		d->more = 0;
		io_wmb();
		d->state = D_OWN | D_STP | D_ENP | D_BYTES(p->len);
	}
	if (c->tx_tail != old) {
		io_wmb();
		pcnet_csr0(c, CSR0_INEA | CSR0_TDMD);
	}
	return n;
}

/* --- start and stop ----------------------------------------------------------------------- */

/* Starts a card that was just reset, with empty rings. */
static bool start(struct pcnet *c)
{
	memset(c->tx_desc, 0, P_TX_RING * sizeof *c->tx_desc);
	for (uint32_t i = 0; i < P_RX_RING; i++)
		rx_give(c, i, c->rx[i]);
	c->rx_next = c->tx_head = c->tx_tail = 0;
	c->tx_refused = c->tx_wake = false;
	c->ack = 2;
	c->missed = 0;
	c->hang_head = 0;
	c->hang_us = io_now_us();
	return pcnet_hw_start(c);
}

static void tx_drop_all(struct pcnet *c, uint64_t *counter)
{
	for (; c->tx_head != c->tx_tail; c->tx_head++) {
		++*counter;
		pkt_free(c->tx[c->tx_head & TX_MASK]);
	}
}

/* Resets and starts the card. Adds the frames that were not sent to *counter. */
static void begin_again(struct pcnet *c, uint64_t *counter)
{
	bool ok = pcnet_hw_reset(c);
	tx_reclaim(c);
	tx_drop_all(c, counter);
	c->hang_us = io_now_us();
	if (ok) {
		pci_enable(&c->nic.pci);
		ok = start(c);
	}
	c->broken = !ok;
	c->nic.carrier = (struct nic_carrier){0};
	if (ok)
		pcnet_hw_carrier(c);
	else
		pci_cut(&c->nic.pci); /* the card may still write into packets */
}

static void restart(struct pcnet *c, uint64_t *counter, const char *why)
{
	const struct pci_dev *d = &c->nic.pci;
	log_line("pci %02x:%02x.%x: pcnet: %s, reset", d->bus, d->dev, d->fn, why);
	c->nic.count.resets++;
	begin_again(c, counter);
}

static void pcnet_stop(struct nic *nic)
{
	struct pcnet *c = card(nic);
	uint64_t ignored = 0;
	if (!pcnet_hw_reset(c))
		pci_cut(&nic->pci);
	tx_drop_all(c, &ignored);
	for (uint32_t i = 0; i < P_RX_RING; i++)
		pkt_free(c->rx[i]);
	nic->carrier.up = false;
}

/* --- watching -------------------------------------------------------------------------------- */

/* True when frames wait, and none was sent for HANG_US. */
static bool tx_hangs(struct pcnet *c, uint64_t now_us)
{
	if (c->tx_head == c->tx_tail || c->tx_head != c->hang_head) {
		c->hang_head = c->tx_head;
		c->hang_us = now_us;
		return false;
	}
	return now_us > c->hang_us + HANG_US; /* start() may have set hang_us later than now_us */
}

static void watch(struct pcnet *c, uint64_t now_us)
{
	struct nic_counters *n = &c->nic.count;
	uint16_t status = pcnet_status(c);
	if (status == P_GONE) {
		restart(c, &n->tx_errors, "no longer answers");
		return;
	}
	pcnet_hw_carrier(c);
	if (now_us - c->stats_us >= STATS_US) {
		c->stats_us = now_us;
		n->rx_missed += pcnet_hw_missed(c);
	}
	if (status & CSR0_MERR || (status & (CSR0_TXON | CSR0_RXON)) != (CSR0_TXON | CSR0_RXON))
		restart(c, &n->tx_errors, "has stopped");
	else if (!c->nic.carrier.up && c->tx_head != c->tx_tail)
		restart(c, &n->tx_link_down, "carrier lost while frames wait");
	else if (tx_hangs(c, now_us))
		restart(c, &n->tx_errors, "transmitter hangs");
}

static void pcnet_poll(struct nic *nic, uint64_t now_us)
{
	struct pcnet *c = card(nic);
	tx_reclaim(c);
	if (now_us - c->poll_us < POLL_US)
		return;
	c->poll_us = now_us;
	if (!c->ack)
		c->ack = 1; /* clears a cause that came late (see pcnet_arm) */
	if (!c->broken)
		watch(c, now_us);
	else if (now_us > c->hang_us + HANG_US)
		restart(c, &nic->count.tx_errors, "did not finish its reset");
}

/* The causes are enabled all the time. To arm is to acknowledge them, and then to look at the ring.
 * The read behind the acknowledgement pushes the card's writes to memory before it
 * (PCI 3.0, 3.2.5). A frame after that raises the line again. A card without new frames is not
 * read. */
static bool pcnet_arm(struct nic *nic)
{
	struct pcnet *c = card(nic);
	if (rx_waiting(c))
		return true;
	if (UNLIKELY(c->tx_refused != c->tx_wake) && !c->broken) {
		c->tx_wake = c->tx_refused;
		pcnet_hw_mask(c);
		c->ack = 2;
	}
	if ((c->ack || c->tx_wake) && !c->broken) {
		c->ack -= c->ack != 0;
		/* MERR stays for poll(). */
		pcnet_csr0(c, (CSR0_ACK & ~CSR0_MERR) | CSR0_INEA);
		(void)pcnet_status(c);
		io_rmb();
	}
	return rx_waiting(c) || (c->tx_refused && c->tx_head != c->tx_tail && tx_done(c));
}

/* The six upper bits of the CRC-32 of an address, least significant bit first, choose the bit. */
static uint32_t hash_bit(const mac *group)
{
	uint32_t crc = 0xffffffffu;
	for (unsigned i = 0; i < 48; i++) {
		uint32_t out = (crc ^ (uint32_t)group->b[i / 8] >> i % 8) & 1;
		crc = crc >> 1 ^ (out ? 0xedb88320u : 0);
	}
	return crc >> 26;
}

static void pcnet_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n)
{
	struct pcnet *c = card(nic);
	uint64_t ignored = 0;
	memset(c->hash, 0, sizeof c->hash);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bit = hash_bit(&group[i]);
		c->hash[bit / 8] |= (uint8_t)(1u << bit % 8);
	}
	c->promiscuous = promiscuous;
	/* The Am79C970 cannot be suspended. */
	if (!c->broken && !pcnet_hw_filter(c))
		begin_again(c, &ignored);
}

/* --- probe ---------------------------------------------------------------------------------------
 */

static const struct nic_ops ops = {
        .rx = pcnet_rx,
        .tx = pcnet_tx,
        .poll = pcnet_poll,
        .arm = pcnet_arm,
        .stop = pcnet_stop,
        .filter = pcnet_filter,
        .report = pcnet_hw_report,
};

static void free_ring(struct pcnet *c, uint32_t n)
{
	while (n--)
		pkt_free(c->rx[n]);
}

static bool fill_ring(struct pcnet *c, struct pool *pool)
{
	for (uint32_t i = 0; i < P_RX_RING; i++) {
		struct pkt *p = pkt_alloc(pool);
		if (!p) {
			free_ring(c, i);
			return false;
		}
		pkt_lend(p);
		c->rx[i] = p;
	}
	return true;
}

static const char *pcnet_probe(const struct pci_dev *dev, struct pool *pool, struct nic **out)
{
	struct pci_bar bar = pci_bar(dev, 0);
	if (bar.base == 0 || !bar.io || bar.size < P_PORTS || bar.base > 0x10000 - P_PORTS)
		return "no I/O ports";
	struct pcnet *c = alloc(sizeof *c, 64);
	if (!c)
		return "no memory";
	c->ports = (uint16_t)bar.base;
	c->rx_desc = alloc(P_RX_RING * sizeof *c->rx_desc, 4096);
	c->tx_desc = alloc(P_TX_RING * sizeof *c->tx_desc, 4096);
	c->init = alloc(sizeof *c->init, 64);
	if (!c->rx_desc || !c->tx_desc || !c->init)
		return "no memory";
	c->nic = (struct nic){
	        .ops = &ops, .driver = "pcnet", .pool = pool, .irq = dev->irq, .pci = *dev};
	pci_enable(dev);
	if (!pcnet_hw_reset(c))
		return "does not come out of reset";
	const char *wrong = pcnet_hw_identify(c);
	if (wrong)
		return wrong;
	if (!pcnet_hw_address(c))
		return "no valid MAC address";
	if (!fill_ring(c, pool))
		return "too few packets for the receive ring";
	if (!start(c)) {
		pci_cut(dev);
		free_ring(c, P_RX_RING);
		return "does not end its initialization";
	}
	pcnet_hw_carrier(c);
	*out = &c->nic;
	return NULL;
}

static const struct pci_id ids[] = {{0x1022, 0x2000}, {0x1022, 0x2001}};

const struct pci_driver pcnet_driver = {
        .name = "pcnet",
        .ids = ids,
        .n_ids = ARRAY_SIZE(ids),
        .probe = pcnet_probe,
};
