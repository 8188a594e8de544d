/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One trial: every thread sends its share of the questions at fixed times and, between them,
 * takes the answers off its socket. Times of arrival are the kernel's.
 */
#define _GNU_SOURCE
#include "dns64perf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, SIZE = 1500, START_MS = 200 };
static const uint64_t spin_ns = 60000; /* shorter waits are not slept */

struct worker {
	const struct test *t;
	struct query *q;
	pthread_t thread;
	unsigned number;
	int fd;
	uint64_t begin_ns;         /* of the whole trial, real time */
	uint64_t begun_ns, end_ns; /* of this thread's sending */
	uint64_t received, valid, wrong;
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- questions ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static double share_of(uint64_t n)
{
	return (double)(mix(n) >> 11) * 0x1p-53;
}

/* Repeated questions are for the first names of the subnet, all others for fresh ones. */
uint32_t name_of(const struct test *t, uint64_t i)
{
	if (t->cached > 0 && share_of(i ^ 0x5555555555u) < t->cached)
		return t->subnet | (uint32_t)(mix(i) % WARM);
	return t->subnet | (uint32_t)((t->first + i) & (t->names - 1));
}

static unsigned build(uint8_t *m, const struct test *t, uint64_t i)
{
	static const uint8_t head[DNS_HEADER] = {0, 0, 1, 0, 0, 1};
	memcpy(m, head, sizeof head);
	put16(m, (unsigned)i & 0xffff);
	m[DNS_HEADER] = LABEL;
	put_label(m + DNS_HEADER + 1, name_of(t, i));
	memcpy(m + DNS_HEADER + 1 + LABEL, perf_domain, sizeof perf_domain);
	unsigned end = DNS_HEADER + 1 + LABEL + sizeof perf_domain;
	put16(m + end, TYPE_AAAA);
	put16(m + end + 2, 1);
	return end + 4;
}

/* --- answers -------------------------------------------------------------------------------- */

/* The IPv4 address in a synthesised one (RFC 6052 section 2.2), when the prefix is right. */
static bool embedded(const struct test *t, const uint8_t *six, uint32_t *four)
{
	unsigned at = t->prefix_len ? t->prefix_len / 8 : 12;
	if (t->prefix_len && memcmp(six, t->prefix, at) != 0)
		return false;
	*four = 0;
	for (unsigned n = 0; n < 4; at++)
		if (at != 8 || t->prefix_len == 96 || t->prefix_len == 0) {
			*four = *four << 8 | six[at];
			n++;
		}
	return true;
}

static bool good_address(const struct test *t, const uint8_t *six, uint32_t want)
{
	static const uint8_t own[12] = {0x20, 0x01, 0x0d, 0xb8};
	uint32_t four;
	/* fakedns decides in the same way which names have an AAAA record. */
	if (t->real > 0 && share_of(want) < t->real)
		return memcmp(six, own, sizeof own) == 0 &&
		       (uint32_t)(six[12] << 24 | six[13] << 16 | six[14] << 8 | six[15]) == want;
	return embedded(t, six, &four) && four == want;
}

/* Where a record that begins at `at` has its fixed part; 0 when it is cut. */
static unsigned fixed_part(const uint8_t *m, unsigned len, unsigned at)
{
	while (at < len && m[at] != 0 && m[at] < 0xc0)
		at += m[at] + 1u;
	at += at < len && m[at] >= 0xc0 ? 2 : 1;
	return at + 10 <= len && at + 10 + get16(m + at + 8) <= len ? at : 0;
}

/* Every AAAA record must hold the address of the name; one there must be. */
static bool good_content(const struct test *t, const uint8_t *m, unsigned len, unsigned at,
                         uint32_t want)
{
	unsigned found = 0;
	for (unsigned n = get16(m + 6); n; n--) {
		unsigned f = fixed_part(m, len, at);
		if (!f)
			return false;
		if (get16(m + f) == TYPE_AAAA) {
			if (get16(m + f + 2) != 1 || get16(m + f + 8) != 16 ||
			    !good_address(t, m + f + 10, want))
				return false;
			found++;
		}
		at = f + 10 + get16(m + f + 8);
	}
	return found > 0;
}

/* Notes an answer. The number of the question is found by ID among those still open. */
static void take(struct worker *w, const uint8_t *m, unsigned len, uint64_t at_ns)
{
	const struct test *t = w->t;
	uint64_t share = t->requests / t->threads, from = w->number * share;
	unsigned question = len >= DNS_HEADER ? question_length(m, len) : 0;
	uint32_t name;
	if (!question || !(m[2] & 0x80) || m[DNS_HEADER] != LABEL ||
	    !label_address(m + DNS_HEADER + 1, LABEL, &name))
		return;
	/* IDs repeat every 65536 questions; the name tells which it is. */
	uint64_t i = ((from + 65535 - get16(m)) & ~(uint64_t)65535) + get16(m);
	while (i < from + share && (name_of(t, i) != name || w->q[i].received || !w->q[i].sent_ns))
		i += 65536;
	if (i >= from + share)
		return;
	struct query *q = &w->q[i];
	uint64_t rtt = at_ns > q->sent_ns ? at_ns - q->sent_ns : 0;
	q->received = true;
	q->rtt_ns = rtt < UINT32_MAX ? (uint32_t)rtt : UINT32_MAX;
	w->received++;
	bool answered = (m[3] & 15) == 0 && get16(m + 6) > 0;
	bool good = answered &&
	            (t->any_content || good_content(t, m, len, DNS_HEADER + question, name));
	w->wrong += answered && !good;
	q->valid = good && rtt < t->timeout_ns;
	w->valid += q->valid;
}

static uint64_t arrival(struct msghdr *h)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
			struct timespec s;
			memcpy(&s, CMSG_DATA(c), sizeof s);
			return (uint64_t)s.tv_sec * 1000000000u + (uint64_t)s.tv_nsec;
		}
	return now_ns();
}

