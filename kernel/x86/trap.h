/* Shared by trap.S, cpu.c, clock.c, tick.c and panic.c. */
#ifndef KERNEL_X86_TRAP_H
#define KERNEL_X86_TRAP_H

#include "kernel/lib/bytes.h"

#define TRAP_EXCEPTIONS   32
#define TRAP_VECTORS      48 /* exceptions, then IRQ 0 to 15 */
#define TRAP_DOUBLE_FAULT 8
#define TRAP_PAGE_FAULT   14
#define TRAP_WATCHDOG     32 /* vector of the timer's stub: no progress */

/* The stack as trap.S leaves it: PUSHAL, the vector, then what the processor pushed. */
struct trap_frame {
	uint32_t edi, esi, ebp, esp_here, ebx, edx, ecx, eax;
	uint32_t vector, error;
	uint32_t eip, cs, eflags;
};

/* Addresses of all stubs, by vector. */
extern const uint32_t trap_stub[TRAP_VECTORS];

/* Masked interrupt lines: the mask registers of the two PICs as last written. A stub sets
 * the bit of its line; only cpu_irq_unmask clears a bit. */
extern volatile uint8_t trap_masked[2];

/* Ticks since the timer started. Then times in the units of tick.h: the interval of the tick under
 * way, what has passed since the start and since clock_alive, and the limit of the latter. A tick
 * adds its interval. */
extern volatile uint32_t trap_ticks;
extern volatile uint32_t trap_interval, trap_passed, trap_stalled, trap_stalled_max;

/* Non-maskable interrupts for which the chipset gave no reason. */
extern volatile uint32_t trap_nmis;

/* The handler of exceptions, called by trap.S. (panic.c) */
void panic_trap(const struct trap_frame *f) __attribute__((noreturn));
/* The handler of double faults, on its own stack. (panic.c) */
void panic_double_fault(void) __attribute__((noreturn));

#endif
