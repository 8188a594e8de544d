/* The processor and the interrupt controllers. Interrupts only wake the processor: their
 * stubs mask the line, acknowledge it and return. Polling finds the work. */
#ifndef KERNEL_X86_CPU_H
#define KERNEL_X86_CPU_H

#include "kernel/lib/bytes.h"

/* Sets up GDT, IDT, exceptions, the PICs with all lines masked, and paging. After
 * boot_init, before everything else. */
void cpu_init(void);

/* True when interrupt line `irq` (0-15) came since it was last unmasked, or was never
 * unmasked. A cheap hint before expensive polling. True for an `irq` out of range. */
bool cpu_irq_fired(uint8_t irq);

/* The lines for which cpu_irq_fired is true, a bit each, and CPU_IRQ_NONE. */
uint32_t cpu_irq_lines(void);
#define CPU_IRQ_NONE 0x10000u /* stands for no line */

/* Lets interrupt line `irq` (0-15) wake the processor once more. Does nothing for an `irq`
 * out of range. */
void cpu_irq_unmask(uint8_t irq);

/* Gives the number of non-maskable interrupts for which the chipset gave no reason. With a
 * reason (memory parity, channel check) there is a panic. */
uint32_t cpu_nmis(void);

/* Disables interrupts; for the idle path only. */
void cpu_irq_off(void);
/* Enables interrupts; for the idle path only. */
void cpu_irq_on(void);

/* The state that the processor saves in a double fault: a task state segment (SDM vol. 3,
 * 7.2.1). */
struct cpu_task {
	uint32_t link, esp0, ss0, esp1, ss1, esp2, ss2, cr3, eip, eflags;
	uint32_t eax, ecx, edx, ebx, esp, ebp, esi, edi;
	uint32_t es, cs, ss, ds, fs, gs, ldt, iomap;
};
/* Gives the state that the last double fault interrupted. */
const struct cpu_task *cpu_task_state(void);

/* Enables interrupts and halts until one comes, atomically. Returns with interrupts
 * enabled. Does not halt before the first tick has shown that interrupts arrive. */
void cpu_halt(void);

/* Halts with interrupts off and never returns. */
void cpu_stop(void) __attribute__((noreturn));

/* Resets the processor by a triple fault, which works even if power_restart does not. */
void cpu_reset(void) __attribute__((noreturn));

/* Raises a CPU exception by a write to address 0x10. This and the following functions are
 * for tests (debug=on). */
void cpu_crash(void);
/* Raises a CPU exception by a write to code. */
void cpu_crash_text(void);
/* Raises a CPU exception by executing data. Returns on a processor without NX. */
void cpu_crash_data(void);
/* Raises a CPU exception by filling the stack. */
void cpu_crash_stack(void);

#endif
