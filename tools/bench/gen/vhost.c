/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An endpoint that is a vhost-user back end for virtio-net: QEMU gives us the guest's memory and
 * the places of its two rings, and frames are copied directly into and out of the guest's buffers.
 * Nothing is emulated on the way, so the guest is the limit.
 *
 * Reference: QEMU's "Vhost-user Protocol" and VIRTIO 1.1, section 2.6 (split virtqueues).
 * Deliberately small: split rings, one queue pair, no indirect descriptors, no event index, no
 * migration log. The used rings always say "do not notify", because we poll. The protocol-features
 * bit is offered (with no features), because otherwise this QEMU starts no ring.
 *
 * The guest must be trusted to be measured at all; still, addresses and indices are checked,
 * because a broken driver must give a message and not a crash of the bench.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gen.h"

enum request {
	GET_FEATURES = 1,
	SET_FEATURES = 2,
	SET_MEM_TABLE = 5,
	SET_VRING_NUM = 8,
	SET_VRING_ADDR = 9,
	SET_VRING_BASE = 10,
	GET_VRING_BASE = 11,
	SET_VRING_KICK = 12,
	SET_VRING_CALL = 13,
	SET_VRING_ERR = 14,
	GET_PROTOCOL_FEATURES = 15,
	GET_QUEUE_NUM = 17,
	SET_VRING_ENABLE = 18,
};

enum { VERSION = 1, REPLY = 4, REGIONS_MAX = 8, RING_MAX = 1024, NO_FD = 0x100 };
enum { RX, TX, RINGS }; /* the guest's names */

#define FEATURE_MERGEABLE (1ull << 15)
#define FEATURE_PROTOCOL  (1ull << 30)
#define FEATURE_VERSION_1 (1ull << 32)

enum { DESC_NEXT = 1, DESC_WRITE = 2, NO_INTERRUPT = 1, NO_NOTIFY = 1 };

struct desc {
	uint64_t address;
	uint32_t len;
	uint16_t flags;
	uint16_t next;
};

struct avail {
	uint16_t flags;
	uint16_t idx;
	uint16_t ring[];
};

struct used {
	uint16_t flags;
	uint16_t idx;
	struct {
		uint32_t id;
		uint32_t len;
	} ring[];
};

struct region {
	uint64_t guest, size, user, offset;
};

struct ring_address {
	uint32_t index, flags;
	uint64_t desc, used, avail, log;
};

struct message {
	uint32_t request, flags, size;
	union {
		uint64_t u64;
		struct {
			uint32_t index, num;
		} state;
		struct ring_address ring;
		struct {
			uint32_t count, padding;
			struct region region[REGIONS_MAX];
		} memory;
	};
} __attribute__((packed));

enum { HEADER = 12 };

struct ring {
	uint32_t num;
	const struct desc *desc;
	const struct avail *avail;
	struct used *used;
	uint16_t last; /* next entry of the avail ring */
	int call;
	bool started, enabled;
};

struct vhost_endpoint {
	struct endpoint endpoint; /* first: the engine's view */
	int listener, peer;
	uint64_t offered, features;
	unsigned regions;
	struct region region[REGIONS_MAX];
	uint8_t *mapped[REGIONS_MAX];
	struct ring ring[RINGS];
	uint64_t looked_ns;
};

static struct vhost_endpoint *of(struct endpoint *endpoint)
{
	return (struct vhost_endpoint *)endpoint;
}

/* ---- the guest's memory ---- */

static void unmap(struct vhost_endpoint *v)
{
	for (unsigned i = 0; i < v->regions; i++)
		munmap(v->mapped[i], v->region[i].size + v->region[i].offset);
	v->regions = 0;
	for (int i = 0; i < RINGS; i++)
		v->ring[i].desc = NULL;
}

