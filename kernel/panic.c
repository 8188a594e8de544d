/* See panic.h. Exceptions and the watchdog (trap.S) also end here.
 *
 * Everything here is polled and bounded, and depends on as little as possible. A second
 * panic inside the first only reports that; a third one restarts at once. */
#include "kernel/seam/panic.h"

#include "drivers/usb/usb.h"
#include "kernel/x86/clock.h"
#include "kernel/console/console.h"
#include "kernel/x86/cpu.h"
#include "kernel/lib/fmt.h"
#include "kernel/x86/image.h"
#include "kernel/seam/io.h"
#include "kernel/lib/pkt.h"
#include "kernel/x86/power.h"
#include "kernel/x86/symbols.h"
#include "kernel/x86/trap.h"
#include "kernel/console/uart.h"
#include "kernel/console/vga.h"

#define FRAMES 24 /* most return addresses shown */
#define LINE   160
#define WAIT_S 10
#define RED    0x4f /* white on red */
#define PORT_B 0x61 /* reason of an NMI: bit 7 memory parity, bit 6 bus error */

static unsigned depth;

static const char *const names[TRAP_EXCEPTIONS] = {
        "divide error",
        "debug",
        "non-maskable interrupt",
        "breakpoint",
        "overflow",
        "bound range",
        "invalid opcode",
        "no coprocessor",
        "double fault",
        "coprocessor overrun",
        "invalid task state",
        "segment not present",
        "stack segment",
        "general protection",
        "page fault",
        "vector 15",
        "floating point",
        "alignment check",
        "machine check",
        "SIMD floating point",
};

static void put(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\n')
			uart_send_now('\r');
		uart_send_now((uint8_t)*text);
		vga_put((uint8_t)*text);
	}
}

static void print(const char *format, ...) PRINTF_LIKE(1, 2);
static void print(const char *format, ...)
{
	char line[LINE];
	va_list args;
	va_start(args, format);
	fmt_v(line, sizeof line, format, args);
	va_end(args);
	put(line);
}

/* Prints an address with its function. `back` is 1 for a return address: then the function
 * is that of the call before it, which may be the caller's last instruction. */
static void print_place(uint32_t at, uint32_t back)
{
	uint32_t offset;
	const char *name = symbols_name(at - back, &offset);
	if (name)
		print("%08x %s+0x%x\n", at, name, offset + back);
	else
		print("%08x\n", at);
}

static bool on_stack(uint32_t at)
{
	bool main = at >= (uintptr_t)stack_bottom && at <= (uintptr_t)stack_top - 8;
	bool fault = at >= (uintptr_t)fault_stack_bottom && at <= (uintptr_t)fault_stack_top - 8;
	return at % 4 == 0 && (main || fault);
}

/* True when a word of the stack can be a return address: it points into the text segment,
 * directly behind a call. */
static bool is_behind_call(uint32_t at)
{
	static const uint8_t lengths[] = {2, 3, 4, 6, 7}; /* lengths of CALL r/m32 (SDM vol. 2) */
	const uint8_t *b = (const uint8_t *)(uintptr_t)at;
	uint32_t offset;
	if (!symbols_name(at - 1, &offset))
		return false;
	if (b[-5] == 0xe8) /* CALL rel32 */
		return true;
	for (unsigned i = 0; i < sizeof lengths; i++)
		if (b[-lengths[i]] == 0xff && (b[1 - lengths[i]] & 0x38) == 0x10)
			return true;
	return false;
}

/* Prints the return addresses on the stack from `esp` upwards. Functions have no frame
 * pointer, because it would cost one instruction in twenty. So the backtrace also shows
 * addresses that earlier calls left on the stack. */
static void print_backtrace(uint32_t esp)
{
	unsigned n = 0;
	for (; n < FRAMES && on_stack(esp); esp += 4) {
		uint32_t at = *(const uint32_t *)(uintptr_t)esp;
		if (!is_behind_call(at))
			continue;
		put("  ");
		print_place(at, 1);
		n++;
	}
}

