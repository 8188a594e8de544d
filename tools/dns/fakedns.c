/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fakedns: an authoritative server without a zone, for tests of DNS64 servers. It computes
 * the address from the name: 010-1-2-3.dns64perf.test has the A record 10.1.2.3 and, for a
 * share of the names, the AAAA record 2001:db8::10.1.2.3. It also misbehaves on demand.
 *
 * One thread for each of --threads, each with sockets of its own that share the port; many
 * datagrams a system call. What is to be late waits in a heap.
 */
#define _GNU_SOURCE
#include "fakedns.h"
#include "perfname.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, SIZE = 1500, LATE_MAX = 1 << 16 };

static volatile sig_atomic_t stop;
static _Atomic uint64_t n_asked, n_answered, n_a, n_aaaa, n_empty, n_lost;

/* --- answers ------------------------------------------------------------------------------- */

struct random {
	uint64_t state;
};

/* SplitMix64: enough for faults. */
static uint64_t draw(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static bool happens(struct random *r, double share)
{
	return share > 0 && (double)(draw(r) >> 11) * 0x1p-53 < share;
}

/* The same names have an AAAA record each time. */
static bool has_aaaa(uint32_t address)
{
	struct random r = {address};
	return happens(&r, opt.have_aaaa);
}

/* The address in a name's first label, or in a name under in-addr.arpa. */
static bool name_address(const uint8_t *name, uint32_t *address, bool *reverse)
{
	static const char arpa[] = "\007in-addr\004arpa";
	*reverse = false;
	if (label_address(name + 1, name[0], address))
		return true;
	uint32_t a = 0;
	for (int i = 0; i < 4; i++) {
		unsigned v = 0, n = name[0];
		for (unsigned k = 1; k <= n; k++)
			v = name[k] >= '0' && name[k] <= '9' ? v * 10 + name[k] - '0' : 1000;
		if (n == 0 || n > 3 || v > 255)
			return false;
		a |= v << 8 * i;
		name += n + 1;
	}
	*address = a;
	*reverse = true;
	return strcasecmp((const char *)name, arpa) == 0;
}

static unsigned put_rr(uint8_t *to, unsigned type, const void *data, unsigned len)
{
	put16(to, 0xc000 | DNS_HEADER);
	put16(to + 2, type);
	put16(to + 4, 1);
	put32(to + 6, opt.ttl);
	put16(to + 10, len);
	memcpy(to + 12, data, len);
	return 12 + len;
}

/* SOA of the name's last two labels, or of what there is of them. */
static unsigned put_soa(uint8_t *to, const uint8_t *m, unsigned question)
{
	unsigned at[130], n = 0, len;
	for (unsigned i = DNS_HEADER; m[i] && i < DNS_HEADER + question; i += m[i] + 1u)
		at[n++] = i;
	unsigned zone = n >= 2 ? at[n - 2] : DNS_HEADER;
	uint8_t data[] = "\002ns..\004root..????????????????????";
	data[3] = data[10] = (uint8_t)(0xc0 | zone >> 8);
	data[4] = data[11] = (uint8_t)zone;
	for (unsigned i = 0; i < 5; i++)
		put32(data + 12 + 4 * i, i == 4 ? opt.ttl : 3600);
	len = put_rr(to, TYPE_SOA, data, 32);
	put16(to, 0xc000 | zone);
	return len;
}

/* Writes the answer's records behind the question; gives the message's length. */
static unsigned put_records(uint8_t *m, unsigned question, unsigned type)
{
	uint8_t six[16] = {0x20, 0x01, 0x0d, 0xb8}, name[64];
	unsigned end = DNS_HEADER + question;
	uint32_t a;
	bool reverse, known = name_address(m + DNS_HEADER, &a, &reverse);
	put32(six + 12, a);
	if (known && !reverse && type == TYPE_A) {
		atomic_fetch_add_explicit(&n_a, 1, memory_order_relaxed);
		m[7] = 1;
		return end + put_rr(m + end, TYPE_A, six + 12, 4);
	}
	if (known && !reverse && type == TYPE_AAAA && has_aaaa(a)) {
		atomic_fetch_add_explicit(&n_aaaa, 1, memory_order_relaxed);
		m[7] = 1;
		return end + put_rr(m + end, TYPE_AAAA, six, 16);
	}
	if (known && reverse && type == TYPE_PTR) {
		name[0] = LABEL;
		put_label(name + 1, a);
		memcpy(name + 1 + LABEL, perf_domain, sizeof perf_domain);
		m[7] = 1;
		return end + put_rr(m + end, TYPE_PTR, name, 1 + LABEL + sizeof perf_domain);
	}
	atomic_fetch_add_explicit(&n_empty, 1, memory_order_relaxed);
	if (!known)
		m[3] |= 3;
	if (!opt.soa)
		return end;
	m[9] = 1;
	return end + put_soa(m + end, m, question);
}

/* Faults that bend an answer; gives its length. */
static unsigned bend(struct random *r, uint8_t *m, unsigned len, unsigned question)
{
	unsigned end = DNS_HEADER + question;
	bool error = happens(r, opt.rcode_share), cut = !error && happens(r, opt.truncate);
	if (error || cut) {
		memset(m + 6, 0, 6);
		m[2] |= cut ? 2 : 0;
		m[3] = (uint8_t)((m[3] & 0xf0) | (cut ? 0 : opt.rcode));
		len = end;
	}
	if (happens(r, opt.wrong_id))
		m[1] ^= 0x55;
	if (happens(r, opt.wrong_name))
		m[DNS_HEADER + 1] ^= 1;
	if (happens(r, opt.lower))
		for (unsigned i = DNS_HEADER; i < end - 5; i++)
			m[i] |= m[i] >= 'A' && m[i] <= 'Z' ? 0x20 : 0;
	return len;
}

/* Turns a question into its answer, in place; 0: none. */
static unsigned answer(struct random *r, uint8_t *m, unsigned len, bool *faulty)
{
	unsigned question = len >= DNS_HEADER ? question_length(m, len) : 0;
	if (!question || m[2] & 0x80 || get16(m + 4) != 1)
		return 0;
	unsigned end = DNS_HEADER + question, type = get16(m + end - 4);
	/* OPT, when it is the only record behind the question. */
	bool edns = get16(m + 10) == 1 && len >= end + 11 && m[end] == 0 &&
	            get16(m + end + 1) == TYPE_OPT;
	*faulty = opt.only_type == 0 || opt.only_type == type;
	m[2] = (uint8_t)(0x84 | (m[2] & 0x79)); /* QR, AA; opcode and RD come back */
	m[3] = 0x80;
	memset(m + 6, 0, 6);
	if (edns && !opt.edns) {
		m[3] |= 1;
		return end;
	}
	len = put_records(m, question, type);
	if (*faulty)
		len = bend(r, m, len, question);
	if (edns) {
		memset(m + len, 0, 11);
		put16(m + len + 1, TYPE_OPT);
		put16(m + len + 3, 1232);
		m[11] = 1;
		len += 11;
	}
	return len;
}

/* --- one thread ------------------------------------------------------------------------------ */

/* An answer on its way, to where and from which of our addresses. */
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

static void send_letters(struct letter **letters, unsigned n)
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
			atomic_fetch_add_explicit(&n_answered, (uint64_t)sent,
			                          memory_order_relaxed);
		i += sent > 0 ? (unsigned)sent : 1; /* what cannot be sent is lost */
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

/* The address asked is the one that answers; what else the kernel says is left out. */
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

/* A batch of questions from one socket. False when there was none. */
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
		atomic_fetch_add_explicit(&n_asked, 1, memory_order_relaxed);
		l->socket = fd;
		l->to_len = head[i].msg_hdr.msg_namelen;
		keep_address(&head[i].msg_hdr, l);
		l->len = answer(&w->random, l->data, head[i].msg_len, &faulty);
		if (l->len && opt.debug)
			say(l);
		if (l->len == 0 || (faulty && happens(&w->random, opt.loss))) {
			atomic_fetch_add_explicit(&n_lost, 1, memory_order_relaxed);
			continue;
		}
		if (faulty && opt.delay_high_ms > 0) {
			double ms = opt.delay_low_ms +
			            (opt.delay_high_ms - opt.delay_low_ms) *
			                    ((double)(draw(&w->random) >> 11) * 0x1p-53);
			l->due_ns = now_ns() + (uint64_t)(ms * 1e6);
			put_late(w, l);
		} else {
			out[n_out++] = l;
		}
		if (faulty && happens(&w->random, opt.duplicate))
			out[n_out++] = l;
	}
	send_letters(out, n_out);
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
			send_letters(&l, 1);
		if (!busy)
			poll(fd, w->n_sockets, w->n_late ? 1 : 100);
	}
	return NULL;
}

