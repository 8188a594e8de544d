/* SPDX-License-Identifier: BSD-2-Clause */
/* fakedns' answers and dns64perf's judgement of answers, each against messages written by hand and
 * then against each other. Both derive the address from the name; neither may accept corrupted
 * messages. And fakedns' options and configuration file. */
#include "tests/tap.h"
#include "tools/dns/fakedns.h"
#include "tools/dns/perfcheck.h"
#include "tools/dns/perfname.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char program_name[];
const char program_name[] = "test_dns";

enum { ADDRESS = 0x0a01c8ff }; /* 10.1.200.255 */

static const char name[] = "\01610-001-200-255\011dns64perf\004test";
enum { QUESTION = DNS_HEADER + sizeof name + 4 };

static struct options opt;
static struct random rng;
static struct tally count;
static uint8_t m[700];
static bool faulty;

static void plain(void)
{
	opt = (struct options){.ttl = 77, .soa = true, .edns = true};
	rng.state = 1;
	memset(&count, 0, sizeof count);
}

/* A query for a name written with its length bytes, and its answer. */
static unsigned ask(const char *asked, unsigned type)
{
	static const uint8_t head[DNS_HEADER] = {0xab, 0xcd, 0x01, 0x10, 0, 1};
	unsigned n = (unsigned)strlen(asked) + 1;
	memcpy(m, head, sizeof head);
	memcpy(m + DNS_HEADER, asked, n);
	put16(m + DNS_HEADER + n, type);
	put16(m + DNS_HEADER + n + 2, 1);
	return fake_answer(&opt, &rng, &count, m, DNS_HEADER + n + 4, &faulty);
}

static void labels(void)
{
	static const struct {
		const char *text;
		bool good;
		uint32_t address;
	} cases[] = {
	        {"010-001-200-255", true, ADDRESS},
	        {"10-1-200-255", true, ADDRESS},
	        {"0-0-0-0", true, 0},
	        {"255-255-255-255", true, 0xffffffff},
	        {"10-1-200-256", false, 0},
	        {"10-1-200", false, 0},
	        {"10-1-200-255-1", false, 0},
	        {"10-1--255", false, 0},
	        {"-1-2-3", false, 0},
	        {"1-2-3-", false, 0},
	        {"0010-1-2-3", false, 0},
	        {"10-1-2-x", false, 0},
	        {"", false, 0},
	};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t a = 0;
		unsigned len = (unsigned)strlen(cases[i].text);
		bool good = label_address((const uint8_t *)cases[i].text, len, &a);
		CHECK_EQ(good, cases[i].good);
		if (good)
			CHECK_EQ(a, cases[i].address);
	}
	uint8_t label[LABEL + 1] = {0};
	put_label(label, ADDRESS);
	CHECK_STR((const char *)label, "010-001-200-255");
}

static void an_address_record(void)
{
	plain();
	unsigned len = ask(name, TYPE_A);
	static const uint8_t record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 77, 0, 4, 10, 1, 200, 255};
	CHECK_EQ(get16(m), 0xabcd);
	CHECK_EQ(get16(m + 2), 0x8580); /* QR AA RD RA */
	CHECK_EQ(get16(m + 6), 1);
	CHECK_EQ(get16(m + 8) + get16(m + 10), 0);
	CHECK(len > sizeof record && memcmp(m + len - sizeof record, record, sizeof record) == 0);
	CHECK_EQ(count.a, 1);
}

static void no_ipv6_address_but_soa(void)
{
	plain();
	unsigned len = ask(name, TYPE_AAAA), end = DNS_HEADER + question_length(m, len);
	CHECK_EQ(m[3] & 15, 0);
	CHECK_EQ(get16(m + 6), 0);
	CHECK_EQ(get16(m + 8), 1);
	CHECK_EQ(get16(m + end), 0xc000 + DNS_HEADER + 15); /* dns64perf.test */
	CHECK_EQ(get16(m + end + 2), TYPE_SOA);
	CHECK_EQ(get32(m + len - 4), 77); /* MINIMUM */
	CHECK_EQ(end + 12 + 32, len);
	opt.soa = false;
	CHECK_EQ(ask(name, TYPE_AAAA), end);
	CHECK_EQ(get16(m + 8), 0);
}

