/* A model of a UHCI host controller for tests of the driver on the host, after the "Universal
 * Host Controller Interface (UHCI) Design Guide", revision 1.1.
 *
 * uhci_model_frame carries out one frame. The model reports a fault (pci_model_fault) for what the
 * guide forbids: accesses of the wrong width, schedule registers written while it runs, structures
 * that are not aligned or lie outside the driver's memory, schedules that loop, descriptors
 * that are changed in the frame in which the controller used them, interrupts, a start while the
 * firmware's traps are on, reset signals that are too short.
 *
 * Left out on purpose: isochronous descriptors, suspend and resume, interrupts (a fault). */
#ifndef TESTS_MODELS_UHCI_MODEL_H
#define TESTS_MODELS_UHCI_MODEL_H

#include "tests/models/pci_model.h"
#include "tests/models/usb1_device.h"

#define UHCI_MODEL_PORTS 8

struct uhci_model {
	struct pci_model_dev pci;

	/* What the test sets. */
	unsigned n_ports;    /* default 2 */
	bool gone;           /* no longer on the bus: all registers read as ones */
	bool never_halts;    /* RS off does not halt it */
	bool never_starts;   /* RS on does not start it */
	bool reset_stuck;    /* HCRESET never clears */
	bool frames_stuck;   /* the frame number does not change */
	bool late;           /* a queue's element link is written a frame after the status */
	bool lie;            /* ActLen says more than MaxLen */
	uint32_t enable_us;  /* from the end of a reset signal until PED can be set (default 5) */
	bool enable_changes; /* the change bits are set with it, and PED is lost once */
	bool bar0;           /* registers in base address register 0 (before uhci_model_plug) */

	/* What the test reads. */
	unsigned resets;     /* HCRESET */
	unsigned visits[16]; /* queue heads that were visited in each of the last 16 frames */
	uint16_t frame;      /* FRNUM */

	/* Private. */
	uint16_t cmd, sts, intr;
	uint32_t base;
	uint8_t sofmod;
	uint64_t reset_us;
	struct {
		struct usb1_device *device;
		uint16_t sc;
		uint64_t signal_us, ready_us;
	} port[UHCI_MODEL_PORTS];
	struct {
		uint32_t td, words[4];
	} used[256];
	unsigned n_used;
	struct {
		uint32_t qh, element;
	} pending[64];
	unsigned n_pending;
};

/* Makes a controller as the firmware leaves it: running, with an empty frame list at `firmware`
 * and its keyboard traps on. Adds it to the PCI bus at the slot (0, 1). */
void uhci_model_init(struct uhci_model *m, unsigned slot);

/* Plugs a device into a port (from 0); NULL unplugs. */
void uhci_model_plug(struct uhci_model *m, unsigned port, struct usb1_device *d);

/* Carries out a frame, without the change of the frame number. */
void uhci_model_frame(struct uhci_model *m);
/* Ends the frame: checks what the driver changed in it, counts the frame number up. */
void uhci_model_frame_end(struct uhci_model *m);

/* Reports an error: bits of USBSTS. A host system or process error halts the controller. */
void uhci_model_error(struct uhci_model *m, uint16_t sts);

/* True when the controller can start no DMA. */
bool uhci_model_quiet(const struct uhci_model *m);

#endif
