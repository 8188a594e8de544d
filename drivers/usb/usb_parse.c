/* See usb_parse.h. */
#include "drivers/usb/usb_parse.h"

enum { DEVICE = 1, CONFIG = 2, INTERFACE = 4, ENDPOINT = 5, COMPANION = 0x30 };
enum { INTERFACE_BYTES = 9, ENDPOINT_BYTES = 7, COMPANION_BYTES = 6 };
enum { CLASS_HUB = 9, PROTOCOL_MULTI_TT = 2 };
enum { SUPER_PACKET0 = 512 };

uint16_t usb_parse_packet0(const uint8_t *b, size_t len, uint8_t speed)
{
	if (len < 8 || b[0] < USB_DEVICE_BYTES || b[1] != DEVICE)
		return 0;
	if (speed == USB_SUPER) /* an exponent; there is one size (USB 3.0, 9.6.1) */
		return b[7] == 9 ? SUPER_PACKET0 : 0;
	bool known = b[7] == 8 || (speed != USB_LOW && (b[7] == 16 || b[7] == 32 || b[7] == 64));
	return known ? b[7] : 0;
}

/* The largest packet of an endpoint (5.6.3, 5.7.3, 5.8.3; USB 3.0, 8.12); 0: a device of this speed
 * has no such endpoint. */
static uint16_t largest_packet(uint8_t speed, uint8_t kind)
{
	static const uint16_t bulk[] = {0, 64, 512, 1024}, interrupt[] = {8, 64, 1024, 1024},
	                      isochronous[] = {0, 1023, 1024, 1024};
	if (kind == USB_BULK)
		return bulk[speed];
	if (kind == USB_INTERRUPT)
		return interrupt[speed];
	return kind == USB_ISOCHRONOUS ? isochronous[speed] : 0;
}

/* The interval of an interrupt endpoint: that of the descriptor, or about 10 ms when it is out of
 * range (9.6.6). */
static uint8_t interval_of(uint8_t speed, uint8_t interval)
{
	if (speed >= USB_HIGH)
		return interval >= 1 && interval <= 16 ? interval : 7;
	return interval >= 1 ? interval : 10;
}

static void add_endpoint(struct usb_parse_setting *s, const uint8_t *b, uint8_t speed)
{
	struct usb_parse_endpoint e = {.address = b[2], .kind = b[3] & 3};
	uint16_t most = largest_packet(speed, e.kind), size = load16(b + 4) & 0x7ff;
	bool valid = (b[2] & 0x70) == 0 && (b[2] & 15) != 0 && most && size;
	for (uint32_t i = 0; i < s->n_endpoints; i++)
		valid = valid && s->endpoint[i].address != e.address;
	if (!valid || s->n_endpoints == USB_ENDPOINTS)
		return;
	e.max_packet = size < most ? size : most;
	e.interval = e.kind == USB_INTERRUPT ? interval_of(speed, b[6]) : b[6];
	s->endpoint[s->n_endpoints++] = e;
}

static struct usb_parse_setting *add_setting(struct usb_parse_config *c, const uint8_t *b)
{
	for (uint32_t i = 0; i < c->n_settings; i++)
		if (c->setting[i].is.number == b[2] && c->setting[i].is.alternate == b[3])
			return NULL;
	if (c->n_settings == USB_PARSE_SETTINGS)
		return NULL;
	struct usb_parse_setting *s = &c->setting[c->n_settings++];
	*s = (struct usb_parse_setting){.is = {.number = b[2],
	                                       .alternate = b[3],
	                                       .class_code = b[5],
	                                       .subclass = b[6],
	                                       .protocol = b[7]}};
	return s;
}

const char *usb_parse_config(const uint8_t *b, size_t len, uint8_t speed,
                             struct usb_parse_config *out)
{
	struct usb_parse_setting *s = NULL;
	struct usb_parse_endpoint *last = NULL;
	out->n_settings = 0;
	if (len < USB_CONFIG_BYTES || b[0] < USB_CONFIG_BYTES || b[1] != CONFIG)
		return "not a configuration descriptor";
	out->value = b[5];
	if (out->value == 0)
		return "a configuration without a number";
	for (size_t at = b[0]; at + 2 <= len && b[at] >= 2 && b[at] <= len - at; at += b[at]) {
		const uint8_t *d = b + at;
		if (d[1] == INTERFACE) {
			s = d[0] >= INTERFACE_BYTES ? add_setting(out, d) : NULL;
			last = NULL;
		} else if (d[1] == ENDPOINT && s && d[0] >= ENDPOINT_BYTES) {
			uint32_t before = s->n_endpoints;
			add_endpoint(s, d, speed);
			last = s->n_endpoints > before ? &s->endpoint[before] : NULL;
		} else if (d[1] == COMPANION && last && d[0] >= COMPANION_BYTES) {
			last->burst = d[2] < 16 ? d[2] : 15; /* USB 3.0, 9.6.7 */
		}
	}
	return out->n_settings ? NULL : "a configuration without interfaces";
}

static bool multi_tt(const struct usb_parse_setting *s)
{
	return s->is.class_code == CLASS_HUB && s->is.protocol == PROTOCOL_MULTI_TT;
}

const struct usb_parse_setting *usb_parse_choose(const struct usb_parse_config *c, uint32_t *i)
{
	for (; *i < c->n_settings; ++*i) {
		const struct usb_parse_setting *best = &c->setting[*i];
		bool again = false;
		for (uint32_t k = 0; k < *i; k++)
			again = again || c->setting[k].is.number == best->is.number;
		if (again)
			continue;
		for (uint32_t k = *i + 1; k < c->n_settings; k++) {
			const struct usb_parse_setting *s = &c->setting[k];
			if (s->is.number != best->is.number || multi_tt(best))
				continue;
			if (multi_tt(s) || s->is.alternate == 0)
				best = s;
		}
		++*i;
		return best;
	}
	return NULL;
}
