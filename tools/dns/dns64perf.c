/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dns64perf: queries a DNS64 server for the AAAA records of generated names at a constant rate and
 * checks every answer (RFC 8219 section 9). It takes the arguments of dns64perf++ and prints the
 * same lines, so that scripts for that program work; with --search it runs the whole procedure.
 *
 *   dns64perf.c  command line, one trial and its report
 *   trial.c      sending at a constant rate, receiving, checking
 *   search.c     binary search, repetitions, self-test
 *   perfcheck.c  queries, and the check of answers
 */
#include "args.h"
#include "dns64perf.h"
#include "perfname.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <stdlib.h>

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
	        "usage: dns64perf [OPTION]... SERVER PORT SUBNET REQUESTS BURST THREADS [PORTS] "
	        "DELAY TIMEOUT\n"
	        "       dns64perf --search [OPTION]... SERVER PORT SUBNET\n"
	        "       dns64perf --self-test RATE [OPTION]...\n\n"
	        "Asks for AAAA records of names such as 010-000-000-001.dns64perf.test, one for "
	        "each\n"
	        "address of SUBNET (10.0.0.0/8), and checks the answers. REQUESTS in all, BURST at "
	        "a\n"
	        "time, every DELAY nanoseconds from each of THREADS; each thread sends from PORTS "
	        "ports\n"
	        "in turn (1). Answers later than TIMEOUT seconds do not count. SERVER is an IPv6 "
	        "or\n"
	        "IPv4 address. Details of each question go to dns64perf.csv. The exit status is 0 "
	        "when\n"
	        "all answers were valid.\n\n"
	        "  --prefix PREFIX/LEN  of the addresses in answers; default: any /96\n"
	        "  --real SHARE         names that have AAAA records of their own (fakedns "
	        "--have-aaaa)\n"
	        "  --cached SHARE       questions that were asked shortly before, 0 to 1: for the "
	        "first\n"
	        "                       1000 names of SUBNET\n"
	        "  --any-content        any answer with records is valid, as for dns64perf++\n"
	        "  --no-csv             no dns64perf.csv\n"
	        "  --skip N             leaves out the first N names of SUBNET\n"
	        "With --search, the procedure of RFC 8219 section 9.2; the exit status is 0 when "
	        "each\n"
	        "search found a rate at which all answers were valid:\n"
	        "  --low N, --high N    questions a second between which to search; default 0, "
	        "100000\n"
	        "  --step N             how exact; default 1 %% of --high\n"
	        "  --trial SECONDS      length of a trial; default 60\n"
	        "  --repeat N           searches; default 20\n"
	        "  --pause SECONDS      between trials; default 1\n"
	        "  --timeout SECONDS    default 1\n"
	        "--self-test measures this program against itself: whether it can keep up at\n"
	        "2 x (RATE + 10 %%), with answers within a quarter of the timeout.\n");
	exit(status);
}

/* --- arguments ------------------------------------------------------------------------------- */

static void read_server(struct test *t, const char *host, const char *port)
{
	struct addrinfo hint = {
	        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST};
	struct addrinfo *found;
	arg_count("port", port, 1, 65535);
	int error = getaddrinfo(host, port, &hint, &found);
	if (error)
		die(host, gai_strerror(error));
	memcpy(&t->server, found->ai_addr, found->ai_addrlen);
	t->server_len = found->ai_addrlen;
	freeaddrinfo(found);
}

static void read_subnet(struct test *t, const char *text)
{
	unsigned a[4], len;
	char more;
	if (sscanf(text, "%u.%u.%u.%u/%u%c", &a[0], &a[1], &a[2], &a[3], &len, &more) != 5 ||
	    len > 32 || a[0] > 255 || a[1] > 255 || a[2] > 255 || a[3] > 255)
		die("subnet", text);
	uint32_t mask = len ? 0xffffffffu << (32 - len) : 0;
	t->subnet = (a[0] << 24 | a[1] << 16 | a[2] << 8 | a[3]) & mask;
	t->names = (uint64_t)1 << (32 - len);
}

static struct test test;

static void read_prefix(const char *text)
{
	struct perf_addresses *a = &test.addresses;
	char address[64];
	unsigned len;
	if (sscanf(text, "%63[^/]/%u", address, &len) != 2 ||
	    inet_pton(AF_INET6, address, a->prefix) != 1 ||
	    (len != 96 && (len < 32 || len > 64 || len % 8)))
		die("--prefix", text);
	a->prefix_len = len;
}

static void read_timeout(const char *text)
{
	test.timeout_ns = (uint64_t)(arg_number("timeout", text, 1e-6, 4) * 1e9);
}

static void read_skip(const char *text)
{
	test.skip = arg_count("--skip", text, 0, 4e9);
}

static void help(void)
{
	usage(0);
}

static int read_options(int argc, char **argv)
{
	struct test *t = &test;
	const struct arg table[] = {
	        CALL_ARG("prefix", read_prefix),
	        NUMBER_ARG("real", &t->addresses.real, 0, 1),
	        NUMBER_ARG("cached", &t->cached, 0, 1),
	        FLAG_ARG("any-content", &t->any_content, 1),
	        FLAG_ARG("no-csv", &t->csv, 0),
	        CALL_ARG("skip", read_skip),
	        FLAG_ARG("search", &t->search, 1),
	        NUMBER_ARG("low", &t->low, 0, 1e8),
	        NUMBER_ARG("high", &t->high, 1, 1e8),
	        NUMBER_ARG("step", &t->step, 1, 1e8),
	        NUMBER_ARG("trial", &t->trial_s, 0.01, 1e6),
	        COUNT_ARG("repeat", &t->repeat, 1, 1000),
	        NUMBER_ARG("pause", &t->pause_s, 0, 1e6),
	        CALL_ARG("timeout", read_timeout),
	        NUMBER_ARG("self-test", &t->self_test, 1, 1e7),
	        {.name = NULL},
	};
	return args_read(argc, argv, table, help);
}

