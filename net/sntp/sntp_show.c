/* The time client's lines in listings, and its counters. See sntp.h. */
#include "kernel/lib/fmt.h"
#include "kernel/lib/wall.h"
#include "net/sntp/sntp.h"

static void show_time(const struct gw *gw, char *buf, size_t size)
{
	const struct sntp *s = &gw->sntp;
	uint64_t now = gw->clock.us, wall = wall_at(now);
	char date[WALL_TEXT], text[FMT_IP6];
	if (!wall)
		fmt(buf, size, "time not known");
	else
		fmt(buf, size, "time %s from %s %u s ago", wall_text(date, wall),
		    addr_text(text, &s->from), (uint32_t)((now - s->told_us) / 1000000));
}

bool sntp_show(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	uint32_t i = (*cursor)++;
	char text[FMT_IP6];
	struct addr server;
	if (i == 0) {
		show_time(gw, buf, size);
		return true;
	}
	if (!sntp_server(gw, i - 1, &server))
		return false;
	fmt(buf, size, "time-server %s", addr_text(text, &server));
	return true;
}

static const struct count count[] = {
        COUNT(struct sntp, "sntp_questions", questions),
        COUNT(struct sntp, "sntp_answers", answers),
        COUNT(struct sntp, "sntp_refused", refused),
};

static const void *state(const struct gw *gw)
{
	return &gw->sntp;
}

const struct count_table sntp_counts = COUNT_TABLE(count, state);
