/* Hubs (chapter 11; USB 3.0, chapter 10). One request after the other: descriptor, power of the
 * ports, and then the state of each port every 250 ms, of those in motion every 20 ms. The hub's
 * interrupt endpoint, which says no more than that something changed, is not used. */
#include "drivers/usb/usb_core.h"
#include "drivers/usb/usb_list.h"

#include "kernel/lib/alloc.h"

#define HUBS      16u
#define PORTS     15u /* what a route has room for (USB 3.0, 8.9); further ones are not used */
#define BYTES     16u /* of a descriptor; the rest says nothing that is used */
#define BUFFER    64u
#define STATUS_US (250 * 1000u)
#define MOTION_US (20 * 1000u)
#define POWER_MS  100u            /* at least, until power is good */
#define AGAIN_US  (10 * 1000000u) /* until a port that lost its power gets it again */
#define ERRORS    3u              /* in a row: the hub is reset */

enum { CLASS_HUB = 9, PROTOCOL_MULTI_TT = 2 };
enum { TO_HUB = 0x20, TO_PORT = 0x23, FROM_HUB = 0xa0, FROM_PORT = 0xa3 };
enum { GET_STATUS = 0, CLEAR_FEATURE = 1, SET_FEATURE = 3, GET_DESCRIPTOR = 6, SET_HUB_DEPTH = 12 };
enum { DESCRIPTOR = 0x29, DESCRIPTOR_SUPER = 0x2a };
enum { PORT_ENABLE = 1, PORT_RESET = 4, PORT_POWER = 8 }; /* features (11.24.2) */
/* Bits of wPortStatus (11.24.2.7.1; USB 3.0, 10.14.2.6.1). */
enum { IS_CONNECTED = 1, IS_ENABLED = 2, IS_RESETTING = 16, HAS_POWER = 0x100 };
enum { IS_LOW = 0x200, IS_HIGH = 0x400, HAS_POWER_SUPER = 0x200 };
/* Bits of wPortChange; feature 16 + n clears bit n, of a SuperSpeed hub 25 and more from bit 5 on.
 */
enum { C_CONNECTION = 1, C_OVER_CURRENT = 8, C_RESET = 16 };

struct hub_port {
	struct usb_port port; /* the first member: usb_port.c knows this alone */
	struct usb_port_state state;
	bool reset, disable, power; /* wanted */
	uint16_t changes;           /* to be cleared */
	uint64_t asked_us;          /* when its status was asked for */
	uint64_t power_us;          /* not before */
	uint64_t good_us;           /* its power is not good before */
};

enum action { NOTHING, DEPTH, DESCRIBE, POWER, CLEAR, RESET, DISABLE, STATUS };

struct hub {
	struct usb_device *device; /* NULL: unused */
	struct usb_transfer t;
	uint8_t *buffer;
	uint8_t action; /* enum action: what the transfer is for */
	uint8_t at;     /* its port, an index */
	uint8_t errors; /* in a row */
	uint8_t turn;   /* the port to begin with */
	uint32_t n_ports;
	uint32_t powered; /* ports that have got their power at the start */
	uint16_t good_ms;
	uint64_t until_us; /* nothing happens before */
	struct hub_port port[PORTS];
};

static struct hub *hubs;

static bool init(void)
{
	hubs = alloc(HUBS * sizeof *hubs, 64);
	uint8_t *buffer = alloc(HUBS * BUFFER, BUFFER);
	for (uint32_t i = 0; hubs && buffer && i < HUBS; i++)
		hubs[i].buffer = buffer + i * BUFFER;
	return hubs && buffer;
}

static bool wants(const struct usb_interface *i)
{
	return i->class_code == CLASS_HUB;
}

static bool is_super(const struct hub *h)
{
	return h->device->speed == USB_SUPER;
}

/* Disabling ports of this virtual hub of server boards makes the board's keyboard vanish. */
static bool never_disable(const struct usb_device *d)
{
	return d->vendor == 0x046b && d->product == 0xff01;
}

/* --- what usb_port.c calls -------------------------------------------------------------- */

struct usb_port_state usb_hub_port(struct usb_port *p)
{
	struct hub_port *hp = (struct hub_port *)p;
	struct usb_port_state s = hp->state;
	hp->state.bits &= (uint8_t)~USB_PORT_CHANGED;
	if (hp->reset)
		s.bits |= USB_PORT_RESETTING;
	return s;
}

void usb_hub_port_reset(struct usb_port *p)
{
	struct hub_port *hp = (struct hub_port *)p;
	hp->reset = true;
	hp->disable = false;
	hp->state.bits &= (uint8_t)~USB_PORT_ENABLED;
}

void usb_hub_port_disable(struct usb_port *p)
{
	struct hub_port *hp = (struct hub_port *)p;
	hp->disable = p->hub->speed != USB_SUPER && !never_disable(p->hub);
	hp->reset = false;
}

