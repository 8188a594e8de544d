/* See fat.h: the root directory, long names, and the content of a file (Microsoft FAT specification
 * 1.03, "Long Directory Entries"). */
#include "drivers/block/fat_job.h"

#define ENTRY          32u
#define DIRECTORY_MOST (65536u * ENTRY) /* bytes of a directory */
#define PIECE          13u              /* characters of one piece of a long name */

enum { E_ATTRIBUTES = 11, E_CLUSTER_HIGH = 20, E_CLUSTER_LOW = 26, E_SIZE = 28 };
enum { ATTR_VOLUME = 0x08, ATTR_DIRECTORY = 0x10, ATTR_LONG = 0x0f, ATTR_MASK = 0x3f };
enum { L_ORDER = 0, L_TYPE = 12, L_CHECK = 13, L_LAST = 0x40 };

/* --- names -------------------------------------------------------------------------------- */

static uint8_t lower(uint32_t c)
{
	return (uint8_t)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* True when piece `piece` (from 1) of a long name has these characters of the name: behind its end
 * a zero, then all ones. */
static bool piece_is(const uint8_t *e, uint32_t piece, const char *name)
{
	static const uint8_t at[PIECE] = {1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30};
	uint32_t len = (uint32_t)strlen(name), from = (piece - 1) * PIECE;
	for (uint32_t i = 0; i < PIECE; i++) {
		uint32_t c = load16(e + at[i]), k = from + i;
		uint32_t want = k < len ? lower((uint8_t)name[k]) : k == len ? 0 : 0xffff;
		if ((c < 128 ? lower(c) : c) != want)
			return false;
	}
	return true;
}

static uint8_t short_check(const uint8_t *e)
{
	uint8_t sum = 0;
	for (uint32_t i = 0; i < 11; i++)
		sum = (uint8_t)((sum >> 1) + (sum << 7) + e[i]);
	return sum;
}

/* Takes a piece of a long name. The last piece comes first. */
static void take_piece(struct fat *f, const uint8_t *e)
{
	uint32_t pieces = ((uint32_t)strlen(f->name) + PIECE - 1) / PIECE;
	uint32_t piece = e[L_ORDER] & 0x3f;
	if (e[L_ORDER] & L_LAST) {
		f->dir.long_ok = piece == pieces;
		f->dir.long_check = e[L_CHECK];
	} else {
		f->dir.long_ok &= piece + 1 == f->dir.long_left && e[L_CHECK] == f->dir.long_check;
	}
	f->dir.long_left = piece;
	f->dir.long_ok = f->dir.long_ok && piece && e[L_TYPE] == 0 && piece_is(e, piece, f->name);
}

/* True when an entry is that of the file. */
static bool is_file(struct fat *f, const uint8_t *e)
{
	bool named = f->dir.long_ok && f->dir.long_left == 1;
	f->dir.long_ok = false;
	named = named && short_check(e) == f->dir.long_check;
	bool file = !(e[E_ATTRIBUTES] & (ATTR_VOLUME | ATTR_DIRECTORY));
	f->dir.taken |= named && !file;
	return named && file;
}

/* There is no such file. */
static void missing(struct fat *f)
{
	if (f->job == FAT_J_VERIFY)
		fat_replace_lost(f);
	else if (f->job != FAT_J_REPLACE || !fat_create_begin(f))
		fat_ends(f, FAT_NONE, NULL);
}

/* --- the directory ------------------------------------------------------------------------- */

void fat_find_begin(struct fat *f)
{
	memset(&f->dir, 0, sizeof f->dir);
	f->dir.next = f->volume.root_cluster;
	f->dir.sector = f->volume.root_start;
	f->dir.left = f->volume.root_sectors;
	f->state = FAT_S_FIND;
}

/* Goes on to the next cluster of FAT32's directory. The entry in the FAT of each cluster is checked
 * before the cluster is read: a directory that counts as free could be overwritten. */
static void next_cluster(struct fat *f)
{
	uint32_t value;
	if (!fat_chain_has(f, f->dir.next)) { /* the end; FAT16: its only piece is over */
		missing(f);
		return;
	}
	if (!fat_chain_get(f, f->dir.next, &value))
		return;
	enum fat_link link = fat_chain_link_of(f, value);
	if (link == FAT_LINK_FREE || link == FAT_LINK_BAD) {
		fat_ends(f, FAT_BAD, "the stick's FAT is damaged: the directory's chain is broken");
		return;
	}
	f->dir.sector = fat_chain_sector(f, f->dir.next);
	f->dir.left = f->volume.cluster_sectors;
	f->dir.next = link == FAT_LINK_NEXT ? value : 0;
}

static void read_next(struct fat *f)
{
	uint32_t n = min_u32(f->dir.left, BLOCK_BYTES / f->volume.sector_bytes);
	if (f->dir.sectors > DIRECTORY_MOST / f->volume.sector_bytes) {
		fat_ends(f, FAT_BAD,
		         "the stick's FAT is damaged: the directory is too long or a circle");
		return;
	}
	f->dir.in_buf = n * f->volume.sector_bytes;
	f->dir.at = 0;
	fat_read(f, FAT_S_FIND, f->buf, f->dir.sector, n);
	f->dir.sector += n;
	f->dir.left -= n;
	f->dir.sectors += n;
}

/* The file's entry is at f->dir.at in buf. */
static void found(struct fat *f)
{
	const uint8_t *e = f->buf + f->dir.at;
	struct fat_entry *to = &f->entry;
	uint32_t begin = f->dir.sector - f->dir.in_buf / f->volume.sector_bytes;
	to->sector = begin + f->dir.at / f->volume.sector_bytes;
	to->offset = f->dir.at % f->volume.sector_bytes;
	to->attributes = e[E_ATTRIBUTES];
	to->size = load32(e + E_SIZE);
	to->cluster = load16(e + E_CLUSTER_LOW);
	if (f->volume.fat32)
		to->cluster =
		        (to->cluster | (uint32_t)load16(e + E_CLUSTER_HIGH) << 16) & 0x0fffffff;
	if (to->cluster ? !fat_chain_has(f, to->cluster) : to->size != 0) {
		fat_ends(f, FAT_BAD, "the stick's FAT is damaged: the file begins nowhere");
	} else if (f->job == FAT_J_REPLACE) {
		fat_replace_found(f);
	} else {
		fat_find_chain(f, to->cluster, to->size);
		f->state = f->job == FAT_J_SUM ? FAT_S_SUM : FAT_S_VERIFY;
	}
}

void fat_find(struct fat *f)
{
	while (f->dir.at < f->dir.in_buf) {
		const uint8_t *e = f->buf + f->dir.at;
		fat_create_look(f, e);
		if (e[0] == 0) {
			missing(f);
			return;
		}
		if (e[0] == 0xe5)
			f->dir.long_ok = false;
		else if ((e[E_ATTRIBUTES] & ATTR_MASK) == ATTR_LONG)
			take_piece(f, e);
		else if (is_file(f, e)) {
			found(f);
			return;
		}
		f->dir.at += ENTRY;
	}
	if (f->dir.left)
		read_next(f);
	else
		next_cluster(f);
}

/* --- content ------------------------------------------------------------------------------- */

void fat_find_chain(struct fat *f, uint32_t cluster, uint32_t len)
{
	f->cluster = cluster;
	f->sector = 0;
	f->pending = 0;
	f->done = 0;
	f->size = len;
	f->text = fat_text_of(NULL, 0);
}

/* Takes over what was read into buf. */
static void add_up(struct fat *f)
{
	for (uint32_t i = 0; i < f->pending; i++)
		f->text.sum = fat_text_add(f->text.sum, f->buf[i]);
	f->text.len += f->pending;
	f->pending = 0;
}

bool fat_find_read(struct fat *f)
{
	uint32_t bytes = f->volume.sector_bytes, value;
	add_up(f);
	if (f->text.len == f->size)
		return true;
	if (f->sector == f->volume.cluster_sectors) {
		if (!fat_chain_get(f, f->cluster, &value))
			return false;
		f->cluster = fat_chain_link_of(f, value) == FAT_LINK_NEXT ? value : 0;
		f->sector = 0;
	}
	if (!f->cluster && f->job == FAT_J_SUM)
		fat_ends(f, FAT_BAD,
		         "the stick's FAT is damaged: the file's chain of clusters is short");
	else if (!f->cluster)
		fat_replace_lost(f);
	if (!f->cluster)
		return false;
	uint32_t left = f->size - f->text.len;
	uint32_t n = min_u32(f->volume.cluster_sectors - f->sector, BLOCK_BYTES / bytes);
	n = min_u32(n, (left + bytes - 1) / bytes);
	f->pending = min_u32(left, n * bytes);
	fat_read(f, f->state, f->buf, fat_chain_sector(f, f->cluster) + f->sector, n);
	f->sector += n;
	return false;
}

void fat_find_sum(struct fat *f)
{
	if (f->size > FAT_TEXT)
		f->text.len = f->size;
	else if (!fat_find_read(f))
		return;
	fat_ends(f, FAT_OK, NULL);
}
