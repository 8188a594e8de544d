/* Which lines of a listing are shown, and how many of each kind there are. Pure text. */
#ifndef NET_STATS_LINES_H
#define NET_STATS_LINES_H

#include "kernel/lib/addr.h"

#define LINES_KINDS 12u /* kinds of lines that are counted one by one */
#define LINES_KIND  16u /* characters of a kind's name, and NUL */

/* True when a line `NAME VALUE` of `stats` is one of those that `words` ask for: each word is the
 * beginning of the name, or `nonzero` for all values but 0. No words ask for all lines. */
bool lines_want_stat(const char *line, const char *words);

/* True when a word of the line is the address, alone or with a port behind it: 192.0.2.1,
 * 192.0.2.1:80, [2001:db8::1]:80. `text` is the address as fmt_ip4 or fmt_ip6 writes it. */
bool lines_have_address(const char *line, const char *text);

/* Counts lines by their first word. All zeros at first. */
struct lines_count {
	uint32_t all;
	uint32_t n_kinds;
	struct {
		char name[LINES_KIND];
		uint32_t n;
	} kind[LINES_KINDS];
};

/* Counts a line. Kinds behind the first LINES_KINDS count in `all` alone. */
void lines_count(struct lines_count *c, const char *line);

/* Writes line i of the result as `NAME NUMBER` into buf: `all`, then the kinds in the order in
 * which they came. False behind the last. */
bool lines_count_show(const struct lines_count *c, uint32_t i, char *buf, size_t size);

#endif