/* --- requests --------------------------------------------------------------------------- */

static void done(struct usb_transfer *t)
{
	(void)t;
}

/* True when something at a port is being brought into use: then answers are wanted soon. */
static bool in_motion(const struct hub *h)
{
	for (uint32_t i = 0; i < h->n_ports; i++) {
		uint8_t phase = h->port[i].port.phase;
		if (phase == USB_PORT_SETTLING || phase == USB_PORT_QUEUED ||
		    phase == USB_PORT_BUSY)
			return true;
	}
	return false;
}

static void request(struct hub *h, enum action action, uint8_t type, uint8_t number, uint16_t value,
                    uint16_t index, uint16_t len)
{
	usb_control(&h->t, h->device, type, number, value, index, len ? h->buffer : NULL, len);
	memset(h->buffer, 0, len);
	h->t.timeout_ms = 1000;
	h->t.done = done;
	h->t.lazy = action == STATUS && !in_motion(h);
	h->action = (uint8_t)action;
	if (!usb_submit(&h->t))
		h->t.status = USB_FAILED;
}

/* A request to port `i` (an index) that carries no data. */
static void tell_port(struct hub *h, enum action action, uint32_t i, bool set, uint16_t feature)
{
	h->at = (uint8_t)i;
	request(h, action, TO_PORT, set ? SET_FEATURE : CLEAR_FEATURE, feature, (uint16_t)(i + 1),
	        0);
}

/* --- answers ---------------------------------------------------------------------------- */

static void described(struct hub *h)
{
	struct usb_device *d = h->device;
	const uint8_t *b = h->buffer;
	uint8_t type = is_super(h) ? DESCRIPTOR_SUPER : DESCRIPTOR;
	if (h->t.actual < 7 || b[1] != type || b[2] == 0) {
		usb_log(d->at, "a hub without ports");
		h->until_us = UINT64_MAX;
		return;
	}
	h->n_ports = min_u32(b[2], PORTS);
	if (b[2] > PORTS)
		usb_log(d->at, "a hub of %u ports; the first %u are used", b[2], PORTS);
	for (uint32_t i = 0; i < h->n_ports; i++) {
		struct usb_port *p = &h->port[i].port;
		p->bus = d->at->bus;
		p->hub = d;
		p->number = (uint8_t)(i + 1);
	}
	h->good_ms = (uint16_t)max_u32(b[5] * 2u, POWER_MS);
	d->is_hub = true;
	d->n_ports = (uint8_t)h->n_ports;
	d->tt_think = b[3] & 0x60;
	d->controller->ops->device_changed(d->controller, d);
}

static uint8_t speed_of(const struct hub *h, uint16_t status)
{
	if (is_super(h))
		return USB_SUPER;
	return status & IS_LOW ? USB_LOW : status & IS_HIGH ? USB_HIGH : USB_FULL;
}

/* Takes over the status of a port. */
static void seen(struct hub *h, struct hub_port *hp)
{
	if (h->t.actual < 4)
		return;
	uint16_t status = load16(h->buffer), change = load16(h->buffer + 2);
	uint8_t bits = hp->state.bits & USB_PORT_CHANGED;
	if (change & C_CONNECTION)
		bits |= USB_PORT_CHANGED;
	if (status & IS_CONNECTED)
		bits |= USB_PORT_CONNECTED;
	if (status & IS_ENABLED)
		bits |= USB_PORT_ENABLED;
	if (status & IS_RESETTING)
		bits |= USB_PORT_RESETTING;
	hp->state = (struct usb_port_state){bits, speed_of(h, status)};
	hp->changes = change & (is_super(h) ? 0xf9 : 0x1f);
	if (change & C_OVER_CURRENT)
		usb_log(&hp->port, "over-current");
	if (status & (is_super(h) ? HAS_POWER_SUPER : HAS_POWER))
		return;
	hp->state.bits = 0;
	if (usb_now_us >= hp->power_us) {
		hp->power = true;
		hp->power_us = usb_now_us + AGAIN_US;
	}
}

static void failed(struct hub *h)
{
	usb_counts.hub_errors++;
	if (++h->errors < ERRORS && h->action != DEPTH && h->action != DESCRIBE)
		return;
	h->until_us = UINT64_MAX;
	usb_device_reset(h->device);
}

/* Takes over the answer to the last request. */
static void answered(struct hub *h)
{
	struct hub_port *hp = &h->port[h->at];
	if (h->t.status != USB_OK) {
		failed(h);
		return;
	}
	switch (h->action) {
	case DESCRIBE:
		described(h);
		break;
	case STATUS:
		h->errors = 0;
		seen(h, hp);
		break;
	case RESET:
		hp->asked_us = usb_now_us;
		break;
	default:
		break;
	}
}

/* --- what to do next -------------------------------------------------------------------- */

