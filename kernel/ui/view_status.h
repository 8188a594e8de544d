/* The status of the running gateway as a screen. Pure: the caller gives the values, and one part
 * of the screen is drawn a call, so that no call takes long. */
#ifndef KERNEL_UI_VIEW_STATUS_H
#define KERNEL_UI_VIEW_STATUS_H

#include "kernel/ui/grid.h"

#define VIEW_INTERFACES 8u
#define VIEW_NUMBER     8u /* bytes of a number that view_status_number writes, with NUL */

/* What the first line and the line of packets say. */
struct view_status_all {
	char function[48];      /* host name and function */
	uint32_t busy_permille; /* load of the processor */
	uint64_t uptime_s;
	uint64_t forwarded, dropped; /* packets a second */
	uint64_t dropped_all;        /* packets since the start */
};

/* An interface. */
struct view_status_interface {
	char name[8];
	char card[24]; /* driver */
	char link[24]; /* carrier and speed */
	char addresses[200];
	uint64_t in, in_bits, out, out_bits; /* packets and bits a second */
};

/* How full a table is. */
struct view_status_table {
	const char *name;
	uint64_t used, most; /* places; below 2^32 */
};

/* Where the values come from. */
struct view_status_source {
	void (*all)(struct view_status_all *out);
	/* Interface i; false when there are not so many. */
	bool (*interface)(uint32_t i, struct view_status_interface *out);
	/* Table i; false when there are not so many. */
	bool (*table)(uint32_t i, struct view_status_table *out);
};

/* A screen that is being drawn. All zeros: from the beginning. */
struct view_status {
	uint8_t row;    /* that is next */
	uint8_t part;   /* what comes there: enum in view_status.c */
	uint8_t i;      /* number of the interface or table */
	uint8_t tables; /* lines that the tables may have */
	uint64_t log;   /* cursor of log_next */
};

/* Draws the next few of the first `rows` - 1 rows of the grid, at least 23. False when all were
 * drawn: then the next call begins again. */
bool view_status_draw(struct view_status *v, const struct view_status_source *source,
                      struct grid *g, uint32_t rows);

/* Writes a number with at most four digits, and k, M, G, T behind it for thousands, millions and
 * so on, into buf, which has VIEW_NUMBER bytes. Gives buf. */
char *view_status_number(char *buf, uint64_t n);

/* The change of a counter that wraps at 64 bits, for a second, when it took `us` microseconds,
 * rounded; 0 when us is 0. */
uint64_t view_status_rate(uint64_t before, uint64_t after, uint64_t us);

#endif
