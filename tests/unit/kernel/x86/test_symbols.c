/* Function names by address, in a table as tools/symtab makes it. */
#include "kernel/x86/symbols.h"

#include "tests/tap.h"

static const struct {
	uint32_t n;
	uint32_t start[4];
	char names[24];
} table = {4, {0x100000, 0x100010, 0x100200, 0x180000}, "entry\0main_start\0a\0last"};

static const char *find(uint32_t at, uint32_t *offset)
{
	return symbols_find((const struct symbols *)(const void *)&table, at, offset);
}

static void names_every_address_from_the_first_on(void)
{
	uint32_t offset = 77;
	CHECK(find(0xfffff, &offset) == NULL);
	CHECK_EQ(offset, 77);
	CHECK_STR(find(0x100000, &offset), "entry");
	CHECK_EQ(offset, 0);
	CHECK_STR(find(0x10000f, &offset), "entry");
	CHECK_EQ(offset, 15);
	CHECK_STR(find(0x100010, &offset), "main_start");
	CHECK_STR(find(0x1001ff, &offset), "main_start");
	CHECK_STR(find(0x100200, &offset), "a");
	CHECK_STR(find(0x17ffff, &offset), "a");
	CHECK_STR(find(0xffffffffu, &offset), "last");
	CHECK_EQ(offset, 0xffffffffu - 0x180000);
}

static void no_table_no_name(void)
{
	static const struct symbols empty = {0};
	uint32_t offset;
	CHECK(symbols_find(NULL, 0x100000, &offset) == NULL);
	CHECK(symbols_find(&empty, 0x100000, &offset) == NULL);
}

/* Runs the tool on the output of a fake nm. */
static void the_tool_writes_the_table(void)
{
	static const char *const want[] = {".long 2", ".long 0x00100000", ".long 0x00100020",
	                                   ".asciz \"one\"", ".asciz \"two.part.0\""};
	FILE *f =
	        popen("d=$(mktemp -d) && printf '#!/bin/sh\\n"
	              "echo 00100000 T image_start\\necho 00100000 t one\\n"
	              "echo 00100000 T alias\\necho 00100020 t two.part.0\\n"
	              "echo 00200000 D data\\necho 00200000 r three\\n' >$d/nm && chmod +x $d/nm &&"
	              " tools/symtab $d/nm image; rm -r $d",
	              "r");
	CHECK(f != NULL);
	if (!f)
		return;
	char line[128];
	unsigned at = 0;
	while (fgets(line, sizeof line, f))
		if (at < sizeof want / sizeof *want && strstr(line, want[at]))
			at++;
		else if (strstr(line, ".asciz") || strstr(line, "0x"))
			CHECK(!"a line that should not be there");
	CHECK_EQ(at, sizeof want / sizeof *want);
	CHECK_EQ(pclose(f), 0);
}

int main(void)
{
	TEST(names_every_address_from_the_first_on);
	TEST(no_table_no_name);
	TEST(the_tool_writes_the_table);
	return tap_done();
}
