/* The receivers' lines in listings, and the counters. See export.h. */
#include "kernel/lib/fmt.h"
#include "net/export/export.h"
#include "net/tcp/tcp.h"

static const char *state(const struct export_receiver *r)
{
	if (r->to.tcp)
		return r->open ? "connected" : r->conn != TCP_NONE ? "connecting" : "waiting";
	return r->first_us ? "sending" : "waiting";
}

bool export_show(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	uint32_t i = (*cursor)++;
	if (i >= gw->export.n)
		return false;
	const struct export_receiver *r = &gw->export.receiver[i];
	char text[FMT_IP6];
	fmt(buf, size, "%s %s%s port %u %s, %llu lost", r->ipfix ? "ipfix" : "syslog",
	    r->to.tcp ? "tcp " : "", addr_text(text, &r->to.addr), r->to.port, state(r),
	    (unsigned long long)r->lost);
	return true;
}

static const struct count count[] = {
        COUNT(struct export, "syslog_messages", messages),
        COUNT(struct export, "syslog_lost", lost),
        COUNT(struct export, "syslog_connections", connections),
        COUNT(struct export, "ipfix_records", records),
        COUNT(struct export, "ipfix_messages", datagrams),
        COUNT(struct export, "ipfix_lost", unrecorded),
};

static const void *self(const struct gw *gw)
{
	return &gw->export;
}

const struct count_table export_counts = COUNT_TABLE(count, self);
