/* See view_status.h. From the top: the function, load and uptime; two lines for each interface;
 * how full tables are, two in a line; packets; the last lines of the log. */
#include "kernel/ui/view_status.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

enum part { TITLE, HEADING, INTERFACES, PACKETS, TABLES, LOG_HEADING, LOG };
enum {
	LEAST_EVENTS = 2, /* lines of the log that always have room */
	TABLES_A_LINE = 2,
	TABLE_LINES = 4, /* at most */
	TABLE_WIDTH = 40,
	ADDRESSES = 10, /* column */
};

/* The rates of an interface: what stands above them, and the column behind them. */
static const struct {
	const char *name;
	uint32_t end;
} rate_column[] = {{"in packets/s", 45}, {"bits/s", 55}, {"out packets/s", 70}, {"bits/s", 79}};

char *view_status_number(char *buf, uint64_t n)
{
	static const char unit[] = "kMGTPE";
	uint64_t scale = 1;
	uint32_t u = 0;
	if (n < 10000) {
		fmt(buf, VIEW_NUMBER, "%u", (uint32_t)n);
		return buf;
	}
	for (scale = 1000; n / scale >= 1000; scale *= 1000)
		u++;
	uint32_t whole = (uint32_t)(n / scale);
	uint32_t part = (uint32_t)(n % scale / (scale / 1000)); /* thousandths */
	if (whole >= 100)
		fmt(buf, VIEW_NUMBER, "%u%c", whole, unit[u]);
	else if (whole >= 10)
		fmt(buf, VIEW_NUMBER, "%u.%u%c", whole, part / 100, unit[u]);
	else
		fmt(buf, VIEW_NUMBER, "%u.%02u%c", whole, part / 10, unit[u]);
	return buf;
}

uint64_t view_status_rate(uint64_t before, uint64_t after, uint64_t us)
{
	uint64_t change = after - before;
	if (us == 0)
		return 0;
	/* Counts that are so large need no rounding, and their product has no room. */
	if (change > UINT64_MAX / 1000000 - 1)
		return change / us * 1000000;
	return (change * 1000000 + us / 2) / us;
}

static void blank(struct grid *g, uint32_t row)
{
	grid_fill(g, row, 0, GRID_COLUMNS, GRID_NORMAL, ' ');
}

/* Writes text that ends in front of a column. */
static void put_end(struct grid *g, uint32_t row, uint32_t end, enum grid_style style,
                    const char *text)
{
	grid_put(g, row, end - (uint32_t)strlen(text), style, text);
}

static void draw_title(const struct view_status_source *source, struct grid *g)
{
	struct view_status_all a = {.function = ""};
	char right[48];
	source->all(&a);
	uint32_t s = (uint32_t)(a.uptime_s % 86400);
	fmt(right, sizeof right, "load %u.%u %%   up %u d %02u:%02u:%02u ", a.busy_permille / 10,
	    a.busy_permille % 10, (uint32_t)(a.uptime_s / 86400), s / 3600, s / 60 % 60, s % 60);
	grid_fill(g, 0, 0, GRID_COLUMNS, GRID_REVERSE, ' ');
	grid_put(g, 0, 1, GRID_REVERSE, a.function);
	put_end(g, 0, GRID_COLUMNS, GRID_REVERSE, right);
}

static void draw_heading(struct grid *g)
{
	blank(g, 1);
	grid_put(g, 1, 1, GRID_BOLD, "          card       link");
	for (uint32_t i = 0; i < ARRAY_SIZE(rate_column); i++)
		put_end(g, 1, rate_column[i].end, GRID_BOLD, rate_column[i].name);
}

/* Ends text that is longer than `size` - 1 characters with two dots. */
static void cut(char *text, size_t size)
{
	if (strlen(text) < size)
		return;
	text[size - 3] = text[size - 2] = '.';
	text[size - 1] = '\0';
}

static void draw_interface(const struct view_status_interface *f, struct grid *g, uint32_t row)
{
	const uint64_t rate[ARRAY_SIZE(rate_column)] = {f->in, f->in_bits, f->out, f->out_bits};
	char number[VIEW_NUMBER], addresses[sizeof f->addresses];
	blank(g, row);
	grid_print(g, row, 1, GRID_BOLD, "%-9s", f->name);
	grid_print(g, row, 11, GRID_NORMAL, "%-10.10s %.11s", f->card, f->link);
	for (uint32_t i = 0; i < ARRAY_SIZE(rate); i++)
		put_end(g, row, rate_column[i].end, GRID_NORMAL,
		        view_status_number(number, rate[i]));
	blank(g, row + 1);
	memcpy(addresses, f->addresses, sizeof addresses);
	cut(addresses, GRID_COLUMNS - ADDRESSES);
	grid_put(g, row + 1, ADDRESSES + 1, GRID_NORMAL, addresses[0] ? addresses : "no address");
}

