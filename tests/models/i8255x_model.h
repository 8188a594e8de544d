/* A model of the Intel 8255x Fast Ethernet controllers for tests of the driver on the host, after
 * the "Intel 8255x 10/100 Mbps Ethernet Controller Family Open Source Software Developer Manual",
 * revision 1.3.
 *
 * A fault (pci_model_fault) is what the manual forbids: a command before the previous one was
 * accepted, access too soon after a reset, a resume that runs into old blocks, a receiver started
 * on a used descriptor, blocks at odd addresses, registers of a wrong size. */
#ifndef TESTS_MODELS_I8255X_MODEL_H
#define TESTS_MODELS_I8255X_MODEL_H

#include "tests/models/card_model.h"

struct i8255x_model {
	struct card card; /* must be first */

	/* What the test sets. */
	uint16_t eeprom[256];
	unsigned eeprom_bits; /* of an address: 6 (default) or 8 */
	uint8_t phy_at;       /* the PHY's number; 32: none */
	bool emulated;    /* as QEMU: stops after 16 blocks, no RFD_ENDED, status before the rest */
	bool locked_up;   /* receives nothing until a multicast setup */
	uint16_t partner; /* what the other end of the cable offers */

	/* What the test reads. */
	unsigned multicast_setups, nops;
	uint16_t phy[32];

	/* Private to the model. */
	uint8_t ack, mask, command;
	bool busy, resetting;
	uint64_t reset_us, mdi_us;
	uint32_t pointer, mdi, stats_at;
	enum { CU_IDLE, CU_SUSPENDED, CU_ACTIVE } cu;
	enum { RU_IDLE = 0, RU_NONE = 2, RU_READY = 4 } ru;
	bool resumed;     /* a resume came while the unit was active */
	uint32_t cb, rfd; /* bus addresses of the next ones */
	uint32_t stats[20];
	uint8_t config[22], address[6], groups[8];
	bool link_was_lost;
	struct {
		uint16_t lines;
		unsigned n;
		uint32_t in, out;
	} wire;
};

/* Makes a card after power-on with this PCI device number and revision. */
struct card *i8255x_model_plug(struct i8255x_model *m, uint16_t device, uint8_t revision,
                               unsigned slot, const uint8_t address[6]);

/* Writes the EEPROM's checksum word. */
void i8255x_model_sum(struct i8255x_model *m);

/* See struct card_kind. */
enum card_rx i8255x_model_receive(struct card *c, const void *frame, uint32_t n);
bool i8255x_model_lie(struct card *c, uint32_t len, bool error);
void i8255x_model_send(struct card *c);
bool i8255x_model_quiet(const struct card *c);
bool i8255x_model_irq(const struct card *c);

#endif
