/* Shared by the parts of the 8255x driver: i8255x.c sends and supervises the card, i8255x_rx.c
 * receives, i8255x_hw.c handles reset, EEPROM, PHY and configuration. */
#ifndef DRIVERS_NET_I8255X_I8255X_H
#define DRIVERS_NET_I8255X_I8255X_H

#include "drivers/net/i8255x/i8255x_reg.h"
#include "drivers/net/nic.h"
#include "kernel/seam/io.h"

#define X_RX_RING NIC_RING
#define X_TX_RING 128u /* command blocks; a power of two */
#define X_GROUPS  8u   /* multicast groups that fit into a command block */

struct i8255x {
	struct nic nic; /* must be first: the ops get a pointer to it */
	volatile uint8_t *regs;
	struct pkt **rx;       /* in the order of the list */
	struct x_cb *cb;       /* a ring of command blocks */
	struct pkt **tx;       /* the frame of each block; NULL: another command */
	uint32_t rx_next;      /* next slot to look at */
	struct x_rfd *rx_last; /* that of the slot before it: where the receiver stops */
	uint32_t tx_head;      /* oldest block not yet reclaimed; free-running */
	uint32_t tx_tail;      /* next free block; free-running */
	uint32_t ack;          /* how many of the next arm() calls acknowledge causes */
	bool rx_stopped;       /* the receiver is to be started when a descriptor is free */
	bool cu_owed;          /* the card did not accept a resume */
	bool tx_refused;       /* the last tx() found the ring full */
	bool tx_wake;          /* the cause CNA is enabled */
	bool broken; /* reset failed, or no longer on the bus; the carrier counts as down */
	bool is_82557;
	bool is_ich;      /* in a chip set, with an 82562 */
	bool lockup;      /* the receiver may lock up */
	bool standby;     /* the EEPROM lets the command unit stand by */
	bool nop_first;   /* a resume needs a command before it */
	bool mii;         /* has a PHY with registers */
	bool filter_owed; /* filter_put found no room */
	bool stats_asked;
	uint8_t phy;                     /* its number */
	uint8_t phy_reg;                 /* which register poll() asked for */
	uint16_t phy_control, phy_offer; /* as last read */
	bool promiscuous, all_groups;
	uint8_t n_group;
	mac group[X_GROUPS];
	uint64_t poll_us, stats_us, heard_us;
	uint64_t received; /* frames, for the lockup */
	uint64_t heard;    /* `received` at heard_us */
	uint32_t hang_head;
	uint64_t hang_us;
	uint32_t *stats;
};

static inline uint8_t x_read8(const struct i8255x *x, uint32_t reg)
{
	return mmio_read8(x->regs + reg);
}

static inline uint16_t x_read16(const struct i8255x *x, uint32_t reg)
{
	return mmio_read16(x->regs + reg);
}

static inline void x_write8(const struct i8255x *x, uint32_t reg, uint8_t v)
{
	mmio_write8(x->regs + reg, v);
}

static inline void x_write32(const struct i8255x *x, uint32_t reg, uint32_t v)
{
	mmio_write32(x->regs + reg, v);
}

static inline struct i8255x *x_card(struct nic *nic)
{
	return (struct i8255x *)nic;
}

/* A word that the device may write at any time. */
static inline uint32_t x_device_word(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/* The upper half of a block's first word; the device may write the lower one meanwhile. */
static inline void x_set_command(uint32_t *state, uint16_t command)
{
	*(volatile uint16_t *)((uint8_t *)state + 2) = command;
}

static inline uint32_t x_bus(const void *p)
{
	return (uint32_t)dma_addr(p);
}

/* A descriptor is in the headroom of its packet, just before the frame. */
static inline struct x_rfd *x_rfd_of(struct pkt *p)
{
	return (struct x_rfd *)(p->bytes + PKT_HEADROOM - sizeof(struct x_rfd));
}

static inline bool x_rx_done(struct pkt *p)
{
	return (x_device_word(&x_rfd_of(p)->state) & RFD_DONE) != 0;
}

static inline bool x_rx_waiting(const struct i8255x *x)
{
	return x_rx_done(x->rx[x->rx_next]);
}

/* nic_ops.rx. */
uint32_t i8255x_rx(struct nic *nic, struct pkt **burst, uint32_t max);

/* Starts the receiver at the first free descriptor, if it has stopped. */
void i8255x_rx_kick(struct i8255x *x);

/* Starts the receiver of a card that was just reset, with an empty list. */
void i8255x_rx_start(struct i8255x *x);

/* Gives the card a command when it has accepted the previous one. False when it does not within
 * 100 reads, some 100 us. */
bool i8255x_hw_command(const struct i8255x *x, uint8_t command);

/* The same for a command with an address. */
bool i8255x_hw_point(const struct i8255x *x, uint32_t at, uint8_t command);

/* Notes what kind of card it is. */
void i8255x_hw_identify(struct i8255x *x);

/* Ends all DMA, masks all interrupts, and sets both bases to 0. False when the card accepts no
 * commands afterwards. Takes 100 us, at most 400 ms. */
bool i8255x_hw_reset(const struct i8255x *x);

/* Reads the MAC address and the flags of the board from the EEPROM. False when the address is not
 * usable. Takes 20 to 30 ms; an EEPROM of 256 words 90 to 130 ms. */
bool i8255x_hw_eeprom(struct i8255x *x);

/* Finds the PHY, powers it up and makes it offer all modes. */
void i8255x_hw_phy(struct i8255x *x);

/* Takes the PHY register that was asked for, if it is there, into nic.carrier, and asks for the
 * next. Does not wait. */
void i8255x_hw_carrier(struct i8255x *x);

/* Writes the configuration into a command block's bytes. */
void i8255x_hw_configuration(const struct i8255x *x, uint8_t *out);

/* nic_ops.report. */
void i8255x_hw_report(struct nic *nic, struct nic_report *r);

#endif
