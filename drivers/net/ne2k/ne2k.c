/* NE2000 network cards for PCI (RTL8029 and its like), 10 Mbit/s. Registers: ne2k_reg.h; the card's
 * memory: ne2k_hw.c.
 *
 * These cards do no DMA: the processor copies each frame to and from their 16 KB of memory through
 * a port, word by word. So the driver keeps no packet. Received frames are a chain in a ring of
 * pages; `next` is the page of the next one, and BNRY the page before it. The slots from tx_head up
 * to tx_tail hold frames to be sent; the card knows of one at a time.
 *
 * After an overflow the data sheet wants the card stopped for 1.6 ms, and a frame taken away before
 * it may receive again. Nothing waits for that: poll() starts it again, rx() does the rest.
 *
 * Left out on purpose: the carrier, which these chips do not show. It counts as up. */
#include "drivers/net/ne2k/ne2k.h"

#include "drivers/net/nic_list.h"
#include "drivers/net/wire.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define POLL_US 5000u /* shortest time between two full runs of poll() */
#define HANG_US 2000000u

static struct ne2k *card(struct nic *nic)
{
	return (struct ne2k *)nic;
}

static bool in_ring(uint32_t page)
{
	return page >= RX_FIRST && page < RX_END;
}

/* --- receive ------------------------------------------------------------------------------ */

/* Takes the frame at page `next`, which it moves behind it, at most to `end`. Gives NULL when it is
 * dropped. */
static struct pkt *rx_take(struct ne2k *c, uint8_t end)
{
	struct nic_counters *n = &c->nic.count;
	uint8_t h[HEADER];
	ne2k_hw_read(c, c->next * 256u, h, sizeof h);
	uint32_t len = load16(h + 2) - FCS, after = h[1];
	uint32_t pages = in_ring(after) ? after + (after <= c->next ? RX_PAGES : 0) - c->next : 0;
	bool good = (h[0] & HEADER_BAD) == HEADER_OK && wire_good_length(len);
	uint32_t needs = (len + FCS + HEADER + 255) / 256; /* some chips take one more */
	if (!pages || (good && pages != needs && pages != needs + 1)) {
		/* A card that lets a full ring run over (QEMU's does): the chain begins at its end.
		 */
		n->rx_missed++;
		c->next = end;
		ne2k_hw_free(c, end);
		return NULL;
	}
	struct pkt *p = good ? pkt_alloc(c->nic.pool) : NULL;
	if (!good)
		n->rx_errors++;
	else if (!p)
		n->rx_no_packet++;
	uint8_t *to = p ? pkt_put(p, len) : NULL;
	uint32_t from = c->next * 256u + HEADER;
	if (to)
		ne2k_hw_read(c, from, to, len);
	c->next = (uint8_t)after;
	ne2k_hw_free(c, c->next);
	return p;
}

/* After an overflow: a frame was taken away, so the card may receive again. */
static void drained(struct ne2k *c)
{
	ne_put(c, NE_ISR, ISR_FULL);
	ne_put(c, NE_TCR, 0);
	c->overflow = c->draining = false;
	if (c->again)
		ne2k_hw_send(c, c->tx_slot, c->tx_len[c->tx_slot]);
	ne2k_hw_mask(c);
}

static void overflow(struct ne2k *c)
{
	ne_put(c, NE_CMD, CMD_DMA_NONE | CMD_STOP);
	ne_put(c, NE_IMR, 0);
	c->overflow = true;
	c->overflow_us = 0;
}

static uint32_t ne2k_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct ne2k *c = card(nic);
	if (c->broken || c->wrong || (c->overflow && !c->draining))
		return 0;
	uint8_t status = ne_get(c, NE_ISR);
	if (UNLIKELY(status & ISR_FULL && !c->draining)) {
		overflow(c);
		return 0;
	}
	if (!c->more && !(status & ISR_RX))
		return 0;
	ne_put(c, NE_ISR, ISR_RX | ISR_RX_BAD);
	uint8_t end = ne2k_hw_current(c);
	c->wrong = !in_ring(end);
	struct pkt **out = burst;
	/* Each pass handles one frame, so that a flood of bad frames ends too. */
	for (max = min_u32(max, RX_PAGES); max && c->next != end && !c->wrong; max--) {
		*out = rx_take(c, end);
		out += *out != NULL;
	}
	c->more = c->next != end;
	if (UNLIKELY(c->draining && !c->wrong))
		drained(c);
	return (uint32_t)(out - burst);
}

/* --- transmit ----------------------------------------------------------------------------- */

