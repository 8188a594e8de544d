/* See view_list.h. A page is read line by line, straight into the grid. A key that goes to another
 * page waits until this one is read: only then is it known where the next one begins. */
#include "kernel/ui/view_list.h"

#include "kernel/console/keys.h"
#include "kernel/lib/fmt.h"

enum {
	LINES_A_CALL = 4,
	SHIFT = 20,
	SHIFT_MOST = 360,
};

/* What a key asks for. */
enum wish { NOTHING, NEXT, PREVIOUS, FIRST, LAST, LEFT, RIGHT };

static enum wish wish_of(int key)
{
	switch (key) {
	case KEY_PAGE_DOWN:
	case KEY_DOWN:
	case ' ':
	case 'n':
	case '\r':
	case '\n':
		return NEXT;
	case KEY_PAGE_UP:
	case KEY_UP:
	case 'b':
	case 'p':
		return PREVIOUS;
	case KEY_HOME:
	case 'g':
		return FIRST;
	case KEY_END:
	case 'G':
		return LAST;
	case KEY_LEFT:
	case 'h':
		return LEFT;
	case KEY_RIGHT:
	case 'l':
		return RIGHT;
	default:
		return NOTHING;
	}
}

bool view_list_key(struct view_list *v, int key)
{
	enum wish w = wish_of(key);
	if (w == LEFT)
		v->shift -= min_u32(v->shift, SHIFT);
	else if (w == RIGHT)
		v->shift = min_u32(v->shift + SHIFT, SHIFT_MOST);
	else if (w != NOTHING)
		v->wanted = (uint8_t)w;
	return w != NOTHING;
}

static void push(struct view_list *v, uint64_t top)
{
	v->page[v->newest++ % VIEW_LIST_PAGES] = top;
	v->n_pages = min_u32(v->n_pages + 1, VIEW_LIST_PAGES);
}

static void go_first(struct view_list *v)
{
	v->top = v->number = 0;
	v->n_pages = 0;
}

static void go_next(struct view_list *v)
{
	if (!v->more)
		return;
	push(v, v->top);
	v->top = v->next;
	v->number++;
}

static void go_previous(struct view_list *v)
{
	if (v->n_pages == 0) {
		go_first(v);
		return;
	}
	v->n_pages--;
	v->top = v->page[--v->newest % VIEW_LIST_PAGES];
	v->number--;
}

/* Moves within a source that can be gone back through line by line. */
static void move_back(struct view_list *v, const struct view_list_source *s, enum wish w,
                      uint32_t lines)
{
	uint64_t last = s->before(UINT64_MAX, lines);
	if (w == FIRST)
		v->top = 0;
	else if (w == PREVIOUS)
		v->top = s->before(v->top, lines);
	else if (w == NEXT)
		v->top = v->next;
	v->held = w != LAST && v->top < last;
}

/* Goes where the waiting key wants to. */
static void turn_page(struct view_list *v, const struct view_list_source *s, uint32_t lines)
{
	enum wish w = (enum wish)v->wanted;
	v->wanted = NOTHING;
	if (s->before) {
		move_back(v, s, w, lines);
	} else if (w == NEXT) {
		go_next(v);
	} else if (w == PREVIOUS) {
		go_previous(v);
	} else if (w == FIRST) {
		go_first(v);
	}
}

static void draw_line(const struct view_list *v, struct grid *g, const char *line)
{
	size_t len = strlen(line);
	grid_fill(g, v->row, 0, GRID_COLUMNS, GRID_NORMAL, ' ');
	if (len <= v->shift)
		return;
	grid_put(g, v->row, 0, GRID_NORMAL, line + v->shift);
	/* What is cut off is shown by a mark. */
	if (len - v->shift > GRID_COLUMNS)
		grid_put(g, v->row, GRID_COLUMNS - 1, GRID_REVERSE, ">");
}

static void draw_title(const struct view_list *v, const struct view_list_source *s, struct grid *g)
{
	grid_fill(g, 0, 0, GRID_COLUMNS, GRID_REVERSE, ' ');
	uint32_t n = grid_put(g, 0, 1, GRID_REVERSE, s->title);
	if (s->before)
		grid_put(g, 0, n + 3, GRID_REVERSE, v->held ? "earlier lines" : "the last lines");
	else
		grid_print(g, 0, n + 3, GRID_REVERSE, "page %u%s", (uint32_t)v->number + 1,
		           v->more ? ", more follow" : ", the last one");
}

/* The page is read as far as there are lines. */
static void finish(struct view_list *v, const struct view_list_source *s, struct grid *g,
                   uint32_t end)
{
	draw_title(v, s, g);
	if (v->row == 1 && v->number == 0) {
		v->shift = 0;
		draw_line(v, g, s->none);
		v->row++;
	}
	for (; v->row < end; v->row++)
		draw_line(v, g, "");
	v->row = 0;
	v->complete = true;
}

/* Begins to read a page. */
static void begin(struct view_list *v, const struct view_list_source *s, uint32_t lines)
{
	if (v->complete && v->wanted)
		turn_page(v, s, lines);
	if (s->before && !v->held)
		v->top = s->before(UINT64_MAX, lines);
	v->complete = false;
	v->next = v->top;
	v->row = 1;
}

bool view_list_draw(struct view_list *v, const struct view_list_source *source, struct grid *g,
                    uint32_t rows)
{
	char line[VIEW_LIST_LINE];
	uint32_t end = rows - 1;
	if (v->row == 0)
		begin(v, source, end - 1);
	for (uint32_t i = 0; i < LINES_A_CALL; i++) {
		uint64_t at = v->next;
		line[0] = '\0';
		bool found = source->line(&v->next, line, sizeof line);
		v->more = found && line[0] && v->row == end;
		if (v->more)
			v->next = at; /* the next page begins with this line */
		if (!found || v->more) {
			finish(v, source, g, end);
			return v->wanted != NOTHING;
		}
		if (line[0]) {
			draw_line(v, g, line);
			v->row++;
		}
	}
	return true;
}
