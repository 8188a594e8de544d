/* Controllers: finding them, taking them from the firmware, polling them, switching them off. */
#include "drivers/usb/usb_core.h"

#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"

#define SERIAL_BUS 0x0c /* PCI class; subclass 03 is USB */
#define USB        0x03
#define LOG_LINES  30u
#define LOG_US     (60 * 1000000u)
#define HANDOFF_MS 1000u  /* for the firmware, for all controllers together */
#define STOP_US    20000u /* for a controller to stop */
#define STEP_US    100u
#define REST_US    1000000u /* without anything under way; longer than any step of a controller */

struct found {
	struct pci_dev pci;
	const struct usb_driver *driver;
	uint32_t asked; /* see usb_driver.ask; 0: nothing is waited for */
	bool taken, refused;
};

uint64_t usb_now_us;
struct usb_counts usb_counts;
static struct usb_bus *buses[USB_CONTROLLERS];
static uint32_t n_buses;
static uint64_t moved_us; /* when something was last under way */
static uint64_t log_window_us;
static uint32_t log_lines, log_left_out;

void usb_moved(void)
{
	moved_us = usb_now_us;
}

bool usb_moves(void)
{
	return n_buses && usb_now_us - moved_us < REST_US;
}

struct usb_bus *usb_bus(uint32_t index)
{
	return index < n_buses ? buses[index] : NULL;
}

/* --- log -------------------------------------------------------------------------------- */

const char *usb_path(char buf[static USB_PATH], const struct usb_port *p)
{
	uint8_t port[USB_DEPTH + 2];
	uint32_t n = 0;
	const struct usb_port *at = p;
	do
		port[n++] = at->number;
	while ((at = at->hub ? at->hub->at : NULL) != NULL && n < ARRAY_SIZE(port));
	size_t len = fmt(buf, USB_PATH, "usb%u", p->bus->index);
	for (uint32_t i = n; i-- > 0;)
		len += fmt(buf + len, USB_PATH - len, "%c%u", i + 1 == n ? '-' : '.', port[i]);
	return buf;
}

void usb_log(const struct usb_port *p, const char *format, ...)
{
	char path[USB_PATH], text[120];
	va_list args;
	if (usb_now_us - log_window_us >= LOG_US) {
		if (log_left_out)
			log_line("usb: %u lines left out", log_left_out);
		log_window_us = usb_now_us;
		log_lines = log_left_out = 0;
	}
	if (log_lines == LOG_LINES) {
		log_left_out++;
		return;
	}
	log_lines++;
	va_start(args, format);
	fmt_v(text, sizeof text, format, args);
	va_end(args);
	log_line("%s: %s", usb_path(path, p), text);
}

static void log_pci(const struct found *f, const char *wrong)
{
	log_line("pci %02x:%02x.%x: %s: %s", f->pci.bus, f->pci.dev, f->pci.fn, f->driver->name,
	         wrong);
}

/* --- start ------------------------------------------------------------------------------ */

static const struct usb_driver *driver_for(const struct pci_dev *dev)
{
	for (uint32_t i = 0; i < n_usb_drivers; i++)
		if (usb_drivers[i]->prog_if == dev->prog_if)
			return usb_drivers[i];
	return NULL;
}

static uint32_t find(struct found found[USB_CONTROLLERS])
{
	uint32_t cursor = 0, n = 0, more = 0;
	struct pci_dev dev;
	while (pci_next(&cursor, &dev)) {
		if (dev.class_code != SERIAL_BUS || dev.subclass != USB)
			continue;
		const struct usb_driver *driver = driver_for(&dev);
		if (!driver)
			continue;
		if (n < USB_CONTROLLERS)
			found[n++] = (struct found){.pci = dev, .driver = driver};
		else
			more++;
	}
	if (more)
		log_line("usb: %u controllers too many; they are left to the firmware", more);
	return n;
}

static void refuse(struct found *f, const char *wrong)
{
	f->refused = true;
	pci_cut(&f->pci);
	log_pci(f, wrong);
}

static void ask(struct found *f)
{
	pci_enable(&f->pci);
	const char *wrong = f->driver->ask ? f->driver->ask(&f->pci, &f->asked) : NULL;
	if (wrong)
		refuse(f, wrong);
}

/* Waits until the firmware has given all controllers up, or its time is over. */
static void await_firmware(const struct found *f, uint32_t n)
{
	uint32_t ms = 0;
	for (uint32_t i = 0; i < n && ms < HANDOFF_MS;) {
		if (f[i].refused || !f[i].asked || f[i].driver->given(&f[i].pci, f[i].asked)) {
			i++;
		} else {
			io_delay_us(1000);
			ms++;
		}
	}
}

static void take(struct found *f)
{
	const char *wrong = f->refused ? NULL : f->driver->take(&f->pci, f->asked);
	f->taken = !f->refused && !wrong;
	if (wrong)
		refuse(f, wrong);
}

