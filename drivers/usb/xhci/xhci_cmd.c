/* Commands (xHCI 4.6): one at a time. A command that takes too long is aborted (4.6.1.2); when the
 * controller does not even end the command ring, it has failed. */
#include "drivers/usb/xhci/xhci.h"

#include "kernel/seam/io.h"

/* The longest good command is Address Device: a device has 50 ms for SET_ADDRESS
 * (USB 2.0, 9.2.6.3). Both times together are shorter than what the core allows for a cancel. */
#define COMMAND_US 300000u
#define ABORT_US   300000u

void xhci_cmd_issue(struct xhci *x, struct xhci_dev *dev, struct xhci_ep *ep, uint32_t type,
                    uint64_t ptr, uint32_t control)
{
	xhci_ring_begin(&x->ring, 1);
	x->cmd = (struct xhci_command){.state = CMD_RUNS,
	                               .type = (uint8_t)type,
	                               .code = CC_ABORTED,
	                               .dev = dev,
	                               .ep = ep,
	                               .trb = x->ring.first,
	                               .until_us = x->now_us + COMMAND_US};
	xhci_ring_put(&x->ring, ptr, 0, TRB_TYPE(type) | control);
	xhci_ring_end(&x->ring);
	mmio_write32(x->doorbell, 0);
}

static void finish(struct xhci *x)
{
	struct xhci_command cmd = x->cmd;
	x->cmd.state = CMD_IDLE;
	xhci_dev_done(x, &cmd);
}

bool xhci_cmd_event(struct xhci *x, const struct xhci_trb *ev)
{
	uint32_t code = TRB_CC(ev->status);
	if (code == CC_RING_STOPPED)
		return x->cmd.state == CMD_ABORTS;
	if (x->cmd.state == CMD_IDLE || ev->ptr_high != 0 ||
	    ev->ptr != (uint32_t)dma_addr(&x->ring.trb[x->cmd.trb]))
		return false;
	x->cmd.code = (uint8_t)code;
	x->cmd.slot = (uint8_t)TRB_SLOT_OF(ev->control);
	if (x->cmd.state == CMD_RUNS)
		finish(x); /* else when the ring has stopped */
	return true;
}

/* The command ring has stopped: it begins again behind the aborted command. */
static void restart(struct xhci *x)
{
	xhci_ring_skip(&x->ring);
	xhci_hw_write64(x->op + XHCI_CRCR, xhci_ring_next(&x->ring));
	finish(x);
}

void xhci_cmd_watch(struct xhci *x)
{
	struct xhci_command *cmd = &x->cmd;
	if (cmd->state == CMD_ABORTS && !(mmio_read32(x->op + XHCI_CRCR) & CRCR_RUNNING)) {
		restart(x);
	} else if (cmd->state != CMD_IDLE && x->now_us >= cmd->until_us) {
		if (cmd->state == CMD_ABORTS) {
			usb_controller_failed(&x->usb, "answers no command");
			return;
		}
		cmd->state = CMD_ABORTS;
		cmd->until_us = x->now_us + ABORT_US;
		/* The pointer is ignored while the ring runs; a controller that has stopped it just
		 * now takes it (5.4.5). */
		uint32_t next = xhci_ring_next(&x->ring);
		xhci_hw_write64(x->op + XHCI_CRCR,
		                (next & ~0x3fu) | CRCR_ABORT | (next & CRCR_CYCLE));
	}
}
