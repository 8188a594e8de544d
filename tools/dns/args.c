/* SPDX-License-Identifier: BSD-2-Clause */
#include "args.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_name, what, why);
	exit(2);
}

double arg_number(const char *what, const char *text, double low, double high)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= low && v <= high))
		die(what, text);
	return v;
}

unsigned arg_count(const char *what, const char *text, double low, double high)
{
	double v = arg_number(what, text, low, high);
	if (v != (double)(unsigned)v)
		die(what, text);
	return (unsigned)v;
}

static void take(const struct arg *a, const char *text)
{
	switch (a->kind) {
	case ARG_FLAG:
		*(bool *)a->to = a->set != 0;
		break;
	case ARG_NUMBER:
		*(double *)a->to = arg_number(a->name, text, a->low, a->high);
		break;
	case ARG_COUNT:
		*(unsigned *)a->to = arg_count(a->name, text, a->low, a->high);
		break;
	case ARG_CALL:
		a->call(text);
		break;
	}
}

int args_read(int argc, char **argv, const struct arg *table, void (*help)(void))
{
	int i = 1;
	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		const char *name = argv[i] + 2, *value = strchr(name, '=');
		size_t len = value ? (size_t)(value - name) : strlen(name);
		const struct arg *a = table;
		if (strcmp(name, "help") == 0)
			help();
		while (a->name && (strlen(a->name) != len || strncmp(a->name, name, len) != 0))
			a++;
		if (!a->name || (value && a->kind == ARG_FLAG))
			die("unknown option", argv[i]);
		if (a->kind != ARG_FLAG && !value && ++i == argc)
			die(argv[i - 1], "a value is missing");
		take(a, value ? value + 1 : argv[i]);
	}
	return i;
}
