/* Replacing the content of a file on FAT16 and FAT32: contents, names, space, faults of the medium.
 * test_fat_cut.c pulls the plug, test_fat_lies.c damages the volume. */
#include "tests/unit/drivers/block/fat_kit.h"

static const struct kit_volume fat16 = {"fat16", 8192, "-F 16 -s 1", 512, 0, 0};
static const struct kit_volume fat32 = {"fat32", 36864, "-F 32 -s 1", 512, 0, 0};
static const struct kit_volume large = {
        "fat16, clusters of 32 KB", 150000, "-F 16 -s 64", 512, 0, 0};
static const struct kit_volume wide = {"fat16, sectors of 4 KB", 30000, "-F 16 -s 1", 4096, 0, 0};

/* Writes the whole log into the image file and lets the others read it. */
static void others_agree(const char *text, uint32_t len)
{
	for (uint32_t i = 0; i < kit_disk.n_log; i++)
		kit_apply(&kit_disk.log[i]);
	CHECK(kit_mtools_has(text, len));
	CHECK_EQ(kit_fsck(), 0);
}

static void begin(const struct kit_volume *v, uint32_t len)
{
	kit_make(v, kit_text(0, len), len);
	kit_map(v);
	CHECK_EQ(kit_open(0), FAT_OK);
}

static void every_length(void)
{
	static const struct kit_volume *const on[] = {&fat16, &fat32, &large, &wide};
	static const uint32_t len[] = {0, 1, 511, 512, 513, 4096, 4097, 32768, 65535, 65536};
	for (uint32_t k = 0; k < ARRAY_SIZE(on); k++) {
		begin(on[k], 3000);
		for (uint32_t i = 0; i < ARRAY_SIZE(len); i++) {
			CHECK_EQ(kit_replace(kit_text(i, len[i]), len[i]), FAT_OK);
			CHECK(kit_has(kit_text(i, len[i]), len[i]));
		}
		others_agree(kit_text(9, 65536), 65536);
		kit_unmap();
	}
	begin(&fat16, 10);
	fat_replace(&kit_fat, KIT_NAME, kit_text(0, 1), FAT_TEXT + 1);
	CHECK_EQ(kit_finish(&kit_fat), FAT_BAD);
	CHECK_EQ(kit_disk.n_log, 0);
	kit_unmap();
}

/* Behind the text the last sector has zeros, and nothing of other files. */
static void the_rest_of_a_sector_is_clean(void)
{
	begin(&fat16, 3000);
	CHECK_EQ(kit_replace(kit_text(1, 700), 700), FAT_OK);
	const uint8_t *at = kit_bytes + (kit_fat.volume.data_start + kit_fat.fresh[1] - 2) * 512u;
	for (uint32_t i = 700 - 512; i < 512; i++)
		CHECK_EQ(at[i], 0);
	kit_unmap();
}

/* Many times: no cluster is lost. */
static void a_hundred_times(void)
{
	begin(&fat32, 100);
	uint32_t seed = 1;
	for (uint32_t i = 0; i < 100; i++) {
		seed = seed * 1103515245 + 12345;
		CHECK_EQ(kit_replace(kit_text(i, seed >> 16), seed >> 16), FAT_OK);
	}
	others_agree(kit_text(99, seed >> 16), seed >> 16);
	kit_unmap();
}

static void a_large_old_content_is_read_up_to_its_length(void)
{
	static char big[FAT_TEXT + 100];
	memset(big, 'b', sizeof big);
	kit_make(&fat16, big, sizeof big);
	kit_map(&fat16);
	CHECK_EQ(kit_open(0), FAT_OK);
	fat_sum(&kit_fat, KIT_NAME);
	uint32_t reads = kit_disk.reads;
	CHECK_EQ(kit_finish(&kit_fat), FAT_OK);
	CHECK_EQ(kit_fat.text.len, sizeof big);
	CHECK(kit_disk.reads - reads < 64); /* the directory, and no content */
	CHECK_EQ(kit_replace(kit_text(1, 50), 50), FAT_OK);
	others_agree(kit_text(1, 50), 50);
	kit_unmap();
}

/* --- names --------------------------------------------------------------------------------- */

