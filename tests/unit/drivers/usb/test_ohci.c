/* The OHCI driver against the controller's model. */
#include "tests/unit/drivers/usb/usb1_cases.h"

#include "drivers/usb/ohci/ohci.h"
#include "drivers/usb/usb_list.h"
#include "tests/models/ohci_model.h"

static const struct usb_driver *const hc_driver = &ohci_driver;
static struct ohci_model model;

static void hc_frame(void)
{
	ohci_model_frame(&model);
}

static void hc_frame_end(void)
{
	ohci_model_frame_end(&model);
}

static void hc_plug(unsigned port, struct usb1_device *d)
{
	ohci_model_plug(&model, port, d);
}

static void hc_put(void)
{
	kit_machine();
	ohci_model_init(&model, 0);
}

/* Starts it and waits until its ports are there. */
static void start(void)
{
	CHECK_STR(kit_start(20), "");
	kit_frames(90);
}

static void hc_begin(void)
{
	hc_put();
	start();
}

static bool hc_quiet(void)
{
	return ohci_model_quiet(&model);
}

static void takes_it_from_the_firmware(void)
{
	hc_begin();
	CHECK(!model.forced);
	CHECK_EQ(model.control, 0x2b7);
	CHECK_EQ(model.resets, 1);
	CHECK_EQ(model.interval & 0x3fff, 0x2ed0); /* the firmware's */
	CHECK_EQ(model.periodic_start, 0x2ed0 * 9 / 10);
	CHECK_EQ(model.enable, 0);
	CHECK_EQ(kit_hc->n_ports, 3);
	kit_end();
}

/* Polls as the core does without transfers, each 10 ms. */
static void idle_ms(unsigned ms)
{
	for (; ms >= 10; ms -= 10) {
		for (unsigned i = 0; i < 9; i++) {
			hc_frame();
			host_now_us += 1000;
			hc_frame_end();
		}
		kit_frame();
	}
}

static void waits_for_slow_firmware(void)
{
	hc_put();
	model.firmware_us = 19000;
	CHECK_STR(kit_start(20), "");
	kit_frames(90);
	CHECK(!model.forced);
	(void)kit_plug(0, false);
	kit_end();
}

static void waits_in_the_background(void)
{
	hc_put();
	model.firmware_us = 3000000;
	CHECK_STR(kit_start(21), "");
	idle_ms(2500);
	CHECK_EQ(model.resets, 0);
	CHECK_EQ(kit_hc->ops->port(kit_hc, 1).bits, 0);
	kit_hc->ops->port_reset(kit_hc, 1);
	idle_ms(600);
	CHECK(!model.forced);
	(void)kit_plug(0, false);
	kit_end();
}

static void takes_it_by_force(void)
{
	hc_put();
	model.firmware_never = true;
	CHECK_STR(kit_start(21), "");
	idle_ms(4800);
	CHECK(!model.forced);
	idle_ms(300);
	CHECK(model.forced);
	(void)kit_plug(0, false);
	kit_end();
}

/* One that was not the firmware's is started at once. */
static void starts_one_that_nobody_has(void)
{
	hc_put();
	model.control = 0x200;
	model.interval = 0x2edf;
	CHECK_STR(kit_start(1), "");
	kit_frames(90);
	CHECK_EQ(model.interval & 0x3fff, 0x2edf);
	CHECK_EQ(model.periodic_start, 10799);
	(void)kit_plug(0, false);
	kit_end();
}

static void corrects_a_wrong_interval(void)
{
	static const uint16_t wrong[] = {0, 0x3fff, 0x2edf - 65, 0x2edf + 65};
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		hc_put();
		model.interval = wrong[i];
		CHECK_STR(kit_start(10), "");
		kit_frames(90);
		CHECK_EQ(model.interval & 0x3fff, 0x2edf);
		kit_end();
	}
}

static void ends_the_keyboard_emulation(void)
{
	hc_put();
	model.legacy = true;
	start();
	CHECK_EQ(model.hce, 0);
	kit_end();
}

