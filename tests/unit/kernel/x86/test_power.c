/* kernel/x86/power.c and kernel/board/acpi_tables.c on a model of a PC: ACPI tables in memory,
 * event, sleep and reset registers, a keyboard controller, and the chipset's reset register.
 * Section numbers are those of the ACPI specification 6.5. */
#include "kernel/seam/io.h"

#include <setjmp.h>
#include <stdbool.h>

#include "tests/tap.h"

static volatile void *model_map(uint64_t phys, size_t size);
static volatile void *window(uint64_t phys, size_t size)
{
	return mem_map(phys, size);
}
#define mem_map model_map
#include "kernel/board/acpi_tables.c"
#include "kernel/x86/power.c"
#undef mem_map

enum { SMI = 0xb2, SMI_ON = 0xa1 };
enum { EVENT_A = 0x400, CONTROL_A = 0x404, EVENT_B = 0x500, CONTROL_B = 0x504 };
enum { GPE0 = 0x420, GPE1 = 0x430, GPE_BYTES = 8, RESET_PORT = 0x92, RESET_VALUE = 0x5a };
enum { WAKE = 1 << 15, ALARM = 1 << 10 };
#define RESET_MEMORY 0xfed00000u

/* How a machine ends. */
enum end { RUNS, OFF, WOKEN, BY_ACPI, BY_KBC, BY_CHIPSET, BY_FAULT };

/* --- memory ------------------------------------------------------------------------------ */

enum { BIOS = 0xe0000, BIOS_BYTES = 0x20000, ROOT = 0x1230, MAPS = 256 };
static uint8_t bios[BIOS_BYTES];
static void *maps[MAPS];
static unsigned n_maps;

/* Gives a copy of exactly the bytes that were asked for, so that the sanitizer sees a read
 * behind them. */
static volatile void *model_map(uint64_t phys, size_t size)
{
	if (phys == RESET_MEMORY)
		return window(phys, size);
	if (n_maps == MAPS)
		return NULL;
	uint8_t *copy = maps[n_maps++] = calloc(1, size);
	if (phys >= BIOS && phys < BIOS + BIOS_BYTES && size <= BIOS + BIOS_BYTES - phys)
		memcpy(copy, bios + (phys - BIOS), size);
	return copy;
}

static uint32_t next_address;

static void add_sum(uint8_t *p, size_t len, size_t at)
{
	p[at] = 0;
	for (size_t i = 0; i < len; i++)
		p[at] = (uint8_t)(p[at] - (i == at ? 0 : p[i]));
}

/* Stores a table behind the others. Gives its address. */
static uint32_t table(const char *name, const void *body, size_t len)
{
	uint8_t *p = bios + (next_address - BIOS);
	memcpy(p, name, 4);
	store32(p + 4, (uint32_t)(ACPI_HEADER + len));
	memcpy(p + ACPI_HEADER, body, len);
	add_sum(p, ACPI_HEADER + len, 9);
	uint32_t at = next_address;
	next_address += 0x400;
	return at;
}

/* --- ports ------------------------------------------------------------------------------- */

static struct machine {
	/* What exists. */
	bool acpi, two_blocks, legacy, long_list;
	bool by_loader;          /* no root pointer in the BIOS's memory: the boot loader gave it */
	const char *dsdt, *ssdt; /* AML; NULL: no table */
	bool reset_port, reset_memory;
	unsigned kbc_deaf; /* how many reset commands the controller does not hear */
	bool no_kbc, no_chipset;
	/* State. */
	uint16_t status[2], enable[2], control[2];
	uint8_t gpe_status[2][GPE_BYTES / 2], gpe_enable[2][GPE_BYTES / 2];
	uint8_t chipset;
	unsigned kbc_commands;
} m;
static jmp_buf ended;

static void end(enum end how)
{
	longjmp(ended, (int)how);
}

static bool gpe_pending(void)
{
	for (unsigned i = 0; i < GPE_BYTES; i++)
		if (m.gpe_status[i / 4][i % 4] & m.gpe_enable[i / 4][i % 4])
			return true;
	return false;
}

