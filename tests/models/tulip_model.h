/* A model of the DEC 21140 and 21143 with an MII PHY for tests of the driver on the host, after the
 * "21143 Hardware Reference Manual", EC-QWC4F-TE, and the "21X4 Serial ROM Format".
 *
 * A fault (pci_model_fault) is what they forbid: ring addresses, speed or duplex that change while
 * the processes run, a register without its fixed bits, buffers of odd size, a frame in several
 * descriptors without its flags, a setup frame of another size than 192, access while asleep. */
#ifndef TESTS_MODELS_TULIP_MODEL_H
#define TESTS_MODELS_TULIP_MODEL_H

#include "tests/models/card_model.h"

struct tulip_model {
	struct card card; /* must be first */

	/* What the test sets. */
	uint16_t srom[64];
	unsigned srom_bits; /* of an address: 6, 8 */
	uint8_t phy_at;
	uint16_t partner; /* what the other end of the cable offers */
	uint16_t phy[8];
	uint32_t phy_us; /* how long the PHY does not answer after its pins have changed */
	bool bus_error;  /* the next transfer ends with one */

	/* What the test reads. */
	uint32_t csr[16];
	uint16_t pins[32]; /* what was written to the general-purpose pins */
	unsigned n_pins;
	unsigned setups; /* filters that were read */

	/* Private to the model. */
	uint32_t rx_at, tx_at;
	uint64_t phy_ready_us;
	bool rx_run, tx_run, filtered;
	mac filter[16];
	uint32_t missed;
	uint32_t sr_in, sr_n, sr_out;
	bool sr_do;
	uint32_t ones, mii_in, mii_n, mii_state;
	uint16_t mii_out;
	bool mdi;
};

/* Makes a card after power-on, with this device number: 0x0009 is the 21140, 0x0019 the 21143. */
struct card *tulip_model_plug(struct tulip_model *m, uint16_t device, unsigned slot,
                              const uint8_t address[6]);

/* See struct card_kind. */
enum card_rx tulip_model_receive(struct card *c, const void *frame, uint32_t n);
bool tulip_model_lie(struct card *c, uint32_t len, bool error);
void tulip_model_send(struct card *c);
bool tulip_model_quiet(const struct card *c);
bool tulip_model_irq(const struct card *c);

#endif
