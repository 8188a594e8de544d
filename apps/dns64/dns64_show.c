/* Listings of DNS64 for people. See dns64.h. */
#include "apps/dns64/dns64.h"

#include "kernel/lib/fmt.h"

static bool show_stats(const struct dns64 *d, uint32_t *cursor, char *buf, size_t size)
{
	const struct dns64_clients *c = &d->clients;
	const struct dns64_policy *y = &d->policy;
	const struct dns64_servers *s = &d->servers;
	const struct {
		const char *name;
		uint64_t value;
	} row[] = {
	        {"dns_queries", c->queries},
	        {"dns_answers", c->answers},
	        {"dns_synthesised", y->synthesised},
	        {"dns_not_global", y->not_global},
	        {"dns_cache_hits", c->hits},
	        {"dns_cache_stale", y->stale},
	        {"dns_cache_records", d->cache.n},
	        {"dns_cache_stored", d->cache.stored},
	        {"dns_cache_evicted", d->cache.evicted},
	        {"dns_prefetched", d->pendings.prefetched},
	        {"dns_upstream_asked", s->asked},
	        {"dns_upstream_answered", s->answered},
	        {"dns_upstream_timeouts", s->timeouts},
	        {"dns_upstream_joined", d->fetches.joined},
	        {"dns_upstream_forged", s->forged},
	        {"dns_upstream_case_changed", d->fetches.miscased},
	        {"dns_upstream_up", s->n_up},
	        {"dns_asking", d->fetches.n},
	        {"dns_waiting", d->pendings.n},
	        {"dns_table_full", d->part.table_full},
	        {"dns_formerr", c->formerr},
	        {"dns_notimp", c->notimp},
	        {"dns_refused", c->refused},
	        {"dns_badvers", c->badvers},
	        {"dns_servfail", y->failed},
	        {"dns_truncated", y->truncated},
	        {"dns_relayed", d->passthroughs.begun},
	        {"dns_tcp_queries", d->streams.queries},
	        {"dns_tcp_held", d->pendings.count_held},
	        {"dns_upstream_tcp", d->conns.sent},
	        {"dns_upstream_tcp_mute", d->conns.mute},
	};
	uint32_t i = (*cursor)++;
	if (i >= ARRAY_SIZE(row))
		return false;
	fmt(buf, size, "%s %llu", row[i].name, (unsigned long long)row[i].value);
	return true;
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
		fmt(buf, size, "nameserver %s %s asked=%llu answered=%llu rtt-us=%u missed=%u",
		    addr_text(text, &s->addr), s->down ? "down" : "up",
		    (unsigned long long)s->asked, (unsigned long long)s->answered, s->srtt_us,
		    s->missed);
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

bool dns64_show(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size)
{
	const struct dns64 *d = gw->state;
	return what == SHOW_STATS
	               ? show_stats(d, cursor, buf, size)
	               : what == SHOW_SESSIONS && show_sessions(gw, d, cursor, buf, size);
}
