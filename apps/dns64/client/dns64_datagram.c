/* See dns64_datagram.h. */
#include "apps/dns64/client/dns64_datagram.h"

#include "apps/dns64/client/dns64_client.h"
#include "apps/dns64/client/dns64_path.h"

/* Moves a query to the front of its packet when long extension headers stand before it, so that its
 * answer fits there. */
static void make_room(struct pkt *p)
{
	if (LIKELY(pkt_space(p) >= UDP_ROOM))
		return;
	memmove(p->bytes + PKT_HEADROOM, p->data, p->len);
	p->data = p->bytes + PKT_HEADROOM;
}

static bool begin(struct gw *gw, const struct dns64_client *to, struct dns64_reply *r)
{
	(void)to;
	r->room = UDP_ROOM;
	r->p = pkt_alloc(gw->pool);
	r->at = r->p ? pkt_put(r->p, UDP_ROOM) : NULL;
	if (r->p && !r->at)
		pkt_free(r->p);
	return r->at != NULL;
}

static void send(struct gw *gw, const struct dns64_client *to, const struct dns64_reply *r,
                 uint32_t len)
{
	dns64_clients_of(gw)->answers++;
	pkt_trim(r->p, len);
	struct udp_path *path = dns64_path_to(gw, &to->ends);
	if (LIKELY(path != NULL))
		udp_path_send(gw, path, r->p, to->ends.local_port, to->ends.remote_port);
	else
		udp_send(gw, r->p, &to->ends);
}

static bool takes(const struct gw *gw, const struct dns64_client *to)
{
	(void)gw;
	(void)to;
	return true;
}

const struct dns64_transport dns64_datagram = {.begin = begin, .send = send, .takes = takes};

/* The answer is sent in the packet of the query. Gives why there is none; the packet is then as it
 * came. */
static enum drop answer(struct gw *gw, struct pkt *p, const struct dns64_client *from)
{
	enum drop why;
	make_room(p);
	uint32_t n = p->len;
	if (n < UDP_ROOM && !pkt_put(p, UDP_ROOM - n))
		return DROP_NO_PACKET; /* make_room has made it */
	uint32_t len = dns64_client_query(gw, from, p->data, n, UDP_ROOM, &why);
	if (why != DROP_NONE) {
		pkt_trim(p, n);
		return why;
	}
	if (len == 0) {
		pkt_free(p);
		return DROP_NONE;
	}
	if (LIKELY(!dns64_clients_of(gw)->debug))
		dns64_path_note(gw, &from->ends);
	send(gw, from, &(struct dns64_reply){p, p->data, UDP_ROOM}, len);
	return DROP_NONE;
}

void dns64_datagram_query(struct gw *gw, struct pkt *p, const struct dns64_client *from)
{
	enum drop why = answer(gw, p, from);
	if (UNLIKELY(why != DROP_NONE))
		gw_discard(gw, p, why);
}

/* A datagram to the port of the service (udp.h). */
static enum verdict input(struct gw *gw, struct pkt *p, const struct udp_ends *ends, uint32_t arg)
{
	const struct dns64_client from = {
	        .ends = *ends, .transport = &dns64_datagram, .conn = TCP_NONE};
	(void)arg;
	enum drop why = answer(gw, p, &from);
	return why == DROP_NONE ? V_KEPT : gw_drop(gw, p, why);
}

bool dns64_datagram_init(struct gw *gw, uint16_t port)
{
	return udp_bind(gw, port, udp_register(gw, input), 0);
}