/* Begins every panic. Returns only in the first one. */
static void begin(void)
{
	cpu_irq_off();
	depth++;
	if (depth >= 3)
		cpu_reset();
	if (depth == 1)
		console_flush();
	vga_colour(RED);
	if (depth == 2) {
		put("\npanic inside a panic\n");
		vga_flush();
		power_restart();
	}
	put("\n*** ");
}

static void end(void) __attribute__((noreturn));
static void end(void)
{
	bool wait = !power_debug_exit();
	if (wait)
		print("restart in %d s\n", WAIT_S);
	vga_flush();
	/* Waits by the clock, and also counts in case the clock does not run. */
	uint64_t start = clock_now_us();
	for (unsigned ms = 0; wait && ms < WAIT_S * 1000; ms++) {
		io_delay_us(1000);
		if (clock_now_us() - start > WAIT_S * 1000000u)
			break;
	}
	usb_stop(); /* else its transfers go on into the memory of the next system */
	power_restart();
}

void panic(const char *format, ...)
{
	begin();
	char line[LINE];
	va_list args;
	va_start(args, format);
	fmt_v(line, sizeof line, format, args);
	va_end(args);
	print("panic: %s\ncalled from\n", line);
	print_backtrace((uintptr_t)&args);
	end();
}

/* Prints the registers and the backtrace. */
static void print_state(const struct trap_frame *f, uint32_t esp)
{
	print("eax %08x  ebx %08x  ecx %08x  edx %08x\n", f->eax, f->ebx, f->ecx, f->edx);
	print("esi %08x  edi %08x  ebp %08x  esp %08x\n", f->esi, f->edi, f->ebp, esp);
	print("eip %08x  eflags %08x  cs %04x\ncalled from\n", f->eip, f->eflags, f->cs & 0xffff);
	print_backtrace(esp);
}

static uint32_t fault_address(void)
{
	uint32_t cr2;
	__asm__ volatile("movl %%cr2, %0" : "=r"(cr2));
	return cr2;
}

/* Prints the meaning of a page fault's error code (SDM vol. 3, 4.7). */
static void print_page_fault(uint32_t error)
{
	uint32_t at = fault_address();
	const char *what = error & 16 ? "execution of" : error & 2 ? "write to" : "read of";
	print("%s %08x, %s\n", what, at, error & 1 ? "not allowed" : "not mapped");
}

static void print_exception(const struct trap_frame *f, uint32_t esp)
{
	const char *name = f->vector < TRAP_EXCEPTIONS ? names[f->vector] : NULL;
	print("panic: exception %u (%s), error code %04x, at ", f->vector, name ? name : "?",
	      f->error);
	print_place(f->eip, 0);
	if (f->vector == TRAP_PAGE_FAULT)
		print_page_fault(f->error);
	if (f->vector == 2)
		print("I/O port 0x61 reads %02x\n", io_in8(PORT_B));
	print_state(f, esp);
}

void panic_trap(const struct trap_frame *f)
{
	begin();
	if (f->vector == TRAP_WATCHDOG) {
		print("watchdog: no progress for %u ms, at ", clock_watchdog_ms());
		print_place(f->eip, 0);
	}
	/* The processor pushed no ESP, because the stack did not change. */
	uint32_t esp = (uintptr_t)&f->eflags + 4;
	if (f->vector == TRAP_WATCHDOG) {
		print_state(f, esp);
	} else {
		print_exception(f, esp);
	}
	end();
}

void panic_double_fault(void)
{
	begin();
	const struct cpu_task *t = cpu_task_state();
	struct trap_frame f = {
	        .edi = t->edi,
	        .esi = t->esi,
	        .ebp = t->ebp,
	        .ebx = t->ebx,
	        .edx = t->edx,
	        .ecx = t->ecx,
	        .eax = t->eax,
	        .vector = TRAP_DOUBLE_FAULT,
	        .eip = t->eip,
	        .cs = t->cs,
	        .eflags = t->eflags,
	};
	uint32_t at = fault_address();
	if (at >= (uintptr_t)stack_guard && at < (uintptr_t)stack_bottom)
		print("stack overflow: the guard page was reached at %08x\n", at);
	print_exception(&f, t->esp);
	end();
}

void pkt_double_free(const struct pkt *p)
{
	panic("packet %p freed twice (mark %08x)", (const void *)p, p->owned);
}
