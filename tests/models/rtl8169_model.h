/* A model of Realtek's gigabit cards for tests of the driver on the host, after the data sheet
 * "RTL8169" 1.21 where its descriptors are concerned, and after drivers of other systems. What the
 * later chips have besides (the gate in front of the receiver, the PHY behind another register, the
 * reversed hash) is known from drivers of other systems only.
 *
 * A fault (pci_model_fault) is what they forbid: settings and address written while locked, rings
 * moved while they run or not aligned to 256 bytes, a reset without the request to stop before it,
 * access to the PHY while it is busy, buffers of odd size, registers with another width than
 * theirs, frames in several descriptors, work while the link of PCI Express saves power. */
#ifndef TESTS_MODELS_RTL8169_MODEL_H
#define TESTS_MODELS_RTL8169_MODEL_H

#include "tests/models/card_model.h"

struct rtl8169_model {
	struct card card; /* must be first */

	/* What the test sets. */
	uint32_t xid;          /* version: TCR, bits 31:20 */
	uint16_t partner;      /* what the other end of the cable offers: register 5 */
	uint16_t partner_gbit; /* and register 10 */
	uint16_t phy[32];
	unsigned lose; /* so many commands to send are lost */
	uint8_t config[6];
	uint8_t idr[8], burned[6]; /* the address; the one in the EEPROM */
	uint8_t pmch, mcu;
	uint32_t misc;
	bool no_gbit;

	/* What the test reads. */
	unsigned overflows; /* of the FIFO, in a chip that needs a reset then */
	unsigned negotiations;

	/* Private to the model. */
	bool pcie, gated;
	uint8_t pcie_cap;
	uint8_t mar[8], cmd, lock, early;
	uint16_t isr, imr, rms, cpcr;
	uint32_t rcr, tcr, missed;
	uint32_t rdsar, tnpds, tally, rx_at, tx_at;
	uint32_t eri, eri_data, ocp, ocp_word;
	uint32_t phyar;
	uint64_t stop_us, phy_us, phy_next_us;
	bool waiting_tx, stalled;
};

/* Makes a card after power-on, of this version. Those below 0x200 and 0x980 are PCI cards. */
struct card *rtl8169_model_plug(struct rtl8169_model *m, uint32_t xid, unsigned slot,
                                const uint8_t address[6]);

/* The FIFO of the receiver runs over. */
void rtl8169_model_overflow(struct card *c);

/* A frame of more bytes than a buffer has arrives; it fills several descriptors. */
void rtl8169_model_long(struct card *c, uint32_t n);

/* The bus reports an error. */
void rtl8169_model_bus_error(struct card *c);

/* See struct card_kind. */
enum card_rx rtl8169_model_receive(struct card *c, const void *frame, uint32_t n);
bool rtl8169_model_lie(struct card *c, uint32_t len, bool error);
void rtl8169_model_send(struct card *c);
bool rtl8169_model_quiet(const struct card *c);
bool rtl8169_model_irq(const struct card *c);

#endif
