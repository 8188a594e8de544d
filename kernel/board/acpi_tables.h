/* The ACPI tables that the firmware left in memory (ACPI specification 6.5). */
#ifndef KERNEL_BOARD_ACPI_TABLES_H
#define KERNEL_BOARD_ACPI_TABLES_H

#include "kernel/lib/bytes.h"

/* A whole table with its header, whose checksum is right. */
struct acpi_table {
	const uint8_t *p; /* NULL: none */
	uint32_t len;
};

/* Gives the root pointer that the boot loader found (5.2.5.3), in `len` bytes, which are copied;
 * NULL: none. Without one, or with one that is damaged, the tables are found as on a BIOS
 * (5.2.5.1). */
void acpi_tables_root(const uint8_t *root, size_t len);

/* Finds the fixed ACPI description table (5.2.9). Its fields up to the flags exist. .p is NULL
 * when there is none. */
struct acpi_table acpi_tables_fadt(void);

/* Reads 64 bits, the lower half first. */
uint64_t acpi_tables_load64(const uint8_t *p);

/* Gives an I/O port that the fixed description table names: from the 32-bit field at offset `old`
 * or, if that is 0, from the generic address at offset `generic`. 0 when there is none. */
uint16_t acpi_tables_port(const struct acpi_table *fadt, uint32_t old, uint32_t generic);

/* Finds the sleep types of the state S5, for PM1a and PM1b: in the DSDT, or in a secondary table
 * (5.2.11). False when there are none. */
bool acpi_tables_s5(const struct acpi_table *fadt, uint8_t type[2]);

/* Gives the I/O port of the power management timer, which counts with 3.579545 MHz (4.8.3.3).
 * 0 when there is none. */
uint16_t acpi_tables_timer(void);

#endif
