/* The RTL8139 without descriptors. It writes what it receives into one buffer, a header before each
 * frame, and the driver copies it into packets: the card cannot do better. A burst takes a read and
 * a write of registers. Frames to be sent are not copied: their addresses stand in four registers,
 * so each takes two writes.
 *
 * Invariants: the bytes of the buffer from `cur` up to CBR are frames that were not read. The
 * transmit slots from tx_head up to tx_tail, at most four, belong to the card. */
#include "drivers/net/rtl8139/rtl8139.h"

#include "kernel/lib/alloc.h"

#define MASK     (R_OLD_RING - 1)
#define AGAIN_US 100000u

static inline uint32_t written(const struct rtl8139 *r)
{
	return io_in16(r->ports + R_CBR) % RX_BUFFER; /* the end is the beginning */
}

static bool waiting(struct rtl8139 *r)
{
	return !r->broken && written(r) != r->cur;
}

/* Empties the buffer, and writes the filter, which lies in the same register: writing that moves
 * the pointers of QEMU's cards. */
static void configure(struct rtl8139 *r)
{
	io_out8(r->ports + R_CMD, CMD_TE);
	memset(r->buffer, 0, 4);
	r->cur = 0;
	io_out32(r->ports + R_RBSTART, (uint32_t)dma_addr(r->buffer));
	io_out8(r->ports + R_CMD, CMD_RE | CMD_TE);
	io_out32(r->ports + R_RCR, r->rcr | RCR_WRAP | RCR_32K);
	io_out16(r->ports + R_CAPR, (uint16_t)(0 - 16));
}

/* Copies a frame into a packet. NULL when there is none. */
static struct pkt *copy(struct rtl8139 *r, const uint8_t *from, uint32_t len)
{
	struct pkt *p = pkt_alloc(r->nic.pool);
	uint8_t *to = p ? pkt_put(p, len) : NULL;
	if (to)
		memcpy(to, from, len);
	else
		r->nic.count.rx_no_packet++;
	return p;
}

static uint32_t old_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct rtl8139 *r = rtl8139_card(nic);
	if (UNLIKELY(r->broken))
		return 0;
	struct pkt **out = burst;
	uint32_t end = written(r), before = r->cur;
	io_rmb();
	/* Each pass handles one frame, so that a flood of bad ones ends too. */
	for (; max && r->cur != end; max--) {
		const uint8_t *head = r->buffer + r->cur;
		uint32_t status = load16(head), size = load16(head + 2), len = size - FCS;
		if (size == RX_COPYING)
			break;
		bool good = status & RX_HEAD_OK && !(status & RX_HEAD_BAD);
		if (UNLIKELY(!good || size < 8 || size > RX_FRAME_MOST)) {
			/* The next header cannot be found. */
			nic->count.rx_errors++;
			configure(r);
			return (uint32_t)(out - burst);
		}
		if (LIKELY(len - NIC_FRAME_MIN <= NIC_FRAME_MAX - NIC_FRAME_MIN)) {
			*out = copy(r, head + 4, len);
			out += *out != NULL;
		} else {
			nic->count.rx_errors++;
		}
		r->cur = ((r->cur + size + 4 + 3) & ~3u) % RX_BUFFER;
	}
	if (r->cur != before) {
		r->ack = 2;
		io_out16(r->ports + R_CAPR, (uint16_t)(r->cur - 16));
	}
	return (uint32_t)(out - burst);
}

/* The oldest frame had too many collisions, and the transmitter waits. It can only be told to send
 * this frame again, so the frame stays. It is told once more now and then: whether the second try
 * failed as well is not to be seen. One that never succeeds ends as a transmitter that hangs. */
static void try_again(struct rtl8139 *r)
{
	uint64_t now = io_now_us();
	if (r->again && r->again_head == r->tx_head && now < r->again_us + AGAIN_US)
		return;
	r->again = true;
	r->again_head = r->tx_head;
	r->again_us = now;
	io_out32(r->ports + R_TCR, TCR_USUAL | TCR_CLEAR);
}

/* The summary has OWN of slot n in bit n, TABT in bit n + 4, TUN in n + 8, TOK in n + 12. */
static void reclaim(struct rtl8139 *r)
{
	if (r->tx_head == r->tx_tail)
		return;
	uint32_t done = io_in16(r->ports + R_SUMMARY);
	if (done == R_GONE)
		return;
	for (; r->tx_head != r->tx_tail; r->tx_head++) {
		uint32_t n = r->tx_head & MASK;
		if (UNLIKELY(!(done >> n & 0x1000))) {
			if (done >> n & 0x0010)
				try_again(r);
			if (!(done >> n & 0x0100) || done >> n & 0x0010)
				return;
			r->nic.count.tx_errors++;
		}
		pkt_free(r->tx[n]);
	}
}

/* Moves a frame to a multiple of four bytes, as the card needs it. */
static void align(struct pkt *p)
{
	uint32_t off = (uint32_t)dma_addr(p->data) & 3, len = p->len;
	uint8_t *from = p->data;
	if (LIKELY(off == 0))
		return;
	uint8_t *to = pkt_push(p, off);
	if (to) {
		memmove(to, from, len);
		pkt_end(p, len);
	}
}

static uint32_t old_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct rtl8139 *r = rtl8139_card(nic);
	uint32_t i = 0;
	if (UNLIKELY(!nic->carrier.up))
		return rtl8139_no_carrier(r, burst, n);
	reclaim(r);
	for (; i < n && r->tx_tail - r->tx_head < R_OLD_RING; i++) {
		struct pkt *p = burst[i];
		if (UNLIKELY(p->len - R_WIRE_MIN > NIC_FRAME_MAX - R_WIRE_MIN) &&
		    !rtl8139_fits(r, p))
			continue;
		align(p);
		uint16_t slot = r->tx_tail++ & MASK;
		r->tx[slot] = p;
		io_wmb();
		io_out32((uint16_t)(r->ports + R_TSAD + 4u * slot), (uint32_t)dma_addr(p->data));
		io_out32((uint16_t)(r->ports + R_TSD + 4u * slot), TSD_THRESHOLD | p->len);
	}
	r->tx_refused = i < n;
	return i;
}

static void start(struct rtl8139 *r)
{
	r->tx_head = r->tx_tail = 0;
	r->again = false;
	configure(r);
}

static void give(struct rtl8139 *r)
{
	(void)r;
}

static const char *take(struct rtl8139 *r)
{
	r->buffer = alloc(RX_BUFFER + RX_SPARE, 4096);
	return r->buffer ? NULL : "no memory";
}

const struct rtl8139_mode rtl8139_old = {
        .ops = {.rx = old_rx,
                .tx = old_tx,
                .poll = rtl8139_poll,
                .arm = rtl8139_arm,
                .stop = rtl8139_stop,
                .filter = rtl8139_filter,
                .report = rtl8139_report},
        .take = take,
        .start = start,
        .give = give,
        .reclaim = reclaim,
        .waiting = waiting,
        .configure = configure,
};
