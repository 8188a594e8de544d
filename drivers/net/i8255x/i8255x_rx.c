/* How the 8255x receives: see i8255x.c. */
#include "drivers/net/i8255x/i8255x.h"
#include "drivers/net/ring.h"

#define RX_MASK  (X_RX_RING - 1)
#define RX_COUNT (PKT_ROOM << 16)

static inline void rx_fresh(struct x_rfd *r)
{
	r->state = 0;
	r->unused = 0xffffffffu;
	r->count = RX_COUNT;
}

void i8255x_rx_kick(struct i8255x *x)
{
	uint16_t status = x_read16(x, X_STATUS);
	x->rx_stopped = false;
	if (status == X_GONE || STATUS_RUS(status) == RUS_READY)
		return;
	x->rx_stopped = true;
	for (uint32_t i = 0; i < X_RX_RING; i++) {
		struct pkt *p = x->rx[(x->rx_next + i) & RX_MASK];
		if (x_rx_done(p))
			continue;
		x->rx_stopped = !i8255x_hw_point(x, x_bus(x_rfd_of(p)), RU_START);
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
	while (k < n && x_rx_done(x->rx[at + k]))
		k++;
	if (k && !(x_device_word(&x_rfd_of(x->rx[at + k - 1])->count) & RFD_ENDED))
		x_read8(x, X_STATUS);
	io_rmb();
	return k;
}

/* Gives the n slots before `next` back to the card: the receiver now stops behind `last`. */
static void rx_return(struct i8255x *x, uint32_t next, struct x_rfd *last)
{
	struct x_rfd *old = x->rx_last;
	x->rx_next = next & RX_MASK;
	last->link = x_bus(x_rfd_of(x->rx[x->rx_next]));
	last->state = RFD_LAST << 16;
	x->rx_last = last;
	x->ack = 2;
	io_wmb();
	bool stopped = x_device_word(&old->state) & RFD_DONE;
	x_set_command(&old->state, 0);
	if (UNLIKELY(stopped || x->rx_stopped))
		i8255x_rx_kick(x);
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
		struct x_rfd *r = x_rfd_of(p);
		uint32_t state = r->state, len = r->count & RFD_LEN;
		bool good = !(state & RFD_ERRORS) &&
		            len - NIC_FRAME_MIN <= NIC_FRAME_MAX - NIC_FRAME_MIN;
		if (LIKELY(good && top != pool->stack)) {
			struct pkt *fresh = ring_alloc(&top);
			*slot = fresh;
			r = x_rfd_of(fresh);
			pkt_filled(p, len);
			*out++ = p;
		} else {
			rx_drop(x, state, good);
		}
		rx_fresh(r);
		prev->link = x_bus(r);
		prev = r;
	}
	ring_settle(pool, top);
	rx_return(x, at + n, prev);
	x->received += n;
	return (uint32_t)(out - burst);
}

uint32_t i8255x_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct i8255x *x = x_card(nic);
	return x_rx_waiting(x) ? rx_burst(x, burst, max) : 0;
}

void i8255x_rx_start(struct i8255x *x)
{
	x->rx_next = 0;
	x->rx_stopped = false;
	for (uint32_t i = 0; i < X_RX_RING; i++) {
		struct x_rfd *r = x_rfd_of(x->rx[i]);
		rx_fresh(r);
		r->link = x_bus(x_rfd_of(x->rx[(i + 1) & RX_MASK]));
	}
	x->rx_last = x_rfd_of(x->rx[RX_MASK]);
	x->rx_last->state = RFD_LAST << 16;
	io_wmb();
	i8255x_rx_kick(x);
}
