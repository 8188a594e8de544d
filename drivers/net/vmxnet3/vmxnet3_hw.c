/* VMware's vmxnet3: reset, activation, carrier, filters, statistics. Registers: vmxnet3_reg.h. */
#include "drivers/net/vmxnet3/vmxnet3.h"

#include "drivers/net/wire.h"

/* Frames longer than this and their Ethernet header are dropped: an MTU of 1500 with a tag. */
#define MTU 1504u

/* Gives a command, and its result. */
static uint32_t command(const struct vmxnet3 *v, uint32_t which)
{
	vmx_write(v, VMX_CMD, which);
	return vmx_read(v, VMX_CMD);
}

bool vmxnet3_hw_reset(const struct vmxnet3 *v)
{
	vmx_fast(v, VMX_IMR, 1);
	(void)command(v, CMD_QUIESCE);
	uint32_t result = command(v, CMD_RESET);
	for (unsigned i = 0; i < 100 && result != 0 && result != VMX_GONE; i++) {
		io_delay_us(1000);
		result = command(v, CMD_RESET);
	}
	if (result != 0)
		return false;
	vmx_write(v, VMX_DSAL, 0);
	vmx_write(v, VMX_DSAH, 0);
	return true;
}

const char *vmxnet3_hw_identify(struct vmxnet3 *v)
{
	uint32_t revisions = vmx_read(v, VMX_VRRS), upt = vmx_read(v, VMX_UVRS);
	if (revisions == VMX_GONE || !(revisions & 1) || !(upt & 1))
		return "unknown revision";
	/* Only QEMU's has no other. Up to 7.2 it destroys super-segments over IPv6 where it cuts
	 * them itself, which depends on the other end of the card. */
	if (revisions == 1)
		v->nic.offloads &= ~(uint32_t)NIC_TSO6;
	vmx_write(v, VMX_VRRS, 1);
	vmx_write(v, VMX_UVRS, 1);
	uint32_t low = vmx_read(v, VMX_MACL), high = vmx_read(v, VMX_MACH);
	mac *a = &v->nic.address;
	for (unsigned i = 0; i < 4; i++)
		a->b[i] = (uint8_t)(low >> 8 * i);
	a->b[4] = (uint8_t)high;
	a->b[5] = (uint8_t)(high >> 8);
	return wire_station(a) ? NULL : "no valid MAC address";
}

static void describe_queues(struct vmxnet3 *v)
{
	struct vmx_queues *q = v->queues;
	memset(q, 0, sizeof *q);
	q->tx.ring = dma_addr(v->tx_desc);
	q->tx.ring_len = V_TX_RING;
	q->tx.done = dma_addr(v->tx_done);
	q->tx.done_len = V_TX_RING;
	q->rx.ring[0] = dma_addr(v->rx_desc);
	q->rx.ring_len[0] = V_RX_RING;
	q->rx.done = dma_addr(v->rx_done);
	q->rx.done_len = V_RX_RING;
}

/* The filter stays as it was: vmxnet3_hw_filter writes it. */
static void describe(struct vmxnet3 *v)
{
	struct vmx_shared *s = v->shared;
	s->magic = VMX_MAGIC;
	s->driver_version = 1;
	s->guest = GUEST_32_BIT | GUEST_LINUX;
	s->revisions = s->upt_versions = 1;
	s->queues = dma_addr(v->queues);
	s->queues_len = sizeof *v->queues;
	s->mtu = MTU;
	s->rx_pieces = s->n_tx = s->n_rx = 1;
	s->n_interrupts = 1;
	s->groups = dma_addr(v->groups);
	s->events = 0;
	memset(s->vlans, 0xff, sizeof s->vlans);
}

bool vmxnet3_hw_start(struct vmxnet3 *v)
{
	const mac *a = &v->nic.address;
	describe_queues(v);
	describe(v);
	io_wmb();
	vmx_write(v, VMX_DSAL, (uint32_t)dma_addr(v->shared));
	vmx_write(v, VMX_DSAH, 0);
	if (command(v, CMD_ACTIVATE) != 0)
		return false;
	vmx_write(v, VMX_MACL, load32(a->b));
	vmx_write(v, VMX_MACH, load16(a->b + 4));
	vmx_write(v, VMX_CMD, CMD_GROUPS);
	vmx_write(v, VMX_CMD, CMD_RX_MODE);
	v->no_buffer = v->tx_bad = 0;
	vmx_fast(v, VMX_RXPROD, V_RX_RING - 1);
	vmx_fast(v, VMX_IMR, 0);
	return true;
}

void vmxnet3_hw_filter(const struct vmxnet3 *v, bool promiscuous, bool all, uint32_t n)
{
	struct vmx_shared *s = v->shared;
	s->rx_mode = MODE_UNICAST | MODE_BROADCAST | (promiscuous ? MODE_PROMISCUOUS : 0) |
	             (all ? MODE_ALL_GROUPS : 0) | (n ? MODE_GROUPS : 0);
	s->groups_len = (uint16_t)(6 * n);
	if (v->broken)
		return; /* the next start tells the device */
	io_wmb();
	vmx_write(v, VMX_CMD, CMD_GROUPS);
	vmx_write(v, VMX_CMD, CMD_RX_MODE);
}

bool vmxnet3_hw_carrier(struct vmxnet3 *v)
{
	uint32_t link = command(v, CMD_GET_LINK);
	bool there = link != VMX_GONE, up = there && link & LINK_UP;
	v->nic.carrier = (struct nic_carrier){
	        .up = up, .full_duplex = up, .mbit = (uint16_t)(up ? LINK_MBIT(link) : 0)};
	return there;
}

/* Gives how much a counter has grown since *old, also when it began again. */
static uint64_t grown(uint64_t *old, uint64_t now)
{
	uint64_t before = now < *old ? 0 : *old;
	*old = now;
	return now - before;
}

void vmxnet3_hw_stats(struct vmxnet3 *v)
{
	(void)command(v, CMD_GET_STATS);
	io_rmb();
	const struct vmx_queues *q = v->queues;
	v->nic.count.rx_missed += grown(&v->no_buffer, q->rx.stats.no_buffer);
	v->nic.count.tx_errors += grown(&v->tx_bad, q->tx.stats.errors + q->tx.stats.discards);
}

void vmxnet3_hw_report(struct nic *nic, struct nic_report *r)
{
	const struct vmxnet3 *v = (const struct vmxnet3 *)nic;
	nic_report_add(r, "revisions", vmx_read(v, VMX_VRRS));
	nic_report_add(r, "link", command(v, CMD_GET_LINK));
	nic_report_add(r, "events", v->shared->events);
}
