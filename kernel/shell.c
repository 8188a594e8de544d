/* See shell.h. A listing is a function that writes one line per call and keeps its position
 * in a cursor, so the longest table never delays forwarding. */
#include "kernel/shell.h"

#include "kernel/x86/clock.h"
#include "kernel/console/console.h"
#include "kernel/x86/cpu.h"
#include "kernel/x86/power.h"
#include "kernel/finish.h"
#include "kernel/lib/fmt.h"
#include "kernel/seam/io.h"
#include "kernel/lib/log.h"
#include "kernel/rcv.h"
#include "kernel/settings.h"

#define LINE_IN      128u
#define LINE_OUT     448u
#define LINES_A_PASS 8u
#define LAST_MS      20u /* time for the last frames before the machine stops */

/* Writes line `*cursor` of an answer into buf and moves the cursor on. An empty line is not
 * printed. False after the last line. */
typedef bool (*listing)(uint64_t *cursor, char *buf, size_t size);

struct command {
	const char *name;
	const char *about;
	listing list;      /* the answer, or NULL */
	void (*act)(void); /* called before the answer; or NULL */
	bool debug;        /* only with debug=on */
};

static struct gw *gw;
static uint32_t (*cpu_busy)(void);
static char input[LINE_IN];
static uint32_t n_input;
static bool skip_lf; /* the LF of a CR LF pair */
static listing running;
static uint64_t cursor;
static uint64_t log_seen; /* log lines printed so far */

/* --- answers -------------------------------------------------------------------- */

#define CPU_COUNTERS 2u

static bool list_stats(uint64_t *at, char *buf, size_t size)
{
	/* First the counters that the gateway does not know. */
	static const char *const name[] = {"rx_no_packet", "rx_missed",    "rx_errors",
	                                   "tx_errors",    "tx_link_down", "nic_resets"};
	uint32_t i = (uint32_t)*at;
	if (i < CPU_COUNTERS) {
		++*at;
		if (i == 0)
			fmt(buf, size, "cpu_busy_permille %u", cpu_busy());
		else
			fmt(buf, size, "cpu_nmis %u", cpu_nmis());
		return true;
	}
	i -= CPU_COUNTERS;
	if (i < gw->n_iface * ARRAY_SIZE(name)) {
		++*at;
		const struct nic *nic = rcv_nic(i % gw->n_iface);
		uint32_t which = i / gw->n_iface;
		const uint64_t none = 0;
		const uint64_t *value = &none;
		if (nic)
			value = (const uint64_t *[]){
			        &nic->count.rx_no_packet, &nic->count.rx_missed,
			        &nic->count.rx_errors,    &nic->count.tx_errors,
			        &nic->count.tx_link_down, &nic->count.resets}[which];
		fmt(buf, size, "%s{if=\"%s\"} %llu", name[which], gw->iface[i % gw->n_iface].name,
		    (unsigned long long)*value);
		return true;
	}
	uint32_t before = gw->n_iface * (uint32_t)ARRAY_SIZE(name);
	uint32_t rest = i - before;
	bool more = gw_show_stats(gw, &rest, buf, size);
	*at = rest + before + CPU_COUNTERS;
	return more;
}

static bool list_interfaces(uint64_t *at, char *buf, size_t size)
{
	uint32_t i = (uint32_t)(*at)++;
	if (i >= gw->n_iface)
		return false;
	const struct interface *iface = &gw->iface[i];
	const struct nic *nic = rcv_nic(i);
	char hw[FMT_MAC];
	if (!nic) {
		fmt(buf, size, "%s none", iface->name);
		return true;
	}
	size_t n = fmt(buf, size, "%s %s %s link=%s", iface->name, nic->driver,
	               fmt_mac(hw, &nic->address), nic->carrier.up ? "up" : "down");
	if (nic->carrier.up && nic->carrier.mbit)
		n += fmt(buf + n, size - n, " %uMbit/s-%s", nic->carrier.mbit,
		         nic->carrier.full_duplex ? "full" : "half");
	n += fmt(buf + n, size - n, " mtu=%u", iface->mtu);
	gw_show_addresses(iface, buf + n, size - n);
	return true;
}

static bool gw_listing(bool (*list)(struct gw *, uint32_t *, char *, size_t), uint64_t *at,
                       char *buf, size_t size)
{
	uint32_t i = (uint32_t)*at;
	bool more = list(gw, &i, buf, size);
	*at = i;
	return more;
}

static bool list_neighbours(uint64_t *at, char *buf, size_t size)
{
	return gw_listing(gw_show_neighbours, at, buf, size);
}

static bool list_routes(uint64_t *at, char *buf, size_t size)
{
	return gw_listing(gw_show_routes, at, buf, size);
}

static bool list_drops(uint64_t *at, char *buf, size_t size)
{
	return gw_listing(gw_show_drops, at, buf, size);
}

static bool list_sessions(uint64_t *at, char *buf, size_t size)
{
	return gw_listing(gw_show_sessions, at, buf, size);
}

static bool list_timings(uint64_t *at, char *buf, size_t size)
{
	return gw_listing(gw_show_timings, at, buf, size);
}

static bool list_config(uint64_t *at, char *buf, size_t size)
{
	uint32_t i = (uint32_t)*at;
	bool more = config_line(gw->config, &i, buf, size);
	*at = i;
	return more;
}

static bool list_random(uint64_t *at, char *buf, size_t size)
{
	if ((*at)++)
		return false;
	fmt(buf, size, "%08x%08x", rng_u32(gw->rng), rng_u32(gw->rng));
	return true;
}

/* --- actions --------------------------------------------------------------------- */

