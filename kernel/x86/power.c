/* See power.h. ACPI specification 6.5: event registers 4.8.3.1 and 4.8.4.1, sleeping 4.8.3.2
 * and 7.4.2, reset register 4.8.3.6. The tables are searched only when they are needed, because
 * power-off and restart each happen once.
 *
 * A restart tries one way after the other: a way that does not exist has no effect. There is no
 * inline assembly here, so that the tests run this file on the host.
 *
 * QEMU's isa-debug-exit port reads as 0; an unused port reads as all ones. On a PC, 0xf4 is
 * an unused port in the coprocessor's range, so a write does nothing even if the port
 * should read as 0. */
#include "kernel/x86/power.h"

#include "kernel/board/acpi_tables.h"
#include "kernel/x86/cpu.h"
#include "kernel/seam/io.h"
#include "kernel/board/pci.h"

#define DEBUG_EXIT 0xf4
#define DEBUG_OFF  0x10 /* QEMU's exit status: 2 * 0x10 + 1 = 33 */

/* Offsets in the fixed description table (5.2.9). */
enum { FADT_SMI = 48, FADT_ENABLE = 52, FADT_PM1A_EVENT = 56, FADT_PM1B_EVENT = 60 };
enum { FADT_PM1A = 64, FADT_PM1B = 68, FADT_GPE0 = 80, FADT_GPE1 = 84 };
enum { FADT_GPE0_BYTES = 92, FADT_GPE1_BYTES = 93 };
enum { FADT_FLAGS = 112, FADT_RESET = 116, FADT_RESET_VALUE = 128 };
enum { FADT_X_PM1A_EVENT = 148, FADT_X_PM1B_EVENT = 160, FADT_X_PM1A = 172, FADT_X_PM1B = 184 };
enum { FADT_X_GPE0 = 220, FADT_X_GPE1 = 232 };
enum { FLAG_RESET = 1 << 10, SPACE_MEMORY = 0, SPACE_IO = 1 };
enum { SCI_ENABLED = 1, SLEEP_SHIFT = 10, SLEEP_ENABLE = 1 << 13, SLEEP_BITS = 7 << 10 };
enum { KBC_STATUS = 0x64, KBC_RESET = 0xfe, KBC_BUSY = 2 };
#define KBC_TRIES 10
/* The reset register of PC chipsets: the reset comes when RESET_NOW changes from 0 to 1. Where
 * it does not exist, a byte written there has no effect (PIIX3 data sheet, 290550, RC). */
enum { RESET_CONTROL = 0xcf9, RESET_HARD = 2, RESET_NOW = 4 };

bool power_debug_exit(void)
{
	return io_in8(DEBUG_EXIT) == 0;
}

/* Enables ACPI mode; before, the firmware ignores the sleep register (4.8.2.5). Waits at
 * most 3 s. */
static void acpi_enable(const struct acpi_table *fadt, uint16_t pm1a)
{
	uint32_t smi = load32(fadt->p + FADT_SMI);
	uint8_t value = fadt->p[FADT_ENABLE];
	if (io_in16(pm1a) & SCI_ENABLED || smi == 0 || smi > 0xffff || value == 0)
		return;
	io_out8((uint16_t)smi, value);
	for (unsigned ms = 0; ms < 3000 && !(io_in16(pm1a) & SCI_ENABLED); ms++)
		io_delay_us(1000);
}

/* Disables the general-purpose events of a block, and clears them. The first half of its
 * `bytes` bytes is the status, where a one clears a bit, the second half the enable bits
 * (4.8.4.1). Port 0: nothing. */
static void clear_events(uint16_t port, uint32_t bytes)
{
	for (uint32_t i = bytes / 2; port != 0 && i < bytes; i++)
		io_out8((uint16_t)(port + i), 0);
	for (uint32_t i = 0; port != 0 && i < bytes / 2; i++)
		io_out8((uint16_t)(port + i), 0xff);
}

/* Clears what would wake the machine at once: pending events, and the general-purpose events
 * that the firmware enabled. The power button and the firmware's alarm clock still wake it. */
static void clear_wake(const struct acpi_table *fadt)
{
	clear_events(acpi_tables_port(fadt, FADT_GPE0, FADT_X_GPE0), fadt->p[FADT_GPE0_BYTES]);
	clear_events(acpi_tables_port(fadt, FADT_GPE1, FADT_X_GPE1), fadt->p[FADT_GPE1_BYTES]);
	uint16_t pm1a = acpi_tables_port(fadt, FADT_PM1A_EVENT, FADT_X_PM1A_EVENT);
	uint16_t pm1b = acpi_tables_port(fadt, FADT_PM1B_EVENT, FADT_X_PM1B_EVENT);
	if (pm1a != 0)
		io_out16(pm1a, 0xffff);
	if (pm1b != 0)
		io_out16(pm1b, 0xffff);
}

