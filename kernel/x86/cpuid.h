/* The processor's features (Intel SDM vol. 2, CPUID). */
#ifndef KERNEL_X86_CPUID_H
#define KERNEL_X86_CPUID_H

#include "kernel/lib/bytes.h"

/* Optional features. */
struct cpuid_features {
	bool pae, nx, pse, tsc, pat, rdrand;
	bool translated;   /* the processor is QEMU's translator (TCG) */
	uint8_t phys_bits; /* width of a physical address */
	char name[49];     /* brand or vendor string, for the log */
};

/* Reads the features from the processor. Called once, before paging is set up. */
void cpuid_init(void);

/* Gives what cpuid_init found; before it, all features are false. */
const struct cpuid_features *cpuid_features(void);

/* Reads leaf `n` (SDM vol. 2, CPUID): EAX, EBX, ECX, EDX. False when the processor does not have
 * it. */
bool cpuid_leaf(uint32_t n, uint32_t r[4]);

#endif
