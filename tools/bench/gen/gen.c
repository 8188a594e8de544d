/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command line and command loop of the load generator.
 *
 *     gen --lan LOCAL,REMOTE --wan LOCAL,REMOTE [--vhost|--stream|--packet] [--split]
 *         --mode nat|route|wire|6to4|xlat|nat64|dns --hops N
 *         --gateway-lan A --gateway-wan A --client A --server A [--hosts N]
 *
 * With --vhost, LOCAL is the path of a vhost-user socket that QEMU connects to (REMOTE unused);
 * the same with --stream, for a UNIX stream socket. With --packet LOCAL is an interface.
 * --split removes mergeable receive buffers from the offered features.
 *
 * Commands come on standard input, one a line; each is answered by one line of JSON:
 *
 *     meter FILE | vcpu PID TID     what to read before and after a phase
 *     resolve SECONDS               learn the gateway's MACs
 *     idle SECONDS                  send nothing, measure
 *     run KEY=VALUE...              one phase; the keys are those of parse_word()
 *     forget                        forget flows and learnt ports
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>

#include "hosts.h"

static void fail(const char *what)
{
	fprintf(stderr, "gen: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint32_t address(const char *text)
{
	struct in_addr a;

	if (inet_pton(AF_INET, text, &a) != 1) {
		errno = EINVAL;
		fail(text);
	}
	return ntohl(a.s_addr);
}

static enum mode mode_of(const char *text)
{
	if (strcmp(text, "nat") == 0)
		return MODE_NAT;
	if (strcmp(text, "6to4") == 0)
		return MODE_6TO4;
	if (strcmp(text, "xlat") == 0)
		return MODE_XLAT;
	if (strcmp(text, "nat64") == 0)
		return MODE_NAT64;
	if (strcmp(text, "dns") == 0)
		return MODE_DNS;
	return strcmp(text, "route") == 0 ? MODE_ROUTE : MODE_WIRE;
}

static void parse_word(struct phase *p, const char *key, const char *value)
{
	unsigned n = (unsigned)strtoul(value, NULL, 10);

	if (strcmp(key, "seconds") == 0)
		p->seconds = strtod(value, NULL);
	else if (strcmp(key, "warm") == 0)
		p->warm = strtod(value, NULL);
	else if (strcmp(key, "rate") == 0)
		p->rate = strtod(value, NULL);
	else if (strcmp(key, "window") == 0)
		p->window = n;
	else if (strcmp(key, "answers") == 0)
		p->answers = n != 0;
	else if (strcmp(key, "both") == 0)
		p->both = n != 0;
	else if (strcmp(key, "back") == 0)
		p->back = n != 0;
	else if (strcmp(key, "random") == 0)
		p->random = n != 0;
	else if (strcmp(key, "once") == 0)
		p->once = n != 0;
	else if (strcmp(key, "open") == 0)
		p->open = n != 0;
	else if (strcmp(key, "halt") == 0)
		p->halt = n != 0;
	else if (strcmp(key, "step") == 0)
		p->step = strtod(value, NULL);
	else if (strcmp(key, "then") == 0)
		p->then = strtod(value, NULL);
	else if (strcmp(key, "scatter") == 0)
		p->traffic.scatter = n != 0;
	else if (strcmp(key, "fresh") == 0)
		p->traffic.fresh = n != 0;
	else if (strcmp(key, "flows") == 0)
		p->traffic.flows = n;
	else if (strcmp(key, "first") == 0)
		p->traffic.first = n;
	else if (strcmp(key, "servers") == 0)
		p->traffic.servers = n;
	else if (strcmp(key, "size") == 0)
		p->traffic.size = n;
	else if (strcmp(key, "tcp") == 0)
		p->traffic.tcp = n;
	else
		fprintf(stderr, "gen: unknown key %s\n", key);
}

static bool sensible(const struct phase *p)
{
	const struct traffic *t = &p->traffic;
	/* The same packet is longer than in IPv4: by 40 bytes in a tunnel, by 20 in IPv6. */
	unsigned more = plan.mode == MODE_6TO4 ? 40 : is_translated() ? 20 : 0;
	unsigned room = FRAME_MAX - more;
	bool plain = plan.mode == MODE_NAT || plan.mode == MODE_ROUTE || plan.mode == MODE_WIRE;

	if (t->tcp > 0 && (!plain || t->tcp > 10 || t->size < TCP_FRAME_MIN))
		return false;
	return t->flows > 0 && t->servers > 0 && t->servers < 200 && t->size >= FRAME_MIN &&
	       t->size <= room && p->window > 0 && p->window <= QUEUE / 2 &&
	       !((p->both || p->back) && (p->answers || p->once)) && t->flows <= FLOWS_MAX &&
	       (p->then == 0 || (p->rate > 0 && p->then > 0)) && t->first <= FLOWS_MAX - t->flows &&
	       (plan.mode == MODE_DNS || (t->first + t->flows - 1) / t->servers < 64000);
}

static void command_run(char *words)
{
	struct phase p = {
	        .traffic = {.flows = 16, .servers = 1, .size = FRAME_MIN},
	        .seconds = 1,
	        .window = 64,
	};
	char *rest = words;

	for (char *word; (word = strsep(&rest, " ")) != NULL;) {
		char *value = strchr(word, '=');

		if (value == NULL)
			continue;
		*value++ = 0;
		parse_word(&p, word, value);
	}
	if (sensible(&p))
		engine_run(&p);
	else
		printf("{\"error\": \"phase out of range\"}\n");
}

static void command(char *line)
{
	char *rest = line;
	const char *word = strsep(&rest, " ");
	unsigned pid, tid;

	if (rest == NULL)
		rest = line + strlen(line);
	if (strcmp(word, "run") == 0) {
		command_run(rest);
	} else if (strcmp(word, "idle") == 0) {
		engine_idle(strtod(rest, NULL));
	} else if (strcmp(word, "resolve") == 0) {
		bool known = engine_resolve(strtod(rest, NULL));

		printf("{\"resolved\": %s}\n", known ? "true" : "false");
	} else if (strcmp(word, "meter") == 0) {
		printf("{\"meter\": %s}\n", meter_map(rest) == 0 ? "true" : "false");
	} else if (strcmp(word, "vcpu") == 0 && sscanf(rest, "%u %u", &pid, &tid) == 2) {
		meter_vcpu(pid, tid);
		printf("{}\n");
	} else if (strcmp(word, "forget") == 0) {
		hosts_forget();
		printf("{}\n");
	} else {
		printf("{\"error\": \"unknown command\"}\n");
	}
}

static char *socket_arg[SIDES];
static bool use_vhost, use_stream, use_packet, mergeable = true;

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
	        {"lan", required_argument, NULL, 'l'},
	        {"wan", required_argument, NULL, 'w'},
	        {"vhost", no_argument, NULL, 'v'},
	        {"stream", no_argument, NULL, 't'},
	        {"packet", no_argument, NULL, 'p'},
	        {"split", no_argument, NULL, 'x'},
	        {"mode", required_argument, NULL, 'm'},
	        {"hosts", required_argument, NULL, 'h'},
	        {"hops", required_argument, NULL, 'o'},
	        {"gateway-lan", required_argument, NULL, 'L'},
	        {"gateway-wan", required_argument, NULL, 'W'},
	        {"client", required_argument, NULL, 'c'},
	        {"server", required_argument, NULL, 's'},
	        {NULL, 0, NULL, 0},
	};

	plan.hosts = 16;
	for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (o) {
		case 'l':
			socket_arg[LAN] = optarg;
			break;
		case 'w':
			socket_arg[WAN] = optarg;
			break;
		case 'v':
			use_vhost = true;
			break;
		case 't':
			use_stream = true;
			break;
		case 'p':
			use_packet = true;
			break;
		case 'x':
			mergeable = false;
			break;
		case 'm':
			plan.mode = mode_of(optarg);
			break;
		case 'h':
			plan.hosts = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'o':
			plan.hops = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'L':
			plan.gateway[LAN] = address(optarg);
			break;
		case 'W':
			plan.gateway[WAN] = plan.external = address(optarg);
			break;
		case 'c':
			plan.first[LAN] = address(optarg);
			break;
		case 's':
			plan.first[WAN] = address(optarg);
			break;
		default:
			exit(2);
		}
	}
	if (socket_arg[LAN] == NULL || socket_arg[WAN] == NULL || plan.hosts == 0 ||
	    plan.hosts > 200) {
		fprintf(stderr, "gen: --lan, --wan and 1 to 200 --hosts are needed\n");
		exit(2);
	}
	plan.known[LAN] = plan.known[WAN] = plan.mode == MODE_WIRE;
}

static void open_endpoints(void)
{
	for (int side = LAN; side < SIDES; side++) {
		char *remote = strchr(socket_arg[side], ',');

		if (remote != NULL)
			*remote++ = 0;
		if (use_vhost)
			endpoints[side] = vhost_open(socket_arg[side], mergeable);
		else if (use_stream)
			endpoints[side] = stream_open(socket_arg[side]);
		else if (use_packet)
			endpoints[side] = packet_open(socket_arg[side]);
		else
			endpoints[side] = dgram_open(socket_arg[side], remote ? remote : "");
		if (endpoints[side] == NULL)
			fail(socket_arg[side]);
	}
}

int main(int argc, char **argv)
{
	static char line[4096];

	/* The generator ends with the program that started it; timers wake it up exactly. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_TIMERSLACK, 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	parse_options(argc, argv);
	open_endpoints();
	printf("{\"open\": true}\n");
	/* Commands are sent one at a time, so stdio never buffers a second line that poll cannot
	 * see. */
	for (;;) {
		engine_until_input();
		if (fgets(line, sizeof(line), stdin) == NULL)
			return 0;
		line[strcspn(line, "\n")] = 0;
		command(line);
	}
}
