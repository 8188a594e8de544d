/* See shell.h. The table of commands, what they do beside listings (shell_list.h), and the line
 * that is typed. */
#include "kernel/shell.h"

#include "drivers/usb/usb.h"
#include "kernel/console/console.h"
#include "kernel/x86/cpu.h"
#include "kernel/x86/power.h"
#include "kernel/finish.h"
#include "kernel/seam/io.h"
#include "kernel/lib/log.h"
#include "kernel/rcv.h"
#include "kernel/settings.h"
#include "kernel/pager.h"
#include "kernel/shell_edit.h"
#include "kernel/shell_list.h"
#include "kernel/views.h"
#include "net/probe/probe.h"

#define LINE_IN      128u
#define LINE_OUT     448u
#define LINES_A_PASS 8u
#define LAST_MS      20u /* time for the last frames before the machine stops */

enum { CTRL_C = 3, CTRL_L = 12, CTRL_U = 21 };

struct command {
	const char *name;
	const char *takes; /* names the argument; NULL: there is none */
	const char *about;
	shell_listing list; /* the answer, or NULL */
	void (*act)(void);  /* called before the answer; or NULL */
	bool debug;         /* only with debug=on */
};

static struct gw *gw;
static char input[LINE_IN];
static uint32_t n_input;
static bool skip_lf; /* the LF of a CR LF pair */
static const struct command *running;
static struct shell_list list;
static char argument[LINE_IN];               /* of the running command */
static bool answered;                        /* it has printed a line */
static enum console_terminal typed_at;       /* where the line was ended */
static char answer[LINE_OUT];                /* a line of it */
static uint64_t log_seen[CONSOLE_TERMINALS]; /* log lines printed so far */
static struct pager pager;

static void prompt(void)
{
	console_write("> ", 2);
}

/* Ends the answer of the running command. */
static void end_answer(void)
{
	running = NULL;
	probe_stop(gw);
	console_write("\n", 1);
	prompt();
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
	usb_stop();
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

/* The view is shown in place of the prompt that follows this answer. */
static void act_top(void)
{
	end_answer();
	views_open(typed_at, VIEW_STATUS);
}

static enum shell_step list_help(struct shell_list *l, char *buf, size_t size);

/* Of two commands that a line begins with, the longer name counts. */
static const struct command commands[] = {
        {"help", "[WORD]", "the commands; those and the keys that begin so", list_help, NULL,
         false},
        {"stats", "[nonzero] [WORD]", "every counter; those that are not 0, or begin so",
         shell_list_stats, NULL, false},
        {"interfaces", NULL, "the interfaces: card, carrier, addresses", shell_list_interfaces,
         NULL, false},
        {"addresses", NULL, "our addresses, and what routers of the WAN advertise",
         shell_list_addresses, NULL, false},
        {"leases", NULL, "the leases of DHCP", shell_list_leases, NULL, false},
        {"time", NULL, "the time of day and who told it", shell_list_time, NULL, false},
        {"receivers", NULL, "servers of syslog and ipfix", shell_list_receivers, NULL, false},
        {"release", NULL, "gives the lease of the WAN back", shell_list_release, NULL, false},
        {"renew", NULL, "asks for more time of the lease of the WAN, or for a lease",
         shell_list_renew, NULL, false},
        {"neighbours", NULL, "the neighbour table", shell_list_neighbours, NULL, false},
        {"sessions", "[ADDRESS]", "the session table; of one address", shell_list_sessions, NULL,
         false},
        {"sessions count", NULL, "how many sessions there are", shell_list_sessions_count, NULL,
         false},
        {"timings", NULL, "cycles of the inner operations", shell_list_timings, NULL, false},
        {"routes", NULL, "the routes", shell_list_routes, NULL, false},
        {"drops", NULL, "the last dropped frames", shell_list_drops, NULL, false},
        {"drops raw", NULL, "their first bytes", shell_list_drops_raw, NULL, false},
        {"capture", "[all|drops|INTERFACE] [ADDRESS[:PORT]]",
         "the packets that are kept (http.capture); which are to be", shell_list_capture, NULL,
         false},
        {"config", NULL, "the configuration in force", shell_list_config, NULL, false},
        {"config changed", NULL, "what differs from the defaults", shell_list_config_changed, NULL,
         false},
        {"edit", "[KEY [VALUE]]", "the editor; a value; without one the default", shell_edit, NULL,
         false},
        {"apply", NULL, "tries the changes for 60 seconds", shell_edit_apply, NULL, false},
        {"keep", NULL, "makes them last", shell_edit_keep, NULL, false},
        {"save", NULL, "writes the configuration to the boot medium", shell_edit_save, NULL, false},
        {"ping", "ADDRESS", "five echo requests", shell_list_ping, NULL, false},
        {"traceroute", "ADDRESS", "the routers on the way to a host", shell_list_traceroute, NULL,
         false},
        {"usb", NULL, "USB controllers, and the devices behind them", shell_list_usb, NULL, false},
        {"hw", NULL, "the machine, PCI and cards, to send when something does not work",
         shell_list_hw, NULL, false},
        {"log", NULL, "the log", shell_list_log, NULL, false},
        {"top", NULL, "the status, once a second; q ends it", NULL, act_top, false},
        {"reboot", NULL, "restarts the machine", NULL, act_reboot, false},
        {"poweroff", NULL, "powers the machine off", NULL, act_poweroff, false},
        {"address", "add|del INTERFACE ADDRESS/LENGTH", "changes an address (debug=on)",
         shell_list_address, NULL, true},
        {"route", "add|del PREFIX via ADDRESS", "changes a route (debug=on)", shell_list_route,
         NULL, true},
        {"stick", "FILE LENGTH SEED", "saves a text on the boot medium (debug=on)",
         shell_list_stick, NULL, true},
        {"random", NULL, "random bits (debug=on)", shell_list_random, NULL, true},
        {"crash", NULL, "raises a CPU exception (debug=on)", NULL, cpu_crash, true},
        {"crash text", NULL, "writes to code (debug=on)", NULL, cpu_crash_text, true},
        {"crash data", NULL, "executes data (debug=on)", NULL, cpu_crash_data, true},
        {"crash stack", NULL, "fills the stack (debug=on)", NULL, cpu_crash_stack, true},
        {"hang", NULL, "makes no progress (debug=on)", NULL, act_hang, true},
};

static bool is_open(const struct command *c)
{
	return !c->debug || settings_run(gw->config)->debug;
}

/* `help`: the commands. With an argument the commands and then the keys that begin with it; the
 * cursor's upper half is not 0 once the keys are written. */
static enum shell_step list_help(struct shell_list *l, char *buf, size_t size)
{
	size_t len = strlen(l->argument);
	if (l->cursor >> 32)
		return shell_list_help(l, buf, size);
	for (; l->cursor < ARRAY_SIZE(commands); ++l->cursor) {
		const struct command *c = &commands[l->cursor];
		if (!is_open(c) || strncmp(c->name, l->argument, len) != 0)
			continue;
		++l->cursor;
		size_t n = fmt(buf, size, "%s%s%s", c->name, c->takes ? " " : "",
		               c->takes ? c->takes : "");
		fmt(buf + n, size - n, "%*s%s", n < 24 ? (int)(24 - n) : 1, "", c->about);
		return SHELL_LINE;
	}
	if (len) {
		l->cursor = 1ull << 32;
		return shell_list_help(l, buf, size);
	}
	if (l->cursor++ != ARRAY_SIZE(commands))
		return SHELL_END;
	fmt(buf, size,
	    "Ctrl-C or q ends a long answer. \"help KEY\" explains a key of the configuration.");
	return SHELL_LINE;
}

/* --- input ------------------------------------------------------------------------ */

/* The command that a line begins with, NULL when there is none. *rest is set to its argument,
 * without the spaces in front. */
static const struct command *find(const char *line, const char **rest)
{
	const struct command *best = NULL;
	for (unsigned i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];
		size_t len = strlen(c->name);
		if (!is_open(c) || strlen(line) < len || memcmp(line, c->name, len) != 0 ||
		    (line[len] && (line[len] != ' ' || !c->takes)) ||
		    (best && strlen(best->name) > len))
			continue;
		best = c;
		*rest = line + len;
	}
	while (best && **rest == ' ')
		++*rest;
	return best;
}

