/* What the time client knows. Times are in microseconds since boot, as gw->clock.us. */
#ifndef NET_SNTP_SNTP_STATE_H
#define NET_SNTP_SNTP_STATE_H

#include "kernel/lib/addr.h"
#include "net/sntp/sntp_keys.h"
#include "net/sntp/sntp_message.h"

struct sntp {
	bool on;         /* there may be servers to ask */
	uint8_t handler; /* of udp.h */
	uint16_t port;   /* from which the question under way was asked; 0: none is under way */
	struct addr asked;
	uint8_t stamp[SNTP_STAMP];
	uint64_t sent_us, due_us; /* the last question, the next one or the end of the wait */
	uint32_t next;            /* number of the server that is asked next */
	uint32_t fails;           /* questions in a row that gave no time */
	uint32_t jumps;           /* answers in a row that were too far from the time in force */
	uint32_t poll_s;          /* between two questions while the time is known */
	struct addr denied[SNTP_SERVERS * 2]; /* those that do not want to be asked */
	uint32_t n_denied;

	struct addr from; /* the server that told the time in force */
	uint64_t told_us; /* when; 0: never */
	uint64_t said_jump_us;
	uint64_t questions, answers, refused;
};

#endif
