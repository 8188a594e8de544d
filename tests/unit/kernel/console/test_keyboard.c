/* kernel/console/keyboard.c on a model of the 8042 (IBM PS/2 technical reference, keyboard and
 * auxiliary device controller): whatever fails at the start, the keyboard is switched on at
 * the end. */
#include "kernel/seam/io.h"

#include "tests/tap.h"

#include <stdbool.h>

#include "kernel/console/keyboard.c"

enum { MODEL_CONFIG = 0x45 }; /* as firmware leaves it: translation, system flag, interrupt */

/* The controller. A command is taken when it is written; `busy_us` then keeps the input buffer
 * full for a while. */
static struct model {
	bool absent;         /* reads give all ones */
	bool mute;           /* no answer to a command that asks for one */
	bool endless;        /* the output buffer is always full */
	unsigned slow_after; /* this command (counted from 1) takes slow_us */
	uint64_t slow_us;
	uint8_t stray; /* a scan code that arrives between a command and its answer; 0: none */

	uint8_t config;
	uint8_t out[16];
	unsigned n_out, commands;
	uint8_t last; /* the command that waits for a data byte */
	uint64_t ready_us;
	uint8_t to_keyboard;
} model;

static unsigned unmasked;
static bool fired;

void cpu_irq_unmask(uint8_t irq)
{
	unmasked += irq == 1;
}

bool cpu_irq_fired(uint8_t irq)
{
	return irq == 1 && fired;
}

static void answer(uint8_t v)
{
	if (model.n_out < sizeof model.out)
		model.out[model.n_out++] = v;
}

static uint8_t take(void)
{
	uint8_t v = model.out[0];
	if (model.n_out > 0)
		memmove(model.out, model.out + 1, --model.n_out);
	return v;
}

static uint32_t port_in(void *ctx, uint16_t port, unsigned size)
{
	(void)ctx;
	(void)size;
	if (model.absent)
		return 0xff;
	if (port == DATA)
		return model.endless ? 0x1e : take();
	return (uint32_t)(model.endless || model.n_out ? OUTPUT_FULL : 0) |
	       (host_now_us < model.ready_us ? INPUT_FULL : 0);
}

static void run_command(uint8_t c)
{
	model.last = c;
	switch (c) {
	case CMD_KEYBOARD_OFF:
		model.config |= CONFIG_OFF;
		break;
	case CMD_KEYBOARD_ON:
		model.config &= (uint8_t)~CONFIG_OFF;
		break;
	case CMD_READ_CONFIG:
		if (model.stray)
			answer(model.stray);
		model.stray = 0;
		if (!model.mute)
			answer(model.config);
		break;
	default:
		break;
	}
}

static void port_out(void *ctx, uint16_t port, unsigned size, uint32_t v)
{
	(void)ctx;
	(void)size;
	CHECK(!model.absent);
	if (host_now_us < model.ready_us) {
		CHECK(false); /* the controller loses a byte that comes while it is busy */
		return;
	}
	if (++model.commands == model.slow_after)
		model.ready_us = host_now_us + model.slow_us;
	if (port == COMMAND) {
		run_command((uint8_t)v);
	} else if (model.last == CMD_WRITE_CONFIG) {
		model.config = (uint8_t)v;
		model.last = 0;
	} else {
		model.to_keyboard = (uint8_t)v;
	}
}

/* Starts the keyboard on a controller like `with`. */
static void start(struct model with)
{
	static const struct host_bus bus = {.port_in = port_in, .port_out = port_out};
	model = with;
	model.config = MODEL_CONFIG;
	decoder = (struct scancode){0};
	host_bus_set(&bus);
	uint64_t began = host_now_us;
	keyboard_init();
	CHECK(host_now_us - began < 100000);
}

static bool is_on(void)
{
	return !(model.config & CONFIG_OFF);
}

static uint8_t press(void)
{
	uint8_t modifiers;
	return keyboard_press(&modifiers);
}

/* True when the keyboard gives the letter of a key pressed now. */
static bool types(void)
{
	while (press() != USAGE_NONE)
		;
	answer(0x1e); /* set 1: a */
	return press() == USAGE_A;
}

static void an_ordinary_controller(void)
{
	start((struct model){0});
	CHECK(is_on());
	CHECK_EQ(model.config, MODEL_CONFIG);
	CHECK_EQ(model.to_keyboard, KEYBOARD_ENABLE);
	CHECK(types());
	unmasked = 0;
	fired = true;
	keyboard_arm();
	CHECK_EQ(unmasked, 1);
	CHECK(keyboard_fired());
}

static void no_controller(void)
{
	start((struct model){.absent = true});
	CHECK_EQ(press(), USAGE_NONE);
	unmasked = 0;
	keyboard_arm();
	CHECK_EQ(unmasked, 0);
	CHECK(!keyboard_fired());
}

