/* The device of usb1_device.h. Section numbers: USB 1.1 specification. */
#include "tests/models/usb1_device.h"

#include "tests/models/pci_model.h"

enum { NO_STAGE, DATA_STAGE, STATUS_STAGE };

void usb1_device_init(struct usb1_device *d, bool low)
{
	memset(d, 0, sizeof *d);
	d->low = low;
	d->packet[0] = 8;
	for (unsigned i = 1; i < USB1_ENDPOINTS; i++)
		d->packet[i] = low ? 8 : 64;
	static const uint8_t text[18] = {18,   1, 0x10, 1, 0, 0, 0, 8, 0x34,
	                                 0x12, 1, 0,    0, 1, 0, 0, 0, 1};
	memcpy(d->descriptor, text, sizeof text);
}

void usb1_device_reset(struct usb1_device *d)
{
	d->reset = true;
	d->address = d->configuration = 0;
	d->stage = NO_STAGE;
	memset(d->toggle_in, 0, sizeof d->toggle_in);
	memset(d->toggle_out, 0, sizeof d->toggle_out);
}

uint8_t usb1_device_pattern(uint32_t i)
{
	return (uint8_t)(i * 7 + (i >> 8) * 13 + 1);
}

static uint32_t setup_length(const struct usb1_device *d)
{
	return load16(d->setup + 6);
}

/* A SETUP packet was taken (8.5.2): prepares the data of the answer. */
static void setup(struct usb1_device *d)
{
	uint32_t type = d->setup[0], request = d->setup[1], value = load16(d->setup + 2);
	d->toggle_in[0] = d->toggle_out[0] = true;
	d->in_at[0] = d->in_len[0] = d->out_len[0] = 0;
	d->in_end[0] = false;
	d->refuse = false;
	d->stage = setup_length(d) ? DATA_STAGE : STATUS_STAGE;
	d->stall &= (uint8_t)~1u;
	if (type == 0x80 && request == 6) {
		memcpy(d->in[0], d->descriptor, sizeof d->descriptor);
		d->in_len[0] = min_u32(sizeof d->descriptor, setup_length(d));
	} else if (type == 0xc0 && request == 1) {
		d->in_len[0] = min_u32(value, setup_length(d));
		for (uint32_t i = 0; i < d->in_len[0]; i++)
			d->in[0][i] = usb1_device_pattern(i);
	} else if (!(type == 0 && (request == 5 || request == 9)) && !(type == 2 && request == 1) &&
	           !(type == 0x40 && request == 2)) {
		d->refuse = true;
	}
	/* A data stage that ends with a full packet, but is shorter than asked (5.5.3). */
	d->in_end[0] = d->in_len[0] < setup_length(d) && d->in_len[0] % d->packet[0] == 0;
}

/* The status stage is complete: the request takes effect (9.4). */
static void finish(struct usb1_device *d)
{
	uint32_t type = d->setup[0], request = d->setup[1];
	d->stage = NO_STAGE;
	if (type == 0 && request == 5)
		d->address = d->setup[2];
	if (type == 0 && request == 9)
		d->configuration = d->setup[2];
	if (type == 2 && request == 1) {
		uint32_t e = d->setup[4] & 15;
		if (e >= USB1_ENDPOINTS)
			return;
		d->stall &= (uint8_t) ~(1u << e);
		if (d->setup[4] & 0x80)
			d->toggle_in[e] = false;
		else
			d->toggle_out[e] = false;
	}
}