static void the_long_name_counts_without_case(void)
{
	kit_make(&fat16, "x", 1);
	CHECK_EQ(kit_run("mdel -i %s ::/gateway.conf", kit_image), 0);
	kit_put("gateway.confx", "a", 1);
	kit_put("gateway.con", "b", 1);
	kit_put("gateway conf", "c", 1);
	kit_put("gateway.conf.bak and more than that", "d", 1);
	CHECK_EQ(kit_run("mmd -i %s ::/gateway.con2", kit_image), 0);
	kit_put("GateWay.Conf", "the one", 7);
	kit_map(&fat16);
	CHECK_EQ(kit_open(0), FAT_OK);
	CHECK(kit_has("the one", 7));
	CHECK_EQ(kit_replace("new", 3), FAT_OK);
	CHECK_EQ(kit_fat.entry.size, 3);
	others_agree("new", 3);
	for (uint32_t i = 0; i < 5; i++) {
		static const char *const other[] = {"gateway.confx", "gateway conf", "gateway.last",
		                                    "a file with a very long name indeed.txt",
		                                    "gateway.conf.bak and more than that"};
		fat_sum(&kit_fat, other[i]);
		CHECK_EQ(kit_finish(&kit_fat), FAT_OK);
		CHECK_EQ(kit_fat.text.len, i != 2);
	}
	kit_unmap();
}

static void no_file_of_this_name(void)
{
	kit_make(&fat32, "x", 1);
	CHECK_EQ(kit_run("mdel -i %s ::/gateway.conf && mmd -i %s ::/gateway.conf", kit_image,
	                 kit_image),
	         0);
	kit_map(&fat32);
	CHECK_EQ(kit_open(0), FAT_OK);
	CHECK_EQ(kit_replace("new", 3), FAT_NONE);
	fat_sum(&kit_fat, "gateway.non");
	CHECK_EQ(kit_finish(&kit_fat), FAT_NONE);
	CHECK_EQ(kit_disk.n_log, 0);
	kit_unmap();
}

/* The root directory of the FAT16 volume, whole. */
static uint8_t *root16(void)
{
	return kit_bytes + kit_fat.volume.root_start * 512;
}

static uint8_t *short_entry(uint8_t *e)
{
	while (e[11] == 0x0f || memcmp(e, "GATEWA~1", 8) != 0)
		e += 32;
	return e;
}

static bool is_missing(void)
{
	fat_sum(&kit_fat, KIT_NAME);
	return kit_finish(&kit_fat) == FAT_NONE;
}

/* What is behind the end of the directory does not appear when a new file moves that end. */
static void old_entries_behind_the_end(void)
{
	begin(&fat16, 100);
	short_entry(root16())[-32 + 1] = 'x';
	uint8_t *end = root16();
	while (end[0])
		end += 32;
	CHECK((end - root16()) % 512 <= 512 - 3 * 32);
	memcpy(end + 64, "GHOST   TXT", 12);
	CHECK_EQ(kit_replace("new", 3), FAT_OK);
	CHECK(end[0] != 0 && end[32] != 0);
	CHECK_EQ(load16(end + 32 + 24), 1 << 5 | 1); /* month and day begin with 1 */
	CHECK_EQ(end[64], 0);
	kit_unmap();
}

/* A long name whose short one was changed by an old system belongs to nobody. */
static void a_long_name_must_fit_its_short_one(void)
{
	begin(&fat16, 100);
	uint8_t *e = short_entry(root16());
	e[0] = 'H';
	CHECK(is_missing());
	e[0] = 'G';
	e[-32 + 13] ^= 1;
	CHECK(is_missing());
	e[-32 + 13] ^= 1;
	e[-32] = 0x42; /* the second of two pieces */
	CHECK(is_missing());
	e[-32] = 0x01; /* not the last piece */
	CHECK(is_missing());
	e[-32] = 0xe5; /* deleted */
	CHECK(is_missing());
	e[-32] = 0x41;
	e[-32 + 12] = 1; /* another kind of piece */
	CHECK(is_missing());
	e[-32 + 12] = 0;
	CHECK_EQ(kit_disk.n_log, 0);
	CHECK_EQ(kit_replace("new", 3), FAT_OK);
	kit_unmap();
}

/* Only size, cluster and the archive bit of the one entry change. */
static void the_entry_keeps_all_else(void)
{
	begin(&fat16, 100);
	uint8_t before[512 * 4], *root = root16(), *e = short_entry(root);
	e[11] = 0;
	memcpy(before, root, sizeof before);
	CHECK_EQ(kit_replace("new", 3), FAT_OK);
	CHECK_EQ(e[11], 0x20);
	CHECK_EQ(load32(e + 28), 3);
	CHECK(load16(e + 26) != 0);
	memcpy(e + 26, before + (e - root) + 26, 6);
	e[11] = 0;
	CHECK(memcmp(before, root, sizeof before) == 0);
	kit_unmap();
}

