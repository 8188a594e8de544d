/* Damaged volumes: chains that are circles, zeros, a first sector that lies, noise. There is an
 * answer within a bounded number of steps, and nothing is written outside the volume. A volume
 * whose damage is seen is not written to at all. */
#include "tests/unit/drivers/block/fat_kit.h"

static const struct kit_volume fat16 = {"fat16", 8192, "-F 16 -s 1", 512, 0, 0};
static const struct kit_volume fat32 = {"fat32", 36864, "-F 32 -s 1", 512, 0, 0};

static uint8_t *pristine;

static void begin(const struct kit_volume *v, uint32_t len)
{
	kit_make(v, kit_text(0, len), len);
	kit_map(v);
	CHECK_EQ(kit_open(0), FAT_OK);
	kit_disk.first = 1;
	kit_disk.limit = kit_fat.volume.sectors;
}

static uint8_t *fat_at(uint32_t copy)
{
	return kit_bytes + (kit_fat.volume.fat_start + copy * kit_fat.volume.fat_sectors) * 512u;
}

static void set(uint32_t cluster, uint32_t value)
{
	for (uint32_t copy = 0; copy < kit_fat.volume.n_fats; copy++)
		if (kit_fat.volume.fat32)
			store32(fat_at(copy) + 4 * cluster, value);
		else
			store16(fat_at(copy) + 2 * cluster, (uint16_t)value);
}

/* The volume is refused with `says`, and nothing is written. */
static void refused(const char *says)
{
	CHECK_EQ(kit_open(0), FAT_OK);
	CHECK_EQ(kit_replace(kit_text(1, 3000), 3000), FAT_BAD);
	if (kit_fat.wrong)
		CHECK_STR(kit_fat.wrong, says);
	CHECK_EQ(kit_fat.fate, FAT_OLD);
	CHECK_EQ(kit_disk.n_log, 0);
}

static void chains_of_the_file(void)
{
	static const char broken[] =
	        "the stick's FAT is damaged: the file's chain of clusters is broken";
	static const char small[] =
	        "the stick's FAT is damaged: the file's chain of clusters is short";
	static const char nowhere[] = "the stick's FAT is damaged: the file begins nowhere";
	for (uint32_t i = 0; i < 2; i++) {
		begin(i ? &fat32 : &fat16, 3000);
		uint32_t none = i ? 0x0ffffff6 : 0xfff6, end = none + 9;
		kit_replace(kit_text(0, 3000), 3000); /* for kit_fat.fresh: where the file is */
		block_model_forget(&kit_disk);
		const uint32_t *at = kit_fat.fresh;
		uint32_t first = at[0], third = at[2], next = at[3], last = at[5];
		set(last, third);
		refused("the file on the stick is too large, or its chain is a circle");
		set(last, last);
		refused("the file on the stick is too large, or its chain is a circle");
		set(last, end);
		set(third, 0);
		refused(broken);
		set(third, 1);
		refused(broken);
		set(third, none); /* beyond the last cluster */
		refused(broken);
		set(third, none + 1); /* a bad cluster */
		refused(broken);
		set(third, kit_fat.volume.clusters + 2);
		refused(broken);
		set(third, end);
		refused(small);
		fat_sum(&kit_fat, KIT_NAME);
		CHECK_EQ(kit_finish(&kit_fat), FAT_BAD);
		CHECK_STR(kit_fat.wrong, small);
		set(third, next);
		uint8_t *entry = kit_bytes + kit_fat.entry.sector * 512u + kit_fat.entry.offset;
		store16(entry + 26, 1);
		store16(entry + 20, 0);
		refused(nowhere);
		store16(entry + 26, 0);
		refused(nowhere);
		store16(entry + 26, (uint16_t)(kit_fat.volume.clusters + 2));
		store16(entry + 20, i ? (uint16_t)((kit_fat.volume.clusters + 2) >> 16) : 0);
		refused(nowhere);
		store16(entry + 26, (uint16_t)first);
		store16(entry + 20, (uint16_t)(first >> 16));
		CHECK_EQ(kit_replace(kit_text(1, 3000), 3000), FAT_OK);
		kit_unmap();
	}
}

