/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of fakedns. */
#ifndef FAKEDNS_H
#define FAKEDNS_H

#include <stdbool.h>
#include <stdint.h>

enum { LISTEN_MAX = 16, THREADS_MAX = 64 };

struct options {
	const char *listen[LISTEN_MAX];
	unsigned n_listen;
	unsigned port;
	double have_aaaa;
	unsigned threads;
	bool own_ports; /* thread number n listens on port + n; otherwise all share the port */
	unsigned ttl;
	bool soa, edns, debug;
	double seconds;
	/* Faults, each with its probability, for queries of one type (0: all). */
	unsigned only_type;
	double delay_low_ms, delay_high_ms, limit;
	double loss, wrong_id, wrong_name, duplicate, truncate, lower, rcode_share;
	unsigned rcode;
};

struct random {
	uint64_t state;
};

struct tally {
	uint64_t asked, answered, a, aaaa, empty, lost;
};

/* Sets *opt; ends the program when an argument is wrong. */
void read_options(struct options *opt, int argc, char **argv);

/* A random number from 0 to 1; and whether an event of the probability `share` happens. */
double draw_share(struct random *r);
bool happens(struct random *r, double share);

/* Turns the query m of len bytes into its answer, in place, in a buffer with 200 bytes to spare;
 * gives its length, 0 for no answer. *faulty: whether the faults apply to queries of this type. */
unsigned fake_answer(const struct options *opt, struct random *r, struct tally *count, uint8_t *m,
                     unsigned len, bool *faulty);

#endif
