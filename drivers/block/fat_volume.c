/* See fat.h: the partition table, and what the first sector of a volume says (Microsoft FAT
 * specification 1.03, "Boot Sector and BPB"). */
#include "drivers/block/fat_job.h"

#define SIGNATURE 0xaa55u /* at byte 510, whatever the size of a sector */

enum { BPB_BYTES = 0x0b, BPB_CLUSTER = 0x0d, BPB_RESERVED = 0x0e, BPB_FATS = 0x10 };
enum { BPB_ROOT = 0x11, BPB_SECTORS16 = 0x13, BPB_MEDIA = 0x15, BPB_FAT16 = 0x16 };
enum { BPB_SECTORS32 = 0x20, BPB_FAT32 = 0x24, BPB_FLAGS = 0x28, BPB_VERSION = 0x2a };
enum { BPB_ROOT_CLUSTER = 0x2c, BPB_INFO = 0x30 };
/* The extended part: of FAT16 from 0x24, of FAT32 from 0x40. */
enum { EXT_DIRTY = 1, EXT_SIGNATURE = 2, EXT_SERIAL = 3 };

enum { MBR_TABLE = 446, MBR_ENTRY = 16, MBR_TYPE = 4, MBR_FIRST = 8, MBR_SECTORS = 12 };

void fat_volume_open(struct fat *f)
{
	fat_read_device(f, f->part ? FAT_S_PART : FAT_S_BOOT, 0);
	f->volume.start = 0;
	f->limit = f->device->sectors;
}

/* Sector 0 was read: the partition table. */
void fat_volume_part(struct fat *f)
{
	static const uint8_t fat_type[] = {0x04, 0x06, 0x0b, 0x0c, 0x0e, 0xef};
	const uint8_t *e = f->buf + MBR_TABLE + (f->part - 1) * MBR_ENTRY;
	uint32_t first = load32(e + MBR_FIRST);
	bool fat = false;
	for (uint32_t i = 0; i < sizeof fat_type; i++)
		fat |= e[MBR_TYPE] == fat_type[i];
	if (load16(f->buf + 510) != SIGNATURE || (e[0] & 0x7f) || !fat || first == 0 ||
	    first >= f->device->sectors) {
		fat_ends(f, FAT_NONE, NULL);
		return;
	}
	f->volume.start = first;
	f->limit = load32(e + MBR_SECTORS);
	if (f->limit > f->device->sectors - first)
		f->limit = f->device->sectors - first;
	fat_read_device(f, FAT_S_BOOT, first);
}

/* True when a sector looks like the first one of a volume with a FAT. */
static bool has_bpb(const uint8_t *b)
{
	uint32_t bytes = load16(b + BPB_BYTES), cluster = b[BPB_CLUSTER];
	return (b[0] == 0xeb || b[0] == 0xe9) && load16(b + 510) == SIGNATURE &&
	       (bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096) && cluster != 0 &&
	       (cluster & (cluster - 1)) == 0 && load16(b + BPB_RESERVED) != 0 &&
	       b[BPB_FATS] != 0 && b[BPB_MEDIA] >= 0xf0;
}

/* What only FAT32 has. False: it lies. */
static bool read_fat32(struct fat_volume *v, const uint8_t *b)
{
	uint32_t reserved = load16(b + BPB_RESERVED), flags = load16(b + BPB_FLAGS);
	v->mirrored = !(flags & 0x80);
	v->active = v->mirrored ? 0 : flags & 0xf;
	v->root_cluster = load32(b + BPB_ROOT_CLUSTER);
	v->info = load16(b + BPB_INFO);
	if (v->info >= reserved)
		v->info = 0;
	return v->active < v->n_fats && load16(b + BPB_VERSION) == 0 && v->root_cluster >= 2 &&
	       v->root_cluster <= v->clusters + 1;
}

/* Reads the BPB into *v. NULL, or what is wrong; `limit` is the room for the volume. */
static const char *read_bpb(struct fat_volume *v, const uint8_t *b, uint64_t limit)
{
	uint32_t reserved = load16(b + BPB_RESERVED), entries = load16(b + BPB_ROOT);
	v->cluster_sectors = b[BPB_CLUSTER];
	v->n_fats = b[BPB_FATS];
	v->fat_start = reserved;
	v->fat_sectors = load16(b + BPB_FAT16);
	if (!v->fat_sectors)
		v->fat_sectors = load32(b + BPB_FAT32);
	v->sectors = load16(b + BPB_SECTORS16);
	if (!v->sectors)
		v->sectors = load32(b + BPB_SECTORS32);
	v->root_sectors = (entries * 32 + v->sector_bytes - 1) / v->sector_bytes;
	uint64_t root = reserved + (uint64_t)v->n_fats * v->fat_sectors;
	uint64_t data = root + v->root_sectors;
	if (v->n_fats > 2)
		return "the stick's FAT is damaged or unusual: more than two copies";
	if (v->sectors > limit || data >= v->sectors || !v->fat_sectors)
		return "the stick's FAT is damaged: sizes that contradict each other";
	v->root_start = (uint32_t)root;
	v->data_start = (uint32_t)data;
	v->clusters = (v->sectors - v->data_start) / v->cluster_sectors;
	v->fat32 = v->clusters >= 65525;
	v->mirrored = true;
	if (v->clusters < 4085)
		return "the stick's file system is FAT12; FAT16 or FAT32 is needed";
	if (v->clusters > 0x0ffffff4 || v->fat32 != (load16(b + BPB_FAT16) == 0) ||
	    v->fat32 != (entries == 0) || (v->fat32 && !read_fat32(v, b)) ||
	    (uint64_t)v->fat_sectors * v->sector_bytes < (v->clusters + 2ull) * (v->fat32 ? 4 : 2))
		return "the stick's FAT is damaged: sizes that contradict each other";
	return NULL;
}

/* The first sector of the volume was read. */
void fat_volume_boot(struct fat *f)
{
	struct fat_volume *v = &f->volume;
	const uint8_t *b = f->buf;
	if (!has_bpb(b)) {
		fat_ends(f, FAT_NONE, NULL);
		return;
	}
	v->sector_bytes = f->device->sector_bytes;
	if (load16(b + BPB_BYTES) != v->sector_bytes) {
		fat_ends(f, FAT_BAD,
		         "the stick's file system was made for another size of sectors");
		return;
	}
	const char *wrong = read_bpb(v, b, f->limit);
	const uint8_t *extended = b + (load16(b + BPB_FAT16) ? 0x24 : 0x40);
	v->has_serial = extended[EXT_SIGNATURE] == 0x29 || extended[EXT_SIGNATURE] == 0x28;
	v->serial = load32(extended + EXT_SERIAL);
	v->dirty = (extended[EXT_DIRTY] & 1) != 0;
	if (wrong)
		fat_ends(f, FAT_BAD, wrong);
	else
		f->state = FAT_S_MARKS;
}

/* Entry 0 of the FAT begins with the medium's byte; entry 1 has the marks. */
void fat_volume_marks(struct fat *f)
{
	uint32_t first, marks, clean = f->volume.fat32 ? 0x0c000000 : 0xc000;
	if (!fat_chain_get(f, 0, &first) || !fat_chain_get(f, 1, &marks))
		return;
	f->volume.dirty |= (marks & clean) != clean;
	if ((first & 0xff) >= 0xf0)
		fat_ends(f, FAT_OK, NULL);
	else
		fat_ends(f, FAT_BAD, "the stick's FAT is damaged: no mark of the medium");
}
