/* drivers/usb: what people see: the limits of the log, and the lines of `usb`. */
#include "tests/unit/drivers/usb/usb_kit.h"

static struct usb_fake_device device[16], hub[2];
static struct usb_fake_port port[2][15];

/* Many devices that come and go make 30 lines a minute, and one that counts the others. */
static void lines_are_limited(void)
{
	struct usb_fake *f = kit_start();
	usb_fake_hub(&hub[0], USB_HIGH, port[0], 15);
	usb_fake_plug(f, 1, &hub[0]);
	for (unsigned i = 0; i < 15; i++)
		usb_fake_keyboard(&device[i], USB_FULL);
	for (unsigned n = 0; n < 4; n++) {
		for (uint8_t i = 0; i < 15; i++)
			usb_fake_plug_hub(&hub[0], (uint8_t)(i + 1), &device[i]);
		kit_run(7000);
		for (uint8_t i = 0; i < 15; i++)
			usb_fake_plug_hub(&hub[0], (uint8_t)(i + 1), NULL);
		kit_run(500);
	}
	CHECK_EQ(kit_attached, 4 * 15);
	CHECK_EQ(kit_said("usb0-1"), 30);
	CHECK_EQ(kit_said("lines left out"), 0);
	kit_run(60000);
	usb_fake_plug_hub(&hub[0], 1, &device[0]);
	kit_run(1000);
	CHECK_EQ(kit_said("usb: 91 lines left out"), 1); /* the hub and 4 * 15 * 2, without 30 */
	CHECK_EQ(kit_said("usb0-1"), 31);
	kit_end();
}

/* Each device stands behind its own controller. */
static void the_list(void)
{
	static const char *const want[] = {
	        "usb0 fake pci=00:03.0 id=1b36:0010 ports=4",
	        "usb0-1 full id=0409:55aa address=1 class=9/0/0 driver=hub ports=3",
	        "usb0-1.3 low id=0627:0001 address=2 class=3/1/1 driver=keyboard",
	        "usb1 fake pci=00:04.0 id=1b36:0011 ports=2",
	        "usb1-2 super id=46f4:0003 address=1 class=8/6/80 driver=stick",
	};
	char line[200];
	unsigned n = 0;
	kit_reset();
	usb_fake_init(&fake[0], 0, 0xfd, 4);
	usb_fake_init(&fake[1], 1, 0xfd, 2);
	usb_init();
	usb_fake_hub(&hub[0], USB_FULL, port[0], 3);
	usb_fake_plug(&fake[0], 1, &hub[0]);
	usb_fake_stick(&device[0], USB_SUPER);
	usb_fake_plug(&fake[1], 2, &device[0]);
	usb_fake_keyboard(&device[1], USB_LOW);
	usb_fake_plug_hub(&hub[0], 3, &device[1]);
	kit_run(3000);
	for (uint64_t cursor = 0; usb_show(&cursor, line, sizeof line); n++)
		CHECK_STR(line, n < ARRAY_SIZE(want) ? want[n] : "");
	CHECK_EQ(n, ARRAY_SIZE(want));
	kit_end();
}

static void a_device_that_is_being_found(void)
{
	struct usb_fake *f = kit_start();
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_plug(f, 1, &device[0]);
	unsigned seen = 0;
	for (unsigned i = 0; i < 50; i++) {
		kit_run(10);
		seen += strcmp(kit_line("usb0-1"), "usb0-1 full is being found") == 0;
	}
	CHECK(seen > 0 && seen < 30);
	kit_end();
}

static void lines_are_cut(void)
{
	struct usb_fake *f = kit_start();
	char line[12];
	uint64_t cursor = 0;
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_plug(f, 1, &device[0]);
	kit_run(1000);
	CHECK(usb_show(&cursor, line, sizeof line) && usb_show(&cursor, line, sizeof line));
	CHECK_STR(line, "usb0-1 full");
	kit_end();
}

int main(void)
{
	TEST(lines_are_limited);
	TEST(the_list);
	TEST(a_device_that_is_being_found);
	TEST(lines_are_cut);
	return tap_done();
}
