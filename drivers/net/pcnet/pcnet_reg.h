/* Registers and descriptors of the AMD PCnet-PCI controllers, as far as the driver uses them.
 * Sections are those of the data sheet "Am79C970A PCnet-PCI II", 19436; MII: "Am79C973/Am79C975",
 * 21510. */
#ifndef DRIVERS_NET_PCNET_PCNET_REG_H
#define DRIVERS_NET_PCNET_PCNET_REG_H

#include "drivers/net/mii.h"
#include "kernel/lib/bytes.h"

/* I/O ports in 16-bit mode. The address PROM comes first. */
#define P_PORTS 32u
#define P_RDP   0x10 /* the CSR that RAP names */
#define P_RAP   0x12
#define P_RESET 0x14 /* a read resets */
#define P_BDP   0x16 /* the BCR that RAP names */
#define P_GONE  0xffffu

/* --- control and status registers ----------------------------------------------------------- */
#define CSR0_INIT 0x0001
#define CSR0_STRT 0x0002
#define CSR0_STOP 0x0004
#define CSR0_TDMD 0x0008
#define CSR0_TXON 0x0010
#define CSR0_RXON 0x0020
#define CSR0_INEA 0x0040
#define CSR0_IDON 0x0100
#define CSR0_MERR 0x0800
#define CSR0_ACK  0x7f00 /* all causes; writing ones clears */
/* CSR3 masks causes: BABL, TINT, IDON. An underflow does not stop the transmitter. */
#define CSR3_MASKS   0x4300
#define CSR3_TINT    0x0200
#define CSR3_DXSUFLO 0x0040
#define CSR4_USUAL   0x0115 /* no interrupts by counters, by the start of a frame, by jabber */
#define CSR5_SPND    0x0001
#define CSR_LADRF    8 /* to 11: hash of the groups */
#define CSR_MODE     15
#define MODE_PROM    0x8000
#define MODE_AUTO    0x0180 /* the port is left to the chip (BCR2_ASEL) */
#define CSR_ID_LOW   88
#define CSR_ID_HIGH  89
#define CSR_MISSED   112 /* frames missed, 16 bits */

#define ID_PART(v) ((v) >> 12 & 0xffff)
#define PART_FIRST 0x2420u
#define PART_MII   0x2623u /* the Am79C971, the first one with MII */
#define PART_LAST  0x2640u

/* --- bus configuration registers ------------------------------------------------------------ */
#define BCR_MISC       2
#define BCR2_ASEL      0x0002
#define BCR_LINK       4
#define BCR4_SHOW_LINK 0x00c0
#define BCR4_LINK      0x8000
#define BCR_DUPLEX     9
#define BCR9_FDEN      0x0001
#define BCR_BURST      18
#define BCR18_BURSTS   0x0060
#define BCR_STYLE      20
#define STYLE_32       2
#define BCR_MII_ADDR   33
#define BCR_MII_DATA   34
#define MII_PHYS       31u /* a further one answers always */

/* --- memory ------------------------------------------------------------------------------------
 */

struct p_init { /* 32-bit style */
	uint16_t mode;
	uint8_t rx_len, tx_len; /* logarithms, in bits 7:4 */
	uint8_t address[6];
	uint16_t zero;
	uint8_t hash[8];
	uint32_t rx, tx;
};

struct p_desc {
	uint32_t addr;
	uint32_t state; /* flags; bits 15:12 ones; bits 11:0 the two's complement of the length */
	uint32_t more;  /* receive: bytes with FCS */
	uint32_t unused;
};
#define D_OWN      (1u << 31)
#define D_ERR      (1u << 30)
#define D_STP      (1u << 25) /* first and last part of a frame */
#define D_ENP      (1u << 24)
#define D_BYTES(n) (0xf000u | ((0u - (n)) & 0xfffu))
#define D_LEN      0xfffu
#define FCS        4u

_Static_assert(sizeof(struct p_init) == 28 && sizeof(struct p_desc) == 16, "memory");

#endif
