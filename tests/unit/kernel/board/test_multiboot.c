/* The boot loader's data: memory maps, command lines, module names. */
#include "kernel/board/multiboot.h"

#include "tests/tap.h"

#define MIB  0x100000u
#define HIGH 0xfe000000u

static uint8_t map_bytes[1024];
static size_t map_len;

static void put64(uint8_t *p, uint64_t v)
{
	store32(p, (uint32_t)v);
	store32(p + 4, (uint32_t)(v >> 32));
}

static void entry(uint64_t base, uint64_t length, uint32_t type)
{
	uint8_t *e = map_bytes + map_len;
	store32(e, 20);
	put64(e + 4, base);
	put64(e + 12, length);
	store32(e + 20, type);
	map_len += 24;
}

static struct multiboot_map parse(void)
{
	struct multiboot_map m;
	multiboot_map(&m, map_bytes, map_len, 0, MIB, HIGH);
	map_len = 0;
	return m;
}

static void a_pc_with_a_hole_and_memory_above_4_gb(void)
{
	entry(0, 0x9fc00, 1);
	entry(0x9fc00, 0x400, 2);
	entry(0xf0000, 0x10000, 2);
	entry(MIB, 0xbfee0000u, 1);
	entry(0xbffe0000u, 0x20000, 3);
	entry(0xfffc0000u, 0x40000, 2);
	entry(0x100000000ull, 0x40000000, 1);
	struct multiboot_map m = parse();
	CHECK_EQ(m.n, 1);
	CHECK_EQ(m.range[0].base, MIB);
	CHECK_EQ(m.range[0].end, 0xbffe0000u);
}

static void ranges_are_sorted_merged_and_whole_pages(void)
{
	entry(0x800001, 0x2fff, 1); /* up to 0x803000: page 0x800 is incomplete */
	entry(0x400000, 0x100000, 1);
	entry(0x500000, 0x1800, 1);
	entry(0x480000, 0x1000, 1); /* inside another range */
	struct multiboot_map m = parse();
	CHECK_EQ(m.n, 2);
	CHECK_EQ(m.range[0].base, 0x400000);
	CHECK_EQ(m.range[0].end, 0x501000);
	CHECK_EQ(m.range[1].base, 0x801000);
	CHECK_EQ(m.range[1].end, 0x803000);
}

static void reserved_wins_over_available(void)
{
	entry(0x500800, 0x1000, 2); /* pages 0x500 and 0x501 */
	entry(MIB, 0x700000, 1);
	entry(0x700000, 0x1000000, 4);
	struct multiboot_map m = parse();
	CHECK_EQ(m.n, 2);
	CHECK_EQ(m.range[0].base, MIB);
	CHECK_EQ(m.range[0].end, 0x500000);
	CHECK_EQ(m.range[1].base, 0x502000);
	CHECK_EQ(m.range[1].end, 0x700000);
}

static void memory_is_cut_at_the_window_and_at_4_gb(void)
{
	entry(0xf0000000u, 0x20000000, 1);
	struct multiboot_map m = parse();
	CHECK_EQ(m.n, 1);
	CHECK_EQ(m.range[0].base, 0xf0000000u);
	CHECK_EQ(m.range[0].end, HIGH);
}

static void lying_entries_do_no_harm(void)
{
	entry(MIB, UINT64_MAX, 1); /* wraps: counts up to the end */
	entry(UINT64_MAX - 5, 100, 2);
	entry(0x200000, 0, 1);
	entry(0x300000, 0xfff, 1);
	struct multiboot_map m = parse();
	CHECK_EQ(m.n, 1);
	CHECK_EQ(m.range[0].end, HIGH);

	entry(MIB, MIB, 1);
	entry(4 * MIB, MIB, 1);
	store32(map_bytes, 3); /* smaller than an entry can be */
	m = parse();
	CHECK_EQ(m.n, 1);
	entry(MIB, MIB, 1);
	entry(4 * MIB, MIB, 1);
	store32(map_bytes, 0xfffffff0u);
	m = parse();
	CHECK_EQ(m.n, 1);
	entry(MIB, MIB, 1);
	map_len -= 1; /* truncated */
	m = parse();
	CHECK_EQ(m.n, 0);
	m = parse();
	CHECK_EQ(m.n, 0);
}

