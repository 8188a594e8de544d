/* The producer's side of transfer rings and of the command ring (xHCI 4.9.2, 4.11.5.1). A ring is
 * one segment with a link at its end.
 *
 * A TRB belongs to the controller as soon as its cycle bit is that of the ring. The first TRB of a
 * TD gets it last, so the controller never sees a part of a TD. */
#include "drivers/usb/xhci/xhci.h"

#include "kernel/seam/io.h"

#define LAST (XHCI_RING - 1) /* the place of the link */

void xhci_ring_reset(struct xhci_ring *r)
{
	memset(r->trb, 0, XHCI_RING * sizeof *r->trb);
	r->at = r->first = 0;
	r->cycle = 1;
}

static void write(struct xhci_trb *trb, uint64_t ptr, uint32_t status, uint32_t control)
{
	trb->ptr = (uint32_t)ptr;
	trb->ptr_high = (uint32_t)(ptr >> 32);
	trb->status = status;
	io_wmb();
	*(volatile uint32_t *)&trb->control = control;
}

void xhci_ring_begin(struct xhci_ring *r, uint32_t n)
{
	if (r->at + n > LAST) {
		/* The controller follows the first link; the others are there so that no TRB of the
		 * previous round looks new. */
		for (uint32_t i = LAST + 1; i-- > r->at;)
			write(&r->trb[i], dma_addr(r->trb), 0,
			      TRB_TYPE(TRB_LINK) | TRB_TOGGLE | r->cycle);
		r->at = 0;
		r->cycle ^= 1;
	}
	r->first = r->at;
}

void xhci_ring_put(struct xhci_ring *r, uint64_t ptr, uint32_t status, uint32_t control)
{
	uint32_t cycle = r->at == r->first ? r->cycle ^ 1u : r->cycle;
	write(&r->trb[r->at++], ptr, status, control | cycle);
}

void xhci_ring_end(struct xhci_ring *r)
{
	struct xhci_trb *trb = &r->trb[r->first];
	io_wmb();
	*(volatile uint32_t *)&trb->control = trb->control ^ TRB_CYCLE;
	io_wmb();
}

uint32_t xhci_ring_next(const struct xhci_ring *r)
{
	return (uint32_t)dma_addr(&r->trb[r->at]) | r->cycle;
}

void xhci_ring_skip(struct xhci_ring *r)
{
	uint8_t next = (uint8_t)((r->at + 3u) & ~3u);
	if (next >= LAST)
		next = 0;
	memset(r->trb, 0, XHCI_RING * sizeof *r->trb);
	/* The controller reaches the TRBs in front in the next round, in which the cycle bit is 0.
	 */
	for (uint32_t i = 0; i < next; i++)
		r->trb[i].control = TRB_CYCLE;
	r->at = r->first = next;
	r->cycle = 1;
}
