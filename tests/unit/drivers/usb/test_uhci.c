/* The UHCI driver against the controller's model. */
#include "tests/unit/drivers/usb/usb1_cases.h"

#include "drivers/usb/uhci/uhci.h"
#include "drivers/usb/usb_list.h"
#include "tests/models/uhci_model.h"

static const struct usb_driver *const hc_driver = &uhci_driver;
static struct uhci_model model;

static void hc_frame(void)
{
	uhci_model_frame(&model);
}

static void hc_frame_end(void)
{
	uhci_model_frame_end(&model);
}

static void hc_plug(unsigned port, struct usb1_device *d)
{
	uhci_model_plug(&model, port, d);
}

static void hc_put(void)
{
	kit_machine();
	uhci_model_init(&model, 0);
}

static void hc_begin(void)
{
	hc_put();
	CHECK_STR(kit_start(20), "");
}

static bool hc_quiet(void)
{
	return uhci_model_quiet(&model);
}

static void takes_it_from_the_firmware(void)
{
	hc_begin();
	CHECK_EQ(load16(model.pci.cfg + 0xc0), 0x8f00);
	CHECK_EQ(model.cmd, 0xc1);
	CHECK_EQ(model.sofmod, 0x40);
	CHECK_EQ(model.intr, 0);
	CHECK_EQ(kit_hc->n_ports, 2);
	CHECK(host_now_us - 5000000 < 1000);
	kit_end();
}

static void finds_its_registers_elsewhere(void)
{
	model.bar0 = true;
	hc_begin();
	model.bar0 = false;
	(void)kit_plug(0, false);
	kit_end();
	hc_put(); /* none at all */
	store32(model.pci.cfg + 0x20, 0);
	store32(model.pci.writable + 0x20, 0);
	CHECK_STR(kit_start(20), "it has no registers");
}

static void refuses_controllers_that_do_not_start(void)
{
	hc_put();
	model.gone = true;
	CHECK_STR(kit_start(20), "it does not answer");
	hc_put();
	model.reset_stuck = true;
	CHECK_STR(kit_start(20), "its reset does not end");
	hc_put();
	model.never_starts = true;
	CHECK_STR(kit_start(20), "it does not start");
	hc_put();
	host_arena(20000);
	CHECK_STR(kit_start(20), "not enough memory");
}

/* One that does not halt is reset while it runs. */
static void resets_one_that_does_not_halt(void)
{
	hc_put();
	model.never_halts = true;
	CHECK_STR(kit_start(20), "");
	CHECK_EQ(model.resets, 1);
	model.never_halts = false;
	(void)kit_plug(0, false);
	kit_end();
}

static void counts_its_ports(void)
{
	static const uint8_t n[][2] = {{1, 1}, {2, 2}, {6, 6}, {7, 7}, {8, 2}, {0, 2}};
	for (unsigned i = 0; i < ARRAY_SIZE(n); i++) {
		hc_put();
		model.n_ports = n[i][0];
		CHECK_STR(kit_start(20), "");
		CHECK_EQ(kit_hc->n_ports, n[i][1]);
		kit_end();
	}
}

/* A stop takes no time, whatever the controller does. */
static void stops_one_that_does_not_halt(void)
{
	hc_begin();
	model.reset_stuck = model.never_halts = true;
	uint64_t before = host_now_us;
	CHECK(!kit_hc->ops->stop(kit_hc));
	CHECK_EQ(host_now_us, before);
	CHECK(!hcd_stop(kit_hc));
	CHECK_EQ(pci_model_faults(), 0);
}

