/* net/dhcp/dhcp_message: messages are read as RFC 2131 and RFC 2132 say, broken ones are refused
 * whole, options in several pieces are joined in the order of RFC 3396, and what is built reads
 * back as it was put. */
#include "net/dhcp/dhcp_message.h"

#include "kernel/lib/rng.h"

#include "tests/tap.h"

static uint8_t data[1500];
static struct dhcp_message m;

/* A message with these bytes as options; gives its length. */
static uint32_t with(const void *options, uint32_t len)
{
	struct dhcp_hdr *h = (struct dhcp_hdr *)data;
	memset(data, 0, sizeof data);
	h->op = DHCP_BOOTREPLY;
	h->htype = 1;
	h->hlen = 6;
	h->cookie = be32_of(DHCP_COOKIE);
	memcpy(data + sizeof *h, options, len);
	return (uint32_t)sizeof *h + len;
}

#define WITH(...) with((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void good_messages_are_read(void)
{
	ip4 mask;
	uint32_t t;
	uint16_t mtu;
	uint8_t type;
	CHECK(!dhcp_message_read(&m, data,
	                         WITH(0, 0, 53, 1, 5, 1, 4, 255, 255, 255, 0, 51, 4, 0, 0, 14, 16,
	                              26, 2, 5, 220, 255, 77, 200)));
	CHECK_EQ(m.type, DHCP_ACK);
	CHECK(dhcp_message_get_ip4(&m, DHCP_MASK, &mask));
	CHECK_EQ(ip4_get(mask), 0xffffff00);
	CHECK(dhcp_message_get32(&m, DHCP_LEASE_TIME, &t) && t == 3600);
	CHECK(dhcp_message_get16(&m, DHCP_MTU, &mtu) && mtu == 1500);
	CHECK(dhcp_message_get8(&m, DHCP_TYPE, &type) && type == 5);
	CHECK(!dhcp_message_has(&m, (enum dhcp_code)77)); /* behind the end */
	CHECK(!dhcp_message_has(&m, DHCP_END) && !dhcp_message_has(&m, DHCP_PAD));
	CHECK(!dhcp_message_get32(&m, DHCP_MTU, &t) && t == 3600); /* two bytes, not four */
	CHECK(!dhcp_message_get16(&m, DHCP_LEASE_TIME, &mtu) && mtu == 1500);
	CHECK(!dhcp_message_read(&m, data, WITH(53, 1, 1))); /* no end option */
	CHECK(!dhcp_message_read(&m, data, WITH(53, 1, 1, 0)));
}

static void bad_messages_are_refused(void)
{
	struct dhcp_hdr *h = (struct dhcp_hdr *)data;
	uint32_t n = WITH(53, 1, 5, 255);
	CHECK_STR(dhcp_message_read(&m, data, sizeof *h - 1), "too short");
	CHECK_STR(dhcp_message_read(&m, data, 0), "too short");
	CHECK_STR(dhcp_message_read(&m, data, sizeof *h), "bad message type");
	h->cookie.b[3]++;
	CHECK_STR(dhcp_message_read(&m, data, n), "no DHCP cookie");
	n = WITH(53, 1, 5, 255);
	h->htype = 6;
	CHECK_STR(dhcp_message_read(&m, data, n), "not of Ethernet");
	n = WITH(53, 1, 5, 255);
	h->hlen = 16;
	CHECK_STR(dhcp_message_read(&m, data, n), "not of Ethernet");
	n = WITH(53, 1, 5, 255);
	h->op = 3;
	CHECK_STR(dhcp_message_read(&m, data, n), "bad operation");
	CHECK_STR(dhcp_message_read(&m, data, WITH(53, 1, 0)), "bad message type");
	CHECK_STR(dhcp_message_read(&m, data, WITH(53, 1, 9)), "bad message type");
	CHECK_STR(dhcp_message_read(&m, data, WITH(53, 2, 5, 5)), "bad message type");
	CHECK_STR(dhcp_message_read(&m, data, WITH(53, 1, 5, 53, 1, 5)), "bad message type");
	static const char *const behind = "option behind the end of the message";
	CHECK_STR(dhcp_message_read(&m, data, WITH(53, 1)), behind);
	CHECK_STR(dhcp_message_read(&m, data, WITH(53)), behind);
	CHECK_STR(dhcp_message_read(&m, data, WITH(53, 1, 5, 1, 4, 1, 2, 3)), behind);
	CHECK_STR(dhcp_message_read(&m, data, WITH(53, 1, 5, 80)), behind);
	CHECK(!dhcp_message_read(&m, data, WITH(53, 1, 5, 80, 0)));
}

