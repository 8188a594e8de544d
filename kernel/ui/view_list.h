/* Long listings as a screen with pages: sessions, the log. Pure: a source gives the lines, and a
 * few lines are read a call, so that no call takes long. */
#ifndef KERNEL_UI_VIEW_LIST_H
#define KERNEL_UI_VIEW_LIST_H

#include "kernel/ui/grid.h"

#define VIEW_LIST_PAGES 128u /* pages that can be gone back through */
#define VIEW_LIST_KEYS  8u
#define VIEW_LIST_LINE  448u /* bytes of a line, with NUL */

/* Where the lines come from. Cursors begin with 0 and grow. */
struct view_list_source {
	const char *title;
	const char *none; /* shown in place of an empty listing */
	/* Writes the line at *cursor into buf, which has VIEW_LIST_LINE bytes, and moves the cursor
	 * behind it. An empty line: a bounded search has found nothing yet. False behind the
	 * last line. */
	bool (*line)(uint64_t *cursor, char *buf, size_t size);
	/* Gives the cursor of the line that is n lines in front of another; UINT64_MAX is the end.
	 * The listing begins with its last page, and follows what is added. NULL: it begins with
	 * its first page, and goes back through pages that were seen. */
	uint64_t (*before)(uint64_t cursor, uint32_t n);
};

/* A page. All zeros at first. */
struct view_list {
	uint64_t page[VIEW_LIST_PAGES]; /* where the pages before this one begin; a ring */
	uint32_t n_pages;               /* how many there are, up to VIEW_LIST_PAGES */
	uint32_t newest;                /* where the next one is put; free-running */
	uint64_t number;                /* of this page, from 0 */
	uint64_t top;                   /* where this page begins */
	uint64_t next;                  /* where the next line is read */
	uint32_t row;                   /* of the next line on the page; 0: reading begins */
	uint32_t shift;                 /* columns that are cut off on the left */
	/* What keys asked for that wait until the page is read; more keys than that are lost. */
	uint8_t wanted[VIEW_LIST_KEYS];
	uint32_t n_wanted;
	bool complete; /* the page was read to its end */
	bool more;     /* lines follow this page */
	bool held;     /* of a source with `before`: a page above the last */
};

/* Takes a key: Page Down, Space, n; Page Up, b, p; Home, g; End, G; left, right. True when it
 * means something: then the page is to be drawn again. */
bool view_list_key(struct view_list *v, int key);

/* Draws the next few lines of the page into the first `rows` - 1 rows of the grid. False when the
 * page is complete and no key waits: then the next call reads the page again. */
bool view_list_draw(struct view_list *v, const struct view_list_source *source, struct grid *g,
                    uint32_t rows);

#endif
