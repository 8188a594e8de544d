/* See pager.h. */
#include "kernel/pager.h"

static uint32_t rows_of(size_t len)
{
	uint32_t rows = ((uint32_t)len + PAGER_COLUMNS - 1) / PAGER_COLUMNS;
	return min_u32(max_u32(rows, 1), PAGER_ROWS);
}

void pager_begin(struct pager *p, bool pages)
{
	p->asks = false;
	p->left = pages ? PAGER_ROWS : PAGER_OFF;
}

bool pager_line(struct pager *p, size_t len)
{
	if (p->left == PAGER_OFF)
		return true;
	p->asks = rows_of(len) > p->left;
	if (!p->asks)
		p->left -= rows_of(len);
	return !p->asks;
}

bool pager_key(struct pager *p, int key, size_t len)
{
	if (key != ' ' && key != '\r' && key != '\n')
		return false;
	p->asks = false;
	p->left = key == ' ' ? PAGER_ROWS : rows_of(len);
	return true;
}