static enum usb1_answer do_in(struct usb1_device *d, uint8_t e, bool toggle, uint8_t *bytes,
                              uint32_t *len, uint32_t room)
{
	uint32_t left = d->in_len[e] - d->in_at[e], n = min_u32(left, d->packet[e]);
	if (e == 0 && !(d->setup[0] & 0x80 && setup_length(d)) && d->stage == STATUS_STAGE) {
		*len = 0;
		if (!toggle)
			pci_model_fault("status stage with DATA0");
		finish(d);
		return USB1_ACK;
	}
	if (e == 0 && (d->stage != DATA_STAGE || !(d->setup[0] & 0x80))) {
		pci_model_fault("IN at endpoint 0 outside a data stage");
		return USB1_STALL;
	}
	if (d->in_at[e] < d->in_cut[e])
		n = min_u32(n, d->in_cut[e] - d->in_at[e]);
	if (n == 0 && !d->in_end[e])
		return USB1_NAK;
	if (d->toggle_in[e] != toggle) {
		pci_model_fault("IN at endpoint %u expects DATA%u", e, toggle);
		return USB1_SILENCE;
	}
	if (n > room)
		return USB1_BABBLE;
	memcpy(bytes, d->in[e] + d->in_at[e], n);
	*len = n;
	d->in_at[e] += n;
	if (n < d->packet[e])
		d->in_end[e] = false;
	d->toggle_in[e] = !toggle;
	return USB1_ACK;
}

static enum usb1_answer do_out(struct usb1_device *d, uint8_t e, bool toggle, const uint8_t *bytes,
                               uint32_t len)
{
	bool reads = d->setup[0] & 0x80 && setup_length(d);
	if (e == 0 && reads && d->stage != NO_STAGE) { /* may come early (8.5.2.1) */
		if (len || !toggle)
			pci_model_fault("status stage with %u bytes, DATA%u", len, toggle);
		finish(d);
		return USB1_ACK;
	}
	if (e == 0 && d->stage != DATA_STAGE) {
		pci_model_fault("OUT at endpoint 0 outside a data stage");
		return USB1_STALL;
	}
	if (d->toggle_out[e] != toggle)
		pci_model_fault("OUT at endpoint %u has DATA%u", e, toggle);
	if (len > d->packet[e] || d->out_len[e] + len > USB1_BYTES) {
		pci_model_fault("OUT at endpoint %u with %u bytes", e, len);
		return USB1_SILENCE;
	}
	memcpy(d->out[e] + d->out_len[e], bytes, len);
	d->out_len[e] += len;
	d->toggle_out[e] = !toggle;
	if (e == 0 && d->out_len[0] >= setup_length(d))
		d->stage = STATUS_STAGE;
	return USB1_ACK;
}

enum usb1_answer usb1_device_do(struct usb1_device *d, enum usb1_pid pid, uint8_t e, bool toggle,
                                uint8_t *bytes, uint32_t *len, uint32_t room)
{
	uint32_t out = *len;
	if (pid == USB1_IN)
		*len = 0;
	d->transactions++;
	if (d->silent || (d->silent_after && d->transactions > d->silent_after))
		return USB1_SILENCE;
	if (e >= USB1_ENDPOINTS) {
		pci_model_fault("endpoint %u does not exist", e);
		return USB1_SILENCE;
	}
	if (pid == USB1_SETUP) { /* never refused (8.4.5.4) */
		if (e != 0 || toggle || out != 8) {
			pci_model_fault("SETUP at endpoint %u, DATA%u, %u bytes", e, toggle, out);
			return USB1_SILENCE;
		}
		memcpy(d->setup, bytes, 8);
		setup(d);
		d->nak_left[e] = d->naks;
		return USB1_ACK;
	}
	if (d->nak & 1u << e || d->nak_left[e]) {
		d->nak_left[e] -= d->nak_left[e] != 0;
		return USB1_NAK;
	}
	d->nak_left[e] = d->naks;
	if (d->stall & 1u << e || (e == 0 && d->refuse))
		return USB1_STALL;
	if (d->babble & 1u << e && pid == USB1_IN)
		return USB1_BABBLE;
	return pid == USB1_IN ? do_in(d, e, toggle, bytes, len, room)
	                      : do_out(d, e, toggle, bytes, out);
}
