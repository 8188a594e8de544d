/* The controller of usb_fake.h. Section numbers: USB 2.0 specification. */
#include "tests/models/usb_fake.h"

#include "kernel/seam/io.h"
#include "tests/models/usb_fake_hub.h"

#define FAKES      8u
#define RESET_US   50000u  /* 7.1.7.5: TDRSTR */
#define STABLE_US  100000u /* 7.1.7.3: TATTDB */
#define RECOVER_US 10000u  /* 7.1.7.5: TRSTRCY */

static struct usb_fake *fakes[FAKES];

static struct usb_fake *fake_of(struct usb_controller *c)
{
	return (struct usb_fake *)c;
}

static struct usb_fake *fake_at(const struct pci_dev *dev)
{
	return fakes[dev->dev - 3];
}

/* --- the tree ------------------------------------------------------------------------ */

static void forget(struct usb_fake_device *d)
{
	d->address = d->configuration = 0;
	d->multi_tt = false;
	d->depth = 0xff;
	for (uint32_t i = 0; i < d->n_ports; i++) {
		struct usb_fake_port *p = &d->port[i];
		p->enabled = p->powered = p->resetting = false;
		p->change = 0;
		if (p->device)
			forget(p->device);
	}
}

static void plug(struct usb_fake_port *p, struct usb_fake_device *d)
{
	p->device = d;
	p->enabled = p->resetting = false;
	p->change |= 1;
	p->plugged_us = host_now_us;
	if (d)
		forget(d);
}

void usb_fake_plug(struct usb_fake *f, uint8_t port, struct usb_fake_device *d)
{
	plug(&f->port[port - 1], d);
}

void usb_fake_plug_hub(struct usb_fake_device *hub, uint8_t port, struct usb_fake_device *d)
{
	plug(&hub->port[port - 1], d);
}

/* Finds the enabled device with this address; counts those that have it. */
static struct usb_fake_port *find(struct usb_fake_port *port, uint32_t n, uint8_t address,
                                  unsigned *found)
{
	struct usb_fake_port *at = NULL;
	for (uint32_t i = 0; i < n; i++) {
		struct usb_fake_device *d = port[i].device;
		if (!d || !port[i].enabled)
			continue;
		if (d->address == address) {
			at = &port[i];
			++*found;
		}
		struct usb_fake_port *behind = find(d->port, d->n_ports, address, found);
		at = behind ? behind : at;
	}
	return at;
}

/* Starts or ends resets of ports. */
void usb_fake_reset(struct usb_fake_port *p, uint32_t us, uint32_t blind_us)
{
	uint64_t since = host_now_us - p->plugged_us;
	/* The second reset of an enumeration comes soon after the first. */
	if (p->device && !p->enabled && since >= blind_us && since < STABLE_US)
		pci_model_fault("reset %u us after the device was plugged in", (unsigned)since);
	if (blind_us && p->change & 1 && since >= blind_us)
		pci_model_fault("reset with C_PORT_CONNECTION set");
	p->resetting = true;
	p->enabled = false;
	p->reset_us = host_now_us + us;
}

void usb_fake_reset_end(struct usb_fake_port *p)
{
	if (!p->resetting || host_now_us < p->reset_us)
		return;
	p->resetting = false;
	p->enabled = p->device != NULL;
	if (p->device) {
		forget(p->device);
		p->speed = p->device->speed;
	}
}

/* --- transfers ------------------------------------------------------------------------ */

static void check_memory(const struct usb_transfer *t)
{
	if (t->len && (!t->data || !host_dma(dma_addr(t->data), t->len)))
		pci_model_fault("a transfer into memory that is not of alloc()");
	if (t->endpoint->kind == USB_CONTROL && load16(t->setup + 6) != t->len)
		pci_model_fault("a setup of %u bytes with %u bytes of data", load16(t->setup + 6),
		                t->len);
	if (!t->done)
		pci_model_fault("a transfer that nobody waits for");
}

/* Gives what the device answers. */
static int answer(struct usb_fake *f, struct usb_transfer *t)
{
	unsigned found = 0;
	struct usb_device *d = t->endpoint->device;
	struct usb_fake_port *p = find(f->port, f->n_ports, d->address, &found);
	if (found > 1)
		pci_model_fault("%u devices have address %u", found, d->address);
	if (!p)
		return USB_FAKE_BROKEN;
	struct usb_fake_device *to = p->device;
	if (host_now_us - p->reset_us < RECOVER_US)
		pci_model_fault("a transfer %u us after the reset",
		                (unsigned)(host_now_us - p->reset_us));
	to->requests++;
	if (t->endpoint->kind != USB_CONTROL)
		return to->transfer ? to->transfer(to, t->endpoint->address, t->data, t->len)
		                    : USB_FAKE_SILENT;
	uint8_t packet0 = to->descriptor[7];
	if (d->address && !to->control && to->speed != USB_SUPER &&
	    d->control.max_packet != packet0)
		pci_model_fault("endpoint 0 has packets of %u, not %u", packet0,
		                d->control.max_packet);
	if (f->gives_addresses && t->setup[0] == 0 && t->setup[1] == 5) {
		d->address = to->address = (uint8_t)(f->opened & 127);
		return 0;
	}
	int got = to->control ? to->control(to, t->setup, t->data, t->len) : USB_FAKE_PASS;
	return got == USB_FAKE_PASS ? usb_fake_standard(to, t->setup, t->data, t->len) : got;
}

