/* What the time client knows. Times are in microseconds since boot, as gw->clock.us. */
#ifndef NET_SNTP_SNTP_STATE_H
#define NET_SNTP_SNTP_STATE_H

#include "kernel/lib/addr.h"
#include "net/sntp/sntp_keys.h"
#include "net/sntp/sntp_message.h"

/* A server that is not asked for a while, as it wishes (kiss codes, RFC 5905 section 7.4). */
struct sntp_rest {
	struct addr server;
	uint32_t gap_s;    /* between two questions at least; 0: it is not asked again */
	uint64_t until_us; /* not before; UINT64_MAX: never */
};
#define SNTP_RESTS (2 * SNTP_SERVERS) /* those of the configuration and of a lease */

struct sntp {
	bool on;         /* servers can be asked */
	uint8_t handler; /* of udp.h */
	uint16_t port;   /* from which the question under way was asked; 0: none is under way */
	struct addr asked;
	uint8_t stamp[SNTP_STAMP];
	uint64_t sent_us, due_us; /* the last question, the next one or the end of the wait */
	uint32_t next;            /* number of the server that is asked next */
	uint32_t fails;           /* questions in a row that gave no time */
	uint32_t jumps;           /* answers in a row that were too far from the time in force */
	struct sntp_rest rest[SNTP_RESTS];
	uint32_t n_rests;
	uint32_t oldest_rest; /* the one that makes room when all are used */

	struct addr from; /* the server that told the time in force */
	uint64_t told_us; /* when; 0: never */
	uint64_t said_jump_us;
	uint64_t questions, answers, refused;
};

#endif
