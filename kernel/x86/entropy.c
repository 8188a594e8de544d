/* See entropy.h. The sources are what an attacker cannot know about this machine: RDRAND
 * where it exists (Intel SDM vol. 1, 7.3.17), but never alone; the phase of the TSC against
 * the timer, whose clocks come from two crystals; the date. Words are mixed only with
 * rotations and XOR, because rng_seed, which gets the result, hashes it. */
#include "kernel/x86/entropy.h"

#include "kernel/x86/cpuid.h"
#include "kernel/seam/io.h"

#define WORDS   8
#define SAMPLES 512 /* samples of the timer; about 3 us each */
#define TRIES   10  /* RDRAND may fail for a moment */

enum { RTC_INDEX = 0x70, RTC_DATA = 0x71, RTC_BYTES = 128 };
enum { PIT_COUNT = 0x40, PIT_MODE = 0x43 };

static uint32_t pool[WORDS];
static uint32_t mixed;

static void mix(uint32_t v)
{
	uint32_t *w = &pool[mixed++ % WORDS];
	*w = (*w << 7 | *w >> 25) ^ v ^ pool[mixed % WORDS];
}

static void mix_rdrand(void)
{
	for (unsigned i = 0; i < WORDS; i++) {
		uint32_t v = 0;
		uint8_t ok = 0;
		for (unsigned k = 0; k < TRIES && !ok; k++)
			__asm__ volatile("rdrand %0; setc %1" : "=r"(v), "=qm"(ok) : : "cc");
		mix(v);
	}
}

/* Mixes timer and time-stamp counter: the low bits of the cycles per count vary. */
static void mix_jitter(void)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		io_out8(PIT_MODE, 0); /* latch channel 0 */
		uint32_t count = io_in8(PIT_COUNT);
		count |= (uint32_t)io_in8(PIT_COUNT) << 8;
		mix((uint32_t)io_cycles() ^ count << 16);
	}
}

/* Mixes the real-time clock's memory: date, time, and what the firmware stores there. */
static void mix_rtc(void)
{
	for (unsigned i = 0; i < RTC_BYTES; i++) {
		io_out8(RTC_INDEX, (uint8_t)(0x80 | i)); /* bit 7 disables NMIs */
		mix(io_in8(RTC_DATA));
	}
	io_out8(RTC_INDEX, 0);
	(void)io_in8(RTC_DATA); /* the chip needs a read after each index */
}

size_t entropy_gather(uint8_t *buf, size_t size)
{
	if (cpuid_features()->rdrand)
		mix_rdrand();
	mix_rtc();
	mix_jitter();
	mix((uint32_t)(io_cycles() >> 32));
	if (size > sizeof pool)
		size = sizeof pool;
	memcpy(buf, pool, size);
	return size;
}
