/* Shared by the parts of the vmxnet3 driver: vmxnet3.c moves packets and supervises the card,
 * vmxnet3_offload.c sends partial packets, vmxnet3_hw.c handles reset, activation, carrier, filters
 * and statistics. */
#ifndef DRIVERS_NET_VMXNET3_VMXNET3_H
#define DRIVERS_NET_VMXNET3_VMXNET3_H

#include "drivers/net/nic.h"
#include "drivers/net/vmxnet3/vmxnet3_reg.h"
#include "kernel/seam/io.h"

#define V_RX_RING NIC_RING
#define V_TX_RING 256u /* multiples of 32 */
#define V_GROUPS  32u

/* The driver's part of a receive slot. It is as large as a descriptor and lies at a fixed distance
 * behind it, so one pointer reaches both. */
struct vmx_slot {
	struct pkt *p;
	uint32_t unused[4 - sizeof(void *) / 4];
};
_Static_assert(sizeof(struct vmx_slot) == sizeof(struct vmx_desc), "a slot is as large");

struct vmxnet3 {
	struct nic nic;                /* must be first: the ops get a pointer to it */
	volatile uint8_t *fast, *slow; /* base addresses 0 and 1 */
	bool broken;     /* reset failed, or no longer on the bus; the carrier counts as down */
	bool lies;       /* the device named a frame that it does not have */
	bool tx_refused; /* the last tx() found the ring full */
	uint32_t ack;    /* how many of the next arm() calls acknowledge causes */
	struct vmx_desc *rx_desc; /* behind them the driver's part of each slot */
	struct vmx_desc *tx_desc;
	struct vmx_done *rx_done, *tx_done;
	struct vmx_shared *shared;
	struct vmx_queues *queues;
	mac *groups;
	struct pkt *tx[V_TX_RING];
	uint32_t rx_next; /* next slot that the device fills; the one before it is not the device's
	                   */
	uint32_t rx_seen, tx_seen; /* completions taken; free-running */
	uint32_t tx_head,
	        tx_tail; /* oldest frame not yet reclaimed, next free slot; free-running */
	uint64_t poll_us, hang_us, stats_us;
	uint32_t hang_head;
	uint64_t no_buffer, tx_bad; /* the device's counters as last read */
};

static inline void vmx_fast(const struct vmxnet3 *v, uint32_t reg, uint32_t value)
{
	mmio_write32(v->fast + reg, value);
}

static inline uint32_t vmx_read(const struct vmxnet3 *v, uint32_t reg)
{
	return mmio_read32(v->slow + reg);
}

static inline void vmx_write(const struct vmxnet3 *v, uint32_t reg, uint32_t value)
{
	mmio_write32(v->slow + reg, value);
}

/* Frees the packets that were sent. (vmxnet3.c) */
void vmxnet3_reclaim(struct vmxnet3 *v);

/* Tells the device that descriptors up to tx_tail are to be sent. (vmxnet3.c) */
void vmxnet3_kick(struct vmxnet3 *v);

/* tx_partial of struct nic_ops. (vmxnet3_offload.c) */
uint32_t vmxnet3_offload_tx(struct nic *nic, struct pkt **burst, uint32_t n);

/* Ends all DMA and masks the interrupt. False when the device does not stop. */
bool vmxnet3_hw_reset(const struct vmxnet3 *v);

/* Chooses the revision, takes off nic.offloads what the device does not do right, and reads the MAC
 * address. Gives NULL, or what is wrong. */
const char *vmxnet3_hw_identify(struct vmxnet3 *v);

/* Tells a device that was just reset its rings, and starts it. False when it refuses them. */
bool vmxnet3_hw_start(struct vmxnet3 *v);

/* Writes the filter: `all` groups, or the first n of v->groups. */
void vmxnet3_hw_filter(const struct vmxnet3 *v, bool promiscuous, bool all, uint32_t n);

/* Reads the carrier into nic.carrier. False when the device no longer answers. */
bool vmxnet3_hw_carrier(struct vmxnet3 *v);

/* Adds what the device has counted since the last call. */
void vmxnet3_hw_stats(struct vmxnet3 *v);

/* nic_ops.report. */
void vmxnet3_hw_report(struct nic *nic, struct nic_report *r);

#endif
