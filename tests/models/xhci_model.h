/* A model of an xHCI host controller with USB devices, for tests of the driver on the host, after
 * the "eXtensible Host Controller Interface for Universal Serial Bus", revision 1.2.
 *
 * The model does what the specification says the controller does, and reports a fault
 * (pci_model_fault) for what it forbids: registers written while the controller is not ready or
 * runs, halves of 64-bit registers left out, PORTSC bits written that clear or start something,
 * contexts and TRBs with wrong fields, commands and doorbells in states that do not allow them,
 * buffers that cross 64 KB or do not belong to the driver.
 *
 * A device is found by its port and route. It answers control requests, gives IN data and takes OUT
 * data that the test set, or fails in the way that the test wants. Data toggles are kept on both
 * sides, so a packet is lost where they differ.
 *
 * Left out on purpose: isochronous endpoints, streams, interrupts (a fault), suspend, debug
 * ports. */
#ifndef TESTS_MODELS_XHCI_MODEL_H
#define TESTS_MODELS_XHCI_MODEL_H

#include "tests/models/usb_fake.h"

enum xhci_model_speed { XHCI_LOW, XHCI_FULL, XHCI_HIGH, XHCI_SUPER };

#define XHCI_MODEL_PORTS 8 /* 1 to 4: USB 2; 5 to 8: SuperSpeed */
#define XHCI_MODEL_SLOTS 32
#define XHCI_MODEL_USB   40

struct xhci_model_usb {
	/* What the test sets. */
	enum xhci_model_speed speed;
	uint8_t port;   /* of the controller */
	uint32_t route; /* 0: at the port itself */
	uint16_t packet0;
	struct xhci_model_usb *tt; /* the hub whose transaction translator is used */
	uint8_t tt_port;
	/* Answers requests and transfers instead of what is below; NULL: none. */
	struct usb_fake_device *fake;
	bool stalls;          /* control requests are refused, IN and OUT as well */
	bool silent;          /* answers nothing: transaction errors */
	bool split_error;     /* errors are those of a split transaction */
	bool babbles;         /* sends more than was asked for */
	bool naks;            /* never ready */
	bool deaf_to_address; /* SET_ADDRESS gets no answer */
	bool refuses_address; /* SET_ADDRESS is stalled */
	uint32_t at_most;     /* bytes of a control answer; 0: all */
	unsigned vanish_in;   /* is gone after so many transactions; 0: never */
	uint8_t in[8192];     /* IN data of `in_dci`, of which in_len are left */
	uint32_t in_len, in_at;
	uint8_t in_dci;
	bool in_more;  /* more follows later: full packets do not end a transfer */
	bool in_ready; /* there is an answer, also one of 0 bytes */

	/* What the test reads. */
	bool there;
	uint8_t address;
	unsigned requests; /* control requests that reached it */
	unsigned lost;     /* packets with a wrong toggle */
	uint8_t setup[8];  /* the last one */
	uint8_t out[8192];
	uint32_t out_len;
	bool toggle[32];
};

struct xhci_model_ep {
	uint8_t state; /* 0 disabled, 1 running, 2 halted, 3 stopped, 4 error */
	uint8_t type;
	uint16_t packet;
	uint8_t burst, interval;
	uint64_t dequeue;
	bool cycle, toggle, armed;
	uint32_t moved; /* bytes of the TD that waits */
};

struct xhci_model_slot {
	uint8_t state; /* 0 disabled, 1 enabled, 2 default, 3 addressed, 4 configured */
	struct xhci_model_usb *usb;
	bool hub, multi_tt;
	uint8_t hub_ports, think;
	struct xhci_model_ep ep[32];
};

struct xhci_model_port {
	uint32_t portsc;
	uint64_t reset_until;
	bool resetting, warm;
	struct xhci_model_usb *usb;
	unsigned resets;
};

struct xhci_model {
	struct pci_model_dev pci;