/* --- start and end -----------------------------------------------------------------------------
 */

static int open_socket(const char *address)
{
	struct addrinfo hint = {.ai_family = AF_UNSPEC,
	                        .ai_socktype = SOCK_DGRAM,
	                        .ai_flags = AI_PASSIVE | AI_NUMERICHOST};
	struct addrinfo *found;
	int on = 1, off = 0, size = 4 << 20,
	    error = getaddrinfo(address ? address : "::", opt.port, &hint, &found);
	if (error)
		die(address ? address : opt.port, gai_strerror(error));
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

static void report(void)
{
	fprintf(stderr, "asked %lu answered %lu a %lu aaaa %lu empty %lu lost %lu\n",
	        (unsigned long)n_asked, (unsigned long)n_answered, (unsigned long)n_a,
	        (unsigned long)n_aaaa, (unsigned long)n_empty, (unsigned long)n_lost);
}

int main(int argc, char **argv)
{
	static struct worker worker[THREADS_MAX];
	sigset_t set;
	read_options(argc, argv);
	sigemptyset(&set);
	for (unsigned i = 0; i < 3; i++)
		sigaddset(&set, (int[]){SIGINT, SIGTERM, SIGUSR1}[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (unsigned t = 0; t < opt.threads; t++) {
		struct worker *w = &worker[t];
		w->random.state = now_ns() + t;
		w->late = calloc(LATE_MAX, sizeof *w->late);
		for (unsigned i = 0; i < (opt.n_listen ? opt.n_listen : 1); i++)
			w->socket[w->n_sockets++] = open_socket(opt.listen[i]);
		if (!w->late || pthread_create(&w->thread, NULL, work, w))
			die("cannot start", "thread");
	}
	fprintf(stderr, "ready\n");
	struct timespec end = {(time_t)opt.seconds,
	                       (long)((opt.seconds - (double)(time_t)opt.seconds) * 1e9)};
	for (int s;;) {
		s = opt.seconds > 0 ? sigtimedwait(&set, NULL, &end) : sigwaitinfo(&set, NULL);
		if (s == SIGUSR1)
			report();
		else if (s > 0 || errno == EAGAIN)
			break;
	}
	stop = 1;
	for (unsigned t = 0; t < opt.threads; t++)
		pthread_join(worker[t].thread, NULL);
	report();
	return 0;
}
