/* The devices of ehci_model.h. Numbers in brackets are sections of the USB 2.0 specification. */
#include "tests/models/ehci_model.h"

#include "drivers/usb/usb.h"
#include "kernel/seam/io.h"

enum { OUT, IN, SETUP };
enum { CONNECTION = 1, ENABLE = 2, RESET = 0x10, POWER = 0x100, LOW = 0x200, HIGH = 0x400 };

/* --- the tree ------------------------------------------------------------------------------- */

static bool reachable(const struct ehci_model *m, const struct ehci_model_device *d)
{
	for (unsigned i = 0; i < 8 && d->there; i++) {
		if (!d->hub) {
			const struct ehci_model_port *p = &m->port[d->port - 1];
			return p->device == d && p->sc & 4;
		}
		if (!d->enabled)
			return false;
		d = d->hub;
	}
	return false;
}

struct ehci_model_device *ehci_model_find(struct ehci_model *m, unsigned address, unsigned speed,
                                          unsigned hub, unsigned port)
{
	struct ehci_model_device *found = NULL;
	for (unsigned i = 0; i < EHCI_MODEL_DEVICES; i++) {
		struct ehci_model_device *d = &m->device[i];
		if (!d->there || d->address != address || d->speed != speed || !reachable(m, d))
			continue;
		/* The nearest high-speed hub, and its port on the way (11.14). */
		const struct ehci_model_device *at = d;
		while (speed != USB_HIGH && at->hub && at->hub->speed != USB_HIGH)
			at = at->hub;
		if (speed != USB_HIGH && (!at->hub || at->hub->address != hub || at->port != port))
			continue;
		if (found)
			pci_model_fault("two devices at address %u", address);
		found = d;
	}
	return found;
}

void ehci_model_plug(struct ehci_model *m, struct ehci_model_device *d,
                     struct ehci_model_device *hub, uint8_t port)
{
	d->there = true;
	d->hub = hub;
	d->port = port;
	d->enabled = false;
	d->address = d->new_address = d->configured = 0;
	if (hub) {
		hub->change[port] |= CONNECTION;
		return;
	}
	m->port[port - 1].device = d;
	ehci_model_port_event(m, port);
}

void ehci_model_unplug(struct ehci_model *m, struct ehci_model_device *d)
{
	d->there = d->enabled = false;
	d->address = 0;
	if (d->hub)
		d->hub->change[d->port] |= CONNECTION;
	else
		ehci_model_port_event(m, d->port);
	for (unsigned i = 0; i < EHCI_MODEL_DEVICES; i++)
		if (m->device[i].hub == d && m->device[i].there)
			ehci_model_unplug(m, &m->device[i]);
}

/* --- descriptors (9.6) ------------------------------------------------------------------------ */

struct ehci_model_device *ehci_model_device(struct ehci_model *m, unsigned i, uint8_t speed)
{
	struct ehci_model_device *d = &m->device[i];
	memset(d, 0, sizeof *d);
	d->speed = speed;
	uint8_t size = speed == USB_LOW ? 8 : 64;
	d->in[0].size = d->out[0].size = size;
	uint8_t text[18] = {18, 1, 0, 2, 0, 0, 0, size, 0x34, 0x12, (uint8_t)i, 0, 0, 1};
	text[17] = 1;
	memcpy(d->device_text, text, 18);
	static const uint8_t config[18] = {9, 2, 18, 0, 1, 1, 0, 0xa0, 50, 9, 4, 0, 0, 0, 0xff};
	memcpy(d->config_text, config, 18);
	d->config_len = 18;
	return d;
}

struct ehci_model_end *ehci_model_end(struct ehci_model_device *d, uint8_t address, uint8_t kind,
                                      uint16_t size, uint8_t interval)
{
	struct ehci_model_end *end = address & 0x80 ? &d->in[address & 15] : &d->out[address];
	uint8_t text[7] = {7, 5, address, kind, (uint8_t)size, (uint8_t)(size >> 8), interval};
	memcpy(d->config_text + d->config_len, text, 7);
	d->config_len = (uint16_t)(d->config_len + 7);
	d->config_text[2] = (uint8_t)d->config_len;
	d->config_text[13]++;
	end->kind = kind;
	end->size = size;
	return end;
}

