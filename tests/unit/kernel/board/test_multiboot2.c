/* The information of a Multiboot 2 loader: tags, and blocks that are damaged. */
#include "kernel/board/multiboot2.h"

#include "tests/tap.h"

static uint64_t aligned[64];
static uint8_t *const block = (uint8_t *)aligned;
static size_t used;
static struct multiboot_info info;

static void begin(void)
{
	memset(aligned, 8, sizeof aligned); /* what lies behind a tag looks like a field */
	used = 8;
}

/* Adds a tag with this text or these bytes behind its head. */
static void tag(uint32_t type, const void *body, size_t len)
{
	used = (used + 7) & ~(size_t)7;
	store32(block + used, type);
	store32(block + used + 4, (uint32_t)(8 + len));
	memcpy(block + used + 8, body, len);
	used += 8 + len;
}

static void text(uint32_t type, const char *s)
{
	tag(type, s, strlen(s) + 1);
}

/* Reads a copy of exactly these bytes, so that the sanitizer sees a read behind them. */
static void read_bytes(size_t len)
{
	static uint64_t *copy;
	free(copy);
	copy = malloc(len ? len : 1);
	memcpy(copy, block, len);
	multiboot2_read(&info, (const uint8_t *)copy, len);
}

static void read(void)
{
	tag(0, "", 0);
	store32(block, (uint32_t)used);
	read_bytes(used);
}

static void module(uint32_t start, uint32_t end, const char *string)
{
	uint8_t body[64];
	store32(body, start);
	store32(body + 4, end);
	memcpy(body + 8, string, strlen(string) + 1);
	tag(3, body, 9 + strlen(string));
}

static void all_tags(void)
{
	begin();
	text(1, "app=nat stick=1234-ABCD");
	text(2, "GRUB 2.06");
	tag(17, "EFI memory map", 14);
	module(0x4000, 0x4321, "gateway.conf");
	module(0x5000, 0x5001, "gateway.last");
	tag(4, "\x80\2\0\0\0\x1c\0\0", 8);
	tag(6, "\x18\0\0\0\0\0\0\0entries.entries.entries.", 32);
	tag(14, "RSD PTR 1..........", 20);
	tag(15, "RSD PTR 2..........................", 36);
	read();
	CHECK_STR(info.cmdline, "app=nat stick=1234-ABCD");
	CHECK_STR(info.loader, "GRUB 2.06");
	CHECK_EQ(info.n_modules, 2);
	CHECK_EQ(info.module[0].start, 0x4000);
	CHECK_EQ(info.module[0].end, 0x4321);
	CHECK_STR(info.module[0].string, "gateway.conf");
	CHECK_STR(info.module[1].string, "gateway.last");
	CHECK(!info.more_modules);
	CHECK_EQ(info.mem_upper, 7168);
	CHECK_EQ(info.map_entry, 24);
	CHECK_EQ(info.map_len, 24);
	CHECK(info.map && memcmp(info.map, "entries.", 8) == 0);
	CHECK_EQ(info.rsdp_len, 36);
	CHECK(info.rsdp && info.rsdp[8] == '2');
}

/* The newer root pointer counts, whichever comes first. */
static void the_newer_root_pointer(void)
{
	begin();
	tag(15, "RSD PTR 2..........................", 36);
	tag(14, "RSD PTR 1..........", 20);
	read();
	CHECK_EQ(info.rsdp_len, 36);
	begin();
	tag(14, "RSD PTR 1..........", 20);
	read();
	CHECK_EQ(info.rsdp_len, 20);
}

static void nothing_at_all(void)
{
	begin();
	read();
	CHECK_STR(info.cmdline, "");
	CHECK_STR(info.loader, "");
	CHECK(!info.map && !info.rsdp && info.n_modules == 0 && info.frame.bits == 0);
	for (size_t len = 0; len < 16; len++)
		read_bytes(len);
}

static void a_frame_buffer(void)
{
	static const uint8_t body[] = {0, 0,    0, 0xc0, 0, 0,  0, 0, 0, 0x14, 0, 0, 0, 5, 0,
	                               0, 0x20, 3, 0,    0, 32, 1, 0, 0, 16,   8, 8, 8, 0, 8};
	begin();
	tag(8, body, sizeof body);
	read();
	CHECK_EQ(info.frame.bits, 32);
	CHECK_EQ(info.frame.address, 0xc0000000u);
	CHECK_EQ(info.frame.width, 1280);
	CHECK_EQ(info.frame.height, 800);
	begin();
	tag(8, body, sizeof body - 1);
	read();
	CHECK_EQ(info.frame.bits, 0);
}

static void texts_without_an_end(void)
{
	begin();
	tag(1, "abcdefgh", 8);
	tag(2, "", 0);
	tag(3, "\0\0\0\0\0\0\0\0name", 12);
	tag(3, "\0\0\0\0\0\0\0\0", 8);
	tag(3, "\0\0\0\0\0\0\0", 7);
	read();
	CHECK_STR(info.cmdline, "");
	CHECK_STR(info.loader, "");
	CHECK_EQ(info.n_modules, 2);
	CHECK_STR(info.module[0].string, "");
	CHECK_STR(info.module[1].string, "");
}

static void too_many_modules(void)
{
	begin();
	for (uint32_t i = 0; i < MULTIBOOT_MODULES; i++)
		module(i, i, "m");
	read();
	CHECK_EQ(info.n_modules, MULTIBOOT_MODULES);
	CHECK(!info.more_modules);
	begin();
	for (uint32_t i = 0; i <= MULTIBOOT_MODULES; i++)
		module(i, i, "m");
	read();
	CHECK_EQ(info.n_modules, MULTIBOOT_MODULES);
	CHECK(info.more_modules);
}

/* A tag that is too short or longer than the block ends the list. */
static void impossible_sizes(void)
{
	static const uint32_t sizes[] = {0,           7,           200,        0x7fffffff,
	                                 0x80000000u, 0xfffffff8u, 0xffffffffu};
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin();
		text(2, "loader");
		size_t at = (used + 7) & ~(size_t)7;
		text(1, "line");
		store32(block + at + 4, sizes[i]);
		read();
		CHECK_STR(info.loader, "loader");
		CHECK_STR(info.cmdline, "");
	}
}

static void maps_of_impossible_entries(void)
{
	begin();
	tag(6, "\x13\0\0\0\0\0\0\0entries.entries.entries.", 32);
	tag(6, "\0\0\0\0\0\0\0\0", 8);
	tag(6, "\x18\0\0\0", 4);
	read();
	CHECK(!info.map);
}

static void a_block_cut_anywhere(void)
{
	begin();
	text(1, "app=nat");
	module(0x4000, 0x4321, "gateway.conf");
	tag(6, "\x18\0\0\0\0\0\0\0entries.entries.entries.", 32);
	tag(15, "RSD PTR 2..........................", 36);
	read();
	for (size_t len = used; len-- > 0;)
		read_bytes(len);
	CHECK_STR(info.cmdline, "");
}

int main(void)
{
	TEST(all_tags);
	TEST(the_newer_root_pointer);
	TEST(nothing_at_all);
	TEST(a_frame_buffer);
	TEST(texts_without_an_end);
	TEST(too_many_modules);
	TEST(impossible_sizes);
	TEST(maps_of_impossible_entries);
	TEST(a_block_cut_anywhere);
	return tap_done();
}
