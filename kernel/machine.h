/* What the console and services show of the machine: its counters and cards (net/machine.h). */
#ifndef KERNEL_MACHINE_H
#define KERNEL_MACHINE_H

#include "net/gw.h"

/* Sets gw->machine. `cpu_busy` gives the value of cpu_busy_permille. */
void machine_init(struct gw *gw, uint32_t (*cpu_busy)(void));

#endif
