/* A model of the Intel 8254x Gigabit Ethernet controllers for tests of the driver on the
 * host, after the "PCI/PCI-X Family of Gigabit Ethernet Controllers Software Developer's
 * Manual" (317453, revision 4.0).
 *
 * The model does what the manual says the card does. It reports a fault (pci_model_fault)
 * for what the manual forbids: access too soon after a reset, rings moved while running, a
 * tail that passes the head, buffers that overlap or do not belong to the driver, writes to
 * registers that do not exist. The model fetches descriptors when the tail is written, as a
 * card with a descriptor cache may do (3.2.4, 3.4). So it does not see what the driver
 * writes to them later.
 *
 * Errata are part of the model. They come from the specification updates, as far as drivers of
 * other systems know them.
 *
 * Extended transmit descriptors (3.3.6, 3.3.7): checksums, and segmentation of TCP over IPv4.
 *
 * Left out on purpose: offloads of the receiver, segmentation over IPv6 and of UDP (a fault),
 * VLANs, the frames that wake the machine, the serial (TBI) side, interrupt moderation (a fault).
 */
#ifndef TESTS_MODELS_E1000_MODEL_H
#define TESTS_MODELS_E1000_MODEL_H

#include "tests/models/pci_model.h"

enum e1000_kind {
	E1000_KIND_82540, /* 82540, 82545, 82546 */
	E1000_KIND_82541, /* 82541, 82547: another EERD layout (13.4.4) */
	E1000_KIND_82544, /* no EERD: the EEPROM is read bit by bit (5.3.1) */
	E1000_KIND_82571, /* PCI Express from here on; and 82572 */
	E1000_KIND_82573,
	E1000_KIND_82574,
};

/* What the card did with a frame from the cable. */
enum e1000_rx {
	E1000_RX_TAKEN,
	E1000_RX_OFF,      /* receiver disabled, or carrier down */
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
	bool eeprom_dead;      /* EERD.DONE is never set */
	unsigned eeprom_reads; /* EERD reads until DONE (default 3) */
	uint16_t eeprom_noise; /* these bits of each word that software reads are inverted */
	bool phy_dead;         /* MDIC.R is never set */
	bool master_stuck;     /* PCI Express: transfers never end */
	bool owner_stuck;      /* 82573, 82574: the management processor keeps the PHY */
	bool firmware_stuck;   /* 82571 to 82573: it keeps the semaphore of the PHY */
	bool interface_stuck;  /* …: the other interface keeps its semaphore */
	uint32_t configure_us; /* 82571: how long the firmware configures the PHY after a reset */
	bool flash;            /* 82573: the settings are in a flash memory */
	bool lan_b;            /* STATUS bit 2: the second interface of an 82546 */
	bool pcix;             /* in a PCI-X slot; the firmware allows reads of 4096 bytes */
	bool io_deaf;          /* the I/O ports do not reach the card */
	bool flex_speed;       /* the 82541's PHY has flexible speed after its reset */
	bool phy_hung;         /* 82574: the PHY counts errors alone, until its reset by CTRL */
	bool phy_lost;         /* no link until a reset of the PHY by CTRL */
	bool reset_stuck;      /* CTRL.RST never clears */
	bool cable;            /* plugged in (default) */
	uint32_t negotiate_us; /* duration of auto-negotiation (default 0) */
	uint16_t speed;        /* negotiated speed: 10, 100, 1000 (default) */
	bool half_duplex;
	bool gone;        /* no longer on the bus: all registers read as ones */
	unsigned gone_in; /* `gone` from this read on; 0: never */
	bool tx_hold;     /* nothing is sent until e1000_model_send */
	bool tx_hung;     /* nothing is sent until a reset */
	/* Called when ICR is read, before the model gives its value: for events at that
	 * moment. */
	void (*at_icr)(struct e1000_model *m);
	bool apm;             /* the EEPROM enables wake-up by a magic packet (5.6.8) */
	uint32_t dma_tail_us; /* DMA continues for this time after a disable */

	/* What the test reads. */
	bool phy_crs;         /* the PHY reports carrier while it sends */
	unsigned crs_missing; /* frames sent at half duplex without that */
	unsigned resets;      /* CTRL.RST */
	unsigned phy_resets;  /* CTRL.PHY_RST */
	unsigned rctl_writes;
	unsigned icr_reads;
	unsigned sent;        /* frames sent to the cable; the last ones are in out */
	unsigned sent_padded; /* frames shorter than 60 bytes, which the card had to pad */
	struct e1000_model_sent out[64]; /* frame k is out[k % 64] */

	/* Private to the model. */
	uint32_t reg[0x20000 / 4];
	uint16_t phy[32];
	uint32_t icr, ims;
	uint32_t io_address;
	uint8_t pcix_cap; /* offset of the PCI-X capability; 0: none */
	uint8_t pcie_cap; /* the same for PCI Express */
	uint64_t phy_rst_us, phy_ready_us;
	unsigned reloads; /* of the settings in a flash memory */
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
		uint32_t cmd, last;
	} tx_desc[E1000_MODEL_RING];
	struct {
		uint64_t sums; /* offsets of both checksums */
		uint32_t cmd, last;
	} context;
	uint8_t large[70000]; /* what extended data descriptors have gathered */
	uint32_t large_len, large_first;
};

/* Makes *m a card after power-on, with a good EEPROM that holds `address`, and adds it to
 * the PCI bus. Each slot (0, 1, …) has its own addresses in memory and on the bus. */
void e1000_model_init(struct e1000_model *m, enum e1000_kind kind, uint16_t device, unsigned slot,
                      const uint8_t address[6]);

/* Writes the EEPROM's checksum word (5.6.35). */
void e1000_model_eeprom_sum(struct e1000_model *m);

/* A good frame of n bytes, without FCS, arrives from the cable. */
enum e1000_rx e1000_model_receive(struct e1000_model *m, const void *frame, uint32_t n);

/* Writes back the next receive descriptor with these values, true or not. Before that,
 * stores `fill` bytes of data. False when the card has no descriptor. */
bool e1000_model_lie(struct e1000_model *m, uint16_t len, uint8_t status, uint8_t errors,
                     uint32_t fill);

/* Sends up to n frames that tx_hold holds back. Gives how many it sent. */
unsigned e1000_model_send(struct e1000_model *m, unsigned n);

/* Plugs the cable in or unplugs it. */
void e1000_model_cable(struct e1000_model *m, bool in);

/* True when the interrupt line is asserted. */
bool e1000_model_irq(const struct e1000_model *m);

/* True when the card can start no DMA and raise no interrupt. */
bool e1000_model_quiet(const struct e1000_model *m);

/* True when a frame may wake the machine, or an event of the card keeps it awake (6). */
bool e1000_model_may_wake(const struct e1000_model *m);

/* Adds n to the statistics register at offset `off` (13.7). */
void e1000_model_count(struct e1000_model *m, uint32_t off, uint32_t n);

#endif
