/* See http_json.h. */
#include "apps/http/http_json.h"

#include "apps/http/http_facts.h"
#include "apps/http/http_health.h"
#include "apps/http/http_state.h"
#include "kernel/lib/wall.h"
#include "net/machine.h"
#include "net/stats/count.h"

/* Writes a comma in front of each value of a list but the first. */
static void next(struct http_job *job, struct http_out *o)
{
	if (job->n++)
		http_put(o, ",\n", 2);
	o->cost++;
}

static bool key_value(struct gw *gw, struct http_out *o, const char *key)
{
	char text[HTTP_FACT];
	http_facts_value(gw, key, 0, text);
	http_out_json(o, text);
	return false;
}

static bool hostname(struct gw *gw, struct http_job *job, struct http_out *o)
{
	(void)job;
	return key_value(gw, o, "hostname");
}

static bool app(struct gw *gw, struct http_job *job, struct http_out *o)
{
	(void)job;
	return key_value(gw, o, "app");
}

static bool services(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char text[HTTP_FACT];
	if (!http_facts_value(gw, "serve", (uint32_t)job->cursor++, text))
		return false;
	next(job, o);
	http_out_json(o, text);
	return true;
}

static bool number(struct http_out *o, uint64_t value)
{
	http_print(o, "%llu", (unsigned long long)value);
	return false;
}

static bool uptime(struct gw *gw, struct http_job *job, struct http_out *o)
{
	(void)job;
	return number(o, gw->clock.us / 1000000);
}

static bool busy(struct gw *gw, struct http_job *job, struct http_out *o)
{
	(void)job;
	return number(o, gw->machine ? gw->machine->busy() : 0);
}

static bool ready(struct gw *gw, struct http_job *job, struct http_out *o)
{
	(void)job;
	http_print(o, "%s", http_health_missing(gw) ? "false" : "true");
	return false;
}

static bool reason(struct gw *gw, struct http_job *job, struct http_out *o)
{
	const char *why = http_health_missing(gw);
	(void)job;
	http_out_json(o, why ? why : "");
	return false;
}

static bool time_of_day(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char text[WALL_TEXT] = "";
	uint64_t now = wall_at(gw->clock.us);
	(void)job;
	http_out_json(o, now ? wall_text(text, now) : "");
	return false;
}

static bool forwarded(struct gw *gw, struct http_job *job, struct http_out *o)
{
	(void)job;
	return number(o, gw->counts.forwarded);
}

static bool dropped(struct gw *gw, struct http_job *job, struct http_out *o)
{
	(void)job;
	return number(o, http_facts_dropped(gw));
}

static void interface_counts(const struct gw *gw, struct http_out *o, uint32_t i)
{
	const struct http_rates *r = &http_of(gw)->rates;
	const struct interface *f = &gw->iface[i];
	http_print(o,
	           ",\"rx_packets\":%llu,\"rx_bytes\":%llu,\"tx_packets\":%llu,\"tx_bytes\":%llu",
	           (unsigned long long)f->rx_packets, (unsigned long long)f->rx_bytes,
	           (unsigned long long)(f->tx_packets + f->sent),
	           (unsigned long long)(f->tx_bytes + f->sent_bytes));
	http_print(o,
	           ",\"rx_packets_per_second\":%u,\"rx_bytes_per_second\":%u"
	           ",\"tx_packets_per_second\":%u,\"tx_bytes_per_second\":%u}",
	           r->packet_rate[i][HTTP_IN], http_rates_last(r, i, HTTP_IN),
	           r->packet_rate[i][HTTP_OUT], http_rates_last(r, i, HTTP_OUT));
}

static bool interfaces(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char text[GW_ADDRESS], hw[FMT_MAC];
	struct machine_card card = {.driver = ""};
	uint32_t i = (uint32_t)job->cursor++;
	if (i >= gw->n_iface)
		return false;
	const struct interface *f = &gw->iface[i];
	next(job, o);
	if (gw->machine)
		(void)gw->machine->card(i, &card);
	http_print(o,
	           "{\"name\":\"%s\",\"present\":%s,\"carrier\":%s,\"driver\":\"%s\",\"mbit\":%u,"
	           "\"mac\":\"%s\",\"vlan\":%u,\"mtu\":%u,\"addresses\":[",
	           f->name, f->present ? "true" : "false", f->carrier ? "true" : "false",
	           card.driver, card.mbit, fmt_mac(hw, &f->address), f->vlan, f->mtu);
	for (uint32_t k = 0; gw_show_address(f, k, text, sizeof text); k++) {
		http_print(o, k ? "," : "");
		http_out_json(o, text);
	}
	http_put(o, "]", 1);
	interface_counts(gw, o, i);
	o->cost += 4;
	return true;
}

static bool tables(struct gw *gw, struct http_job *job, struct http_out *o)
{
	struct count_fill f;
	if (!gw_show_fill(gw, (uint32_t)job->cursor++, &f))
		return false;
	next(job, o);
	http_print(o, "{\"name\":\"%s\",\"used\":%llu,\"size\":%llu}", f.name,
	           (unsigned long long)f.value, (unsigned long long)f.most);
	return true;
}

static bool talkers(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char text[FMT_IP6 + 4];
	struct http_talkers *t = &http_of(gw)->talkers;
	if (http_talkers_search(gw, t, job, o))
		return true;
	for (uint32_t i = 0; i < t->n; i++) {
		next(job, o);
		http_print(o, "{\"host\":");
		http_out_json(o, http_talkers_text(text, &t->shown[i]));
		http_print(o, ",\"sessions\":%u}", t->shown[i].sessions);
	}
	return false;
}

static bool dns(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char name[HTTP_FACT];
	uint64_t value;
	if (!http_facts_dns(gw, &job->cursor, name, &value))
		return false;
	next(job, o);
	http_print(o, "\"%s\":%llu", name, (unsigned long long)value);
	return true;
}

static bool text_line(struct gw *gw, struct http_job *job, struct http_out *o,
                      bool (*line)(struct gw *, uint64_t *, char[HTTP_LINE]))
{
	char text[HTTP_LINE];
	if (!line(gw, &job->cursor, text))
		return false;
	o->cost += 2;
	if (text[0]) {
		next(job, o);
		http_out_json(o, text);
	}
	return true;
}

static bool leases(struct gw *gw, struct http_job *job, struct http_out *o)
{
	return text_line(gw, job, o, http_facts_lease);
}

static bool drops(struct gw *gw, struct http_job *job, struct http_out *o)
{
	return text_line(gw, job, o, http_facts_drop);
}

static bool log_lines(struct gw *gw, struct http_job *job, struct http_out *o)
{
	return text_line(gw, job, o, http_facts_log);
}

const struct http_slot http_json_slots[HTTP_JSON_SLOTS] = {
        {"hostname", hostname}, {"app", app},          {"services", services},
        {"uptime", uptime},     {"busy", busy},        {"ready", ready},
        {"reason", reason},     {"time", time_of_day}, {"forwarded", forwarded},
        {"dropped", dropped},   {"tables", tables},    {"interfaces", interfaces},
        {"leases", leases},     {"dns", dns},          {"drops", drops},
        {"log", log_lines},     {"talkers", talkers},
};
