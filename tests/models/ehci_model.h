/* A model of an EHCI host controller with devices and a high-speed hub, written from the
 * "Enhanced Host Controller Interface Specification" 1.0 and the USB 2.0 specification. It keeps
 * copies of queue heads as real controllers do, and reports a fault when the driver does what the
 * specification forbids. Its time is host_now_us; ehci_model_run and busy waits of the driver move
 * it on.
 *
 * Files: ehci_model.c registers and ports, ehci_model_run.c the schedules, ehci_model_usb.c the
 * devices. Left out on purpose: isochronous transfers, suspend, power management. */
#ifndef TESTS_MODELS_EHCI_MODEL_H
#define TESTS_MODELS_EHCI_MODEL_H

#include "tests/models/pci_model.h"

#define EHCI_MODEL_PORTS   4u
#define EHCI_MODEL_DEVICES 16u
#define EHCI_MODEL_SEEN    80u
#define EHCI_MODEL_EECP    0x68u /* offset of the legacy capability */
#define EHCI_MODEL_NEVER   0xffffffffu

/* What a device says to a token. */
enum ehci_says { SAYS_ACK, SAYS_NAK, SAYS_STALL, SAYS_NOTHING, SAYS_DATA };

struct ehci_model_end {
	uint8_t kind; /* as in bmAttributes */
	uint16_t size;
	bool toggle, halted;
	uint8_t data[8192]; /* IN: what will be sent; OUT: what came */
	uint32_t have, at;
	bool ready; /* IN: a packet of `have` bytes may go, also one of none */
};

struct ehci_model_device {
	bool there;
	uint8_t speed; /* enum usb_speed */
	uint8_t address;
	struct ehci_model_device *hub; /* NULL: a root port */
	uint8_t port;                  /* of the hub or of the controller, from 1 */
	bool enabled;                  /* port of a hub: reset and enabled */
	uint8_t n_ports;               /* of a hub */
	uint16_t change[8];            /* of a hub's ports, from 1 */
	bool power[8];
	bool multi_tt;
	struct ehci_model_end in[16], out[16]; /* endpoint 0: the sizes are those of in[0] */
	uint8_t setup[8];
	uint8_t new_address; /* after the status stage */
	uint8_t device_text[18], config_text[128];
	uint16_t config_len;
	uint8_t configured;
	unsigned tokens; /* that reached it */
	/* Faults. */
	bool silent;         /* answers nothing */
	bool nak;            /* NAKs all but SETUP */
	bool stall;          /* STALLs all but SETUP */
	uint16_t babble;     /* IN: that many bytes too many */
	unsigned errors;     /* so many tokens get no answer */
	uint32_t vanish_in;  /* unplugged at this token */
	uint8_t refuse;      /* this request is refused; 0: none */
	unsigned split_late; /* complete-splits that get NYET */
	unsigned cleared;    /* of a hub: CLEAR_TT_BUFFER requests */
	uint16_t cleared_value[8], cleared_index[8];
};

/* The buffer of a transaction translator for one control or bulk transfer, and for one interrupt
 * transfer (USB 2.0 11.14). */
struct ehci_model_tt {
	bool busy;
	struct ehci_model_device *device;
	uint8_t number; /* endpoint; bit 7: IN */
	uint8_t kind;
	enum ehci_says says;
	uint8_t data[1024];
	uint32_t len;
	bool toggle;
	unsigned late; /* complete-splits that get NYET yet */
};

/* A copy that the controller keeps of a queue head. */
struct ehci_model_seen {
	uint32_t at; /* 0: none */
	uint32_t word[17];
	uint32_t qtd, qtd_token; /* the descriptor in the overlay, as it was loaded */
	bool periodic;
	bool reached;            /* in this pass */
	bool late;               /* kept for one more answer of the doorbell */
	uint32_t frame;          /* when it was last reached */
	struct ehci_model_tt tt; /* of a split interrupt transfer */
};

