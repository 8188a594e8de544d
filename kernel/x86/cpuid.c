/* See cpuid.h (Intel SDM vol. 2, CPUID). */
#include "kernel/x86/cpuid.h"

struct leaf {
	uint32_t a, b, c, d;
};

/* "TCGTCGTCGTCG", as QEMU's target/i386/cpu.c gives it. */
enum { TCGT = 0x54474354, CGTC = 0x43544743, GTCG = 0x47435447 };

static struct cpuid_features features;

static struct leaf cpuid(uint32_t leaf)
{
	struct leaf r;
	__asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(0));
	return r;
}

/* Reads the brand string, or else the vendor string (SDM vol. 2, CPUID). */
static void find_name(void)
{
	uint32_t text[13] = {0};
	struct leaf r;
	if (cpuid(0x80000000u).a >= 0x80000004u) {
		for (unsigned i = 0; i < 3; i++) {
			r = cpuid(0x80000002u + i);
			memcpy(&text[4 * i], &r, sizeof r);
		}
	} else {
		r = cpuid(0);
		text[0] = r.b;
		text[1] = r.d;
		text[2] = r.c;
	}
	const char *from = (const char *)text;
	while (*from == ' ') /* brand strings may start with blanks */
		from++;
	memcpy(features.name, from, strlen(from) + 1);
}

void cpuid_init(void)
{
	struct leaf r = cpuid(1);
	features.pse = r.d >> 3 & 1;
	features.tsc = r.d >> 4 & 1;
	features.pae = r.d >> 6 & 1;
	features.pat = r.d >> 16 & 1;
	features.rdrand = r.c >> 30 & 1;
	if (cpuid(0x80000000u).a >= 0x80000001u)
		features.nx = features.pae && (cpuid(0x80000001u).d >> 20 & 1);
	/* PAE has at least 36 bits (SDM vol. 3, 4.1.4). */
	features.phys_bits = features.pae ? 36 : 32;
	if (features.pae && cpuid(0x80000000u).a >= 0x80000008u)
		features.phys_bits = (uint8_t)cpuid(0x80000008u).a;
	/* Leaf 0x40000000 is the hypervisor's, where bit 31 says that there is one. */
	if (r.c >> 31) {
		r = cpuid(0x40000000u);
		features.translated = r.b == TCGT && r.c == CGTC && r.d == GTCG;
	}
	find_name();
}

const struct cpuid_features *cpuid_features(void)
{
	return &features;
}

bool cpuid_leaf(uint32_t n, uint32_t r[4])
{
	if (cpuid(n & 0x80000000u).a < n)
		return false;
	struct leaf l = cpuid(n);
	memcpy(r, &l, sizeof l);
	return true;
}
