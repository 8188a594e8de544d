/* The processor and the interrupt controller. Interrupts only wake: their
 * stubs mask the line, acknowledge and return; the work is found by polling. */
#ifndef KERNEL_CPU_H
#define KERNEL_CPU_H

#include "kernel/bytes.h"

/* GDT, IDT, exceptions, PIC with all lines masked. */
void cpu_init(void);

/* Optional features, found once. */
struct cpu_features {
	bool pae, nx, pse, tsc, rdrand;
	char name[49]; /* brand or vendor string, for the log */
};
const struct cpu_features *cpu_features(void);

/* Lets line `irq` (0-15) wake the processor once more; out of range: nothing. */
void cpu_irq_unmask(uint8_t irq);

/* Interrupts off and on, for the idle path only. */
void cpu_irq_off(void);
void cpu_irq_on(void);

/* Atomically enables interrupts and halts until one comes; returns with
 * interrupts enabled. */
void cpu_halt(void);

/* Ends: power off (ACPI where found, isa-debug-exit where present) and
 * restart. Neither returns. `code` is what isa-debug-exit reports. */
void cpu_poweroff(void) __attribute__((noreturn));
void cpu_reboot(void) __attribute__((noreturn));

/* Raises a CPU exception, for tests (debug=on). */
void cpu_crash(void);

/* Up to 32 bytes of hardware randomness and jitter: RDRAND where it exists, the
 * TSC against the PIT, the RTC. Gives the number of bytes written. */
size_t cpu_entropy(uint8_t *buf, size_t size);

#endif