static void read_only_file(void)
{
	begin(&fat16, 100);
	short_entry(root16())[11] |= 1;
	CHECK_EQ(kit_replace("new", 3), FAT_BAD);
	CHECK_STR(kit_fat.wrong, "the file on the stick is marked read-only");
	CHECK_EQ(kit_disk.n_log, 0);
	kit_unmap();
}

/* --- space --------------------------------------------------------------------------------- */

/* Marks all free clusters but `spare` as bad. */
static void fill(uint32_t spare)
{
	uint8_t *fat = kit_bytes + kit_fat.volume.fat_start * 512u;
	for (uint32_t c = kit_fat.volume.clusters + 1; c >= 2; c--) {
		uint8_t *at = fat + c * (kit_fat.volume.fat32 ? 4 : 2);
		bool is_free = kit_fat.volume.fat32 ? !(load32(at) & 0x0fffffff) : !load16(at);
		if (is_free && spare)
			spare--;
		else if (is_free && kit_fat.volume.fat32)
			store32(at, 0x0ffffff7);
		else if (is_free)
			store16(at, 0xfff7);
	}
	fat_open(&kit_fat, &kit_disk.device, 0);
	CHECK_EQ(kit_finish(&kit_fat), FAT_OK);
}

static void full_and_nearly_full(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		begin(i ? &fat32 : &fat16, 5 * 512);
		fill(4);
		CHECK_EQ(kit_replace(kit_text(1, 5 * 512), 5 * 512), FAT_BAD);
		CHECK_STR(kit_fat.wrong, "the stick is full");
		CHECK_EQ(kit_fat.fate, FAT_OLD);
		CHECK_EQ(kit_disk.n_log, 0);
		CHECK_EQ(kit_replace(kit_text(1, 4 * 512), 4 * 512), FAT_OK);
		/* The old content's clusters are free again. */
		CHECK_EQ(kit_replace(kit_text(0, 5 * 512), 5 * 512), FAT_OK);
		CHECK_EQ(kit_replace(kit_text(1, 4 * 512 + 1), 4 * 512 + 1), FAT_BAD);
		CHECK(kit_has(kit_text(0, 5 * 512), 5 * 512));
		kit_unmap();
	}
}

static uint8_t *info32(void)
{
	return kit_bytes + kit_fat.volume.info * 512u;
}

static void fsinfo_counts_and_hints(void)
{
	begin(&fat32, 5 * 512);
	uint32_t n = load32(info32() + 488);
	CHECK_EQ(kit_replace(kit_text(1, 512), 512), FAT_OK);
	CHECK_EQ(load32(info32() + 488), n + 4);
	CHECK_EQ(load32(info32() + 492), kit_fat.fresh[0]);
	/* The search begins at the hint, and goes around. */
	store32(info32() + 492, kit_fat.volume.clusters + 1);
	CHECK_EQ(kit_replace(kit_text(0, 1024), 1024), FAT_OK);
	CHECK_EQ(kit_fat.fresh[0], kit_fat.volume.clusters + 1);
	CHECK(kit_fat.fresh[1] < 100);
	others_agree(kit_text(0, 1024), 1024);
	/* Unknown, wrong, or no FSInfo at all. */
	store32(info32() + 492, 0);
	store32(info32() + 488, 0xffffffff);
	CHECK_EQ(kit_replace(kit_text(1, 512), 512), FAT_OK);
	CHECK_EQ(load32(info32() + 488), 0xffffffff);
	store32(info32() + 488, 0);
	CHECK_EQ(kit_replace(kit_text(1, 5120), 5120), FAT_OK);
	CHECK_EQ(load32(info32() + 488), 0);
	store32(info32() + 484, 1);
	store32(info32() + 488, 77);
	CHECK_EQ(kit_replace(kit_text(1, 512), 512), FAT_OK);
	CHECK_EQ(load32(info32() + 488), 77);
	kit_unmap();
}

/* --- copies of the FAT, marks -------------------------------------------------------------- */