/* An entry that ends at 2^64, or within a page of it, stays one after the rounding to pages. */
static void entries_up_to_the_last_address(void)
{
	for (uint64_t before_end = 0; before_end < 0x2000; before_end += 0x7ff) {
		entry(MIB, 4 * MIB, 1);
		entry(3 * MIB, 0 - before_end - 3 * (uint64_t)MIB, 2);
		struct multiboot_map m = parse();
		CHECK_EQ(m.n, 1);
		CHECK_EQ(m.range[0].base, MIB);
		CHECK_EQ(m.range[0].end, 3 * MIB);

		entry(3 * MIB, 0 - before_end - 3 * (uint64_t)MIB, 1);
		m = parse();
		CHECK_EQ(m.n, 1);
		CHECK_EQ(m.range[0].base, 3 * MIB);
		CHECK_EQ(m.range[0].end, HIGH);
	}
	/* A reserved entry may also end behind 2^64. */
	entry(MIB, 4 * MIB, 1);
	entry(3 * MIB, UINT64_MAX, 2);
	CHECK_EQ(parse().range[0].end, 3 * MIB);
}

/* The address of such an entry must not wrap to 0 when it is rounded up. */
static void entries_in_the_last_page_are_no_memory(void)
{
	for (uint64_t length = 1; length <= 0x1000; length += 0x555) {
		entry(0 - length, length, 1);
		CHECK_EQ(parse().n, 0);
		entry(0 - length, UINT64_MAX, 1);
		CHECK_EQ(parse().n, 0);
	}
	entry(0xfffff001u, 0x2000, 1); /* the same for the last page below 4 GB */
	CHECK_EQ(parse().n, 0);
	entry(MIB, MIB, 1);
	entry(0 - (uint64_t)1, 1, 2);
	entry(0x100000000ull, 0 - 0x100000000ull, 2);
	CHECK_EQ(parse().n, 1);
}

/* multiboot_add and multiboot_cut take any 64-bit range themselves. */
static void ranges_beyond_32_bits(void)
{
	struct multiboot_map m = {0};
	multiboot_add(&m, 0x100000000ull, UINT64_MAX);
	multiboot_add(&m, UINT64_MAX, UINT64_MAX);
	multiboot_add(&m, 0x100000000ull + MIB, 0x100000000ull + 2 * MIB);
	CHECK_EQ(m.n, 0);
	multiboot_add(&m, 3ull << 30, UINT64_MAX);
	CHECK_EQ(m.n, 1);
	CHECK_EQ(m.range[0].base, 3u << 30);
	CHECK_EQ(m.range[0].end, 0xfffff000u);
	multiboot_cut(&m, 0x100000000ull, UINT64_MAX);
	multiboot_cut(&m, UINT64_MAX, UINT64_MAX);
	CHECK_EQ(m.range[0].end, 0xfffff000u);
	multiboot_cut(&m, 0xe0000000u, UINT64_MAX);
	CHECK_EQ(m.range[0].end, 0xe0000000u);
	multiboot_cut(&m, 0, UINT64_MAX);
	CHECK_EQ(m.n, 0);
}

static void longer_entries_are_stepped_over(void)
{
	entry(MIB, MIB, 1);
	store32(map_bytes, 24); /* four bytes more: ACPI 3 attributes */
	map_len += 4;
	entry(4 * MIB, MIB, 1);
	struct multiboot_map m = parse();
	CHECK_EQ(m.n, 2);
	CHECK_EQ(m.range[1].base, 4 * MIB);
}