static void *find(const struct vhost_endpoint *v, uint64_t at, uint64_t len, bool guest)
{
	for (unsigned i = 0; i < v->regions; i++) {
		const struct region *r = &v->region[i];
		uint64_t base = guest ? r->guest : r->user;

		if (at >= base && at - base < r->size && len <= r->size - (at - base))
			return v->mapped[i] + r->offset + (at - base);
	}
	return NULL;
}

static void set_memory(struct vhost_endpoint *v, const struct message *m, const int *fds)
{
	unmap(v);
	for (unsigned i = 0; i < m->memory.count && i < REGIONS_MAX; i++) {
		const struct region r = m->memory.region[i];
		void *base = mmap(NULL, r.size + r.offset, PROT_READ | PROT_WRITE, MAP_SHARED,
		                  fds[i], 0);

		if (base == MAP_FAILED) {
			perror("gen: guest memory");
			return;
		}
		v->region[i] = r;
		v->mapped[i] = base;
		v->regions = i + 1;
	}
}

/* ---- rings ---- */

static bool ready(const struct ring *r)
{
	return r->started && r->enabled && r->desc != NULL;
}

static void set_ring(struct vhost_endpoint *v, struct ring_address a)
{
	struct ring *r = &v->ring[a.index];
	uint64_t n = r->num;

	r->desc = find(v, a.desc, n * sizeof(struct desc), false);
	r->avail = find(v, a.avail, 4 + 2 * n, false);
	r->used = find(v, a.used, 4 + 8 * n, false);
	if (r->desc == NULL || r->avail == NULL || r->used == NULL)
		r->desc = NULL;
	else
		r->used->flags = NO_NOTIFY;
}

static unsigned waiting(const struct ring *r)
{
	return (uint16_t)(__atomic_load_n(&r->avail->idx, __ATOMIC_ACQUIRE) - r->last);
}

