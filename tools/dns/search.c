/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The procedure of RFC 8219 section 9.2: the highest rate at which every answer is in time and
 * right, by binary search, several times; its median, 1st and 99th percentile. Also the self-test
 * of section 9.2.1: the tester against itself.
 */
#define _GNU_SOURCE
#include "args.h"
#include "dns64perf.h"
#include "fakedns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void pause_for(double s)
{
	struct timespec t = {(time_t)s, (long)((s - floor(s)) * 1e9)};
	nanosleep(&t, NULL);
}

/* Runs one trial at a rate, with names that were not used yet while there are any. Above some rate
 * several queries are sent at a time, so that the timer need not be faster than its clock. */
static struct outcome trial(struct test *t, double rate)
{
	t->burst = rate > 200000 ? 8 : 1;
	t->requests = (uint64_t)ceil(rate * t->trial_s / t->burst) * t->burst;
	t->delay_ns = (uint64_t)(1e9 * t->burst / rate);
	if (t->begin + t->requests > t->names)
		die("subnet", "has fewer new names than a trial needs");
	if (t->first + t->requests > t->names) {
		printf("  all new names are used up: from the first again, which a cache may "
		       "know\n");
		t->first = t->begin;
	}
	struct query *q = calloc(t->requests, sizeof *q);
	if (!q)
		die("memory", strerror(errno));
	struct outcome o = run_trial(t, q);
	free(q);
	t->first += t->requests;
	return o;
}

static bool passes(struct test *t, double rate)
{
	struct outcome o = trial(t, rate);
	/* A trial in which the tester was too slow says nothing about the server. */
	bool slow = o.pace > 1.01;
	printf("  %.0f/s: %lu of %lu valid%s\n", rate, (unsigned long)o.valid,
	       (unsigned long)t->requests, slow ? ", but the tester was too slow" : "");
	fflush(stdout);
	pause_for(t->pause_s);
	return !slow && o.valid == t->requests;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Interpolates linearly between neighbours. */
static double percentile(const double *sorted, unsigned n, double share)
{
	double at = share * (n - 1);
	unsigned i = (unsigned)at;
	return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

int search(struct test *t)
{
	double *found = calloc(t->repeat, sizeof *found);
	if (!found)
		die("memory", strerror(errno));
	if (t->step == 0)
		t->step = fmax(1, t->high / 100);
	t->begin = t->first;
	unsigned failed = 0;
	for (unsigned n = 0; n < t->repeat; n++) {
		double low = t->low, high = t->high;
		printf("search %u of %u\n", n + 1, t->repeat);
		warm_up(t);
		/* The upper end itself is a candidate. */
		if (passes(t, high))
			low = high;
		while (high - low > t->step) {
			double rate = floor((low + high) / 2);
			*(passes(t, rate) ? &low : &high) = rate;
		}
		/* No trial has shown yet that the lower end passes. */
		if (low == t->low && low > 0 && !passes(t, low))
			low = 0;
		failed += low == 0;
		found[n] = low;
		printf(low > 0 ? "  highest: %.0f/s\n" : "  no trial passed\n", low);
	}
	qsort(found, t->repeat, sizeof *found, by_size);
	printf("median %.0f/s, 1st percentile %.0f/s, 99th percentile %.0f/s of %u searches\n",
	       percentile(found, t->repeat, 0.5), percentile(found, t->repeat, 0.01),
	       percentile(found, t->repeat, 0.99), t->repeat);
	free(found);
	if (failed)
		fprintf(stderr,
		        "dns64perf: no trial passed in %u of %u searches, which count as 0/s\n",
		        failed, t->repeat);
	return failed != 0;
}

/* --- the tester against itself --------------------------------------------------------------- */

/* Answers every query with the name's address, as fast as possible. */
static void *reflect(void *arg)
{
	enum { BATCH = 64, SIZE = 512, SPARE = 200 };
	static uint8_t m[BATCH][SIZE + SPARE];
	static const struct options all_real = {.have_aaaa = 1, .ttl = 60};
	struct random random = {0};
	struct tally count = {0};
	struct sockaddr_in6 from[BATCH];
	struct mmsghdr head[BATCH];
	struct iovec io[BATCH];
	for (int fd = *(int *)arg, got, n;;) {
		for (int i = 0; i < BATCH; i++) {
			io[i] = (struct iovec){m[i], SIZE};
			head[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
			                                  .msg_namelen = sizeof from[i],
			                                  .msg_iov = &io[i],
			                                  .msg_iovlen = 1};
		}
		got = recvmmsg(fd, head, BATCH, MSG_WAITFORONE, NULL);
		for (n = 0; n < got; n++) {
			bool faulty;
			io[n].iov_len = fake_answer(&all_real, &random, &count, m[n],
			                            head[n].msg_len, &faulty);
		}
		if (got > 0)
			sendmmsg(fd, head, (unsigned)got, 0);
	}
	return NULL;
}

int self_test(struct test *t)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t len = sizeof address;
	static int fd;
	int size = 8 << 20;
	pthread_t thread;
	fd = socket(AF_INET6, SOCK_DGRAM, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) ||
	    getsockname(fd, (struct sockaddr *)&address, &len) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) ||
	    pthread_create(&thread, NULL, reflect, &fd))
		die("self-test", strerror(errno));
	memcpy(&t->server, &address, sizeof address);
	t->server_len = sizeof address;
	t->subnet = 10u << 24;
	t->names = 1u << 24;
	t->timeout_ns /= 4;
	double rate = 2 * 1.1 * t->self_test;
	struct outcome o = trial(t, rate);
	bool good = o.valid == t->requests && o.pace <= 1.01;
	printf("self-test at %.0f/s for %.0f s: %lu of %lu valid, %.2f%% of the time: %s\n", rate,
	       t->trial_s, (unsigned long)o.valid, (unsigned long)t->requests, o.pace * 100,
	       good ? "passed" : "FAILED");
	return !good;
}
