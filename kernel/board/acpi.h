/* The part of ACPI that power-off needs (ACPI specification 6.5). Pure searches in tables
 * of the firmware; they check every length and offset. */
#ifndef KERNEL_BOARD_ACPI_H
#define KERNEL_BOARD_ACPI_H

#include "kernel/lib/bytes.h"

#define ACPI_HEADER 36 /* bytes of every table's header (5.2.6) */

/* Gives the offset of the root pointer in an area that starts on a 16-byte boundary
 * (5.2.5.1); -1 when there is none. */
long acpi_root(const uint8_t *area, size_t len);

/* True when the sum of all bytes is 0 modulo 256 (5.2.5.3). */
bool acpi_sum(const uint8_t *p, size_t len);

/* Finds the package \_S5_ in a block of AML, and gives its two sleep types, for PM1a and
 * PM1b (7.4.2). False when there is no readable one. */
bool acpi_s5(const uint8_t *aml, size_t len, uint8_t type[2]);

#endif
