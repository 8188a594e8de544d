/* Between trap.S, cpu.c, clock.c and panic.c: what the stubs share with C. */
#ifndef KERNEL_X86_TRAP_H
#define KERNEL_X86_TRAP_H

#include "kernel/lib/bytes.h"

#define TRAP_EXCEPTIONS   32
#define TRAP_VECTORS      48 /* exceptions, then IRQ 0 to 15 */
#define TRAP_DOUBLE_FAULT 8
#define TRAP_PAGE_FAULT   14
#define TRAP_WATCHDOG     32 /* the timer stub's vector: no progress */

/* As trap.S pushes it (PUSHAL, vector, then what the processor pushed). */
struct trap_frame {
	uint32_t edi, esi, ebp, esp_here, ebx, edx, ecx, eax;
	uint32_t vector, error;
	uint32_t eip, cs, eflags;
};

/* Addresses of all stubs, by vector. */
extern const uint32_t trap_stub[TRAP_VECTORS];

/* Masked lines: the PIC's two mask registers as last written. A stub sets the
 * bit of its line; only cpu_irq_unmask clears one. */
extern volatile uint8_t trap_masked[2];

/* Ticks since the timer started, ticks since clock_alive, and how many of
 * those are too many. */
extern volatile uint32_t trap_ticks, trap_stalled, trap_stalled_max;

/* Where exceptions end, and double faults, on their own stack. (panic.c) */
void panic_trap(const struct trap_frame *f) __attribute__((noreturn));
void panic_double_fault(void) __attribute__((noreturn));

#endif