static void a_full_map_leaves_the_rest_out(void)
{
	struct multiboot_map m = {0};
	for (uint32_t i = 0; i < 2 * MULTIBOOT_RANGES; i++)
		multiboot_add(&m, (i + 1) * (uint64_t)MIB, (i + 1) * (uint64_t)MIB + 4096);
	CHECK_EQ(m.n, MULTIBOOT_RANGES);
	multiboot_cut(&m, 0, UINT64_MAX - 4096);
	CHECK_EQ(m.n, 0);
}

static void a_cut_splits_trims_and_removes(void)
{
	struct multiboot_map m = {0};
	multiboot_add(&m, MIB, 2 * MIB);
	multiboot_cut(&m, MIB + 0x5001, MIB + 0x5002);
	CHECK_EQ(m.n, 2);
	CHECK_EQ(m.range[0].end, MIB + 0x5000);
	CHECK_EQ(m.range[1].base, MIB + 0x6000);
	multiboot_cut(&m, 0, MIB + 0x1000);
	CHECK_EQ(m.range[0].base, MIB + 0x1000);
	multiboot_cut(&m, MIB + 0x4000, MIB + 0x7000);
	CHECK_EQ(m.range[0].end, MIB + 0x4000);
	CHECK_EQ(m.range[1].base, MIB + 0x7000);
	multiboot_cut(&m, MIB + 0x1000, MIB + 0x4000);
	CHECK_EQ(m.n, 1);
	multiboot_cut(&m, 3 * MIB, 3 * MIB); /* an empty range */
	CHECK_EQ(m.n, 1);
	multiboot_add(&m, 2 * MIB, 3 * MIB); /* touches the range before it */
	CHECK_EQ(m.n, 1);
	CHECK_EQ(m.range[0].end, 3 * MIB);
}

static void command_lines_by_loader(void)
{
	char out[32];
	CHECK(multiboot_cmdline(out, sizeof out, "qemu", "images/gateway.elf app=nat x=1"));
	CHECK_STR(out, "app=nat x=1");
	CHECK(multiboot_cmdline(out, sizeof out, "GRUB 2.06", "app=nat"));
	CHECK_STR(out, "app=nat");
	CHECK(multiboot_cmdline(out, sizeof out, "iPXE 1.0.0+", "tftp://h/k?a=b  app=nat"));
	CHECK_STR(out, "app=nat");
	CHECK(multiboot_cmdline(out, sizeof out, "GNU GRUB 0.97", "/gateway.elf"));
	CHECK_STR(out, "");
	CHECK(multiboot_cmdline(out, sizeof out, "", ""));
	CHECK_STR(out, "");
	CHECK(multiboot_cmdline(out, sizeof out, "GRUB", "1234567890123456789012345678901"));
	CHECK(!multiboot_cmdline(out, sizeof out, "GRUB", "12345678901234567890123456789012"));
	CHECK_STR(out, "1234567890123456789012345678901");
}

static void module_names(void)
{
	char out[16];
	multiboot_module(out, sizeof out, "gateway.conf cfg=1");
	CHECK_STR(out, "gateway.conf");
	multiboot_module(out, sizeof out, "tftp://10.0.2.2/a/my.conf x/y");
	CHECK_STR(out, "my.conf");
	multiboot_module(out, sizeof out, " /lan.conf");
	CHECK_STR(out, "lan.conf");
	multiboot_module(out, sizeof out, "");
	CHECK_STR(out, "gateway.conf");
	multiboot_module(out, sizeof out, "dir/ x");
	CHECK_STR(out, "gateway.conf");
	multiboot_module(out, sizeof out, "12345678901234567890");
	CHECK_STR(out, "123456789012345");
}

static void ranges_that_touch_are_one(void)
{
	entry(0x500000, 0x100000, 1);
	entry(0x400000, 0x100000, 1); /* before the other */
	entry(0x600000, 0x80001, 1);  /* after it, and a byte */
	struct multiboot_map m = parse();
	CHECK_EQ(m.n, 1);
	CHECK_EQ(m.range[0].base, 0x400000);
	CHECK_EQ(m.range[0].end, 0x680000);
	/* An empty reserved range between two pages splits no range. */
	entry(0x400000, 0x100000, 1);
	entry(0x480000, 0, 2);
	m = parse();
	CHECK_EQ(m.n, 1);
	CHECK_EQ(m.range[0].end, 0x500000);
}

