/* The gateway without a machine: it reads command lines from standard input and writes
 * answer lines to standard output. `gwsim [SEED]`.
 *
 *   reset SEED                 a new gateway: nothing configured, time 0
 *   option NAME VALUE          before start: packets, memory, now (seconds), slow-path (on: see
 *                              rig_slow_path), rests (on: see rig_advance)
 *   config LINE                one line of gateway.conf
 *   start APP                  the carriers come up, announcements go out
 *   rx INTERFACE HEX           a frame comes in; INTERFACE is lan or wan
 *   bulk INTERFACE START,OFFSET,SEGMENT,FLAGS[,PIECE...] HEX   a partial packet comes in
 *   bulks N INTERFACE ... HEX  N of them come in, in one burst
 *   offloads INTERFACE N       what the card does with partial packets: INTERFACE_SUM …
 *   time SECONDS.FRACTION      time passes
 *   leap SECONDS.FRACTION N    time passes with only N ticks
 *   busy MILLISECONDS          time passes as under load: MAIN runs once a millisecond
 *   link INTERFACE up|down     the carrier
 *   card INTERFACE run|stall   whether the card takes frames to send
 *   stats sessions timings neighbours routes interfaces addresses leases drops drops-raw log print
 *   ping ADDRESS, traceroute ADDRESS   a run begins
 *   probe                      its lines up to where it waits
 *   stop                       the machine is about to stop
 *   prefix INTERFACE set|deprecate NET/LEN   of the router advertisements
 *   release renew              the lease of the WAN
 *   change WORDS               an address or a route, as the console commands `address` and `route`
 *   apply LINE;LINE...         the keys that count at once get the values of this configuration
 *   capture [WORDS]            the packets that are kept, as the console command
 *   turns                      how often there were ticks
 *   slow                       the number of frames that the fast path did not take
 *   check                      error if the tables of the NAT are inconsistent
 *   batch N                    N command lines follow; all are read before the first runs
 *
 * Every answer ends with a line `.`. It contains the frames that left since the last
 * answer, as `tx INTERFACE HEX MICROSECONDS` (partial packets as `bulk INTERFACE
 * START,OFFSET,SEGMENT,FLAGS HEX`), and `error TEXT` for a command that failed. */
#include "tests/host/rig.h"

#include "apps/apps.h"
#include "apps/nat/nat.h"
#include "apps/tunnel/tun_keys.h"
#include "kernel/apply.h"
#include "kernel/lib/log.h"
#include "kernel/settings.h"
#include "net/autoconf/autoconf.h"
#include "net/capture/capture.h"
#include "net/dhcp/dhcp_client.h"
#include "net/dhcp6/dhcp6_client.h"
#include "net/sntp/sntp.h"
#include "net/export/export.h"
#include "net/dhcps/dhcps.h"
#include "net/offload/offload.h"
#include "net/probe/probe.h"
#include "net/ra/ra.h"
#include "net/setup/gw_change.h"
#include "tests/host/nat_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES (2 * PKT_TOTAL_MAX + 4096)
#define BATCH_MAX      100000u

static struct rig rig;
static uint32_t option_packets;
static size_t option_memory;
static uint64_t option_now_us;
static bool option_slow_path;
static uint64_t n_slow; /* frames that took the slow path because the fast one did not take them */

void __real_gw_frame(struct gw *gw, struct pkt *p);
void __wrap_gw_frame(struct gw *gw, struct pkt *p);

/* The linker puts this in the place of gw_frame (--wrap). */
void __wrap_gw_frame(struct gw *gw, struct pkt *p)
{
	n_slow++;
	__real_gw_frame(gw, p);
}
static uint32_t seed_now;

static const char *hex_of(const uint8_t *frame, uint32_t len)
{
	static const char digits[] = "0123456789abcdef";
	static char hex[2 * (PKT_TOTAL_MAX + PKT_HEADROOM) + 1];
	for (uint32_t i = 0; i < len; i++) {
		hex[2 * i] = digits[frame[i] >> 4];
		hex[2 * i + 1] = digits[frame[i] & 15];
	}
	hex[2 * len] = 0;
	return hex;
}

static void print_frame(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	printf("tx %s %s %llu\n", net_interface_name[iface], hex_of(frame, len),
	       (unsigned long long)r->gw.clock.us);
}

static void print_partial(struct rig *r, uint32_t iface, const uint8_t *frame, const struct pkt *p)
{
	(void)r;
	printf("bulk %s %u,%u,%u,%u %s\n", net_interface_name[iface], p->l4, p->l4_len, p->segment,
	       p->flags & (PKT_TSO6 | PKT_ECN | PKT_USO), hex_of(frame, p->total));
}

static void error(const char *what)
{
	printf("error %s\n", what);
}

