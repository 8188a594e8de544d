/* Registers and descriptors of the Realtek RTL8139 family, as far as the driver uses them. Sections
 * are those of the data sheets "RTL8139C(L)" 1.4 and, from 0x20 on marked "C+", "RTL8139C+" 1.6. */
#ifndef DRIVERS_NET_RTL8139_RTL8139_REG_H
#define DRIVERS_NET_RTL8139_RTL8139_REG_H

#include "kernel/lib/bytes.h"

#define R_PORTS 256u

#define R_IDR          0x00 /* the MAC address, 6 bytes */
#define R_MAR          0x08 /* hash of the groups, 8 bytes */
#define R_TSD          0x10 /* 4 x 32 bits, 5.4: a write starts slot n */
#define TSD_OWN        (1u << 13)
#define TSD_THRESHOLD  (56u << 16) /* 1792 bytes, or the whole frame, before it is sent */
#define R_TSAD         0x20        /* 4 x 32 bits: where its frame lies */
#define R_TNPDS        0x20        /* C+: the transmit ring, 64 bits */
#define R_RBSTART      0x30        /* the receive buffer */
#define R_CMD          0x37        /* 8 bits, 5.7 */
#define CMD_RST        0x10
#define CMD_RE         0x08
#define CMD_TE         0x04
#define R_CAPR         0x38 /* 16 bits: how far the driver has read, less 16 */
#define R_CBR          0x3a /* 16 bits: how far the card has written */
#define R_IMR          0x3c /* 16 bits, 5.8 */
#define R_ISR          0x3e /* 16 bits, 5.9: writing ones clears */
#define INT_ROK        0x0001
#define INT_RER        0x0002
#define INT_TOK        0x0004
#define INT_TER        0x0008
#define INT_OVERFLOW   0x0010 /* buffer full; C+: no descriptor */
#define INT_LINK       0x0020
#define INT_FIFO       0x0040
#define INT_SYSTEM     0x8000
#define INT_ALL        0xffff
#define R_GONE         0xffff
#define R_TCR          0x40                 /* 5.10 */
#define TCR_USUAL      (3u << 24 | 7u << 8) /* gap of the standard; bursts of 2048 bytes */
#define TCR_CLEAR      1u                   /* send the frame again that was given up */
#define TCR_VERSION(v) ((v) >> 22 & 0x1f3)
#define VERSION_8139B  0x1e0 /* the first one that needs no wake-up of its own */
#define R_RCR          0x44  /* 5.11 */
#define RCR_ALL        1u
#define RCR_OWN        2u
#define RCR_GROUPS     4u
#define RCR_BROADCAST  8u
#define RCR_USUAL      (7u << 13 | 7u << 8) /* whole frames, bursts without limit */
#define RCR_WRAP       (1u << 7)            /* a frame may go beyond the end of the buffer */
#define RCR_32K        (2u << 11)
#define R_MPC          0x4c /* frames missed; a write clears */
#define R_9346         0x50
#define EE_NORMAL      0x00
#define EE_LOAD        0x40 /* load the configuration from the EEPROM */
#define EE_UNLOCK      0xc0
#define EE_MODE        0xc0
#define R_CONFIG1      0x52
#define CONFIG1_SLEEP  0x03 /* before the 8139B */
#define R_MSR          0x58
#define MSR_DOWN       0x04
#define MSR_10         0x08
#define R_CONFIG3      0x59
#define CONFIG3_WAKE   0x30 /* by a magic packet, by the carrier */
#define R_CLOCK        0x5b
#define CLOCK_RUN      'R'
#define R_SUMMARY      0x60 /* 16 bits: of the four slots OWN, TABT, TUN, TOK */
#define R_BMCR         0x62
#define BMCR_AN        0x1000
#define BMCR_REDO      0x0200
#define BMCR_FD        0x0100
#define BMCR_OFF       0x4c00
#define R_ANAR         0x66
#define ANAR_ALL       0x01e0
#define R_ANLPAR       0x68
#define AN_100FD       0x0100
#define AN_100HD       0x0080
#define AN_10FD        0x0040
#define R_CONFIG5      0xd8 /* from the 8139B on */
#define CONFIG5_WAKE   0x72 /* by frames, by the pin */
#define R_TPPOLL       0xd9 /* C+ */
#define TPPOLL_NORMAL  0x40
#define R_CPCR         0xe0 /* C+, 16 bits */
#define CPCR_TX        0x0001
#define CPCR_RX        0x0002
#define CPCR_MULRW     0x0008
#define R_EARLY        0xec /* C+: units of 32 bytes before a frame is sent */
#define EARLY_USUAL    6
#define R_RDSAR        0xe4 /* C+: the receive ring, 64 bits */

/* The receive buffer: a header before each frame (5.1). */
#define RX_BUFFER     0x8000u
#define RX_SPARE      (16u + 2048u) /* for the end of the last frame */
#define RX_COPYING    0xfff0u       /* the length of a frame that is not complete */
#define RX_HEAD_OK    0x0001u
#define RX_HEAD_BAD   0x003eu /* runt, long, CRC, alignment, symbol */
#define RX_FRAME_MOST 4096u   /* a longer length is nonsense */
#define FCS           4u

/* C+ descriptors (9.1): state, VLAN, address of 64 bits. */
struct r_desc {
	uint32_t state, vlan, addr, addr_high;
};
#define D_OWN      (1u << 31)
#define D_LAST     (1u << 30) /* of the ring */
#define D_FIRST_P  (1u << 29) /* the first and the last one of a frame */
#define D_LAST_P   (1u << 28)
#define D_TX_ERROR (1u << 23)
#define D_RX_ERROR 0x087c0000u /* alignment, FIFO, length, summary, runt, CRC */
#define D_LEN      0x3fffu

_Static_assert(sizeof(struct r_desc) == 16, "descriptor");

#endif