/* Clears the lowest change bit of a port. */
static void clear_change(struct hub *h, uint32_t i)
{
	static const uint8_t feature[] = {16, 17, 18, 19, 20, 29, 25, 26};
	struct hub_port *hp = &h->port[i];
	unsigned bit = (unsigned)__builtin_ctz(hp->changes);
	hp->changes &= (uint16_t) ~(1u << bit);
	tell_port(h, CLEAR, i, false, feature[bit]);
}

static uint32_t interval(const struct hub_port *hp)
{
	switch (hp->port.phase) {
	case USB_PORT_SETTLING:
	case USB_PORT_QUEUED:
		return 2 * MOTION_US;
	case USB_PORT_BUSY:
		return hp->port.bus->enumeration.resetting ? MOTION_US : 2 * MOTION_US;
	default:
		return STATUS_US;
	}
}

/* Sends what port `i` needs. False: nothing. */
static bool serve(struct hub *h, uint32_t i)
{
	struct hub_port *hp = &h->port[i];
	if (hp->changes) { /* 11.24.2.7.2: of the connection before a reset, of the reset after it
		            */
		clear_change(h, i);
	} else if (hp->power) {
		hp->power = false;
		hp->good_us = usb_now_us + h->good_ms * 1000u;
		tell_port(h, POWER, i, true, PORT_POWER);
	} else if (hp->reset) {
		hp->reset = false;
		hp->state.bits |= USB_PORT_RESETTING;
		tell_port(h, RESET, i, true, PORT_RESET);
	} else if (hp->disable) {
		hp->disable = false;
		tell_port(h, DISABLE, i, false, PORT_ENABLE);
	} else if (usb_now_us - hp->asked_us >= interval(hp) && usb_now_us >= hp->good_us) {
		hp->asked_us = usb_now_us;
		h->at = (uint8_t)i;
		request(h, STATUS, FROM_PORT, GET_STATUS, 0, (uint16_t)(i + 1), 4);
	} else {
		return false;
	}
	return true;
}

static void start(struct hub *h)
{
	if (is_super(h) && h->action == NOTHING)
		request(h, DEPTH, TO_HUB, SET_HUB_DEPTH, h->device->depth, 0, 0);
	else
		request(h, DESCRIBE, FROM_HUB, GET_DESCRIPTOR,
		        (uint16_t)((is_super(h) ? DESCRIPTOR_SUPER : DESCRIPTOR) << 8), 0,
		        is_super(h) ? 12 : BYTES);
}

static void advance(struct hub *h)
{
	if (h->n_ports == 0) {
		start(h);
		return;
	}
	if (h->powered < h->n_ports) {
		tell_port(h, POWER, h->powered, true, PORT_POWER);
		if (++h->powered == h->n_ports)
			h->until_us = usb_now_us + h->good_ms * 1000u;
		return;
	}
	h->action = NOTHING;
	for (uint32_t k = 0; k < h->n_ports; k++) {
		uint32_t i = (h->turn + k) % h->n_ports;
		if (serve(h, i)) {
			h->turn = (uint8_t)(i + 1);
			return;
		}
	}
}

static void poll(struct hub *h)
{
	const struct usb_device *d = h->device;
	if (h->t.active || d->reset_wanted || usb_now_us < h->until_us)
		return;
	if (h->action != NOTHING)
		answered(h);
	if (usb_now_us >= h->until_us)
		advance(h);
}

static void tick(uint64_t now_us)
{
	(void)now_us;
	for (uint32_t i = 0; i < HUBS; i++) {
		struct hub *h = &hubs[i];
		if (!h->device || h->device->controller->failed)
			continue;
		poll(h);
		for (uint32_t k = 0; h->device && k < h->n_ports; k++)
			usb_port_poll(&h->port[k].port);
	}
}

/* --- the class -------------------------------------------------------------------------- */

static void *attach(struct usb_device *d, const struct usb_interface *i)
{
	if (d->depth >= USB_DEPTH) {
		usb_log(d->at, "more than %u hubs, one behind the other", USB_DEPTH);
		return NULL;
	}
	for (uint32_t k = 0; k < HUBS; k++) {
		struct hub *h = &hubs[k];
		if (h->device)
			continue;
		*h = (struct hub){.device = d, .buffer = h->buffer};
		d->multi_tt = d->speed == USB_HIGH && i->protocol == PROTOCOL_MULTI_TT;
		return h;
	}
	usb_log(d->at, "too many hubs");
	return NULL;
}

static void detach(void *state)
{
	struct hub *h = state;
	for (uint32_t i = 0; i < h->n_ports; i++)
		usb_port_gone(&h->port[i].port);
	h->device = NULL;
}

const struct usb_class usb_hub_class = {
        .name = "hub",
        .init = init,
        .wants = wants,
        .attach = attach,
        .detach = detach,
        .tick = tick,
};