/* Returns entries and interrupts the guest if it wants that. */
static void publish(struct ring *r, uint16_t idx)
{
	static const uint64_t one = 1;

	__atomic_store_n(&r->used->idx, idx, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* the index before the guest's flag */
	if (!(__atomic_load_n(&r->avail->flags, __ATOMIC_RELAXED) & NO_INTERRUPT) && r->call >= 0)
		if (write(r->call, &one, sizeof(one)) < 0 && errno != EAGAIN)
			perror("gen: call");
}

static unsigned header_of(const struct vhost_endpoint *v)
{
	return v->features & (FEATURE_VERSION_1 | FEATURE_MERGEABLE) ? 12 : 10;
}

/* Copies header and frame into one chain of the guest's buffers; returns the bytes written. */
static unsigned fill(const struct vhost_endpoint *v, const struct ring *r, unsigned head,
                     const struct frame *f)
{
	uint8_t bytes[12 + sizeof(f->data)] = {0};
	unsigned total = header_of(v) + f->len, done = 0;

	bytes[10] = 1; /* buffers used, if the header has that field */
	memcpy(bytes + header_of(v), f->data, f->len);
	for (unsigned steps = 0, i = head; steps < r->num && done < total; steps++) {
		struct desc d = r->desc[i % r->num];
		unsigned part = total - done < d.len ? total - done : d.len;
		void *to = find(v, d.address, part, true);

		if (to == NULL || !(d.flags & DESC_WRITE))
			break;
		memcpy(to, bytes + done, part);
		done += part;
		if (!(d.flags & DESC_NEXT))
			break;
		i = d.next;
	}
	return done;
}

static unsigned vhost_send(struct endpoint *endpoint, const struct frame *const *frames, unsigned n)
{
	struct vhost_endpoint *v = of(endpoint);
	struct ring *r = &v->ring[RX];
	unsigned room;
	uint16_t idx;

	if (!ready(r))
		return 0;
	room = waiting(r);
	if (n > room)
		n = room;
	idx = r->used->idx;
	for (unsigned i = 0; i < n; i++, r->last++, idx++) {
		uint16_t head = r->avail->ring[r->last % r->num];

		r->used->ring[idx % r->num].id = head;
		r->used->ring[idx % r->num].len = fill(v, r, head, frames[i]);
	}
	if (n != 0)
		publish(r, idx);
	return n;
}

/* Collects one chain of the guest's buffers into a frame, without the header. */
static void drain(const struct vhost_endpoint *v, const struct ring *r, unsigned head,
                  struct frame *f)
{
	unsigned skip = header_of(v);

	f->len = 0;
	for (unsigned steps = 0, i = head; steps < r->num; steps++) {
		struct desc d = r->desc[i % r->num];
		unsigned cut = d.len < skip ? d.len : skip;
		unsigned part = d.len - cut;
		const uint8_t *from = find(v, d.address, d.len, true);

		skip -= cut;
		if (from == NULL || (d.flags & DESC_WRITE) || part > sizeof(f->data) - f->len)
			break;
		memcpy(f->data + f->len, from + cut, part);
		f->len += part;
		if (!(d.flags & DESC_NEXT))
			break;
		i = d.next;
	}
}

static unsigned vhost_recv(struct endpoint *endpoint, struct frame *frames, unsigned max)
{
	struct vhost_endpoint *v = of(endpoint);
	struct ring *r = &v->ring[TX];
	unsigned n;
	uint16_t idx;

	if (!ready(r))
		return 0;
	n = waiting(r);
	if (n > max)
		n = max;
	idx = r->used->idx;
	for (unsigned i = 0; i < n; i++, r->last++, idx++) {
		uint16_t head = r->avail->ring[r->last % r->num];

		drain(v, r, head, &frames[i]);
		r->used->ring[idx % r->num].id = head;
		r->used->ring[idx % r->num].len = 0;
	}
	if (n != 0)
		publish(r, idx);
	return n;
}

/* ---- the control socket ---- */

static void answer(struct vhost_endpoint *v, struct message *m, uint32_t size)
{
	m->flags = VERSION | REPLY;
	m->size = size;
	if (send(v->peer, m, HEADER + size, MSG_NOSIGNAL) != (ssize_t)(HEADER + size))
		perror("gen: vhost-user answer");
}

static void take_fd(int *slot, const struct message *m, const int *fds)
{
	if (*slot >= 0)
		close(*slot);
	*slot = m->u64 & NO_FD ? -1 : fds[0];
}

/* Messages about one ring; the index was checked. */
static void ring_message(struct vhost_endpoint *v, struct message *m, const int *fds)
{
	struct ring *r = &v->ring[m->u64 & 0xff];

	switch (m->request) {
	case SET_VRING_NUM:
		r->num = m->state.num <= RING_MAX ? m->state.num : 0;
		break;
	case SET_VRING_ADDR:
		set_ring(v, m->ring);
		break;
	case SET_VRING_BASE:
		r->last = (uint16_t)m->state.num;
		break;
	case GET_VRING_BASE:
		r->started = false;
		m->state.num = r->last;
		answer(v, m, sizeof(m->state));
		break;
	case SET_VRING_KICK: /* the descriptor is not used; the message starts the ring */
		r->started = true;
		if (!(m->u64 & NO_FD))
			close(fds[0]);
		break;
	case SET_VRING_CALL:
		take_fd(&r->call, m, fds);
		break;
	case SET_VRING_ERR:
		if (!(m->u64 & NO_FD))
			close(fds[0]);
		break;
	case SET_VRING_ENABLE:
		r->enabled = m->state.num != 0;
		break;
	default:
		break;
	}
}

static void message(struct vhost_endpoint *v, struct message *m, const int *fds)
{
	switch (m->request) {
	case GET_FEATURES:
		m->u64 = v->offered;
		answer(v, m, sizeof(m->u64));
		break;
	case GET_PROTOCOL_FEATURES:
		m->u64 = 0;
		answer(v, m, sizeof(m->u64));
		break;
	case GET_QUEUE_NUM:
		m->u64 = 1;
		answer(v, m, sizeof(m->u64));
		break;
	case SET_FEATURES:
		v->features = m->u64;
		/* Without the protocol bit there is no enable message: rings are enabled from the
		 * start. */
		for (int i = 0; i < RINGS && !(m->u64 & FEATURE_PROTOCOL); i++)
			v->ring[i].enabled = true;
		break;
	case SET_MEM_TABLE:
		set_memory(v, m, fds);
		for (int i = 0; i < REGIONS_MAX; i++)
			if (fds[i] >= 0)
				close(fds[i]); /* the mapping remains valid */
		break;
	default:
		if (m->size >= sizeof(m->u64) && (m->u64 & 0xff) < RINGS)
			ring_message(v, m, fds);
		break;
	}
}

static void hang_up(struct vhost_endpoint *v)
{
	close(v->peer);
	v->peer = -1;
	unmap(v);
	for (int i = 0; i < RINGS; i++) {
		if (v->ring[i].call >= 0)
			close(v->ring[i].call);
		v->ring[i] = (struct ring){.call = -1};
	}
}

static bool read_message(struct vhost_endpoint *v)
{
	struct message m = {0};
	int fds[REGIONS_MAX];
	char control[CMSG_SPACE(sizeof(fds))];
	struct iovec part = {&m, HEADER};
	struct msghdr h = {.msg_iov = &part,
	                   .msg_iovlen = 1,
	                   .msg_control = control,
	                   .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(v->peer, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	memset(fds, 0xff, sizeof(fds));
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c != NULL; c = CMSG_NXTHDR(&h, c))
		if (c->cmsg_type == SCM_RIGHTS)
			memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	if (n != HEADER || m.size > sizeof(m) - HEADER ||
	    (m.size != 0 && recv(v->peer, &m.u64, m.size, MSG_WAITALL) != (ssize_t)m.size)) {
		hang_up(v);
		return false;
	}
	message(v, &m, fds);
	return true;
}

/* The control socket has few messages once the guest runs: polling it a thousand times a second is
 * enough. */
static bool vhost_service(struct endpoint *endpoint)
{
	struct vhost_endpoint *v = of(endpoint);
	uint64_t now = clock_ns();

	if (now - v->looked_ns < 1000000)
		return ready(&v->ring[RX]);
	v->looked_ns = now;
	if (v->peer < 0)
		v->peer = accept4(v->listener, NULL, NULL, SOCK_CLOEXEC);
	while (v->peer >= 0 && read_message(v))
		;
	return ready(&v->ring[RX]);
}

static bool vhost_wait_for(struct endpoint *endpoint, bool to_send, struct pollfd *fd)
{
	struct vhost_endpoint *v = of(endpoint);

	(void)to_send;
	fd->fd = v->peer >= 0 ? v->peer : v->listener;
	fd->events = POLLIN;
	return !ready(&v->ring[TX]); /* running rings are polled */
}

static const struct endpoint_ops vhost_ops = {
        .send = vhost_send,
        .recv = vhost_recv,
        .service = vhost_service,
        .wait_for = vhost_wait_for,
};

struct endpoint *vhost_open(const char *path, bool mergeable)
{
	struct vhost_endpoint *v = calloc(1, sizeof(*v));
	struct sockaddr_un here = {.sun_family = AF_UNIX};

	if (v == NULL || strlen(path) >= sizeof(here.sun_path))
		return NULL;
	strcpy(here.sun_path, path);
	v->endpoint.ops = &vhost_ops;
	v->peer = v->ring[RX].call = v->ring[TX].call = -1;
	v->offered = FEATURE_PROTOCOL | FEATURE_VERSION_1 | (mergeable ? FEATURE_MERGEABLE : 0);
	v->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	unlink(path);
	if (v->listener < 0 ||
	    bind(v->listener, (const struct sockaddr *)&here, sizeof(here)) != 0 ||
	    listen(v->listener, 1) != 0)
		return NULL;
	return &v->endpoint;
}
