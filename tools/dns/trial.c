/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One trial: every thread sends its share of the queries at fixed times and, between them, receives
 * the answers from its socket. Times of arrival are the kernel's.
 */
#define _GNU_SOURCE
#include "args.h"
#include "dns64perf.h"
#include "perfname.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, SIZE = 1500, START_MS = 200 };
static const uint64_t spin_ns = 60000; /* a thread polls instead of sleeping for a shorter time */

struct worker {
	const struct test *t;
	struct query *q;
	pthread_t thread;
	unsigned number;
	int *fd;                   /* one for each port */
	int ready;                 /* readable while one of them is */
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

/* Repeated queries are for the first names after those skipped, all others for new ones. */
uint32_t name_of(const struct test *t, uint64_t i)
{
	if (t->cached > 0 && (double)(mix(i ^ 0x5555555555u) >> 11) * 0x1p-53 < t->cached)
		return t->subnet | (uint32_t)(t->skip + mix(i) % WARM);
	return t->subnet | (uint32_t)(t->first + i);
}

/* --- answers -------------------------------------------------------------------------------- */

/* Records an answer. Its ID and its name identify the query: IDs repeat every 65536 queries, names
 * when they are cached. */
static void take(struct worker *w, const uint8_t *m, unsigned len, uint64_t at_ns)
{
	const struct test *t = w->t;
	uint64_t share = t->requests / t->threads, from = w->number * share;
	uint32_t name;
	if (!perf_name(m, len, &name))
		return;
	uint64_t i = ((from + 65535 - get16(m)) & ~(uint64_t)65535) + get16(m);
	while (i < from + share && (name_of(t, i) != name || w->q[i].received || !w->q[i].sent_ns))
		i += 65536;
	if (i >= from + share)
		return;
	struct query *q = &w->q[i];
	uint64_t rtt = at_ns > q->sent_ns ? at_ns - q->sent_ns : 0;
	enum perf_answer answer = perf_check(&t->addresses, m, len, name);
	q->received = true;
	q->rtt_ns = rtt < UINT32_MAX ? (uint32_t)rtt : UINT32_MAX;
	w->received++;
	w->wrong += answer == PERF_WRONG && !t->any_content;
	q->valid = rtt < t->timeout_ns &&
	           (answer == PERF_GOOD || (answer == PERF_WRONG && t->any_content));
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

static bool receive_from(struct worker *w, int fd)
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
	int got = recvmmsg(fd, head, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++)
		take(w, data[i], head[i].msg_len, arrival(&head[i].msg_hdr));
	return got > 0;
}

static bool receive(struct worker *w)
{
	struct epoll_event event[BATCH];
	if (w->t->ports == 1)
		return receive_from(w, w->fd[0]);
	bool any = false;
	for (int i = epoll_wait(w->ready, event, BATCH, 0); i-- > 0;)
		any |= receive_from(w, event[i].data.fd);
	return any;
}

/* --- one thread ------------------------------------------------------------------------------- */

static void send_questions(struct worker *w, uint64_t first, uint64_t count)
{
	const struct test *t = w->t;
	uint8_t data[BATCH][64];
	struct mmsghdr head[BATCH];
	struct iovec io[BATCH];
	for (uint64_t done = 0; done < count;) {
		unsigned n = count - done < BATCH ? (unsigned)(count - done) : BATCH;
		for (unsigned i = 0; i < n; i++) {
			perf_question(data[i], (unsigned)(first + done + i) & 0xffff,
			              name_of(t, first + done + i));
			io[i] = (struct iovec){data[i], PERF_QUESTION};
			head[i].msg_hdr = (struct msghdr){.msg_iov = &io[i], .msg_iovlen = 1};
		}
		uint64_t now = now_ns();
		for (unsigned i = 0; i < n; i++)
			w->q[first + done + i].sent_ns = now;
		for (unsigned i = 0; i < n;) {
			unsigned port = (unsigned)((first + done + i) % t->ports);
			int sent = sendmmsg(w->fd[port], head + i, t->ports == 1 ? n - i : 1, 0);
			if (sent < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS &&
			    errno != ECONNREFUSED)
				die("send", strerror(errno));
			i += sent > 0 ? (unsigned)sent : 0;
		}
		done += n;
	}
}

/* Receives answers until it is time to send; polls in the last microseconds. */
static void wait_until(struct worker *w, uint64_t due_ns)
{
	for (uint64_t now; (now = now_ns()) < due_ns;) {
		if (receive(w) || due_ns - now < spin_ns)
			continue;
		struct timespec rest = {0, (long)(due_ns - now - spin_ns / 2)};
		if (rest.tv_nsec > 50000000)
			rest.tv_nsec = 50000000;
		ppoll(&(struct pollfd){.fd = w->ready, .events = POLLIN}, 1, &rest, NULL);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	const struct test *t = w->t;
	uint64_t share = t->requests / t->threads, from = w->number * share;
	/* Threads start at staggered times, so that the rate is even. */
	uint64_t begin = w->begin_ns + w->number * t->delay_ns / t->threads;
	for (uint64_t tick = 0, ticks = share / t->burst, n; tick < ticks; tick += n) {
		wait_until(w, begin + tick * t->delay_ns);
		uint64_t now = now_ns();
		if (tick == 0)
			w->begun_ns = now;
		/* Overdue queries are sent together; otherwise a delay would never be made up. */
		n = (now - begin) / t->delay_ns - tick + 1;
		if (n > ticks - tick)
			n = ticks - tick;
		if (n > BATCH)
			n = BATCH;
		send_questions(w, from + tick * t->burst, n * t->burst);
	}
	/* The interval after the last burst counts as well. */
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

static void open_sockets(struct worker *w)
{
	w->fd = calloc(w->t->ports, sizeof *w->fd);
	w->ready = epoll_create1(0);
	for (unsigned i = 0; w->fd && i < w->t->ports; i++) {
		w->fd[i] = open_socket(w->t);
		struct epoll_event event = {.events = EPOLLIN, .data.fd = w->fd[i]};
		if (epoll_ctl(w->ready, EPOLL_CTL_ADD, w->fd[i], &event))
			die("epoll", strerror(errno));
	}
	if (!w->fd)
		die("memory", strerror(errno));
}

static void close_sockets(struct worker *w)
{
	for (unsigned i = 0; i < w->t->ports; i++)
		close(w->fd[i]);
	close(w->ready);
	free(w->fd);
}

struct outcome run_trial(const struct test *t, struct query *q)
{
	static struct worker worker[THREADS];
	struct outcome o = {0};
	uint64_t begin = now_ns() + START_MS * 1000000u;
	for (unsigned i = 0; i < t->threads; i++) {
		worker[i] = (struct worker){.t = t, .q = q, .number = i, .begin_ns = begin};
		open_sockets(&worker[i]);
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
			die("thread", "cannot start");
	}
	for (unsigned i = 0; i < t->threads; i++) {
		struct worker *w = &worker[i];
		pthread_join(w->thread, NULL);
		close_sockets(w);
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
	warm.first = t->skip;
	warm.requests = WARM;
	warm.burst = warm.threads = warm.ports = 1;
	warm.delay_ns = 2000000;
	struct outcome o = run_trial(&warm, q);
	if (o.valid < WARM)
		fprintf(stderr, "dns64perf: of %d names that shall be cached %lu were answered\n",
		        WARM, (unsigned long)o.valid);
}
