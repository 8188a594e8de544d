/* See multiboot.h. A wrong map must do no harm: the code reads entries only within their
 * bounds; memory counts as unavailable if any entry that covers it says so; a range that
 * ends before it begins is ignored; an address is limited to 4 GB before it is rounded to a
 * page, since it might wrap at 2^64. */
#include "kernel/board/multiboot.h"

#define PAGE      4096u
#define AVAILABLE 1u

/* Offsets in a map entry. The size does not include its own field (section 3.3). */
enum { ENTRY_SIZE = 0, ENTRY_BASE = 4, ENTRY_LENGTH = 12, ENTRY_TYPE = 20, ENTRY_BYTES = 24 };

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

/* Calls `use` for each entry that is available, or, if `available` is false, for each that
 * is not. */
static void each(struct multiboot_map *map, const uint8_t *entries, size_t len, bool available,
                 void (*use)(struct multiboot_map *, uint64_t, uint64_t))
{
	for (size_t at = 0; len - at >= ENTRY_BYTES;) {
		const uint8_t *e = entries + at;
		uint64_t base = load64(e + ENTRY_BASE), length = load64(e + ENTRY_LENGTH);
		uint64_t end = length > UINT64_MAX - base ? UINT64_MAX : base + length;
		if ((load32(e + ENTRY_TYPE) == AVAILABLE) == available)
			use(map, base, end);
		uint32_t size = load32(e + ENTRY_SIZE);
		if (size < ENTRY_BYTES - 4 || size > len - at - 4)
			return;
		at += size + 4;
	}
}

void multiboot_map(struct multiboot_map *map, const uint8_t *entries, size_t len, uint32_t low,
                   uint32_t high)
{
	map->n = 0;
	each(map, entries, len, true, multiboot_add);
	each(map, entries, len, false, multiboot_cut);
	multiboot_cut(map, 0, low);
	multiboot_cut(map, high, (uint64_t)UINT32_MAX + 1);
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