/* The machine sleeps when all its control registers say so with the right type (4.8.3.2). */
static void check_sleep(void)
{
	static const uint8_t type[2] = {5, 6};
	for (unsigned i = 0; i < (m.two_blocks ? 2u : 1u); i++)
		if (!(m.control[i] & SLEEP_ENABLE) || (m.control[i] >> 10 & 7) != type[i])
			return;
	bool pm1 = (m.status[0] & (m.enable[0] | WAKE)) || (m.status[1] & (m.enable[1] | WAKE));
	end(pm1 || gpe_pending() ? WOKEN : OFF);
}

static void write_control(unsigned block, uint32_t v)
{
	if (!(m.control[0] & SCI_ENABLED) && m.legacy)
		return; /* 4.8.2.5 */
	m.control[block] = (uint16_t)v;
	check_sleep();
}

static void write_gpe(unsigned block, unsigned at, uint32_t v)
{
	if (at < GPE_BYTES / 2)
		m.gpe_status[block][at] &= (uint8_t)~v;
	else
		m.gpe_enable[block][at - GPE_BYTES / 2] = (uint8_t)v;
}

static void write_chipset(uint32_t v)
{
	bool edge = !(m.chipset & RESET_NOW) && v & RESET_NOW;
	m.chipset = (uint8_t)v;
	if (edge && !m.no_chipset)
		end(BY_CHIPSET);
}

static void port_out(void *ctx, uint16_t port, unsigned size, uint32_t v)
{
	(void)ctx;
	if (port == SMI && v == SMI_ON)
		m.control[0] |= SCI_ENABLED;
	else if (port == EVENT_A && size == 2)
		m.status[0] &= (uint16_t)~v;
	else if (port == EVENT_B && size == 2)
		m.status[1] &= (uint16_t)~v;
	else if (port == CONTROL_A && size == 2)
		write_control(0, v);
	else if (port == CONTROL_B && size == 2)
		write_control(1, v);
	else if (port >= GPE0 && port < GPE0 + GPE_BYTES && size == 1)
		write_gpe(0, port - GPE0, v);
	else if (port >= GPE1 && port < GPE1 + GPE_BYTES && size == 1)
		write_gpe(1, port - GPE1, v);
	else if (port == RESET_PORT && v == RESET_VALUE && m.reset_port)
		end(BY_ACPI);
	else if (port == KBC_STATUS && v == KBC_RESET && m.kbc_commands++ >= m.kbc_deaf &&
	         !m.no_kbc)
		end(BY_KBC);
	else if (port == RESET_CONTROL && size == 1)
		write_chipset(v);
}

static uint32_t port_in(void *ctx, uint16_t port, unsigned size)
{
	(void)ctx;
	if (port == CONTROL_A)
		return m.control[0];
	if (port == CONTROL_B)
		return m.control[1];
	if (port == KBC_STATUS && !m.no_kbc)
		return 0;
	if (port == RESET_CONTROL && size == 1)
		return m.chipset;
	return size == 4 ? 0xffffffffu : 0xffff;
}

static void mem_write(void *ctx, uint64_t phys, unsigned size, uint32_t v)
{
	(void)ctx;
	if (phys == RESET_MEMORY && size == 1 && v == RESET_VALUE)
		end(BY_ACPI);
}

void cpu_irq_off(void)
{
}

void cpu_reset(void)
{
	longjmp(ended, BY_FAULT);
}

/* --- the machine ------------------------------------------------------------------------- */

