/* A model of 3Com's EtherLink XL cards (3c900, 3c905 and their B and C) for tests of the driver on
 * the host, after the "3C90x" and "3C90xC NICs Technical Reference", 89-0931-000, as far as others
 * quote it.
 *
 * A fault (pci_model_fault) is what they forbid: a register of a window that is not selected, or
 * with another width than its own; anything but a look at the state while a command is under way;
 * lists that are not aligned to 8 bytes or move while they are read; frames with a duplex that is
 * not that of the PHY; a length that an old card would have to guess. */
#ifndef TESTS_MODELS_C90X_MODEL_H
#define TESTS_MODELS_C90X_MODEL_H

#include "tests/models/card_model.h"

struct c90x_model {
	struct card card; /* must be first */
	bool old;         /* without a B or C */
	bool small_hash;  /* a B: 64 bits */

	/* What the test sets. */
	uint16_t eeprom[64];
	uint8_t phy_at; /* 32: there is none */
	uint16_t partner;
	uint16_t phy[8];
	uint8_t next_error; /* the next frame ends with this TxStatus */

	/* What the test reads. */
	uint32_t internal;
	uint16_t mac_control, max_size, media;
	unsigned link_losses; /* resets that cost the link */
	unsigned negotiations;

	/* Private to the model. */
	unsigned window;
	uint64_t busy_us;
	bool resetting, rx_on, tx_on, up_stalled, dn_stalled, dn_done, stats_on, tx_dead;
	uint16_t status, int_on, ind_on, ee_data, pme;
	bool latch;
	uint8_t tx_status, dn_poll, free_thresh, filter;
	uint8_t station[12]; /* address, mask */
	bool hash[256];
	uint32_t dma_ctrl, dn_list, up_list, overruns;
	uint64_t ee_us;
	uint16_t mii_reg;
	uint32_t ones, mii_in, mii_n, mii_state;
	uint16_t mii_out;
	bool mdi;
};

/* Makes a card after power-on, with this device number. */
struct card *c90x_model_plug(struct c90x_model *m, uint16_t device, unsigned slot,
                             const uint8_t address[6]);

/* The bus reports an error. */
void c90x_model_host_error(struct card *c);

/* See struct card_kind. */
enum card_rx c90x_model_receive(struct card *c, const void *frame, uint32_t n);
bool c90x_model_lie(struct card *c, uint32_t len, bool error);
void c90x_model_send(struct card *c);
bool c90x_model_quiet(const struct card *c);
bool c90x_model_irq(const struct card *c);

#endif
