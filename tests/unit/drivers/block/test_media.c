/* The boot medium among several sticks, and saving on it: every answer that people may get. */
#define _GNU_SOURCE /* memmem */
#include "drivers/block/media.h"

#include "kernel/lib/log.h"
#include "tests/unit/drivers/block/fat_kit.h"

#define DISKS 4u

static const char loaded[] = "app nat\nlan.address 192.168.1.1/24\n";
static const char saved[] = "# Saved by Baregate.\napp nat\n";

static struct block_model disk[DISKS];
static uint8_t *bytes[DISKS];
static uint8_t *pristine;
static size_t size;
static uint64_t now;

/* Makes the volume that all disks begin with: serial 1234-ABCD, gateway.conf as loaded. */
static void make(void)
{
	static const struct kit_volume v = {"stick", 8192, "-F 16 -s 1 -i 1234abcd", 512, 0, 0};
	kit_make(&v, loaded, sizeof loaded - 1);
	kit_map(&v);
	size = kit_size;
	pristine = malloc(size);
	for (uint32_t i = 0; i < DISKS; i++)
		bytes[i] = malloc(size);
	if (!pristine || !bytes[DISKS - 1])
		abort();
	memcpy(pristine, kit_bytes, size);
	kit_unmap();
}

static void start(const char *stick, const char *conf)
{
	host_arena(1 << 20);
	block_reset();
	log_reset();
	for (uint32_t i = 0; i < DISKS; i++)
		memcpy(bytes[i], pristine, size);
	now = 60000000;
	CHECK(media_init(stick, conf, conf ? strlen(conf) : 0));
}

static void plug(uint32_t i)
{
	char name[16];
	snprintf(name, sizeof name, "disk %u", i);
	block_model_init(&disk[i], name, bytes[i], size / 512, 512);
	disk[i].delay = 1;
}

static void poll(void)
{
	now += 1000;
	media_poll(now);
	for (uint32_t i = 0; i < DISKS; i++)
		if (disk[i].device.number)
			block_model_poll(&disk[i]);
}

static const char *message(void)
{
	const char *text;
	media_save_state(&text);
	return text;
}

static enum media_save_state state(void)
{
	const char *text;
	return media_save_state(&text);
}

static enum media_save_state finish(void)
{
	for (uint32_t i = 0; i < 100000 && state() == MEDIA_SAVE_BUSY; i++)
		poll();
	return state();
}

static enum media_save_state save(const char *file)
{
	media_save(file, saved, sizeof saved - 1);
	return finish();
}

/* What gateway.conf or gateway.last of a disk has: its length. */
static uint32_t length(uint32_t i, const char *file)
{
	static struct fat f;
	if (!fat_init(&f))
		abort();
	disk[i].delay = 0;
	fat_open(&f, &disk[i].device, 0);
	for (uint32_t part = 1; part < FAT_PARTS && fat_poll(&f) == FAT_NONE; part++)
		fat_open(&f, &disk[i].device, part);
	CHECK_EQ(fat_poll(&f), FAT_OK);
	fat_sum(&f, file);
	while (fat_poll(&f) == FAT_BUSY)
		;
	disk[i].delay = 1;
	return f.result == FAT_OK ? f.text.len : UINT32_MAX;
}

static void end(void)
{
	for (uint32_t i = 0; i < DISKS; i++)
		if (disk[i].log) {
			block_model_end(&disk[i]);
			memset(&disk[i], 0, sizeof disk[i]);
		}
}

static unsigned said(const char *text)
{
	char line[LOG_LINE];
	unsigned n = 0;
	for (uint64_t cursor = 0; log_next(&cursor, line, sizeof line);)
		n += strstr(line, text) != NULL;
	return n;
}

static void saves_and_saves_again(void)
{
	start("1234-abcd", loaded);
	CHECK_EQ(state(), MEDIA_SAVE_IDLE);
	plug(0);
	CHECK(!media_poll(now));
	CHECK_EQ(disk[0].reads, 0); /* nothing is read unasked */
	CHECK_EQ(save("gateway.last"), MEDIA_SAVE_DONE);
	CHECK_EQ(length(0, "gateway.last"), sizeof saved - 1);
	CHECK_EQ(length(0, "gateway.conf"), sizeof loaded - 1);
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_DONE);
	CHECK_STR(message(), "saved");
	CHECK_EQ(length(0, "gateway.conf"), sizeof saved - 1);
	CHECK_EQ(said("gateway.conf is saved on disk 0"), 1);
	/* From now on the stick is the one with the new text. */
	CHECK(media_save("gateway.conf", loaded, sizeof loaded - 1));
	CHECK_EQ(finish(), MEDIA_SAVE_DONE);
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_DONE);
	plug(1);
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_DONE);
	CHECK_EQ(disk[1].n_log, 0);
	end();
}

