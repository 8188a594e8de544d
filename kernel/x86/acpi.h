/* The little of ACPI that switching off needs (ACPI specification 6.5): pure
 * searches in tables that a firmware wrote, so nothing in them is believed. */
#ifndef KERNEL_X86_ACPI_H
#define KERNEL_X86_ACPI_H

#include "kernel/lib/bytes.h"

#define ACPI_HEADER 36 /* bytes of every table's header (5.2.6) */

/* Offset of the root pointer in an area that starts on a 16-byte border (5.2.5.1);
 * -1 when there is none. */
long acpi_root(const uint8_t *area, size_t len);

/* Whether all bytes add up to 0. */
bool acpi_sum(const uint8_t *p, size_t len);

/* The two sleep types that the package \_S5_ in a block of AML names (7.4.2);
 * false when there is none that can be read. */
bool acpi_s5(const uint8_t *aml, size_t len, uint8_t type[2]);

#endif
