/* Registers and descriptors of the DEC 21140 and 21143, as far as the driver uses them. Sections
 * are those of "21143 PCI/CardBus 10/100Mb/s Ethernet LAN Controller Hardware Reference Manual",
 * EC-QWC4F-TE, chapters 3 and 4; the EEPROM: "21X4 Serial ROM Format", 4.05. */
#ifndef DRIVERS_NET_TULIP_TULIP_REG_H
#define DRIVERS_NET_TULIP_TULIP_REG_H

#include "drivers/net/mii.h"
#include "kernel/lib/bytes.h"

#define TULIP_WINDOW 128u
#define TULIP_GONE   0xffffffffu
#define TULIP_CSR(n) ((n)*8u)

#define CFDD            0x40 /* in the configuration space */
#define CFDD_POWER_DOWN 0xc0000000u

#define CSR0_RESET 0x00000001u
#define CSR0_BUS   0x00009000u /* bursts and cache lines of 16 words */

/* CSR1, CSR2: a write wakes the transmitter, the receiver. CSR3, CSR4: their rings. */
#define CSR5_TX_DONE    0x00000001u
#define CSR5_RX_DONE    0x00000040u
#define CSR5_RX_NO_ROOM 0x00000080u
#define CSR5_BUS_ERROR  0x00002000u
#define CSR5_ABNORMAL   0x00008000u
#define CSR5_NORMAL     0x00010000u
#define CSR5_ACK        0x0c01ffffu     /* all causes; writing ones clears */
#define CSR5_RX(v)      ((v) >> 17 & 7) /* 0: stopped */
#define CSR5_TX(v)      ((v) >> 20 & 7)

#define CSR6_RX          0x00000002u
#define CSR6_PROMISCUOUS 0x00000040u
#define CSR6_ALL_GROUPS  0x00000080u
#define CSR6_FULL        0x00000200u
#define CSR6_TX          0x00002000u
#define CSR6_PORT_MII    0x00040000u
#define CSR6_NO_SQE      0x00080000u
#define CSR6_WHOLE       0x00200000u /* sends when the whole frame is in the FIFO */
#define CSR6_10          0x00400000u /* MII at 10 Mbit/s */
#define CSR6_ONE         0x02000000u

#define CSR8_MISSED(v) (((v)&0xffff) + ((v) >> 17 & 0x7ff))
#define CSR8_UNUSED    0xe0000000u

#define CSR9_SROM_CS 0x00000001u
#define CSR9_SROM_SK 0x00000002u
#define CSR9_SROM_DI 0x00000004u
#define CSR9_SROM_DO 0x00000008u
#define CSR9_SROM    0x00000800u
#define CSR9_WRITE   0x00002000u
#define CSR9_READ    0x00004000u
#define CSR9_MDC     0x00010000u
#define CSR9_MDO     0x00020000u
#define CSR9_MII_IN  0x00040000u /* the PHY drives the line */
#define CSR9_MDI     0x00080000u

#define CSR12_DIRECTION 0x100u /* of the 21140's general-purpose pins */

#define PHY_RESET_US 500000u /* longest reset of a PHY (IEEE 802.3 22.2.4.1.1) */

/* --- EEPROM ---------------------------------------------------------------------------------- */
#define SROM_BYTES     128u
#define SROM_LEAF      27u /* offset of what belongs to the first controller */
#define SROM_ADDRESS   20u
#define BLOCK_EXTENDED 0x80u
#define BLOCK_MII_GP   1u /* MII, with sequences of bytes for CSR12 */
#define BLOCK_MII_SIA  3u /* MII, with sequences of words for CSR15 */

/* --- memory ---------------------------------------------------------------------------------- */
struct t_desc {
	uint32_t state;
	uint32_t control;
	uint32_t addr, addr2;
};
#define D_OWN      (1u << 31)
#define D_RING_END (1u << 25)
/* Received: the causes of an error that say that the frame is bad, not that it is long, which one
 * with a tag may be. */
#define RX_BAD      0x00004843u /* descriptor, runt, collision, CRC, overflow */
#define RX_FIRST    (1u << 9)
#define RX_LAST     (1u << 8)
#define RX_LEN(v)   ((v) >> 16 & 0x3fff)
#define RX_ROOM     2044u /* a multiple of 4, in 11 bits */
#define TX_ERROR    (1u << 15)
#define TX_TELL     (1u << 31)
#define TX_LAST     (1u << 30)
#define TX_FIRST    (1u << 29)
#define TX_SETUP    (1u << 27) /* the buffer has addresses for the filter */
#define SETUP_BYTES 192u
#define SETUP_SLOTS 16u
#define FCS         4u

_Static_assert(sizeof(struct t_desc) == 16, "memory");

#endif