void ehci_model_hub(struct ehci_model_device *d, uint8_t n, bool multi_tt)
{
	d->n_ports = n;
	d->multi_tt = multi_tt;
	d->device_text[4] = 9;
	d->device_text[6] = d->speed == USB_HIGH ? 1 : 0;
	d->config_text[14] = 9;
	d->config_text[16] = multi_tt ? 2 : d->speed == USB_HIGH ? 1 : 0;
	ehci_model_end(d, 0x81, USB_INTERRUPT, 1, 12);
}

void ehci_model_send(struct ehci_model_end *end, const void *data, uint32_t n)
{
	if (n)
		memcpy(end->data, data, n);
	end->have = n;
	end->at = 0;
	end->ready = true;
}

/* --- requests ----------------------------------------------------------------------------------
 */

static void answer(struct ehci_model_device *d, const void *data, uint32_t n)
{
	uint32_t want = load16(d->setup + 6);
	ehci_model_send(&d->in[0], data, n < want ? n : want);
}

static struct ehci_model_device *at_port(struct ehci_model *m, struct ehci_model_device *hub,
                                         unsigned port)
{
	for (unsigned i = 0; i < EHCI_MODEL_DEVICES; i++)
		if (m->device[i].there && m->device[i].hub == hub && m->device[i].port == port)
			return &m->device[i];
	return NULL;
}

static void port_status(struct ehci_model *m, struct ehci_model_device *d, unsigned port)
{
	const struct ehci_model_device *at = at_port(m, d, port);
	uint8_t text[4] = {0};
	uint16_t v = d->power[port] ? POWER : 0;
	if (at && d->power[port])
		v |= (uint16_t)(CONNECTION | (at->enabled ? ENABLE : 0) |
		                (at->speed == USB_LOW    ? LOW
		                 : at->speed == USB_HIGH ? HIGH
		                                         : 0));
	store16(text, v);
	store16(text + 2, d->change[port]);
	answer(d, text, 4);
}

static void port_feature(struct ehci_model *m, struct ehci_model_device *d, bool set,
                         unsigned feature, unsigned port)
{
	struct ehci_model_device *at = at_port(m, d, port);
	if (feature == 8)
		d->power[port] = set;
	if (feature >= 16)
		d->change[port] &= (uint16_t) ~(1u << (feature - 16));
	if (feature == 1 && at)
		at->enabled = false;
	if (feature == 4 && at) {
		at->enabled = true;
		at->address = at->new_address = at->configured = 0;
		d->change[port] |= RESET;
	}
}

/* 11.24.2.3: the buffer that holds this transfer is free again. */
static void clear_tt(struct ehci_model *m, struct ehci_model_device *d)
{
	unsigned value = load16(d->setup + 2), port = load16(d->setup + 4);
	struct ehci_model_tt *tt = &m->tt[d->multi_tt ? port & 7 : 0];
	if (d->cleared < 8) {
		d->cleared_value[d->cleared] = (uint16_t)value;
		d->cleared_index[d->cleared] = (uint16_t)port;
	}
	d->cleared++;
	if (!d->multi_tt && port != 1)
		pci_model_fault("CLEAR_TT_BUFFER for port %u of a single translator", port);
	if (tt->busy && tt->device && (tt->number & 15) == (value & 15) &&
	    (value >> 4 & 127) == tt->device->address && (value >> 11 & 3) == tt->kind &&
	    value >> 15 == tt->number >> 7)
		tt->busy = false;
}

static void hub_request(struct ehci_model *m, struct ehci_model_device *d)
{
	unsigned value = load16(d->setup + 2), port = load16(d->setup + 4) & 7;
	uint8_t text[9] = {9, 0x29, d->n_ports, 0, 0, 50, 0, 0, 0xff};
	switch (d->setup[0] << 8 | d->setup[1]) {
	case 0xa006:
		answer(d, text, 9);
		break;
	case 0xa300:
		port_status(m, d, port);
		break;
	case 0x2301:
	case 0x2303:
		port_feature(m, d, d->setup[1] == 3, value, port);
		break;
	case 0x2308:
		clear_tt(m, d);
		break;
	default:
		break;
	}
}

