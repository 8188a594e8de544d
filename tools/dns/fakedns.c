/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fakedns: an authoritative server without a zone, for tests of DNS64 servers. It computes the
 * address from the name: 010-1-2-3.dns64perf.test has the A record 10.1.2.3 and, for a share of the
 * names, the AAAA record 2001:db8::10.1.2.3. It can also misbehave on request.
 *
 *   fakedns.c      sockets and threads
 *   fakeanswer.c   the contents of answers
 *   fakeoptions.c  command line
 *
 * There are --threads threads, each with its own sockets that share the port (or, with mtd64-ng's
 * num-servers, have one port each); one system call handles many datagrams. Delayed answers wait in
 * a heap.
 */
#define _GNU_SOURCE
#include "fakedns.h"
#include "args.h"
#include "perfname.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, SIZE = 1500, LATE_MAX = 1 << 16 };

static volatile sig_atomic_t stop;
static struct options opt;

/* --- one thread ------------------------------------------------------------------------------ */

/* An answer to be sent, its destination and its source, one of our addresses. */
struct letter {
	struct sockaddr_storage to;
	socklen_t to_len;
	int socket;
	unsigned len;
	uint64_t due_ns;
	uint8_t control[64];
	size_t control_len;
	uint8_t data[SIZE];
};

struct worker {
	pthread_t thread;
	int socket[LISTEN_MAX];
	unsigned n_sockets;
	struct random random;
	struct tally count;
	uint64_t next_ns;         /* when --limit allows another answer */
	struct letter box[BATCH]; /* one batch in, and out again */
	struct letter **late;     /* a heap by due_ns */
	unsigned n_late;
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void send_letters(struct worker *w, struct letter **letters, unsigned n)
{
	struct mmsghdr head[2 * BATCH];
	struct iovec io[2 * BATCH];
	for (unsigned i = 0; i < n; i++) {
		struct letter *l = letters[i];
		io[i] = (struct iovec){l->data, l->len};
		head[i].msg_hdr = (struct msghdr){.msg_name = &l->to,
		                                  .msg_namelen = l->to_len,
		                                  .msg_iov = &io[i],
		                                  .msg_iovlen = 1,
		                                  .msg_control = l->control,
		                                  .msg_controllen = l->control_len};
	}
	for (unsigned i = 0; i < n;) {
		unsigned k = 1;
		while (i + k < n && letters[i + k]->socket == letters[i]->socket)
			k++;
		int sent = sendmmsg(letters[i]->socket, head + i, k, 0);
		if (sent < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (sent > 0)
			w->count.answered += (uint64_t)sent;
		i += sent > 0 ? (unsigned)sent : 1; /* a datagram that cannot be sent is lost */
	}
}

static void put_late(struct worker *w, const struct letter *l)
{
	struct letter *copy = w->n_late < LATE_MAX ? malloc(sizeof *copy) : NULL;
	if (!copy)
		return;
	*copy = *l;
	unsigned i = w->n_late++;
	for (; i > 0 && w->late[(i - 1) / 2]->due_ns > copy->due_ns; i = (i - 1) / 2)
		w->late[i] = w->late[(i - 1) / 2];
	w->late[i] = copy;
}

static struct letter *take_late(struct worker *w, uint64_t now)
{
	if (w->n_late == 0 || w->late[0]->due_ns > now)
		return NULL;
	struct letter *first = w->late[0], *last = w->late[--w->n_late];
	unsigned i = 0;
	for (unsigned child; (child = 2 * i + 1) < w->n_late; i = child) {
		if (child + 1 < w->n_late && w->late[child + 1]->due_ns < w->late[child]->due_ns)
			child++;
		if (w->late[child]->due_ns >= last->due_ns)
			break;
		w->late[i] = w->late[child];
	}
	w->late[i] = last;
	return first;
}

/* Answers come from the address that was queried; other control data of the kernel is removed. */
static void keep_address(struct msghdr *h, struct letter *l)
{
	l->control_len = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		bool is4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO;
		if (!is4 && !(c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO))
			continue;
		if (is4) {
			struct in_pktinfo *info = (struct in_pktinfo *)CMSG_DATA(c);
			info->ipi_spec_dst = info->ipi_addr;
			info->ipi_ifindex = 0;
		}
		size_t len = CMSG_ALIGN(c->cmsg_len);
		memmove(l->control, c, len);
		l->control_len = len;
		return;
	}
}

/* --limit: queries above this rate are not answered; a burst of ten is allowed. */
static bool allowed(struct worker *w)
{
	uint64_t now = now_ns(), each = (uint64_t)(1e9 / opt.limit);
	if (w->next_ns > now + 10 * each)
		return false;
	w->next_ns = (w->next_ns > now ? w->next_ns : now) + each;
	return true;
}

static void say(const struct letter *l)
{
	char host[64] = "?", name[256] = "";
	getnameinfo((const struct sockaddr *)&l->to, l->to_len, host, sizeof host, NULL, 0,
	            NI_NUMERICHOST);
	unsigned n = 0;
	for (unsigned i = DNS_HEADER; l->data[i] && n < 250; i += l->data[i] + 1u)
		n += (unsigned)snprintf(name + n, sizeof name - n, "%.*s.", l->data[i],
		                        l->data + i + 1);
	printf("%s %s type %u\n", host, name,
	       get16(l->data + DNS_HEADER + question_length(l->data, l->len) - 4));
	fflush(stdout);
}

/* Handles a batch of queries from one socket. False when there was none. */
static bool serve(struct worker *w, int fd)
{
	struct mmsghdr head[BATCH];
	struct iovec io[BATCH];
	struct letter *out[2 * BATCH];
	unsigned n_out = 0;
	for (unsigned i = 0; i < BATCH; i++) {
		struct letter *l = &w->box[i];
		io[i] = (struct iovec){l->data, sizeof l->data - 200};
		head[i].msg_hdr = (struct msghdr){.msg_name = &l->to,
		                                  .msg_namelen = sizeof l->to,
		                                  .msg_iov = &io[i],
		                                  .msg_iovlen = 1,
		                                  .msg_control = l->control,
		                                  .msg_controllen = sizeof l->control};
	}
	int got = recvmmsg(fd, head, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++) {
		struct letter *l = &w->box[i];
		bool faulty = false;
		w->count.asked++;
		l->socket = fd;
		l->to_len = head[i].msg_hdr.msg_namelen;
		keep_address(&head[i].msg_hdr, l);
		l->len =
		        fake_answer(&opt, &w->random, &w->count, l->data, head[i].msg_len, &faulty);
		if (l->len && opt.debug)
			say(l);
		if (l->len == 0 || (faulty && happens(&w->random, opt.loss)) ||
		    (opt.limit > 0 && !allowed(w))) {
			w->count.lost++;
			continue;
		}
		unsigned copies = faulty && happens(&w->random, opt.duplicate) ? 2 : 1;
		bool late = faulty && opt.delay_high_ms > 0;
		for (unsigned copy = 0; copy < copies; copy++) {
			if (late) {
				double ms =
				        opt.delay_low_ms + (opt.delay_high_ms - opt.delay_low_ms) *
				                                   draw_share(&w->random);
				l->due_ns = now_ns() + (uint64_t)(ms * 1e6);
				put_late(w, l);
			} else {
				out[n_out++] = l;
			}
		}
	}
	send_letters(w, out, n_out);
	return got > 0;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct pollfd fd[LISTEN_MAX];
	for (unsigned i = 0; i < w->n_sockets; i++)
		fd[i] = (struct pollfd){.fd = w->socket[i], .events = POLLIN};
	while (!stop) {
		bool busy = false;
		for (unsigned i = 0; i < w->n_sockets; i++)
			busy |= serve(w, w->socket[i]);
		for (struct letter *l; (l = take_late(w, now_ns())) != NULL; free(l))
			send_letters(w, &l, 1);
		if (!busy)
			poll(fd, w->n_sockets, w->n_late ? 1 : 100);
	}
	return NULL;
}

/* --- start and end --------------------------------------------------------------------------- */

/* A socket of its own on an address; NULL: on all addresses. */
static int open_socket(const char *address, unsigned port_number)
{
	char port[8];
	struct addrinfo hint = {.ai_family = AF_UNSPEC,
	                        .ai_socktype = SOCK_DGRAM,
	                        .ai_flags = AI_PASSIVE | AI_NUMERICHOST};
	struct addrinfo *found;
	snprintf(port, sizeof port, "%u", port_number);
	int on = 1, off = 0, size = 4 << 20,
	    error = getaddrinfo(address ? address : "::", port, &hint, &found);
	if (error)
		die(address ? address : port, gai_strerror(error));
	int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	if (found->ai_family == AF_INET6) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, address ? &on : &off, sizeof on);
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
	} else {
		setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
	}
	if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen))
		die(address ? address : "::", strerror(errno));
	freeaddrinfo(found);
	return fd;
}