static void refuses_controllers_that_cannot_be(void)
{
	hc_put();
	model.gone = true;
	CHECK_STR(kit_start(1), "it does not answer");
	hc_put();
	model.n_ports = 0;
	CHECK_STR(kit_start(10), "it has no ports");
	hc_put();
	host_arena(20000);
	CHECK_STR(kit_start(10), "not enough memory");
	hc_put();
	store32(model.pci.cfg + 0x10, 0);
	store32(model.pci.writable + 0x10, 0);
	CHECK_STR(kit_start(1), "it has no registers");
}

/* Some chips ignore registers while the bus is suspended. */
static void starts_one_that_is_deaf_while_suspended(void)
{
	hc_put();
	model.deaf_suspended = true;
	start();
	(void)kit_plug(0, false);
	kit_end();
}

static void switches_power_of_single_ports(void)
{
	hc_put();
	model.single_power = true;
	start();
	(void)kit_plug(2, false);
	kit_end();
}

static void switched_off(const char *reason)
{
	kit_check_failed(reason);
	hcd_stop(kit_hc);
	CHECK(hc_quiet() || model.gone);
	CHECK_EQ(pci_model_faults(), 0);
}

static void switches_off_one_that_does_not_start(void)
{
	hc_put();
	model.reset_stuck = true;
	start();
	kit_check_failed("its reset does not end");
	hc_put();
	model.deaf = true;
	start();
	switched_off("it does not keep its frame interval");
	hc_put();
	model.never_starts = true;
	start();
	kit_frames(250);
	switched_off("its frames stand still");
}

static void switches_itself_off(void)
{
	hc_begin();
	(void)kit_plug(0, false);
	ohci_model_error(&model);
	kit_frame();
	switched_off("unrecoverable error");
	hc_begin();
	model.gone = true;
	CHECK_EQ(kit_hc->ops->port(kit_hc, 1).bits, 0);
	kit_frame();
	switched_off("it no longer answers");
	hc_begin();
	model.frames_stuck = true;
	kit_frames(190);
	CHECK(!kit_failed);
	kit_frames(20);
	switched_off("its frames stand still");
}

static void notices_a_damaged_done_list(void)
{
	for (enum ohci_model_lie lie = OHCI_LIE_LOOP; lie <= OHCI_LIE_IDLE; lie++) {
		hc_begin();
		struct usb_device *d = kit_plug(0, false);
		struct usb_transfer t = kit_request(d, 0xc0, 1, 100, kit_bytes[0], 100);
		model.lie = lie;
		CHECK(kit_submit(&t));
		kit_frames(10);
		kit_check_failed("its list of what is done is damaged");
	}
}

/* A position outside the buffer: the transfer fails, and nothing is written behind it. */
static void does_not_believe_positions(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	memset(kit_bytes, 0xee, sizeof kit_bytes);
	model.lie = OHCI_LIE_BUFFER;
	CHECK_EQ(kit_control(d, 0xc0, 1, 5, kit_bytes[0], 64, NULL), USB_FAILED);
	CHECK_EQ(kit_bytes[0][64], 0xee);
	model.lie = OHCI_LIE_NONE;
	CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, NULL), USB_OK);
	kit_end();
}

static void gives_50_ms_of_reset_signal(void)
{
	hc_begin();
	(void)kit_plug(0, true);
	CHECK_EQ(model.pulses[0], 5);
	model.port_stuck = true;
	usb1_device_init(&kit_model[1], false);
	hc_plug(1, &kit_model[1]);
	kit_hc->ops->port_reset(kit_hc, 2);
	kit_frames(480);
	CHECK(kit_hc->ops->port(kit_hc, 2).bits & USB_PORT_RESETTING);
	kit_frames(30);
	CHECK_EQ(kit_hc->ops->port(kit_hc, 2).bits, USB_PORT_CONNECTED);
	kit_end();
}

