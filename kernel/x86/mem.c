/* See mem.h. The processor's paging (Intel SDM vol. 3, chapter 4): PAE if the processor
 * has it, for NX and for devices above 4 GB; else 32-bit tables.
 *
 * Memory is mapped one to one: the memory that the loader's map calls available,
 * and the first MiB except page 0. Addresses that are not in this list are unmapped:
 *
 *   0                 nothing: a null pointer faults
 *   4 KiB - 640 KiB   firmware data, read and write
 *   640 - 768 KiB     the screen, uncached
 *   768 KiB - 1 MiB   ROMs and ACPI tables, read only
 *   text              read only, executable
 *   read-only data    read only
 *   data, RAM         read and write
 *   stack_guard       nothing
 *   MEM_WINDOW - end  windows of mem_map, uncached, and of mem_map_frame, write combining
 *
 * An entry never changes once it is present, so the TLB need not be flushed.
 * Left out on purpose: unmapping, user mode. */
#include "kernel/x86/mem.h"

#include "kernel/lib/alloc.h"
#include "kernel/x86/cpuid.h"
#include "kernel/x86/image.h"
#include "kernel/seam/io.h"
#include "kernel/seam/panic.h"

#define PAGE       4096u
#define WINDOW_END 0xfffff000u
#define ADDRESS    0x000ffffffffff000ull /* address bits of an entry */

enum { PRESENT = 1, WRITE = 2, WRITE_THROUGH = 8, UNCACHED = 0x10, LARGE = 0x80 };
#define NO_EXECUTE (1ull << 63)
enum { CR4_PSE = 1 << 4, CR4_PAE = 1 << 5 };
#define CR0_WP   (1u << 16)
#define CR0_NW   (1u << 29)
#define CR0_CD   (1u << 30)
#define CR0_PG   (1u << 31)
#define PAT      0x277u
#define EFER     0xc0000080u
#define EFER_NXE (1u << 11)

/* The memory types by the bits WRITE_THROUGH and UNCACHED of an entry (SDM vol. 3, 11.12). Write
 * combining (1) stands in the place of write-through; the rest is as after a reset: write-back,
 * uncached unless the MTRRs say write combining, uncached. */
#define PAT_TYPES 0x00070106u

static struct multiboot_map memory;
static uint8_t *directory; /* one with 32-bit entries, or four in a row with 64-bit entries */
static bool pae;
static uint32_t large;      /* bytes of a large page; 0: none */
static uint64_t no_execute; /* NO_EXECUTE, or 0 without NX */
static uint32_t window = MEM_WINDOW;

void mem_ram(const struct multiboot_map *ram)
{
	memory = *ram;
}

static uint64_t entry_get(const uint8_t *table, uint32_t i)
{
	const uint32_t *e = (const uint32_t *)(const void *)table;
	return pae ? (uint64_t)e[2 * i + 1] << 32 | e[2 * i] : e[i];
}

static void entry_set(uint8_t *table, uint32_t i, uint64_t v)
{
	volatile uint32_t *e = (volatile uint32_t *)(void *)table;
	if (pae) { /* write the half with the present bit last */
		e[2 * i + 1] = (uint32_t)(v >> 32);
		e[2 * i] = (uint32_t)v;
	} else {
		e[i] = (uint32_t)v;
	}
}

static uint32_t directory_index(uint32_t at)
{
	return at >> (pae ? 21 : 22);
}

/* Maps one page. False when there is no memory for its table. */
static bool map_page(uint32_t at, uint64_t phys, uint64_t flags)
{
	uint32_t i = directory_index(at);
	uint64_t e = entry_get(directory, i);
	if (!(e & PRESENT)) {
		uint8_t *table = alloc(PAGE, PAGE);
		if (!table)
			return false;
		e = (uintptr_t)table | PRESENT | WRITE;
		entry_set(directory, i, e);
	}
	uint8_t *table = (uint8_t *)(uintptr_t)(e & ADDRESS);
	entry_set(table, (at / PAGE) % (pae ? 512 : 1024), phys | PRESENT | flags);
	return true;
}

/* Maps memory one to one. */
static void map(uint32_t at, uint32_t end, uint64_t flags)
{
	while (at < end) {
		if (large != 0 && at % large == 0 && end - at >= large) {
			entry_set(directory, directory_index(at), at | PRESENT | LARGE | flags);
			at += large;
			continue;
		}
		if (!map_page(at, at, flags))
			panic("no memory for page tables");
		at += PAGE;
	}
}

static uint32_t address(const uint8_t *symbol)
{
	return (uintptr_t)symbol;
}

