/* Volumes made by mkfs.fat and mtools, in memory and as a file, for the tests of FAT. What our code
 * wrote is judged by our own reader and by two others: mtype of mtools and fsck.fat. */
#ifndef TESTS_UNIT_DRIVERS_BLOCK_FAT_KIT_H
#define TESTS_UNIT_DRIVERS_BLOCK_FAT_KIT_H

#include "drivers/block/fat.h"
#include "tests/host/kernel/seam/io.h"
#include "tests/models/block_model.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIT_NAME "gateway.conf"

/* How a volume is made. */
struct kit_volume {
	const char *name;
	uint32_t kb;
	const char *options; /* of mkfs.fat */
	uint32_t sector;
	uint32_t pieces; /* into so many pieces the free space is cut; 0: not */
	uint32_t spare;  /* free clusters that are left; 0: all */
};

static char kit_dir[64], kit_image[96], kit_file[96];
static uint8_t *kit_bytes;
static size_t kit_size;
static struct block_model kit_disk;
static struct fat kit_fat;

/* Runs a command. Gives its exit status; -1 when it was not found. */
static inline int kit_run(const char *format, ...)
{
	char line[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	int status = system(line);
	return status & 0x7f ? -1 : status >> 8;
}

static inline void kit_begin(void)
{
	setenv("MTOOLS_SKIP_CHECK", "1", 1);
	setenv("TZ", "UTC", 1);
	char path[4096];
	snprintf(path, sizeof path, "%s:/usr/sbin:/sbin", getenv("PATH"));
	setenv("PATH", path, 1);
	strcpy(kit_dir, "/tmp/baregate-fat-XXXXXX");
	if (!mkdtemp(kit_dir))
		abort();
	snprintf(kit_image, sizeof kit_image, "%s/image", kit_dir);
	snprintf(kit_file, sizeof kit_file, "%s/file", kit_dir);
	host_arena(1 << 20);
	if (!fat_init(&kit_fat))
		abort();
}

static inline void kit_end(void)
{
	kit_run("rm -rf %s", kit_dir);
}

/* Text that differs from byte to byte and from seed to seed. */
static inline const char *kit_text(uint32_t seed, uint32_t len)
{
	static char text[2][FAT_TEXT + 1];
	char *t = text[seed & 1];
	for (uint32_t i = 0; i < len; i++)
		t[i] = (char)('!' + (i * 7 + (i >> 8) * 5 + seed * 3) % 90);
	return t;
}

static inline void kit_write_file(const char *text, uint32_t len)
{
	FILE *out = fopen(kit_file, "w");
	if (!out || fwrite(text, 1, len, out) != len || fclose(out))
		abort();
}

/* Puts a file onto the image, in place of the one that is there. */
static inline void kit_put(const char *name, const char *text, uint32_t len)
{
	kit_write_file(text, len);
	CHECK_EQ(kit_run("mcopy -D o -i %s %s '::/%s'", kit_image, kit_file, name), 0);
}

/* Makes the image and puts gateway.conf and other files onto it. */
static inline void kit_make(const struct kit_volume *v, const char *text, uint32_t len)
{
	static const char other[9000];
	kit_run("rm -f %s", kit_image);
	CHECK_EQ(kit_run("mkfs.fat --invariant -S %u %s -C %s %u >/dev/null", v->sector, v->options,
	                 kit_image, v->kb),
	         0);
	kit_put("gateway.elf", other, sizeof other);
	kit_put("a file with a very long name indeed.txt", "x", 1);
	for (uint32_t i = 0; i < v->pieces; i++) {
		char name[32];
		snprintf(name, sizeof name, "piece%u", i);
		kit_put(name, "p", 1);
	}
	if (v->pieces)
		CHECK_EQ(kit_run("mdel -i %s '::/piece*[02468]'", kit_image), 0);
	kit_put(KIT_NAME, text, len);
	kit_put("gateway.last", "", 0);
}

/* Maps the image as a device. Changes stay in memory. */
static inline void kit_map(const struct kit_volume *v)
{
	int fd = open(kit_image, O_RDWR);
	struct stat s;
	if (fd < 0 || fstat(fd, &s))
		abort();
	kit_size = (size_t)s.st_size;
	kit_bytes = mmap(NULL, kit_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (kit_bytes == MAP_FAILED)
		abort();
	close(fd);
	block_model_init(&kit_disk, v->name, kit_bytes, kit_size / v->sector, v->sector);
}

static inline void kit_unmap(void)
{
	block_model_end(&kit_disk);
	munmap(kit_bytes, kit_size);
}

/* Ends the job. Its calls are counted, so that it cannot hang. */
static inline enum fat_result kit_finish(struct fat *f)
{
	for (uint32_t i = 0; i < 200000; i++) {
		if (fat_poll(f) != FAT_BUSY)
			return f->result;
		block_model_poll(&kit_disk);
	}
	CHECK(!"the job ends");
	abort();
}

static inline enum fat_result kit_open(uint32_t part)
{
	fat_open(&kit_fat, &kit_disk.device, part);
	return kit_finish(&kit_fat);
}

static inline enum fat_result kit_replace(const char *text, uint32_t len)
{
	fat_replace(&kit_fat, KIT_NAME, text, len);
	return kit_finish(&kit_fat);
}

/* True when gateway.conf has this text: by our own reader, after a new start. */
static inline bool kit_has(const char *text, uint32_t len)
{
	static struct fat reader;
	struct fat_text want = fat_text_of(text, len);
	if (!reader.buf && !fat_init(&reader))
		abort();
	fat_open(&reader, &kit_disk.device, 0);
	if (kit_finish(&reader) != FAT_OK)
		return false;
	fat_sum(&reader, KIT_NAME);
	return kit_finish(&reader) == FAT_OK && reader.text.len == want.len &&
	       reader.text.sum == want.sum;
}

/* Writes an entry of the log into the image file. */
static inline void kit_apply(const struct block_model_write *w)
{
	if (w->flush)
		return;
	int fd = open(kit_image, O_WRONLY);
	uint32_t n = kit_disk.device.sector_bytes;
	if (fd < 0 || pwrite(fd, w->after, n, (off_t)(w->sector * n)) != (ssize_t)n)
		abort();
	close(fd);
}

/* True when mtools reads this text from the image file. */
static inline bool kit_mtools_has(const char *text, uint32_t len)
{
	kit_write_file(text, len);
	return kit_run("mtype -i %s ::/%s 2>/dev/null | cmp -s - %s", kit_image, KIT_NAME,
	               kit_file) == 0;
}

/* What fsck.fat says about the image file: 0 nothing; 1 what a pulled plug may leave; 2 more. */
static inline int kit_fsck(void)
{
	int status = kit_run("fsck.fat -n %s >%s/fsck 2>&1", kit_image, kit_dir);
	if (status == 0)
		return 0;
	int other = kit_run(
	        "grep -v -q -E '^fsck.fat |^FATs differ but appear to be intact|^  Using first FAT|"
	        "^Reclaimed [0-9]+ unused cluster|^Free cluster summary wrong|"
	        "^  Auto-correcting|^Leaving filesystem unchanged|^$|files, ' %s/fsck",
	        kit_dir);
	return other == 0 ? 2 : 1;
}

#endif