static void one_save_at_a_time(void)
{
	start("1234-ABCD", loaded);
	plug(0);
	CHECK(media_save("gateway.conf", saved, sizeof saved - 1));
	CHECK(!media_save("gateway.last", saved, sizeof saved - 1));
	CHECK_EQ(state(), MEDIA_SAVE_BUSY);
	CHECK_STR(message(), "gateway.conf is being saved");
	CHECK_EQ(finish(), MEDIA_SAVE_DONE);
	CHECK_EQ(length(0, "gateway.last"), 0);
	end();
}

static void what_was_not_booted_from_a_stick(void)
{
	static const struct {
		const char *stick, *conf, *says;
	} of[] = {
	        {"", loaded, "the boot loader did not say what was booted from (stick=...)"},
	        {"2024-01-01-00-00-00-00", loaded,
	         "the gateway was not booted from a stick with FAT"},
	        {"1234_ABCD", loaded, "the gateway was not booted from a stick with FAT"},
	        {"1234-ABCG", loaded, "the gateway was not booted from a stick with FAT"},
	        {"1234-ABCD", NULL,
	         "no gateway.conf was loaded by which the stick could be recognised"},
	};
	for (uint32_t i = 0; i < ARRAY_SIZE(of); i++) {
		start(of[i].stick, of[i].conf);
		plug(0);
		CHECK(!media_save("gateway.conf", saved, sizeof saved - 1));
		CHECK_EQ(state(), MEDIA_SAVE_FAILED);
		CHECK_STR(message(), of[i].says);
		char line[120];
		snprintf(line, sizeof line, "gateway.conf is not saved: %s", of[i].says);
		CHECK_EQ(said(line), 1);
		CHECK_EQ(disk[0].reads, 0);
		end();
	}
	start("1234-ABCD", loaded);
	static char longest[MEDIA_TEXT + 1];
	CHECK(!media_save("gateway.conf", longest, sizeof longest));
	CHECK_STR(message(), "the text is too long");
}

static void no_stick(void)
{
	start("1234-ABCD", loaded);
	uint64_t before = now;
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_FAILED);
	CHECK_STR(message(), "no stick is plugged in");
	CHECK(now - before > 2000000 && now - before < 4000000);
	CHECK_EQ(said("gateway.conf is not saved: no stick is plugged in"), 1);
	/* One that is plugged in meanwhile is found, and one that is on its way waited for. */
	media_save("gateway.conf", saved, sizeof saved - 1);
	for (uint32_t i = 0; i < 2000; i++)
		poll();
	block_expect(1);
	for (uint32_t i = 0; i < 20000; i++)
		poll();
	CHECK_EQ(state(), MEDIA_SAVE_BUSY);
	plug(0);
	block_expect(-1);
	CHECK_EQ(finish(), MEDIA_SAVE_DONE);
	/* The wait for one that never comes ends. */
	block_vanish(&disk[0].device);
	block_expect(1);
	before = now;
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_FAILED);
	CHECK(now - before < 41000000);
	end();
	/* Right after the start sticks are still on their way. */
	start("1234-ABCD", loaded);
	now = 100000;
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_FAILED);
	CHECK(now > 9000000);
	end();
}

/* Sticks without an end: one whose medium "was changed" at each read appears again each time. */
static void one_that_appears_again_and_again(void)
{
	start("1234-ABCD", loaded);
	plug(0);
	disk[0].gone_after = 1;
	uint64_t before = now;
	media_save("gateway.conf", saved, sizeof saved - 1);
	while (state() == MEDIA_SAVE_BUSY && now - before < 100000000) {
		poll();
		if (!block_at(0)) {
			disk[0].gone_after = disk[0].requests + 1;
			CHECK(block_appear(&disk[0].device));
		}
	}
	CHECK_EQ(state(), MEDIA_SAVE_FAILED);
	CHECK(now - before > 50000000 && now - before < 61000000);
	CHECK_EQ(said("gateway.conf is not saved: "), 1);
	CHECK_EQ(disk[0].n_log, 0);
	disk[0].gone_after = 0;
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_DONE);
	end();
}

static void change_conf(uint32_t i)
{
	uint8_t *at = memmem(bytes[i], size, loaded, sizeof loaded - 1);
	at[0] = 'A';
}

static void other_sticks(void)
{
	start("1234-ABCE", loaded); /* another serial number */
	plug(0);
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_FAILED);
	CHECK_STR(message(), "the stick that was booted from is not plugged in");
	end();
	start("1234-ABCD", loaded);
	change_conf(0);
	plug(0);
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_FAILED);
	CHECK_STR(message(), "gateway.conf on the stick is not the one that was loaded");
	end();
	start("1234-ABCD", loaded);
	uint8_t *name = memmem(bytes[0], size, "GATEWA~1CON", 11);
	name[-32 + 1] = 'x';
	plug(0);
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_FAILED);
	CHECK_STR(message(), "there is no gateway.conf on the stick");
	end();
	start("1234-ABCD", loaded);
	memset(bytes[0], 0, size);
	plug(0);
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_FAILED);
	CHECK_STR(message(), "the stick that was booted from is not plugged in");
	end();
}

