/* Randomness of this machine, to seed a generator with. */
#ifndef KERNEL_X86_ENTROPY_H
#define KERNEL_X86_ENTROPY_H

#include "kernel/lib/bytes.h"

/* Writes up to 32 bytes of hardware randomness and jitter into buf: RDRAND where it exists,
 * the TSC against the PIT, the RTC. Gives the number of bytes written. */
size_t entropy_gather(uint8_t *buf, size_t size);

#endif
