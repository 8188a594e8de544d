/* See edit_view.h. */
#include "kernel/edit_view.h"

#include "kernel/edit.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/settings.h"
#include "kernel/ui/editor.h"
#include "kernel/x86/clock.h"

enum { CTRL_L = 12, KEYS_A_PASS = 8 };

static struct gw *gw;
static void (*resume)(enum console_terminal t);
static struct grid grid;
static struct editor editor;
static enum console_terminal shown_on = CONSOLE_TERMINALS; /* CONSOLE_TERMINALS: it is closed */
static char saved[160];

void edit_view_init(struct gw *g, void (*to_console)(enum console_terminal t))
{
	gw = g;
	resume = to_console;
}

bool edit_view_is_open(void)
{
	return shown_on != CONSOLE_TERMINALS;
}

static void draw(void)
{
	editor_draw(&editor, &grid);
	console_show(shown_on, &grid);
}

bool edit_view_open(enum console_terminal t)
{
	enum console_terminal old = shown_on;
	if (!edit_draft())
		return false;
	shown_on = t;
	if (old == CONSOLE_TERMINALS) {
		editor_init(&editor, edit_draft(), settings_name(gw->config)->app, settings_uses);
		editor.runs = true;
	} else if (old != t) {
		console_show(old, NULL);
		resume(old);
	}
	draw();
	return true;
}

bool edit_view_apply(char why[static 160])
{
	_Static_assert(DRAFT_WHY == 160, "room for edit_apply");
	return edit_apply(gw, clock_now_us(), why);
}

const char *edit_view_save(void)
{
	const char *wrong = edit_save();
	if (!wrong)
		saved[0] = '\0';
	return wrong;
}

const char *edit_view_saved(void)
{
	return saved[0] ? saved : NULL;
}

static void take(enum editor_act act)
{
	char why[DRAFT_WHY];
	const char *wrong;
	if (act == EDITOR_USE)
		edit_view_apply(why);
	if (act == EDITOR_BOTH)
		edit_apply_and_save(gw, clock_now_us(), why);
	if (act == EDITOR_USE || act == EDITOR_BOTH)
		log_line("configuration: %s", why);
	if (act == EDITOR_SAVE) {
		wrong = edit_view_save();
		if (wrong)
			log_line("configuration: %s", wrong);
	}
}

static bool run_keys(void)
{
	bool any = false;
	for (uint32_t i = 0; i < KEYS_A_PASS && edit_view_is_open(); i++) {
		enum console_terminal t = shown_on;
		int key = console_key_of(t);
		if (key == KEY_NONE)
			break;
		any = true;
		if (key == CTRL_L) {
			console_redraw(t);
			continue;
		}
		enum editor_act act = editor_key(&editor, key);
		if (act == EDITOR_STAY)
			continue;
		shown_on = CONSOLE_TERMINALS;
		console_show(t, NULL);
		resume(t);
		take(act);
	}
	if (any && edit_view_is_open())
		draw();
	return any;
}

bool edit_view_run(uint64_t now_us)
{
	const char *said = edit_save_run();
	if (said)
		fmt(saved, sizeof saved, "%s", said);
	bool did = edit_poll(gw, now_us) || said;
	return run_keys() || did;
}
