/* SPDX-License-Identifier: BSD-2-Clause */
/* fakedns: the command line, and mtd64-ng's fakedns.conf. */
#include "fakedns.h"

#include "args.h"
#include "perfname.h"

#include <errno.h>
#include <stdlib.h>

static struct options *opt;

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
	        "usage: fakedns [OPTION]...\n"
	        "Answers questions about names such as 010-1-2-3.dns64perf.test out of the "
	        "name.\n\n"
	        "  --config FILE       mtd64-ng's fakedns.conf: have-AAAA, debug, port and "
	        "num-threads,\n"
	        "                      or start-port and num-servers: a port for each server\n"
	        "  --listen ADDRESS    IPv4 or IPv6, may repeat; all addresses if none is given\n"
	        "  --port N            default 53\n"
	        "  --threads N         default 1\n"
	        "  --have-aaaa SHARE   names that also have an AAAA record, 0 to 1; default 0\n"
	        "  --ttl SECONDS       default 3600\n"
	        "  --no-soa            empty answers without SOA record\n"
	        "  --no-edns           FORMERR for questions with OPT\n"
	        "  --seconds S         ends after S seconds\n"
	        "  --debug             a line for each question\n"
	        "Faults, each for a share of the answers (0 to 1):\n"
	        "  --type A|AAAA|N     only to questions of this type\n"
	        "  --delay MS[-MS]     delayed by this time (all answers)\n"
	        "  --loss SHARE        none at all\n"
	        "  --limit RATE        none above this many a second for each thread\n"
	        "  --duplicate SHARE   twice\n"
	        "  --wrong-id SHARE    with another ID\n"
	        "  --wrong-name SHARE  about another name\n"
	        "  --truncate SHARE    empty, with TC\n"
	        "  --lower SHARE       with the name in lower case\n"
	        "  --rcode N[:SHARE]   with this response code\n"
	        "SIGUSR1 and the end print the counters.\n");
	exit(status);
}

/* The keys of mtd64-ng's fakedns.conf. A missing have-AAAA is 0, as in mtd64-ng. Its older files
 * have `port` and `num-threads`. In its newer ones each of `num-servers` servers (8) has a port of
 * its own, the first one `start-port` (1053). `start-cpu` has no effect here. */
static void read_config(const char *name)
{
	char line[256], key[32], value[64];
	unsigned servers = 0, start = 0;
	FILE *file = fopen(name, "r");
	if (!file)
		die(name, strerror(errno));
	while (fgets(line, sizeof line, file)) {
		char *hash = strpbrk(line, "#\n");
		char *slashes = strstr(line, "//");
		if (hash)
			*hash = 0;
		if (slashes)
			*slashes = 0;
		if (sscanf(line, "%31s %63s", key, value) != 2)
			continue;
		if (strcmp(key, "have-AAAA") == 0)
			opt->have_aaaa = arg_number(key, value, 0, 1);
		else if (strcmp(key, "num-threads") == 0)
			opt->threads = arg_count(key, value, 1, THREADS_MAX);
		else if (strcmp(key, "num-servers") == 0)
			servers = arg_count(key, value, 1, THREADS_MAX);
		else if (strcmp(key, "debug") == 0)
			opt->debug = strcmp(value, "yes") == 0;
		else if (strcmp(key, "port") == 0)
			opt->port = arg_count(key, value, 1, 65535);
		else if (strcmp(key, "start-port") == 0)
			start = arg_count(key, value, 1, 65535);
	}
	fclose(file);
	opt->own_ports = servers || start;
	if (opt->own_ports) {
		opt->port = start ? start : 1053;
		opt->threads = servers ? servers : 8;
	}
}

static void read_delay(const char *text)
{
	char *end;
	opt->delay_low_ms = opt->delay_high_ms = strtod(text, &end);
	if (*end == '-')
		opt->delay_high_ms = strtod(end + 1, &end);
	if (*end || opt->delay_low_ms < 0 || opt->delay_high_ms < opt->delay_low_ms ||
	    opt->delay_high_ms > 600000)
		die("--delay", text);
}

static void read_rcode(const char *text)
{
	char *end;
	opt->rcode = (unsigned)strtoul(text, &end, 10);
	opt->rcode_share = *end == ':' ? arg_number("--rcode", end + 1, 0, 1) : 1;
	if ((*end && *end != ':') || opt->rcode > 15)
		die("--rcode", text);
}

static void read_listen(const char *text)
{
	if (opt->n_listen == LISTEN_MAX)
		die("too many addresses", text);
	opt->listen[opt->n_listen++] = text;
}

static void read_type(const char *text)
{
	if (strcmp(text, "A") == 0)
		opt->only_type = TYPE_A;
	else if (strcmp(text, "AAAA") == 0)
		opt->only_type = TYPE_AAAA;
	else
		opt->only_type = arg_count("--type", text, 1, 65535);
}

static void help(void)
{
	usage(0);
}

void read_options(struct options *to, int argc, char **argv)
{
	*to = (struct options){.port = 53, .threads = 1, .ttl = 3600, .soa = true, .edns = true};
	opt = to;
	const struct arg table[] = {
	        CALL_ARG("config", read_config),
	        CALL_ARG("listen", read_listen),
	        COUNT_ARG("port", &to->port, 1, 65535),
	        COUNT_ARG("threads", &to->threads, 1, THREADS_MAX),
	        NUMBER_ARG("have-aaaa", &to->have_aaaa, 0, 1),
	        COUNT_ARG("ttl", &to->ttl, 0, 2147483647),
	        FLAG_ARG("no-soa", &to->soa, 0),
	        FLAG_ARG("no-edns", &to->edns, 0),
	        NUMBER_ARG("seconds", &to->seconds, 0, 1e9),
	        FLAG_ARG("debug", &to->debug, 1),
	        CALL_ARG("type", read_type),
	        CALL_ARG("delay", read_delay),
	        NUMBER_ARG("loss", &to->loss, 0, 1),
	        NUMBER_ARG("limit", &to->limit, 1, 1e7),
	        NUMBER_ARG("duplicate", &to->duplicate, 0, 1),
	        NUMBER_ARG("wrong-id", &to->wrong_id, 0, 1),
	        NUMBER_ARG("wrong-name", &to->wrong_name, 0, 1),
	        NUMBER_ARG("truncate", &to->truncate, 0, 1),
	        NUMBER_ARG("lower", &to->lower, 0, 1),
	        CALL_ARG("rcode", read_rcode),
	        {.name = NULL},
	};
	if (args_read(argc, argv, table, help) < argc)
		usage(2);
	if (opt->own_ports && opt->port + opt->threads - 1 > 65535)
		die("start-port", "the last server's port is above 65535");
}
