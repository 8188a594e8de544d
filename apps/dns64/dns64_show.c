/* Listings of DNS64 for people. See dns64.h. */
#include "apps/dns64/dns64.h"

#include "kernel/lib/fmt.h"
#include "net/stats/count.h"

static uint64_t cache_size(const void *of)
{
	return ((const struct dns64 *)of)->cache.limit;
}

static uint64_t pendings_size(const void *of)
{
	(void)of;
	return DNS64_PENDING;
}

static const struct count count[] = {
        COUNT(struct dns64, "dns_queries", clients.queries),
        COUNT(struct dns64, "dns_answers", clients.answers),
        COUNT(struct dns64, "dns_synthesised", policy.synthesised),
        COUNT(struct dns64, "dns_not_global", policy.not_global),
        COUNT(struct dns64, "dns_cache_hits", clients.hits),
        COUNT(struct dns64, "dns_cache_stale", policy.stale),
        COUNT_FILL(struct dns64, "dns_cache_records", cache.n, cache_size),
        COUNT(struct dns64, "dns_cache_stored", cache.stored),
        COUNT(struct dns64, "dns_cache_evicted", cache.evicted),
        COUNT(struct dns64, "dns_prefetched", pendings.prefetched),
        COUNT(struct dns64, "dns_upstream_asked", servers.asked),
        COUNT(struct dns64, "dns_upstream_answered", servers.answered),
        COUNT(struct dns64, "dns_upstream_timeouts", servers.timeouts),
        COUNT(struct dns64, "dns_upstream_joined", fetches.joined),
        COUNT(struct dns64, "dns_upstream_forged", servers.forged),
        COUNT(struct dns64, "dns_upstream_case_changed", fetches.miscased),
        COUNT(struct dns64, "dns_upstream_up", servers.n_up),
        COUNT(struct dns64, "dns_asking", fetches.n),
        COUNT_FILL(struct dns64, "dns_waiting", pendings.n, pendings_size),
        COUNT(struct dns64, "dns_table_full", part.table_full),
        COUNT(struct dns64, "dns_formerr", clients.formerr),
        COUNT(struct dns64, "dns_notimp", clients.notimp),
        COUNT(struct dns64, "dns_refused", clients.refused),
        COUNT(struct dns64, "dns_badvers", clients.badvers),
        COUNT(struct dns64, "dns_servfail", policy.failed),
        COUNT(struct dns64, "dns_truncated", policy.truncated),
        COUNT(struct dns64, "dns_relayed", passthroughs.begun),
        COUNT(struct dns64, "dns_tcp_queries", streams.queries),
        COUNT(struct dns64, "dns_tcp_held", pendings.count_held),
        COUNT(struct dns64, "dns_upstream_tcp", conns.sent),
        COUNT(struct dns64, "dns_upstream_tcp_mute", conns.mute),
};

static const void *state(const struct gw *gw)
{
	return dns64_of(gw);
}

const struct count_table dns64_counts = COUNT_TABLE(count, state);

/* What is known of an upstream server: `up` only after an answer. */
static const char *server_state(const struct dns64_server *s)
{
	if (s->down)
		return "down";
	if (s->answered)
		return "up";
	return s->asked ? "silent" : "untried";
}

/* The upstream servers, then the fetches that are under way. */
static bool show_sessions(const struct gw *gw, const struct dns64 *d, uint32_t *cursor, char *buf,
                          size_t size)
{
	uint32_t i = (*cursor)++;
	char text[FMT_IP6], name[200];
	buf[0] = 0;
	if (i < d->servers.n) {
		const struct dns64_server *s = &d->servers.server[i];
		if (s->absent)
			return true;
		fmt(buf, size, "nameserver %s %s asked=%llu answered=%llu rtt-us=%u missed=%u",
		    addr_text(text, &s->addr), server_state(s), (unsigned long long)s->asked,
		    (unsigned long long)s->answered, s->srtt_us, s->missed);
		return true;
	}
	for (i -= d->servers.n; i < DNS64_FETCHES; i++) {
		const struct dns64_fetch *f = &d->fetches.fetch[i];
		*cursor = d->servers.n + i + 1;
		if (f->n_attempts == 0)
			continue;
		fmt(buf, size, "asking %s type=%u class=%u tries=%u ms=%u",
		    dns_name_text(name, sizeof name, f->request.question), f->q.type, f->q.class,
		    f->n_attempts, (dns64_now(gw) - f->begun_us) / 1000);
		return true;
	}
	return false;
}

bool dns64_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
{
	return what == SHOW_SESSIONS && show_sessions(gw, dns64_of(gw), cursor, buf, size);
}
