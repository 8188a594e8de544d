/* Log lines about queries (debugging yes): how often, and of which gateway. */
#include "apps/dns64/dns64.h"
#include "kernel/lib/log.h"
#include "tests/fuzz/frames.h"
#include "tests/host/rig.h"

#include "tests/tap.h"

#define CLIENT 0xc0a8010au /* 192.168.1.10 */
#define OURS   0xc0a80101u

static struct rig rig;

static void start(void)
{
	static const char config[] = "lan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\n"
	                             "gateway 203.0.113.1\n"
	                             "neighbour 203.0.113.1 52:52:52:52:52:52\n"
	                             "neighbour 192.168.1.10 52:52:52:52:52:52\n"
	                             "nameserver 198.51.100.53\ndebugging yes\n";
	rig_reset(&rig, 5, 16u << 20, 1000000);
	CHECK(rig_config(&rig, config, sizeof config - 1));
	const char *wrong = rig_start(&rig, "dns64", 256);
	CHECK_STR(wrong ? wrong : "", "");
}

/* A query for the addresses of a name, over IPv4. */
static void ask(void)
{
	static const uint8_t question[] = "\0\7\1\0\0\1\0\0\0\0\0\0\1n\4test\0\0\1\0\1";
	uint32_t len = sizeof question - 1;
	uint8_t f[FRAME_MAX] = {0};
	dns_put16(f + 34, 4000);
	dns_put16(f + 36, 53);
	dns_put16(f + 38, len + 8);
	memcpy(f + 42, question, len);
	uint32_t n = frame_ip4(f, rig.gw.iface[IF_LAN].address.b, CLIENT, OURS, PROTO_UDP, len + 8);
	frame_repair(f, n);
	CHECK(rig_input(&rig, IF_LAN, f, n));
}

static uint32_t lines(void)
{
	char line[LOG_LINE];
	uint64_t at = 0;
	uint32_t n = 0;
	while (log_next(&at, line, sizeof line))
		n += strstr(line, "dns n.test. type 1 from 192.168.1.10") != NULL;
	return n;
}

/* There are ten lines a second at most; lines of an earlier gateway do not count. */
static void not_too_often(void)
{
	for (uint32_t i = 0; i < 3; i++) {
		start();
		for (uint32_t k = 0; k < 5; k++)
			ask();
		CHECK_EQ(lines(), 1);
		for (uint32_t k = 0; k < 10; k++)
			rig_advance(&rig, 11000);
		ask();
		CHECK_EQ(lines(), 2);
	}
}

int main(void)
{
	TEST(not_too_often);
	return tap_done();
}