static void reset(uint32_t seed)
{
	seed_now = seed;
	option_packets = 512;
	rig.in_rings = 0;
	rig.large = rig.rests = false;
	option_memory = 30u << 20;
	option_now_us = 0;
	option_slow_path = false;
	rig.sink = print_frame;
	rig.partial_sink = print_partial;
	rig_reset(&rig, seed, option_memory, 0);
}

/* Gives the word at *text and ends it with a NUL. *text moves behind it. */
static char *word(char **text)
{
	char *at = *text + strspn(*text, " ");
	char *end = at + strcspn(at, " ");
	*text = *end ? end + 1 : end;
	*end = 0;
	return at;
}

/* Converts seconds with up to six decimals to microseconds. False for any other text. */
static bool seconds(const char *text, uint64_t *us)
{
	char *end;
	uint64_t scale = 1000000;
	*us = strtoull(text, &end, 10) * scale;
	if (end == text)
		return false;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9' && scale > 1; end++)
			*us += (uint64_t)(*end - '0') * (scale /= 10);
	return *end == 0;
}

static bool iface_of(const char *name, uint32_t *iface)
{
	for (*iface = 0; *iface < INTERFACES; ++*iface)
		if (strcmp(name, net_interface_name[*iface]) == 0)
			return true;
	error("no such interface");
	return false;
}

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads hexadecimal digits into frame. Gives the number of bytes; false in *good for other text. */
static uint32_t read_hex(const char *hex, uint8_t *frame, uint32_t size, bool *good)
{
	uint32_t n = 0;
	for (; n < size && hex[0] && hex[1]; hex += 2) {
		int high = nibble(hex[0]), low = nibble(hex[1]);
		if (high < 0 || low < 0)
			break;
		frame[n++] = (uint8_t)(high << 4 | low);
	}
	*good = *hex == 0;
	return n;
}

static void do_rx(char *rest)
{
	uint32_t iface;
	uint8_t frame[PKT_ROOM + 1];
	bool good;
	if (!iface_of(word(&rest), &iface))
		return;
	uint32_t n = read_hex(word(&rest), frame, sizeof frame, &good);
	if (!good)
		error("not a frame in hexadecimal digits");
	else if (!rig_input(&rig, iface, frame, n))
		error("no free packet");
}

static void do_bulk(char *rest, uint32_t at_once)
{
	static uint8_t frame[PKT_TOTAL_MAX];
	struct rig_partial how = {.at_once = at_once};
	uint16_t *fields[] = {&how.start, &how.offset, &how.segment, &how.flags};
	uint32_t iface, k = 0;
	bool good;
	if (!iface_of(word(&rest), &iface))
		return;
	for (char *end, *at = word(&rest); *at; at = *end ? end + 1 : end, k++) {
		uint16_t value = (uint16_t)strtoul(at, &end, 10);
		if (end == at || k == ARRAY_SIZE(fields) + PKT_PIECES)
			break;
		if (k < ARRAY_SIZE(fields))
			*fields[k] = value;
		else
			how.piece[how.n_pieces++] = value;
	}
	uint32_t n = read_hex(word(&rest), frame, sizeof frame, &good);
	if (!good || k < ARRAY_SIZE(fields))
		error("not a partial packet");
	else if (!rig_input_partial(&rig, iface, &how, frame, n))
		error("no free packet");
}

static void do_offloads(char *rest)
{
	uint32_t iface;
	if (iface_of(word(&rest), &iface))
		offload_changed(&rig.gw, &rig.gw.iface[iface],
		                (uint32_t)strtoul(word(&rest), NULL, 10));
}

static void do_option(char *rest)
{
	const char *name = word(&rest), *value = word(&rest);
	uint64_t us;
	if (strcmp(name, "packets") == 0)
		option_packets = (uint32_t)strtoul(value, NULL, 10);
	else if (strcmp(name, "ring") == 0)
		rig.in_rings = (uint32_t)strtoul(value, NULL, 10);
	else if (strcmp(name, "large") == 0)
		rig.large = strcmp(value, "on") == 0;
	else if (strcmp(name, "rests") == 0)
		rig.rests = strcmp(value, "on") == 0;
	else if (strcmp(name, "memory") == 0)
		option_memory = strtoul(value, NULL, 10);
	else if (strcmp(name, "slow-path") == 0)
		option_slow_path = strcmp(value, "on") == 0;
	else if (strcmp(name, "now") == 0 && seconds(value, &us))
		option_now_us = us;
	else
		error("no such option");
	/* Options come before `config`, because rig_reset deletes the configuration. */
	rig_reset(&rig, seed_now, option_memory, option_now_us);
}

static void do_config(char *rest)
{
	/* Lines are parsed one at a time so that every error has its text. */
	uint32_t before = rig.config.n_errors;
	if (!rig_config(&rig, rest, strlen(rest)) && rig.config.n_errors > before)
		error(rig.config.error[min_u32(rig.config.n_errors, CONFIG_ERRORS) - 1].what);
}

