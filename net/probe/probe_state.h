/* The state of a run of ping or traceroute. */
#ifndef NET_PROBE_PROBE_STATE_H
#define NET_PROBE_PROBE_STATE_H

#include "kernel/lib/addr.h"

enum probe_kind { PROBE_PING, PROBE_TRACE };

/* Where a run stands. */
enum probe_phase {
	PROBE_IDLE,   /* there is no run: no message is an answer */
	PROBE_DUE,    /* the next request is due at `due_us` */
	PROBE_ASKED,  /* a request is on its way, until `due_us` */
	PROBE_GOT,    /* its answer is there, and its line is not written yet */
	PROBE_RESULT, /* the last request is done: the line of the sum comes next */
};

/* All zeros: idle. */
struct probe {
	uint8_t kind;  /* enum probe_kind */
	uint8_t phase; /* enum probe_phase */
	struct addr to;
	uint16_t id, seq; /* of the request that is on its way */
	uint8_t hops;     /* traceroute: TTL or hop limit of the request */
	uint8_t tries;    /* requests with this hop limit */
	uint64_t sent_us, due_us;
	/* The answer: who sent it, what it says, with which TTL it came. */
	struct addr by;
	uint8_t type, code, ttl;
	uint32_t rtt_us;
	/* Of all requests. */
	uint32_t n_sent, n_got;
	uint32_t least_us, most_us, sum_us;
};

#endif