static void map_image(void)
{
	uint32_t end = (address(image_end) + PAGE - 1) & ~(PAGE - 1);
	map(PAGE, 0xa0000, WRITE | no_execute);
	map(0xa0000, 0xc0000, WRITE | UNCACHED | WRITE_THROUGH | no_execute);
	map(0xc0000, address(image_start), no_execute);
	map(address(image_start), address(image_text_end), 0);
	map(address(image_text_end), address(image_rodata_end), no_execute);
	map(address(image_rodata_end), address(stack_guard), WRITE | no_execute);
	map(address(stack_guard) + PAGE, end, WRITE | no_execute);
	multiboot_cut(&memory, 0, end);
}

/* Allocates the directory and gives the value for CR3. PAE has four directories, and a
 * table of four entries that point to them. */
static uint32_t make_directory(void)
{
	uint32_t n = pae ? 4 : 1;
	directory = alloc(n * PAGE, PAGE);
	uint8_t *top = directory;
	if (directory && pae)
		top = alloc(4 * sizeof(uint64_t), 32);
	if (!directory || !top)
		panic("no memory for page tables");
	for (uint32_t i = 0; pae && i < n; i++)
		entry_set(top, i, address(directory + i * PAGE) | PRESENT);
	return address(top);
}

static void turn_on(uint32_t cr3)
{
	uint32_t cr0, cr4;
	__asm__ volatile("movl %%cr4, %0" : "=r"(cr4));
	cr4 |= pae ? CR4_PAE : large ? CR4_PSE : 0;
	if (cr4 != 0) /* the register exists if the processor has one of these features */
		__asm__ volatile("movl %0, %%cr4" : : "r"(cr4));
	if (no_execute) {
		uint32_t low, high;
		__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(EFER));
		__asm__ volatile("wrmsr" : : "a"(low | EFER_NXE), "d"(high), "c"(EFER));
	}
	if (cpuid_features()->pat)
		__asm__ volatile("wrmsr" : : "a"(PAT_TYPES), "d"(PAT_TYPES), "c"(PAT));
	__asm__ volatile("movl %0, %%cr3" : : "r"(cr3) : "memory");
	__asm__ volatile("movl %%cr0, %0" : "=r"(cr0));
	cr0 = (cr0 & ~(CR0_CD | CR0_NW)) | CR0_PG | CR0_WP;
	__asm__ volatile("movl %0, %%cr0" : : "r"(cr0) : "memory");
}

void mem_init(void)
{
	const struct cpuid_features *cpu = cpuid_features();
	pae = cpu->pae;
	no_execute = cpu->nx ? NO_EXECUTE : 0;
	large = pae ? 2u << 20 : cpu->pse ? 4u << 20 : 0;
	uint32_t cr3 = make_directory();
	map_image();
	for (uint32_t i = 0; i < memory.n; i++)
		map(memory.range[i].base, memory.range[i].end, WRITE | no_execute);
	turn_on(cr3);
}

/* Maps a window; `type` is the memory type of its entries. */
static volatile void *map_window(uint64_t phys, size_t size, uint64_t type)
{
	const struct cpuid_features *cpu = cpuid_features();
	uint32_t skip = (uint32_t)phys % PAGE;
	uint64_t limit = 1ull << (directory && cpu->phys_bits ? cpu->phys_bits : 32);
	if (size == 0 || phys >= limit || size > limit - phys)
		return NULL;
	if (!directory) /* before paging is on; only a panic calls this then */
		return (volatile void *)(uintptr_t)phys;
	if (size > WINDOW_END - MEM_WINDOW)
		return NULL;
	uint32_t pages = (uint32_t)((skip + size + PAGE - 1) / PAGE);
	if (pages > (WINDOW_END - window) / PAGE)
		return NULL;
	uint32_t base = window;
	phys -= skip;
	for (uint32_t i = 0; i < pages; i++)
		if (!map_page(base + i * PAGE, phys + (uint64_t)i * PAGE,
		              WRITE | type | no_execute))
			return NULL;
	window = base + pages * PAGE;
	return (volatile uint8_t *)(uintptr_t)base + skip;
}

volatile void *mem_map(uint64_t phys, size_t size)
{
	return map_window(phys, size, UNCACHED | WRITE_THROUGH);
}

volatile void *mem_map_frame(uint64_t phys, size_t size)
{
	return map_window(phys, size, cpuid_features()->pat ? WRITE_THROUGH : UNCACHED);
}

void mem_flush_tlb(void)
{
	uint32_t cr3;
	if (!cpuid_features()->translated)
		return;
	__asm__ volatile("movl %%cr3, %0\n\t"
	                 "movl %0, %%cr3"
	                 : "=r"(cr3)
	                 :
	                 : "memory");
}
