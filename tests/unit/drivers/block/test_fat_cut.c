/* A plug that is pulled at any write while gateway.conf is replaced: the old or the new text is
 * there. The medium may have carried out any of the writes since the last flush. */
#include "tests/unit/drivers/block/fat_kit.h"

static const struct kit_volume volumes[] = {
        {"fat16", 8192, "-F 16 -s 1", 512, 0, 0},
        {"fat16, clusters of 4 KB", 20000, "-F 16 -s 8", 512, 0, 0},
        {"fat16, one FAT", 8192, "-F 16 -s 2 -f 1", 512, 0, 0},
        {"fat16, fragmented", 8192, "-F 16 -s 1", 512, 24, 0},
        {"fat16, sectors of 4 KB", 30000, "-F 16 -s 1", 4096, 0, 0},
        {"fat32", 36864, "-F 32 -s 1", 512, 0, 0},
        {"fat32, clusters of 4 KB", 300000, "-F 32 -s 8", 512, 0, 0},
        {"fat32, one FAT", 36864, "-F 32 -s 1 -f 1", 512, 0, 0},
        {"fat32, fragmented", 36864, "-F 32 -s 1", 512, 24, 0},
        {"fat32, sectors of 4 KB", 300000, "-F 32 -s 1", 4096, 0, 0},
};

/* Old and new lengths. */
static const struct {
	uint32_t old, new;
} lengths[] = {{2500, 2400}, {0, 700}, {700, 0}, {512, 9000}, {20000, 1}};

/* Replaces the text and gives the number of entries in the log, which is left. */
static uint32_t replace(const struct kit_volume *v, uint32_t old, uint32_t new)
{
	kit_make(v, kit_text(0, old), old);
	kit_map(v);
	CHECK_EQ(kit_open(0), FAT_OK);
	CHECK_EQ(kit_replace(kit_text(1, new), new), FAT_OK);
	CHECK(kit_has(kit_text(1, new), new));
	return kit_disk.n_log;
}

/* The state behind each write, in the order of the writes. */
static void cut_after_each_write(void)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(volumes) * ARRAY_SIZE(lengths); i++) {
		const struct kit_volume *v = &volumes[i / ARRAY_SIZE(lengths)];
		if (i % ARRAY_SIZE(lengths) && v != &volumes[3] && v != &volumes[5])
			continue; /* all lengths on two of the volumes */
		uint32_t old = lengths[i % ARRAY_SIZE(lengths)].old;
		uint32_t new = lengths[i % ARRAY_SIZE(lengths)].new;
		uint32_t n = replace(v, old, new), switched = 0;
		for (uint32_t k = n; k-- > 0;)
			block_model_undo(&kit_disk, k);
		for (uint32_t k = 0; k <= n; k++) {
			bool is_old = kit_has(kit_text(0, old), old);
			bool is_new = kit_has(kit_text(1, new), new);
			CHECK(is_old != is_new);
			switched += k > 0 && is_new && !switched ? k : 0;
			CHECK(is_new == (switched != 0));
			bool fat_is_first = !strstr(v->options, "active");
			CHECK(!fat_is_first || kit_mtools_has(kit_text(is_new, is_new ? new : old),
			                                      is_new ? new : old));
			CHECK(kit_fsck() <= 1);
			if (k == n)
				continue;
			block_model_redo(&kit_disk, k);
			kit_apply(&kit_disk.log[k]);
		}
		CHECK(switched != 0);
		CHECK_EQ(kit_fsck(), 0);
		if (tap_bad_here)
			printf("# %s, %u to %u bytes, %u writes\n", v->name, old, new, n);
		kit_unmap();
	}
}

/* A stick whose gateway.conf was deleted, or that never had one, with some more names in its
 * directory: their end is anywhere in a sector. Deleted entries are beside each other or not. */
static void without_file(const struct kit_volume *v, uint32_t more, bool never)
{
	kit_make(v, kit_text(0, 900), 900);
	for (uint32_t i = 0; i < more; i++) {
		char name[16];
		snprintf(name, sizeof name, "M%u", i);
		kit_put(name, "m", 1);
	}
	if (never) /* room is behind the end only: what was deleted is filled again */
		CHECK_EQ(kit_run("mdel -i %s ::/gateway.conf && mcopy -i %s %s ::/LAST1 && "
		                 "mcopy -i %s %s ::/LAST2",
		                 kit_image, kit_image, kit_file, kit_image, kit_file),
		         0);
	else
		CHECK_EQ(kit_run("mdel -i %s ::/gateway.conf", kit_image), 0);
	kit_map(v);
	CHECK_EQ(kit_open(0), FAT_OK);
}