/* Clusters of the file without a content are freed, too; a content longer than a chain of 4096
 * clusters is refused. */
static void odd_lengths(void)
{
	begin(&fat16, 3000);
	uint8_t *entry;
	fat_sum(&kit_fat, KIT_NAME);
	CHECK_EQ(kit_finish(&kit_fat), FAT_OK);
	entry = kit_bytes + kit_fat.entry.sector * 512u + kit_fat.entry.offset;
	uint32_t first = kit_fat.entry.cluster;
	store32(entry + 28, 0);
	CHECK_EQ(kit_replace(kit_text(1, 3000), 3000), FAT_OK);
	CHECK_EQ(load16(fat_at(0) + 2 * first), 0);
	uint32_t cluster = 2000;
	for (; cluster < 2000 + FAT_CHAIN - 1; cluster++)
		set(cluster, cluster + 1);
	set(cluster, 0xffff);
	store16(entry + 26, 2000);
	CHECK_EQ(kit_replace(kit_text(1, 3000), 3000), FAT_OK);
	CHECK_EQ(kit_fat.n_freed, FAT_CHAIN);
	for (cluster = 2000; cluster < 2000 + FAT_CHAIN; cluster++)
		set(cluster, cluster + 1);
	set(cluster, 0xffff);
	store16(entry + 26, 2000);
	block_model_forget(&kit_disk);
	refused("the file on the stick is too large, or its chain is a circle");
	kit_unmap();
}

static void chains_of_the_directory(void)
{
	static const char broken[] = "the stick's FAT is damaged: the directory's chain is broken";
	begin(&fat32, 1000);
	uint32_t root = kit_fat.volume.root_cluster;
	uint32_t next = load32(fat_at(0) + 4 * root);
	set(root, 0); /* or new clusters could be put over the directory */
	refused(broken);
	set(root, 1);
	refused(broken);
	set(root, 0x0ffffff7);
	refused(broken);
	set(root, next);
	/* A circle of entries that are all deleted. */
	uint32_t sector = kit_fat.volume.data_start + root - 2;
	memset(kit_bytes + sector * 512u, 0xe5, 512);
	set(root, root);
	refused("the stick's FAT is damaged: the directory is too long or a circle");
	/* It ends without a mark. */
	set(root, 0x0fffffff);
	fat_sum(&kit_fat, KIT_NAME);
	CHECK_EQ(kit_finish(&kit_fat), FAT_NONE);
	CHECK_EQ(kit_disk.n_log, 0);
	CHECK_EQ(kit_replace("x", 1), FAT_OK);
	kit_unmap();
}

static void an_empty_fat(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		begin(i ? &fat32 : &fat16, 1000);
		memset(fat_at(0), 0, kit_fat.volume.fat_sectors * 512u);
		CHECK_EQ(kit_open(0), FAT_BAD);
		CHECK_STR(kit_fat.wrong, "the stick's FAT is damaged: no mark of the medium");
		kit_unmap();
	}
}

