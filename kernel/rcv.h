/* The RCV task: moves frames from the cards into the gateway and back to the cards. */
#ifndef KERNEL_RCV_H
#define KERNEL_RCV_H

#include "drivers/net/nic.h"
#include "net/gw.h"

/* Assigns a card to each of the gateway's interfaces; NULL where an interface has no card. Sets the
 * cards' filters. */
void rcv_init(struct gw *gw, struct nic *const *cards);

/* Takes one burst from each interface with traffic and from one other interface, runs it through
 * the gateway, and sends the resulting frames. gw->clock.us must be set. True when a frame was
 * moved. */
bool rcv_run(void);

/* Hands the packets of all transmit queues to the cards. True when a card took some. To be called
 * when anything but rcv_run may have put packets there. */
bool rcv_flush(void);

/* Polls the cards (carrier state, recovery) and updates their filters. To be called
 * every 10 to 100 ms, or 500 ms while rcv_rests. True when a carrier came or went. */
bool rcv_poll(uint64_t now_us);

/* Enables the cards' interrupts. True when a card has work, or a carrier has changed, so that the
 * processor must not halt. */
bool rcv_arm(void);

/* True when rcv_poll may be less frequent: no frame came lately, no line is in doubt, and each
 * interface has its carrier and its filter. */
bool rcv_rests(void);

/* True while a card's interrupt line is masked or in doubt, so that frames may wait until the next
 * rcv_poll: it must then come about every 10 ms. */
bool rcv_needs_ticks(void);

/* True when a card's interrupts cannot end a halt. rcv_arm then lets the processor never halt. */
bool rcv_polls(void);

/* Ends all DMA of the cards, before a restart. */
void rcv_stop(void);

/* Gives the card of an interface, NULL when it has none. */
const struct nic *rcv_nic(uint32_t iface);

/* Adds the registers of the card of an interface that has one, for a person. May take 20 ms. */
void rcv_report(uint32_t iface, struct nic_report *r);

#endif