static uint32_t add_fadt(void)
{
	uint8_t p[244] = {0}; /* with room for the header: offsets are those of 5.2.9 */
	if (m.dsdt)
		store32(p + FADT_DSDT, table("DSDT", m.dsdt, strlen(m.dsdt)));
	store32(p + FADT_SMI, m.legacy ? SMI : 0);
	p[FADT_ENABLE] = SMI_ON;
	store32(p + 56, EVENT_A);
	store32(p + 64, CONTROL_A);
	if (m.two_blocks) {
		store32(p + 60, EVENT_B);
		store32(p + 68, CONTROL_B);
	}
	p[88] = 4;
	store32(p + 80, GPE0);
	p[92] = GPE_BYTES;
	p[232] = SPACE_IO; /* only the 64-bit field names this block */
	store32(p + 232 + 4, GPE1);
	p[93] = GPE_BYTES;
	if (m.reset_port || m.reset_memory) {
		store32(p + 112, 1 << 10);
		p[116] = m.reset_port ? SPACE_IO : SPACE_MEMORY;
		store32(p + 120, m.reset_port ? RESET_PORT : RESET_MEMORY);
		p[128] = RESET_VALUE;
	}
	return table("FACP", p + ACPI_HEADER, sizeof p - ACPI_HEADER);
}

static void add_tables(void)
{
	uint32_t entry[8], n = 0;
	entry[n++] = table("APIC", "", 0);
	entry[n++] = add_fadt();
	entry[n++] = table("SSDT", "nothing here", 12);
	if (m.ssdt)
		entry[n++] = table("SSDT", m.ssdt, strlen(m.ssdt));
	uint64_t wide[8];
	for (uint32_t i = 0; i < n; i++)
		wide[i] = entry[i];
	uint8_t *root = bios + ROOT;
	memcpy(root, "RSD PTR ", 8);
	if (m.long_list) {
		root[15] = 2;
		store32(root + 24, table("XSDT", wide, n * sizeof wide[0]));
	} else {
		store32(root + 16, table("RSDT", entry, n * sizeof entry[0]));
	}
	add_sum(root, 20, 8);
	if (m.by_loader) {
		acpi_tables_root(root, m.long_list ? ROOT_NEW : ROOT_OLD);
		memset(root, 0, ROOT_NEW);
	}
}

/* Runs a way to end the machine `with`. Gives how it ended. */
static enum end run(struct machine with, void (*way)(void))
{
	static const struct host_bus bus = {
	        .port_in = port_in, .port_out = port_out, .mem_write = mem_write};
	host_bus_set(&bus);
	m = with;
	memset(bios, 0, sizeof bios);
	next_address = BIOS + 0x2000;
	acpi_tables_root(NULL, 0);
	if (m.acpi)
		add_tables();
	enum end how = (enum end)setjmp(ended);
	if (how == RUNS)
		way();
	while (n_maps > 0)
		free(maps[--n_maps]);
	return how;
}

/* \_S5_ with the types 5 and 6. */
#define S5 "xx\x08_S5_\x12\x0a\x04\x0a\x05\x0a\x06"

/* --- tests ------------------------------------------------------------------------------- */

static void off(void)
{
	CHECK_EQ(run((struct machine){.acpi = true, .dsdt = S5}, power_off), OFF);
	CHECK_EQ(run((struct machine){.acpi = true, .dsdt = S5, .long_list = true}, power_off),
	         OFF);
	CHECK_EQ(run((struct machine){.acpi = true, .dsdt = S5, .legacy = true}, power_off), OFF);
	CHECK_EQ(run((struct machine){.acpi = true, .dsdt = S5, .two_blocks = true}, power_off),
	         OFF);
	CHECK_EQ(run((struct machine){0}, power_off), RUNS);
	CHECK_EQ(run((struct machine){.acpi = true}, power_off), RUNS);
	CHECK_EQ(run((struct machine){.acpi = true, .dsdt = "none"}, power_off), RUNS);
}

static void s5_in_a_secondary_table(void)
{
	CHECK_EQ(run((struct machine){.acpi = true, .dsdt = "none", .ssdt = S5}, power_off), OFF);
	CHECK_EQ(run((struct machine){.acpi = true,
	                              .dsdt = "none",
	                              .ssdt = S5,
	                              .long_list = true,
	                              .two_blocks = true},
	             power_off),
	         OFF);
	CHECK_EQ(run((struct machine){.acpi = true, .ssdt = S5}, power_off), OFF);
}

