/* See views.h. */
#include "kernel/views.h"

#include "apps/services.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/rcv.h"
#include "kernel/settings.h"
#include "net/machine.h"
#include "net/stats/count.h"

enum { KEYS_A_PASS = 8 };

static struct gw *gw;
static void (*closed)(enum console_terminal t);
static struct view view[CONSOLE_TERMINALS];
static bool is_open[CONSOLE_TERMINALS];

/* --- rates ------------------------------------------------------------------------------- */

/* The counters of which the status shows rates: four of each interface, then two. */
enum { IN, IN_BYTES, OUT, OUT_BYTES, OF_INTERFACE };
enum { FORWARDED = INTERFACES * OF_INTERFACE, DROPPED, RATES };

static uint64_t seen[RATES], old[RATES]; /* values at `seen_us`, and those before */
static uint64_t seen_us, old_us;

static void count_now(uint64_t *now)
{
	for (uint32_t i = 0; i < gw->n_iface; i++, now += OF_INTERFACE) {
		const struct interface *f = &gw->iface[i];
		now[IN] = f->rx_packets;
		now[IN_BYTES] = f->rx_bytes;
		now[OUT] = f->tx_packets + f->sent;
		now[OUT_BYTES] = f->tx_bytes + f->sent_bytes;
	}
}

static uint64_t dropped(void)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < DROP_COUNT; i++)
		n += gw->counts.drops[i];
	return n;
}

static void measure(uint64_t now_us)
{
	memcpy(old, seen, sizeof old);
	old_us = seen_us;
	count_now(seen);
	seen[FORWARDED] = gw->counts.forwarded;
	seen[DROPPED] = dropped();
	seen_us = now_us;
}

/* Gives a counter's changes a second. Only a status that is shown pays for the division. */
static uint64_t rate(uint32_t i)
{
	return view_status_rate(old[i], seen[i], seen_us - old_us);
}

/* --- values ------------------------------------------------------------------------------- */

static void status_all(struct view_status_all *out)
{
	const struct settings_name *name = settings_name(gw->config);
	size_t n = fmt(out->function, sizeof out->function, "%s: %s", name->hostname, name->app);
	for (uint32_t i = 0; i < name->n_serve; i++)
		n += fmt(out->function + n, sizeof out->function - n, ", %s",
		         services[name->serve[i]].name);
	out->busy_permille = gw->machine->busy();
	out->uptime_s = gw->clock.us / 1000000;
	out->forwarded = rate(FORWARDED);
	out->dropped = rate(DROPPED);
	out->dropped_all = seen[DROPPED];
}

static bool status_interface(uint32_t i, struct view_status_interface *out)
{
	if (i >= gw->n_iface)
		return false;
	const struct interface *f = &gw->iface[i];
	const struct nic *nic = rcv_nic(i);
	uint32_t r = i * OF_INTERFACE;
	fmt(out->name, sizeof out->name, "%s", f->name);
	size_t n = fmt(out->card, sizeof out->card, "%s", nic ? nic->driver : "none");
	if (f->vlan)
		fmt(out->card + n, sizeof out->card - n, ".%u", f->vlan);
	if (!nic || !nic->carrier.up)
		fmt(out->link, sizeof out->link, "%s", nic ? "no carrier" : "");
	else if (!nic->carrier.mbit)
		fmt(out->link, sizeof out->link, "up");
	else
		fmt(out->link, sizeof out->link, "%uM %s", nic->carrier.mbit,
		    nic->carrier.full_duplex ? "full" : "half");
	gw_show_addresses(f, out->addresses, sizeof out->addresses);
	out->in = rate(r + IN);
	out->in_bits = rate(r + IN_BYTES) * 8;
	out->out = rate(r + OUT);
	out->out_bits = rate(r + OUT_BYTES) * 8;
	return true;
}

static bool status_table(uint32_t i, struct view_status_table *out)
{
	struct count_fill f;
	if (!gw_show_fill(gw, i, &f))
		return false;
	*out = (struct view_status_table){f.name, f.value, f.most};
	return true;
}

static bool session_line(uint64_t *cursor, char *buf, size_t size)
{
	uint32_t i = (uint32_t)*cursor;
	bool more = gw_show_sessions(gw, &i, buf, size);
	*cursor = i;
	return more;
}

static const struct view_source source = {
        .status = {status_all, status_interface, status_table},
        .sessions = {"sessions", "there are no sessions", session_line, NULL},
        .log = {"log", "the log is empty", log_next, log_before},
};

/* --- terminals ------------------------------------------------------------------------------ */

void views_init(struct gw *g, void (*on_close)(enum console_terminal t))
{
	gw = g;
	closed = on_close;
}

void views_open(enum console_terminal t, enum view_kind kind)
{
	view_open(&view[t], kind, t == CONSOLE_LOCAL ? GRID_ROWS : GRID_SERIAL);
	is_open[t] = true;
	console_show(t, &view[t].grid);
}

static void close_view(enum console_terminal t)
{
	is_open[t] = false;
	console_show(t, NULL);
	closed(t);
}

static bool run_keys(enum console_terminal t)
{
	bool any = false;
	for (uint32_t i = 0; i < KEYS_A_PASS && is_open[t]; i++) {
		int k = console_key_of(t);
		if (k == KEY_NONE)
			break;
		any = true;
		enum view_answer answer = view_key(&view[t], k);
		if (answer == VIEW_ENDS)
			close_view(t);
		else if (answer == VIEW_REDRAW)
			console_redraw(t);
	}
	return any;
}

bool views_run(uint64_t now_us)
{
	bool did = false;
	if (now_us - seen_us >= VIEW_EVERY_US)
		measure(now_us);
	for (enum console_terminal t = 0; t < CONSOLE_TERMINALS; t++) {
		did |= run_keys(t);
		if (!is_open[t] || !view_run(&view[t], &source, now_us))
			continue;
		did = true;
		if (!view[t].drawing)
			console_show(t, &view[t].grid);
	}
	return did;
}