/* Each state has no file, or the complete one; the directory is whole. */
static void judge_made(uint32_t n, uint32_t len)
{
	bool made = false;
	for (uint32_t k = n; k-- > 0;)
		block_model_undo(&kit_disk, k);
	for (uint32_t k = 0; k <= n; k++) {
		bool now = kit_has(kit_text(1, len), len);
		CHECK(now || !made);
		made = now;
		CHECK_EQ(kit_run("mdir -b -i %s ::/gateway.conf >/dev/null 2>&1", kit_image) == 0,
		         made);
		CHECK(!made || kit_mtools_has(kit_text(1, len), len));
		CHECK(kit_fsck() <= 1);
		if (k == n)
			continue;
		block_model_redo(&kit_disk, k);
		kit_apply(&kit_disk.log[k]);
	}
	CHECK(made);
	CHECK_EQ(kit_fsck(), 0);
}

static void cut_while_the_file_is_made(void)
{
	uint32_t made = 0, refused = 0;
	for (uint32_t i = 0; i < 2 * ARRAY_SIZE(volumes); i++)
		for (uint32_t more = 0; more < (i == 0 || i == 1 ? 16 : 1); more++) {
			without_file(&volumes[i / 2], more, i % 2);
			uint32_t len = i == 4 ? 0 : 1500;
			enum fat_result result = kit_replace(kit_text(1, len), len);
			CHECK(result == FAT_OK || (result == FAT_NONE && kit_disk.n_log == 0));
			if (result == FAT_OK)
				judge_made(kit_disk.n_log, len);
			made += result == FAT_OK;
			refused += result == FAT_NONE;
			kit_unmap();
		}
	CHECK(made > 40);
	printf("# made %u, no room for the name %u\n", made, refused);
	CHECK(refused < 6);
}

/* The short name is one that no other file has; with nine others there is none. */
static void a_short_name_of_its_own(void)
{
	for (uint32_t others = 0; others <= 9; others++) {
		without_file(&volumes[0], 0, false);
		kit_unmap();
		for (uint32_t i = 0; i < others; i++) {
			char name[24];
			snprintf(name, sizeof name, "gateway%u.conf", i);
			kit_put(name, "x", 1);
		}
		kit_put("room.conf", "x", 1);
		CHECK_EQ(kit_run("mdel -i %s ::/room.conf", kit_image), 0);
		kit_map(&volumes[0]);
		CHECK_EQ(kit_open(0), FAT_OK);
		CHECK_EQ(kit_replace(kit_text(1, 99), 99), others == 9 ? FAT_NONE : FAT_OK);
		for (uint32_t k = 0; k < kit_disk.n_log; k++)
			kit_apply(&kit_disk.log[k]);
		CHECK_EQ(kit_fsck(), 0);
		CHECK(others == 9 || kit_mtools_has(kit_text(1, 99), 99));
		kit_unmap();
	}
}

static uint32_t random_state = 12345;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

/* Behind a flush all that came before is there; of what follows any part may be. */
static void any_writes_between_flushes(void)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(volumes); i++) {
		const struct kit_volume *v = &volumes[i];
		uint32_t old = 2500, new = 2400, n = replace(v, old, new);
		for (uint32_t k = n; k-- > 0;)
			block_model_undo(&kit_disk, k);
		for (uint32_t begin = 0, end; begin < n; begin = end + 1) {
			for (end = begin; end < n && !kit_disk.log[end].flush;)
				end++;
			for (uint32_t trial = 0; trial < 40; trial++) {
				uint32_t done[BLOCK_MODEL_LOG], n_done = 0;
				for (uint32_t k = begin; k < end; k++)
					if (random_below(2))
						done[n_done++] = k;
				for (uint32_t k = 0; k < n_done; k++)
					block_model_redo(&kit_disk, done[k]);
				bool is_old = kit_has(kit_text(0, old), old);
				CHECK(is_old != kit_has(kit_text(1, new), new));
				for (uint32_t k = end; k-- > begin;)
					block_model_undo(&kit_disk, k);
			}
			for (uint32_t k = begin; k < end; k++)
				block_model_redo(&kit_disk, k);
		}
		CHECK(kit_has(kit_text(1, new), new));
		kit_unmap();
	}
}

int main(void)
{
	kit_begin();
	TEST(cut_after_each_write);
	TEST(cut_while_the_file_is_made);
	TEST(a_short_name_of_its_own);
	TEST(any_writes_between_flushes);
	kit_end();
	return tap_done();
}