/* Any one command takes longer than the driver waits. */
static void a_slow_command(void)
{
	for (unsigned n = 1; n <= 8; n++) {
		start((struct model){.slow_after = n, .slow_us = 2 * WAIT_US});
		CHECK(is_on());
		CHECK(types());
	}
}

/* After a command nothing more is accepted. */
static void a_controller_that_hangs(void)
{
	for (unsigned n = 1; n <= 8; n++)
		start((struct model){.slow_after = n, .slow_us = UINT64_MAX / 2});
}

/* Firmware that emulates the keyboard may know no commands. The keys still arrive. */
static void a_controller_without_answers(void)
{
	start((struct model){.mute = true});
	CHECK(is_on());
	CHECK(types());
}

/* A key pressed at the wrong moment is not the controller's configuration. */
static void a_key_in_place_of_the_answer(void)
{
	start((struct model){.stray = 0x1c});
	CHECK(is_on());
	CHECK_EQ(model.config, MODEL_CONFIG);
	start((struct model){.stray = 0x9c});
	CHECK_EQ(model.config, MODEL_CONFIG);
}

/* What always has a byte is no controller: it would type without end. */
static void bytes_without_end(void)
{
	start((struct model){.endless = true});
	CHECK(is_on());
	CHECK_EQ(press(), USAGE_NONE);
}

static void modifiers(void)
{
	uint8_t held = 0;
	start((struct model){0});
	CHECK(types());
	answer(0x2a); /* Shift */
	answer(0x30);
	CHECK_EQ(keyboard_press(&held), USAGE_A + 1);
	CHECK_EQ(held, 2);
}

/* The keyboard acknowledges the command, then the lights. */
static void lights(void)
{
	start((struct model){0});
	CHECK(types());
	keyboard_leds(KEYMAP_LED_CAPS | KEYMAP_LED_NUM);
	CHECK_EQ(press(), USAGE_NONE);
	CHECK_EQ(model.to_keyboard, KEYBOARD_LEDS);
	model.to_keyboard = 0;
	CHECK_EQ(press(), USAGE_NONE);
	CHECK_EQ(model.to_keyboard, 0); /* not before the acknowledgement */
	answer(KEYBOARD_ACK);
	answer(0x1e);
	CHECK_EQ(press(), USAGE_A);
	CHECK_EQ(model.to_keyboard, LED_CAPS | LED_NUM);
	answer(KEYBOARD_ACK);
	CHECK_EQ(press(), USAGE_NONE);
	model.to_keyboard = 0xaa;
	for (unsigned i = 0; i < 3 * LED_POLLS; i++)
		CHECK_EQ(press(), USAGE_NONE);
	CHECK_EQ(model.to_keyboard, 0xaa);
	keyboard_leds(0);
	(void)press();
	answer(KEYBOARD_ACK);
	(void)press();
	CHECK_EQ(model.to_keyboard, 0);
}

/* A keyboard that never acknowledges gets no lights, and later acknowledgements mean nothing. */
static void lights_without_acknowledgement(void)
{
	start((struct model){0});
	CHECK(types());
	keyboard_leds(KEYMAP_LED_CAPS);
	for (unsigned i = 0; i < 2 * LED_POLLS; i++)
		CHECK_EQ(press(), USAGE_NONE);
	model.to_keyboard = 0xaa;
	answer(KEYBOARD_ACK);
	CHECK_EQ(press(), USAGE_NONE);
	CHECK_EQ(model.to_keyboard, 0xaa);
	CHECK(types());
	keyboard_leds(KEYMAP_LED_CAPS);
	(void)press();
	CHECK_EQ(model.to_keyboard, KEYBOARD_LEDS);
}

/* Nothing is written while the controller is busy; the lights come later. */
static void lights_of_a_busy_controller(void)
{
	start((struct model){0});
	CHECK(types());
	keyboard_leds(KEYMAP_LED_CAPS);
	model.ready_us = host_now_us + 1000;
	CHECK_EQ(press(), USAGE_NONE); /* the model fails the test if it is written to */
	model.ready_us = 0;
	CHECK_EQ(press(), USAGE_NONE);
	CHECK_EQ(model.to_keyboard, KEYBOARD_LEDS);
}

int main(void)
{
	TEST(an_ordinary_controller);
	TEST(no_controller);
	TEST(a_slow_command);
	TEST(a_controller_that_hangs);
	TEST(a_controller_without_answers);
	TEST(a_key_in_place_of_the_answer);
	TEST(bytes_without_end);
	TEST(modifiers);
	TEST(lights);
	TEST(lights_without_acknowledgement);
	TEST(lights_of_a_busy_controller);
	return tap_done();
}
