/* Attempts: one message to one server, over UDP from a port of its own or over TCP.
 *
 * An attempt over UDP has a random port and a random ID (RFC 5452 section 9.2). The port is closed
 * to all senders but the server that was asked. What answers mean is decided above: they go to the
 * callbacks of struct dns64_attempt_user. */
#ifndef APPS_DNS64_UPSTREAM_DNS64_ATTEMPT_H
#define APPS_DNS64_UPSTREAM_DNS64_ATTEMPT_H

#include "apps/dns64/upstream/dns64_conn.h"

#define DNS64_ATTEMPTS 4u /* of one fetch that can be answered at a time */

/* The longest message of an attempt. */
#define DNS64_ATTEMPT_MAX (DNS_HEADER + DNS_NAME_MAX + DNS_QUESTION_FIXED + DNS_OPT_BYTES)

struct dns64_attempt {
	uint16_t port; /* ours; 0: none */
	uint16_t id;
	uint32_t sent_us;
	uint8_t server;
	bool edns; /* sent with OPT */
	bool tcp;  /* under way over TCP, without a port */
};

/* What the attempts of a fetch send: flags, and the question section with its name in random upper
 * and lower case. */
struct dns64_request {
	uint8_t question[DNS_NAME_MAX + 1 + DNS_QUESTION_FIXED];
	uint16_t len;   /* of it */
	uint16_t flags; /* of the header */
	bool dnssec;    /* DO is set where OPT is sent */
};

/* What happens to attempts. Attempts are numbered: fetch * DNS64_ATTEMPTS + 0 … 3. */
struct dns64_attempt_user {
	/* A message of the server with the attempt's ID. Gives why it is dropped, or DROP_NONE. */
	enum drop (*answer)(struct gw *gw, uint32_t attempt, struct dns_view m);
	/* The connection of an attempt is gone. The attempt is the latest of its fetch. `answered`:
	 * the server has answered other attempts on this connection. */
	void (*lost)(struct gw *gw, uint32_t attempt, bool answered);
};

struct dns64_attempts {
	struct dns64_attempt *attempt; /* DNS64_ATTEMPTS for each fetch */
	const struct dns64_attempt_user *user;
	uint8_t udp_handler; /* its number in gw->udp */
};

static inline struct dns64_attempts *dns64_attempts_of(const struct gw *gw)
{
	return dns64_parts_of(gw)->attempts;
}

/* Allocates the attempts of all fetches; false when memory is short. */
bool dns64_attempt_init(struct gw *gw, struct dns64_attempts *a,
                        const struct dns64_attempt_user *user) MUST_USE;

/* True while an attempt may be answered. */
static inline bool dns64_attempt_is_open(const struct dns64_attempt *t)
{
	return t->port || t->tcp;
}

/* Sends the request of a fetch to one server over UDP, as the first attempt that is free. The
 * oldest of its attempts ends if all are in use. Where sending fails the attempt is as one that is
 * not answered. */
void dns64_attempt_send(struct gw *gw, uint32_t fetch, const struct dns64_request *r,
                        uint32_t server, bool edns);

/* Sends the request again over TCP; the attempt becomes one over TCP, counted in `share`. False: it
 * cannot be sent, and the attempt is as before. */
bool dns64_attempt_send_tcp(struct gw *gw, struct dns64_attempt *t, const struct dns64_request *r,
                            uint32_t share) MUST_USE;

/* Writes the message of an attempt into DNS64_ATTEMPT_MAX bytes; gives its length. */
uint32_t dns64_attempt_write(const struct dns64_request *r, const struct dns64_attempt *t,
                             uint8_t *m);

/* True when a message with at least a header repeats the question of a request to the letter. */
static inline bool dns64_attempt_repeats(const struct dns64_request *r, struct dns_view m)
{
	const uint8_t *a = m.at + DNS_HEADER, *b = r->question;
	uint32_t n = r->len;
	if (m.len - DNS_HEADER < n || be16_raw(dns_header_of(m)->count[DNS_QD]) != swap16(1))
		return false;
	/* Words, and the last one, which may overlap the one before it. */
	n -= 4;
	if (load32(a + n) != load32(b + n))
		return false;
	for (uint32_t i = 0; i < n; i += 4)
		if (load32(a + i) != load32(b + i))
			return false;
	return true;
}

/* Ends an attempt: no answer to it is taken. */
void dns64_attempt_close(struct gw *gw, struct dns64_attempt *t);

/* A frame with the UDP header `udp` (udp_path.h). True: it is a datagram of a server to an open
 * attempt, and p was taken. False: nothing has changed. */
bool dns64_attempt_frame(struct gw *gw, const struct interface *in, struct pkt *p,
                         const struct udp_hdr *udp);

#endif