/* Both halves of an address count. */
static void memory_above_4_gb_is_left_out(void)
{
	entry(0x100000000ull, 0x40000000, 1);
	entry(0x300400000ull, 0x40000000, 1);
	CHECK_EQ(parse().n, 0);
	entry(MIB, MIB, 1);
	entry(0x100100000ull, MIB, 2);
	CHECK_EQ(parse().n, 1);
}

/* The last entry claims to be longer than the rest of the map. */
static void an_entry_too_long_is_the_last(void)
{
	for (uint32_t more = 1; more < 30; more++) {
		memset(map_bytes, 0, sizeof map_bytes);
		entry(MIB, MIB, 1);
		entry(4 * MIB, MIB, 1);
		store32(map_bytes + 24, 20 + more);
		size_t len = map_len;
		map_len += more; /* the next entry would be here: it would remove all memory */
		entry(MIB, 16 * MIB, 2);
		map_len = len;
		struct multiboot_map m = parse();
		CHECK_EQ(m.n, 2);
		CHECK_EQ(m.range[1].end, 5 * MIB);
	}
}

static void blanks_in_front_of_a_command_line(void)
{
	char out[32];
	CHECK(multiboot_cmdline(out, sizeof out, "qemu", "  images/gateway.elf app=nat"));
	CHECK_STR(out, "app=nat");
	CHECK(multiboot_cmdline(out, sizeof out, "GRUB", "  app=nat"));
	CHECK_STR(out, "app=nat");
}

/* Entries of Multiboot 2: 20 bytes that are used, no size before them. */
static void entries_of_a_given_length(void)
{
	for (uint32_t entry_len = 20; entry_len <= 28; entry_len += 4) {
		uint8_t bytes[2 * 28] = {0};
		for (uint32_t i = 0; i < 2; i++) {
			uint8_t *e = bytes + i * entry_len;
			put64(e, i ? 0x300000 : MIB);
			put64(e + 8, i ? 0x1000 : 0xf00000);
			store32(e + 16, i ? 2 : 1);
		}
		struct multiboot_map m;
		multiboot_map(&m, bytes, 2 * entry_len, entry_len, MIB, HIGH);
		CHECK_EQ(m.n, 2);
		CHECK_EQ(m.range[0].end, 0x300000);
		CHECK_EQ(m.range[1].base, 0x301000);
		CHECK_EQ(m.range[1].end, 0x1000000);
		/* The second entry is incomplete. */
		multiboot_map(&m, bytes, 2 * entry_len - (entry_len - 19), entry_len, MIB, HIGH);
		CHECK_EQ(m.n, 1);
	}
}

static void memory_is_known(void)
{
	entry(MIB, 0x700000, 1);
	entry(0xc0000000u, 0x1000000, 2);
	entry(0x100000000ull, 0x1000, 1);
	size_t n = map_len;
	map_len = 0;
	CHECK(!multiboot_is_memory(map_bytes, n, 0, 0, MIB));
	CHECK(multiboot_is_memory(map_bytes, n, 0, 0, MIB + 1));
	CHECK(multiboot_is_memory(map_bytes, n, 0, 0x7fffff, 0xffffff));
	CHECK(!multiboot_is_memory(map_bytes, n, 0, 0x800000, 0xffffff));
	CHECK(!multiboot_is_memory(map_bytes, n, 0, 0xc0000000u, 0xc1000000u));
	CHECK(multiboot_is_memory(map_bytes, n, 0, 0xc0000000u, 0x200000000ull));
	CHECK(!multiboot_is_memory(NULL, 0, 0, 0, UINT64_MAX));
}

