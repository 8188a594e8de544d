/* A model of Intel's 82575, 82576, 82580, I350, I210 and I211 for tests of the driver on the host,
 * after the "Intel Ethernet Controller I210 Datasheet", 333016, as far as others quote it. Queue 0
 * alone, advanced descriptors.
 *
 * A fault (pci_model_fault) is what they forbid: rings that move or a tail that is written while
 * their queue is disabled or the other way round, descriptors without their fixed bits, access too
 * soon after a reset, a reset while transfers are under way. */
#ifndef TESTS_MODELS_IGB_MODEL_H
#define TESTS_MODELS_IGB_MODEL_H

#include "tests/models/card_model.h"

struct igb_model {
	struct card card; /* must be first */

	/* What the test sets. */
	uint16_t phy[32];
	uint16_t mbit; /* negotiated */
	bool half_duplex;
	bool serdes;      /* a card for fibre */
	bool queue_stuck; /* a queue is never enabled */

	/* What the test reads. */
	unsigned negotiations;
	uint32_t wufc;

	/* Private to the model. */
	uint8_t burned[6];
	uint32_t ctrl, icr, ims, rctl, tctl, ral, rah, mdic, missed, ivar, srrctl, ctrl_ext;
	uint32_t mta[128];
	struct {
		uint32_t base, len, head, tail, ctl;
	} q[2]; /* receive, transmit */
	uint64_t reset_us;
};

struct card *igb_model_plug(struct igb_model *m, uint16_t device, unsigned slot,
                            const uint8_t address[6]);

/* See struct card_kind. */
enum card_rx igb_model_receive(struct card *c, const void *frame, uint32_t n);
bool igb_model_lie(struct card *c, uint32_t len, bool error);
void igb_model_send(struct card *c);
bool igb_model_quiet(const struct card *c);
bool igb_model_irq(const struct card *c);

#endif
