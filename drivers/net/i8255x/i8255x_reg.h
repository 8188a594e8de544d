/* Registers and blocks in memory of the Intel 8255x Fast Ethernet controllers, as far as the driver
 * uses them. Sections are those of the "Intel 8255x 10/100 Mbps Ethernet Controller Family Open
 * Source Software Developer Manual", revision 1.3. */
#ifndef DRIVERS_NET_I8255X_I8255X_REG_H
#define DRIVERS_NET_I8255X_I8255X_REG_H

#include "kernel/lib/bytes.h"

#define X_WINDOW 0x1000u /* bytes of the register window at base address 0 (6.1) */
#define X_GONE   0xffffu /* what the status of a card that is no longer on the bus reads as */

/* --- System Control Block (6.3.2) ---------------------------------------------------------- */
#define X_STATUS         0x00 /* 16 bits */
#define STATUS_RUS(v)    ((v) >> 2 & 15)
#define RUS_READY        4
#define X_ACK            0x01 /* causes; writing ones clears */
#define ACK_ALL          0xff
#define X_COMMAND        0x02 /* 8 bits; reads as 0 when the last command was accepted */
#define CU_START         0x10
#define CU_RESUME        0x20
#define CU_STATS_ADDRESS 0x40
#define CU_BASE          0x60
#define CU_STATS_RESET   0x70 /* dump the statistics, then clear them */
#define RU_START         0x01
#define RU_BASE          0x06
#define X_MASK           0x03 /* 8 bits */
#define MASK_ALL         0x01
#define MASK_CNA         0x20 /* the command unit became idle; not on the 82557, as the next two */
#define MASK_CX          0x80 /* a command with the bit I ended */
#define MASK_EARLY       0x0c /* early receive, PAUSE */
#define X_POINTER        0x04

/* --- PORT (6.3.3) ---------------------------------------------------------------------------- */
#define X_PORT         0x08
#define PORT_RESET     0
#define PORT_SELECTIVE 2

/* --- EEPROM (6.3.4), Microwire ------------------------------------------------------------------
 */
#define X_EEPROM         0x0e /* 16 bits */
#define EE_SK            0x0001
#define EE_CS            0x0002
#define EE_DI            0x0004
#define EE_DO            0x0008
#define EE_SUM           0xbaba
#define EE_WORD_COMPAT   3
#define COMPAT_NO_LOCKUP 3 /* both bits: the receiver does not lock up */
#define EE_WORD_PHY      6
#define PHY_WORD_SERIAL  0x8000 /* 10 Mbit/s by a serial interface, no MII */
#define EE_WORD_ID       10
#define ID_STANDBY       0x0002

/* --- MDI (6.3.6): the PHY's registers ------------------------------------------------------------
 */
#define X_MDI      0x10
#define MDI_WRITE  (1u << 26)
#define MDI_READ   (2u << 26)
#define MDI_PHY(n) ((uint32_t)(n) << 21)
#define MDI_REG(n) ((uint32_t)(n) << 16)
#define MDI_READY  (1u << 28)
/* PHY registers (IEEE 802.3 clauses 22, 28). */
#define PHY_CONTROL      0
#define PHY_CONTROL_100  0x2000
#define PHY_CONTROL_AN   0x1000
#define PHY_CONTROL_OFF  0x4c00 /* loopback, power down, isolate */
#define PHY_CONTROL_REDO 0x0200
#define PHY_CONTROL_FD   0x0100
#define PHY_STATUS       1
#define PHY_STATUS_LINK  0x0004
#define PHY_OFFER        4
#define PHY_OFFER_ALL    0x01e0
#define PHY_PARTNER      5
#define PHY_100FD        0x0100
#define PHY_100HD        0x0080
#define PHY_10FD         0x0040

/* --- command blocks (6.4.2)
 * ------------------------------------------------------------------------ */
struct x_cb {
	uint32_t state; /* status in the lower half, command in the upper one */
	uint32_t link;  /* bus address of the next block */
	union {
		struct {
			uint32_t array; /* bus address of `buffer` */
			uint32_t count; /* bytes behind the block (0), threshold, buffers */
			uint32_t buffer, size;
		} tx;
		uint8_t bytes[56];
	};
};
#define CB_DONE      0x8000u
#define CB_OK        0x2000u
#define CB_SUSPEND   0x4000u /* of the command half, as are the next ones */
#define CB_FLEXIBLE  0x0008u
#define CB_ADDRESS   1u
#define CB_CONFIGURE 2u
#define CB_MULTICAST 3u
#define CB_SEND      4u
/* Send when 0xe0 * 8 bytes, or the whole frame, are in the card: no frame fits less. One buffer. */
#define TX_COUNT 0x01e00000u

/* --- configuration (6.4.2.3)
 * -------------------------------------------------------------------------- */
#define CONFIG_BYTES 22u

/* --- receive frame descriptors (6.4.3.1), simplified: the frame follows
 * --------------------------------- */
struct x_rfd {
	uint32_t state; /* status in the lower half, command in the upper one */
	uint32_t link;
	uint32_t unused; /* all ones */
	uint32_t count;  /* bytes received and flags; in the upper half the bytes of room */
};
#define RFD_DONE   0x8000u
#define RFD_OK     0x2000u
#define RFD_ERRORS 0x0f90u /* CRC, alignment, no room, overrun, too short, error of the PHY */
#define RFD_LAST   0x8000u /* of the command half: the receiver stops behind this one */
#define RFD_ENDED  0x8000u /* of the count: the count is complete */
#define RFD_LEN    0x3fffu

/* --- statistics (6.3.2.2.5): 32-bit counters, then a mark
 * -------------------------------------------------- */
enum {
	STAT_TX_MAX_COLLISIONS = 1,
	STAT_TX_LATE = 2,
	STAT_TX_UNDERRUN = 3,
	STAT_RX_CRC = 10,
	STAT_RX_ALIGN = 11,
	STAT_RX_RESOURCE = 12,
	STAT_RX_OVERRUN = 13,
	STAT_RX_SHORT = 15,
	STAT_FIRST_END = 16, /* the mark stands behind 16, 19 or 20 counters */
	STAT_WORDS = 24,
};
#define STAT_MARK 0xa007u

_Static_assert(sizeof(struct x_cb) == 64 && sizeof(struct x_rfd) == 16, "blocks");

#endif