static void draw_packets(const struct view_status_source *source, struct grid *g, uint32_t row)
{
	struct view_status_all a = {.function = ""};
	char forwarded[VIEW_NUMBER], dropped[VIEW_NUMBER], all[VIEW_NUMBER];
	source->all(&a);
	blank(g, row);
	grid_print(g, row, 1, GRID_NORMAL,
	           "forwarded %s packets/s, dropped %s packets/s (%s in all)",
	           view_status_number(forwarded, a.forwarded),
	           view_status_number(dropped, a.dropped), view_status_number(all, a.dropped_all));
}

static void draw_table(const struct view_status_table *t, struct grid *g, uint32_t row,
                       uint32_t column)
{
	char used[VIEW_NUMBER], most[VIEW_NUMBER];
	/* Tables have at most 32 bits of places. */
	uint32_t percent = t->most ? (uint32_t)(t->used * 100 / t->most) : 0;
	grid_print(g, row, column + 1, GRID_NORMAL, "%-18s %s of %s (%u %%)", t->name,
	           view_status_number(used, t->used), view_status_number(most, t->most), percent);
}

/* Draws a line of tables. False when there are none for it. */
static bool draw_tables(struct view_status *v, const struct view_status_source *source,
                        struct grid *g)
{
	struct view_status_table t;
	if (!source->table(v->i, &t))
		return false;
	blank(g, v->row);
	for (uint32_t k = 0; k < TABLES_A_LINE && source->table(v->i, &t); k++, v->i++)
		draw_table(&t, g, v->row, k * TABLE_WIDTH);
	v->row++;
	return true;
}

static void draw_log_heading(struct view_status *v, struct grid *g, uint32_t end)
{
	/* A blank line in front, if there is room for it. */
	if (end - v->row > LEAST_EVENTS + 3)
		blank(g, v->row++);
	blank(g, v->row);
	grid_put(g, v->row++, 1, GRID_BOLD, "last events");
	v->log = log_before(UINT64_MAX, end - v->row);
}

static void draw_event(struct view_status *v, struct grid *g)
{
	char line[LOG_LINE];
	blank(g, v->row);
	if (log_next(&v->log, line, sizeof line)) {
		cut(line, GRID_COLUMNS);
		grid_put(g, v->row, 1, GRID_NORMAL, line);
	}
	v->row++;
}

/* Goes on to another part. */
static void go_to(struct view_status *v, enum part part)
{
	v->part = (uint8_t)part;
	v->i = 0;
}

static void draw_interfaces(struct view_status *v, const struct view_status_source *source,
                            struct grid *g)
{
	struct view_status_interface f = {.name = ""};
	if (v->i == VIEW_INTERFACES || !source->interface(v->i, &f)) {
		go_to(v, PACKETS);
		return;
	}
	draw_interface(&f, g, v->row);
	v->row = (uint8_t)(v->row + 2);
	v->i++;
}

bool view_status_draw(struct view_status *v, const struct view_status_source *source,
                      struct grid *g, uint32_t rows)
{
	uint32_t end = rows - 1;
	switch ((enum part)v->part) {
	case TITLE:
		draw_title(source, g);
		go_to(v, HEADING);
		break;
	case HEADING:
		draw_heading(g);
		v->row = 2;
		go_to(v, INTERFACES);
		break;
	case INTERFACES:
		draw_interfaces(v, source, g);
		break;
	case PACKETS:
		draw_packets(source, g, v->row++);
		go_to(v, TABLES);
		v->tables = (uint8_t)min_u32(TABLE_LINES, end - v->row - 1 - LEAST_EVENTS);
		break;
	case TABLES:
		if (v->tables == 0 || !draw_tables(v, source, g))
			go_to(v, LOG_HEADING);
		else
			v->tables--;
		break;
	case LOG_HEADING:
		draw_log_heading(v, g, end);
		go_to(v, LOG);
		break;
	case LOG:
		draw_event(v, g);
		break;
	}
	if (v->part != LOG || v->row < end)
		return true;
	memset(v, 0, sizeof *v);
	return false;
}
