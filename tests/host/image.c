/* See image.h. */
#include "tests/host/image.h"

#include "kernel/seam/io.h"
#include "kernel/seam/panic.h"

#include <signal.h>
#include <sys/mman.h>

#define PAGE      4096u
#define STORE     (1u << 18) /* slots for different pages */
#define MANY      8u         /* contiguous pages */
#define COOL_DOWN 500u       /* restored images until all pages are protected again */

struct run {
	const uint8_t *at;
	size_t n;
};

struct image {
	struct rig rig;
	uint8_t **page; /* contents of each page */
	struct run *poisoned;
	uint32_t n_poisoned;
};

static uint8_t *arena;
static uint32_t n_arena; /* pages of the arena */
static uint8_t *rig_at;  /* the first page that is completely inside the rig */
static uint32_t n_pages; /* pages of the arena, then those inside the rig */
static bool *is_hot;
static uint32_t *hot, n_hot;
static uint32_t n_put_back;
static const struct image *in_place; /* the image in the pages that are not hot */
static uint8_t *store[STORE];        /* stored pages by their hash */
static struct sigaction before;

/* Gives zeroed memory for ever. Not from malloc, because a fuzzer would search for leaks
 * after each start. */
static void *take(size_t n)
{
	enum { CHUNK = 1 << 24 };
	static uint8_t *at;
	static size_t left;
	n = (n + 63) & ~(size_t)63;
	if (n > left) {
		left = n > CHUNK ? n : CHUNK;
		at = mmap(NULL, left, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			panic("image: not enough memory");
	}
	left -= n;
	at += n;
	return at - n;
}

static void protect(uint8_t *at, size_t n, int how)
{
	if (mprotect(at, n, how) != 0)
		panic("image: mprotect fails");
}

static uint8_t *page_at(uint32_t i)
{
	return i < n_arena ? arena + (size_t)i * PAGE : rig_at + (size_t)(i - n_arena) * PAGE;
}

/* Gives the number of the page that contains a byte; n_pages when none does. */
static uint32_t page_of(uintptr_t at)
{
	size_t in_arena = (at - (uintptr_t)arena) / PAGE, in_rig = (at - (uintptr_t)rig_at) / PAGE;
	if (in_arena < n_arena)
		return (uint32_t)in_arena;
	return in_rig < n_pages - n_arena ? n_arena + (uint32_t)in_rig : n_pages;
}

static void make_hot(uint32_t i)
{
	protect(page_at(i), PAGE, PROT_READ | PROT_WRITE);
	is_hot[i] = true;
	hot[n_hot++] = i;
}

/* The handler of the first write to a page. Any other fault goes to the earlier handler. */
static void written(int number, siginfo_t *info, void *context)
{
	uint32_t i = page_of((uintptr_t)info->si_addr);
	if (i < n_pages && !is_hot[i])
		make_hot(i);
	else if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(number, info, context);
	else
		(void)signal(SIGSEGV, SIG_DFL);
}

static void set_up(uint8_t *at, size_t size, const struct rig *rig)
{
	uintptr_t from = ((uintptr_t)rig + PAGE - 1) / PAGE, to = (uintptr_t)(rig + 1) / PAGE;
	arena = at;
	n_arena = (uint32_t)(size / PAGE);
	rig_at = (uint8_t *)(from * PAGE);
	n_pages = n_arena + (uint32_t)(to > from ? to - from : 0);
	is_hot = take(n_pages * sizeof *is_hot);
	hot = take(n_pages * sizeof *hot);
	struct sigaction a = {.sa_sigaction = written, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	if (sigaction(SIGSEGV, &a, &before) != 0)
		panic("image: sigaction fails");
}

/* Protects all pages. They hold `image`. */
static void cool_down(const struct image *image)
{
	protect(arena, (size_t)n_arena * PAGE, PROT_READ);
	if (n_pages > n_arena)
		protect(rig_at, (size_t)(n_pages - n_arena) * PAGE, PROT_READ);
	for (uint32_t i = 0; i < n_hot; i++)
		is_hot[hot[i]] = false;
	n_hot = 0;
	in_place = image;
}

/* Gives a permanent copy of a page; pages with the same contents share one copy. */
static uint8_t *stored(const uint8_t *page)
{
	uint64_t hash = 0, word;
	for (uint32_t i = 0; i < PAGE; i += sizeof word) {
		memcpy(&word, page + i, sizeof word);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	for (uint32_t i = 0; i < 16; i++) {
		uint8_t **slot = &store[(hash + i) % STORE];
		if (!*slot)
			*slot = memcpy(take(PAGE), page, PAGE);
		if (memcmp(*slot, page, PAGE) == 0)
			return *slot;
	}
	return memcpy(take(PAGE), page, PAGE);
}

/* Copies a page; memcpy would check the poison. */
static void copy_page(uint8_t *to, const uint8_t *from)
{
	size_t n = PAGE;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void keep_poison(struct image *image)
{
	static struct run found[4096];
	const uint8_t *at = arena, *end = arena + (size_t)n_arena * PAGE;
	for (size_t n; (at = host_poisoned(at, end, &n)) != NULL; at += n) {
		if (image->n_poisoned == ARRAY_SIZE(found))
			panic("image: too much is poisoned");
		found[image->n_poisoned++] = (struct run){at, n};
	}
	image->poisoned = take(image->n_poisoned * sizeof *found);
	memcpy(image->poisoned, found, image->n_poisoned * sizeof *found);
	(void)host_poison_changed();
}

struct image *image_keep(const struct rig *rig)
{
	size_t size;
	uint8_t *at = host_arena_at(&size);
	if (!arena)
		set_up(at, size, rig);
	if (at != arena || size / PAGE != n_arena)
		panic("image: another arena");
	struct image *image = take(sizeof *image);
	image->rig = *rig;
	image->page = take(n_pages * sizeof *image->page);
	keep_poison(image);
	io_unpoison(arena, size);
	for (uint32_t i = 0; i < n_pages; i++)
		image->page[i] = stored(page_at(i));
	for (uint32_t i = 0; i < image->n_poisoned; i++)
		io_poison(image->poisoned[i].at, image->poisoned[i].n);
	cool_down(image);
	return image;
}

static struct host_span span_of(const struct image *image)
{
	if (image->n_poisoned == 0)
		return (struct host_span){NULL, NULL};
	const struct run *last = &image->poisoned[image->n_poisoned - 1];
	return (struct host_span){image->poisoned[0].at, last->at + last->n};
}

static struct host_span both(struct host_span a, struct host_span b)
{
	if (!a.at)
		return b;
	if (!b.at)
		return a;
	return (struct host_span){a.at < b.at ? a.at : b.at, a.end > b.end ? a.end : b.end};
}

static void put_poison(const struct image *image)
{
	struct host_span s = host_poison_changed();
	if (image != in_place)
		s = both(s, both(span_of(in_place), span_of(image)));
	if (!s.at)
		return;
	io_unpoison(s.at, (size_t)(s.end - s.at));
	for (const struct run *r = image->poisoned; r < image->poisoned + image->n_poisoned; r++)
		if (r->at < s.end && r->at + r->n > s.at)
			io_poison(r->at, r->n);
	(void)host_poison_changed();
}

/* Puts another image into the pages that are not hot. A page that differs becomes hot, except in
 * a run of MANY or more contiguous pages that differ (rare): these are copied at once. */
static void exchange(const struct image *image)
{
	for (uint32_t i = 0, n; i < n_pages; i += n ? n : 1) {
		uint32_t end = i < n_arena ? n_arena : n_pages;
		for (n = 0; i + n < end && !is_hot[i + n]; n++)
			if (in_place->page[i + n] == image->page[i + n])
				break;
		if (n >= MANY) {
			protect(page_at(i), (size_t)n * PAGE, PROT_READ | PROT_WRITE);
			for (uint32_t k = i; k < i + n; k++)
				copy_page(page_at(k), image->page[k]);
			protect(page_at(i), (size_t)n * PAGE, PROT_READ);
		}
		for (uint32_t k = i; n < MANY && k < i + n; k++)
			make_hot(k);
	}
}

/* Restores the parts of the rig before and after its complete pages. */
static void put_edges(struct rig *rig, const struct image *image)
{
	uint8_t *at = (uint8_t *)rig;
	const uint8_t *kept = (const uint8_t *)&image->rig;
	size_t before_pages = (size_t)(rig_at - at);
	size_t pages_end = before_pages + (size_t)(n_pages - n_arena) * PAGE;
	if (n_pages == n_arena) {
		*rig = image->rig;
		return;
	}
	memcpy(at, kept, before_pages);
	memcpy(at + pages_end, kept + pages_end, sizeof *rig - pages_end);
}

void image_put_back(struct rig *rig, const struct image *image)
{
	put_edges(rig, image);
	put_poison(image);
	if (in_place != image)
		exchange(image);
	for (uint32_t i = 0; i < n_hot; i++)
		copy_page(page_at(hot[i]), image->page[hot[i]]);
	in_place = image;
	if (++n_put_back % COOL_DOWN == 0)
		cool_down(image);
}