static void do_apply(char *rest)
{
	static struct config to;
	static const char *names[16];
	for (uint32_t i = 0; i < n_apps; i++)
		names[i] = apps[i].name;
	for (char *at = rest; *at; at++)
		*at = (char)(*at == ';' ? '\n' : *at);
	settings_init(&to, names, n_apps);
	config_text(&to, "gateway.conf", rest, strlen(rest));
	config_check(&to);
	const char *wrong = to.n_errors ? to.error[0].what : apply(&rig.gw, &rig.config, &to);
	if (wrong)
		error(wrong);
	rig_flush(&rig);
}

static void do_link(char *rest)
{
	uint32_t iface;
	if (iface_of(word(&rest), &iface))
		rig_link(&rig, iface, strcmp(word(&rest), "up") == 0);
}

static void do_leap(char *rest)
{
	uint64_t us;
	bool is_time = seconds(word(&rest), &us);
	uint32_t n = (uint32_t)strtoul(word(&rest), NULL, 10);
	if (is_time && n > 0)
		rig_leap(&rig, us, n);
	else
		error("not a time and a number of ticks");
}

static void do_card(char *rest)
{
	uint32_t iface;
	if (iface_of(word(&rest), &iface))
		rig.stalled[iface] = strcmp(word(&rest), "stall") == 0;
	rig_flush(&rig);
}

/* --- listings ------------------------------------------------------------------ */

typedef bool (*lister)(struct gw *gw, uint32_t *cursor, char *buf, size_t size);

static bool list_config(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	return config_line(gw->config, cursor, buf, size);
}

static bool list_log(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	static uint64_t at;
	(void)gw;
	if ((*cursor)++ == 0)
		at = 0;
	return log_next(&at, buf, size);
}

static bool list_interfaces(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	if (*cursor >= gw->n_iface)
		return false;
	const struct interface *iface = &gw->iface[(*cursor)++];
	size_t n = (size_t)snprintf(buf, size, "%s ", iface->name);
	gw_show_addresses(iface, buf + n, size - n);
	return true;
}

static bool do_list(const char *command)
{
	static const struct {
		const char *name;
		lister list;
	} table[] = {
	        {"stats", gw_show_stats},
	        {"sessions", gw_show_sessions},
	        {"timings", gw_show_timings},
	        {"neighbours", gw_show_neighbours},
	        {"routes", gw_show_routes},
	        {"interfaces", list_interfaces},
	        {"addresses", autoconf_show},
	        {"drops", gw_show_drops},
	        {"print", list_config},
	        {"log", list_log},
	        {"drops-raw", gw_show_drops_raw},
	        {"leases", dhcp6_show_leases},
	        {"clock", sntp_show},
	        {"receivers", export_show},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		if (strcmp(command, table[i].name) != 0)
			continue;
		char buf[512];
		uint32_t cursor = 0;
		while (table[i].list(&rig.gw, &cursor, buf, sizeof buf))
			if (buf[0])
				puts(buf);
		return true;
	}
	return false;
}

/* Does what an application does when its IPv4 address changes. */
static void do_prefix(char *rest)
{
	uint32_t iface;
	if (!iface_of(word(&rest), &iface))
		return;
	const char *how = word(&rest), *text = word(&rest);
	struct prefix p;
	if (!addr_prefix(text, strlen(text), &p) || !p.addr.is6)
		error("not an IPv6 prefix");
	else if (strcmp(how, "set") == 0 && !ra_set_prefix(&rig.gw, iface, &p.addr.v6, p.len, 0xc0,
	                                                   RA_VALID_S, RA_PREFERRED_S))
		error("too many prefixes");
	else if (strcmp(how, "deprecate") == 0)
		ra_deprecate(&rig.gw, iface, &p.addr.v6, p.len);
}

static void do_check(void)
{
	const char *app = settings_name(&rig.config)->app;
	probe_stop(&rig.gw); /* a run takes an identifier from the NAT */
	bool has_nat = strcmp(app, "nat") == 0 || strcmp(app, "nat64") == 0 ||
	               strcmp(app, "clat") == 0 ||
	               (strcmp(app, "6to4") == 0 && tun_config(&rig.config)->nat);
	const char *bad = has_nat ? nat_check(&nat_of(&rig.gw)->table, &rig.gw) : NULL;
	if (bad)
		error(bad);
}

static void do_probe_start(enum probe_kind kind, const char *text)
{
	struct addr to;
	const char *wrong = "not an address";
	if (addr_any(text, strlen(text), &to))
		wrong = probe_start(&rig.gw, kind, &to);
	if (wrong)
		error(wrong);
}

