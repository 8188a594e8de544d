/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The values that are read before and after a phase: the guest's instruction counter (a file that
 * the TCG plugin maps too), the time of the vCPU thread, and the latency samples of the phase.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "gen.h"

static const volatile uint64_t *counter;
static char stat_path[64];

uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int meter_map(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *base;

	if (fd < 0)
		return -1;
	base = mmap(NULL, 64, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (base == MAP_FAILED)
		return -1;
	if (memcmp(base, "BGICNT01", 8) != 0) {
		errno = EINVAL;
		return -1;
	}
	counter = (const volatile uint64_t *)(base + 8);
	return 0;
}

void meter_vcpu(unsigned pid, unsigned tid)
{
	snprintf(stat_path, sizeof(stat_path), "/proc/%u/task/%u/stat", pid, tid);
}

/* Fields 14 and 15 of the stat file; the name in field 2 may hold spaces and brackets. */
static void read_ticks(struct snapshot *s)
{
	char text[1024];
	char *at;
	ssize_t n;
	int fd = stat_path[0] ? open(stat_path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return;
	text[n] = 0;
	at = strrchr(text, ')');
	if (at != NULL)
		sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
		       &s->user_ticks, &s->system_ticks);
}

struct snapshot meter_read(void)
{
	struct snapshot s = {0};

	read_ticks(&s);
	s.ns = clock_ns();
	s.instructions = counter != NULL ? *counter : 0;
	return s;
}

void samples_add(struct samples *s, uint64_t ns)
{
	if (s->ns == NULL)
		s->ns = malloc(SAMPLES_MAX * sizeof(*s->ns));
	if (s->ns != NULL && s->count < SAMPLES_MAX)
		s->ns[s->count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double quantile(const struct samples *s, double q)
{
	unsigned at = (unsigned)(q * (double)(s->count - 1) + 0.5);

	return (double)s->ns[at] / 1000.0;
}

static int by_value(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* IPDV (RFC 8219, section 7.3.2): each delay less the delay of the packet before, in order of
 * arrival. */
static void changes_print(const char *name, const struct samples *s)
{
	unsigned n = s->count - 1;
	int32_t *change = n != 0 ? malloc(n * sizeof(*change)) : NULL;

	if (change == NULL)
		return;
	for (unsigned i = 0; i < n; i++)
		change[i] = (int32_t)((int64_t)s->ns[i + 1] - (int64_t)s->ns[i]);
	qsort(change, n, sizeof(*change), by_value);
	printf(", \"%s_change\": {\"min\": %.1f, \"median\": %.1f, \"max\": %.1f}", name,
	       change[0] / 1000.0, change[n / 2] / 1000.0, change[n - 1] / 1000.0);
	free(change);
}

void samples_print(const char *name, struct samples *s)
{
	if (s->count == 0) {
		printf(", \"%s\": null", name);
		return;
	}
	changes_print(name, s);
	qsort(s->ns, s->count, sizeof(*s->ns), by_size);
	printf(", \"%s\": {\"samples\": %u, \"min\": %.1f, \"p1\": %.1f, \"median\": %.1f, "
	       "\"p99\": %.1f, \"p999\": %.1f, \"max\": %.1f}",
	       name, s->count, quantile(s, 0), quantile(s, 0.01), quantile(s, 0.5),
	       quantile(s, 0.99), quantile(s, 0.999), quantile(s, 1));
}