/* Gives a bus for a controller. NULL: no memory. */
static struct usb_bus *new_bus(struct usb_controller *c)
{
	struct usb_bus *b = alloc(sizeof *b, 64);
	uint32_t n = min_u32(c->n_ports, USB_PORTS);
	if (!b || !(b->port = alloc(n * sizeof *b->port, 64)) ||
	    !(b->enumeration.buffer = alloc(USB_BUFFER, USB_BUFFER)))
		return NULL;
	b->enumeration.bus = b;
	b->controller = c;
	b->n_ports = n;
	b->addresses[0] = 1;
	for (uint32_t i = 0; i < n; i++) {
		b->port[i].bus = b;
		b->port[i].number = (uint8_t)(i + 1);
	}
	return b;
}

static void probe(struct found *f)
{
	struct usb_controller *c = NULL;
	const char *wrong = f->driver->probe(&f->pci, &c);
	struct usb_bus *b = wrong ? NULL : new_bus(c);
	if (!wrong && !b) {
		(void)c->ops->stop(c); /* its DMA is cut below */
		wrong = "not enough memory";
	}
	if (wrong) {
		pci_cut(&f->pci);
		log_pci(f, wrong);
		return;
	}
	b->index = (uint8_t)n_buses;
	c->bus = b;
	buses[n_buses++] = b;
	log_line("usb%u: %s, pci %02x:%02x.%x, %u ports", b->index, c->driver, c->pci.bus,
	         c->pci.dev, c->pci.fn, c->n_ports);
}

void usb_init(void)
{
	struct found found[USB_CONTROLLERS];
	usb_now_us = io_now_us();
	n_buses = 0;
	usb_counts = (struct usb_counts){0};
	log_window_us = usb_now_us;
	log_lines = log_left_out = 0;
	usb_moved();
	usb_transfer_reset();
	uint32_t n = find(found);
	if (n == 0)
		return;
	for (uint32_t i = 0; i < n; i++)
		ask(&found[i]);
	await_firmware(found, n);
	for (uint32_t i = 0; i < n; i++)
		take(&found[i]);
	if (!usb_device_init()) {
		log_line("usb: not enough memory");
		for (uint32_t i = 0; i < n; i++)
			pci_cut(&found[i].pci);
		return;
	}
	/* In the order of the list: EHCI before its companions, which get what it leaves to them.
	 */
	for (uint32_t k = 0; k < n_usb_drivers; k++)
		for (uint32_t i = 0; i < n; i++)
			if (found[i].taken && found[i].driver == usb_drivers[k])
				probe(&found[i]);
}

/* --- poll ------------------------------------------------------------------------------- */

void usb_controller_failed(struct usb_controller *c, const char *reason)
{
	if (c->failed)
		return;
	c->failed = true;
	if (c->bus)
		c->bus->reason = reason;
}

/* Stops a controller that failed, over some polls, and then cleans up behind it: until then it may
 * use the memory of its transfers. */
static void bury(struct usb_bus *b)
{
	struct usb_controller *c = b->controller;
	if (!b->stopping) {
		b->stopping = true;
		b->until_us = usb_now_us + STOP_US;
		usb_counts.controllers_failed++;
		log_line("usb%u: %s: %s; switched off", b->index, c->driver,
		         b->reason ? b->reason : "?");
	}
	if (!c->ops->stop(c) && usb_now_us < b->until_us)
		return;
	b->dead = true;
	pci_cut(&c->pci);
	usb_transfer_end(b, NULL);
	for (uint32_t i = 0; i < b->n_ports; i++)
		usb_port_gone(&b->port[i]);
}

static void poll_bus(struct usb_bus *b)
{
	struct usb_controller *c = b->controller;
	if (!c->failed)
		c->ops->poll(c, usb_now_us);
	for (uint32_t i = 0; i < b->n_ports && !c->failed; i++)
		usb_port_poll(&b->port[i]);
	if (!c->failed)
		usb_enum_poll(&b->enumeration);
	if (c->failed && !b->dead) {
		usb_moved();
		bury(b);
	}
}

bool usb_poll(uint64_t now_us)
{
	usb_now_us = now_us;
	if (n_buses == 0)
		return false;
	usb_transfer_poll();
	for (uint32_t i = 0; i < n_buses; i++)
		poll_bus(buses[i]);
	for (uint32_t i = 0; i < n_usb_classes; i++)
		if (usb_classes[i]->tick && usb_device_usable(i))
			usb_classes[i]->tick(now_us);
	return usb_busy();
}

void usb_stop(void)
{
	uint32_t waited_us = 0;
	for (uint32_t i = 0; i < n_buses; i++) {
		struct usb_controller *c = buses[i]->controller;
		c->failed = buses[i]->dead = true; /* nothing follows */
		(void)c->ops->stop(c);
	}
	for (uint32_t i = 0; i < n_buses; i++) {
		struct usb_controller *c = buses[i]->controller;
		for (; waited_us < STOP_US && !c->ops->stop(c); waited_us += STEP_US)
			io_delay_us(STEP_US);
		pci_cut(&c->pci);
	}
	n_buses = 0;
}
