/* See fat.h: a new file. Its name takes two entries of the root directory, one with the long name
 * and one with the short name ("Long Directory Entries" of the specification). They lie in one
 * sector, so one write adds the file with its content. */
#include "drivers/block/fat_job.h"

#define ENTRY 32u
#define PIECE 13u /* characters of a piece of a long name */
#define SHORT 11u /* characters of a short name */
#define TRIES 9u  /* GATEWA~1.CON to GATEWA~9.CON */

enum { E_ATTRIBUTES = 11, E_CHECK = 13, E_DATE = 24 };
enum { ATTR_LONG = 0x0f, DELETED = 0xe5, LAST = 0x40 };
#define NO_DATE 0x21u /* 1 January 1980: there is no clock, and 0 is no date */

static uint8_t upper(char c)
{
	return (uint8_t)(c >= 'a' && c <= 'z' ? c - 32 : c);
}

/* Writes the short name of number 1 to TRIES: six characters, ~ and the number, and three
 * characters from behind the dot. */
static void short_name(const char *name, uint32_t number, uint8_t *to)
{
	uint32_t dot = 0, n = 0;
	while (name[dot] && name[dot] != '.')
		dot++;
	memset(to, ' ', SHORT);
	for (; n < dot && n < 6; n++)
		to[n] = upper(name[n]);
	to[n++] = '~';
	to[n] = (uint8_t)('0' + number);
	for (uint32_t i = 0; i < 3 && name[dot] && name[dot + 1 + i]; i++)
		to[8 + i] = upper(name[dot + 1 + i]);
}

/* Notes the place of two free entries that end or begin at f->dir.at. The entry behind them must
 * be in what was read, when the end of the directory moves there. */
static void take_free(struct fat *f, bool end)
{
	uint32_t bytes = f->volume.sector_bytes;
	uint32_t at = f->dir.free_before ? f->dir.at - ENTRY : f->dir.at;
	uint32_t behind = at + 2 * ENTRY;
	if (f->dir.hole || (!end && !f->dir.free_before) || at % bytes + 2 * ENTRY > bytes)
		return;
	if (end && behind % bytes == 0 && (behind >= f->dir.in_buf || f->buf[behind]))
		return;
	f->dir.hole = true;
	f->dir.hole_offset = at % bytes;
	f->dir.hole_sector = f->dir.sector - f->dir.in_buf / bytes + at / bytes;
}

void fat_create_look(struct fat *f, const uint8_t *e)
{
	uint8_t name[SHORT];
	if (f->dir.at % f->volume.sector_bytes == 0)
		f->dir.free_before = false;
	if (e[0] == 0 || e[0] == DELETED) {
		take_free(f, e[0] == 0);
		f->dir.free_before = true;
		return;
	}
	f->dir.free_before = false;
	for (uint32_t i = 1; i <= TRIES; i++) {
		short_name(f->name, i, name);
		if (!memcmp(e, name, SHORT))
			f->dir.aliases |= 1u << i;
	}
}

bool fat_create_begin(struct fat *f)
{
	if (!f->dir.hole || f->dir.taken || strlen(f->name) >= PIECE)
		return false;
	f->alias = 1;
	while (f->alias <= TRIES && f->dir.aliases & 1u << f->alias)
		f->alias++;
	if (f->alias > TRIES)
		return false;
	memset(&f->entry, 0, sizeof f->entry);
	f->entry.sector = f->dir.hole_sector;
	f->entry.offset = f->dir.hole_offset;
	fat_replace_found(f);
	return true;
}

/* True when an entry of the sector is free, as it was when the directory was read. */
static bool is_free(const uint8_t *e)
{
	return e[0] == 0 || e[0] == DELETED;
}

bool fat_create_names(struct fat *f)
{
	static const uint8_t place[PIECE] = {1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30};
	uint8_t *piece = f->buf + f->entry.offset, *e = piece + ENTRY, sum = 0;
	uint32_t len = (uint32_t)strlen(f->name);
	if (!is_free(piece) || !is_free(e))
		return false;
	/* The end of the directory is behind the new entries then. */
	if ((!piece[0] || !e[0]) && f->entry.offset + 2 * ENTRY < f->volume.sector_bytes)
		e[ENTRY] = 0;
	memset(piece, 0, 2 * ENTRY);
	short_name(f->name, f->alias, e);
	store16(e + E_DATE, NO_DATE);
	for (uint32_t i = 0; i < SHORT; i++)
		sum = (uint8_t)((sum >> 1) + (sum << 7) + e[i]);
	piece[0] = LAST | 1;
	piece[E_ATTRIBUTES] = ATTR_LONG;
	piece[E_CHECK] = sum;
	for (uint32_t i = 0; i < PIECE; i++)
		store16(piece + place[i], i < len ? (uint8_t)f->name[i] : i == len ? 0 : 0xffff);
	return true;
}
