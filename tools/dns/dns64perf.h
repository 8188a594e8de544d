/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of dns64perf. */
#ifndef DNS64PERF_H
#define DNS64PERF_H

#include "perfcheck.h"

#include <sys/socket.h>

enum { THREADS = 64, PORTS = 1024, WARM = 1000 };

/* The parameters of a run. */
struct test {
	struct sockaddr_storage server;
	socklen_t server_len;
	uint32_t subnet;
	uint64_t names; /* in the subnet */
	uint64_t skip;  /* names at the subnet's beginning that are never queried */
	uint64_t first; /* the next new name; the WARM names after `skip` are not new if any are
	                   cached */
	uint64_t requests;
	unsigned burst, threads;
	unsigned ports; /* of each thread */
	uint64_t delay_ns, timeout_ns;
	/* The properties of a valid answer. */
	bool any_content;
	struct perf_addresses addresses;
	double cached; /* share of queries for one of the WARM names after `skip` */
	bool csv;
	/* --search, --self-test */
	bool search;
	double low, high, step, trial_s, pause_s, self_test;
	unsigned repeat;
	uint64_t begin; /* the first new name, where later trials begin again */
};

/* One query. */
struct query {
	uint64_t sent_ns;
	uint32_t rtt_ns;
	bool received, valid;
};

struct outcome {
	uint64_t received, valid, wrong;
	uint64_t took_ns; /* from the first to the last query */
	double pace;      /* took_ns divided by the planned time; more than 1: too slow */
};

/* The address in the name of query number i. */
uint32_t name_of(const struct test *t, uint64_t i);

/* Sends all queries at their rate and receives the answers; q has t->requests entries, all zero. */
struct outcome run_trial(const struct test *t, struct query *q);

/* Queries the names that are later repeated (t->cached), at a low rate. */
void warm_up(const struct test *t);

int search(struct test *t);
int self_test(struct test *t);

#endif