static void tx_next(struct ne2k *c)
{
	if (c->sending || c->overflow || c->tx_head == c->tx_tail)
		return;
	c->sending = true;
	ne2k_hw_send(c, c->tx_slot, c->tx_len[c->tx_slot]);
}

/* Looks whether the frame was sent, and sends the next. */
static void tx_reclaim(struct ne2k *c)
{
	if (!c->sending || c->broken || c->overflow || ne_get(c, NE_CMD) & CMD_SEND)
		return;
	if (ne_get(c, NE_TSR) & TSR_BAD)
		c->nic.count.tx_errors++;
	ne_put(c, NE_ISR, ISR_TX | ISR_TX_BAD);
	c->sending = false;
	c->tx_head++;
	c->tx_slot = c->tx_slot + 1 == TX_SLOTS ? 0 : c->tx_slot + 1;
	tx_next(c);
}

static uint32_t ne2k_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct ne2k *c = card(nic);
	uint32_t took = 0;
	if (UNLIKELY(!nic->carrier.up))
		return wire_no_carrier(nic, burst, n);
	tx_reclaim(c);
	for (; took < n && !c->overflow; took++) {
		struct pkt *p = burst[took];
		if (UNLIKELY(!wire_fits(p)) && !wire_pad(nic, p))
			continue;
		uint32_t used = c->tx_tail - c->tx_head;
		if (used == TX_SLOTS)
			break;
		uint32_t slot = c->tx_slot + used < TX_SLOTS ? c->tx_slot + used
		                                             : c->tx_slot + used - TX_SLOTS;
		c->wrong |=
		        !ne2k_hw_write(c, (PAGE_FIRST + slot * TX_PAGES) * 256u, p->data, p->len);
		c->tx_len[slot] = (uint16_t)p->len;
		c->tx_tail++;
		pkt_free(p);
		tx_next(c);
		tx_reclaim(c);
	}
	c->tx_refused = took < n;
	return took;
}

/* --- start and stop ----------------------------------------------------------------------- */

/* Starts a card that was just reset, with empty memory. */
static void start(struct ne2k *c)
{
	c->next = RX_FIRST + 1;
	c->tx_head = c->tx_tail = c->tx_slot = 0;
	c->wrong = c->overflow = c->draining = c->more = c->sending = c->tx_refused = c->tx_wake =
	        false;
	c->hang_head = 0;
	c->hang_us = io_now_us();
	ne2k_hw_start(c);
	c->nic.carrier = (struct nic_carrier){.up = true, .mbit = 10};
}

/* Resets and starts the card. Counts the frames that were not sent. */
static void restart(struct ne2k *c, const char *why)
{
	const struct pci_dev *d = &c->nic.pci;
	log_line("pci %02x:%02x.%x: ne2k: %s, reset", d->bus, d->dev, d->fn, why);
	c->nic.count.resets++;
	c->nic.count.tx_errors += c->tx_tail - c->tx_head;
	c->tx_head = c->tx_tail;
	pci_enable(d);
	c->broken = !ne2k_hw_reset(c);
	c->hang_us = io_now_us();
	c->nic.carrier = (struct nic_carrier){0};
	if (!c->broken)
		start(c);
}

static void ne2k_stop(struct nic *nic)
{
	struct ne2k *c = card(nic);
	(void)ne2k_hw_reset(c);
	nic->carrier.up = false;
}

/* --- watching ----------------------------------------------------------------------------- */

/* True when frames wait, and none was sent for HANG_US. */
static bool tx_hangs(struct ne2k *c, uint64_t now_us)
{
	if (c->tx_head == c->tx_tail || c->tx_head != c->hang_head) {
		c->hang_head = c->tx_head;
		c->hang_us = now_us;
		return false;
	}
	return now_us > c->hang_us + HANG_US; /* start() may have set hang_us later than now_us */
}

/* Starts the card again after an overflow (2.4), without the cable: its frames are still there,
 * and rx() takes some away before it may receive again. */
static void overflow_end(struct ne2k *c, uint64_t now_us)
{
	if (!c->overflow_us)
		c->overflow_us = now_us;
	if (now_us < c->overflow_us + OVERFLOW_US)
		return;
	/* A frame that was cut off by the stop is sent again. */
	c->again = c->sending && !(ne_get(c, NE_ISR) & (ISR_TX | ISR_TX_BAD));
	ne_put16(c, NE_RBCR, 0);
	ne_put(c, NE_TCR, TCR_LOOP);
	ne_put(c, NE_CMD, CMD_DMA_NONE | CMD_START);
	c->draining = c->more = true;
}

