/* Fuzzer: a volume with FAT16 or FAT32 that is damaged in any way, on a medium with faults.
 *
 * The first byte chooses the volume, the next four the faults of the medium; the rest are patches
 * of three bytes and more: a place, a length, bytes. Whatever the volume says, a job ends within a
 * bounded number of steps, no sector outside the volume is written, and a text that counts as saved
 * is read back. On a volume without damage the file has the old or the new text. */
#include "drivers/block/fat.h"
#include "tests/fuzz/must.h"
#include "tests/host/kernel/seam/io.h"
#include "tests/models/block_model.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECTOR16 4400u
#define SECTOR32 67000u
#define PARTS    6u

static const char old_text[1300] = "old", new_text[700] = "new";

/* A volume and the places that are worth a patch. */
struct image {
	uint8_t *bytes;
	uint32_t sectors;
	uint32_t part[PARTS];
};

static struct image images[2];
static struct fat fat, reader;

/* Writes the two directory entries of gateway.conf. */
static void entry(uint8_t *e, uint32_t cluster, uint32_t size)
{
	static const char name[] = "gateway.conf";
	static const uint8_t at[] = {1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30};
	uint8_t sum = 0;
	for (uint32_t i = 0; i < 13; i++)
		store16(e + at[i], (uint16_t)name[i]);
	memcpy(e + 32, "GATEWA~1CON\x20", 12);
	for (uint32_t i = 0; i < 11; i++)
		sum = (uint8_t)((sum >> 1) + (sum << 7) + e[32 + i]);
	e[0] = 0x41;
	e[11] = 0x0f;
	e[13] = sum;
	store16(e + 32 + 26, (uint16_t)cluster);
	store32(e + 32 + 28, size);
}

static void make(struct image *m, bool wide)
{
	m->sectors = wide ? SECTOR32 : SECTOR16;
	m->bytes = calloc(m->sectors, 512);
	MUST(m->bytes);
	uint8_t *b = m->bytes;
	uint32_t table = wide ? 525 : 18, reserved = wide ? 32 : 1;
	memcpy(b, "\xeb\x3c\x90mkfs.fat", 11);
	store16(b + 0x0b, 512);
	b[0x0d] = 1;
	store16(b + 0x0e, (uint16_t)reserved);
	b[0x10] = 2;
	store16(b + 0x11, wide ? 0 : 64);
	store32(b + 0x20, m->sectors);
	b[0x15] = 0xf8;
	store16(b + 0x16, wide ? 0 : (uint16_t)table);
	if (wide) {
		store32(b + 0x24, table);
		store32(b + 0x2c, 2);
		store16(b + 0x30, 1);
		store32(b + 512, 0x41615252);
		store32(b + 512 + 484, 0x61417272);
		store32(b + 512 + 488, 60000);
		store32(b + 512 + 492, 8);
		store32(b + 512 + 508, 0xaa550000);
	}
	store16(b + 510, 0xaa55);
	static const uint32_t chain[] = {0x0ffffff8, 0x0fffffff, 0x0fffffff, 0x0fffffff, 6, 3, 5};
	/* The root directory of FAT32 is cluster 2; the file is 4, 6, 5. */
	for (uint32_t copy = 0; copy < 2; copy++) {
		uint8_t *t = b + (reserved + copy * table) * 512;
		for (uint32_t i = 0; i < 7; i++)
			if (wide)
				store32(t + 4 * i, i == 5 ? 0x0fffffff : chain[i]);
			else
				store16(t + 2 * i, (uint16_t)(i == 5 ? 0xffff : chain[i]));
	}
	uint32_t root = reserved + 2 * table, first = wide ? root : root + 4;
	entry(b + root * 512, 4, sizeof old_text);
	memcpy(b + (first + 2) * 512, old_text, 512);
	memcpy(b + (first + 4) * 512, old_text + 512, 512);
	memcpy(b + (first + 3) * 512, old_text + 1024, sizeof old_text - 1024);
	const uint32_t part[PARTS] = {0,          512, reserved * 512, (reserved + table) * 512,
	                              root * 512, 440};
	memcpy(m->part, part, sizeof part);
}

static enum fat_result finish(struct fat *f, struct block_model *m)
{
	for (uint32_t i = 0; i < 100000; i++) {
		if (fat_poll(f) != FAT_BUSY)
			return f->result;
		block_model_poll(m);
	}
	fprintf(stderr, "a job that does not end\n");
	abort();
}

/* True when the file has this text. */
static bool has(struct block_model *m, const char *text, uint32_t len)
{
	struct fat_text want = fat_text_of(text, len);
	fat_open(&reader, &m->device, 0);
	if (finish(&reader, m) != FAT_OK)
		return false;
	fat_sum(&reader, "gateway.conf");
	return finish(&reader, m) == FAT_OK && reader.text.len == want.len &&
	       reader.text.sum == want.sum;
}

static void play(struct block_model *m, const uint8_t *fault, bool damaged)
{
	m->fail_write = fault[0];
	m->fail_read = fault[1];
	m->fail_flush = fault[2] & 7;
	m->gone_after = fault[3];
	m->failure = fault[2] & 8 ? BLOCK_PROTECTED : BLOCK_FAILED;
	uint32_t part = fault[2] >> 4;
	fat_open(&fat, &m->device, part < FAT_PARTS ? part : 0);
	if (finish(&fat, m) != FAT_OK)
		return;
	m->first = fat.volume.start + 1;
	m->limit = fat.volume.start + fat.volume.sectors;
	fat_replace(&fat, "gateway.conf", new_text, sizeof new_text);
	enum fat_result result = finish(&fat, m);
	m->fail_write = m->fail_read = m->fail_flush = m->gone_after = 0;
	if (!m->device.number)
		MUST(block_appear(&m->device));
	if (fat.volume.start)
		return;
	bool is_new = has(m, new_text, sizeof new_text);
	MUST(result != FAT_OK || is_new);
	MUST(damaged || is_new || has(m, old_text, sizeof old_text));
	MUST(damaged || is_new || fat.fate != FAT_REPLACED);
	MUST(damaged || !is_new || fat.fate != FAT_OLD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct block_model m;
	if (!images[0].bytes) {
		host_arena(1 << 20);
		make(&images[0], false);
		make(&images[1], true);
		MUST(fat_init(&fat) && fat_init(&reader));
	}
	if (size < 5)
		return 0;
	struct image *i = &images[data[0] & 1];
	bool damaged = false;
	struct {
		uint32_t at, n;
		uint8_t was[16];
	} patch[32];
	uint32_t n = 0;
	for (size_t at = 5; at + 3 <= size && n < 32; n++) {
		uint32_t len = min_u32(data[at + 2] & 15, (uint32_t)(size - at - 3));
		patch[n].at =
		        i->part[data[at] % PARTS] + data[at + 1] + (data[at] / PARTS & 1) * 256;
		patch[n].n = len;
		memcpy(patch[n].was, i->bytes + patch[n].at, len);
		memcpy(i->bytes + patch[n].at, data + at + 3, len);
		damaged |= len != 0;
		at += 3 + len;
	}
	block_reset();
	block_model_init(&m, "fuzz", i->bytes, i->sectors, 512);
	m.delay = data[0] >> 1 & 1;
	play(&m, data + 1, damaged);
	for (uint32_t w = m.n_log; w-- > 0;)
		block_model_undo(&m, w);
	block_model_end(&m);
	while (n-- > 0)
		memcpy(i->bytes + patch[n].at, patch[n].was, patch[n].n);
	return 0;
}