static void names_without_address(void)
{
	plain();
	CHECK(ask("\003www\011dns64perf\004test", TYPE_A));
	CHECK_EQ(m[3] & 15, 3);
	CHECK(ask("\011dns64perf\004test", TYPE_A));
	CHECK_EQ(m[3] & 15, 0);
	CHECK(ask("", TYPE_A));
	CHECK_EQ(m[3] & 15, 0);
	unsigned len = ask("\003255\003200\00201\00210\007in-addr\004arpa", TYPE_PTR);
	CHECK_EQ(get16(m + 6), 1);
	CHECK_EQ(m[len - 32], LABEL);
	CHECK(memcmp(m + len - 31, "010-001-200-255", LABEL) == 0);
	CHECK(ask("\003256\003200\0011\00210\007in-addr\004arpa", TYPE_PTR));
	CHECK_EQ(m[3] & 15, 3);
}

static void what_is_no_question(void)
{
	plain();
	for (unsigned len = 0; len < QUESTION; len++) {
		ask(name, TYPE_A);
		m[2] &= 0x7f;
		memset(m + 6, 0, 6);
		CHECK_EQ(fake_answer(&opt, &rng, &count, m, len, &faulty), 0);
	}
	unsigned len = ask(name, TYPE_A);
	CHECK_EQ(fake_answer(&opt, &rng, &count, m, len, &faulty), 0); /* an answer */
}

static void edns(void)
{
	static const uint8_t opt_record[11] = {0, 0, TYPE_OPT, 4, 0xd0};
	plain();
	for (int has = 0; has < 2; has++) {
		opt.edns = has;
		ask(name, TYPE_A);
		m[2] = 1;
		memset(m + 6, 0, 6);
		m[11] = 1;
		unsigned end = QUESTION;
		memcpy(m + end, opt_record, sizeof opt_record);
		unsigned len = fake_answer(&opt, &rng, &count, m, end + 11, &faulty);
		CHECK_EQ(m[3] & 15, has ? 0 : 1);
		CHECK_EQ(get16(m + 10), has);
		CHECK_EQ(len, has ? end + 16 + 11 : end);
	}
}

static void share_of_names(void)
{
	plain();
	opt.have_aaaa = 0.3;
	unsigned real = 0;
	for (unsigned i = 0; i < 4000; i++) {
		char text[40];
		snprintf(text, sizeof text, "%c000-000-%03u-%03u\011dns64perf\004test", LABEL,
		         i >> 8, i & 255);
		ask(text, TYPE_AAAA);
		unsigned first = get16(m + 6);
		ask(text, TYPE_AAAA);
		CHECK_EQ(get16(m + 6), first); /* the same names each time */
		real += first;
	}
	CHECK(real > 1100 && real < 1300);
	CHECK_EQ(count.aaaa, 2 * real);
}

static void faults(void)
{
	plain();
	opt.wrong_id = 1;
	ask(name, TYPE_A);
	CHECK(get16(m) != 0xabcd && m[0] == 0xab);
	plain();
	opt.wrong_name = 1;
	ask(name, TYPE_A);
	CHECK(memcmp(m + DNS_HEADER, name, 30) != 0);
	plain();
	opt.truncate = 1;
	unsigned len = ask(name, TYPE_A);
	CHECK(m[2] & 2);
	CHECK_EQ(get16(m + 6), 0);
	CHECK_EQ(len, QUESTION);
	plain();
	opt.rcode = 5;
	opt.rcode_share = 1;
	ask(name, TYPE_A);
	CHECK_EQ(m[3] & 15, 5);
	CHECK_EQ(get16(m + 6), 0);
	opt.only_type = TYPE_AAAA; /* not for A then */
	ask(name, TYPE_A);
	CHECK_EQ(m[3] & 15, 0);
	CHECK(!faulty);
	plain();
	opt.lower = 1;
	ask("\01610-001-200-255\011DNS64perf\004tEST", TYPE_A);
	CHECK(memchr(m, 'D', 60) == NULL && memchr(m, 'E', 60) == NULL);
}

/* ---- judgement ---- */

static struct perf_addresses want;

