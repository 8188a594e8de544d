/* Messages of SNTP (RFC 5905 section 7.3, RFC 4330 section 4). Pure. */
#ifndef NET_SNTP_SNTP_MESSAGE_H
#define NET_SNTP_SNTP_MESSAGE_H

#include "kernel/lib/bytes.h"

#define SNTP_BYTES 48u
#define SNTP_PORT  123u
#define SNTP_STAMP 8u

/* What an answer is. */
enum sntp_kind {
	SNTP_TIME,     /* has the time */
	SNTP_BAD,      /* malformed, or a server without the time */
	SNTP_NOT_OURS, /* for no question of ours */
	SNTP_DENIED,   /* the server is not to be asked again (kiss code DENY or RSTR) */
	SNTP_SLOWER,   /* the server is to be asked less often (kiss code RATE) */
};

/* Writes a question whose transmit timestamp is `stamp`: random, so that it tells nothing and only
 * the server can answer it (RFC 9109, data minimization). */
void sntp_write(uint8_t out[static SNTP_BYTES], const uint8_t stamp[static SNTP_STAMP]);

/* Judges an answer to the question with this timestamp. With SNTP_TIME *unix_us is the server's
 * time when it answered, in microseconds since 1970-01-01 UTC. Timestamps without the highest bit
 * are of the era that begins in 2036 (RFC 4330 section 3). */
enum sntp_kind sntp_read(const uint8_t *data, uint32_t len, const uint8_t stamp[static SNTP_STAMP],
                         uint64_t *unix_us);

#endif
