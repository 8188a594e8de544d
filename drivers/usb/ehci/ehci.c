/* EHCI host controllers: high-speed devices, and others behind high-speed hubs. Devices of lower
 * speed at the controller's own ports are given to its companion controllers. "Enhanced Host
 * Controller Interface Specification", revision 1.0.
 *
 * Interrupts are off; `poll` looks at USBSTS and at the descriptors. Left out on purpose:
 * isochronous transfers, suspend, park mode, the debug port, more than one transaction of an
 * interrupt endpoint in a frame. */
#include "drivers/usb/ehci/ehci.h"
#include "drivers/usb/usb_list.h"

#include "kernel/lib/alloc.h"

static bool is_gone(const struct ehci *e)
{
	return ehci_read(e, EHCI_USBSTS) == EHCI_GONE;
}

void ehci_fail(struct ehci *e, const char *reason)
{
	if (e->dead)
		return;
	e->dead = true;
	usb_controller_failed(&e->hc, reason);
}

static void ehci_poll(struct usb_controller *c, uint64_t now_us)
{
	struct ehci *e = ehci_of(c);
	if (e->dead)
		return;
	e->now_us = now_us;
	uint32_t sts = ehci_read(e, EHCI_USBSTS);
	if (sts == EHCI_GONE) {
		ehci_fail(e, "it is gone");
	} else if (sts & STS_HSE) {
		ehci_fail(e, "it could not reach memory");
	} else if (sts & STS_HALTED) {
		ehci_fail(e, "it stopped");
	} else {
		ehci_port_poll(e);
		ehci_queue_poll(e);
		ehci_tt_poll(e);
		ehci_schedule_poll(e, sts);
	}
}

static bool ehci_stop(struct usb_controller *c)
{
	struct ehci *e = ehci_of(c);
	e->dead = true;
	if (is_gone(e))
		return true;
	if (!ehci_hw_stop(e))
		return false;
	ehci_write(e, EHCI_CONFIGFLAG, 0);
	return true;
}

static const struct usb_hcd_ops ops = {
        .poll = ehci_poll,
        .port = ehci_port,
        .port_reset = ehci_port_reset,
        .port_disable = ehci_port_disable,
        .device_open = ehci_device_open,
        .device_changed = ehci_device_changed,
        .device_close = ehci_device_close,
        .endpoint_open = ehci_endpoint_open,
        .endpoint_reset = ehci_endpoint_reset,
        .submit = ehci_submit,
        .cancel = ehci_cancel,
        .stop = ehci_stop,
};

static const char *ehci_ask(const struct pci_dev *dev, uint32_t *asked)
{
	struct ehci e = {0};
	const char *wrong = ehci_hw_map(&e, dev);
	if (!wrong)
		*asked = ehci_hw_ask(&e, dev);
	return wrong;
}

static bool ehci_given(const struct pci_dev *dev, uint32_t asked)
{
	return ehci_hw_given(dev, (uint8_t)asked);
}

static const char *ehci_take(const struct pci_dev *dev, uint32_t asked)
{
	struct ehci e = {0};
	const char *wrong = ehci_hw_map(&e, dev);
	if (wrong)
		return wrong;
	if (asked)
		ehci_hw_take(dev, (uint8_t)asked);
	if (!ehci_hw_halt(&e))
		return is_gone(&e) ? "does not answer" : "does not stop";
	return ehci_hw_reset(&e) ? NULL : "does not end its reset";
}

/* Gives a head of the asynchronous schedule that links to itself (4.8). */
static void head_init(struct ehci_slot *s)
{
	s->qh.link = (uint32_t)dma_addr(&s->qh) | LINK_QH;
	s->qh.ends = ENDS_HEAD | ENDS_HIGH | ENDS_SIZE(64);
	s->qh.splits = SPLITS_MULT;
	s->qh.work = (struct ehci_work){.next = LINK_END, .alt = LINK_END, .token = TOKEN_HALTED};
}

static struct ehci *ehci_alloc(void)
{
	struct ehci *e = alloc(sizeof *e, _Alignof(struct ehci));
	struct ehci_slot *slots = alloc((EHCI_QUEUES + 1) * sizeof *slots, sizeof *slots);
	uint32_t *frames = alloc(EHCI_FRAMES * sizeof *frames, EHCI_FRAMES * sizeof *frames);
	uint8_t *pages = alloc(EHCI_PAGES * USB_TRANSFER_MAX, USB_TRANSFER_MAX);
	if (!e || !slots || !frames || !pages)
		return NULL;
	for (unsigned i = 0; i < EHCI_FRAMES; i++)
		frames[i] = LINK_END;
	for (unsigned i = 0; i < EHCI_QUEUES; i++)
		e->queue[i].slot = &slots[i];
	e->head = &slots[EHCI_QUEUES];
	head_init(e->head);
	e->frames = frames;
	e->pages = pages;
	e->pages_free = (1u << EHCI_PAGES) - 1;
	return e;
}

static const char *ehci_probe(const struct pci_dev *dev, struct usb_controller **out)
{
	struct ehci *e = ehci_alloc();
	if (!e)
		return "no memory";
	const char *wrong = ehci_hw_map(e, dev);
	if (wrong)
		return wrong;
	ehci_hw_quirks(dev);
	if (!ehci_hw_start(e))
		return "does not start";
	e->hc.ops = &ops;
	e->hc.driver = "ehci";
	e->hc.pci = *dev;
	e->hc.n_ports = HCS_PORTS(e->params);
	*out = &e->hc;
	return NULL;
}

const struct usb_driver ehci_driver = {
        .name = "ehci",
        .prog_if = 0x20,
        .ask = ehci_ask,
        .given = ehci_given,
        .take = ehci_take,
        .probe = ehci_probe,
};