/* The right one among others: another text, another serial number, empty, damaged. */
static void the_right_one_of_four(void)
{
	for (uint32_t right = 0; right < DISKS; right++) {
		start("1234-ABCD", loaded);
		change_conf((right + 1) % 4);
		store32(bytes[(right + 2) % 4] + 0x27, 0x1234abce);
		memset(bytes[(right + 3) % 4] + 512, 0, size - 512);
		for (uint32_t i = 0; i < DISKS; i++)
			plug(i);
		CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_DONE);
		for (uint32_t i = 0; i < DISKS; i++)
			CHECK_EQ(disk[i].n_log != 0, i == right);
		CHECK_EQ(length(right, "gateway.conf"), sizeof saved - 1);
		end();
	}
}

static void two_that_are_alike(void)
{
	start("1234-ABCD", loaded);
	plug(0);
	plug(1);
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_FAILED);
	CHECK_STR(message(), "several sticks that are plugged in are alike; unplug all but one");
	CHECK_EQ(disk[0].n_log + disk[1].n_log, 0);
	block_vanish(&disk[0].device);
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_DONE);
	end();
}

static void in_a_partition(void)
{
	start("1234-ABCD", loaded);
	size_t moved = size - 2048 * 512;
	memmove(bytes[0] + 2048 * 512, bytes[0], moved);
	memset(bytes[0], 0, 2048 * 512);
	store16(bytes[0] + 510, 0xaa55);
	uint8_t *e = bytes[0] + 446 + 2 * 16;
	e[4] = 0x0e;
	store32(e + 8, 2048);
	store32(e + 12, (uint32_t)(size / 512));
	store16(bytes[0] + 2048 * 512 + 0x13, (uint16_t)(moved / 512));
	plug(0);
	disk[0].first = 2048;
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_DONE);
	CHECK_EQ(length(0, "gateway.conf"), sizeof saved - 1);
	end();
}

static void what_goes_wrong_is_said(void)
{
	start("1234-ABCD", loaded);
	plug(0);
	disk[0].device.read_only = true;
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_FAILED);
	CHECK_STR(message(), "the stick is write-protected; it has the old text");
	disk[0].device.read_only = false;
	disk[0].fail_write = disk[0].writes + 1;
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_FAILED);
	CHECK_STR(message(), "the stick has a write error; it has the old text");
	CHECK_EQ(save("gateway.old"), MEDIA_SAVE_NO_FILE);
	CHECK_STR(message(), "there is no gateway.old on the stick; make an empty one on a PC");
	CHECK_EQ(disk[0].fail_write, disk[0].writes);
	/* The flush behind the directory's sector: nobody knows what is there. Both are known then.
	 */
	disk[0].fail_flush = disk[0].flushes + 2;
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_FAILED);
	CHECK_STR(message(), "the stick has a write error; it has the old or the new text");
	disk[0].fail_flush = 0;
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_DONE);
	end();
	start("1234-ABCD", loaded);
	bytes[0][0x25] |= 1;
	plug(0);
	CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_DONE);
	CHECK_EQ(said("disk 0: the file system was not unmounted cleanly"), 1);
	end();
}

/* Pulled at any request, and put back: the next save works, whatever the stick has. */
static void pulled_and_put_back(void)
{
	uint32_t k = 1;
	for (bool done = false; !done; k++) {
		start("1234-ABCD", loaded);
		plug(0);
		disk[0].gone_after = k;
		done = save("gateway.conf") == MEDIA_SAVE_DONE;
		CHECK(done || strstr(message(), "the stick was pulled") ||
		      !strcmp(message(), "no stick is plugged in") ||
		      !strcmp(message(), "the stick that was booted from is not plugged in"));
		disk[0].gone_after = 0;
		if (!done)
			CHECK(block_appear(&disk[0].device));
		CHECK_EQ(save("gateway.conf"), MEDIA_SAVE_DONE);
		CHECK_EQ(length(0, "gateway.conf"), sizeof saved - 1);
		end();
		CHECK(k < 200);
	}
	CHECK(k > 20);
}

int main(void)
{
	kit_begin();
	make();
	TEST(saves_and_saves_again);
	TEST(one_save_at_a_time);
	TEST(what_was_not_booted_from_a_stick);
	TEST(no_stick);
	TEST(one_that_appears_again_and_again);
	TEST(other_sticks);
	TEST(the_right_one_of_four);
	TEST(two_that_are_alike);
	TEST(in_a_partition);
	TEST(what_goes_wrong_is_said);
	TEST(pulled_and_put_back);
	kit_end();
	return tap_done();
}
