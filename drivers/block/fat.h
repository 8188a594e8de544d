/* FAT16 and FAT32 (Microsoft FAT specification 1.03; ECMA-107), so far as is needed to replace the
 * content of a file in the root directory, or to make the file with its content.
 *
 * Each call of fat_open, fat_sum and fat_replace starts a job on one volume, which fat_poll
 * advances until it gives a result. One job at a time for each struct fat.
 *
 * Order of writes of fat_replace, so that a plug pulled between any two of them, and writes that
 * the device reorders between two flushes, leave the old or the new content:
 *
 *   1. the text, into free clusters; their chain, in each copy of the FAT; flush
 *   2. the chain is read back and compared with the text
 *   3. one sector of the directory: first cluster and size of the file's entry; of a new file both
 *      its entries; flush
 *   4. the file is found by its name again, read and compared
 *   5. the old clusters become free, in each copy of the FAT; FSInfo; flush; compared once more
 *
 * What is left behind at worst are clusters that belong to no file, copies of the FAT that differ,
 * and a wrong count of free clusters in FSInfo, which is a hint.
 *
 * Left out: FAT12, exFAT, directories other than the root, a longer root directory, dates.
 * Sectors are those of the device: a volume that was made for another sector size is refused. */
#ifndef DRIVERS_BLOCK_FAT_H
#define DRIVERS_BLOCK_FAT_H

#include "drivers/block/block.h"

#define FAT_TEXT  65536u /* most bytes of a new content, and of one that fat_sum reads */
#define FAT_CHAIN 4096u  /* most clusters of the old content */
#define FAT_NEW   (FAT_TEXT / 512u)
#define FAT_PARTS 5u /* places where a volume may begin: the device itself, and four partitions */

enum fat_result {
	FAT_BUSY,
	FAT_OK,
	FAT_NONE, /* of fat_open: there is no FAT; else: no file of this name */
	FAT_BAD,  /* `wrong` says what */
};

/* What the file has after a fat_replace that gave FAT_BAD. */
enum fat_fate { FAT_OLD, FAT_EITHER, FAT_REPLACED };

/* A content: its length and a sum of its bytes (FNV-1a, 64 bits). */
struct fat_text {
	uint32_t len;
	uint64_t sum;
};

/* A volume. Sectors count from its first one. */
struct fat_volume {
	uint64_t start; /* on the device */
	uint32_t sectors;
	uint32_t sector_bytes, cluster_sectors;
	bool fat32;
	uint32_t fat_start, fat_sectors; /* of the first copy; of each copy */
	uint32_t n_fats;
	bool mirrored;                     /* else only the copy `active` is in use */
	uint32_t active;                   /* the copy that is read */
	uint32_t root_start, root_sectors; /* FAT16 */
	uint32_t root_cluster;             /* FAT32 */
	uint32_t data_start, clusters;     /* cluster numbers are 2 to clusters + 1 */
	uint32_t info;                     /* sector of FSInfo; 0: none */
	bool has_serial;
	uint32_t serial;
	bool dirty; /* its marks say that it was not unmounted, or had errors */
};

/* The directory entry of a file. */
struct fat_entry {
	uint32_t sector, offset; /* where it is */
	uint8_t attributes;
	uint32_t cluster, size;
};

/* Everything behind `wrong` belongs to the fat_ files. */
struct fat {
	struct fat_volume volume; /* valid after fat_open gave FAT_OK */
	struct fat_text text;     /* what fat_sum found */
	enum fat_fate fate;
	const char *wrong; /* a text for people */

	enum fat_result result;
	uint8_t state, job;
	struct block_device *device;
	uint32_t number; /* of the device when it was opened */
	uint32_t part;
	uint64_t limit; /* sectors that the volume has room for */
	struct block_request request;
	uint8_t *buf;    /* BLOCK_BYTES for directory and data */
	uint8_t *window; /* BLOCK_BYTES of the FAT */

	uint32_t window_at, window_n; /* first sector in the FAT; number of sectors, 0: nothing */
	uint32_t changed, copies; /* a changed sector; into how many copies it must be written */

	const char *name; /* that is looked for */
	struct {
		uint32_t next;         /* FAT32: the next cluster */
		uint32_t sector, left; /* the next sector; sectors until the end of the cluster */
		uint32_t sectors;      /* that were read */
		uint32_t in_buf, at;   /* bytes in buf; the next entry there */
		uint32_t long_left;    /* pieces of the long name up to its beginning */
		uint8_t long_check;
		bool long_ok;     /* all pieces were those of the name */
		bool free_before; /* the entry before, in the same sector, is free */
		bool hole;        /* there is room for two entries: */
		uint32_t hole_sector, hole_offset;
		bool taken;       /* a folder has the name */
		uint32_t aliases; /* bit n: the short name of number n is taken */
	} dir;
	struct fat_entry entry;
	uint32_t alias; /* number of the short name of a new file; 0: the file exists */

	uint32_t cluster, sector; /* where a chain is read; sector in the cluster */
	uint32_t size, pending;   /* bytes of the chain's content; bytes of the request */
	uint32_t done; /* bytes that were written, or clusters that were linked or freed */

	const char *content; /* what the file shall have */
	struct fat_text wanted;
	uint32_t fresh[FAT_NEW]; /* clusters of the new content */
	uint32_t n_fresh, n_wanted;
	uint32_t old;            /* first cluster of the old content; 0: none */
	uint32_t n_old, n_freed; /* its clusters */
	uint32_t scan, scanned;  /* the next cluster; how many were looked at */
	bool undo;               /* the new chain may be in the FAT, and the file has the old one */
};

/* Takes memory from alloc(). False: there is none. */
bool fat_init(struct fat *f);

/* The sum of a content with one byte more. */
static inline uint64_t fat_text_add(uint64_t sum, uint8_t byte)
{
	return (sum ^ byte) * 0x100000001b3u;
}

/* The length and the sum of a text. */
struct fat_text fat_text_of(const char *text, uint32_t len);

/* Looks for a volume on a device: 0 is the device itself, 1 to 4 the partitions of its MBR. */
void fat_open(struct fat *f, struct block_device *d, uint32_t part);

/* Reads a file of the volume that was opened and sets f->text. Of one with more than FAT_TEXT bytes
 * only the length. `name` is ASCII, has no form of 8.3 characters, and stays valid. It is compared
 * with long names, without case. */
void fat_sum(struct fat *f, const char *name);

/* Replaces the content of a file of the volume that was opened, or makes the file. The text, up to
 * FAT_TEXT bytes, stays as it is until there is a result. FAT_OK: it was read back. FAT_NONE: there
 * is no such file, and no two entries beside each other are free for it in one sector of the root
 * directory, or the name has more than 12 characters. */
void fat_replace(struct fat *f, const char *name, const char *text, uint32_t len);

/* Advances the job, a bounded amount. FAT_BUSY: call again, at once or in a millisecond. */
enum fat_result fat_poll(struct fat *f);

#endif