static void run_line(void)
{
	input[n_input] = 0;
	const char *word = input, *rest;
	while (*word == ' ')
		word++;
	while (n_input && input[n_input - 1] == ' ')
		input[--n_input] = 0;
	n_input = 0;
	if (!*word) {
		prompt();
		return;
	}
	const struct command *c = find(word, &rest);
	if (!c) {
		console_print("unknown command: %s (help lists them)\n\n", word);
		prompt();
		return;
	}
	if (c->act)
		c->act();
	fmt(argument, sizeof argument, "%s", rest);
	memset(&list, 0, sizeof list);
	list.gw = gw;
	list.argument = argument;
	list.terminal = typed_at;
	answered = false;
	pager_begin(&pager, typed_at == CONSOLE_LOCAL);
	running = c->list ? c : NULL;
}

static void erase_input(void)
{
	for (; n_input; n_input--)
		console_write("\b \b", 3);
}

/* Clears a terminal and shows the prompt and the typed line there. */
static void redraw(enum console_terminal t)
{
	console_write_on(t, "\033[2J\033[H> ", 9);
	console_write_on(t, input, n_input);
}

static void key(enum console_terminal t, int k)
{
	bool lf = skip_lf;
	skip_lf = k == '\r';
	if (k == '\n' && lf)
		return;
	typed_at = t;
	if (view_of_key(k) != VIEW_CONSOLE) {
		views_open(t, view_of_key(k));
	} else if (k == CTRL_L) {
		redraw(t);
	} else if (k == '\r' || k == '\n') {
		console_write("\n", 1);
		run_line();
	} else if (k == 8 || k == 127) {
		if (n_input) {
			n_input--;
			console_write("\b \b", 3);
		}
	} else if (k == CTRL_U || k == CTRL_C) {
		erase_input();
	} else if (k >= ' ' && k < 127 && n_input < LINE_IN - 1) {
		input[n_input++] = (char)k;
		console_print("%c", k);
	}
}