/* dns64perf++'s arguments. Its first versions had no threads and waited two seconds; its last ones
 * have a number of ports, of which 0 means one. */
static void read_trial(struct test *t, char **arg, int n)
{
	bool threads = n >= 8, ports = n == 9;
	int delay = 5 + threads + ports;
	t->requests = (uint64_t)arg_number("number of requests", arg[3], 1, 4294967296.0);
	t->burst = arg_count("burst size", arg[4], 1, 65536);
	t->threads = threads ? arg_count("number of threads", arg[5], 1, THREADS) : 1;
	t->ports = ports ? arg_count("number of ports", arg[6], 0, PORTS) : 1;
	t->ports += t->ports == 0;
	t->delay_ns = (uint64_t)arg_number("delay between bursts", arg[delay], 1, 1e15);
	read_timeout(n == 6 ? "2" : arg[delay + 1]);
	if (t->first + t->requests > t->names)
		die(arg[3], "more requests than new names in the subnet");
	if (t->requests % ((uint64_t)t->threads * t->burst))
		die(arg[3], "not divisible by threads and burst size");
}

/* --- the report of a trial, as dns64perf++ prints it ------------------------------------------ */

static void write_csv(const struct test *t, const struct query *q)
{
	char host[64], port[16];
	FILE *file = fopen("dns64perf.csv", "w");
	if (!file)
		die("dns64perf.csv", strerror(errno));
	getnameinfo((const struct sockaddr *)&t->server, t->server_len, host, sizeof host, port,
	            sizeof port, NI_NUMERICHOST | NI_NUMERICSERV | NI_DGRAM);
	fprintf(file,
	        "dns64perf++ test parameters\nserver: %s\nport: %s\nnumber of requests: %lu\n"
	        "burst size: %u\nnumber of threads: %u\ndelay between bursts: %lu ns\n\n"
	        "query;thread id;tsent [ns];treceived [ns];received;answered;rtt [ns]\n",
	        host, port, (unsigned long)t->requests, t->burst, t->threads,
	        (unsigned long)t->delay_ns);
	for (uint64_t i = 0; i < t->requests; i++) {
		char name[LABEL + 1] = "";
		bool got = q[i].received;
		put_label((uint8_t *)name, name_of(t, i));
		fprintf(file, "%s.dns64perf.test.;%u;%lu;%lu;%d;%d;%ld\n", name,
		        (unsigned)(i / (t->requests / t->threads)), (unsigned long)q[i].sent_ns,
		        got ? (unsigned long)(q[i].sent_ns + q[i].rtt_ns) : 0, got, q[i].valid,
		        got ? (long)q[i].rtt_ns : -1);
	}
	fclose(file);
}

static void report(const struct test *t, const struct query *q, const struct outcome *o)
{
	double n = (double)o->received, sum = 0, squares = 0;
	for (uint64_t i = 0; i < t->requests; i++)
		sum += q[i].received ? q[i].rtt_ns / 1e6 : 0;
	for (uint64_t i = 0; i < t->requests; i++)
		squares += q[i].received ? pow(q[i].rtt_ns / 1e6 - sum / n, 2) : 0;
	fprintf(stderr, "Full timer execution took %lu ns, %.02f%% of specified.\n",
	        (unsigned long)o->took_ns, o->pace * 100);
	if (o->wrong)
		fprintf(stderr, "Answers with wrong content: %lu\n", (unsigned long)o->wrong);
	printf("Sent queries: %lu\n", (unsigned long)t->requests);
	printf("Received answers: %lu (%.02f%%)\n", (unsigned long)o->received,
	       n / (double)t->requests * 100);
	printf("Valid answers: %lu (%.02f%%)\n", (unsigned long)o->valid,
	       (double)o->valid / (double)t->requests * 100);
	printf("Average round-trip time: %.02f ms\n", sum / n);
	printf("Standard deviation of the round-trip time: %.02f ms\n", sqrt(squares / n));
}

const char program_name[] = "dns64perf";

int main(int argc, char **argv)
{
	struct test *t = &test;
	*t = (struct test){.csv = true,
	                   .threads = 1,
	                   .ports = 1,
	                   .burst = 1,
	                   .high = 100000,
	                   .trial_s = 60,
	                   .repeat = 20,
	                   .pause_s = 1,
	                   .timeout_ns = 1000000000};
	int first = read_options(argc, argv), n = argc - first;
	char **arg = argv + first;
	if (t->self_test > 0)
		return n ? (usage(2), 2) : self_test(t);
	if (t->search ? n != 3 : n < 6 || n > 9)
		usage(2);
	read_server(t, arg[0], arg[1]);
	read_subnet(t, arg[2]);
	t->first = t->skip + (t->cached > 0 ? WARM : 0);
	if (t->first >= t->names)
		die(arg[2], "has no names left for new questions");
	if (t->search)
		return search(t);
	read_trial(t, arg, n);
	struct query *q = calloc(t->requests, sizeof *q);
	if (!q)
		die("memory", strerror(errno));
	warm_up(t);
	struct outcome o = run_trial(t, q);
	report(t, q, &o);
	if (t->csv)
		write_csv(t, q);
	free(q);
	return o.valid != t->requests;
}