static void switches_itself_off(void)
{
	static const struct {
		uint16_t sts;
		const char *reason;
	} e[] = {{0x08, "host system error"}, {0x10, "process error"}, {0x20, "it has halted"}};
	for (unsigned i = 0; i < ARRAY_SIZE(e); i++) {
		hc_begin();
		struct usb_device *d = kit_plug(0, false);
		struct usb_transfer t = kit_request(d, 0xc0, 1, 4096, kit_bytes[0], 4096);
		CHECK(kit_submit(&t));
		kit_frames(3);
		uhci_model_error(&model, e[i].sts);
		kit_frame();
		kit_check_failed(e[i].reason);
		kit_end();
	}
	hc_begin();
	model.gone = true;
	CHECK_EQ(kit_hc->ops->port(kit_hc, 1).bits, 0);
	kit_frame();
	kit_check_failed("it no longer answers");
	uint64_t before = host_now_us;
	hcd_stop(kit_hc);
	CHECK(host_now_us - before < 5000);
	CHECK_EQ(pci_model_faults(), 0);
}

/* Errors of single transactions set bits of the status that are no reason to stop. */
static void clears_the_status(void)
{
	hc_begin();
	uhci_model_error(&model, 0x07);
	kit_frame();
	CHECK_EQ(model.sts, 0);
	kit_end();
}

static void notices_frames_that_stand_still(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *key = kit_endpoint(d, 0x81, USB_INTERRUPT, 8);
	struct usb_transfer k = kit_transfer(key, kit_bytes[1], 8);
	CHECK(kit_submit(&k));
	kit_frames(3);
	model.frames_stuck = true;
	kit_hc->ops->cancel(kit_hc, &k);
	kit_frames(150);
	CHECK(k.active);
	kit_check_failed("its frames stand still");
	kit_end();
}

/* A change that is acknowledged does not disable the port. */
static void acknowledges_changes(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	model.port[0].sc |= 0x0808; /* enable changed, over-current changed */
	CHECK_EQ(kit_hc->ops->port(kit_hc, 1).bits, USB_PORT_CONNECTED | USB_PORT_ENABLED);
	CHECK_EQ(model.port[0].sc & 8, 0);
	CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, NULL), USB_OK);
	kit_end();
}

/* Follows the schedule of a frame as the controller does. Gives the queues. */
static unsigned walk(unsigned frame, uint32_t queues[64])
{
	const uint32_t *entry = host_dma(model.base + 4 * frame, 4);
	unsigned n = 0;
	for (uint32_t at = *entry; !(at & 1) && n < 64; n++) {
		CHECK(at & 2);
		queues[n] = at & ~15u;
		at = *(const uint32_t *)host_dma(queues[n], 16);
	}
	return n;
}

/* The memory of a cancelled transfer is left alone until the frame is over. */
static void waits_for_the_end_of_the_frame(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *key = kit_endpoint(d, 0x81, USB_INTERRUPT, 8);
	struct usb_transfer k = kit_transfer(key, kit_bytes[1], 8);
	CHECK(kit_submit(&k));
	kit_frames(10);
	hc_frame();
	kit_hc->ops->cancel(kit_hc, &k);
	uint32_t queues[64];
	for (unsigned i = 0; i < 1024; i++)
		CHECK_EQ(walk(i, queues), 4); /* unlinked; the control endpoint stays */
	for (unsigned i = 0; i < 10; i++)
		kit_hc->ops->poll(kit_hc, host_now_us);
	CHECK(k.active);
	hc_frame_end();
	kit_hc->ops->poll(kit_hc, host_now_us);
	CHECK(!k.active);
	kit_end();
}

/* The controller writes the link of a queue after the status of its last descriptor. */
static void waits_for_the_link_of_a_queue(void)
{
	hc_begin();
	model.late = true;
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *in = kit_endpoint(d, 0x81, USB_BULK, 64);
	uint32_t moved;
	CHECK_EQ(kit_control(d, 0xc0, 1, 300, kit_bytes[0], 300, &moved), USB_OK);
	CHECK_EQ(moved, 300);
	kit_feed(0, 1, 4000, false);
	struct usb_transfer t = kit_transfer(in, kit_bytes[0], 4096);
	CHECK(kit_submit(&t) && kit_wait(&t, 500));
	CHECK_EQ(t.actual, 4000);
	CHECK(kit_is_pattern(kit_bytes[0], 0, 4000));
	kit_end();
}

