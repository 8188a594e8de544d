/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An endpoint over QEMU's -netdev dgram: one UNIX datagram is one Ethernet frame. Our socket is
 * connected, so a full queue on QEMU's side shows as EAGAIN, and poll() reports when there is room
 * again: the sender waits and no frame is lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gen.h"

struct dgram_endpoint {
	struct endpoint endpoint; /* first: the engine's view */
	int fd;
	bool connected;
	struct sockaddr_un remote;
};

static struct dgram_endpoint *of(struct endpoint *endpoint)
{
	return (struct dgram_endpoint *)endpoint;
}

unsigned socket_send(int fd, const struct frame *const *frames, unsigned n)
{
	struct mmsghdr messages[BURST];
	struct iovec parts[BURST];
	int sent;

	if (n > BURST)
		n = BURST;
	memset(messages, 0, n * sizeof(messages[0]));
	for (unsigned i = 0; i < n; i++) {
		/* The kernel does not write through this pointer; iovec only lacks const. */
		parts[i].iov_base = (void *)(uintptr_t)frames[i]->data;
		parts[i].iov_len = frames[i]->len;
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	sent = sendmmsg(fd, messages, n, MSG_DONTWAIT);
	return sent > 0 ? (unsigned)sent : 0;
}

unsigned socket_recv(int fd, struct frame *frames, unsigned max)
{
	struct mmsghdr messages[BURST];
	struct iovec parts[BURST];
	int got;

	if (max > BURST)
		max = BURST;
	memset(messages, 0, max * sizeof(messages[0]));
	for (unsigned i = 0; i < max; i++) {
		parts[i].iov_base = frames[i].data;
		parts[i].iov_len = sizeof(frames[i].data);
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	got = recvmmsg(fd, messages, max, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++)
		frames[i].len = messages[i].msg_len;
	return got > 0 ? (unsigned)got : 0;
}

static unsigned dgram_send(struct endpoint *endpoint, const struct frame *const *frames, unsigned n)
{
	struct dgram_endpoint *d = of(endpoint);
	unsigned sent;

	if (!d->connected)
		return 0;
	errno = 0;
	sent = socket_send(d->fd, frames, n);
	if (sent == 0 && (errno == ECONNREFUSED || errno == ENOTCONN))
		d->connected = false;
	return sent;
}

static unsigned dgram_recv(struct endpoint *endpoint, struct frame *frames, unsigned max)
{
	return socket_recv(of(endpoint)->fd, frames, max);
}

/* QEMU may start after us: connecting is repeated until its socket exists. */
static bool dgram_service(struct endpoint *endpoint)
{
	struct dgram_endpoint *d = of(endpoint);

	if (!d->connected)
		d->connected =
		        connect(d->fd, (const struct sockaddr *)&d->remote, sizeof(d->remote)) == 0;
	return d->connected;
}

static bool dgram_wait_for(struct endpoint *endpoint, bool to_send, struct pollfd *fd)
{
	struct dgram_endpoint *d = of(endpoint);

	fd->fd = d->fd;
	fd->events = (short)(POLLIN | (to_send && d->connected ? POLLOUT : 0));
	return true;
}

static const struct endpoint_ops dgram_ops = {
        .send = dgram_send,
        .recv = dgram_recv,
        .service = dgram_service,
        .wait_for = dgram_wait_for,
};

static int set_path(struct sockaddr_un *address, const char *path)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address->sun_path, path);
	return 0;
}

struct endpoint *dgram_open(const char *local, const char *remote)
{
	struct dgram_endpoint *d = calloc(1, sizeof(*d));
	struct sockaddr_un here;

	if (d == NULL || set_path(&here, local) != 0 || set_path(&d->remote, remote) != 0)
		return NULL;
	d->endpoint.ops = &dgram_ops;
	d->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	unlink(local);
	if (d->fd < 0 || bind(d->fd, (const struct sockaddr *)&here, sizeof(here)) != 0)
		return NULL;
	return &d->endpoint;
}
