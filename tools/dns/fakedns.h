/* SPDX-License-Identifier: BSD-2-Clause */
/* fakedns: what its command line says. */
#ifndef FAKEDNS_H
#define FAKEDNS_H

#include <stdbool.h>
#include <stdint.h>

enum { LISTEN_MAX = 16, THREADS_MAX = 64 };

struct options {
	const char *listen[LISTEN_MAX];
	unsigned n_listen;
	const char *port;
	double have_aaaa;
	unsigned threads;
	uint32_t ttl;
	bool soa, edns, debug;
	double seconds;
	/* Faults, each with its probability, for questions of one type (0: all). */
	unsigned only_type;
	double delay_low_ms, delay_high_ms;
	double loss, wrong_id, wrong_name, duplicate, truncate, lower, rcode_share;
	unsigned rcode;
};

extern struct options opt;

void die(const char *what, const char *value) __attribute__((noreturn));

/* Sets opt; does not come back when there is something wrong. */
void read_options(int argc, char **argv);

#endif
