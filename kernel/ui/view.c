/* See view.h. */
#include "kernel/ui/view.h"

#include "kernel/console/keys.h"

enum { CTRL_C = 3, CTRL_L = 12, ESC = 27 };

enum view_kind view_of_key(int key)
{
	switch (key) {
	case KEY_F1:
		return VIEW_STATUS;
	case KEY_F2:
		return VIEW_SESSIONS;
	case KEY_F3:
		return VIEW_LOG;
	default:
		return VIEW_CONSOLE;
	}
}

static void draw_bar(struct view *v)
{
	uint32_t row = v->rows - 1;
	grid_fill(&v->grid, row, 0, GRID_COLUMNS, GRID_REVERSE, ' ');
	grid_put(&v->grid, row, 1, GRID_REVERSE,
	         v->kind == VIEW_STATUS
	                 ? "1 status  2 sessions  3 log  4 console (or F1 to F4)"
	                 : "1 status  2 sessions  3 log  4 console  n/p next/previous page  "
	                   "h/l left/right");
}

/* Changes to a screen. What is there stays until it is drawn over. */
static void change(struct view *v, enum view_kind kind)
{
	v->kind = kind;
	v->due_us = 0;
	v->drawing = v->again = false;
	memset(&v->status, 0, sizeof v->status);
	memset(&v->list, 0, sizeof v->list);
	draw_bar(v);
}

void view_open(struct view *v, enum view_kind kind, uint32_t rows)
{
	v->rows = rows;
	grid_clear(&v->grid);
	change(v, kind);
}

enum view_answer view_key(struct view *v, int key)
{
	enum view_kind kind = view_of_key(key);
	if (key == CTRL_L)
		return VIEW_REDRAW;
	if (key == KEY_F4 || key == '4' || key == 'q' || key == ESC || key == CTRL_C)
		return VIEW_ENDS;
	if (key >= '1' && key <= '3')
		kind = (enum view_kind)(key - '1');
	if (kind != VIEW_CONSOLE && kind != v->kind)
		change(v, kind);
	else if (v->kind != VIEW_STATUS && view_list_key(&v->list, key))
		v->again = true;
	return VIEW_STAYS;
}

/* Draws the next part. False when the screen is complete. */
static bool draw(struct view *v, const struct view_source *source)
{
	switch (v->kind) {
	case VIEW_STATUS:
		return view_status_draw(&v->status, &source->status, &v->grid, v->rows);
	case VIEW_SESSIONS:
		return view_list_draw(&v->list, &source->sessions, &v->grid, v->rows);
	case VIEW_LOG:
		return view_list_draw(&v->list, &source->log, &v->grid, v->rows);
	case VIEW_CONSOLE:
		break;
	}
	return false;
}

bool view_run(struct view *v, const struct view_source *source, uint64_t now_us)
{
	if (!v->drawing && !v->again && now_us < v->due_us)
		return false;
	if (!v->drawing) {
		v->again = false;
		v->due_us = now_us + VIEW_EVERY_US;
	}
	v->drawing = draw(v, source);
	return true;
}
