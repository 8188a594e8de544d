/* See fat.h: the table of clusters. One window of it is in memory. A sector that was changed there
 * is written to each copy, the last copy first, before another sector is changed or read. */
#include "drivers/block/fat_job.h"

#define UPPER 0xf0000000u /* bits of an entry of FAT32 that are kept */

static uint32_t width(const struct fat *f)
{
	return f->volume.fat32 ? 4 : 2;
}

bool fat_chain_has(const struct fat *f, uint32_t cluster)
{
	return cluster >= 2 && cluster <= f->volume.clusters + 1;
}

uint32_t fat_chain_sector(const struct fat *f, uint32_t cluster)
{
	return f->volume.data_start + (cluster - 2) * f->volume.cluster_sectors;
}

void fat_chain_forget(struct fat *f)
{
	f->window_n = 0;
	f->copies = 0;
}

static uint32_t copy_start(const struct fat *f, uint32_t copy)
{
	return f->volume.fat_start + copy * f->volume.fat_sectors;
}

bool fat_chain_written(struct fat *f)
{
	if (!f->copies)
		return true;
	f->copies--;
	uint32_t copy = f->volume.mirrored ? f->copies : f->volume.active;
	fat_write(f, f->state, f->window + (f->changed - f->window_at) * f->volume.sector_bytes,
	          copy_start(f, copy) + f->changed, 1);
	return false;
}

/* True when the window has this sector of the FAT. */
static bool load(struct fat *f, uint32_t sector)
{
	uint32_t n = BLOCK_BYTES / f->volume.sector_bytes;
	if (f->window_n && sector >= f->window_at && sector - f->window_at < f->window_n)
		return true;
	if (!fat_chain_written(f))
		return false;
	f->window_at = sector - sector % n;
	f->window_n = min_u32(n, f->volume.fat_sectors - f->window_at);
	fat_read(f, f->state, f->window, copy_start(f, f->volume.active) + f->window_at,
	         f->window_n);
	return false;
}

static uint32_t sector_of(const struct fat *f, uint32_t cluster)
{
	return cluster / (f->volume.sector_bytes / width(f));
}

/* Where the entry of a cluster is in the window, which has it. */
static uint8_t *place(const struct fat *f, uint32_t cluster)
{
	return f->window + cluster * width(f) - f->window_at * f->volume.sector_bytes;
}

static uint32_t value_at(const struct fat *f, const uint8_t *at)
{
	return f->volume.fat32 ? load32(at) & ~UPPER : load16(at);
}

bool fat_chain_get(struct fat *f, uint32_t cluster, uint32_t *value)
{
	if (!load(f, sector_of(f, cluster)))
		return false;
	*value = value_at(f, place(f, cluster));
	return true;
}

bool fat_chain_set(struct fat *f, uint32_t cluster, uint32_t value)
{
	uint32_t sector = sector_of(f, cluster);
	if (f->copies && f->changed != sector && !fat_chain_written(f))
		return false;
	if (!load(f, sector))
		return false;
	uint8_t *at = place(f, cluster);
	if (f->volume.fat32)
		store32(at, (load32(at) & UPPER) | value);
	else
		store16(at, (uint16_t)value);
	f->changed = sector;
	f->copies = f->volume.mirrored ? f->volume.n_fats : 1;
	return true;
}

enum fat_link fat_chain_link_of(const struct fat *f, uint32_t value)
{
	if (value == 0)
		return FAT_LINK_FREE;
	if (fat_chain_has(f, value))
		return FAT_LINK_NEXT;
	return value >= (f->volume.fat32 ? 0x0ffffff8 : 0xfff8) ? FAT_LINK_END : FAT_LINK_BAD;
}

/* --- handlers ----------------------------------------------------------------------------- */

/* Counts the clusters of the old content. Each call follows one link. */
void fat_chain_walk(struct fat *f)
{
	uint32_t value, bytes = f->volume.cluster_sectors * f->volume.sector_bytes;
	if (!fat_chain_get(f, f->cluster, &value))
		return;
	enum fat_link link = fat_chain_link_of(f, value);
	f->n_old++;
	if (link == FAT_LINK_FREE || link == FAT_LINK_BAD) {
		fat_ends(f, FAT_BAD,
		         "the stick's FAT is damaged: the file's chain of clusters is broken");
	} else if (link == FAT_LINK_NEXT && f->n_old == FAT_CHAIN) {
		fat_ends(f, FAT_BAD,
		         "the file on the stick is too large, or its chain is a circle");
	} else if (link == FAT_LINK_NEXT) {
		f->cluster = value;
	} else if (f->n_old * (uint64_t)bytes < f->entry.size) {
		fat_ends(f, FAT_BAD,
		         "the stick's FAT is damaged: the file's chain of clusters is short");
	} else {
		f->state = FAT_S_INFO;
	}
}

/* Looks for free clusters, from f->scan on and once around. Each call looks at no more than the
 * window has. */
void fat_chain_scan(struct fat *f)
{
	uint32_t value;
	for (uint32_t looked = 0; f->n_fresh < f->n_wanted; looked++) {
		if (f->scanned == f->volume.clusters) {
			fat_ends(f, FAT_BAD, "the stick is full");
			return;
		}
		if (looked == BLOCK_BYTES / width(f) || !fat_chain_get(f, f->scan, &value))
			return;
		if (value == 0)
			f->fresh[f->n_fresh++] = f->scan;
		f->scanned++;
		f->scan = fat_chain_has(f, f->scan + 1) ? f->scan + 1 : 2;
	}
	f->done = 0;
	f->sector = 0;
	f->state = FAT_S_DATA;
}

/* Links the new clusters. f->done counts them. */
void fat_chain_link(struct fat *f)
{
	uint32_t end = f->volume.fat32 ? 0x0fffffff : 0xffff;
	while (f->done < f->n_fresh) {
		uint32_t next = f->done + 1 < f->n_fresh ? f->fresh[f->done + 1] : end;
		if (!fat_chain_set(f, f->fresh[f->done], next))
			return;
		f->done++;
	}
	if (!fat_chain_written(f))
		return;
	fat_chain_forget(f);
	fat_find_chain(f, f->n_fresh ? f->fresh[0] : 0, f->wanted.len);
	fat_flush(f, FAT_S_CHECK);
}

/* Frees the chain of the old content. f->cluster is its next cluster, 0 behind the last; n_old
 * counts those that are left, as the walk found them. */
void fat_chain_free(struct fat *f)
{
	uint32_t value;
	if (f->cluster && f->n_old) {
		/* The entry is read first: fat_chain_set writes another changed sector. */
		if (!fat_chain_get(f, f->cluster, &value) || !fat_chain_set(f, f->cluster, 0))
			return;
		f->n_old--;
		f->n_freed++;
		f->cluster = fat_chain_link_of(f, value) == FAT_LINK_NEXT ? value : 0;
		return;
	}
	if (fat_chain_written(f))
		f->state = FAT_S_INFO;
}

/* Frees the new clusters again, after something failed. */
void fat_chain_undo(struct fat *f)
{
	for (; f->done < f->n_fresh; f->done++)
		if (!fat_chain_set(f, f->fresh[f->done], 0))
			return;
	if (fat_chain_written(f))
		fat_flush(f, FAT_S_UNDONE);
}
