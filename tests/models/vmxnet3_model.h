/* A model of VMware's vmxnet3 for tests of the driver on the host, after the interface that VMware
 * published with its open drivers.
 *
 * A fault (pci_model_fault) is what it forbids: an unknown register or command, rings of wrong size
 * or place, buffers of no size, a ring all of whose slots are the device's, more frames than slots,
 * an interrupt number that is not there, an MTU beyond its bounds, packets of too many descriptors
 * or without an end, packets to be cut whose headers are not as the device wants them. */
#ifndef TESTS_MODELS_VMXNET3_MODEL_H
#define TESTS_MODELS_VMXNET3_MODEL_H

#include "tests/models/card_model.h"

struct vmxnet3_ring {
	uint64_t at;
	uint32_t n, next, lap; /* the generation is 1 in even laps */
};

struct vmxnet3_model {
	struct card card; /* must be first */

	/* What the test sets. */
	bool refuses;     /* does not activate */
	bool wants_index; /* asks for the receive index */
	bool auto_mask;   /* masks its interrupt when it raises it */
	uint32_t revisions;
	uint32_t skip; /* so many receive descriptors are skipped before the next frame */

	/* What the test reads. */
	unsigned indexes; /* writes of RXPROD */
	uint32_t most;    /* descriptors of the packet that had most */

	/* Private to the model. */
	uint8_t mac[6], station[6];
	bool active, masked, asserted, pending;
	uint64_t shared;
	uint32_t low, last;
	struct vmxnet3_ring rx, tx, rx_done, tx_done;
	uint64_t queues;
	uint64_t no_buffer, errors;
	uint32_t mode;
	mac group[64];
	uint32_t n_group;
	bool cable_before;
	uint8_t packet[65600]; /* that is being sent */
	uint32_t packet_len;
};

/* Makes a card after power-on. */
struct card *vmxnet3_model_plug(struct vmxnet3_model *m, unsigned slot, const uint8_t address[6]);

/* Completes a frame to be sent that the driver did not give. */
void vmxnet3_model_name_frame(struct vmxnet3_model *m, uint32_t index);

/* Reports an event, as EVENT_… of the interface. */
void vmxnet3_model_event(struct vmxnet3_model *m, uint32_t event);

/* See struct card_kind. */
enum card_rx vmxnet3_model_receive(struct card *c, const void *frame, uint32_t n);
bool vmxnet3_model_lie(struct card *c, uint32_t len, bool error);
void vmxnet3_model_send(struct card *c);
bool vmxnet3_model_quiet(const struct card *c);
bool vmxnet3_model_irq(const struct card *c);

#endif
