/* Ends of the machine: switching off and restarting. */
#ifndef KERNEL_X86_POWER_H
#define KERNEL_X86_POWER_H

#include "kernel/lib/bytes.h"

/* Whether QEMU's isa-debug-exit port, by which tests end a machine, is there. */
bool power_debug_exit(void);

/* Stops all bus masters and switches the machine off: through isa-debug-exit where that is there
 * (QEMU's exit status is then 33), else by ACPI. Comes back, with interrupts off, where neither
 * works. */
void power_off(void);

/* Stops all bus masters and restarts the machine. */
void power_restart(void) __attribute__((noreturn));

/* Halts with interrupts off, for good. */
void power_halt(void) __attribute__((noreturn));

/* Resets the processor with nothing but a triple fault, for when even
 * power_restart may not work. */
void power_reset(void) __attribute__((noreturn));

#endif