/* A frame buffer of 800x600 pixels of 24 bits. */
static struct multiboot_frame frame_with(uint32_t at, uint32_t value, uint32_t bytes)
{
	uint8_t p[MULTIBOOT_FRAME] = {0};
	struct multiboot_frame f;
	put64(p, 0xc0000000u);
	store32(p + 8, 2400);
	store32(p + 12, 800);
	store32(p + 16, 600);
	memcpy(p + 20, "\x18\x01\0\0\x10\x08\x08\x08\x00\x08", 10);
	memcpy(p + at, &value, bytes);
	multiboot_frame(&f, p);
	return f;
}

static void frame_buffers(void)
{
	struct multiboot_frame f = frame_with(0, 0xc0000000u, 4);
	CHECK_EQ(f.address, 0xc0000000u);
	CHECK_EQ(f.pitch, 2400);
	CHECK_EQ(f.width, 800);
	CHECK_EQ(f.height, 600);
	CHECK_EQ(f.bits, 24);
	CHECK(f.red.position == 16 && f.red.size == 8 && f.green.position == 8);
	CHECK(f.green.size == 8 && f.blue.position == 0 && f.blue.size == 8);
	CHECK_EQ(frame_with(4, 0xe0, 4).address, 0xe0c0000000ull);
}

/* Each of these fields alone makes it one that cannot be used. */
static void impossible_frame_buffers(void)
{
	static const struct {
		uint32_t at, value, bytes;
	} wrong[] = {
	        {0, 0, 4}, /* address 0 (virtio-gpu) */
	        {8, 2399, 4},   {8, UINT32_MAX, 4},  {12, 0, 4},
	        {12, 801, 4},   {12, UINT32_MAX, 4}, {16, 0, 4},
	        {16, 16385, 4}, {16, UINT32_MAX, 4}, {20, 0, 1},
	        {20, 8, 1},     {20, 25, 1},         {20, 32, 1}, /* 3200 bytes */
	        {21, 0, 1},     {21, 2, 1},                       /* indexed colours; text */
	        {24, 17, 1},    {25, 9, 1},          {25, 0, 1},
	        {26, 255, 1},   {27, 255, 1},        {28, 25, 1},
	        {29, 0, 1},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct multiboot_frame f = frame_with(wrong[i].at, wrong[i].value, wrong[i].bytes);
		CHECK_EQ(f.bits, 0);
	}
	/* The last line would be behind the last address. */
	uint8_t p[MULTIBOOT_FRAME] = {0};
	struct multiboot_frame f;
	put64(p, UINT64_MAX - 100);
	store32(p + 8, 2400);
	store32(p + 12, 800);
	store32(p + 16, 600);
	memcpy(p + 20, "\x18\x01\0\0\x10\x08\x08\x08\x00\x08", 10);
	multiboot_frame(&f, p);
	CHECK_EQ(f.bits, 0);
}

int main(void)
{
	TEST(a_pc_with_a_hole_and_memory_above_4_gb);
	TEST(ranges_are_sorted_merged_and_whole_pages);
	TEST(reserved_wins_over_available);
	TEST(memory_is_cut_at_the_window_and_at_4_gb);
	TEST(lying_entries_do_no_harm);
	TEST(entries_up_to_the_last_address);
	TEST(entries_in_the_last_page_are_no_memory);
	TEST(ranges_beyond_32_bits);
	TEST(longer_entries_are_stepped_over);
	TEST(a_full_map_leaves_the_rest_out);
	TEST(a_cut_splits_trims_and_removes);
	TEST(command_lines_by_loader);
	TEST(module_names);
	TEST(ranges_that_touch_are_one);
	TEST(memory_above_4_gb_is_left_out);
	TEST(an_entry_too_long_is_the_last);
	TEST(blanks_in_front_of_a_command_line);
	TEST(entries_of_a_given_length);
	TEST(memory_is_known);
	TEST(frame_buffers);
	TEST(impossible_frame_buffers);
	return tap_done();
}
