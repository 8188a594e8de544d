/* A USB stick or card reader behind the controller of usb_fake.h: the bulk-only transport (USB Mass
 * Storage Class, Bulk-Only Transport 1.0) and the SCSI commands of a disk. What a host must not do
 * is a fault (pci_model_fault): a command block of another size or in the wrong phase, data in the
 * wrong direction. A test plants one fault of the device at any transfer. */
#ifndef TESTS_MODELS_STICK_MODEL_H
#define TESTS_MODELS_STICK_MODEL_H

#include "tests/models/usb_fake.h"

enum stick_fault {
	STICK_NO_FAULT,
	STICK_STALLS,        /* this transfer; bulk endpoints stay halted */
	STICK_SILENT,        /* no answer to this transfer */
	STICK_MUTE,          /* nor to any later one, until a reset of the port */
	STICK_BROKEN,        /* a wrong answer, or more than was asked for */
	STICK_SHORT,         /* half of the bytes of this transfer */
	STICK_EMPTY,         /* no bytes */
	STICK_GARBAGE,       /* the right number of bytes, all of them wrong */
	STICK_BAD_SIGNATURE, /* of the next status, as those that follow */
	STICK_BAD_TAG,
	STICK_BAD_STATUS, /* 2, phase error */
	STICK_ODD_STATUS, /* 7 */
	STICK_LYING_RESIDUE,
	STICK_FAULTS,
};

struct stick_sense {
	uint8_t key, code, more;
};

struct stick_model {
	struct usb_fake_device usb; /* the first member */
	uint8_t *bytes;
	uint32_t sector_bytes;
	uint64_t
	        sectors; /* that READ CAPACITY reports less one; what is beyond `mapped` is taken */
	uint64_t mapped; /* modulo this number */
	const char *name;      /* 24 characters of INQUIRY */
	uint8_t max_lun;       /* GET_MAX_LUN; 0xff: stalls */
	uint8_t lun;           /* the unit with the medium; those before it have none */
	uint8_t type[16];      /* of each unit, INQUIRY's first byte */
	bool is_protected;     /* MODE SENSE says so, and writes fail */
	bool no_mode, no_sync; /* commands that it does not know */
	bool removed;          /* the medium is not there */
	bool no_reset;         /* stalls the reset of the transport */

	/* Sense of the next commands with this operation: `fails` of them. */
	uint8_t fails_op;
	uint32_t fails;
	struct stick_sense sense_of;
	bool no_sense; /* REQUEST SENSE fails as well */

	/* A fault at the n-th transfer (control transfers of the class count), from 1; `repeat`: at
	 * each from there on. */
	uint32_t fault_at;
	enum stick_fault fault;
	bool repeat;

	uint32_t transfers, commands, resets, clears;
	uint32_t count[256]; /* commands by operation */

	/* The state of the transport. */
	uint8_t phase;
	bool halted_in, halted_out;
	bool silent;             /* bulk transfers, until the transport is reset */
	bool mute;               /* all, until the port is reset */
	uint8_t silent_setup[8]; /* this request gets no answer */
	uint8_t cbw[31];
	uint8_t reply[512];
	uint32_t reply_len;
	bool failed;
	uint32_t done; /* bytes of data */
	struct stick_sense sense;
	enum stick_fault status_fault;
};

/* A stick of `sectors` sectors in `bytes`, of a speed of usb.h. */
void stick_model_init(struct stick_model *s, uint8_t speed, uint8_t *bytes, uint64_t sectors,
                      uint32_t sector_bytes);

#endif
