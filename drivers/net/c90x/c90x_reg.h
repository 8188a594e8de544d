/* Registers and descriptors of 3Com's EtherLink XL cards, as far as the driver uses them, after the
 * "3C90x" and "3C90xC NICs Technical Reference", 89-0931-000, as far as others quote it. Sixteen
 * bytes of ports are a window to eight sets of registers. */
#ifndef DRIVERS_NET_C90X_C90X_REG_H
#define DRIVERS_NET_C90X_C90X_REG_H

#include "drivers/net/mii.h"
#include "kernel/lib/bytes.h"

#define C_PORTS 64u /* of the first ones; the B and C have 128 */

#define C_COMMAND      0x0e /* 16 bits, written: a command and its parameter */
#define COMMAND(n, p)  ((n) << 11 | (p))
#define RESET_ALL      COMMAND(0u, 4u) /* all but the network, which would lose its link */
#define SELECT(window) COMMAND(1u, (window))
#define RX_DISABLE     COMMAND(3u, 0u)
#define RX_ENABLE      COMMAND(4u, 0u)
#define RX_RESET       COMMAND(5u, 4u)
#define UP_UNSTALL     COMMAND(6u, 1u)
#define DN_STALL       COMMAND(6u, 2u)
#define DN_UNSTALL     COMMAND(6u, 3u)
#define TX_ENABLE      COMMAND(9u, 0u)
#define TX_DISABLE     COMMAND(10u, 0u)
#define TX_RESET       COMMAND(11u, 0u)
#define ACKNOWLEDGE    COMMAND(13u, 0x661u) /* latch, early, request, both lists */
#define INT_ENABLE(v)  COMMAND(14u, (v))
#define IND_ENABLE(v)  COMMAND(15u, (v))
#define FILTER(v)      COMMAND(16u, (v))
#define STATS_ENABLE   COMMAND(21u, 0u)
#define HASH(at, set)  COMMAND(25u, (at) | ((set) ? 0x400u : 0u))
#define C_STATUS       0x0e /* 16 bits, read */
#define STATUS_HOST    0x0002
#define STATUS_TX      0x0004
#define STATUS_STATS   0x0080
#define STATUS_DOWN    0x0200
#define STATUS_UP      0x0400
#define STATUS_BUSY    0x1000
#define C_GONE         0xffff
#define C_TX_STATUS    0x1b /* 8 bits; a write takes the oldest one away */
#define TX_JABBER      0x20
#define TX_UNDERRUN    0x10
#define C_DMA_CONTROL  0x20
#define DMA_NO_MWI     (1u << 20)
#define C_DN_LIST      0x24
#define C_DN_POLL      0x2d /* B, C: 8 bits, units of 320 ns */
#define DN_POLL_USUAL  64
#define C_TX_FREE      0x2f /* the others: 8 bits, units of 256 bytes */
#define TX_FREE_USUAL  6    /* the longest frame */
#define C_UP_LIST      0x38

#define FILTER_OWN       1u
#define FILTER_GROUPS    2u
#define FILTER_BROADCAST 4u
#define FILTER_ALL       8u
#define FILTER_HASH      16u

/* Window 0 */
#define C_EE_COMMAND 0x0a
#define EE_READ      0x80
#define EE_BUSY      0x8000
#define C_EE_DATA    0x0c
#define EE_ADDRESS   0x0a
/* Window 2 */
#define C_STATION 0x00 /* 3 x 16 bits */
#define C_MASK    0x06 /* 3 x 16 bits */
/* Window 3 */
#define C_INTERNAL   0x00 /* 32 bits */
#define PORT(n)      ((uint32_t)(n) << 20)
#define PORT_10BASET PORT(0)
#define PORT_MII     PORT(6)
#define PORT_AUTO    PORT(8)
#define PORT_ANY     PORT(15)
#define C_MAX_SIZE   0x04 /* B, C: 16 bits */
#define C_MAC        0x06 /* 16 bits */
#define MAC_FULL     0x0020
#define MAC_LARGE    0x0040
/* Window 4 */
#define C_NET_DIAG    0x06
#define C_MII         0x08
#define MII_CLOCK     1u
#define MII_DATA      2u
#define MII_WRITE     4u
#define C_MEDIA       0x0a
#define MEDIA_10BASET 0x00c0 /* link pulses, jabber guard */
#define MEDIA_LINK    0x0800
/* Window 6: 8 bits each, then 2 x 16 bits; reading clears */
#define C_COUNTERS 10u
#define C_OVERRUNS 5u
#define C_BYTES_IN 0x0a
#define C_BYTES    0x0c
/* Window 7 */
#define C_PME 0x0c /* B, C */

#define PHY_USUAL 24
#define PHY_NONE  32

/* A descriptor with one buffer, at a multiple of 8 bytes. */
struct c_desc {
	uint32_t next, state, addr, len;
};
#define D_LAST       (1u << 31) /* fragment */
#define TX_TELL      (1u << 31) /* to be told when it is read */
#define TX_EMPTY     (1u << 29) /* B, C: no frame here */
#define TX_NO_ROUND  (1u << 28) /* B, C: the length is not rounded up */
#define TX_DONE      (1u << 16) /* B, C */
#define RX_LEN       0x1fffu
#define RX_ERROR     (1u << 14)
#define RX_DONE      (1u << 15)
#define RX_SIZE_MOST 1522u

_Static_assert(sizeof(struct c_desc) == 16, "descriptor");

#endif
