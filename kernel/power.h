/* Ends of the machine besides those of cpu.h. */
#ifndef KERNEL_POWER_H
#define KERNEL_POWER_H

#include "kernel/bytes.h"

/* Whether QEMU's isa-debug-exit port, by which tests end a machine, is there. */
bool power_debug_exit(void);

/* Resets the processor with nothing but a triple fault, for when even
 * cpu_reboot may not work. */
void power_reset(void) __attribute__((noreturn));

#endif
