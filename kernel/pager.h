/* Long answers on the screen stop after each page. Pure. */
#ifndef KERNEL_PAGER_H
#define KERNEL_PAGER_H

#include "kernel/lib/bytes.h"

#define PAGER_ROWS    24u /* of the screen; one more shows that lines wait */
#define PAGER_COLUMNS 80u

/* What a full page shows, and what erases it. */
#define PAGER_ASKS  "-- more -- (Space, Enter, q)"
#define PAGER_WIPES "\r                            \r"

struct pager {
	bool asks;     /* a line waits for a key */
	uint32_t left; /* rows of this page that are free; PAGER_OFF: no pages */
};

#define PAGER_OFF UINT32_MAX

/* An answer begins, or goes on without pages. */
void pager_begin(struct pager *p, bool pages);

/* A line of `len` characters is to be printed. False when it waits, because the page is full. */
bool pager_line(struct pager *p, size_t len);

/* Takes a key while a line of `len` characters waits: Space makes room for a page, Enter for this
 * line. False when the line goes on waiting. */
bool pager_key(struct pager *p, int key, size_t len);

#endif
