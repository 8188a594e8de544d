/* What the models of all network cards have in common, so that one suite of tests
 * (tests/unit/drivers/card_suite.h) runs each driver against its card's model. */
#ifndef TESTS_MODELS_CARD_MODEL_H
#define TESTS_MODELS_CARD_MODEL_H

#include "drivers/net/nic.h"
#include "tests/models/pci_model.h"

#define CARD_FRAME_MOST 1518u /* with a VLAN tag, without FCS */

/* What the card did with a frame from the cable. */
enum card_rx {
	CARD_TAKEN,
	CARD_OFF,      /* receiver disabled, or no carrier */
	CARD_FILTERED, /* not for this station */
	CARD_MISSED,   /* no descriptor */
	CARD_BAD,      /* too short or too long */
};

struct card_sent {
	uint32_t len;
	uint8_t bytes[2048];
};

/* The first member of each model. */
struct card {
	struct pci_model_dev pci;

	/* What the test sets. */
	bool cable;       /* plugged in (default) */
	bool gone;        /* no longer on the bus: all registers read as ones */
	bool tx_hold;     /* nothing is sent until `send` */
	bool tx_hung;     /* nothing is sent until a reset */
	bool reset_stuck; /* a reset never ends */

	/* What the test reads. */
	unsigned resets;
	unsigned sent;            /* frames sent to the cable */
	unsigned sent_short;      /* those shorter than 60 bytes */
	struct card_sent out[64]; /* frame k is out[k % 64] */
};

/* A kind of card. */
struct card_kind {
	const char *name;
	const struct pci_driver *driver;
	uint32_t ring;   /* packets that the driver keeps in the receive ring */
	uint32_t takes;  /* frames that it takes before it is full */
	uint32_t sends;  /* frames that it can hold to be sent */
	bool no_carrier; /* it does not show whether a cable is plugged in */
	bool stops_full; /* after a frame that finds no room it stops until poll() */
	bool all_groups; /* it takes the frames to all groups, or to none */
	bool looks;      /* it looks for frames by itself: none of its registers is written */
	unsigned most; /* register accesses for 1000 frames under load; 0: 100 (docs/hardware.md) */
	/* Makes the card of this slot (0, 1) new and adds it to the bus. */
	struct card *(*plug)(unsigned slot, const uint8_t address[6]);
	/* A good frame of n bytes, without FCS, arrives from the cable. */
	enum card_rx (*receive)(struct card *c, const void *frame, uint32_t n);
	/* Ends the next receive descriptor with this length, without FCS, true or not, and with an
	 * error. False when the card has no descriptor. */
	bool (*lie)(struct card *c, uint32_t len, bool error);
	/* Sends the frames that tx_hold holds back. */
	void (*send)(struct card *c);
	/* True when the card can start no DMA and raise no interrupt. */
	bool (*quiet)(const struct card *c);
	/* True when the interrupt line is asserted. */
	bool (*irq)(const struct card *c);
};

/* True when the card can reach memory: a driver cuts one off that does not end its reset. */
static inline bool card_reaches(const struct card *c)
{
	return !c->gone && pci_model_can_master(&c->pci);
}

/* Adds a frame to those that left the card. */
static inline void card_sent(struct card *c, const uint8_t *frame, uint32_t n)
{
	struct card_sent *f = &c->out[c->sent++ % 64];
	f->len = min_u32(n, sizeof f->bytes);
	memcpy(f->bytes, frame, f->len);
	c->sent_short += n < 60;
	if (n == 0 || n > CARD_FRAME_MOST)
		pci_model_fault("a frame of %u bytes is sent", n);
}

/* The CRC-32 of the first six bytes, as Ethernet has it (IEEE 802.3 3.2.9), least significant bit
 * first and not inverted at the end: from it cards take the number of a bit of their hash. */
static inline uint32_t card_crc(const uint8_t *address)
{
	uint32_t crc = 0xffffffffu;
	for (unsigned i = 0; i < 48; i++) {
		uint32_t bit = ((uint32_t)address[i / 8] >> i % 8 ^ crc) & 1;
		crc = crc >> 1 ^ (bit ? 0xedb88320u : 0);
	}
	return crc;
}

#endif
