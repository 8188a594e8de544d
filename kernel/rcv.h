/* The RCV task: frames from the cards into the gateway and out again. */
#ifndef KERNEL_RCV_H
#define KERNEL_RCV_H

#include "drivers/net/nic.h"
#include "net/gw.h"

/* Ties a card to each port; NULL where a port has none. */
void rcv_init(struct gw *gw, struct nic *lan, struct nic *wan);

/* Takes one burst from each port, runs it through the gateway, sends what came
 * out. gw->now_us is set. True when a frame was moved. */
bool rcv_run(void);

/* Hands what waits on the ports' links to the cards; true when some was taken. */
bool rcv_flush(void);

/* Link state and recovery of the cards; every 10 ms or so. */
void rcv_poll(uint64_t now_us);

/* Enables the cards' wake-ups: true when one has work, so do not halt. */
bool rcv_arm(void);

/* Ends all DMA, before a restart. */
void rcv_stop(void);

/* The card of a port, NULL when it has none. */
const struct nic *rcv_nic(uint32_t iface);

#endif
