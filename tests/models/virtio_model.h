/* A virtio network card on the PCI bus of pci_model.h, written from the Virtual I/O Device
 * specification, version 1.1 (section numbers are those of this specification). It has
 * three forms: legacy (0.9.5 interface), transitional, modern.
 *
 * The model checks the driver against the rules, and each breach is a pci_model_fault:
 * status bits in the right order, features only in their phase, fields accessed by their
 * own width, no queue used before DRIVER_OK, an available index that only moves forward and
 * never past the existing buffers, descriptors unchanged while the device owns them,
 * buffers with the right direction and never given to the device twice, notifications only
 * when the device wants them. The model can also lie: see virtio_model_used_raw and the
 * functions after it.
 *
 * Checksums, TCP segmentation, merged receive buffers and indirect descriptors are there when the
 * test adds VIRTIO_MODEL_OFFLOADS to the features, segmentation of UDP with VIRTIO_MODEL_USO; the
 * model checks that the driver accepts only what goes together (5.1.3.1), and every header of a
 * sent packet (5.1.6.2).
 *
 * Left out on purpose: packed rings, MSI-X vectors, control queue, UDP fragmentation (the model
 * offers some of them; a driver that accepts them causes a fault). */
#ifndef TESTS_MODELS_VIRTIO_MODEL_H
#define TESTS_MODELS_VIRTIO_MODEL_H

#include "tests/models/pci_model.h"

#define VIRTIO_MODEL_QUEUE_MAX 1024u
#define VIRTIO_MODEL_FOREVER   1000000000u
/* Bits 0 and 1, 7 to 9, 11 to 13, 15, 28 of 5.1.3 and 6. */
#define VIRTIO_MODEL_OFFLOADS 0x1000bb83ull
/* Segmentation of UDP: bits 54 to 56 of 5.1.3 of version 1.3. */
#define VIRTIO_MODEL_USO 0x01c0000000000000ull

enum virtio_model_form { VIRTIO_MODEL_LEGACY, VIRTIO_MODEL_TRANSITIONAL, VIRTIO_MODEL_MODERN };
enum { VIRTIO_MODEL_RX, VIRTIO_MODEL_TX, VIRTIO_MODEL_QUEUES };

struct virtio_model_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags, next;
};

struct virtio_model_queue {
	uint16_t size_max; /* set by the test: the device's number of entries; 0: no such queue */
	uint16_t size;     /* number of entries that the driver chose */
	bool enabled;
	uint64_t desc, avail, used; /* bus addresses */
	bool quiet;                 /* the device wants no notifications (2.6.10) */
	uint16_t ahead;             /* with EVENT_IDX: how many entries it leaves out */
	uint16_t seen;              /* available index up to which the device has read */
	uint16_t next;              /* position of the next buffer to take */
	uint16_t done;              /* number of buffers that were really given back */
	uint16_t used_idx;          /* used index as last written */
	bool owned[VIRTIO_MODEL_QUEUE_MAX];
	struct virtio_model_desc
	        kept[VIRTIO_MODEL_QUEUE_MAX];   /* the descriptors when they were offered */
	uint16_t order[VIRTIO_MODEL_QUEUE_MAX]; /* heads by available position */
	uint16_t taken[VIRTIO_MODEL_QUEUE_MAX]; /* buffers taken but not yet given back */
	uint16_t n_taken;
	uint32_t notified;
};

struct virtio_model {
	/* Set by the test between virtio_model_init and virtio_model_plug. */
	enum virtio_model_form form;
	uint64_t features; /* offered; VERSION_1 appears only in the modern interface */
	uint8_t mac[6];
	uint8_t tear_mac[6];   /* replaces mac while the driver reads it … */
	uint32_t tear_after;   /* … after this many bytes; 0: never */
	uint32_t reset_reads;  /* number of status reads until a reset is complete */
	bool refuse_features;  /* FEATURES_OK does not stay set … */
	uint64_t refuse;       /* … or only with one of these features */
	uint32_t notify_mult;  /* notify_off_multiplier */
	uint32_t notify_bytes; /* length of the notification structure */
	bool msix_left_on;     /* as some firmware leaves it */
	bool shuffle;          /* the device uses receive buffers out of order */