struct ehci_model_port {
	uint32_t sc;
	struct ehci_model_device *device;
	uint64_t reset_us; /* when the signal began */
	uint64_t end_us;   /* when it ends; 0: not before software says so */
	bool companion;    /* the device is seen by a companion */
	unsigned resets;
};

struct ehci_model {
	struct pci_model_dev pci;
	uint32_t params, more; /* HCSPARAMS, HCCPARAMS */
	uint8_t caplength;
	uint32_t cmd, sts, frindex, segment, periodic, async, config;
	bool stop_wanted;
	uint64_t stop_us, start_us, reset_us, follow_us[2], doorbell_us;
	uint64_t time_us; /* up to here the model has run */
	struct ehci_model_port port[EHCI_MODEL_PORTS];
	struct ehci_model_device device[EHCI_MODEL_DEVICES];
	struct ehci_model_tt tt[8]; /* for control and bulk transfers, by port of the hub */
	struct ehci_model_seen seen[EHCI_MODEL_SEEN];
	/* What happened. */
	unsigned doorbells, resets, transactions;
	bool was_running;
	/* Faults to inject, and other behaviour. */
	uint32_t bios_us;  /* the firmware gives the semaphore up after this time */
	uint64_t asked_us; /* when it was asked */
	bool no_halt, no_start, no_reset_end, no_port_end, no_follow, gone;
	uint32_t lag_us;  /* how late a schedule follows its switch */
	bool iaa_lost;    /* IAAD clears, IAA does not come */
	bool iaa_stuck;   /* IAAD stays */
	bool late_write;  /* a busy queue is kept until the second answer */
	unsigned miss;    /* complete-splits of interrupt transfers that are missed */
	uint64_t gone_in; /* reads until it is gone; 0: stays */
};

/* Adds a controller to the PCI bus with `ports` ports and `companions` companion controllers. */
void ehci_model_init(struct ehci_model *m, uint8_t slot, unsigned ports, unsigned companions);

/* Lets time pass. */
void ehci_model_run(struct ehci_model *m, uint32_t us);

/* Makes device `i`: with descriptors, endpoint 0 and no others. */
struct ehci_model_device *ehci_model_device(struct ehci_model *m, unsigned i, uint8_t speed);

/* Adds an endpoint to the device and to its only interface. */
struct ehci_model_end *ehci_model_end(struct ehci_model_device *d, uint8_t address, uint8_t kind,
                                      uint16_t size, uint8_t interval);

/* Makes a device a hub with n ports. */
void ehci_model_hub(struct ehci_model_device *d, uint8_t n, bool multi_tt);

/* Plugs a device in, at a port of the controller (hub NULL) or of a hub, or out. */
void ehci_model_plug(struct ehci_model *m, struct ehci_model_device *d,
                     struct ehci_model_device *hub, uint8_t port);
void ehci_model_unplug(struct ehci_model *m, struct ehci_model_device *d);

/* Has n bytes sent at the next IN. */
void ehci_model_send(struct ehci_model_end *end, const void *data, uint32_t n);

/* True when the controller reads and writes no memory. */
bool ehci_model_quiet(const struct ehci_model *m);

/* --- between the files of the model ------------------------------------------------------ */

/* One token to a device. `data` is sent or filled in; *len is its length, *toggle its toggle. */
enum ehci_says ehci_model_token(struct ehci_model *m, struct ehci_model_device *d, unsigned pid,
                                unsigned number, uint8_t *data, uint32_t *len, bool *toggle);
/* Finds the device with an address that is reached at this speed; `hub`, `port`: through this
 * transaction translator. */
struct ehci_model_device *ehci_model_find(struct ehci_model *m, unsigned address, unsigned speed,
                                          unsigned hub, unsigned port);
/* Runs one micro-frame. */
void ehci_model_frame(struct ehci_model *m);
/* The doorbell was answered, or the schedule stopped: checks and drops the copies. */
void ehci_model_drop(struct ehci_model *m, bool periodic, bool all);
/* Unplugs what is behind a root port or hub. */
void ehci_model_port_event(struct ehci_model *m, unsigned port);

#endif
