/* SPDX-License-Identifier: BSD-2-Clause */
/* fakedns: the command line, and mtd64-ng's fakedns.conf. */
#include "fakedns.h"

#include "perfname.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

struct options opt = {.port = "53", .threads = 1, .ttl = 3600, .soa = true, .edns = true};

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
	        "usage: fakedns [OPTION]...\n"
	        "Answers questions about names such as 010-1-2-3.dns64perf.test out of the "
	        "name.\n\n"
	        "  --config FILE       mtd64-ng's fakedns.conf: have-AAAA, num-threads, port, "
	        "debug\n"
	        "  --listen ADDRESS    IPv4 or IPv6, may repeat; all addresses if none is given\n"
	        "  --port N            default 53\n"
	        "  --threads N         default 1\n"
	        "  --have-aaaa SHARE   names that also have an AAAA record, 0 to 1; default 0\n"
	        "  --ttl SECONDS       default 3600\n"
	        "  --no-soa            empty answers without SOA record\n"
	        "  --no-edns           FORMERR for questions with OPT\n"
	        "  --seconds S         ends after so long\n"
	        "  --debug             a line for each question\n"
	        "Faults, each for a share of the answers (0 to 1):\n"
	        "  --type A|AAAA|N     only to questions of this type\n"
	        "  --delay MS[-MS]     late by so much (all answers)\n"
	        "  --loss SHARE        none at all\n"
	        "  --duplicate SHARE   twice\n"
	        "  --wrong-id SHARE    with another ID\n"
	        "  --wrong-name SHARE  about another name\n"
	        "  --truncate SHARE    empty, with TC\n"
	        "  --lower SHARE       with the name in lower case\n"
	        "  --rcode N[:SHARE]   with this response code\n"
	        "SIGUSR1 and the end print what was counted.\n");
	exit(status);
}

void die(const char *what, const char *value)
{
	fprintf(stderr, "fakedns: %s: %s\n", what, value);
	exit(2);
}

static double number(const char *what, const char *text, double low, double high)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= low && v <= high))
		die(what, text);
	return v;
}

/* The keys of mtd64-ng's fakedns.conf; a missing or strange have-AAAA is 0, as there. */
static void read_config(const char *name)
{
	static char port[16];
	char line[256], key[32], value[64];
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
			opt.have_aaaa = number(key, value, 0, 1);
		else if (strcmp(key, "num-threads") == 0)
			opt.threads = (unsigned)number(key, value, 1, THREADS_MAX);
		else if (strcmp(key, "debug") == 0)
			opt.debug = strcmp(value, "yes") == 0;
		else if (strcmp(key, "port") == 0)
			opt.port = strcpy(port, value);
	}
	fclose(file);
}

static void read_delay(const char *text)
{
	char *end;
	opt.delay_low_ms = opt.delay_high_ms = strtod(text, &end);
	if (*end == '-')
		opt.delay_high_ms = strtod(end + 1, &end);
	if (*end || opt.delay_low_ms < 0 || opt.delay_high_ms < opt.delay_low_ms ||
	    opt.delay_high_ms > 600000)
		die("--delay", text);
}

static void read_rcode(const char *text)
{
	char *end;
	opt.rcode = (unsigned)strtoul(text, &end, 10);
	opt.rcode_share = *end == ':' ? number("--rcode", end + 1, 0, 1) : 1;
	if ((*end && *end != ':') || opt.rcode > 15)
		die("--rcode", text);
}

void read_options(int argc, char **argv)
{
	enum {
		CONFIG = 256,
		LISTEN,
		PORT,
		THREADS,
		HAVE,
		TTL,
		NO_SOA,
		NO_EDNS,
		SECONDS,
		DEBUG,
		TYPE,
		DELAY,
		LOSS,
		DUPLICATE,
		WRONG_ID,
		WRONG_NAME,
		TRUNCATE,
		LOWER,
		RCODE,
		HELP
	};
	static const struct option table[] = {
	        {"config", 1, 0, CONFIG},
	        {"listen", 1, 0, LISTEN},
	        {"port", 1, 0, PORT},
	        {"threads", 1, 0, THREADS},
	        {"have-aaaa", 1, 0, HAVE},
	        {"ttl", 1, 0, TTL},
	        {"no-soa", 0, 0, NO_SOA},
	        {"no-edns", 0, 0, NO_EDNS},
	        {"seconds", 1, 0, SECONDS},
	        {"debug", 0, 0, DEBUG},
	        {"type", 1, 0, TYPE},
	        {"delay", 1, 0, DELAY},
	        {"loss", 1, 0, LOSS},
	        {"duplicate", 1, 0, DUPLICATE},
	        {"wrong-id", 1, 0, WRONG_ID},
	        {"wrong-name", 1, 0, WRONG_NAME},
	        {"truncate", 1, 0, TRUNCATE},
	        {"lower", 1, 0, LOWER},
	        {"rcode", 1, 0, RCODE},
	        {"help", 0, 0, HELP},
	        {0, 0, 0, 0},
	};
	double *const share[] = {
	        [LOSS - LOSS] = &opt.loss,         [DUPLICATE - LOSS] = &opt.duplicate,
	        [WRONG_ID - LOSS] = &opt.wrong_id, [WRONG_NAME - LOSS] = &opt.wrong_name,
	        [TRUNCATE - LOSS] = &opt.truncate, [LOWER - LOSS] = &opt.lower};
	for (int c; (c = getopt_long(argc, argv, "", table, NULL)) != -1;) {
		const char *name = table[c >= CONFIG && c <= HELP ? c - CONFIG : 0].name;
		switch (c) {
		case CONFIG:
			read_config(optarg);
			break;
		case LISTEN:
			if (opt.n_listen == LISTEN_MAX)
				die("too many addresses", optarg);
			opt.listen[opt.n_listen++] = optarg;
			break;
		case PORT:
			opt.port = optarg;
			break;
		case THREADS:
			opt.threads = (unsigned)number(name, optarg, 1, THREADS_MAX);
			break;
		case HAVE:
			opt.have_aaaa = number(name, optarg, 0, 1);
			break;
		case TTL:
			opt.ttl = (uint32_t)number(name, optarg, 0, 2147483647);
			break;
		case NO_SOA:
			opt.soa = false;
			break;
		case NO_EDNS:
			opt.edns = false;
			break;
		case SECONDS:
			opt.seconds = number(name, optarg, 0, 1e9);
			break;
		case DEBUG:
			opt.debug = true;
			break;
		case TYPE:
			opt.only_type = strcmp(optarg, "A") == 0 ? TYPE_A
			                : strcmp(optarg, "AAAA") == 0
			                        ? TYPE_AAAA
			                        : (unsigned)number(name, optarg, 1, 65535);
			break;
		case DELAY:
			read_delay(optarg);
			break;
		case RCODE:
			read_rcode(optarg);
			break;
		case LOSS:
		case DUPLICATE:
		case WRONG_ID:
		case WRONG_NAME:
		case TRUNCATE:
		case LOWER:
			*share[c - LOSS] = number(name, optarg, 0, 1);
			break;
		case HELP:
			usage(0);
			break;
		default:
			usage(2);
		}
	}
	if (optind < argc)
		usage(2);
}
