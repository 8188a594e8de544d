/* A virtio network card on the PCI bus of pci_model.h, written from the
 * Virtual I/O Device specification, version 1.1 (sections below are its), in
 * three forms: legacy (0.9.5 interface), transitional, modern.
 *
 * It holds the driver to the rules (each breach is a pci_model_fault): order of
 * the status bits, features only in their phase, fields by their own width, no
 * queue used before DRIVER_OK, available index forward only and never past the
 * buffers there are, descriptors untouched while the device owns them, buffers
 * with the right direction and never twice in the device's hands, notification
 * only when asked for. And it can lie: see virtio_model_used_raw and below.
 *
 * Out on purpose: packed rings, indirect descriptors, MSI-X vectors, control
 * queue, merged buffers, offloads (offered on request, refused as a fault). */
#ifndef TESTS_MODELS_VIRTIO_MODEL_H
#define TESTS_MODELS_VIRTIO_MODEL_H

#include "tests/models/pci_model.h"

#define VIRTIO_MODEL_QUEUE_MAX 1024u
#define VIRTIO_MODEL_FOREVER   1000000000u

enum virtio_model_form { VIRTIO_MODEL_LEGACY, VIRTIO_MODEL_TRANSITIONAL, VIRTIO_MODEL_MODERN };
enum { VIRTIO_MODEL_RX, VIRTIO_MODEL_TX, VIRTIO_MODEL_QUEUES };

struct virtio_model_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags, next;
};

struct virtio_model_queue {
	uint16_t size_max; /* set by the test: what the device has; 0: no such queue */
	uint16_t size;     /* what the driver chose */
	bool enabled;
	uint64_t desc, avail, used; /* bus addresses */
	bool quiet;                 /* the device asks for no notifications (2.6.10) */
	uint16_t seen;              /* available index the device has looked at */
	uint16_t next;              /* next of these to take */
	uint16_t done;              /* how many were truly given back */
	uint16_t used_idx;          /* index as last written */
	bool owned[VIRTIO_MODEL_QUEUE_MAX];
	struct virtio_model_desc kept[VIRTIO_MODEL_QUEUE_MAX]; /* as they were when offered */
	uint16_t order[VIRTIO_MODEL_QUEUE_MAX];                /* heads by available position */
	uint16_t taken[VIRTIO_MODEL_QUEUE_MAX];                /* sent, not yet given back */
	uint16_t n_taken;
	uint32_t notified;
};

struct virtio_model {
	/* Set by the test between virtio_model_init and virtio_model_plug. */
	enum virtio_model_form form;
	uint64_t features; /* offered; VERSION_1 is shown on the modern interface only */
	uint8_t mac[6];
	uint8_t tear_mac[6];   /* replaces mac in the middle of the driver's reading … */
	uint32_t tear_after;   /* … after this many bytes of it; 0: never */
	uint32_t reset_reads;  /* status reads that a reset takes */
	bool refuse_features;  /* FEATURES_OK does not stay set */
	uint32_t notify_mult;  /* notify_off_multiplier */
	uint32_t notify_bytes; /* length of the notification structure */
	bool msix_left_on;     /* as firmware may leave it */
	bool shuffle;          /* uses receive buffers out of order */

	/* What happened. */
	uint32_t interrupts; /* times the line rose */
	uint32_t signals;    /* used buffers that the driver wanted to be told of */
	uint32_t resets;
	uint32_t missed; /* frames without a buffer */

	/* The device's own. */
	struct pci_model_dev pci;
	uint8_t status, isr, generation, config[12];
	uint32_t reset_left;
	bool legacy_used, modern_used; /* since the reset */
	bool lied;                     /* since the reset: breaches may be its own fault */
	uint64_t accepted;             /* features of the driver */
	uint32_t device_select, driver_select;
	uint16_t queue_select;
	uint32_t config_reads;
	uint8_t msix_cap;
	struct virtio_model_queue q[VIRTIO_MODEL_QUEUES];
};

/* A sound device of that form, with MAC 52:54:00:0a:0b:0c, link up, queues of
 * 256 and the features a host commonly offers. */
void virtio_model_init(struct virtio_model *m, enum virtio_model_form form);
/* Hangs it on the bus as the slot-th device, with addresses of its own. */
void virtio_model_plug(struct virtio_model *m, uint8_t slot);

/* A frame from the wire. False (missed) when there is no buffer. */
bool virtio_model_deliver(struct virtio_model *m, const void *frame, uint32_t len);
/* The same, but the used length says `claim`. */
bool virtio_model_deliver_claim(struct virtio_model *m, const void *frame, uint32_t len,
                                uint32_t claim);
/* The next frame that the driver sent, its length into *len; false when there is none.
 * Its buffer stays the device's until virtio_model_complete. */
bool virtio_model_take(struct virtio_model *m, void *frame, uint32_t size, uint32_t *len);
/* Gives the oldest n taken buffers back, or the newest first. Gives how many. */
uint32_t virtio_model_complete(struct virtio_model *m, uint32_t n, bool newest_first);
/* Buffers offered and not taken. */
uint32_t virtio_model_waiting(struct virtio_model *m, unsigned queue);
/* Link state, with the configuration interrupt where the driver may see it. */
void virtio_model_link(struct virtio_model *m, bool up);
/* The device polls (asks for no notifications), or wants them again. */
void virtio_model_quiet(struct virtio_model *m, unsigned queue, bool quiet);
/* The interrupt line. */
bool virtio_model_line(const struct virtio_model *m);

/* Lies: a used entry as given; an index moved by `by` with nothing behind it;
 * the device gives up (2.1.2). */
void virtio_model_used_raw(struct virtio_model *m, unsigned queue, uint32_t id, uint32_t len);
void virtio_model_jump(struct virtio_model *m, unsigned queue, uint16_t by);
void virtio_model_needs_reset(struct virtio_model *m);

/* Between the two files of the model. */
uint32_t virtio_model_header(const struct virtio_model *m); /* bytes */
bool virtio_model_ready(const struct virtio_model *m);      /* DRIVER_OK */
void virtio_model_notify(struct virtio_model *m, uint32_t queue);
void virtio_model_queue_check(struct virtio_model *m, unsigned queue);
void virtio_model_raise(struct virtio_model *m, uint8_t cause);

#endif
