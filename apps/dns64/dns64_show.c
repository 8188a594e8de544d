/* Listings of the DNS64 server for people. See dns64.h. */
#include "apps/dns64/dns64.h"

#include "kernel/lib/fmt.h"
#include "net/count.h"

static const struct count count[] = {
        COUNT(struct dns64, "dns_queries", count.queries),
        COUNT(struct dns64, "dns_answers", count.answers),
        COUNT(struct dns64, "dns_synthesised", count.synthesised),
        COUNT(struct dns64, "dns_not_global", count.not_global),
        COUNT(struct dns64, "dns_cache_hits", count.hits),
        COUNT(struct dns64, "dns_cache_stale", count.stale),
        COUNT(struct dns64, "dns_cache_records", cache.n),
        COUNT(struct dns64, "dns_cache_stored", cache.stored),
        COUNT(struct dns64, "dns_cache_evicted", cache.evicted),
        COUNT(struct dns64, "dns_prefetched", count.prefetched),
        COUNT(struct dns64, "dns_upstream_asked", count.asked),
        COUNT(struct dns64, "dns_upstream_answered", count.answered),
        COUNT(struct dns64, "dns_upstream_timeouts", count.timeouts),
        COUNT(struct dns64, "dns_upstream_joined", count.joined),
        COUNT(struct dns64, "dns_upstream_forged", count.forged),
        COUNT(struct dns64, "dns_upstream_case_changed", count.miscased),
        COUNT(struct dns64, "dns_upstream_up", n_up),
        COUNT(struct dns64, "dns_asking", n_asks),
        COUNT(struct dns64, "dns_waiting", n_waiters),
        COUNT(struct dns64, "dns_table_full", count.full),
        COUNT(struct dns64, "dns_formerr", count.formerr),
        COUNT(struct dns64, "dns_notimp", count.notimp),
        COUNT(struct dns64, "dns_refused", count.refused),
        COUNT(struct dns64, "dns_badvers", count.badvers),
        COUNT(struct dns64, "dns_servfail", count.servfail),
        COUNT(struct dns64, "dns_truncated", count.truncated),
        COUNT(struct dns64, "dns_relayed", count.relayed),
        COUNT(struct dns64, "dns_tcp_queries", count.streamed),
        COUNT(struct dns64, "dns_tcp_held", count.held),
        COUNT(struct dns64, "dns_upstream_tcp", count.fetched),
        COUNT(struct dns64, "dns_upstream_tcp_mute", count.mute),
};

static const void *state(const struct gw *gw)
{
	return gw->state;
}

const struct count_table dns64_counts = COUNT_TABLE(count, state);

/* The upstream servers, then the questions that are in flight. */
static bool show_sessions(const struct gw *gw, const struct dns64 *d, uint32_t *cursor, char *buf,
                          size_t size)
{
	uint32_t i = (*cursor)++;
	char text[FMT_IP6], name[200];
	buf[0] = 0;
	if (i < d->n_servers) {
		const struct dns64_server *s = &d->server[i];
		fmt(buf, size, "nameserver %s %s asked=%llu answered=%llu rtt-us=%u missed=%u",
		    addr_text(text, &s->addr), s->down ? "down" : "up",
		    (unsigned long long)s->asked, (unsigned long long)s->answered, s->srtt_us,
		    s->missed);
		return true;
	}
	for (i -= d->n_servers; i < DNS64_ASKS; i++) {
		const struct dns64_ask *a = &d->ask[i];
		*cursor = d->n_servers + i + 1;
		if (a->n_tries == 0)
			continue;
		fmt(buf, size, "asking %s type=%u class=%u tries=%u ms=%u",
		    dns_name_text(name, sizeof name, a->sent), a->q.type, a->q.class, a->n_tries,
		    (dns64_now(gw) - a->begun_us) / 1000);
		return true;
	}
	return false;
}

bool dns64_show(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size)
{
	return what == SHOW_SESSIONS && show_sessions(gw, dns64_of(gw), cursor, buf, size);
}