/* Writes an answer as a DNS64 server gives it; gives its length. */
static unsigned synthesised(const uint8_t *six)
{
	static const uint8_t fixed[12] = {0xc0, 12, 0, TYPE_AAAA, 0, 1, 0, 0, 0, 60, 0, 16};
	perf_question(m, 7, ADDRESS);
	m[2] |= 0x80;
	m[7] = 1;
	memcpy(m + PERF_QUESTION, fixed, sizeof fixed);
	memcpy(m + PERF_QUESTION + 12, six, 16);
	return PERF_QUESTION + 28;
}

static enum perf_answer judge(unsigned len)
{
	uint32_t a = 0;
	CHECK(perf_name(m, len, &a));
	CHECK_EQ(a, ADDRESS);
	return perf_check(&want, m, len, ADDRESS);
}

static void every_prefix_length(void)
{
	/* 10.1.200.255 after a prefix of each length (RFC 6052 section 2.2); byte 8 stays 0. */
	static const struct {
		unsigned len;
		uint8_t six[16];
	} cases[] = {
	        {32, {0x20, 1, 0xd, 0xb8, 10, 1, 200, 255}},
	        {40, {0x20, 1, 0xd, 0xb8, 1, 10, 1, 200, 0, 255}},
	        {48, {0x20, 1, 0xd, 0xb8, 1, 2, 10, 1, 0, 200, 255}},
	        {56, {0x20, 1, 0xd, 0xb8, 1, 2, 3, 10, 0, 1, 200, 255}},
	        {64, {0x20, 1, 0xd, 0xb8, 1, 2, 3, 4, 0, 10, 1, 200, 255}},
	        {96, {0x20, 1, 0xd, 0xb8, 1, 2, 3, 4, 0, 5, 6, 7, 10, 1, 200, 255}},
	};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		want = (struct perf_addresses){.prefix_len = cases[i].len};
		memcpy(want.prefix, cases[i].six, cases[i].len / 8);
		unsigned len = synthesised(cases[i].six);
		CHECK_EQ(judge(len), PERF_GOOD);
		m[PERF_QUESTION + 12 + 1] ^= 1; /* another prefix */
		CHECK_EQ(judge(len), PERF_WRONG);
		synthesised(cases[i].six);
		want.prefix_len = 0; /* any /96 */
		CHECK_EQ(judge(len), cases[i].len == 96 ? PERF_GOOD : PERF_WRONG);
	}
}

static void bent_answers(void)
{
	static const uint8_t six[16] = {0, 0x64, 0xff, 0x9b, [12] = 10, 1, 200, 255};
	want = (struct perf_addresses){0};
	for (unsigned byte = 12; byte < 16; byte++) {
		unsigned len = synthesised(six);
		m[PERF_QUESTION + 12 + byte] ^= 4;
		CHECK_EQ(judge(len), PERF_WRONG);
	}
	unsigned len = synthesised(six);
	m[3] = 2;
	CHECK_EQ(judge(len), PERF_ERROR);
	synthesised(six);
	m[7] = 0;
	CHECK_EQ(judge(len), PERF_ERROR);
	m[7] = 2; /* one record more than there are */
	CHECK_EQ(judge(len), PERF_WRONG);
	m[7] = 1;
	m[PERF_QUESTION + 3] = TYPE_A; /* no AAAA record */
	CHECK_EQ(judge(len), PERF_WRONG);
	synthesised(six);
	for (unsigned cut = PERF_QUESTION; cut < len; cut++)
		CHECK_EQ(judge(cut), PERF_WRONG);
}

static void which_question(void)
{
	static const uint8_t six[16] = {0};
	uint32_t a;
	unsigned len = synthesised(six);
	m[2] &= 0x7f;
	CHECK(!perf_name(m, len, &a)); /* a query */
	synthesised(six);
	for (unsigned cut = 0; cut < PERF_QUESTION; cut++)
		CHECK(!perf_name(m, cut, &a));
	m[DNS_HEADER + 17] ^= 1;
	CHECK(!perf_name(m, len, &a)); /* another domain */
	synthesised(six);
	m[DNS_HEADER + 17] ^= 0x20;
	CHECK(perf_name(m, len, &a)); /* in capitals */
	put16(m + PERF_QUESTION - 4, TYPE_A);
	CHECK(!perf_name(m, len, &a));
}