static void only_the_active_fat_is_used(void)
{
	kit_make(&fat32, kit_text(0, 2000), 2000);
	kit_map(&fat32);
	CHECK_EQ(kit_open(0), FAT_OK);
	uint32_t bytes = kit_fat.volume.fat_sectors * 512u;
	uint8_t *fat = kit_bytes + kit_fat.volume.fat_start * 512u;
	static uint8_t garbage[1 << 20];
	memset(garbage, 0x11, sizeof garbage);
	memcpy(fat, garbage, bytes); /* copy 0 is out of use */
	store16(kit_bytes + 0x28, 0x81);
	CHECK_EQ(kit_open(0), FAT_OK);
	CHECK(kit_has(kit_text(0, 2000), 2000));
	CHECK_EQ(kit_replace(kit_text(1, 3000), 3000), FAT_OK);
	CHECK(kit_has(kit_text(1, 3000), 3000));
	CHECK(memcmp(fat, garbage, bytes) == 0);
	store16(kit_bytes + 0x28, 0x82); /* there is no third copy */
	CHECK_EQ(kit_open(0), FAT_BAD);
	CHECK_STR(kit_fat.wrong, "the stick's FAT is damaged: sizes that contradict each other");
	kit_unmap();
}

static void upper_bits_stay(void)
{
	begin(&fat32, 1000);
	uint8_t *fat = kit_bytes + kit_fat.volume.fat_start * 512u;
	for (uint32_t c = 2; c < 200; c++)
		store32(fat + 4 * c, load32(fat + 4 * c) | 0xa0000000);
	CHECK_EQ(kit_replace(kit_text(1, 3000), 3000), FAT_OK);
	for (uint32_t c = 2; c < 200; c++)
		CHECK_EQ(load32(fat + 4 * c) >> 28, 0xa);
	CHECK(kit_has(kit_text(1, 3000), 3000));
	kit_unmap();
}

static void marks_are_seen_and_stay(void)
{
	static const struct {
		const struct kit_volume *v;
		uint32_t at;     /* of the mark in the boot sector */
		uint32_t entry;  /* offset of entry 1 of the FAT */
		uint32_t wrong;  /* the byte of the entry that has the marks; bits that are 0 */
		uint8_t bits[2]; /* not unmounted; errors */
	} marked[] = {{&fat16, 0x25, 2, 1, {0x80, 0x40}}, {&fat32, 0x41, 4, 3, {0x08, 0x04}}};
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t k = 0; k < 4; k++) {
			begin(marked[i].v, 1000);
			CHECK(!kit_fat.volume.dirty);
			uint8_t *fat = kit_bytes + kit_fat.volume.fat_start * 512u;
			uint8_t *entry = fat + marked[i].entry + marked[i].wrong;
			if (k == 0)
				kit_bytes[marked[i].at] |= 1;
			else if (k < 3)
				*entry = (uint8_t)(*entry & ~marked[i].bits[k - 1]);
			uint8_t boot = kit_bytes[marked[i].at], was = *entry;
			CHECK_EQ(kit_open(0), FAT_OK);
			CHECK_EQ(kit_fat.volume.dirty, k < 3);
			CHECK_EQ(kit_replace(kit_text(1, 700), 700), FAT_OK);
			CHECK_EQ(kit_bytes[marked[i].at], boot);
			CHECK_EQ(*entry, was);
			kit_unmap();
		}
}

/* --- partitions ---------------------------------------------------------------------------- */

/* Puts the volume behind an MBR, as partition `part`, from sector 2048 on. */
static void partitioned(const struct kit_volume *v, uint32_t part, uint8_t type, uint32_t sectors)
{
	size_t size = kit_size + 2048u * v->sector;
	uint8_t *disk =
	        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (disk == MAP_FAILED)
		abort();
	memcpy(disk + 2048u * v->sector, kit_bytes, kit_size);
	kit_unmap();
	kit_bytes = disk;
	kit_size = size;
	store16(disk + 510, 0xaa55);
	uint8_t *e = disk + 446 + (part - 1) * 16;
	e[0] = 0x80;
	e[4] = type;
	store32(e + 8, 2048);
	store32(e + 12, sectors);
	block_model_init(&kit_disk, v->name, disk, size / v->sector, v->sector);
}

