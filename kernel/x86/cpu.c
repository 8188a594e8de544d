/* See cpu.h. Segments, the interrupt descriptor table and the PICs (Intel SDM vol. 3,
 * chapters 3, 6, 7; 8259A data sheet).
 *
 * The handler of a double fault is a task with its own stack. A stack overflow into the
 * guard page becomes a double fault, and then the old stack is unusable. Left out on
 * purpose: rings other than 0, the local APIC, more than one processor. */
#include "kernel/x86/cpu.h"

#include "kernel/x86/cpuid.h"
#include "kernel/x86/image.h"
#include "kernel/seam/io.h"
#include "kernel/x86/mem.h"
#include "kernel/seam/panic.h"
#include "kernel/x86/trap.h"

enum { SEL_CODE = 0x08, SEL_DATA = 0x10, SEL_TASK = 0x18, SEL_FAULT = 0x20 };
enum { PIC1 = 0x20, PIC2 = 0xa0 };
enum { GATE_TASK = 0x85, GATE_INTERRUPT = 0x8e };
#define CASCADE 2 /* the master PIC's line for the slave */

/* Flat segments of 4 GB. The accessed bit is set so that the processor need not write it. */
static uint64_t gdt[5] = {0, 0x00cf9b000000ffffull, 0x00cf93000000ffffull};
static uint64_t idt[TRAP_VECTORS];
static struct cpu_task task, fault_task;

struct __attribute__((packed)) table {
	uint16_t limit;
	uint32_t base;
};

static uint64_t task_descriptor(const struct cpu_task *t)
{
	uint64_t base = (uintptr_t)t;
	return (sizeof *t - 1) | (base & 0xffffff) << 16 | 0x89ull << 40 | (base >> 24) << 56;
}

static uint64_t gate(uint16_t selector, uint32_t offset, uint8_t type)
{
	return (offset & 0xffff) | (uint64_t)selector << 16 | (uint64_t)type << 40 |
	       (uint64_t)(offset >> 16) << 48;
}

static void segments_init(void)
{
	task.iomap = sizeof task << 16;
	fault_task = (struct cpu_task){
	        .eip = (uintptr_t)panic_double_fault,
	        .eflags = 2,
	        .esp = (uintptr_t)fault_stack_top - 16,
	        .cs = SEL_CODE,
	        .ss = SEL_DATA,
	        .ds = SEL_DATA,
	        .es = SEL_DATA,
	        .fs = SEL_DATA,
	        .gs = SEL_DATA,
	        .iomap = sizeof fault_task << 16,
	};
	gdt[SEL_TASK / 8] = task_descriptor(&task);
	gdt[SEL_FAULT / 8] = task_descriptor(&fault_task);
	struct table gdtr = {sizeof gdt - 1, (uintptr_t)gdt};
	__asm__ volatile("lgdt %0\n\t"
	                 "ljmp %1, $1f\n"
	                 "1:\n\t"
	                 "movl %2, %%ds\n\t"
	                 "movl %2, %%es\n\t"
	                 "movl %2, %%fs\n\t"
	                 "movl %2, %%gs\n\t"
	                 "movl %2, %%ss\n\t"
	                 "ltr %w3"
	                 :
	                 : "m"(gdtr), "i"(SEL_CODE), "r"(SEL_DATA), "r"(SEL_TASK)
	                 : "memory");
}

static void interrupts_init(void)
{
	for (unsigned i = 0; i < TRAP_VECTORS; i++)
		idt[i] = gate(SEL_CODE, trap_stub[i], GATE_INTERRUPT);
	idt[TRAP_DOUBLE_FAULT] = gate(SEL_FAULT, 0, GATE_TASK);
	struct table idtr = {sizeof idt - 1, (uintptr_t)idt};
	__asm__ volatile("lidt %0" : : "m"(idtr));
}

