/* The isa-debug-exit port of QEMU, by which tests end a machine. */
#ifndef KERNEL_POWER_H
#define KERNEL_POWER_H

#include "kernel/bytes.h"

/* Whether the port is there. */
bool power_debug_exit(void);

#endif