static void partitions(void)
{
	for (uint32_t part = 1; part <= 4; part++) {
		const struct kit_volume *v = part == 4 ? &wide : part == 3 ? &fat32 : &fat16;
		begin(v, 1000);
		uint32_t sectors = kit_fat.volume.sectors, serial = kit_fat.volume.serial;
		partitioned(v, part, part == 3 ? 0x0c : 0x0e, sectors);
		for (uint32_t k = 0; k < FAT_PARTS; k++)
			CHECK_EQ(kit_open(k), k == part ? FAT_OK : FAT_NONE);
		CHECK_EQ(kit_open(part), FAT_OK);
		CHECK(kit_fat.volume.has_serial);
		CHECK_EQ(kit_fat.volume.serial, serial);
		kit_disk.first = 2048;
		kit_disk.limit = 2048 + sectors;
		CHECK_EQ(kit_replace(kit_text(1, 9000), 9000), FAT_OK);
		fat_sum(&kit_fat, KIT_NAME);
		CHECK_EQ(kit_finish(&kit_fat), FAT_OK);
		CHECK_EQ(kit_fat.text.len, 9000);
		/* Other types, empty entries, and a partition that is too small for its volume. */
		uint8_t *e = kit_bytes + 446 + (part - 1) * 16;
		store32(e + 12, sectors - 1);
		CHECK_EQ(kit_open(part), FAT_BAD);
		store32(e + 12, sectors);
		e[4] = 0x83;
		CHECK_EQ(kit_open(part), FAT_NONE);
		e[4] = 0x0c;
		store32(e + 8, 0);
		CHECK_EQ(kit_open(part), FAT_NONE);
		store32(e + 8, 0xfffffff0);
		CHECK_EQ(kit_open(part), FAT_NONE);
		kit_unmap();
	}
}

/* --- faults of the medium ------------------------------------------------------------------ */

/* After a failure the file has what `fate` says, and no cluster is lost when it says FAT_OLD and
 * the medium works again. */
static void after_failure(uint32_t old, uint32_t new)
{
	CHECK_EQ(kit_fat.result, FAT_BAD);
	CHECK(kit_fat.wrong != NULL);
	bool is_old = kit_has(kit_text(0, old), old), is_new = kit_has(kit_text(1, new), new);
	CHECK(is_old != is_new);
	CHECK(kit_fat.fate != FAT_OLD || is_old);
	CHECK(kit_fat.fate != FAT_REPLACED || is_new);
}

static void each_request_fails_once(void)
{
	const struct kit_volume *on[] = {&fat16, &fat32};
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t saved = 0, kept = 0;
		for (uint32_t kind = 0; kind < 3; kind++)
			for (uint32_t k = 1;; k++) {
				begin(on[i], 2000);
				block_model_forget(&kit_disk);
				*(kind == 0   ? &kit_disk.fail_write
				  : kind == 1 ? &kit_disk.fail_read
				              : &kit_disk.fail_flush) = k;
				bool ok = kit_replace(kit_text(1, 3000), 3000) == FAT_OK;
				uint32_t n = kind == 0   ? kit_disk.writes
				             : kind == 1 ? kit_disk.reads
				                         : kit_disk.flushes;
				kit_disk.fail_write = kit_disk.fail_read = kit_disk.fail_flush = 0;
				if (ok)
					CHECK(kit_has(kit_text(1, 3000), 3000));
				else
					after_failure(2000, 3000);
				if (!ok && kit_fat.fate == FAT_OLD) {
					for (uint32_t w = 0; w < kit_disk.n_log; w++)
						kit_apply(&kit_disk.log[w]);
					CHECK_EQ(kit_fsck(), 0);
					kept++;
				}
				saved += ok;
				kit_unmap();
				if (n < k)
					break;
			}
		CHECK(saved > 3);
		CHECK(kept > 10);
	}
}

/* Pulled at each request: the answer comes at once, and the stick that is plugged in then is not
 * written to. */
static void pulled_at_each_request(void)
{
	for (uint32_t k = 1;; k++) {
		begin(&fat32, 2000);
		block_model_forget(&kit_disk);
		kit_disk.gone_after = k;
		bool ok = kit_replace(kit_text(1, 3000), 3000) == FAT_OK;
		CHECK(ok || !strcmp(kit_fat.wrong, "the stick was pulled"));
		kit_disk.gone_after = 0;
		if (!ok) {
			CHECK(block_appear(&kit_disk.device));
			after_failure(2000, 3000);
			uint32_t n = kit_disk.n_log;
			CHECK_EQ(kit_replace(kit_text(1, 3000), 3000), FAT_BAD);
			CHECK_STR(kit_fat.wrong, "the stick was pulled");
			CHECK_EQ(kit_disk.n_log, n);
		}
		kit_unmap();
		if (ok)
			break;
		CHECK(k < 100);
	}
}

