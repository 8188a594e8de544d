/* A model of the Intel 8254x Gigabit Ethernet controllers, after the "PCI/PCI-X
 * Family of Gigabit Ethernet Controllers Software Developer's Manual" (317453,
 * revision 4.0), for tests of the driver on the host.
 *
 * It does what the manual says the card does, and calls a fault
 * (pci_model_fault) what the manual forbids: access too soon after a reset,
 * rings moved while running, a tail that passes the head, buffers that overlap
 * or are not the driver's, writes to registers that do not exist. Descriptors
 * are fetched when the tail is written, as a card with a descriptor cache may
 * do (3.2.4, 3.4), so what the driver writes later comes too late.
 *
 * Left out on purpose: offloads, VLANs, wake-up, the serial (TBI) side,
 * extended transmit descriptors (a fault), interrupt moderation (a fault). */
#ifndef TESTS_MODELS_E1000_MODEL_H
#define TESTS_MODELS_E1000_MODEL_H

#include "tests/models/pci_model.h"

enum e1000_kind {
	E1000_KIND_82540, /* 82540, 82545, 82546 */
	E1000_KIND_82541, /* 82541, 82547: another EERD layout (13.4.4) */
	E1000_KIND_82544, /* no EERD: the EEPROM is read bit by bit (5.3.1) */
};

/* What became of a frame on the cable. */
enum e1000_rx {
	E1000_RX_TAKEN,
	E1000_RX_OFF,      /* receiver disabled, or no link */
	E1000_RX_FILTERED, /* not for this station */
	E1000_RX_MISSED,   /* no descriptor: MPC counts */
	E1000_RX_BAD,      /* too short or too long: discarded and counted */
};

#define E1000_MODEL_RING 4096

struct e1000_model_sent {
	uint32_t len;
	uint8_t bytes[16288]; /* 3.3: the longest frame of the transmitter */
};

struct e1000_model {
	struct pci_model_dev pci;
	enum e1000_kind kind;

	/* What the test sets before or between the driver's calls. */
	uint16_t eeprom[64];
	bool eeprom_dead;      /* EERD.DONE never comes */
	unsigned eeprom_reads; /* EERD reads until DONE (default 3) */
	uint16_t eeprom_noise; /* flips these bits of each word that software reads */
	bool phy_dead;         /* MDIC.R never comes */
	bool lan_b;            /* the second port of an 82546 */
	bool reset_stuck;      /* CTRL.RST never clears */
	bool cable;            /* plugged in (default) */
	uint32_t negotiate_us; /* how long auto-negotiation takes (default 0) */
	uint16_t speed;        /* what it comes to: 10, 100, 1000 (default) */
	bool half_duplex;
	bool tx_hold; /* nothing is sent until e1000_model_send */
	bool tx_hung; /* nothing is sent until a reset */
	/* Called when ICR is read, before it answers: what happens meanwhile. */
	void (*at_icr)(struct e1000_model *m);
	uint32_t dma_tail_us; /* DMA goes on this long after a disable */

	/* What the test looks at. */
	unsigned resets; /* CTRL.RST */
	unsigned rctl_writes;
	unsigned icr_reads;
	unsigned sent;                   /* frames on the cable; the last ones in out */
	unsigned sent_padded;            /* frames under 60 bytes that the card had to pad */
	struct e1000_model_sent out[64]; /* frame k is out[k % 64] */

	/* The inside. */
	uint32_t reg[0x20000 / 4];
	uint16_t phy[32];
	uint32_t icr, ims;
	uint64_t reset_us, linkup_us, mdic_us, rx_off_us;
	bool resetting, link_was_up, bmsr_down;
	unsigned eerd_left;
	struct {
		uint8_t state, bits;
		uint32_t shift, out;
		bool clk, reading;
	} uwire;
	uint32_t rdh, rdt, rx_owned, tdh, tdt, tx_owned;
	uint64_t rx_buf[E1000_MODEL_RING]; /* fetched buffer addresses */
	struct {
		uint64_t addr;
		uint32_t cmd;
	} tx_desc[E1000_MODEL_RING];
};

/* A card after power-on with a good EEPROM holding `address`, at a free place
 * in memory and on the bus (slot 0, 1, …); hangs it on the PCI bus. */
void e1000_model_init(struct e1000_model *m, enum e1000_kind kind, uint16_t device, unsigned slot,
                      const uint8_t address[6]);

/* Writes the checksum word of the EEPROM (5.6.35). */
void e1000_model_eeprom_sum(struct e1000_model *m);

/* A good frame of n bytes without FCS arrives. */
enum e1000_rx e1000_model_receive(struct e1000_model *m, const void *frame, uint32_t n);

/* The next receive descriptor is written back just so, whatever the truth;
 * `fill` bytes of data are stored before. False when there is none. */
bool e1000_model_lie(struct e1000_model *m, uint16_t len, uint8_t status, uint8_t errors,
                     uint32_t fill);

/* Sends up to n frames that are held back; gives how many it sent. */
unsigned e1000_model_send(struct e1000_model *m, unsigned n);

/* Plugs the cable in or out. */
void e1000_model_cable(struct e1000_model *m, bool in);

/* The interrupt line is asserted. */
bool e1000_model_irq(const struct e1000_model *m);

/* No DMA can begin and no interrupt can come. */
bool e1000_model_quiet(const struct e1000_model *m);

/* Adds to a statistics register (its offset, 13.7). */
void e1000_model_count(struct e1000_model *m, uint32_t off, uint32_t n);

#endif
