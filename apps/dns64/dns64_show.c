/* Listings of the DNS64 server for people. See dns64.h. */
#include "apps/dns64/dns64.h"

#include "kernel/lib/fmt.h"

static bool show_stats(const struct dns64 *d, uint32_t *cursor, char *buf, size_t size)
{
	const struct dns64_count *c = &d->count;
	const struct {
		const char *name;
		uint64_t value;
	} row[] = {
	        {"dns_queries", c->queries},
	        {"dns_answers", c->answers},
	        {"dns_synthesised", c->synthesised},
	        {"dns_not_global", c->not_global},
	        {"dns_cache_hits", c->hits},
	        {"dns_cache_stale", c->stale},
	        {"dns_cache_records", d->cache.n},
	        {"dns_cache_stored", d->cache.stored},
	        {"dns_cache_evicted", d->cache.evicted},
	        {"dns_prefetched", c->prefetched},
	        {"dns_upstream_asked", c->asked},
	        {"dns_upstream_answered", c->answered},
	        {"dns_upstream_timeouts", c->timeouts},
	        {"dns_upstream_joined", c->joined},
	        {"dns_upstream_forged", c->forged},
	        {"dns_upstream_case_changed", c->miscased},
	        {"dns_upstream_up", d->n_up},
	        {"dns_asking", d->n_asks},
	        {"dns_waiting", d->n_waiters},
	        {"dns_table_full", c->full},
	        {"dns_formerr", c->formerr},
	        {"dns_notimp", c->notimp},
	        {"dns_refused", c->refused},
	        {"dns_badvers", c->badvers},
	        {"dns_servfail", c->servfail},
	        {"dns_truncated", c->truncated},
	        {"dns_relayed", c->relayed},
	        {"dns_tcp_queries", c->streamed},
	        {"dns_tcp_held", c->held},
	        {"dns_upstream_tcp", c->fetched},
	        {"dns_upstream_tcp_mute", c->mute},
	};
	uint32_t i = (*cursor)++;
	if (i >= ARRAY_SIZE(row))
		return false;
	fmt(buf, size, "%s %llu", row[i].name, (unsigned long long)row[i].value);
	return true;
}

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
	for (i -= d->n_servers; i < DNS64_FETCHES; i++) {
		const struct dns64_fetch *a = &d->ask[i];
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
	const struct dns64 *d = gw->state;
	return what == SHOW_STATS
	               ? show_stats(d, cursor, buf, size)
	               : what == SHOW_SESSIONS && show_sessions(gw, d, cursor, buf, size);
}