	/* What happened; the test reads it. */
	uint32_t interrupts; /* times the line rose */
	uint32_t signals;    /* used buffers for which the driver wanted an interrupt */
	uint32_t resets;
	uint32_t missed; /* frames that found no buffer */

	/* Private to the model. */
	struct pci_model_dev pci;
	uint8_t status, isr, generation, config[12];
	uint32_t reset_left;
	bool legacy_used, modern_used; /* since the reset */
	bool lied;                     /* since the reset: a breach may be the device's own fault */
	uint64_t accepted;             /* features of the driver */
	uint32_t device_select, driver_select;
	uint16_t queue_select;
	uint32_t config_reads;
	uint8_t msix_cap;
	struct virtio_model_queue q[VIRTIO_MODEL_QUEUES];
};

/* Makes *m a correct device of that form, with MAC address 52:54:00:0a:0b:0c, carrier up,
 * queues of 256 entries, and the features that a host usually offers. */
void virtio_model_init(struct virtio_model *m, enum virtio_model_form form);
/* Adds it to the bus as device number `slot`, with addresses of its own. */
void virtio_model_plug(struct virtio_model *m, uint8_t slot);

/* A frame arrives from the wire. False (and counted in missed) when there is no buffer. */
bool virtio_model_deliver(struct virtio_model *m, const void *frame, uint32_t len);
/* A frame arrives from the wire, but the used length is `claim`. False when there is no
 * buffer. */
bool virtio_model_deliver_claim(struct virtio_model *m, const void *frame, uint32_t len,
                                uint32_t claim);
/* What a device says about a packet with offloads (5.1.6). */
struct virtio_model_said {
	uint8_t flags, type;
	uint16_t hdr_len, size, start, offset;
	uint16_t buffers; /* received: the number to write; 0: the right one */
};
/* A packet arrives with this header, in buffers of these sizes; then, and where a size is 0, in
 * full ones. False when there are not enough buffers; then nothing is written. */
bool virtio_model_deliver_said(struct virtio_model *m, const void *frame, uint32_t len,
                               const struct virtio_model_said *said, const uint16_t *sizes,
                               uint32_t n_sizes);
/* virtio_model_take for a packet that may have offloads; its header goes into *said. */
bool virtio_model_take_said(struct virtio_model *m, void *frame, uint32_t size, uint32_t *len,
                            struct virtio_model_said *said);

/* Takes the next frame that the driver sent and copies up to `size` bytes of it. Its length
 * goes into *len. False when there is none. The device keeps the buffer until
 * virtio_model_complete. */
bool virtio_model_take(struct virtio_model *m, void *frame, uint32_t size, uint32_t *len);
/* Gives the n oldest taken buffers back to the driver, or the n newest, newest first. Gives
 * how many. */
uint32_t virtio_model_complete(struct virtio_model *m, uint32_t n, bool newest_first);
/* Gives the number of buffers that were offered and not taken yet. */
uint32_t virtio_model_waiting(struct virtio_model *m, unsigned queue);
/* Sets the carrier state, and raises the configuration interrupt if the driver may see it. */
void virtio_model_link(struct virtio_model *m, bool up);
/* With EVENT_IDX the device wants to be notified when n + 1 more buffers are there. */
void virtio_model_ahead(struct virtio_model *m, unsigned queue, uint16_t n);
/* Sets whether the device wants no notifications (because it polls). */
void virtio_model_quiet(struct virtio_model *m, unsigned queue, bool quiet);
/* True when the interrupt line is asserted. */
bool virtio_model_line(const struct virtio_model *m);

/* Lies: writes this used entry, true or not. */
void virtio_model_used_raw(struct virtio_model *m, unsigned queue, uint32_t id, uint32_t len);
/* Lies: moves the used index by `by` without entries behind it. */
void virtio_model_jump(struct virtio_model *m, unsigned queue, uint16_t by);
/* The device reports that it needs a reset (2.1.2). */
void virtio_model_needs_reset(struct virtio_model *m);

/* Shared by the two files of the model. */
uint32_t virtio_model_header(const struct virtio_model *m); /* bytes */
bool virtio_model_ready(const struct virtio_model *m);      /* DRIVER_OK */
void virtio_model_notify(struct virtio_model *m, uint32_t queue);
void virtio_model_queue_check(struct virtio_model *m, unsigned queue);
void virtio_model_raise(struct virtio_model *m, uint8_t cause);

#endif