static void complete(struct usb_fake *f, uint32_t i, enum usb_status status, uint32_t actual)
{
	struct usb_transfer *t = f->transfer[i];
	memmove(&f->transfer[i], &f->transfer[i + 1],
	        (--f->n_transfers - i) * sizeof f->transfer[0]);
	f->inside = true;
	usb_complete(t, status, actual);
	f->inside = false;
}

static void poll(struct usb_controller *c, uint64_t now_us)
{
	struct usb_fake *f = fake_of(c);
	(void)now_us;
	for (uint32_t i = 0; i < f->n_ports && !f->never_ends; i++)
		usb_fake_reset_end(&f->port[i]);
	/* What a `done` submits is for the next poll. */
	struct usb_transfer *now[USB_FAKE_TRANSFERS];
	uint32_t n = f->n_transfers;
	memcpy(now, f->transfer, n * sizeof now[0]);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = 0;
		while (i < f->n_transfers && f->transfer[i] != now[k])
			i++;
		if (i == f->n_transfers)
			continue; /* cancelled meanwhile */
		if (f->transfer[i]->hc == f) {
			if (!f->keeps)
				complete(f, i, USB_CANCELLED, 0);
			continue;
		}
		int got = answer(f, f->transfer[i]);
		if (got >= 0)
			complete(f, i, USB_OK, (uint32_t)got);
		else if (got != USB_FAKE_SILENT)
			complete(f, i, got == USB_FAKE_STALL ? USB_STALLED : USB_FAILED, 0);
	}
}

static bool submit(struct usb_controller *c, struct usb_transfer *t)
{
	struct usb_fake *f = fake_of(c);
	for (uint32_t i = 0; i < f->n_transfers; i++)
		if (f->transfer[i]->endpoint == t->endpoint)
			pci_model_fault("a second transfer of endpoint %02x", t->endpoint->address);
	check_memory(t);
	if (f->stopped || f->no_transfer || f->n_transfers == USB_FAKE_TRANSFERS)
		return false;
	if (!t->endpoint->hc)
		pci_model_fault("a transfer of a closed endpoint");
	t->hc = NULL;
	f->transfer[f->n_transfers++] = t;
	return true;
}

static void cancel(struct usb_controller *c, struct usb_transfer *t)
{
	struct usb_fake *f = fake_of(c);
	for (uint32_t i = 0; i < f->n_transfers; i++) {
		if (f->transfer[i] != t)
			continue;
		if (f->keeps || f->slow_cancel)
			t->hc = f;
		else
			complete(f, i, USB_CANCELLED, 0);
		return;
	}
	pci_model_fault("cancels a transfer that there is not");
}

/* --- ports and devices ---------------------------------------------------------------- */

static void outside(const struct usb_fake *f, const char *what)
{
	if (f->inside)
		pci_model_fault("%s from inside of usb_complete", what);
	if (f->stopped)
		pci_model_fault("%s after stop", what);
}

static struct usb_port_state port(struct usb_controller *c, uint8_t n)
{
	struct usb_fake *f = fake_of(c);
	struct usb_fake_port *p = &f->port[n - 1];
	struct usb_port_state s = {.speed = p->speed};
	outside(f, "port");
	s.bits = (uint8_t)((p->device ? USB_PORT_CONNECTED : 0) |
	                   (p->enabled && !f->never_enables && !f->companion ? USB_PORT_ENABLED
	                                                                     : 0) |
	                   (p->resetting ? USB_PORT_RESETTING : 0) |
	                   (p->change ? USB_PORT_CHANGED : 0) |
	                   (f->companion && p->device && p->reset_us && !p->resetting
	                            ? USB_PORT_OTHER
	                            : 0));
	p->change = 0;
	return s;
}

static void port_reset(struct usb_controller *c, uint8_t n)
{
	struct usb_fake *f = fake_of(c);
	outside(f, "port_reset");
	usb_fake_reset(&f->port[n - 1], RESET_US, 0);
}

static void port_disable(struct usb_controller *c, uint8_t n)
{
	struct usb_fake *f = fake_of(c);
	outside(f, "port_disable");
	f->port[n - 1].enabled = false;
}

static const struct usb_device **place_of(struct usb_fake *f, const struct usb_device *d)
{
	uint32_t i = 0;
	while (i < USB_FAKE_DEVICES - 1 && f->device[i] != d)
		i++;
	return &f->device[i];
}

static bool device_open(struct usb_controller *c, struct usb_device *d)
{
	struct usb_fake *f = fake_of(c);
	outside(f, "device_open");
	if (f->no_device)
		return false;
	if (d->address || !d->control.max_packet)
		pci_model_fault("device_open of a device with an address");
	d->hc = f;
	d->control.hc = f;
	f->opened++;
	*place_of(f, NULL) = d;
	return true;
}