/* Vectors from 32 on, cascade, 8086 mode (8259A data sheet, ICW1 to ICW4). */
static void pic_init(void)
{
	io_out8(PIC1, 0x11);
	io_out8(PIC2, 0x11);
	io_out8(PIC1 + 1, TRAP_EXCEPTIONS);
	io_out8(PIC2 + 1, TRAP_EXCEPTIONS + 8);
	io_out8(PIC1 + 1, 1 << CASCADE);
	io_out8(PIC2 + 1, CASCADE);
	io_out8(PIC1 + 1, 1);
	io_out8(PIC2 + 1, 1);
	trap_masked[0] = (uint8_t) ~(1u << CASCADE);
	trap_masked[1] = 0xff;
	io_out8(PIC1 + 1, trap_masked[0]);
	io_out8(PIC2 + 1, trap_masked[1]);
}

void cpu_init(void)
{
	cpuid_init();
	segments_init();
	interrupts_init();
	pic_init();
	mem_init();
	uint32_t cr3;
	__asm__ volatile("movl %%cr3, %0" : "=r"(cr3));
	fault_task.cr3 = cr3;
}

const struct cpu_task *cpu_task_state(void)
{
	return &task;
}

bool cpu_irq_fired(uint8_t irq)
{
	return irq > 15 || (trap_masked[irq / 8] >> (irq % 8) & 1) != 0;
}

uint32_t cpu_irq_lines(void)
{
	return CPU_IRQ_NONE | (uint32_t)trap_masked[1] << 8 | trap_masked[0];
}

void cpu_irq_unmask(uint8_t irq)
{
	if (irq > 15 || !cpu_irq_fired(irq))
		return;
	unsigned pic = irq / 8;
	uint32_t flags;
	/* Interrupts are off, because a stub between the two writes would lose its own mask
	 * bit. */
	__asm__ volatile("pushfl; popl %0; cli" : "=r"(flags) : : "memory");
	trap_masked[pic] &= (uint8_t) ~(1u << (irq % 8));
	io_out8(pic ? PIC2 + 1 : PIC1 + 1, trap_masked[pic]);
	__asm__ volatile("pushl %0; popfl" : : "r"(flags) : "memory", "cc");
}

uint32_t cpu_nmis(void)
{
	return trap_nmis;
}

void cpu_irq_off(void)
{
	__asm__ volatile("cli" : : : "memory");
}

void cpu_irq_on(void)
{
	__asm__ volatile("sti" : : : "memory");
}

void cpu_halt(void)
{
	/* The firmware may have disconnected the PIC from the processor (interrupts then go
	 * through an I/O APIC). A busy loop is better than a halt without end. */
	if (trap_ticks == 0) {
		cpu_irq_on();
		return;
	}
	/* STI delays interrupts for one more instruction, so none can come between the two
	 * (SDM vol. 2, STI). */
	__asm__ volatile("sti; hlt" : : : "memory");
}

void cpu_stop(void)
{
	for (;;)
		__asm__ volatile("cli; hlt");
}

void cpu_reset(void)
{
	/* An exception without a usable interrupt table ends in a shutdown cycle, and a PC
	 * then resets (SDM vol. 3, 6.15, double fault). */
	struct table none = {0};
	__asm__ volatile("lidt %0; int3" : : "m"(none));
	cpu_stop();
}

void cpu_crash(void)
{
	__asm__ volatile("movl $0, 16" : : : "memory"); /* page 0 is not mapped */
}

void cpu_crash_text(void)
{
	__asm__ volatile("movb $0x90, cpu_crash" : : : "memory");
}

void cpu_crash_data(void)
{
	static volatile uint8_t code[] = {
	        0xc3}; /* RET: if the processor may execute it, nothing happens */
	__asm__ volatile("call *%0" : : "r"(code) : "memory");
}

void cpu_crash_stack(void)
{
	__asm__ volatile("1: push %%eax; jmp 1b" : : : "memory");
}
