/* What the tests of editor, wizard and menu share: a draft of a text, typed keys, the screen. */
#ifndef TESTS_UNIT_KERNEL_UI_UI_KIT_H
#define TESTS_UNIT_KERNEL_UI_UI_KIT_H

#include "apps/apps.h"
#include "kernel/console/keys.h"
#include "kernel/lib/log.h"
#include "kernel/settings.h"
#include "kernel/texts.h"
#include "kernel/ui/draft.h"
#include "kernel/ui/grid.h"
#include "tests/tap.h"

static struct texts texts;
static struct config scratch;
static struct draft draft;
static char memory[DRAFT_BYTES];
static struct grid grid;

static inline struct slice slice(const char *text)
{
	return (struct slice){text, strlen(text)};
}

static inline void begin_draft(const char *cmdline, const char *text)
{
	static const char *names[16];
	for (uint32_t i = 0; i < n_apps; i++)
		names[i] = apps[i].name;
	log_reset();
	texts_init(&texts, cmdline, names, n_apps);
	texts_add(&texts, "gateway.conf", slice(text));
	draft_init(&draft, &scratch, memory, texts.conf, texts_parse, &texts);
}

static inline const char *draft_text(void)
{
	static char copy[8192];
	snprintf(copy, sizeof copy, "%.*s", (int)draft.text.len, draft.text.at);
	return copy;
}

static inline const struct config_entry *key(const char *name)
{
	return config_entry(draft.c, name);
}

/* A row of the grid without the blanks at its end. */
static inline const char *grid_row(uint32_t r)
{
	static char text[GRID_COLUMNS + 1];
	uint32_t n = 0;
	for (uint32_t c = 0; c < GRID_COLUMNS; c++) {
		text[c] = (char)grid.cell[r][c];
		if (text[c] != ' ')
			n = c + 1;
	}
	text[n] = '\0';
	return text;
}

/* True when a row of the grid has this text in it. */
static inline bool shows(const char *part)
{
	for (uint32_t r = 0; r < GRID_SERIAL; r++)
		if (strstr(grid_row(r), part))
			return true;
	return false;
}

/* The number that stands before the row with this text; 0 when there is none. */
static inline unsigned number_of(const char *part)
{
	for (uint32_t r = 0; r < GRID_SERIAL; r++)
		if (strstr(grid_row(r), part))
			return (unsigned)strtoul(grid_row(r) + 1, NULL, 10);
	return 0;
}

/* The last row of the local screen is not used, and every text fits. */
static inline void check_screen(void)
{
	CHECK_STR(grid_row(24), "");
	CHECK(!grid.cursor || grid.row < GRID_SERIAL);
}

#endif