	/* What the test sets before xhci_model_plug. */
	bool wide;     /* contexts of 64 bytes */
	uint32_t pads; /* scratchpad pages */
	uint32_t page; /* PAGESIZE register: 1 for 4 KB */
	uint32_t slots;
	bool switched;               /* the ports' power is switched */
	bool bios;                   /* the firmware owns it */
	bool bios_keeps;             /* and does not let go */
	bool runs;                   /* the firmware left it running */
	bool chain_long;             /* a chain of extended capabilities that goes on and on */
	bool psi;                    /* the protocols have tables of speeds, with other numbers */
	bool no_ports;               /* a protocol capability that covers no port */
	uint32_t ready_us, reset_us; /* how long it is not ready after a reset, and resets itself */
	bool never_ready, reset_stuck, never_starts, never_halts;

	/* What the test sets between the driver's calls. */
	bool gone;           /* all registers read as ones */
	bool lazy;           /* works only in xhci_model_run */
	bool commands_stuck; /* commands do not complete */
	bool abort_stuck;    /* nor can they be aborted */
	bool late;         /* an aborted command is complete after all, and the ring stops later */
	bool spurious;     /* a short TD has a second event, of its last TRB */
	bool refuses_stop; /* Stop Endpoint fails with a state error though it runs */
	bool slow_state;   /* the endpoint state in memory is not up to date */
	uint8_t code[64];  /* completion code of the next command of this type; 0: the right one */
	uint8_t lie_slot;  /* slot ID of the next Enable Slot's event; 0: the right one */
	uint32_t port_reset_us;
	bool reset_disables; /* a port reset ends with the port disabled */
	bool links_fail;     /* SuperSpeed links come up after a warm reset only */

	/* What the test reads. */
	unsigned resets, stops, n_commands, n_events, warm_resets, extended_reads;
	unsigned commands[64];
	uint8_t last_code;

	/* Private to the model. */
	uint32_t usbcmd, usbsts, config, dnctrl, iman, imod, erstsz, usblegsup, usblegctl;
	uint64_t crcr, dcbaap, erstba, erdp;
	bool crr, half[4];
	uint64_t cmd_at;
	bool cmd_cycle;
	bool aborting, abort_half;
	uint64_t abort_at; /* when the ring stops */
	uint64_t reset_at, ready_at;
	bool resetting;
	uint64_t event_base, event_at;
	uint32_t event_n;
	bool event_cycle;
	struct xhci_model_port port[XHCI_MODEL_PORTS + 1];
	struct xhci_model_slot slot[XHCI_MODEL_SLOTS + 1];
	struct xhci_model_usb *usb[XHCI_MODEL_USB];
	unsigned n_usb;
};

/* Makes *m a controller after power-on: 32 slots, ports 1 to 4 USB 2, 5 to 8 SuperSpeed. */
void xhci_model_init(struct xhci_model *m);

/* Adds it to the PCI bus, at an address above 4 GB. */
void xhci_model_plug(struct xhci_model *m);

/* Plugs a device in: into a port, or (route not 0) into a hub. Fills in packet0 if it is 0. */
void xhci_model_attach(struct xhci_model *m, struct xhci_model_usb *u);
/* Unplugs it. Its transfers fail with transaction errors. */
void xhci_model_detach(struct xhci_model *m, struct xhci_model_usb *u);

/* Gives IN data to an endpoint (bit 7 of `address` set): n bytes, which may be none. */
void xhci_model_give(struct xhci_model *m, struct xhci_model_usb *u, uint8_t address,
                     const void *data, uint32_t n);

/* Works: commands and transfers, as far as they can go. */
void xhci_model_run(struct xhci_model *m);

/* Writes an event as it is, but for its cycle bit. */
void xhci_model_event(struct xhci_model *m, uint64_t ptr, uint32_t status, uint32_t control);

/* Halts with a host system error. */
void xhci_model_hse(struct xhci_model *m);

/* The slot of a device; 0: none. */
unsigned xhci_model_slot_of(const struct xhci_model *m, const struct xhci_model_usb *u);

/* True when the controller can start no DMA and raise no interrupt. */
bool xhci_model_quiet(const struct xhci_model *m);

#endif