static bool receive(struct worker *w)
{
	static _Thread_local uint8_t data[BATCH][SIZE];
	static _Thread_local uint8_t control[BATCH][64];
	struct mmsghdr head[BATCH];
	struct iovec io[BATCH];
	for (unsigned i = 0; i < BATCH; i++) {
		io[i] = (struct iovec){data[i], SIZE};
		head[i].msg_hdr = (struct msghdr){.msg_iov = &io[i],
		                                  .msg_iovlen = 1,
		                                  .msg_control = control[i],
		                                  .msg_controllen = 64};
	}
	int got = recvmmsg(w->fd, head, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++)
		take(w, data[i], head[i].msg_len, arrival(&head[i].msg_hdr));
	return got > 0;
}

/* --- one thread ------------------------------------------------------------------------------- */

static void send_burst(struct worker *w, uint64_t first)
{
	const struct test *t = w->t;
	uint8_t data[BATCH][64];
	struct mmsghdr head[BATCH];
	struct iovec io[BATCH];
	for (unsigned done = 0; done < t->burst;) {
		unsigned n = t->burst - done < BATCH ? t->burst - done : BATCH;
		for (unsigned i = 0; i < n; i++) {
			io[i] = (struct iovec){data[i], build(data[i], t, first + done + i)};
			head[i].msg_hdr = (struct msghdr){.msg_iov = &io[i], .msg_iovlen = 1};
		}
		uint64_t now = now_ns();
		for (unsigned i = 0; i < n; i++)
			w->q[first + done + i].sent_ns = now;
		for (unsigned i = 0; i < n;) {
			int sent = sendmmsg(w->fd, head + i, n - i, 0);
			if (sent < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS &&
			    errno != ECONNREFUSED)
				die("send", strerror(errno));
			i += sent > 0 ? (unsigned)sent : 0;
		}
		done += n;
	}
}

/* Answers are taken until it is time; the last microseconds are not slept. */
static void wait_until(struct worker *w, uint64_t due_ns)
{
	for (uint64_t now; (now = now_ns()) < due_ns;) {
		if (receive(w) || due_ns - now < spin_ns)
			continue;
		struct timespec rest = {0, (long)(due_ns - now - spin_ns / 2)};
		if (rest.tv_nsec > 50000000)
			rest.tv_nsec = 50000000;
		ppoll(&(struct pollfd){.fd = w->fd, .events = POLLIN}, 1, &rest, NULL);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	const struct test *t = w->t;
	uint64_t share = t->requests / t->threads, from = w->number * share;
	/* Threads begin one after the other, so that the rate is even. */
	uint64_t begin = w->begin_ns + w->number * t->delay_ns / t->threads;
	for (uint64_t i = 0, tick = 0; i < share; i += t->burst, tick++) {
		wait_until(w, begin + tick * t->delay_ns);
		if (i == 0)
			w->begun_ns = now_ns();
		send_burst(w, from + i);
	}
	/* The time of the last tick counts as well. */
	wait_until(w, begin + share / t->burst * t->delay_ns);
	w->end_ns = now_ns();
	uint64_t until = w->end_ns + t->timeout_ns;
	while (w->received < share && now_ns() < until)
		wait_until(w, now_ns() + 1000000 < until ? now_ns() + 1000000 : until);
	return NULL;
}

static int open_socket(const struct test *t)
{
	int on = 1, size = 8 << 20, fd = socket(t->server.ss_family, SOCK_DGRAM, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&t->server, t->server_len))
		die("socket", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	return fd;
}

struct outcome run_trial(const struct test *t, struct query *q)
{
	static struct worker worker[THREADS_MAX];
	struct outcome o = {0};
	uint64_t begin = now_ns() + START_MS * 1000000u;
	for (unsigned i = 0; i < t->threads; i++) {
		worker[i] = (struct worker){
		        .t = t, .q = q, .number = i, .fd = open_socket(t), .begin_ns = begin};
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			die("thread", "cannot start");
	}
	for (unsigned i = 0; i < t->threads; i++) {
		struct worker *w = &worker[i];
		pthread_join(w->thread, NULL);
		close(w->fd);
		o.received += w->received;
		o.valid += w->valid;
		o.wrong += w->wrong;
		uint64_t took = w->end_ns - w->begun_ns;
		o.took_ns = took > o.took_ns ? took : o.took_ns;
	}
	o.pace = (double)o.took_ns /
	         ((double)t->requests / t->threads / t->burst * (double)t->delay_ns);
	return o;
}

void warm_up(const struct test *t)
{
	static struct query q[WARM];
	struct test warm = *t;
	if (t->cached == 0)
		return;
	memset(q, 0, sizeof q);
	warm.cached = 0;
	warm.first = 0;
	warm.requests = WARM;
	warm.burst = warm.threads = 1;
	warm.delay_ns = 2000000;
	struct outcome o = run_trial(&warm, q);
	if (o.valid < WARM)
		fprintf(stderr, "dns64perf: of %d names that shall be cached %lu were answered\n",
		        WARM, (unsigned long)o.valid);
}
