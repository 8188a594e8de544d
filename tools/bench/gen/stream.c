/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An endpoint over QEMU's -netdev stream: frames on a UNIX stream socket, each after its length in
 * four bytes. QEMU takes all waiting bytes at once, so one burst fills the guest's receive ring.
 * Over datagrams it takes one frame for each pass of its loop and the kernel holds ten, so a fast
 * guest would idle between them. We listen, QEMU connects.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gen.h"

enum { LENGTH = 4, BUFFER = 1 << 18 };

struct stream_endpoint {
	struct endpoint endpoint; /* first: the engine's view */
	int listener, peer;
	/* Bytes that the socket did not accept yet, and received bytes that were not read yet. */
	uint8_t out[BURST * (LENGTH + FRAME_MAX)];
	size_t out_at, out_end;
	uint8_t in[BUFFER];
	size_t in_at, in_end;
};

static struct stream_endpoint *of(struct endpoint *endpoint)
{
	return (struct stream_endpoint *)endpoint;
}

static void hang_up(struct stream_endpoint *s)
{
	close(s->peer);
	s->peer = -1;
	s->out_at = s->out_end = s->in_at = s->in_end = 0;
}

/* True when no bytes are left to be written. */
static bool push(struct stream_endpoint *s)
{
	while (s->out_at != s->out_end) {
		ssize_t n = send(s->peer, s->out + s->out_at, s->out_end - s->out_at,
		                 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			hang_up(s);
		if (n <= 0)
			return false;
		s->out_at += (size_t)n;
	}
	return true;
}

static unsigned stream_send(struct endpoint *endpoint, const struct frame *const *frames,
                            unsigned n)
{
	struct stream_endpoint *s = of(endpoint);

	if (s->peer < 0 || !push(s))
		return 0;
	if (n > BURST)
		n = BURST;
	s->out_at = s->out_end = 0;
	for (unsigned i = 0; i < n; i++) {
		uint32_t len = htonl(frames[i]->len);

		memcpy(s->out + s->out_end, &len, LENGTH);
		memcpy(s->out + s->out_end + LENGTH, frames[i]->data, frames[i]->len);
		s->out_end += LENGTH + frames[i]->len;
	}
	push(s);
	return n; /* accepted, even if some bytes still wait here */
}

/* The length of the frame at the front of the buffer; false when the frame is not complete. */
static bool whole_frame(const struct stream_endpoint *s, size_t *len)
{
	size_t have = s->in_end - s->in_at;
	uint32_t be;

	if (have < LENGTH)
		return false;
	memcpy(&be, s->in + s->in_at, LENGTH);
	*len = ntohl(be);
	return have - LENGTH >= *len;
}

static void refill(struct stream_endpoint *s)
{
	ssize_t n;

	memmove(s->in, s->in + s->in_at, s->in_end - s->in_at);
	s->in_end -= s->in_at;
	s->in_at = 0;
	n = recv(s->peer, s->in + s->in_end, BUFFER - s->in_end, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		hang_up(s);
	else if (n > 0)
		s->in_end += (size_t)n;
}

static unsigned stream_recv(struct endpoint *endpoint, struct frame *frames, unsigned max)
{
	struct stream_endpoint *s = of(endpoint);
	unsigned n = 0;
	size_t len;

	if (s->peer < 0)
		return 0;
	if (!whole_frame(s, &len))
		refill(s);
	for (; n < max && whole_frame(s, &len); s->in_at += LENGTH + len) {
		if (len > sizeof(frames[n].data))
			continue;
		frames[n].len = (unsigned)len;
		memcpy(frames[n].data, s->in + s->in_at + LENGTH, len);
		n++;
	}
	return n;
}

static bool stream_service(struct endpoint *endpoint)
{
	struct stream_endpoint *s = of(endpoint);

	if (s->peer < 0)
		s->peer = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	else
		push(s);
	return s->peer >= 0;
}

static bool stream_wait_for(struct endpoint *endpoint, bool to_send, struct pollfd *fd)
{
	struct stream_endpoint *s = of(endpoint);

	fd->fd = s->peer >= 0 ? s->peer : s->listener;
	fd->events = POLLIN;
	if (s->peer >= 0 && (to_send || s->out_at != s->out_end))
		fd->events |= POLLOUT;
	return true;
}

static const struct endpoint_ops stream_ops = {
        .send = stream_send,
        .recv = stream_recv,
        .service = stream_service,
        .wait_for = stream_wait_for,
};

struct endpoint *stream_open(const char *path)
{
	struct stream_endpoint *s = calloc(1, sizeof(*s));
	struct sockaddr_un here = {.sun_family = AF_UNIX};

	if (s == NULL || strlen(path) >= sizeof(here.sun_path))
		return NULL;
	strcpy(here.sun_path, path);
	s->endpoint.ops = &stream_ops;
	s->peer = -1;
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	unlink(path);
	if (s->listener < 0 ||
	    bind(s->listener, (const struct sockaddr *)&here, sizeof(here)) != 0 ||
	    listen(s->listener, 1) != 0)
		return NULL;
	return &s->endpoint;
}