static void do_probe(void)
{
	char buf[256];
	while (probe_line(&rig.gw, buf, sizeof buf) == PROBE_LINE)
		if (buf[0])
			puts(buf);
	rig_flush(&rig);
}

/* --- commands ------------------------------------------------------------------- */

static void run(char *line)
{
	char *rest = line;
	const char *command = word(&rest);
	uint64_t us;
	if (strcmp(command, "reset") == 0) {
		reset((uint32_t)strtoul(word(&rest), NULL, 10));
	} else if (strcmp(command, "option") == 0) {
		do_option(rest);
	} else if (strcmp(command, "config") == 0) {
		do_config(rest);
	} else if (strcmp(command, "start") == 0) {
		const char *wrong = rig_start(&rig, word(&rest), option_packets);
		if (wrong)
			error(wrong);
		else if (option_slow_path)
			rig_slow_path(&rig);
	} else if (!rig.started) {
		error("not started, or no such command");
	} else if (strcmp(command, "rx") == 0) {
		do_rx(rest);
	} else if (strcmp(command, "bulk") == 0) {
		do_bulk(rest, 1);
	} else if (strcmp(command, "bulks") == 0) {
		uint32_t n = (uint32_t)strtoul(word(&rest), NULL, 10);
		do_bulk(rest, n);
	} else if (strcmp(command, "offloads") == 0) {
		do_offloads(rest);
	} else if (strcmp(command, "time") == 0) {
		if (seconds(word(&rest), &us))
			rig_advance(&rig, us);
		else
			error("not a time");
	} else if (strcmp(command, "leap") == 0) {
		do_leap(rest);
	} else if (strcmp(command, "busy") == 0) {
		rig_busy(&rig, (uint32_t)strtoul(word(&rest), NULL, 10));
	} else if (strcmp(command, "link") == 0) {
		do_link(rest);
	} else if (strcmp(command, "card") == 0) {
		do_card(rest);
	} else if (strcmp(command, "turns") == 0) {
		printf("%u\n", rig.n_turns);
	} else if (strcmp(command, "slow") == 0) {
		printf("%llu\n", (unsigned long long)n_slow);
	} else if (strcmp(command, "check") == 0) {
		do_check();
	} else if (strcmp(command, "ping") == 0) {
		do_probe_start(PROBE_PING, word(&rest));
	} else if (strcmp(command, "traceroute") == 0) {
		do_probe_start(PROBE_TRACE, word(&rest));
	} else if (strcmp(command, "probe") == 0) {
		do_probe();
	} else if (strcmp(command, "stop") == 0) {
		gw_stop(&rig.gw);
		rig_flush(&rig);
	} else if (strcmp(command, "prefix") == 0) {
		do_prefix(rest);
	} else if (strcmp(command, "release") == 0 || strcmp(command, "renew") == 0) {
		const char *wrong =
		        (command[2] == 'l' ? dhcp6_release_all : dhcp6_renew_all)(&rig.gw);
		if (wrong)
			error(wrong);
		rig_flush(&rig);
	} else if (strcmp(command, "change") == 0) {
		const char *wrong = gw_change_text(&rig.gw, rest);
		if (wrong)
			error(wrong);
		rig_flush(&rig);
	} else if (strcmp(command, "apply") == 0) {
		do_apply(rest);
	} else if (strcmp(command, "capture") == 0) {
		char buf[512];
		uint32_t i = 0;
		while (capture_show(&rig.gw, rest, &i, buf, sizeof buf))
			puts(buf);
	} else if (!do_list(command)) {
		error("no such command");
	}
	puts(".");
}

/* Gives one line without its line end, in memory that the caller frees; NULL at the end of
 * input. */
static char *read_line(void)
{
	static char buf[LINE_MAX_BYTES];
	if (!fgets(buf, sizeof buf, stdin))
		return NULL;
	buf[strcspn(buf, "\r\n")] = 0;
	return strdup(buf);
}

/* Reads n lines before it runs the first, so that the other side may write them all before
 * it reads an answer. */
static void batch(uint32_t n)
{
	char **lines = calloc(n ? n : 1, sizeof *lines);
	uint32_t got = 0;
	while (lines && got < n && (lines[got] = read_line()) != NULL)
		got++;
	for (uint32_t i = 0; i < got; i++) {
		run(lines[i]);
		free(lines[i]);
	}
	free(lines);
}

int main(int argc, char **argv)
{
	static char out[1 << 16];
	setvbuf(stdout, out, _IOFBF, sizeof out);
	reset(argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1);
	for (char *line; (line = read_line()) != NULL; free(line)) {
		if (strncmp(line, "batch ", 6) == 0)
			batch(min_u32((uint32_t)strtoul(line + 6, NULL, 10), BATCH_MAX));
		else
			run(line);
		fflush(stdout);
	}
	return 0;
}
