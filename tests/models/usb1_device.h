/* A model of a USB 1.1 device, as a host controller's model sees it: it answers one transaction
 * at a time. USB 1.1 specification, chapters 8 and 9.
 *
 * The model loses no packet, so a data toggle that does not match is a fault of the driver
 * (pci_model_fault), as are packets larger than the endpoint's and transactions that break a
 * control transfer.
 *
 * Requests: SET_ADDRESS, SET_CONFIGURATION, CLEAR_FEATURE(ENDPOINT_HALT), GET_DESCRIPTOR (gives
 * `descriptor`); 0xc0/1: IN, gives wValue bytes of a pattern; 0x40/2: OUT, kept in out[0]. Every
 * other request is refused with STALL. */
#ifndef TESTS_MODELS_USB1_DEVICE_H
#define TESTS_MODELS_USB1_DEVICE_H

#include "kernel/lib/bytes.h"

enum usb1_pid { USB1_OUT = 0xe1, USB1_IN = 0x69, USB1_SETUP = 0x2d };
enum usb1_answer { USB1_ACK, USB1_NAK, USB1_STALL, USB1_SILENCE, USB1_BABBLE };

#define USB1_ENDPOINTS 4
#define USB1_BYTES     8192

struct usb1_device {
	/* What the test sets. */
	bool low;                        /* low speed */
	uint32_t packet[USB1_ENDPOINTS]; /* largest packet of each endpoint */
	uint8_t descriptor[18];
	bool silent;           /* answers nothing */
	uint32_t silent_after; /* answers nothing after so many transactions; 0: never */
	uint32_t naks;         /* NAKs before each answer */
	uint8_t nak;           /* bits 1 << endpoint: always NAK */
	uint8_t babble;        /* bits 1 << endpoint: too much data */
	uint8_t stall;         /* bits 1 << endpoint: halted */
	uint8_t in[USB1_ENDPOINTS][USB1_BYTES]; /* data for IN transactions */
	uint32_t in_len[USB1_ENDPOINTS];
	bool in_end[USB1_ENDPOINTS];     /* one packet without data behind them */
	uint32_t in_cut[USB1_ENDPOINTS]; /* a packet ends behind so many bytes; 0: none does */

	/* What the test reads. */
	uint8_t address;
	uint8_t configuration;
	bool reset; /* was reset since it was plugged in */
	uint32_t transactions;
	uint32_t out_len[USB1_ENDPOINTS];
	uint8_t out[USB1_ENDPOINTS][USB1_BYTES];

	/* Private. */
	uint32_t in_at[USB1_ENDPOINTS], nak_left[USB1_ENDPOINTS];
	bool toggle_in[USB1_ENDPOINTS], toggle_out[USB1_ENDPOINTS];
	uint8_t setup[8];
	uint8_t stage; /* 0: none, 1: data, 2: status */
	bool refuse;
};

/* Makes a device with packets of 8 bytes (endpoint 0) and 64 or, at low speed, 8 bytes. */
void usb1_device_init(struct usb1_device *d, bool low);

/* The reset signal of the port ended. */
void usb1_device_reset(struct usb1_device *d);

/* Carries out one transaction. OUT and SETUP: `bytes` has *len bytes. IN: gives *len bytes, at
 * most `room`, in `bytes`. `toggle` is that of the host; for IN what it expects. */
enum usb1_answer usb1_device_do(struct usb1_device *d, enum usb1_pid pid, uint8_t endpoint,
                                bool toggle, uint8_t *bytes, uint32_t *len, uint32_t room);

/* Byte i of the pattern that request 1 gives. */
uint8_t usb1_device_pattern(uint32_t i);

#endif