/* On UEFI the root pointer is only in what the boot loader hands over. */
static void a_root_pointer_by_the_loader(void)
{
	struct machine with = {.acpi = true, .dsdt = S5, .by_loader = true};
	CHECK_EQ(run(with, power_off), OFF);
	with.long_list = true;
	CHECK_EQ(run(with, power_off), OFF);
}

/* A copy that is damaged or cut short is not used: the one in the BIOS's memory is. */
static void a_damaged_root_pointer_by_the_loader(void)
{
	uint8_t root[ROOT_NEW] = "RSD PTR ";
	add_sum(root, 20, 8);
	acpi_tables_root(root, 20);
	CHECK_EQ(given[0], 'R');
	acpi_tables_root(root, 19);
	CHECK_EQ(given[0], 0);
	root[10] ^= 1;
	acpi_tables_root(root, 20);
	CHECK_EQ(given[0], 0);
	root[10] ^= 1;
	root[ROOT_REVISION] = 2;
	add_sum(root, 20, 8);
	acpi_tables_root(root, 35);
	CHECK_EQ(given[0], 0);
	acpi_tables_root(root, 36);
	CHECK_EQ(given[0], 'R');
}

/* Every event that is pending at the power-off wakes the machine if it is enabled; WAK_STS
 * does so always. */
static void pending_events(void)
{
	struct machine with = {.acpi = true, .dsdt = S5, .two_blocks = true};
	for (unsigned bit = 0; bit < 16; bit++)
		for (unsigned block = 0; block < 2; block++) {
			struct machine one = with;
			one.status[block] = one.enable[block] = (uint16_t)(1u << bit);
			CHECK_EQ(run(one, power_off), OFF);
			CHECK_EQ(m.enable[block], 1u << bit); /* the alarm clock stays */
		}
	for (unsigned i = 0; i < GPE_BYTES; i++) {
		struct machine one = with;
		one.gpe_status[i / 4][i % 4] = one.gpe_enable[i / 4][i % 4] = 0x81;
		CHECK_EQ(run(one, power_off), OFF);
		/* An event that comes later does not wake it either. */
		CHECK_EQ(m.gpe_enable[i / 4][i % 4], 0);
	}
}

static void restart_by_acpi(void)
{
	CHECK_EQ(run((struct machine){.acpi = true, .reset_port = true}, power_restart), BY_ACPI);
	CHECK_EQ(run((struct machine){.acpi = true, .reset_memory = true}, power_restart), BY_ACPI);
}

/* The keyboard controller does not hear the first commands. */
static void restart_by_the_keyboard_controller(void)
{
	for (unsigned deaf = 0; deaf < 8; deaf++)
		CHECK_EQ(run((struct machine){.kbc_deaf = deaf, .no_chipset = true}, power_restart),
		         BY_KBC);
	CHECK_EQ(run((struct machine){.acpi = true}, power_restart), BY_KBC);
}

static void restart_by_the_chipset(void)
{
	CHECK_EQ(run((struct machine){.no_kbc = true}, power_restart), BY_CHIPSET);
	CHECK_EQ(m.chipset & RESET_HARD, RESET_HARD);
	/* The bit may still be set from the last reset. */
	CHECK_EQ(run((struct machine){.no_kbc = true, .chipset = 0xff}, power_restart), BY_CHIPSET);
	CHECK_EQ(m.chipset, 0xff);
}

/* The last way, after a bounded time. */
static void restart_by_a_triple_fault(void)
{
	uint64_t began = host_now_us;
	struct machine with = {.no_kbc = true, .no_chipset = true};
	CHECK_EQ(run(with, power_restart), BY_FAULT);
	CHECK(host_now_us - began < 1000000);
}

int main(void)
{
	TEST(off);
	TEST(s5_in_a_secondary_table);
	TEST(a_root_pointer_by_the_loader);
	TEST(a_damaged_root_pointer_by_the_loader);
	TEST(pending_events);
	TEST(restart_by_acpi);
	TEST(restart_by_the_keyboard_controller);
	TEST(restart_by_the_chipset);
	TEST(restart_by_a_triple_fault);
	return tap_done();
}
