/* The screens that a terminal can show in place of the console: status, sessions, log. Pure: keys
 * and times come in, a grid goes out.
 *
 * A screen is drawn once a second and after a key, a few rows a call. */
#ifndef KERNEL_UI_VIEW_H
#define KERNEL_UI_VIEW_H

#include "kernel/ui/view_list.h"
#include "kernel/ui/view_status.h"

#define VIEW_EVERY_US 1000000u

enum view_kind { VIEW_STATUS, VIEW_SESSIONS, VIEW_LOG, VIEW_CONSOLE };

/* Where the values and lines come from. */
struct view_source {
	struct view_status_source status;
	struct view_list_source sessions, log;
};

/* A terminal's screen. */
struct view {
	struct grid grid;
	enum view_kind kind;
	uint32_t rows;   /* of the terminal: up to GRID_ROWS */
	uint64_t due_us; /* when it is drawn again */
	bool drawing;    /* it is drawn in part */
	bool again;      /* a key asked for another screen while it was drawn */
	struct view_status status;
	struct view_list list;
};

/* What becomes of a key. */
enum view_answer {
	VIEW_STAYS,  /* the view took it, or it means nothing */
	VIEW_REDRAW, /* Ctrl-L: the terminal's screen was disturbed and is to be drawn again */
	VIEW_ENDS,   /* the console is to be shown */
};

/* The screen that a key chooses from the console: F1 to F3. VIEW_CONSOLE for other keys. */
enum view_kind view_of_key(int key);

/* Shows a screen from its beginning, on a terminal of `rows` rows. */
void view_open(struct view *v, enum view_kind kind, uint32_t rows);

/* Takes a key: F1 to F3 or 1 to 3 choose a screen; F4, 4, q, Esc and Ctrl-C end the view; Ctrl-L;
 * those of view_list_key. */
enum view_answer view_key(struct view *v, int key);

/* Draws some rows if it is time. True when it did. */
bool view_run(struct view *v, const struct view_source *source, uint64_t now_us);

#endif
