/* A model of the AMD PCnet-PCI controllers for tests of the driver on the host, after the data
 * sheets "Am79C970A PCnet-PCI II", 19436, and "Am79C973/Am79C975", 21510.
 *
 * A fault (pci_model_fault) is what they forbid: registers that may change only while the card is
 * stopped or suspended, access in the middle of an index and its data, rings at odd addresses, a
 * transmit descriptor given without ones in bits 15:12, frames with a duplex that is not that of
 * the PHY. */
#ifndef TESTS_MODELS_PCNET_MODEL_H
#define TESTS_MODELS_PCNET_MODEL_H

#include "tests/models/card_model.h"

struct pcnet_model {
	struct card card; /* must be first */

	/* What the test sets. */
	uint32_t part;    /* 0x2430: 970, 0x2621: 970A, 0x2625: 973 */
	uint8_t phy_at;   /* of the 973 */
	uint16_t partner; /* what the other end of the cable offers */
	bool init_stuck;  /* the initialization never ends */
	bool underflow;   /* the next frame is not sent: the FIFO was empty */

	bool end_late; /* a frame's end is written by pcnet_model_end(), as QEMU's model may do */

	/* What the test reads. */
	uint16_t bcr[64];
	uint16_t phy[8];       /* of the 973 */
	unsigned negotiations; /* that were begun again */

	/* Private to the model. */
	uint8_t prom[16];
	uint16_t rap, csr[128];
	uint32_t rx, tx, n_rx, n_tx, rx_at, tx_at;
	uint8_t address[6];
	uint8_t *late; /* the descriptor without its end */
	uint32_t late_size, late_state;
};

/* Makes a card after power-on with this part number. */
struct card *pcnet_model_plug(struct pcnet_model *m, uint32_t part, unsigned slot,
                              const uint8_t address[6]);

/* Writes the end of the last frame, unless the driver has given its descriptor back already. */
void pcnet_model_end(struct pcnet_model *m);

/* See struct card_kind. */
enum card_rx pcnet_model_receive(struct card *c, const void *frame, uint32_t n);
bool pcnet_model_lie(struct card *c, uint32_t len, bool error);
void pcnet_model_send(struct card *c);
bool pcnet_model_quiet(const struct card *c);
bool pcnet_model_irq(const struct card *c);

#endif
