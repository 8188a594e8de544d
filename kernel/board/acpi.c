/* See acpi.h. There is no AML interpreter. \_S5_ is a constant package in every firmware
 * seen, so the code searches for its encoding (20.2). */
#include "kernel/board/acpi.h"

enum { ROOT_BYTES = 20, ROOT_STEP = 16 };
enum { AML_ZERO = 0x00, AML_ONE = 0x01, AML_NAME = 0x08, AML_BYTE = 0x0a, AML_WORD = 0x0b };
enum { AML_DWORD = 0x0c, AML_PACKAGE = 0x12, AML_ROOT = '\\' };

bool acpi_sum(const uint8_t *p, size_t len)
{
	uint8_t sum = 0;
	for (size_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + p[i]);
	return sum == 0;
}

long acpi_root(const uint8_t *area, size_t len)
{
	for (size_t at = 0; len - at >= ROOT_BYTES && at < len; at += ROOT_STEP)
		if (memcmp(area + at, "RSD PTR ", 8) == 0 && acpi_sum(area + at, ROOT_BYTES))
			return (long)at;
	return -1;
}

/* Reads the constant number at p (20.2.3). Gives its length in bytes, or 0 when it is none. */
static size_t number(const uint8_t *p, size_t len, uint8_t *low)
{
	static const uint8_t size[] = {[AML_BYTE] = 2, [AML_WORD] = 3, [AML_DWORD] = 5};
	if (len == 0)
		return 0;
	if (p[0] == AML_ZERO || p[0] == AML_ONE) {
		*low = p[0];
		return 1;
	}
	if (p[0] >= sizeof size || size[p[0]] == 0 || size[p[0]] > len)
		return 0;
	*low = p[1];
	return size[p[0]];
}

/* Reads the first two elements of the package at p (20.2.5.4). False when there is no
 * package. */
static bool package(const uint8_t *p, size_t len, uint8_t type[2])
{
	if (len < 3 || p[0] != AML_PACKAGE)
		return false;
	size_t at = 2u + (p[1] >> 6); /* the length field takes 1 to 4 bytes (20.2.4) */
	if (at >= len || p[at] < 1)
		return false;
	uint8_t elements = p[at++];
	size_t n = number(p + at, len - at, &type[0]);
	if (n == 0)
		return false;
	/* Without a second element, PM1b has the type of PM1a. */
	type[1] = type[0];
	return elements < 2 || number(p + at + n, len - at - n, &type[1]) != 0;
}

bool acpi_s5(const uint8_t *aml, size_t len, uint8_t type[2])
{
	for (size_t at = 1; at < len && len - at >= 4; at++) {
		if (memcmp(aml + at, "_S5_", 4) != 0)
			continue;
		bool named = aml[at - 1] == AML_NAME ||
		             (at >= 2 && aml[at - 1] == AML_ROOT && aml[at - 2] == AML_NAME);
		if (named && package(aml + at + 4, len - at - 4, type) && type[0] < 8 &&
		    type[1] < 8)
			return true;
	}
	return false;
}
