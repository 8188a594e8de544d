/* The processor and the interrupt controller. Interrupts only wake: their
 * stubs mask the line, acknowledge and return; the work is found by polling. */
#ifndef KERNEL_X86_CPU_H
#define KERNEL_X86_CPU_H

#include "kernel/lib/bytes.h"

/* GDT, IDT, exceptions, PIC with all lines masked, paging. After boot_init,
 * before everything else. */
void cpu_init(void);

/* Whether line `irq` came since it was last unmasked (or never was unmasked):
 * a cheap hint for whom polling is expensive. Out of range: true. */
bool cpu_irq_fired(uint8_t irq);

/* Lets line `irq` (0-15) wake the processor once more; out of range: nothing. */
void cpu_irq_unmask(uint8_t irq);

/* Interrupts off and on, for the idle path only. */
void cpu_irq_off(void);
void cpu_irq_on(void);

/* The state that the processor saves when a double fault interrupts everything:
 * a task state segment (SDM vol. 3, 7.2.1). */
struct cpu_task {
	uint32_t link, esp0, ss0, esp1, ss1, esp2, ss2, cr3, eip, eflags;
	uint32_t eax, ecx, edx, ebx, esp, ebp, esi, edi;
	uint32_t es, cs, ss, ds, fs, gs, ldt, iomap;
};
const struct cpu_task *cpu_task_state(void);

/* Atomically enables interrupts and halts until one comes; returns with
 * interrupts enabled. Does not halt before the first tick has shown that
 * interrupts arrive. */
void cpu_halt(void);

/* Raise a CPU exception, for tests (debug=on): by a write to address 0x10, by one
 * to code, by executing data (returns on a processor without NX), and by a stack
 * without end. */
void cpu_crash(void);
void cpu_crash_text(void);
void cpu_crash_data(void);
void cpu_crash_stack(void);

#endif
