/* See keyboard.h. The 8042 as in the IBM PS/2 technical reference (keyboard and auxiliary
 * device controller), I/O ports 0x60 and 0x64.
 *
 * The keyboard stays as the firmware configured it (scan code set 2, which the controller
 * translates to set 1). Left out on purpose: mice, a keyboard reset (half a second), the
 * keyboard's LEDs. */
#include "kernel/console/keyboard.h"

#include "kernel/x86/cpu.h"
#include "kernel/seam/io.h"
#include "kernel/console/keys.h"

#define IRQ 1
enum { DATA = 0x60, COMMAND = 0x64, STATUS = 0x64 };
enum { OUTPUT_FULL = 1, INPUT_FULL = 2, FROM_MOUSE = 0x20 };
enum { CMD_READ_CONFIG = 0x20, CMD_WRITE_CONFIG = 0x60 };
enum { CMD_MOUSE_OFF = 0xa7, CMD_KEYBOARD_OFF = 0xad, CMD_KEYBOARD_ON = 0xae };
enum { CONFIG_IRQ1 = 1, CONFIG_IRQ12 = 2, CONFIG_OFF = 0x10, CONFIG_TRANSLATE = 0x40 };
enum { KEYBOARD_ENABLE = 0xf4 };

#define WAIT_US    5000u /* for the controller, which needs about 100 us */
#define READ_BYTES 16

static bool present;
static bool answered; /* a byte has come from the keyboard */
static struct keys_scan decoder;

/* Waits until the bits of `mask` in the status equal `want`. False after WAIT_US. */
static bool wait(uint8_t mask, uint8_t want)
{
	for (uint32_t us = 0; us < WAIT_US; us += 10) {
		if ((io_in8(STATUS) & mask) == want)
			return true;
		io_delay_us(10);
	}
	return false;
}

static bool command(uint8_t c)
{
	if (!wait(INPUT_FULL, 0))
		return false;
	io_out8(COMMAND, c);
	return true;
}

static bool data(uint8_t v)
{
	if (!wait(INPUT_FULL, 0))
		return false;
	io_out8(DATA, v);
	return true;
}

static void drain(void)
{
	for (unsigned i = 0; i < READ_BYTES && io_in8(STATUS) & OUTPUT_FULL; i++) {
		(void)io_in8(DATA);
		io_delay_us(10);
	}
}

void keyboard_init(void)
{
	present = false;
	if (io_in8(STATUS) == 0xff) /* no controller */
		return;
	/* Disable both devices, so that the next byte is the controller's answer. */
	if (!command(CMD_KEYBOARD_OFF) || !command(CMD_MOUSE_OFF))
		return;
	drain();
	if (!command(CMD_READ_CONFIG) || !wait(OUTPUT_FULL, OUTPUT_FULL))
		return;
	uint8_t config = io_in8(DATA);
	config =
	        (uint8_t)((config | CONFIG_IRQ1 | CONFIG_TRANSLATE) & ~(CONFIG_IRQ12 | CONFIG_OFF));
	if (!command(CMD_WRITE_CONFIG) || !data(config) || !command(CMD_KEYBOARD_ON))
		return;
	present = true;
	/* The keyboard's answer, 0xfa, comes later; keys_scan reads it as the release of no
	 * key. */
	(void)data(KEYBOARD_ENABLE);
}

int keyboard_key(void)
{
	for (unsigned i = 0; present && i < READ_BYTES; i++) {
		uint8_t status = io_in8(STATUS);
		if (!(status & OUTPUT_FULL))
			return KEY_NONE;
		uint8_t byte = io_in8(DATA);
		if (status & FROM_MOUSE)
			continue;
		answered = true;
		int key = keys_scan(&decoder, byte);
		if (key != KEY_NONE)
			return key;
	}
	return KEY_NONE;
}

bool keyboard_answered(void)
{
	return answered;
}

void keyboard_arm(void)
{
	if (present)
		cpu_irq_unmask(IRQ);
}

bool keyboard_fired(void)
{
	return present && cpu_irq_fired(IRQ);
}
