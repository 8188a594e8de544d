/* Interrupt lines that work, that are missing, silent, or always asserted. */
#include "kernel/irq_watch.h"

#include "tests/tap.h"

#define MANY 1000u

static struct irq_watch w;
static uint32_t tick;

/* A halt of the processor that brings frames or none, then the next look at the line. True when
 * the line is unmasked. */
static bool halt(bool frames, bool line)
{
	w.received = w.moved = frames;
	return irq_watch_arm(&w, false, line, tick);
}

static void start(uint8_t irq)
{
	irq_watch_init(&w, irq);
	halt(false, true); /* a line is masked at first, which counts as having come */
}

static void a_card_without_a_line(void)
{
	for (unsigned irq = 0; irq < 256; irq++) {
		irq_watch_init(&w, (uint8_t)irq);
		CHECK_EQ(w.polled, irq > 15);
	}
}

/* Frames come by the line; ticks without a frame end a halt too. */
static void a_line_that_works(void)
{
	start(11);
	for (unsigned i = 0; i < MANY; i++) {
		tick++;
		CHECK(halt(true, true));
		tick++;
		CHECK(halt(false, false));
	}
	CHECK(!w.polled);
}

/* A line that is late loses the race against the tick now and then, and never for long. */
static void a_line_that_is_late(void)
{
	start(11);
	for (unsigned i = 0; i < MANY; i++) {
		for (unsigned late = 0; late < 15; late++) {
			tick++;
			halt(true, false);
		}
		halt(true, true);
	}
	CHECK(!w.polled);
}

static void a_silent_line(void)
{
	start(11);
	unsigned n = 0;
	while (!w.polled && n < MANY) {
		n++;
		tick++;
		CHECK(halt(true, false));
	}
	CHECK_EQ(n, 16);
	/* Quiet times in between change nothing: a ping each second shows it as well. */
	start(11);
	for (n = 0; !w.polled && n < MANY; n++) {
		for (unsigned quiet = 0; quiet < 100; quiet++) {
			tick++;
			halt(false, false);
		}
		tick++;
		halt(true, false);
	}
	CHECK_EQ(n, 16);
}

/* Another card's interrupt may end the halt before this card's line comes: without a tick that
 * says nothing. */
static void another_card_wakes_first(void)
{
	start(11);
	for (unsigned i = 0; i < MANY; i++)
		halt(true, false);
	CHECK(!w.polled);
}

/* While the card has work there is no halt, and a driver may keep its interrupts off. */
static void a_busy_card(void)
{
	start(11);
	for (unsigned i = 0; i < MANY; i++) {
		w.received = w.moved = true;
		irq_watch_arm(&w, true, false, ++tick);
	}
	CHECK(!w.polled);
}

/* Frames that are only sent say nothing about the line. */
static void a_card_that_only_sends(void)
{
	start(11);
	for (unsigned i = 0; i < MANY; i++) {
		w.moved = true;
		irq_watch_arm(&w, false, false, ++tick);
	}
	CHECK(!w.polled);
}

/* Another device asserts the line all the time: it stays masked until the next tick. */
static void a_line_that_never_rests(void)
{
	start(11);
	unsigned n = 1; /* start has counted one */
	while (n < MANY && halt(false, true))
		n++;
	CHECK_EQ(n, 15);
	CHECK(!halt(false, true));
	tick++;
	irq_watch_retry(&w);
	CHECK(halt(false, false));
	/* A frame begins the count again. */
	for (n = 0; n < 10; n++)
		CHECK(halt(false, true));
	halt(true, true);
	for (n = 0; n < 15; n++)
		CHECK(halt(false, true));
	CHECK(!halt(false, true));
	CHECK(!w.polled); /* without frames nobody waits */
}

/* The same with traffic: the ticks bring the frames while the line is masked. */
static void a_line_that_never_rests_under_traffic(void)
{
	start(11);
	for (unsigned ticks = 0; ticks < 16; ticks++) {
		CHECK(!w.polled);
		while (halt(false, true))
			;
		tick++;
		irq_watch_retry(&w);
		halt(true, true);
	}
	CHECK(w.polled);
}

int main(void)
{
	TEST(a_card_without_a_line);
	TEST(a_line_that_works);
	TEST(a_line_that_is_late);
	TEST(a_silent_line);
	TEST(another_card_wakes_first);
	TEST(a_busy_card);
	TEST(a_card_that_only_sends);
	TEST(a_line_that_never_rests);
	TEST(a_line_that_never_rests_under_traffic);
	return tap_done();
}
