/* See fat.h: the order in which the content of a file is replaced. */
#include "drivers/block/fat_job.h"

#define ATTR_READ_ONLY 0x01
#define ATTR_ARCHIVE   0x20

enum { E_ATTRIBUTES = 11, E_CLUSTER_HIGH = 20, E_CLUSTER_LOW = 26, E_SIZE = 28, E_BYTES = 32 };
enum { INFO_LEAD = 0, INFO_MARK = 484, INFO_FREE = 488, INFO_NEXT = 492, INFO_TRAIL = 508 };

void fat_replace(struct fat *f, const char *name, const char *text, uint32_t len)
{
	fat_begin(f, FAT_J_REPLACE);
	f->name = name;
	f->content = text;
	f->alias = 0;
	if (len > FAT_TEXT) {
		fat_ends(f, FAT_BAD, "the text is too long");
		return;
	}
	f->wanted = fat_text_of(text, len);
	fat_find_begin(f);
}

void fat_replace_found(struct fat *f)
{
	uint32_t bytes = f->volume.cluster_sectors * f->volume.sector_bytes;
	f->n_wanted = (f->wanted.len + bytes - 1) / bytes;
	f->n_fresh = f->n_old = 0;
	f->cluster = f->entry.cluster;
	f->scan = 2;
	f->scanned = 0;
	if (f->entry.attributes & ATTR_READ_ONLY)
		fat_ends(f, FAT_BAD, "the file on the stick is marked read-only");
	else
		f->state = f->cluster ? FAT_S_WALK : FAT_S_INFO;
}

/* --- FSInfo ---------------------------------------------------------------------------------- */

static bool is_info(const uint8_t *b)
{
	return load32(b + INFO_LEAD) == 0x41615252 && load32(b + INFO_MARK) == 0x61417272 &&
	       load32(b + INFO_TRAIL) == 0xaa550000;
}

/* Reads FSInfo, if there is one: before clusters are looked for, and when the old ones are free. */
void fat_replace_info(struct fat *f)
{
	uint8_t then = f->fate == FAT_REPLACED ? FAT_S_COUNT : FAT_S_HINT;
	if (f->volume.info)
		fat_read(f, then, f->buf, f->volume.info, 1);
	else if (f->fate == FAT_REPLACED)
		fat_flush(f, FAT_S_AGAIN);
	else
		f->state = FAT_S_SCAN;
}

/* FSInfo was read: where free clusters may begin. */
void fat_replace_hint(struct fat *f)
{
	uint32_t next = load32(f->buf + INFO_NEXT);
	if (is_info(f->buf) && fat_chain_has(f, next))
		f->scan = next;
	f->state = FAT_S_SCAN;
}

/* FSInfo was read once more: the number of free clusters, where it is known, and the hint. */
void fat_replace_count(struct fat *f)
{
	uint8_t *b = f->buf;
	uint32_t n = load32(b + INFO_FREE);
	if (!is_info(b)) {
		fat_flush(f, FAT_S_AGAIN);
		return;
	}
	if (n <= f->volume.clusters) {
		n += f->n_freed;
		n = n > f->n_fresh ? n - f->n_fresh : 0;
		store32(b + INFO_FREE, min_u32(n, f->volume.clusters));
	}
	if (f->n_fresh)
		store32(b + INFO_NEXT, f->fresh[f->n_fresh - 1]);
	fat_write(f, FAT_S_DONE, b, f->volume.info, 1);
}

void fat_replace_done(struct fat *f)
{
	fat_flush(f, FAT_S_AGAIN);
}

/* --- the new content ------------------------------------------------------------------------- */

/* Writes the text into the new clusters. f->done counts its bytes. */
void fat_replace_data(struct fat *f)
{
	uint32_t bytes = f->volume.sector_bytes, in_cluster = f->volume.cluster_sectors * bytes;
	if (f->done >= f->wanted.len) {
		f->done = 0;
		f->undo = true;
		f->state = FAT_S_LINK;
		return;
	}
	uint32_t cluster = f->fresh[f->done / in_cluster], at = f->done % in_cluster;
	uint32_t n = min_u32(min_u32(in_cluster - at, BLOCK_BYTES), f->wanted.len - f->done);
	uint32_t sectors = (n + bytes - 1) / bytes;
	memcpy(f->buf, f->content + f->done, n);
	memset(f->buf + n, 0, sectors * bytes - n);
	f->done += n;
	fat_write(f, FAT_S_DATA, f->buf, fat_chain_sector(f, cluster) + at / bytes, sectors);
}

static bool same(struct fat_text a, struct fat_text b)
{
	return a.len == b.len && a.sum == b.sum;
}

/* The new chain is read back through the FAT, before the file gets it. */
void fat_replace_check(struct fat *f)
{
	if (!fat_find_read(f))
		return;
	if (same(f->text, f->wanted))
		fat_read(f, FAT_S_SWITCH, f->buf, f->entry.sector, 1);
	else
		fat_replace_lost(f);
}

/* The directory's sector was read: the file gets its new content. */
void fat_replace_switch(struct fat *f)
{
	uint8_t *e = f->buf + f->entry.offset;
	uint32_t cluster = f->n_fresh ? f->fresh[0] : 0;
	bool ready = f->alias ? fat_create_names(f)
	                      : load32(e + E_SIZE) == f->entry.size &&
	                                e[E_ATTRIBUTES] == f->entry.attributes &&
	                                load16(e + E_CLUSTER_LOW) == (f->entry.cluster & 0xffff);
	if (!ready) {
		fat_fail(f, "the stick does not read the same twice");
		return;
	}
	if (f->alias)
		e += E_BYTES;
	store16(e + E_CLUSTER_LOW, (uint16_t)cluster);
	if (f->volume.fat32)
		store16(e + E_CLUSTER_HIGH, (uint16_t)(cluster >> 16));
	store32(e + E_SIZE, f->wanted.len);
	e[E_ATTRIBUTES] |= ATTR_ARCHIVE; /* for programs that copy what has changed */
	f->undo = false;
	f->fate = FAT_EITHER;
	fat_write(f, FAT_S_SWITCHED, f->buf, f->entry.sector, 1);
}

/* The directory's sector was written. The old clusters are freed when the file was read back. */
void fat_replace_switched(struct fat *f)
{
	f->old = f->entry.cluster;
	fat_flush(f, FAT_S_AGAIN);
}

/* --- the end --------------------------------------------------------------------------------- */

/* The file is looked for and read: before the old clusters are freed, and at the end. */
void fat_replace_again(struct fat *f)
{
	f->job = FAT_J_VERIFY;
	fat_chain_forget(f);
	fat_find_begin(f);
}

void fat_replace_verify(struct fat *f)
{
	if (!fat_find_read(f))
		return;
	if (!same(f->text, f->wanted)) {
		fat_replace_lost(f);
	} else if (f->fate == FAT_REPLACED) {
		fat_ends(f, FAT_OK, NULL);
	} else {
		f->fate = FAT_REPLACED;
		f->job = FAT_J_REPLACE;
		f->cluster = f->old;
		f->n_freed = 0;
		f->state = FAT_S_FREE;
	}
}

void fat_replace_lost(struct fat *f)
{
	if (f->fate != FAT_OLD)
		f->fate = FAT_EITHER;
	fat_fail(f, "the stick does not keep what is written");
}

void fat_replace_undone(struct fat *f)
{
	fat_ends(f, FAT_BAD, f->wrong);
}