static void both_agree_on_real_addresses(void)
{
	plain();
	opt.have_aaaa = want.real = 0.5;
	want.prefix_len = 0;
	unsigned real = 0;
	for (uint32_t a = 0; a < 1000; a++) {
		perf_question(m, a & 0xffff, a);
		unsigned len = fake_answer(&opt, &rng, &count, m, PERF_QUESTION, &faulty);
		enum perf_answer answer = perf_check(&want, m, len, a);
		CHECK(answer == (get16(m + 6) ? PERF_GOOD : PERF_ERROR));
		real += answer == PERF_GOOD;
		if (answer == PERF_GOOD) {
			m[len - 16 - 1 + 5] ^= 1; /* within the prefix */
			CHECK_EQ(perf_check(&want, m, len, a), PERF_WRONG);
		}
	}
	CHECK(real > 400 && real < 600);
}

/* ---- options ---- */

/* Reads a configuration file with this text, and options after it, in a process of its own, since a
 * mistake ends the program. Gives the exit status; 0: the options are in *got. */
static int read_file(const char *text, const char *option, struct options *got)
{
	char path[] = "/tmp/fakedns.XXXXXX";
	int answer[2], status = -1, fd = mkstemp(path);
	CHECK(fd >= 0 && pipe(answer) == 0 &&
	      write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		static struct options child_options;
		char *words[] = {"fakedns", "--config", path, (char *)(uintptr_t)option, NULL};
		dup2(open("/dev/null", O_WRONLY), 2);
		read_options(&child_options, option ? 4 : 3, words);
		_exit(write(answer[1], &child_options, sizeof child_options) < 0);
	}
	close(answer[1]);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	status = WEXITSTATUS(status);
	CHECK(status != 0 || read(answer[0], got, sizeof *got) == (ssize_t)sizeof *got);
	close(answer[0]);
	unlink(path);
	return status;
}

static void ports_that_are_none(void)
{
	struct options got;
	CHECK_EQ(read_file("port 53530000000000000000000000000000000000000000000000000000\n", NULL,
	                   &got),
	         2);
	static const char *const bad[] = {"99999", "65536", "0", "-1", "53x", "53.5", "dns", "1e9"};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		char line[40];
		snprintf(line, sizeof line, "port %s\n", bad[i]);
		CHECK_EQ(read_file(line, NULL, &got), 2);
		snprintf(line, sizeof line, "start-port %s\n", bad[i]);
		CHECK_EQ(read_file(line, NULL, &got), 2);
		snprintf(line, sizeof line, "--port=%s", bad[i]);
		CHECK_EQ(read_file("", line, &got), 2);
	}
	CHECK_EQ(read_file("start-port 65530\nnum-servers 7\n", NULL, &got), 2);
}

static void configuration_files(void)
{
	static const struct {
		const char *text;
		unsigned port, threads;
		bool own_ports;
	} cases[] = {
	        {"", 53, 1, false},
	        {"port 65535\nnum-threads 30\n", 65535, 30, false},
	        {"start-port 2000\nnum-servers 3\nstart-cpu 1\n", 2000, 3, true},
	        {"start-port 65530\nnum-servers 6\n", 65530, 6, true},
	        {"num-servers 2\n", 1053, 2, true},
	        {"start-port 53\n", 53, 8, true},
	};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct options got = {0};
		CHECK_EQ(read_file(cases[i].text, NULL, &got), 0);
		CHECK_EQ(got.port, cases[i].port);
		CHECK_EQ(got.threads, cases[i].threads);
		CHECK_EQ(got.own_ports, cases[i].own_ports);
	}
	struct options got = {0};
	CHECK_EQ(read_file("have-AAAA 0.25\nport 53\n", "--port=54", &got), 0);
	CHECK(got.have_aaaa == 0.25);
	CHECK_EQ(got.port, 54);
}

int main(void)
{
	TEST(labels);
	TEST(an_address_record);
	TEST(no_ipv6_address_but_soa);
	TEST(names_without_address);
	TEST(what_is_no_question);
	TEST(edns);
	TEST(share_of_names);
	TEST(faults);
	TEST(every_prefix_length);
	TEST(bent_answers);
	TEST(which_question);
	TEST(both_agree_on_real_addresses);
	TEST(ports_that_are_none);
	TEST(configuration_files);
	return tap_done();
}
