/* See keyboard.h. The 8042 as in the IBM PS/2 technical reference (keyboard and auxiliary
 * device controller), I/O ports 0x60 and 0x64.
 *
 * The keyboard stays as the firmware configured it (scan code set 2, which the controller
 * translates to set 1). Whatever fails, the keyboard is on at the end, and keys that arrive
 * without an interrupt are read at the next tick. Left out on purpose: mice, a keyboard reset (half
 * a second). */
#include "kernel/console/keyboard.h"

#include "kernel/x86/cpu.h"
#include "kernel/seam/io.h"
#include "kernel/console/scancode.h"

#define IRQ 1
enum { DATA = 0x60, COMMAND = 0x64, STATUS = 0x64 };
enum { OUTPUT_FULL = 1, INPUT_FULL = 2, FROM_MOUSE = 0x20 };
enum { CMD_READ_CONFIG = 0x20, CMD_WRITE_CONFIG = 0x60 };
enum { CMD_MOUSE_OFF = 0xa7, CMD_KEYBOARD_OFF = 0xad, CMD_KEYBOARD_ON = 0xae };
enum { CONFIG_IRQ1 = 1, CONFIG_IRQ12 = 2, CONFIG_OFF = 0x10, CONFIG_TRANSLATE = 0x40 };
enum { KEYBOARD_ENABLE = 0xf4, KEYBOARD_LEDS = 0xed, KEYBOARD_ACK = 0xfa };
enum { LED_SCROLL = 1, LED_NUM = 2, LED_CAPS = 4 };

#define WAIT_US    5000u /* for the controller, which needs about 100 us */
#define READ_BYTES 16
#define READ_TRIES 4
#define ON_TRIES   4
#define LED_POLLS  50 /* calls within which the keyboard must acknowledge a byte */

static bool present;
static bool answered; /* a byte has come from the keyboard */
static struct scancode decoder;

/* The command for the lights is two bytes, each of which the keyboard acknowledges. */
static enum { LEDS_DONE, LEDS_WANTED, LEDS_COMMANDED, LEDS_SENT } leds_state;
static uint8_t leds;
static unsigned leds_polls;

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

/* Empties the output buffer. False when it is never empty. */
static bool drain(void)
{
	for (unsigned i = 0; i < READ_BYTES; i++) {
		if (!(io_in8(STATUS) & OUTPUT_FULL))
			return true;
		(void)io_in8(DATA);
		io_delay_us(10);
	}
	return false;
}

/* Gives the configuration byte, or -1. A key may have been on its way when its device was
 * switched off, so only two equal answers count. */
static int read_config(void)
{
	int last = -1;
	for (unsigned i = 0; i < READ_TRIES && drain(); i++) {
		if (!command(CMD_READ_CONFIG) || !wait(OUTPUT_FULL, OUTPUT_FULL))
			return -1;
		int config = io_in8(DATA);
		if (config == last)
			return config;
		last = config;
	}
	return -1;
}

/* Turns on the keyboard's interrupt and the translation to scan code set 1. If the controller
 * does not answer, its configuration stays that of the firmware. */
static void configure(void)
{
	int config = read_config();
	if (config < 0 || !command(CMD_WRITE_CONFIG))
		return;
	config = (config | CONFIG_IRQ1 | CONFIG_TRANSLATE) & ~(CONFIG_IRQ12 | CONFIG_OFF);
	(void)data((uint8_t)config);
}

void keyboard_init(void)
{
	present = false;
	if (io_in8(STATUS) == 0xff) /* no controller */
		return;
	/* Both devices are off for a moment, so that the next byte is the controller's answer. */
	bool off = command(CMD_KEYBOARD_OFF) && command(CMD_MOUSE_OFF);
	bool empty = drain(); /* no controller has bytes without end */
	if (off && empty)
		configure();
	bool on = false;
	for (unsigned i = 0; i < ON_TRIES && !on; i++)
		on = command(CMD_KEYBOARD_ON);
	present = on && empty;
	/* The keyboard's answer, 0xfa, comes later; scancode_press reads it as the release of no
	 * key. */
	if (present)
		(void)data(KEYBOARD_ENABLE);
	leds_state = LEDS_DONE;
}

void keyboard_leds(uint8_t wanted)
{
	leds = (uint8_t)((wanted & KEYMAP_LED_NUM ? LED_NUM : 0) |
	                 (wanted & KEYMAP_LED_CAPS ? LED_CAPS : 0));
	leds_state = LEDS_WANTED;
}

/* Sends a byte of the command for the lights if the controller can take one. */
static void send_leds(uint8_t byte, unsigned state)
{
	if (io_in8(STATUS) & INPUT_FULL)
		return;
	io_out8(DATA, byte);
	leds_state = state;
	leds_polls = 0;
}

/* Goes on with the lights. A keyboard that acknowledges nothing keeps its lights as they are. */
static void poll_leds(void)
{
	if (leds_state == LEDS_WANTED)
		send_leds(KEYBOARD_LEDS, LEDS_COMMANDED);
	else if (leds_state != LEDS_DONE && ++leds_polls > LED_POLLS)
		leds_state = LEDS_DONE;
}

static void acknowledged(void)
{
	if (leds_state == LEDS_COMMANDED)
		send_leds(leds, LEDS_SENT);
	else if (leds_state == LEDS_SENT)
		leds_state = LEDS_DONE;
}

uint8_t keyboard_press(uint8_t *modifiers)
{
	if (present)
		poll_leds();
	for (unsigned i = 0; present && i < READ_BYTES; i++) {
		uint8_t status = io_in8(STATUS);
		if (!(status & OUTPUT_FULL))
			return USAGE_NONE;
		uint8_t byte = io_in8(DATA);
		if (status & FROM_MOUSE)
			continue;
		answered = true;
		if (byte == KEYBOARD_ACK)
			acknowledged();
		uint8_t usage = scancode_press(&decoder, byte);
		if (usage != USAGE_NONE) {
			*modifiers = decoder.modifiers;
			return usage;
		}
	}
	return USAGE_NONE;
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
