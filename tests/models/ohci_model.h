/* A model of an OHCI host controller for tests of the driver on the host, after the "Open Host
 * Controller Interface Specification for USB", release 1.0a.
 *
 * ohci_model_frame carries out one frame. The model reports a fault (pci_model_fault) for what the
 * specification forbids: registers used while the firmware owns the controller, more than 2 ms
 * between reset and start, an interval without FIT or with a wrong FSMPS, structures that are not
 * aligned or lie outside the driver's memory, endpoint descriptors changed without a frame of
 * SKIP, transfer descriptors changed before they were given back, interrupts.
 *
 * Left out on purpose: isochronous descriptors, delayed interrupts (a fault), suspend of ports,
 * over-current. */
#ifndef TESTS_MODELS_OHCI_MODEL_H
#define TESTS_MODELS_OHCI_MODEL_H

#include "tests/models/pci_model.h"
#include "tests/models/usb1_device.h"

#define OHCI_MODEL_PORTS 15
#define OHCI_MODEL_EDS   128

enum ohci_model_lie {
	OHCI_LIE_NONE,
	OHCI_LIE_LOOP,      /* the done list leads back to its first descriptor */
	OHCI_LIE_ELSEWHERE, /* it leads to memory that is not the driver's */
	OHCI_LIE_IDLE,      /* it leads to a descriptor that is not in use */
	OHCI_LIE_BUFFER,    /* the position in the buffer lies outside */
};

struct ohci_model {
	struct pci_model_dev pci;

	/* What the test sets. */
	unsigned n_ports;     /* default 3 */
	uint32_t firmware_us; /* until the firmware gives it up (default 2000) */
	bool firmware_never;  /* it never does */
	bool legacy;          /* registers of the keyboard emulation exist */
	bool single_power;    /* ports have a power switch each */
	bool gone;            /* no longer on the bus: all registers read as ones */
	bool reset_stuck;     /* HCR never clears */
	bool never_starts;    /* it does not become operational */
	bool frames_stuck;    /* the frame number does not change */
	bool deaf_suspended;  /* FmInterval, PeriodicStart are ignored while suspended */
	bool deaf;            /* they always are */
	bool port_stuck;      /* PRS never clears */
	enum ohci_model_lie lie;

	/* What the test reads. */
	unsigned resets;                   /* HCR */
	bool forced;                       /* IR was cleared by the driver */
	unsigned pulses[OHCI_MODEL_PORTS]; /* of reset signal, since something was plugged in */
	uint16_t frame;
	uint32_t hce;           /* HceControl */
	unsigned control_scans; /* frames in which the control list was looked at */

	/* Private. */
	uint32_t control, command, status, enable, hcca, control_head, control_current, bulk_head,
	        bulk_current, interval, periodic_start, done;
	uint64_t reset_us, ask_us, power_us;
	bool running_once;
	unsigned packets;
	struct {
		struct usb1_device *device;
		uint32_t bits;
		bool power;
		uint64_t reset_us;
	} port[OHCI_MODEL_PORTS];
	struct {
		uint32_t at, control, head;
		bool skipped; /* for a whole frame */
	} ed[OHCI_MODEL_EDS];
	unsigned n_eds;
	struct {
		uint32_t at, ed, words[4]; /* ed 0: retired, but not given back yet */
	} td[128];
	unsigned n_tds;
};

/* Makes a controller as the firmware leaves it: running, with IR set. Adds it to the PCI bus at
 * the slot (0, 1). */
void ohci_model_init(struct ohci_model *m, unsigned slot);

/* Plugs a device into a port (from 0); NULL unplugs. */
void ohci_model_plug(struct ohci_model *m, unsigned port, struct usb1_device *d);

/* Carries out a frame, and ends it. */
void ohci_model_frame(struct ohci_model *m);
void ohci_model_frame_end(struct ohci_model *m);

/* Reports an unrecoverable error. */
void ohci_model_error(struct ohci_model *m);

/* True when the controller can start no DMA. */
bool ohci_model_quiet(const struct ohci_model *m);

#endif
