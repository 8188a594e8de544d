/* See log.h. The lines are stored one after the other in a ring of bytes. Each ends with
 * LF.
 *
 * Positions count bytes since the start and never wrap (64 bits). A byte is stored at its
 * position modulo the ring's size. `oldest` is always the first byte of a line that is
 * complete. */
#include "kernel/lib/log.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/wall.h"

_Static_assert((LOG_BYTES & (LOG_BYTES - 1)) == 0, "positions are reduced with a mask");
_Static_assert(LOG_BYTES > 2 * LOG_LINE, "a line fits beside another");

static char ring[LOG_BYTES];
static uint64_t oldest, end;
static uint64_t overwritten; /* lines */
static uint64_t now;
static void (*sink)(const char *line, size_t len);
static bool in_sink;
static bool muted;

static char *ring_at(uint64_t position)
{
	return &ring[position & (LOG_BYTES - 1)];
}

void log_sink(void (*to)(const char *line, size_t len))
{
	sink = to;
}

bool log_mute(bool on)
{
	bool was = muted;
	muted = on;
	return was;
}

void log_time(uint64_t now_us)
{
	now = now_us;
}

static void add_byte(char c)
{
	if (end - oldest == LOG_BYTES) {
		while (*ring_at(oldest) != '\n')
			oldest++;
		oldest++;
		overwritten++;
	}
	*ring_at(end++) = c;
}

static void PRINTF_LIKE(1, 0) add_line(const char *format, va_list args)
{
	char line[LOG_LINE];
	if (muted)
		return;
	size_t n = fmt(line, sizeof line, "%llu.%03u ", (unsigned long long)(now / 1000000),
	               (unsigned)(now / 1000 % 1000));
	uint64_t wall = wall_at(now);
	char date[WALL_TEXT];
	if (wall)
		n += fmt(line + n, sizeof line - n, "%s ", wall_text(date, wall));
	n += fmt_v(line + n, sizeof line - n, format, args);
	for (size_t i = 0; i < n; i++) {
		if (line[i] < ' ' || line[i] > '~')
			line[i] = '?';
		add_byte(line[i]);
	}
	add_byte('\n');
	/* A sink that logs must not be called for its own line. */
	if (!sink || in_sink)
		return;
	in_sink = true;
	sink(line, n);
	in_sink = false;
}

void log_line(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add_line(format, args);
	va_end(args);
}

bool log_limited(uint64_t *mark, uint32_t every_ms, const char *format, ...)
{
	uint64_t idle_us = now > *mark ? now - *mark : 0;
	if (*mark != 0 && idle_us < (uint64_t)every_ms * 1000)
		return false;
	*mark = now ? now : 1; /* 0 means "never" */
	va_list args;
	va_start(args, format);
	add_line(format, args);
	va_end(args);
	return true;
}

uint64_t log_end(void)
{
	return end;
}

uint64_t log_overwritten(void)
{
	return overwritten;
}

bool log_next(uint64_t *cursor, char *buf, size_t size)
{
	if (*cursor < oldest)
		*cursor = oldest;
	if (*cursor >= end || size == 0)
		return false;
	size_t n = 0;
	for (char c; (c = *ring_at((*cursor)++)) != '\n';)
		if (n < size - 1)
			buf[n++] = c;
	buf[n] = '\0';
	return true;
}

uint64_t log_before(uint64_t cursor, uint32_t n)
{
	if (cursor > end)
		cursor = end;
	for (; n > 0 && cursor > oldest; n--)
		for (cursor--; cursor > oldest && *ring_at(cursor - 1) != '\n';)
			cursor--;
	return cursor > oldest ? cursor : oldest;
}

void log_reset(void)
{
	oldest = end = now = overwritten = 0;
	sink = NULL;
	in_sink = muted = false;
}
