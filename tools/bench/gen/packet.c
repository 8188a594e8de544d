/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An endpoint over an Ethernet interface of this machine (packet(7)). It sees every frame that
 * arrives there, also those for hosts that only the generator acts for, and none that is sent.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gen.h"

enum { BUFFER = 4 << 20 };

struct packet_endpoint {
	struct endpoint endpoint; /* first: the engine's view */
	int fd;
};

static struct packet_endpoint *of(struct endpoint *endpoint)
{
	return (struct packet_endpoint *)endpoint;
}

static unsigned packet_send(struct endpoint *endpoint, const struct frame *const *frames,
                            unsigned n)
{
	return socket_send(of(endpoint)->fd, frames, n);
}

static unsigned packet_recv(struct endpoint *endpoint, struct frame *frames, unsigned max)
{
	return socket_recv(of(endpoint)->fd, frames, max);
}

static bool packet_service(struct endpoint *endpoint)
{
	(void)endpoint;
	return true;
}

static bool packet_wait_for(struct endpoint *endpoint, bool to_send, struct pollfd *fd)
{
	fd->fd = of(endpoint)->fd;
	fd->events = (short)(POLLIN | (to_send ? POLLOUT : 0));
	return true;
}

static const struct endpoint_ops packet_ops = {
        .send = packet_send,
        .recv = packet_recv,
        .service = packet_service,
        .wait_for = packet_wait_for,
};

static bool prepare(int fd, unsigned index)
{
	struct sockaddr_ll here = {
	        .sll_family = AF_PACKET,
	        .sll_protocol = htons(ETH_P_ALL),
	        .sll_ifindex = (int)index,
	};
	struct packet_mreq all = {.mr_ifindex = (int)index, .mr_type = PACKET_MR_PROMISC};
	int yes = 1, size = BUFFER;

	/* Larger buffers are good to have; without the right to them the kernel's limit remains. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	return setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) == 0 &&
	       setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) == 0 &&
	       bind(fd, (const struct sockaddr *)&here, sizeof(here)) == 0;
}

struct endpoint *packet_open(const char *interface)
{
	struct packet_endpoint *p = calloc(1, sizeof(*p));
	unsigned index = if_nametoindex(interface);

	if (p == NULL || index == 0)
		return NULL;
	p->endpoint.ops = &packet_ops;
	/* Protocol 0: no frame arrives before the socket is bound to its interface. */
	p->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (p->fd < 0 || !prepare(p->fd, index))
		return NULL;
	return &p->endpoint;
}
