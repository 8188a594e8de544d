/* What the tests of the configuration share: reading a text, its errors, the way back. */
#ifndef TESTS_UNIT_CONFIG_KIT_H
#define TESTS_UNIT_CONFIG_KIT_H

#include <stdlib.h>

#include "kernel/lib/log.h"
#include "kernel/settings.h"
#include "tests/tap.h"

static const char *const known_apps[] = {"nat", "wire", "6to4"};
static struct config c;

static inline void start(void)
{
	settings_init(&c, known_apps, ARRAY_SIZE(known_apps));
	log_reset();
}

/* Reads a copy on the heap, so that the sanitizer sees a read beyond the end. */
static inline bool text_n(const char *text, size_t n)
{
	char *copy = malloc(n ? n : 1);
	if (n)
		memcpy(copy, text, n);
	bool ok = config_text(&c, "gateway.conf", copy, n);
	free(copy);
	return ok;
}

static inline bool text(const char *t)
{
	return text_n(t, strlen(t));
}

/* Reads one file on top of the defaults. */
static inline bool load(const char *t)
{
	start();
	return text(t);
}

/* Error number i as it is shown, "" when there is none. */
static inline const char *error(uint32_t i)
{
	static char shown[200];
	if (i >= c.n_errors || i >= CONFIG_ERRORS)
		return "";
	snprintf(shown, sizeof shown, "%s: %s", c.error[i].where, c.error[i].what);
	return shown;
}

#define GOOD(t)                          \
	do {                             \
		CHECK(load(t));          \
		CHECK_STR(error(0), ""); \
	} while (0)
#define WRONG(t, want)                     \
	do {                               \
		CHECK(!load(t));           \
		CHECK_EQ(c.n_errors, 1);   \
		CHECK_STR(error(0), want); \
	} while (0)
/* One line whose value has the wrong form. */
#define WRONG_VALUE(t, what) WRONG(t "\n", "gateway.conf:1: " what)

static inline bool prints(const char *line)
{
	char buf[300];
	uint32_t cursor = 0;
	while (config_line(&c, &cursor, buf, sizeof buf))
		if (strcmp(buf, line) == 0)
			return true;
	return false;
}

/* True when a line of the log has this text in it. */
static inline bool logged(const char *part)
{
	char buf[LOG_LINE];
	uint64_t at = 0;
	while (log_next(&at, buf, sizeof buf))
		if (strstr(buf, part))
			return true;
	return false;
}

static inline void dump(char *out, size_t size)
{
	char buf[300];
	uint32_t cursor = 0;
	size_t n = 0;
	out[0] = '\0';
	while (config_line(&c, &cursor, buf, sizeof buf) && n < size)
		n += (size_t)snprintf(out + n, size - n, "%s\n", buf);
}

#endif
