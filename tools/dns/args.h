/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines of the tools in this folder: a table of long options. */
#ifndef ARGS_H
#define ARGS_H

enum arg_kind { ARG_FLAG, ARG_NUMBER, ARG_COUNT, ARG_CALL };

/* One option. ARG_FLAG sets a bool to `set`; a number from low to high goes to a double
 * (ARG_NUMBER) or an unsigned (ARG_COUNT); ARG_CALL passes the text to `call`. */
struct arg {
	const char *name;
	enum arg_kind kind;
	void *to;
	double low, high;
	void (*call)(const char *text);
	int set;
};

#define NUMBER_ARG(n, p, from, most)                                              \
	{                                                                         \
		.name = n, .kind = ARG_NUMBER, .to = p, .low = from, .high = most \
	}
#define COUNT_ARG(n, p, from, most)                                              \
	{                                                                        \
		.name = n, .kind = ARG_COUNT, .to = p, .low = from, .high = most \
	}
#define FLAG_ARG(n, p, v)                                      \
	{                                                      \
		.name = n, .kind = ARG_FLAG, .to = p, .set = v \
	}
#define CALL_ARG(n, c)                                 \
	{                                              \
		.name = n, .kind = ARG_CALL, .call = c \
	}

/* Prints "PROGRAM: what: why" and ends with status 2. PROGRAM is the name of this program. */
void die(const char *what, const char *why) __attribute__((noreturn));
extern const char program_name[];

/* The number in the text; dies if it is no number from low to high. */
double arg_number(const char *what, const char *text, double low, double high);

/* The whole number in the text; dies if it is no whole number from low to high (at most UINT_MAX).
 */
unsigned arg_count(const char *what, const char *text, double low, double high);

/* Reads the options, up to the first word that is not one; gives the index of that word. The table
 * ends with an entry without a name. Dies on an unknown option; calls help for --help. */
int args_read(int argc, char **argv, const struct arg *table, void (*help)(void));

#endif