static void standard_request(struct ehci_model_device *d)
{
	unsigned value = load16(d->setup + 2), index = load16(d->setup + 4) & 0x8f;
	struct ehci_model_end *end = index & 0x80 ? &d->in[index & 15] : &d->out[index & 15];
	switch (d->setup[1]) {
	case 1:
		if (d->setup[0] == 2)
			end->halted = end->toggle = false;
		break;
	case 5:
		d->new_address = (uint8_t)value;
		break;
	case 6:
		if (value >> 8 == 1)
			answer(d, d->device_text, 18);
		else
			answer(d, d->config_text, d->config_len);
		break;
	case 9:
		d->configured = (uint8_t)value;
		break;
	default:
		break;
	}
}

static void setup(struct ehci_model *m, struct ehci_model_device *d, const uint8_t *data)
{
	memcpy(d->setup, data, 8);
	d->in[0].toggle = d->out[0].toggle = true;
	d->in[0].have = d->in[0].at = d->out[0].have = 0;
	d->in[0].ready = false;
	if ((d->setup[0] & 0x60) == 0)
		standard_request(d);
	else if (d->n_ports)
		hub_request(m, d);
}

/* --- tokens ------------------------------------------------------------------------------------
 */

static bool reads(const struct ehci_model_device *d)
{
	return d->setup[0] & 0x80 && load16(d->setup + 6);
}

static enum ehci_says token_in(struct ehci_model_device *d, unsigned number, uint8_t *data,
                               uint32_t *len, bool *toggle)
{
	struct ehci_model_end *end = &d->in[number];
	*toggle = end->toggle;
	*len = 0;
	if (number == 0 && !reads(d)) { /* status stage */
		*toggle = true;
		if (d->new_address) {
			d->address = d->new_address;
			d->new_address = 0;
		}
		return SAYS_DATA;
	}
	if (number && !end->ready)
		return SAYS_NAK;
	uint32_t n = min_u32(end->have - end->at, end->size);
	memcpy(data, end->data + end->at, n);
	*len = n + d->babble;
	end->at += n;
	end->toggle = !end->toggle;
	if (number && (n < end->size || end->at == end->have))
		end->ready = false;
	return SAYS_DATA;
}

static enum ehci_says token_out(struct ehci_model_device *d, unsigned number, const uint8_t *data,
                                uint32_t len, bool toggle)
{
	struct ehci_model_end *end = &d->out[number];
	if (number == 0 && reads(d))
		return SAYS_ACK; /* status stage */
	if (toggle != end->toggle)
		return SAYS_ACK; /* 8.6.4: seen before */
	end->toggle = !end->toggle;
	if (end->have + len <= sizeof end->data) {
		memcpy(end->data + end->have, data, len);
		end->have += len;
	}
	return SAYS_ACK;
}

enum ehci_says ehci_model_token(struct ehci_model *m, struct ehci_model_device *d, unsigned pid,
                                unsigned number, uint8_t *data, uint32_t *len, bool *toggle)
{
	d->tokens++;
	if (d->vanish_in && --d->vanish_in == 0)
		ehci_model_unplug(m, d);
	if (!d->there || d->silent)
		return SAYS_NOTHING;
	if (d->errors) {
		d->errors--;
		return SAYS_NOTHING;
	}
	if (pid == SETUP) {
		if (*len != 8 || number || *toggle)
			pci_model_fault("a SETUP of %u bytes", *len);
		setup(m, d, data);
		return SAYS_ACK;
	}
	if (d->nak)
		return SAYS_NAK;
	const struct ehci_model_end *end = pid == IN ? &d->in[number] : &d->out[number];
	if (d->stall || end->halted || (number && !end->size) ||
	    (number == 0 && d->refuse && d->refuse == d->setup[1]))
		return SAYS_STALL;
	if (pid == IN)
		return token_in(d, number, data, len, toggle);
	return token_out(d, number, data, *len, *toggle);
}
