/* The core of USB with fake controllers and two classes that note what they get: for tests of the
 * core and of hubs. */
#ifndef TESTS_UNIT_DRIVERS_USB_USB_KIT_H
#define TESTS_UNIT_DRIVERS_USB_USB_KIT_H

#include "tests/tap.h"

#include "drivers/usb/usb_core.h"
#include "drivers/usb/usb_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"
#include "tests/models/usb_fake.h"

const struct usb_driver *const usb_drivers[] = {&usb_fake_first, &usb_fake_second};
const uint32_t n_usb_drivers = 2;

/* --- classes --------------------------------------------------------------------------- */

#define KIT_STATES 16u

/* An interface that a class took, with a transfer that waits on its first endpoint. */
struct kit_state {
	bool used;
	struct usb_device *device;
	const struct usb_interface *interface;
	struct usb_transfer *t;
	unsigned done;
	enum usb_status status;
};

static struct kit_state kit_state[KIT_STATES];
static unsigned kit_attached, kit_detached;
static bool kit_refuses;      /* attach gives NULL */
static bool kit_accepts_none; /* an interface without endpoints is taken too */

static inline void kit_done(struct usb_transfer *t)
{
	struct kit_state *s = t->owner;
	s->done++;
	s->status = t->status;
	if (!s->used)
		pci_model_fault("done after detach");
}

static inline void *kit_attach(struct usb_device *d, const struct usb_interface *i)
{
	if (kit_refuses)
		return NULL;
	struct kit_state *s = kit_state;
	while (s->used)
		s++;
	*s = (struct kit_state){
	        .used = true, .device = d, .interface = i, .t = alloc(sizeof *s->t, 64)};
	kit_attached++;
	if (i->n_endpoints == 0) {
		CHECK(kit_accepts_none);
		return s;
	}
	s->t->endpoint = i->endpoint[0];
	s->t->data = alloc(64, 64);
	s->t->len = 8;
	s->t->done = kit_done;
	s->t->owner = s;
	CHECK(usb_submit(s->t));
	return s;
}

static inline void kit_detach(void *state)
{
	struct kit_state *s = state;
	CHECK(!s->t->active);
	s->used = false;
	kit_detached++;
}

static inline bool kit_wants_keyboard(const struct usb_interface *i)
{
	return i->class_code == 3 && i->subclass == 1 && i->protocol == 1;
}

static inline bool kit_wants_stick(const struct usb_interface *i)
{
	return i->class_code == 8;
}

static const struct usb_class kit_keyboard = {.name = "keyboard",
                                              .wants = kit_wants_keyboard,
                                              .attach = kit_attach,
                                              .detach = kit_detach};
static const struct usb_class kit_stick = {
        .name = "stick", .wants = kit_wants_stick, .attach = kit_attach, .detach = kit_detach};
const struct usb_class *const usb_classes[] = {&usb_hub_class, &kit_keyboard, &kit_stick};
const uint32_t n_usb_classes = 3;

/* --- the run ----------------------------------------------------------------------------- */

static struct usb_fake fake[3];

/* An empty bus, empty memory, an empty log. */
static inline void kit_reset(void)
{
	pci_model_reset();
	host_arena(4u << 20);
	log_reset();
	log_time(0);
	host_now_us = 1000000;
	memset(kit_state, 0, sizeof kit_state);
	kit_attached = kit_detached = 0;
	kit_refuses = false;
}

/* One controller of four ports, started. */
static inline struct usb_fake *kit_start(void)
{
	kit_reset();
	usb_fake_init(&fake[0], 0, 0xfd, 4);
	usb_init();
	return &fake[0];
}

/* Lets time pass as the machine does: a poll each 10 ms, each millisecond while usb_busy. */
static inline void kit_run(uint32_t ms)
{
	uint64_t end = host_now_us + ms * 1000ull;
	while (host_now_us < end) {
		host_now_us += usb_busy() ? 1000 : 10000;
		usb_poll(host_now_us);
	}
}

/* Gives how many lines of the log contain this text. */
static inline unsigned kit_said(const char *text)
{
	char line[LOG_LINE];
	unsigned n = 0;
	for (uint64_t cursor = 0; log_next(&cursor, line, sizeof line);)
		n += strstr(line, text) != NULL;
	return n;
}

/* Gives a counter of `stats`. */
static inline long long kit_count(const char *name)
{
	char line[100];
	for (uint32_t i = 0;; i++) {
		uint32_t at = i;
		if (!usb_show_stats(&at, line, sizeof line))
			return -1;
		size_t n = strlen(name);
		if (strncmp(line, name, n) == 0 && line[n] == ' ')
			return atoll(line + n);
	}
}

/* Gives the line of `usb` that begins with this text; empty: none. */
static inline const char *kit_line(const char *begin)
{
	static char line[400];
	for (uint64_t cursor = 0; usb_show(&cursor, line, sizeof line);)
		if (strncmp(line, begin, strlen(begin)) == 0)
			return line;
	line[0] = '\0';
	return line;
}

static inline void kit_end(void)
{
	CHECK_EQ(pci_model_faults(), 0);
}

#endif
