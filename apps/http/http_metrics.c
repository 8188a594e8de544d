/* See http_metrics.h. The lines are those of `stats`. A metric stands in one group behind its HELP
 * and TYPE, so the counters of interfaces, which `stats` lists by interface, come by name here. */
#include "apps/http/http_metrics.h"

#include "kernel/config/config.h"
#include "net/machine.h"
#include "net/stats/count.h"
#include "net/stats/count_about.h"

enum { BUILD, MACHINE, COUNTERS, SIZES, END };
enum {
	LINE = 160,
	LINES = 4,        /* in a piece */
	OF_INTERFACE = 4, /* counters of an interface, with which gw_show_stats begins */
	LINE_COST = 2,
};

/* Writes HELP and TYPE where another metric begins than that of job->name, and keeps in job->n
 * whether it is a gauge: a metric may have a line for each drop reason. Gives whether it is a
 * counter. */
static bool begin_metric(struct http_job *job, struct http_out *o, const char *name, size_t len)
{
	if (strncmp(job->name, name, len) == 0 && !job->name[len])
		return !job->n;
	uint32_t before = job->hint;
	const struct count_about *about = count_about(name, len, &job->hint);
	bool gauge = about && about->gauge;
	if (!about)
		job->hint = before;
	job->n = gauge;
	fmt(job->name, sizeof job->name, "%.*s", (int)len, name);
	const char *suffix = gauge ? "" : "_total";
	http_print(o, "# HELP baregate_%s%s %s.\n# TYPE baregate_%s%s %s\n", job->name, suffix,
	           about ? about->text : job->name, job->name, suffix, gauge ? "gauge" : "counter");
	return !gauge;
}

/* Writes a line of `stats`. */
static void metric(struct http_job *job, struct http_out *o, const char *line)
{
	size_t len = 0;
	while (line[len] && line[len] != '{' && line[len] != ' ')
		len++;
	bool total = begin_metric(job, o, line, len);
	http_print(o, "baregate_%s%s%s\n", job->name, total ? "_total" : "", line + len);
	o->cost += LINE_COST;
}

static void build(const struct gw *gw, struct http_out *o)
{
	char app[64] = "", host[64] = "";
	const struct config_entry *e = config_entry(gw->config, "app");
	const struct config_entry *h = config_entry(gw->config, "hostname");
	if (e && !config_value(gw->config, e, 0, app, sizeof app))
		app[0] = '\0';
	if (h && !config_value(gw->config, h, 0, host, sizeof host))
		host[0] = '\0';
	http_print(o,
	           "# HELP baregate_build_info What runs.\n# TYPE baregate_build_info gauge\n"
	           "baregate_build_info{app=\"%s\",hostname=\"%s\"} 1\n",
	           app, host);
	o->cost += LINE_COST;
}

static bool counter_line(struct gw *gw, uint32_t i, char *buf, size_t size)
{
	uint32_t by_interface = gw->n_iface * OF_INTERFACE;
	if (i < by_interface)
		i = i % gw->n_iface * OF_INTERFACE + i / gw->n_iface;
	return gw_show_stats(gw, &i, buf, size);
}

/* How many places the tables have whose counters say how many are taken. */
static bool size_line(struct gw *gw, struct http_job *job, struct http_out *o)
{
	struct count_fill f;
	uint32_t i = (uint32_t)job->cursor++;
	if (!gw_show_fill(gw, i, &f))
		return false;
	if (i == 0)
		http_print(o, "# HELP baregate_table_size Places of a table, of which the metric "
		              "with its name says how many are taken.\n"
		              "# TYPE baregate_table_size gauge\n");
	http_print(o, "baregate_table_size{table=\"%s\"} %llu\n", f.name,
	           (unsigned long long)f.most);
	o->cost += LINE_COST;
	return true;
}

/* Writes the next line of a part; false behind its last. */
static bool next_line(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char line[LINE];
	uint32_t i = (uint32_t)job->cursor;
	switch (job->step) {
	case BUILD:
		build(gw, o);
		return false;
	case MACHINE:
		if (!gw->machine || !gw->machine->stat(&i, line, sizeof line))
			return false;
		break;
	case COUNTERS:
		if (!counter_line(gw, i, line, sizeof line))
			return false;
		break;
	default:
		return size_line(gw, job, o);
	}
	job->cursor++;
	metric(job, o, line);
	return true;
}

bool http_metrics(struct gw *gw, struct http_job *job, struct http_out *o)
{
	for (uint32_t i = 0; i < LINES && job->step < END; i++)
		if (!next_line(gw, job, o)) {
			job->step++;
			job->cursor = 0;
		}
	return job->step < END;
}