static void leaves_idle_lists_alone(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	kit_frames(3);
	unsigned before = model.control_scans;
	kit_frames(100);
	CHECK_EQ(model.control_scans, before);
	struct usb_endpoint *key = kit_endpoint(d, 0x81, USB_INTERRUPT, 8);
	struct usb_transfer k = kit_transfer(key, kit_bytes[1], 8);
	CHECK(kit_submit(&k));
	before = kit_model[0].transactions;
	kit_frames(80);
	CHECK_EQ(kit_model[0].transactions - before, 10);
	kit_end();
}

/* The memory of a cancelled transfer is left alone until the controller has done with it. */
static void waits_for_the_end_of_the_frame(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *key = kit_endpoint(d, 0x81, USB_INTERRUPT, 8);
	struct usb_transfer k = kit_transfer(key, kit_bytes[1], 8);
	CHECK(kit_submit(&k));
	kit_frames(10);
	kit_hc->ops->cancel(kit_hc, &k);
	for (unsigned frame = 0; frame < 3; frame++) {
		hc_frame();
		for (unsigned i = 0; i < 10; i++)
			kit_hc->ops->poll(kit_hc, host_now_us);
		CHECK(k.active);
		hc_frame_end();
	}
	CHECK(kit_wait(&k, 3));
	kit_end();
}

/* A device that sent an odd number of packets before the cancel: the toggle goes on from there. */
static void keeps_the_toggle_of_a_part(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *in = kit_endpoint(d, 0x81, USB_BULK, 64);
	for (unsigned packets = 1; packets < 5; packets++) {
		kit_feed(0, 1, 64 * packets, false);
		struct usb_transfer t = kit_transfer(in, kit_bytes[0], 1024);
		CHECK(kit_submit(&t) && !kit_wait(&t, 20));
		kit_hc->ops->cancel(kit_hc, &t);
		CHECK(kit_wait(&t, 20));
		CHECK_EQ(t.status, USB_CANCELLED);
		CHECK_EQ(t.actual, 64 * packets);
		CHECK(kit_is_pattern(kit_bytes[0], 0, t.actual));
	}
	kit_end();
}

static void scribble(void)
{
	struct ohci *o = (struct ohci *)(void *)kit_hc;
	struct ohci_queue *q = &o->queue[dice(OHCI_CONTROLS + OHCI_BULKS)];
	struct ohci_td *td = &q->td[dice(OHCI_TDS)];
	uint32_t v = dice(1 << 24) << 8 | dice(256);
	switch (dice(6)) {
	case 0:
		td->control = v;
		break;
	case 1:
		td->buffer = v;
		break;
	case 2:
		td->next = dice(2) ? v : (uint32_t)dma_addr(&q->td[dice(OHCI_TDS)]);
		break;
	case 3:
		q->ed->head = dice(2) ? v : q->ed->tail | dice(4);
		break;
	default: /* a done list of one that is in use, and now and then of another one */
		if (!(q->owned & 1u << (td - q->td)) && dice(100))
			break;
		td->next = 0;
		o->hcca->done = (uint32_t)dma_addr(td);
		model.status |= OHCI_STATUS_WDH;
		break;
	}
}

static void survives_nonsense(void)
{
	stream_scribbled(scribble);
}

int main(void)
{
	TEST(takes_it_from_the_firmware);
	TEST(waits_for_slow_firmware);
	TEST(waits_in_the_background);
	TEST(takes_it_by_force);
	TEST(starts_one_that_nobody_has);
	TEST(corrects_a_wrong_interval);
	TEST(ends_the_keyboard_emulation);
	TEST(refuses_controllers_that_cannot_be);
	TEST(starts_one_that_is_deaf_while_suspended);
	TEST(switches_power_of_single_ports);
	TEST(switches_off_one_that_does_not_start);
	TEST(switches_itself_off);
	TEST(notices_a_damaged_done_list);
	TEST(does_not_believe_positions);
	TEST(gives_50_ms_of_reset_signal);
	TEST(leaves_idle_lists_alone);
	TEST(waits_for_the_end_of_the_frame);
	TEST(keeps_the_toggle_of_a_part);
	TEST(survives_nonsense);
	usb1_cases();
	return tap_done();
}