static void device_changed(struct usb_controller *c, struct usb_device *d)
{
	struct usb_fake *f = fake_of(c);
	outside(f, "device_changed");
	if (d->hc != f)
		pci_model_fault("device_changed of a closed device");
	f->changed++;
}

static void device_close(struct usb_controller *c, struct usb_device *d)
{
	struct usb_fake *f = fake_of(c);
	outside(f, "device_close");
	if (d->hc != f)
		pci_model_fault("device_close of a closed device");
	for (uint32_t i = f->n_transfers; i-- > 0;)
		if (i < f->n_transfers && f->transfer[i]->endpoint->device == d)
			complete(f, i, USB_GONE, 0);
	d->hc = NULL;
	f->closed++;
	*place_of(f, d) = NULL;
	for (uint32_t i = 0; i < USB_FAKE_DEVICES; i++)
		if (f->device[i] && f->device[i]->hub == d)
			pci_model_fault("a hub is closed before what is behind it");
}

static bool endpoint_open(struct usb_controller *c, struct usb_endpoint *e)
{
	struct usb_fake *f = fake_of(c);
	outside(f, "endpoint_open");
	if (!e->device->address)
		pci_model_fault("endpoint_open of a device without an address");
	if (!e->max_packet || !(e->address & 15) ||
	    (e->kind != USB_BULK && e->kind != USB_INTERRUPT))
		pci_model_fault("endpoint_open of endpoint %02x, kind %u, packets of %u",
		                e->address, e->kind, e->max_packet);
	if (f->no_endpoint)
		return false;
	e->hc = f;
	f->endpoints++;
	return true;
}

static void endpoint_reset(struct usb_controller *c, struct usb_endpoint *e)
{
	(void)c;
	e->toggle = false;
}

static bool stop(struct usb_controller *c)
{
	struct usb_fake *f = fake_of(c);
	f->stops++;
	f->stopped = true;
	if (f->stops <= f->slow_stop)
		return false;
	f->n_transfers = 0;
	return true;
}

static const struct usb_hcd_ops ops = {
        .poll = poll,
        .port = port,
        .port_reset = port_reset,
        .port_disable = port_disable,
        .device_open = device_open,
        .device_changed = device_changed,
        .device_close = device_close,
        .endpoint_open = endpoint_open,
        .endpoint_reset = endpoint_reset,
        .submit = submit,
        .cancel = cancel,
        .stop = stop,
};

/* --- the driver ----------------------------------------------------------------------- */

static const char *ask(const struct pci_dev *dev, uint32_t *asked)
{
	struct usb_fake *f = fake_at(dev);
	if (!pci_model_can_master(&f->pci))
		pci_model_fault("ask for a device that is not enabled");
	f->asked_us = host_now_us;
	*asked = f->firmware_us ? 7 : 0;
	return f->ask_fails;
}

static bool given(const struct pci_dev *dev, uint32_t asked)
{
	const struct usb_fake *f = fake_at(dev);
	for (uint32_t i = 0; i < FAKES; i++)
		if (fakes[i] && !fakes[i]->asked_us)
			pci_model_fault("a wait before all are asked for");
	if (asked != 7 || f->ask_fails)
		pci_model_fault("a wait for a firmware that was not asked");
	return host_now_us - f->asked_us >= f->firmware_us;
}

static const char *take(const struct pci_dev *dev, uint32_t asked)
{
	struct usb_fake *f = fake_at(dev);
	if (!f->asked_us || f->ask_fails || asked != (f->firmware_us ? 7 : 0))
		pci_model_fault("take of a device that was not asked for");
	f->forced = host_now_us - f->asked_us < f->firmware_us;
	f->taken = true;
	return f->take_fails;
}

static const char *probe(const struct pci_dev *dev, struct usb_controller **out)
{
	struct usb_fake *f = fake_at(dev);
	for (uint32_t i = 0; i < FAKES; i++)
		if (fakes[i] && !fakes[i]->taken && !fakes[i]->ask_fails)
			pci_model_fault("probe before all controllers are taken");
	if (f->probe_fails)
		return f->probe_fails;
	f->c = (struct usb_controller){
	        .ops = &ops, .driver = "fake", .pci = *dev, .n_ports = f->n_ports};
	*out = &f->c;
	return NULL;
}

const struct usb_driver usb_fake_first = {"first", 0xfd, ask, given, take, probe};
const struct usb_driver usb_fake_second = {"second", 0xfe, ask, given, take, probe};

void usb_fake_init(struct usb_fake *f, uint32_t n, uint8_t prog_if, uint32_t n_ports)
{
	if (n == 0)
		memset(fakes, 0, sizeof fakes);
	*f = (struct usb_fake){.n_ports = n_ports};
	f->pci = (struct pci_model_dev){.dev = (uint8_t)(3 + n),
	                                .vendor = 0x1b36,
	                                .device = (uint16_t)(0x10 + n),
	                                .class_code = 0x0c,
	                                .subclass = 3,
	                                .prog_if = prog_if};
	fakes[n] = f;
	pci_model_add(&f->pci);
}
