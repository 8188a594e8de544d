/* See multiboot.h. A wrong map must do no harm: the code reads entries only within their
 * bounds; memory counts as unavailable if any entry that covers it says so; a range that
 * ends before it begins is ignored; an address is limited to 4 GB before it is rounded to a
 * page, since it might wrap at 2^64. */
#include "kernel/board/multiboot.h"

#define PAGE      4096u
#define AVAILABLE 1u

/* Offsets in a map entry (1: section 3.3, without the size before it; 2: section 3.6.8). */
enum { ENTRY_BASE = 0, ENTRY_LENGTH = 8, ENTRY_TYPE = 16, ENTRY_BYTES = 20 };

/* Offsets in the description of a frame buffer (1: section 3.3; 2: section 3.6.12). */
enum { FRAME_ADDRESS = 0, FRAME_PITCH = 8, FRAME_WIDTH = 12, FRAME_HEIGHT = 16, FRAME_BITS = 20 };
enum { FRAME_TYPE = 21, FRAME_RED = 24, FRAME_GREEN = 26, FRAME_BLUE = 28, FRAME_RGB = 1 };
#define FRAME_LARGEST 16384u /* pixels in a line, and lines */

struct range {
	uint64_t base, end;
	bool available;
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t load64(const uint8_t *p)
{
	return (uint64_t)load32(p + 4) << 32 | load32(p);
}

static void insert(struct multiboot_map *map, uint32_t at, struct multiboot_range r)
{
	if (map->n == MULTIBOOT_RANGES)
		return;
	for (uint32_t i = map->n++; i > at; i--)
		map->range[i] = map->range[i - 1];
	map->range[at] = r;
}

static void delete (struct multiboot_map *map, uint32_t at)
{
	map->n--;
	for (uint32_t i = at; i < map->n; i++)
		map->range[i] = map->range[i + 1];
}

void multiboot_add(struct multiboot_map *map, uint64_t base, uint64_t end)
{
	if (base > UINT32_MAX)
		return;
	base = (base + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	end = min_u64(end, UINT32_MAX) & ~(uint64_t)(PAGE - 1);
	if (base >= end)
		return;
	struct multiboot_range r = {(uint32_t)base, (uint32_t)end};
	uint32_t i = 0;
	while (i < map->n && map->range[i].end < r.base)
		i++;
	while (i < map->n && map->range[i].base <= r.end) {
		r.base = min_u32(r.base, map->range[i].base);
		r.end = max_u32(r.end, map->range[i].end);
		delete (map, i);
	}
	insert(map, i, r);
}

void multiboot_cut(struct multiboot_map *map, uint64_t base, uint64_t end)
{
	base &= ~(uint64_t)(PAGE - 1);
	end = (min_u64(end, UINT32_MAX) + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	for (uint32_t i = 0; i < map->n && base < end;) {
		struct multiboot_range r = map->range[i];
		if (r.end <= base || r.base >= end) {
			i++;
			continue;
		}
		delete (map, i);
		if (r.base < base)
			insert(map, i++, (struct multiboot_range){r.base, (uint32_t)base});
		if (r.end > end)
			insert(map, i++, (struct multiboot_range){(uint32_t)end, r.end});
	}
}

/* Reads the entry at *at and moves *at to the next one. False at the end of the map. */
static bool next_entry(const uint8_t *entries, size_t len, uint32_t entry, size_t *at,
                       struct range *r)
{
	size_t left = len - *at, before = entry ? 0 : 4;
	if (left < before + ENTRY_BYTES)
		return false;
	const uint8_t *e = entries + *at + before;
	uint32_t size = entry ? entry : load32(entries + *at);
	uint64_t length = load64(e + ENTRY_LENGTH);
	r->base = load64(e + ENTRY_BASE);
	r->end = length > UINT64_MAX - r->base ? UINT64_MAX : r->base + length;
	r->available = load32(e + ENTRY_TYPE) == AVAILABLE;
	*at = size < ENTRY_BYTES || size > left - before ? len : *at + before + size;
	return true;
}

void multiboot_map(struct multiboot_map *map, const uint8_t *entries, size_t len, uint32_t entry,
                   uint32_t low, uint32_t high)
{
	struct range r;
	map->n = 0;
	for (size_t at = 0; next_entry(entries, len, entry, &at, &r);)
		if (r.available)
			multiboot_add(map, r.base, r.end);
	for (size_t at = 0; next_entry(entries, len, entry, &at, &r);)
		if (!r.available)
			multiboot_cut(map, r.base, r.end);
	multiboot_cut(map, 0, low);
	multiboot_cut(map, high, (uint64_t)UINT32_MAX + 1);
}

bool multiboot_is_memory(const uint8_t *entries, size_t len, uint32_t entry, uint64_t base,
                         uint64_t end)
{
	struct range r;
	for (size_t at = 0; next_entry(entries, len, entry, &at, &r);)
		if (r.available && r.base < end && base < r.end)
			return true;
	return false;
}

static bool colour_fits(struct multiboot_colour c, uint8_t bits)
{
	return c.size >= 1 && c.size <= 8 && c.position + c.size <= bits;
}

void multiboot_frame(struct multiboot_frame *f, const uint8_t *p)
{
	*f = (struct multiboot_frame){
	        .address = load64(p + FRAME_ADDRESS),
	        .pitch = load32(p + FRAME_PITCH),
	        .width = load32(p + FRAME_WIDTH),
	        .height = load32(p + FRAME_HEIGHT),
	        .red = {p[FRAME_RED], p[FRAME_RED + 1]},
	        .green = {p[FRAME_GREEN], p[FRAME_GREEN + 1]},
	        .blue = {p[FRAME_BLUE], p[FRAME_BLUE + 1]},
	};
	uint8_t bits = p[FRAME_BITS];
	uint32_t bytes = (bits + 7u) / 8;
	if (p[FRAME_TYPE] != FRAME_RGB || f->address == 0)
		return;
	if (bits != 15 && bits != 16 && bits != 24 && bits != 32)
		return;
	if (f->width == 0 || f->width > FRAME_LARGEST || f->height == 0 ||
	    f->height > FRAME_LARGEST || f->pitch < f->width * bytes ||
	    f->pitch > 2 * FRAME_LARGEST * 4)
		return;
	if (f->address > UINT64_MAX - (uint64_t)f->pitch * f->height)
		return;
	if (colour_fits(f->red, bits) && colour_fits(f->green, bits) && colour_fits(f->blue, bits))
		f->bits = bits;
}

bool multiboot_cmdline(char *out, size_t size, const char *loader, const char *line)
{
	while (*line == ' ')
		line++;
	if (strncmp(loader, "GRUB", 4) != 0) {
		while (*line != '\0' && *line != ' ')
			line++;
		while (*line == ' ')
			line++;
	}
	size_t n = strnlen(line, size);
	bool fits = n < size;
	if (!fits)
		n = size - 1;
	memcpy(out, line, n);
	out[n] = '\0';
	return fits;
}

void multiboot_module(char *out, size_t size, const char *string)
{
	while (*string == ' ')
		string++;
	const char *name = string;
	const char *s = string;
	for (; *s != '\0' && *s != ' '; s++)
		if (*s == '/')
			name = s + 1;
	size_t n = (size_t)(s - name);
	if (n == 0) {
		name = "gateway.conf";
		n = strlen(name);
	}
	if (n >= size)
		n = size - 1;
	memcpy(out, name, n);
	out[n] = '\0';
}