static void report(const struct worker *worker)
{
	struct tally sum = {0};
	for (unsigned t = 0; t < opt.threads; t++) {
		const struct tally *c = &worker[t].count;
		sum.asked += c->asked;
		sum.answered += c->answered;
		sum.a += c->a;
		sum.aaaa += c->aaaa;
		sum.empty += c->empty;
		sum.lost += c->lost;
	}
	fprintf(stderr, "asked %lu answered %lu a %lu aaaa %lu empty %lu lost %lu\n",
	        (unsigned long)sum.asked, (unsigned long)sum.answered, (unsigned long)sum.a,
	        (unsigned long)sum.aaaa, (unsigned long)sum.empty, (unsigned long)sum.lost);
}

const char program_name[] = "fakedns";

int main(int argc, char **argv)
{
	static struct worker worker[THREADS_MAX];
	sigset_t set;
	read_options(&opt, argc, argv);
	sigemptyset(&set);
	for (unsigned i = 0; i < 3; i++)
		sigaddset(&set, (int[]){SIGINT, SIGTERM, SIGUSR1}[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (unsigned t = 0; t < opt.threads; t++) {
		struct worker *w = &worker[t];
		w->random.state = now_ns() + t;
		w->late = calloc(LATE_MAX, sizeof *w->late);
		for (unsigned i = 0; i < (opt.n_listen ? opt.n_listen : 1); i++)
			w->socket[w->n_sockets++] =
			        open_socket(opt.listen[i], opt.port + (opt.own_ports ? t : 0));
		if (!w->late || pthread_create(&w->thread, NULL, work, w))
			die("cannot start", "thread");
	}
	fprintf(stderr, "ready\n");
	struct timespec end = {(time_t)opt.seconds,
	                       (long)((opt.seconds - (double)(time_t)opt.seconds) * 1e9)};
	for (int s;;) {
		s = opt.seconds > 0 ? sigtimedwait(&set, NULL, &end) : sigwaitinfo(&set, NULL);
		if (s == SIGUSR1)
			report(worker);
		else if (s > 0 || errno == EAGAIN)
			break;
	}
	stop = 1;
	for (unsigned t = 0; t < opt.threads; t++)
		pthread_join(worker[t].thread, NULL);
	report(worker);
	return 0;
}
