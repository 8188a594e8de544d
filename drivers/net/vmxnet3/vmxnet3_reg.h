/* Registers and shared memory of VMware's vmxnet3, as far as the driver uses them: the interface
 * that VMware published with its open drivers, revision 1. All in little-endian byte order. */
#ifndef DRIVERS_NET_VMXNET3_VMXNET3_REG_H
#define DRIVERS_NET_VMXNET3_VMXNET3_REG_H

#include "kernel/lib/bytes.h"

#define VMX_WINDOW 4096u
#define VMX_GONE   0xffffffffu

/* --- base address 0: the packet path --------------------------------------------------------- */
#define VMX_IMR    0x000 /* 1 masks the interrupt */
#define VMX_TXPROD 0x600
#define VMX_RXPROD 0x800

/* --- base address 1: commands ---------------------------------------------------------------- */
#define VMX_VRRS 0x00 /* revisions of the interface, one bit each; a write chooses */
#define VMX_UVRS 0x08
#define VMX_DSAL 0x10 /* address of struct vmx_shared; the upper half is written last */
#define VMX_DSAH 0x18
#define VMX_CMD  0x20 /* a read gives the result of the last command */
#define VMX_MACL 0x28
#define VMX_MACH 0x30
#define VMX_ICR  0x38 /* a read acknowledges the interrupt */
#define VMX_ECR  0x40 /* a write clears events */

#define CMD_ACTIVATE   0xcafe0000u /* 0: done */
#define CMD_QUIESCE    0xcafe0001u
#define CMD_RESET      0xcafe0002u
#define CMD_RX_MODE    0xcafe0003u
#define CMD_GROUPS     0xcafe0004u
#define CMD_GET_STATS  0xf00d0001u
#define CMD_GET_LINK   0xf00d0002u
#define LINK_UP        1u
#define LINK_MBIT(v)   ((v) >> 16)
#define EVENT_RX_ERROR 1u
#define EVENT_TX_ERROR 2u
#define EVENT_LINK     4u

/* --- memory ---------------------------------------------------------------------------------- */
#define VMX_ALIGN 512u /* of rings; the rest needs less */

struct vmx_shared {
	uint32_t magic, pad;
	uint32_t driver_version, guest, revisions, upt_versions;
	uint64_t features, driver_data, queues;
	uint32_t driver_data_len, queues_len, mtu;
	uint16_t rx_pieces; /* most buffers of a frame */
	uint8_t n_tx, n_rx;
	uint32_t reserved[4];
	uint8_t auto_mask, n_interrupts, event_interrupt, moderation[25];
	uint32_t interrupt_control, reserved2[2];
	uint32_t rx_mode;
	uint16_t groups_len, pad2; /* bytes */
	uint64_t groups;
	uint32_t vlans[128];
	uint8_t variable[48];
	uint32_t events, reserved3;
	uint32_t command[4];
} __attribute__((packed, aligned(8)));
#define VMX_MAGIC        0xbabefee1u
#define GUEST_32_BIT     1u
#define GUEST_LINUX      (1u << 2) /* the type that gets plain rings */
#define INTERRUPTS_OFF   1u
#define MODE_UNICAST     0x01u
#define MODE_GROUPS      0x02u
#define MODE_BROADCAST   0x04u
#define MODE_ALL_GROUPS  0x08u
#define MODE_PROMISCUOUS 0x10u

struct vmx_tx_stats {
	uint64_t tso_frames, tso_bytes, uni_frames, uni_bytes, multi_frames, multi_bytes,
	        broad_frames, broad_bytes, errors, discards;
};

struct vmx_rx_stats {
	uint64_t lro_frames, lro_bytes, uni_frames, uni_bytes, multi_frames, multi_bytes,
	        broad_frames, broad_bytes, no_buffer, errors;
};

/* The two queues, one behind the other; 128-byte aligned. */
struct vmx_queues {
	struct {
		uint32_t deferred, threshold;
		uint64_t reserved;
		uint64_t ring, data_ring, done, driver_data, reserved2;
		uint32_t ring_len, data_len, done_len, driver_data_len;
		uint8_t interrupt, pad[7];
		uint32_t stopped, error;
		struct vmx_tx_stats stats;
		uint8_t pad2[88];
	} tx;
	struct {
		uint8_t wants_index, pad[7];
		uint64_t reserved;
		uint64_t ring[2], done, driver_data, reserved2;
		uint32_t ring_len[2], done_len, driver_data_len;
		uint8_t interrupt, pad2[7];
		uint32_t stopped, error;
		struct vmx_rx_stats stats;
		uint8_t pad3[88];
	} rx;
};

/* A descriptor belongs to the device when its generation is that of the lap. */
struct vmx_desc {
	uint32_t addr, addr_high; /* the upper half stays 0 */
	uint32_t size;            /* 13:0 bytes */
	uint32_t more;
};
/* In size; in a packet's first descriptor TX_FIELD is what TX_SUM or TX_CUT needs. */
#define TX_GEN          (1u << 14)
#define TX_FIELD(n)     ((n) << 18)
#define TX_SEGMENT_MOST 0x3fffu /* in TX_FIELD */
/* In more of a packet's first descriptor: the checksum at offset TX_FIELD is to be completed, from
 * the offset in 9:0 on; segments of TX_FIELD bytes are to be cut, behind headers of as many bytes
 * as 9:0 says; this VLAN tag is to be put in. */
#define TX_SUM         (2u << 10)
#define TX_CUT         (3u << 10)
#define TX_TAG(tci)    (1u << 15 | (uint32_t)(tci) << 16)
#define TX_OFFSET_MOST 0x3ffu /* in 9:0 */
/* In more of the last one: it ends the packet; a completion tells that it was sent. */
#define TX_LAST (1u << 12)
#define TX_TELL (1u << 13)
#define RX_GEN  (1u << 31) /* in size */

/* A completion is the driver's when its generation is that of the lap. */
struct vmx_done {
	uint32_t index; /* 11:0 */
	uint32_t hash;
	uint32_t size; /* of a received frame: 13:0 bytes */
	uint32_t gen;
};
#define DONE_INDEX 0xfffu
#define DONE_FIRST (1u << 15) /* in index, of a received frame */
#define DONE_LAST  (1u << 14)
#define DONE_WHOLE (DONE_FIRST | DONE_LAST)
#define DONE_LEN   0x3fffu
#define DONE_ERROR (1u << 14) /* in size */
#define DONE_GEN   (1u << 31) /* in gen */

_Static_assert(sizeof(struct vmx_shared) == 720 && offsetof(struct vmx_shared, events) == 696 &&
                       offsetof(struct vmx_shared, rx_mode) == 120,
               "shared memory");
_Static_assert(sizeof(struct vmx_queues) == 512 && sizeof(struct vmx_done) == 16, "queues");

#endif