/* Writes a sleep type, with or without the bit that starts the sleep. Port 0: nothing. */
static void sleep(uint16_t port, uint8_t type, uint16_t enable)
{
	if (port == 0)
		return;
	uint16_t v = (uint16_t)(io_in16(port) & ~(SLEEP_BITS | SLEEP_ENABLE));
	io_out16(port, (uint16_t)(v | type << SLEEP_SHIFT | enable));
}

static void acpi_off(void)
{
	struct acpi_table fadt = acpi_tables_fadt();
	uint8_t type[2];
	if (!fadt.p || !acpi_tables_s5(&fadt, type))
		return;
	uint16_t pm1a = acpi_tables_port(&fadt, FADT_PM1A, FADT_X_PM1A);
	uint16_t pm1b = acpi_tables_port(&fadt, FADT_PM1B, FADT_X_PM1B);
	if (pm1a == 0)
		return;
	acpi_enable(&fadt, pm1a);
	clear_wake(&fadt);
	/* Both registers have their type before the first one starts the sleep. */
	sleep(pm1a, type[0], 0);
	sleep(pm1b, type[1], 0);
	sleep(pm1a, type[0], SLEEP_ENABLE);
	sleep(pm1b, type[1], SLEEP_ENABLE);
	io_delay_us(500000);
}

static void acpi_reset(void)
{
	struct acpi_table fadt = acpi_tables_fadt();
	if (!fadt.p || fadt.len <= FADT_RESET_VALUE || !(load32(fadt.p + FADT_FLAGS) & FLAG_RESET))
		return;
	uint64_t at = acpi_tables_load64(fadt.p + FADT_RESET + 4);
	uint8_t value = fadt.p[FADT_RESET_VALUE];
	if (fadt.p[FADT_RESET] == SPACE_IO && at < 0x10000) {
		io_out8((uint16_t)at, value);
	} else if (fadt.p[FADT_RESET] == SPACE_MEMORY) {
		volatile void *p = mem_map(at, 1);
		if (p)
			mmio_write8(p, value);
	}
	io_delay_us(50000);
}

/* Disables bus mastering of all cards. The keyboard controller's reset may reset only the
 * processor, and then no card may write into memory that the next system uses. */
static void stop_bus_masters(void)
{
	uint32_t cursor = 0;
	struct pci_dev d;
	while (pci_next(&cursor, &d))
		if (d.class_code != 6) /* bridges */
			pci_cut(&d);
}

/* True on QEMU, which marks its host bridge: subsystem vendor 0x1af4, device 0x1100. */
static bool on_qemu(void)
{
	uint32_t cursor = 0;
	struct pci_dev d;
	while (pci_next(&cursor, &d))
		if (d.class_code == 6 && pci_read32(&d, 0x2c) == 0x11001af4)
			return true;
	return false;
}

void power_off(void)
{
	cpu_irq_off();
	stop_bus_masters();
	if (power_debug_exit())
		io_out8(DEBUG_EXIT, DEBUG_OFF);
	acpi_off();
	if (on_qemu()) { /* QEMU's power management ports, for firmware without ACPI tables */
		io_out16(0x604, SLEEP_ENABLE);
		io_out16(0xb004, SLEEP_ENABLE);
		io_delay_us(100000);
	}
}

/* Asks the keyboard controller for a reset of the processor. Not each controller hears the
 * first time. */
static void kbc_reset(void)
{
	for (unsigned try = 0; try < KBC_TRIES; try++) {
		for (unsigned i = 0; i < 10000 && io_in8(KBC_STATUS) & KBC_BUSY; i++)
			io_delay_us(1);
		io_out8(KBC_STATUS, KBC_RESET);
		io_delay_us(5000);
	}
}

static void chipset_reset(void)
{
	uint8_t v = (uint8_t)(io_in8(RESET_CONTROL) & ~(RESET_HARD | RESET_NOW));
	io_out8(RESET_CONTROL, v | RESET_HARD);
	io_delay_us(50);
	io_out8(RESET_CONTROL, v | RESET_HARD | RESET_NOW);
	io_delay_us(50000);
}

void power_restart(void)
{
	cpu_irq_off();
	stop_bus_masters();
	acpi_reset();
	kbc_reset();
	chipset_reset();
	cpu_reset();
}
