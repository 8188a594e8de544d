/* A model of NE2000 cards for PCI for tests of the driver on the host, after the data sheets
 * "DP8390D/NS32490D NIC", TL/F/8582, and "RTL8029AS".
 *
 * A fault (pci_model_fault) is what they forbid: a register of another page or of wrong size, pages
 * outside of the memory, the ring's ends while the card runs, the data port without a transfer or
 * with an odd count, a frame that is written while it is sent, a start less than 1.6 ms after the
 * stop for an overflow, a receiver with its cable before a frame was taken away after one. */
#ifndef TESTS_MODELS_NE2K_MODEL_H
#define TESTS_MODELS_NE2K_MODEL_H

#include "tests/models/card_model.h"

struct ne2k_model {
	struct card card; /* must be first */

	/* What the test sets. */
	bool dma_stuck;  /* transfers to the card do not end */
	bool tx_fails;   /* the next frame collides too often */
	bool runs_over;  /* a full ring is written over, as QEMU's does */
	uint8_t next_is; /* the next header's chain leads there; 0: to its end */

	/* What the test reads. */
	unsigned overflows; /* that were handled */

	/* Private to the model. */
	uint8_t prom[32], mem[0x4000];
	uint8_t cmd, isr, imr, rcr, tcr, dcr, start, stop, bnry, curr, tsr, tpsr;
	uint8_t par[6], mar[8], tally[3];
	uint16_t tbcr, rsar, rbcr;
	bool over;         /* an overflow was not handled */
	uint8_t over_bnry; /* what it found */
	uint64_t stop_us;
};

/* Makes a card after power-on. */
struct card *ne2k_model_plug(struct ne2k_model *m, unsigned slot, const uint8_t address[6]);

/* See struct card_kind. */
enum card_rx ne2k_model_receive(struct card *c, const void *frame, uint32_t n);
bool ne2k_model_lie(struct card *c, uint32_t len, bool error);
void ne2k_model_send(struct card *c);
bool ne2k_model_quiet(const struct card *c);
bool ne2k_model_irq(const struct card *c);

#endif