/* A length that cannot be: the transfer fails, and nothing is written behind its buffer. */
static void does_not_believe_lengths(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	memset(kit_bytes, 0xee, sizeof kit_bytes);
	model.lie = true;
	CHECK_EQ(kit_control(d, 0xc0, 1, 8, kit_bytes[0], 8, NULL), USB_FAILED);
	CHECK_EQ(kit_bytes[0][8], 0xee);
	model.lie = false;
	CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, NULL), USB_OK);
	kit_end();
}

static void enables_a_port_that_hesitates(void)
{
	hc_begin();
	model.enable_us = 60;
	(void)kit_plug(0, true);
	model.enable_changes = true;
	(void)kit_plug(1, false);
	CHECK(!model.enable_changes);
	kit_end();
	hc_begin(); /* it never takes the bit */
	model.enable_us = 1000;
	usb1_device_init(&kit_model[0], false);
	hc_plug(0, &kit_model[0]);
	CHECK_EQ(kit_reset_port(1).bits, USB_PORT_CONNECTED);
	kit_end();
}

static void visits_what_is_in_use_alone(void)
{
	uint32_t q[64];
	hc_begin();
	for (unsigned i = 0; i < 1024; i++)
		CHECK_EQ(walk(i, q), 3);
	/* The last queue has a descriptor that is not active and leads nowhere. */
	const uint32_t *last = host_dma(q[2], 16);
	CHECK(!(last[1] & 3));
	const uint32_t *dead = host_dma(last[1], 16);
	CHECK_EQ(dead[0] & 1, 1);
	CHECK_EQ(dead[1] & 1u << 23, 0);
	CHECK_EQ(dead[2] & 0xff, 0x69);
	/* An interrupt endpoint is visited in each eighth frame. */
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *key = kit_endpoint(d, 0x81, USB_INTERRUPT, 8);
	struct usb_transfer k = kit_transfer(key, kit_bytes[1], 8);
	CHECK(kit_submit(&k));
	unsigned with = 0;
	for (unsigned i = 0; i < 1024; i++)
		with += walk(i, q) == 5; /* and the control endpoint */
	CHECK_EQ(with, 128);
	uint32_t before = kit_model[0].transactions;
	kit_frames(80);
	CHECK_EQ(kit_model[0].transactions - before, 10);
	kit_end();
}

static void scribble(void)
{
	struct uhci *u = (struct uhci *)(void *)kit_hc;
	struct uhci_queue *q = &u->queue[dice(UHCI_ASYNC)];
	struct uhci_td *td = &q->td[dice(UHCI_PACKETS + 1)];
	uint32_t v = dice(1 << 24) << 8 | dice(256);
	switch (dice(4)) {
	case 0:
		td->status = v;
		break;
	case 1:
		td->token = v;
		break;
	case 2:
		td->status &= ~(uint32_t)UHCI_TD_ACTIVE;
		break;
	default:
		q->qh->element = dice(2) ? v : UHCI_END;
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
	TEST(finds_its_registers_elsewhere);
	TEST(refuses_controllers_that_do_not_start);
	TEST(resets_one_that_does_not_halt);
	TEST(counts_its_ports);
	TEST(stops_one_that_does_not_halt);
	TEST(switches_itself_off);
	TEST(clears_the_status);
	TEST(notices_frames_that_stand_still);
	TEST(waits_for_the_end_of_the_frame);
	TEST(waits_for_the_link_of_a_queue);
	TEST(does_not_believe_lengths);
	TEST(enables_a_port_that_hesitates);
	TEST(acknowledges_changes);
	TEST(visits_what_is_in_use_alone);
	TEST(survives_nonsense);
	usb1_cases();
	return tap_done();
}