/* RFC 3396 section 5: the field of options, then `file`, then `sname`. */
static void rfc3396_pieces_are_joined_in_order(void)
{
	struct dhcp_hdr *h = (struct dhcp_hdr *)data;
	uint32_t n = WITH(56, 1, 'a', 53, 1, 6, 56, 2, 'b', 'c', 56, 0, 52, 1, 3, 255), len;
	uint8_t got[8] = {0};
	memcpy(h->sname, (const uint8_t[]){56, 1, 'e', 255, 56, 1, 'x'}, 7);
	memcpy(h->file, (const uint8_t[]){0, 56, 1, 'd', 52, 1, 9}, 7);
	CHECK(!dhcp_message_read(&m, data, n));
	CHECK(dhcp_message_get(&m, DHCP_MESSAGE, got, sizeof got, &len));
	CHECK_EQ(len, 5);
	CHECK_STR((char *)got, "abcde");
	memset(got, 0, sizeof got);
	CHECK(dhcp_message_get(&m, DHCP_MESSAGE, got, 2, &len));
	CHECK_EQ(len, 5);
	CHECK_STR((char *)got, "ab");
}

static void overload_is_checked(void)
{
	struct dhcp_hdr *h = (struct dhcp_hdr *)data;
	uint32_t n, len;
	CHECK_STR(dhcp_message_read(&m, data, WITH(53, 1, 6, 52, 1, 0)), "bad option overload");
	CHECK_STR(dhcp_message_read(&m, data, WITH(53, 1, 6, 52, 1, 4)), "bad option overload");
	CHECK_STR(dhcp_message_read(&m, data, WITH(53, 1, 6, 52, 2, 1, 1)), "bad option overload");
	CHECK_STR(dhcp_message_read(&m, data, WITH(53, 1, 6, 52, 0)), "bad option overload");
	n = WITH(53, 1, 6, 52, 1, 2, 255);
	memcpy(h->sname, (const uint8_t[]){56, 62}, 2); /* up to the last byte */
	CHECK(!dhcp_message_read(&m, data, n));
	CHECK(dhcp_message_get(&m, DHCP_MESSAGE, NULL, 0, &len) && len == 62);
	memcpy(h->sname, (const uint8_t[]){56, 63}, 2);
	CHECK_STR(dhcp_message_read(&m, data, n), "option behind the end of its field");
	n = WITH(53, 1, 6, 52, 1, 1, 255); /* only `file` */
	memcpy(h->sname, (const uint8_t[]){56, 63}, 2);
	memcpy(h->file, (const uint8_t[]){56, 126}, 2);
	CHECK(!dhcp_message_read(&m, data, n));
	CHECK(dhcp_message_get(&m, DHCP_MESSAGE, NULL, 0, &len) && len == 126);
}

static void what_is_built_reads_back(void)
{
	struct dhcp_build b;
	struct dhcp_hdr *h = dhcp_build_start(&b, data, 548, DHCP_BOOTREQUEST, DHCP_REQUEST, false);
	uint16_t size;
	uint32_t t, len;
	ip4 a;
	uint8_t byte;
	h->xid = be32_of(7);
	CHECK(dhcp_build_put16(&b, DHCP_MAX_SIZE, 1500));
	CHECK(dhcp_build_put32(&b, DHCP_LEASE_TIME, 3600));
	CHECK(dhcp_build_put_ip4(&b, DHCP_ADDRESS, ip4_of(0xc0000201)));
	CHECK(dhcp_build_put8(&b, (enum dhcp_code)19, 1));
	CHECK(dhcp_build_put(&b, DHCP_RAPID_COMMIT, NULL, 0));
	CHECK_EQ(dhcp_build_end(&b), DHCP_LEN_LEAST);
	CHECK(!dhcp_message_read(&m, data, DHCP_LEN_LEAST));
	CHECK_EQ(m.hdr->op, DHCP_BOOTREQUEST);
	CHECK_EQ(be32_get(m.hdr->xid), 7);
	CHECK_EQ(m.type, DHCP_REQUEST);
	CHECK(dhcp_message_get16(&m, DHCP_MAX_SIZE, &size) && size == 1500);
	CHECK(dhcp_message_get32(&m, DHCP_LEASE_TIME, &t) && t == 3600);
	CHECK(dhcp_message_get_ip4(&m, DHCP_ADDRESS, &a) && ip4_get(a) == 0xc0000201);
	CHECK(dhcp_message_get8(&m, (enum dhcp_code)19, &byte) && byte == 1);
	CHECK(dhcp_message_get(&m, DHCP_RAPID_COMMIT, NULL, 0, &len) && len == 0);
}

