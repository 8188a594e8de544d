/* What the gateway knows of the receivers of its log and of events. Times are in
 * microseconds since boot, as gw->clock.us. */
#ifndef NET_EXPORT_EXPORT_STATE_H
#define NET_EXPORT_EXPORT_STATE_H

#include "kernel/lib/wall.h"
#include "net/export/export_event.h"
#include "net/export/export_keys.h"

#define EXPORT_MOST (2 * EXPORT_RECEIVERS)

struct export_receiver {
	struct export_config_receiver to;
	bool ipfix; /* else syslog */
	/* What it has got: log lines (log.h) and events. */
	uint64_t cursor, line, event;
	uint32_t conn;      /* of TCP; TCP_NONE: there is none */
	bool open;          /* the connection is */
	uint32_t fails;     /* connections in a row that failed */
	uint64_t retry_us;  /* when the next connection, or datagram, may be tried */
	uint64_t first_us;  /* the first datagram since there was no way; 0: there is none */
	uint64_t told_us;   /* IPFIX: when the templates were sent; 0: never */
	uint32_t sequence;  /* IPFIX: records sent */
	uint64_t said_us;   /* mark of a log line */
	uint64_t lost_told; /* syslog: losses that it has heard of */
	uint64_t lost;
};

/* A millisecond: when it begins in microseconds, and its number as it is sent. */
struct export_ms {
	uint64_t begins_us;
	uint32_t high, low;
};

/* Syslog: the middle of each message, which is made for one of our addresses. */
struct export_middle {
	struct addr own;
	uint32_t n; /* bytes; 0: none is made yet */
	char text[64];
};

struct export
{
	bool on;
	uint32_t boot;   /* random: another start has another one */
	uint8_t handler; /* of udp.h */
	uint16_t port;   /* our end of all datagrams (host order) */
	struct export_ring ring;
	struct export_ms last; /* of the event before */
	struct export_receiver receiver[EXPORT_MOST];
	uint32_t n;
	char second[WALL_TEXT]; /* the time of the last message, without its milliseconds */
	uint64_t second_us;     /* and that as kernel/lib/wall.h counts */
	struct export_middle middle;
	uint64_t messages, lost, connections;    /* of syslog */
	uint64_t records, datagrams, unrecorded; /* of IPFIX */
};

#endif