static void watch(struct ne2k *c, uint64_t now_us)
{
	struct nic_counters *n = &c->nic.count;
	uint8_t state = ne_get(c, NE_CMD);
	if (state == NE_GONE) {
		restart(c, "no longer answers");
		return;
	}
	n->rx_errors += ne_get(c, NE_TALLY);
	n->rx_errors += ne_get(c, NE_TALLY + 1);
	n->rx_missed += ne_get(c, NE_TALLY + 2);
	if (c->wrong)
		restart(c, "its memory is not its own");
	else if (c->draining)
		return; /* the rest is done by rx() */
	else if (c->overflow && !(state & CMD_STOP))
		restart(c, "does not stop");
	else if (c->overflow)
		overflow_end(c, now_us);
	else if ((state & (CMD_STOP | CMD_START)) != CMD_START)
		restart(c, "has stopped");
	else if (tx_hangs(c, now_us))
		restart(c, "transmitter hangs");
	else if (ne_get(c, NE_ISR) & ISR_FULL)
		overflow(c);
}

static void ne2k_poll(struct nic *nic, uint64_t now_us)
{
	struct ne2k *c = card(nic);
	tx_reclaim(c);
	if (now_us - c->poll_us < POLL_US)
		return;
	c->poll_us = now_us;
	if (!c->broken)
		watch(c, now_us);
	else if (now_us > c->hang_us + HANG_US)
		restart(c, "did not finish its reset");
}

/* The causes are enabled all the time, and stay until rx() takes the frames; that a frame was sent
 * is one while others wait, because the card sends no frame by itself. */
static bool ne2k_arm(struct nic *nic)
{
	struct ne2k *c = card(nic);
	if (c->broken || c->wrong)
		return false;
	if (c->overflow)
		return true; /* the card receives nothing until poll() and rx() have handled it */
	tx_reclaim(c);
	bool wake = c->tx_refused || c->tx_tail - c->tx_head > 1;
	if (UNLIKELY(wake != c->tx_wake)) {
		c->tx_wake = wake;
		ne2k_hw_mask(c);
	}
	return c->more || ne_get(c, NE_ISR) & (ISR_RX | ISR_FULL) ||
	       (c->tx_refused && c->tx_tail - c->tx_head < TX_SLOTS);
}

static void ne2k_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n)
{
	struct ne2k *c = card(nic);
	memset(c->hash, 0, sizeof c->hash);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bit = wire_crc_be(&group[i]) >> 26;
		c->hash[bit / 8] |= (uint8_t)(1u << bit % 8);
	}
	c->promiscuous = promiscuous;
	if (!c->broken)
		ne2k_hw_filter(c);
}

/* --- probe -------------------------------------------------------------------------------- */

static const struct nic_ops ops = {
        .rx = ne2k_rx,
        .tx = ne2k_tx,
        .poll = ne2k_poll,
        .arm = ne2k_arm,
        .stop = ne2k_stop,
        .filter = ne2k_filter,
        .report = ne2k_hw_report,
};

static const char *ne2k_probe(const struct pci_dev *dev, struct pool *pool, struct nic **out)
{
	struct pci_bar bar = pci_bar(dev, 0);
	if (bar.base == 0 || !bar.io || bar.size < NE_PORTS || bar.base > 0x10000 - NE_PORTS)
		return "no I/O ports";
	struct ne2k *c = alloc(sizeof *c, 64);
	if (!c)
		return "no memory";
	c->ports = (uint16_t)bar.base;
	c->nic = (struct nic){
	        .ops = &ops, .driver = "ne2k", .pool = pool, .irq = dev->irq, .pci = *dev};
	pci_enable(dev);
	if (!ne2k_hw_reset(c))
		return "does not come out of reset";
	if (!ne2k_hw_address(c))
		return "no valid MAC address";
	start(c);
	*out = &c->nic;
	return NULL;
}

static const struct pci_id ids[] = {
        {0x10ec, 0x8029}, /* Realtek RTL8029 */
        {0x1050, 0x0940}, /* Winbond 89C940 */
        {0x1050, 0x5a5a}, /* Winbond 89C940F */
        {0x11f6, 0x1401}, /* Compex RL2000 */
        {0x8e2e, 0x3000}, /* KTI ET32P2 */
        {0x4a14, 0x5000}, /* NetVin NV5000SC */
        {0x1106, 0x0926}, /* VIA 86C926 */
        {0x10bd, 0x0e34}, /* SureCom NE34 */
};

const struct pci_driver ne2k_driver = {
        .name = "ne2k",
        .ids = ids,
        .n_ids = ARRAY_SIZE(ids),
        .probe = ne2k_probe,
};