static void what_has_no_room_is_left_out(void)
{
	struct dhcp_build b;
	static const uint8_t long_one[400];
	uint32_t len;
	dhcp_build_start(&b, data, 548, DHCP_BOOTREPLY, DHCP_ACK, true);
	CHECK(!dhcp_build_put(&b, DHCP_CLASSLESS, long_one, 400)); /* 255 + 145: no field has 145 */
	CHECK(dhcp_build_put(&b, DHCP_DOMAIN, long_one, 250));
	CHECK(dhcp_build_put(&b, DHCP_SEARCH, long_one, 120)); /* to `file` */
	CHECK(dhcp_build_put(&b, DHCP_PORTAL, long_one, 61));  /* to `sname`, to the last byte */
	CHECK(!dhcp_build_put(&b, DHCP_MESSAGE, long_one, 48));
	CHECK(dhcp_build_put(&b, DHCP_MESSAGE, long_one, 47));
	CHECK(dhcp_build_put(&b, (enum dhcp_code)200, long_one, 3));
	CHECK(!dhcp_build_put(&b, (enum dhcp_code)201, long_one, 1));
	CHECK_EQ(dhcp_build_end(&b), 548);
	CHECK(!dhcp_message_read(&m, data, 548));
	CHECK_EQ(m.n_areas, 3);
	CHECK(dhcp_message_get(&m, DHCP_SEARCH, NULL, 0, &len) && len == 120);
	CHECK(dhcp_message_get(&m, DHCP_PORTAL, NULL, 0, &len) && len == 61);
	CHECK(!dhcp_message_has(&m, DHCP_CLASSLESS));

	dhcp_build_start(&b, data, 548, DHCP_BOOTREPLY, DHCP_ACK, true);
	CHECK(!dhcp_build_put(&b, DHCP_CLASSLESS, long_one, 400));
	dhcp_build_end(&b);
	CHECK(!memcmp(((struct dhcp_hdr *)data)->file, long_one, 128));
}

/* Any sequence of options, with and without overload, reads back as it was put. */
static void rfc3396_random_options_read_back(void)
{
	static struct rng rng;
	static uint8_t value[256][700], got[700];
	static uint32_t had[256];
	for (uint32_t round = 0; round < 2000; round++) {
		struct dhcp_build b;
		uint32_t size = DHCP_LEN_LEAST + rng_below(&rng, sizeof data - DHCP_LEN_LEAST + 1);
		uint32_t len;
		memset(had, 0xff, sizeof had);
		dhcp_build_start(&b, data, size, DHCP_BOOTREPLY, DHCP_OFFER, round & 1);
		for (uint32_t i = 0; i < 30; i++) {
			uint32_t code = 60 + rng_below(&rng, 190);
			uint32_t n = rng_below(&rng, i % 8 ? 40 : 700);
			for (uint32_t k = 0; k < n; k++)
				value[code][k] = (uint8_t)rng_u32(&rng);
			if (had[code] == UINT32_MAX &&
			    dhcp_build_put(&b, (enum dhcp_code)code, value[code], n))
				had[code] = n;
			else if (had[code] != UINT32_MAX)
				had[code] = UINT32_MAX - 1; /* value overwritten */
		}
		uint32_t total = dhcp_build_end(&b);
		CHECK(total <= size);
		CHECK(!dhcp_message_read(&m, data, total));
		for (uint32_t code = 60; code < 250; code++) {
			bool there =
			        dhcp_message_get(&m, (enum dhcp_code)code, got, sizeof got, &len);
			CHECK_EQ(there, had[code] != UINT32_MAX);
			if (there && had[code] != UINT32_MAX - 1) {
				CHECK_EQ(len, had[code]);
				CHECK(!memcmp(got, value[code], len));
			}
		}
	}
}

int main(void)
{
	TEST(good_messages_are_read);
	TEST(bad_messages_are_refused);
	TEST(rfc3396_pieces_are_joined_in_order);
	TEST(overload_is_checked);
	TEST(what_is_built_reads_back);
	TEST(what_has_no_room_is_left_out);
	TEST(rfc3396_random_options_read_back);
	return tap_done();
}
