/* The searches in ACPI tables. */
#include "kernel/board/acpi.h"

#include <stdlib.h>

#include "tests/tap.h"

static bool s5(const char *aml, size_t len, uint8_t type[2])
{
	uint8_t *copy = malloc(
	        len + !len); /* of the exact size, so that the sanitizer sees a read beyond it */
	type[0] = type[1] = 0xff;
	memcpy(copy, aml, len);
	bool found = acpi_s5(copy, len, type);
	free(copy);
	return found;
}
#define S5(text, type) s5(text, sizeof(text) - 1, type)

static void packages_as_firmware_writes_them(void)
{
	uint8_t t[2];
	/* QEMU: Name (_S5, Package (4) {0, 0, 0, 0}) */
	CHECK(S5("\x08_S5_\x12\x06\x04\0\0\0\0", t));
	CHECK(t[0] == 0 && t[1] == 0);
	/* bytes */
	CHECK(S5("zz\x08_S5_\x12\x0a\x04\x0a\x05\x0a\x06\0\0", t));
	CHECK(t[0] == 5 && t[1] == 6);
	/* with the root prefix; One and a word */
	CHECK(S5("\x08\\_S5_\x12\x08\x02\x01\x0b\x07\x00", t));
	CHECK(t[0] == 1 && t[1] == 7);
	/* two length bytes */
	CHECK(S5("\x08_S5_\x12\x47\x01\x02\x0a\x07\x01", t));
	CHECK(t[0] == 7 && t[1] == 1);
	/* one element only */
	CHECK(S5("\x08_S5_\x12\x04\x01\x0a\x02", t));
	CHECK(t[0] == 2 && t[1] == 2);
	/* a double word */
	CHECK(S5("\x08_S5_\x12\x09\x02\x0c\x03\0\0\0\x01", t));
	CHECK(t[0] == 3 && t[1] == 1);
}

static void other_uses_of_the_name(void)
{
	uint8_t t[2];
	CHECK(!S5("", t));
	CHECK(!S5("\x08_S5", t));
	CHECK(!S5("\x08_S5X\x12\x06\x04\0\0\0\0", t));
	CHECK(!S5("\\_S5_\x12\x06\x04\0\0\0\0", t)); /* nothing before the root prefix */
	CHECK(!S5("x\\_S5_\x12\x06\x04\0\0\0\0", t));
	CHECK(!S5("_S5_\x12\x06\x04\0\0\0\0", t));
	CHECK(!S5("x_S5_\x12\x06\x04\0\0\0\0", t));
	CHECK(!S5("\x08_S5_\x11\x06\x04\0\0\0\0", t));
	CHECK(S5("x_S5_zz\x08_S5_\x12\x06\x04\x01\x01\0\0", t));
	CHECK(t[0] == 1);
}

static void cut_or_wrong_packages_are_refused(void)
{
	static const char whole[] = "\x08_S5_\x12\x0a\x04\x0a\x05\x0a\x06";
	uint8_t t[2];
	for (size_t n = 0; n < sizeof whole - 1; n++)
		CHECK(!s5(whole, n, t));
	CHECK(s5(whole, sizeof whole - 1, t));
	CHECK(!S5("\x08_S5_\x12\xff\x04\x0a\x05", t));
	CHECK(!S5("\x08_S5_\x12\x06\x00\0\0\0\0", t));
	CHECK(!S5("\x08_S5_\x12\x06\x00\x0a\x05\x0a\x06", t)); /* no elements */
	CHECK(!S5("\x08_S5_\x12\x06\x04\x70\0\0\0", t));
	CHECK(!S5("\x08_S5_\x12\x06\x04\x0a\x08\0\0", t)); /* more than three bits */
	CHECK(!S5("\x08_S5_\x12\x07\x04\x0a\x07\x0a\x08\0", t));
}

static void finds_the_root_pointer(void)
{
	static uint8_t area[1024];
	memset(area, 0, sizeof area);
	CHECK_EQ(acpi_root(area, sizeof area), -1);
	memcpy(area + 1004, "RSD PTR ", 8);
	CHECK_EQ(acpi_root(area, sizeof area), -1); /* not on a 16-byte boundary */
	memcpy(area + 992, "RSD PTR ", 8);
	area[992 + 9] = 1;
	CHECK_EQ(acpi_root(area, sizeof area), -1); /* wrong sum */
	for (unsigned i = 0; i < 20; i++)
		area[992 + 8] = (uint8_t)(area[992 + 8] - (i == 8 ? 0 : area[992 + i]));
	CHECK(acpi_sum(area + 992, 20));
	CHECK_EQ(acpi_root(area, sizeof area), 992);
	CHECK_EQ(acpi_root(area, 992 + 20), 992);
	CHECK_EQ(acpi_root(area, 992 + 19), -1);
	CHECK_EQ(acpi_root(area, 0), -1);
}

int main(void)
{
	TEST(packages_as_firmware_writes_them);
	TEST(other_uses_of_the_name);
	TEST(cut_or_wrong_packages_are_refused);
	TEST(finds_the_root_pointer);
	return tap_done();
}
