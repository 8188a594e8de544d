/* A model of the Realtek RTL8139 family for tests of the driver on the host, after the data sheets
 * "RTL8139C(L)" 1.4 and "RTL8139C+" 1.6.
 *
 * A fault (pci_model_fault) is what they forbid: a transmit slot started that is not free or not
 * the next one, frames at odd addresses, settings written while locked, a C+ that sends without its
 * threshold, rings moved while enabled, a read pointer beyond what was written. */
#ifndef TESTS_MODELS_RTL8139_MODEL_H
#define TESTS_MODELS_RTL8139_MODEL_H

#include "tests/models/card_model.h"

struct rtl8139_model {
	struct card card; /* must be first */
	bool plus;        /* an 8139C+ */

	/* What the test sets. */
	uint32_t version; /* of TCR, bits 30:22 */
	uint16_t partner; /* what the other end of the cable offers */
	unsigned aborts;  /* so many next tries to send a frame end with too many collisions */
	bool cbr_at_end;  /* CBR may stand at the end of the buffer instead of its beginning */
	bool underrun;    /* the next frame ends with an underrun */

	/* What the test reads. */
	uint16_t bmcr, anar;
	uint8_t config1, config3, config5, clock, early;

	/* Private to the model. */
	uint8_t idr[6], eeprom[6], mar[8], cmd, mode9346;
	uint64_t load_us;
	uint16_t isr, imr, cpcr, capr, cbr;
	uint32_t tsd[4], tsad[4], rbstart, rcr, tcr, missed;
	uint32_t rdsar, tnpds, rx_at, tx_at;
	bool stalled, waiting_tx, aborted;
	uint8_t next_slot, next_sent;
};

/* Makes a card after power-on with this PCI revision: 0x20 and later are C+. */
struct card *rtl8139_model_plug(struct rtl8139_model *m, uint8_t revision, unsigned slot,
                                const uint8_t address[6]);

/* See struct card_kind. */
enum card_rx rtl8139_model_receive(struct card *c, const void *frame, uint32_t n);
bool rtl8139_model_lie(struct card *c, uint32_t len, bool error);
void rtl8139_model_send(struct card *c);
bool rtl8139_model_quiet(const struct card *c);
bool rtl8139_model_irq(const struct card *c);

#endif
