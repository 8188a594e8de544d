/* The ends of the machine: power-off and restart. */
#ifndef KERNEL_X86_POWER_H
#define KERNEL_X86_POWER_H

#include "kernel/lib/bytes.h"

/* True when QEMU's isa-debug-exit port exists, which tests use to end a machine. */
bool power_debug_exit(void);

/* Stops all bus masters and switches the machine off: through isa-debug-exit if it exists
 * (QEMU's exit status is then 33), else through ACPI. Returns, with interrupts off, if
 * neither works. */
void power_off(void);

/* Stops all bus masters and restarts the machine: through ACPI, the keyboard controller, the
 * chipset, or cpu_reset, whatever works first. */
void power_restart(void) __attribute__((noreturn));

#endif