/* Each field of the first sector, with values of all kinds. */
static void first_sectors(void)
{
	static const struct {
		uint8_t at, size;
	} field[] = {{0, 1},    {0x0b, 2}, {0x0d, 1}, {0x0e, 2}, {0x10, 1}, {0x11, 2},
	             {0x13, 2}, {0x15, 1}, {0x16, 2}, {0x20, 4}, {0x24, 4}, {0x28, 2},
	             {0x2a, 2}, {0x2c, 4}, {0x30, 2}, {0x42, 1}, {0x26, 1}};
	static const uint32_t value[] = {
	        0,      1,      2,       3,       5,       8,          0x40,       0x7f,
	        0x80,   0xff,   0x100,   0x200,   0x400,   0x800,      0x1000,     0x7fff,
	        0x8000, 0xffff, 0x10000, 0x11fff, 0x12000, 0x7fffffff, 0x80000000, 0xffffffff};
	uint32_t opened = 0, saved = 0;
	for (uint32_t i = 0; i < 2; i++) {
		begin(i ? &fat32 : &fat16, 1000);
		pristine = malloc(kit_size);
		memcpy(pristine, kit_bytes, kit_size);
		for (uint32_t k = 0; k < ARRAY_SIZE(field) * ARRAY_SIZE(value); k++) {
			uint32_t at = field[k % ARRAY_SIZE(field)].at;
			memcpy(kit_bytes + at, &value[k / ARRAY_SIZE(field)],
			       field[k % ARRAY_SIZE(field)].size);
			kit_disk.limit = kit_size / 512;
			if (kit_open(0) == FAT_OK) {
				opened++;
				kit_disk.limit = kit_fat.volume.sectors;
				saved += kit_replace(kit_text(1, 3000), 3000) == FAT_OK;
			} else {
				CHECK_EQ(kit_disk.n_log, 0);
			}
			for (uint32_t w = kit_disk.n_log; w-- > 0;)
				block_model_undo(&kit_disk, w);
			block_model_forget(&kit_disk);
			memcpy(kit_bytes, pristine, 512);
		}
		CHECK(memcmp(kit_bytes, pristine, kit_size) == 0);
		free(pristine);
		kit_unmap();
	}
	CHECK(opened > 100);
	CHECK(saved > 100 && saved <= opened);
}

static void what_is_no_volume(void)
{
	static const struct {
		uint32_t at;
		uint8_t value;
		enum fat_result result;
		const char *says;
	} of[] = {
	        {0x1fe, 0, FAT_NONE, NULL},
	        {0x0c, 8, FAT_BAD, "the stick's file system was made for another size of sectors"},
	        {0x10, 3, FAT_BAD, "the stick's FAT is damaged or unusual: more than two copies"},
	        {0x0d, 8, FAT_BAD, "the stick's file system is FAT12; FAT16 or FAT32 is needed"},
	        {0x0e, 0xff, FAT_BAD, "the stick's FAT is damaged: no mark of the medium"},
	        {0x16, 1, FAT_BAD, "the stick's FAT is damaged: sizes that contradict each other"},
	};
	for (uint32_t i = 0; i < ARRAY_SIZE(of); i++) {
		begin(&fat16, 1000);
		kit_bytes[of[i].at] = of[i].value;
		CHECK_EQ(kit_open(0), of[i].result);
		if (of[i].says && kit_fat.wrong)
			CHECK_STR(kit_fat.wrong, of[i].says);
		kit_unmap();
	}
}

static uint32_t random_state = 99;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

/* Bytes of the FAT and of the directory are changed at random. */
static void noise(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		begin(i ? &fat32 : &fat16, 5000);
		uint32_t from = kit_fat.volume.fat_start * 512u, bad = 0;
		uint32_t root = (i ? kit_fat.volume.data_start : kit_fat.volume.root_start) * 512u;
		for (uint32_t trial = 0; trial < 3000; trial++) {
			struct {
				uint32_t at;
				uint8_t was;
			} hit[8];
			for (uint32_t k = 0; k < ARRAY_SIZE(hit); k++) {
				hit[k].at = random_below(2) ? from + random_below(256)
				                            : root + random_below(512);
				hit[k].was = kit_bytes[hit[k].at];
				kit_bytes[hit[k].at] = (uint8_t)random_below(256);
			}
			kit_disk.limit = kit_size / 512;
			if (kit_open(0) == FAT_OK)
				bad += kit_replace(kit_text(1, 3000), 3000) != FAT_OK;
			for (uint32_t w = kit_disk.n_log; w-- > 0;)
				block_model_undo(&kit_disk, w);
			block_model_forget(&kit_disk);
			for (uint32_t k = ARRAY_SIZE(hit); k-- > 0;)
				kit_bytes[hit[k].at] = hit[k].was;
		}
		CHECK(bad > 100 && bad < 3000);
		CHECK(kit_has(kit_text(0, 5000), 5000));
		kit_unmap();
	}
}

int main(void)
{
	kit_begin();
	TEST(chains_of_the_file);
	TEST(odd_lengths);
	TEST(chains_of_the_directory);
	TEST(an_empty_fat);
	TEST(first_sectors);
	TEST(what_is_no_volume);
	TEST(noise);
	kit_end();
	return tap_done();
}