/* --- output ----------------------------------------------------------------------- */

/* Prints the line, or shows that it waits for a key. */
static void print_line(void)
{
	if (!pager_line(&pager, strlen(answer)))
		console_write_on(CONSOLE_LOCAL, PAGER_ASKS, strlen(PAGER_ASKS));
	else
		console_print("%s\n", answer);
}

/* Prints some more lines of the running answer. False when it waits. */
static bool print_more(void)
{
	for (unsigned i = 0; i < LINES_A_PASS && console_room() > 2 * LINE_OUT; i++) {
		answer[0] = 0;
		enum shell_step step = running->list(&list, answer, sizeof answer);
		if (step == SHELL_WAIT)
			return i > 0;
		if (step == SHELL_END) {
			if (!answered && argument[0])
				console_print("%s: nothing for %s\n", running->name, argument);
			end_answer();
			return true;
		}
		answered |= answer[0] != 0;
		if (answer[0])
			print_line();
		if (pager.asks)
			break;
	}
	return true;
}

/* The full page waits for a key at the local terminal. What is typed on COM1 ends the paging, so
 * that nobody there waits for somebody at the screen. True when the answer goes on. */
static bool page_on(void)
{
	int k = console_shows_text(CONSOLE_LOCAL) ? console_key_of(CONSOLE_LOCAL) : KEY_NONE;
	if (view_of_key(k) != VIEW_CONSOLE)
		views_open(CONSOLE_LOCAL, view_of_key(k));
	if (console_shows_text(CONSOLE_SERIAL) && console_has_input(CONSOLE_SERIAL))
		pager_begin(&pager, false);
	else if (!pager_key(&pager, k, strlen(answer)))
		return false;
	console_write_on(CONSOLE_LOCAL, PAGER_WIPES, strlen(PAGER_WIPES));
	print_line();
	return true;
}

/* Erases the prompt and the typed text, without escape sequences. */
static void wipe_line(enum console_terminal t)
{
	console_write_on(t, "\r", 1);
	for (uint32_t i = 0; i < n_input + 2; i++)
		console_write_on(t, " ", 1);
	console_write_on(t, "\r", 1);
}

/* Prints new log lines on a terminal, between lines of an answer or between answers. Then, before
 * them, the line that the user is typing is erased; after them, it is printed again. */
static bool print_log(enum console_terminal t)
{
	char buf[LOG_LINE];
	bool any = false;
	while (console_room() > LINE_OUT && log_next(&log_seen[t], buf, sizeof buf)) {
		if (!any && !running)
			wipe_line(t);
		any = true;
		console_write_on(t, buf, strlen(buf));
		console_write_on(t, "\n", 1);
	}
	if (any && !running) {
		console_write_on(t, "> ", 2);
		console_write_on(t, input, n_input);
	}
	return any;
}

bool shell_say(const char *line)
{
	if (running || console_room() <= LINE_OUT)
		return false;
	for (enum console_terminal t = 0; t < CONSOLE_TERMINALS; t++) {
		if (t == CONSOLE_SERIAL)
			console_write_on(t, "\n", 1); /* scripts look at the begin of a line */
		else
			wipe_line(t);
		console_write_on(t, line, strlen(line));
		console_write_on(t, "\n> ", 3);
		console_write_on(t, input, n_input);
	}
	return true;
}

void shell_init(struct gw *g)
{
	gw = g;
	char skip[LOG_LINE];
	for (enum console_terminal t = 0; t < CONSOLE_TERMINALS; t++)
		while (log_next(&log_seen[t], skip, sizeof skip))
			; /* the console showed these lines during the start */
	console_print("help lists the commands; \"stats nonzero\" shows what has happened\n");
	prompt();
}

bool shell_run(void)
{
	if (running && console_stop()) {
		if (pager.asks)
			console_write_on(CONSOLE_LOCAL, PAGER_WIPES, strlen(PAGER_WIPES));
		console_print("stopped\n");
		end_answer();
		return true;
	}
	if (running) {
		if (pager.asks) { /* the log does not wait on COM1 */
			bool logged = print_log(CONSOLE_SERIAL);
			return page_on() || logged;
		}
		if (console_room() <= 2 * LINE_OUT)
			return false; /* the interrupt for output runs this again */
		return print_more();
	}
	bool did = print_log(CONSOLE_LOCAL);
	did |= print_log(CONSOLE_SERIAL);
	for (enum console_terminal t = 0; t < CONSOLE_TERMINALS; t++)
		for (int k;
		     !running && console_shows_text(t) && (k = console_key_of(t)) != KEY_NONE;
		     did = true)
			key(t, k);
	return did;
}

bool shell_answers(void)
{
	return running != NULL;
}

void shell_resume(enum console_terminal t)
{
	/* The screen kept its text. */
	if (t != CONSOLE_SERIAL || running)
		return;
	console_write_on(t, "\r> ", 3);
	console_write_on(t, input, n_input);
}
