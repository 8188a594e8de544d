/* Registers and bits that every PHY has (IEEE 802.3-2018 clause 22.2.4 and annexes 28B, 28C; those
 * of 1000BASE-T clause 40.5). The way to them is each card's own. */
#ifndef DRIVERS_NET_MII_H
#define DRIVERS_NET_MII_H

#define MII_CONTROL       0
#define MII_CONTROL_RESET 0x8000
#define MII_CONTROL_AN    0x1000 /* auto-negotiation is on */
#define MII_CONTROL_OFF   0x0c00 /* powered down, isolated */
#define MII_CONTROL_REDO  0x0200 /* negotiates once more */
#define MII_STATUS        1
#define MII_STATUS_GBIT   0x0100 /* register 15 says that it can 1000BASE-T */
#define MII_STATUS_LINK   0x0004
#define MII_OFFER         4
#define MII_OFFER_ALL     0x01e0 /* 10 and 100 Mbit/s, half and full duplex */
#define MII_PARTNER       5
#define MII_100FD         0x0100
#define MII_100HD         0x0080
#define MII_10FD          0x0040
#define MII_GBIT          9
#define MII_GBIT_FD       0x0200

#endif
