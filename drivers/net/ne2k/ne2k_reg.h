/* Registers and memory of NE2000 cards for PCI, as far as the driver uses them. Sections are those
 * of the data sheet "DP8390D/NS32490D NIC", TL/F/8582; the memory and its port: "RTL8029AS". */
#ifndef DRIVERS_NET_NE2K_NE2K_REG_H
#define DRIVERS_NET_NE2K_NE2K_REG_H

#include "kernel/lib/bytes.h"

#define NE_PORTS 32u
#define NE_DATA  0x10 /* the memory, word by word, as remote DMA goes through it */
#define NE_RESET 0x1f /* a read begins a reset, a write ends it */
#define NE_GONE  0xffu

/* --- the command register, in all pages (10.3) ------------------------------------------------ */
#define NE_CMD       0x00
#define CMD_STOP     0x01u
#define CMD_START    0x02u
#define CMD_SEND     0x04u
#define CMD_DMA_READ 0x08u
#define CMD_DMA_OUT  0x10u /* to the card */
#define CMD_DMA_NONE 0x20u
#define CMD_PAGE1    0x40u

/* --- page 0 ----------------------------------------------------------------------------------- */
#define NE_PSTART   0x01
#define NE_PSTOP    0x02
#define NE_BNRY     0x03
#define NE_TSR      0x04  /* read */
#define TSR_BAD     0xa8u /* aborted, underrun, collision out of its window */
#define NE_TPSR     0x04  /* write */
#define NE_TBCR     0x05
#define NE_ISR      0x07
#define ISR_RX      0x01u
#define ISR_TX      0x02u
#define ISR_RX_BAD  0x04u
#define ISR_TX_BAD  0x08u
#define ISR_FULL    0x10u
#define ISR_DMA     0x40u
#define ISR_RESET   0x80u
#define NE_RSAR     0x08
#define NE_RBCR     0x0a
#define NE_RCR      0x0c
#define RCR_BROAD   0x04u
#define RCR_GROUPS  0x08u
#define RCR_ALL     0x10u
#define RCR_MONITOR 0x20u
#define NE_TCR      0x0d
#define TCR_LOOP    0x02u
#define NE_DCR      0x0e
#define DCR_WORDS   0x49u /* words, FIFO threshold of 8 bytes, no loopback */
#define NE_IMR      0x0f
#define NE_TALLY    0x0d /* read: alignment, CRC, missed */

/* --- page 1 ----------------------------------------------------------------------------------- */
#define NE_PAR  0x01
#define NE_CURR 0x07
#define NE_MAR  0x08

/* --- memory, in pages of 256 bytes ------------------------------------------------------------ */
#define PAGE_FIRST 0x40u
#define TX_SLOTS   3u
#define TX_PAGES   6u
#define RX_FIRST   (PAGE_FIRST + TX_SLOTS * TX_PAGES)
#define RX_END     0x80u
#define RX_PAGES   (RX_END - RX_FIRST)
#define HEADER     4u /* status, next page, bytes with FCS */
#define HEADER_BAD 0x1fu
#define HEADER_OK  0x01u
#define FCS        4u

/* After an overflow the card is to be stopped for so long (2.4, Overwrite Warning). */
#define OVERFLOW_US 1600u

#endif