/* Lets the gateway send its last messages to the neighbours, gives the cards time to send
 * them, and stops the cards. */
static void leave(void)
{
	gw_stop(gw);
	for (unsigned i = 0; i < LAST_MS; i++) {
		rcv_flush();
		io_delay_us(1000);
	}
	rcv_stop();
}

static void act_reboot(void)
{
	console_print("restarting\n");
	console_flush();
	leave();
	power_restart();
}

static void act_poweroff(void)
{
	console_print("powering off\n");
	console_flush();
	leave();
	finish_off();
}

/* Never returns. For the watchdog's test. */
static void act_hang(void)
{
	for (;;)
		__asm__ volatile("");
}

static bool list_help(uint64_t *at, char *buf, size_t size);

static const struct command commands[] = {
        {"help", "the commands", list_help, NULL, false},
        {"stats", "every counter", list_stats, NULL, false},
        {"interfaces", "the interfaces: card, carrier, addresses", list_interfaces, NULL, false},
        {"neighbours", "the neighbour table", list_neighbours, NULL, false},
        {"sessions", "the session table", list_sessions, NULL, false},
        {"timings", "cycles of the inner operations", list_timings, NULL, false},
        {"routes", "the routes", list_routes, NULL, false},
        {"drops", "the last dropped frames", list_drops, NULL, false},
        {"config", "the configuration in force", list_config, NULL, false},
        {"log", "the log", log_next, NULL, false},
        {"reboot", "restarts the machine", NULL, act_reboot, false},
        {"poweroff", "powers the machine off", NULL, act_poweroff, false},
        {"random", "random bits (debug=on)", list_random, NULL, true},
        {"crash", "raises a CPU exception (debug=on)", NULL, cpu_crash, true},
        {"crash text", "writes to code (debug=on)", NULL, cpu_crash_text, true},
        {"crash data", "executes data (debug=on)", NULL, cpu_crash_data, true},
        {"crash stack", "fills the stack (debug=on)", NULL, cpu_crash_stack, true},
        {"hang", "makes no progress (debug=on)", NULL, act_hang, true},
};

static bool list_help(uint64_t *at, char *buf, size_t size)
{
	for (; *at < ARRAY_SIZE(commands); ++*at) {
		const struct command *c = &commands[*at];
		if (c->debug && !settings_run(gw->config)->debug)
			continue;
		++*at;
		fmt(buf, size, "%-12s%s", c->name, c->about);
		return true;
	}
	return false;
}

/* --- input ------------------------------------------------------------------------ */

static void prompt(void)
{
	console_write("> ", 2);
}

static void run_line(void)
{
	input[n_input] = 0;
	char *word = input;
	while (*word == ' ')
		word++;
	size_t len = strlen(word);
	while (len && word[len - 1] == ' ')
		word[--len] = 0;
	n_input = 0;
	if (!len) {
		prompt();
		return;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];
		if (strcmp(c->name, word) != 0 || (c->debug && !settings_run(gw->config)->debug))
			continue;
		if (c->act)
			c->act();
		running = c->list;
		cursor = 0;
		return;
	}
	console_print("unknown command: %s (help lists them)\n\n", word);
	prompt();
}

static void key(int k)
{
	bool lf = skip_lf;
	skip_lf = k == '\r';
	if (k == '\n' && lf)
		return;
	if (k == '\r' || k == '\n') {
		console_write("\n", 1);
		run_line();
	} else if (k == 8 || k == 127) {
		if (n_input) {
			n_input--;
			console_write("\b \b", 3);
		}
	} else if (k == 21) { /* Ctrl-U: erase the line */
		for (; n_input; n_input--)
			console_write("\b \b", 3);
	} else if (k >= ' ' && k < 127 && n_input < LINE_IN - 1) {
		input[n_input++] = (char)k;
		console_print("%c", k);
	}
}

/* Prints some more lines of the running answer. */
static void print_more(void)
{
	char buf[LINE_OUT];
	for (unsigned i = 0; i < LINES_A_PASS && console_room() > 2 * LINE_OUT; i++) {
		buf[0] = 0;
		if (!running(&cursor, buf, sizeof buf)) {
			running = NULL;
			console_write("\n", 1);
			prompt();
			return;
		}
		if (buf[0])
			console_print("%s\n", buf);
	}
}

/* Erases the prompt and the typed text, without escape sequences. */
static void wipe_line(void)
{
	console_write("\r", 1);
	for (uint32_t i = 0; i < n_input + 2; i++)
		console_write(" ", 1);
	console_write("\r", 1);
}

/* Prints new log lines between answers. Before them, the line that the user is typing is
 * erased; after them, it is printed again. */
static bool print_log(void)
{
	char buf[LOG_LINE];
	bool any = false;
	while (console_room() > LINE_OUT && log_next(&log_seen, buf, sizeof buf)) {
		if (!any)
			wipe_line();
		any = true;
		console_print("%s\n", buf);
	}
	if (any) {
		prompt();
		console_write(input, n_input);
	}
	return any;
}

void shell_init(struct gw *g, uint32_t (*busy)(void))
{
	gw = g;
	cpu_busy = busy;
	char skip[LOG_LINE];
	while (log_next(&log_seen, skip, sizeof skip))
		; /* the console showed these lines during the start */
	prompt();
}

bool shell_run(void)
{
	if (running) {
		if (console_room() <= 2 * LINE_OUT)
			return false; /* the interrupt for output runs this again */
		print_more();
		return true;
	}
	bool did = print_log();
	for (int k; !running && (k = console_key()) != KEY_NONE; did = true)
		key(k);
	return did;
}
