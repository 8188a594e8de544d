/* Any keys typed into the editor and the wizard, over any configuration text. The input is a text,
 * a zero, and keys: bytes, of which those from 0x80 on stand for keys that are no characters. */
#include "apps/apps.h"
#include "kernel/console/keys.h"
#include "kernel/seam/panic.h"
#include "kernel/settings.h"
#include "kernel/texts.h"
#include "kernel/ui/editor.h"
#include "kernel/ui/wizard.h"

#include <stdlib.h>

enum { KEYS = 300, CARDS = 3 };

static struct texts texts;
static struct config scratch, again;
static struct draft draft;
static char memory[DRAFT_BYTES];
static struct editor editor;
static struct wizard wizard;
static struct grid grid;
static struct grid_vt100 terminal;
static struct menu_item items[16];
static struct menu_card cards[CARDS];

static void must(bool good)
{
	if (!good)
		abort();
}

static int key_of(uint8_t byte)
{
	return byte < 0x80 ? byte : KEY_UP + byte % (KEY_F12 - KEY_UP + 1);
}

/* What a terminal gets fits, and ends. */
static void show(void)
{
	char out[GRID_VT100_LEAST];
	uint32_t n = 0;
	size_t len;
	while ((len = grid_vt100_draw(&terminal, &grid, out, sizeof out)) > 0)
		must(len <= sizeof out && ++n < 1000);
	must(!grid.cursor || grid.row < GRID_SERIAL);
}

/* The draft is what its text says. */
static void check(void)
{
	texts_read(&texts, &again, draft.text);
	must(again.n_errors == draft.c->n_errors && draft.text.len <= DRAFT_TEXT);
	for (uint32_t i = 0; i < again.n_entries; i++)
		must(config_same(&again, draft.c, i));
	if (!draft_has_changes(&draft))
		for (uint32_t i = 0; i < again.n_entries; i++)
			must(!draft_changed(&draft, &draft.c->entry[i]));
}

static void edit(const uint8_t *keys, size_t n)
{
	editor_init(&editor, &draft, items[n % n_apps].name, settings_uses);
	for (size_t i = 0; i < n; i++) {
		enum editor_act act = editor_key(&editor, key_of(keys[i]));
		must(editor.mode == EDITOR_LEAVE || !editor.n_rows ||
		     editor.chosen < editor.n_rows);
		must(act == EDITOR_STAY || act == EDITOR_DROP || draft.c->n_errors == 0);
		if (act == EDITOR_USE)
			draft_keep(&draft);
		if (act != EDITOR_STAY)
			editor_init(&editor, &draft, items[0].name, settings_uses);
	}
	editor_draw(&editor, &grid);
	show();
}

static void ask(const uint8_t *keys, size_t n)
{
	draft_drop(&draft);
	wizard_init(&wizard, &draft, items, n_apps, 0, cards, n % (CARDS + 1), n & 1);
	for (size_t i = 0; i < n; i++) {
		cards[keys[i] % CARDS].up = keys[i] & 0x40;
		wizard_look(&wizard);
		enum wizard_act act = wizard_key(&wizard, key_of(keys[i]));
		must(act == WIZARD_STAY || act == WIZARD_DROP || draft.c->n_errors == 0);
		if (act != WIZARD_STAY)
			wizard_init(&wizard, &draft, items, n_apps, 0, cards, CARDS, n & 1);
	}
	wizard_draw(&wizard, &grid);
	show();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *names[16];
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t len = end ? (size_t)(end - data) : 0, n = size - len;
	for (uint32_t i = 0; i < n_apps; i++) {
		names[i] = apps[i].name;
		items[i] = (struct menu_item){apps[i].name, apps[i].about};
	}
	for (uint32_t i = 0; i < CARDS; i++)
		cards[i] = (struct menu_card){"52:54:00:12:34:56", "e1000", false, 1000};
	texts_init(&texts, "", names, n_apps);
	texts_add(&texts, "gateway.conf", (struct slice){(const char *)data, len});
	draft_init(&draft, &scratch, memory, texts.conf, texts_parse, &texts);
	grid_vt100_init(&terminal);
	n = n < KEYS ? n : KEYS;
	edit(data + len, n);
	check();
	ask(data + len, n);
	check();
	return 0;
}