/* A worn stick that answers well and keeps nothing: each written sector in turn. */
static void forgotten_writes_are_noticed(void)
{
	begin(&fat32, 2000);
	CHECK_EQ(kit_replace(kit_text(1, 3000), 3000), FAT_OK);
	uint64_t sector[64];
	uint32_t n = 0;
	for (uint32_t i = 0; i < kit_disk.n_log; i++)
		if (!kit_disk.log[i].flush && n < 64)
			sector[n++] = kit_disk.log[i].sector;
	uint32_t fat1 = kit_fat.volume.fat_start, fat2 = fat1 + kit_fat.volume.fat_sectors;
	uint32_t info = kit_fat.volume.info;
	kit_unmap();
	for (uint32_t i = 0; i < n; i++) {
		begin(&fat32, 2000);
		kit_disk.forgets = sector[i];
		bool ok = kit_replace(kit_text(1, 3000), 3000) == FAT_OK;
		/* The second copy and FSInfo are not read back. */
		CHECK_EQ(ok, (sector[i] >= fat2 && sector[i] < fat2 + fat2 - fat1) ||
		                     sector[i] == info);
		if (!ok) {
			CHECK(kit_has(kit_text(0, 2000), 2000));
			CHECK_STR(kit_fat.wrong, "the stick does not keep what is written");
		}
		kit_unmap();
	}
}

static void protected_and_used_up(void)
{
	begin(&fat16, 2000);
	kit_disk.device.read_only = true;
	CHECK_EQ(kit_replace(kit_text(1, 100), 100), FAT_BAD);
	CHECK_STR(kit_fat.wrong, "the stick is write-protected");
	kit_disk.device.read_only = false;
	kit_disk.fail_write = kit_disk.writes + 1;
	kit_disk.failure = BLOCK_NO_ROOM;
	CHECK_EQ(kit_replace(kit_text(1, 100), 100), FAT_BAD);
	CHECK_STR(kit_fat.wrong, "the stick says that its space is used up");
	CHECK_EQ(kit_fat.fate, FAT_OLD);
	/* The write that replaces the entry says that it wrote nothing. */
	kit_disk.fail_write = kit_disk.writes + 4;
	kit_disk.failure = BLOCK_PROTECTED;
	CHECK_EQ(kit_replace(kit_text(1, 100), 100), FAT_BAD);
	CHECK_EQ(kit_disk.log[kit_disk.n_log - 1].flush, true);
	CHECK_EQ(kit_fat.fate, FAT_OLD);
	kit_unmap();
}

/* One call makes one request at most, when requests take their time. */
static void slow_medium(void)
{
	begin(&fat32, 60000);
	kit_disk.delay = 3;
	fat_replace(&kit_fat, KIT_NAME, kit_text(1, 65536), 65536);
	uint32_t calls = 0;
	while (fat_poll(&kit_fat) == FAT_BUSY && ++calls < 100000)
		block_model_poll(&kit_disk);
	CHECK_EQ(kit_fat.result, FAT_OK);
	CHECK(calls > 3 * 20 && calls < 3000);
	kit_unmap();
}

int main(void)
{
	kit_begin();
	TEST(every_length);
	TEST(the_rest_of_a_sector_is_clean);
	TEST(a_hundred_times);
	TEST(a_large_old_content_is_read_up_to_its_length);
	TEST(the_long_name_counts_without_case);
	TEST(no_file_of_this_name);
	TEST(old_entries_behind_the_end);
	TEST(a_long_name_must_fit_its_short_one);
	TEST(the_entry_keeps_all_else);
	TEST(read_only_file);
	TEST(full_and_nearly_full);
	TEST(fsinfo_counts_and_hints);
	TEST(only_the_active_fat_is_used);
	TEST(upper_bits_stay);
	TEST(marks_are_seen_and_stay);
	TEST(partitions);
	TEST(each_request_fails_once);
	TEST(pulled_at_each_request);
	TEST(forgotten_writes_are_noticed);
	TEST(protected_and_used_up);
	TEST(slow_medium);
	kit_end();
	return tap_done();
}
