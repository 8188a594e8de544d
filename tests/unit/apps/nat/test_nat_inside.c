/* apps/nat/nat_inside.c: numbers that stand for IPv6 hosts, and the hosts that they belong to. */
#include "apps/nat/nat_inside.h"

#include "kernel/lib/alloc.h"

#include "tests/tap.h"

static _Alignas(64) uint8_t arena[1 << 20];
static struct nat_insides t;
static struct rng rng;

static void start(uint32_t n, uint8_t host_len)
{
	memset(&t, 0, sizeof t);
	memset(arena, 0xee, sizeof arena);
	rng_seed(&rng, "inside", 6);
	alloc_reset();
	alloc_add(arena, sizeof arena);
	CHECK(nat_inside_init(&t, n, host_len, &rng));
}

/* The address of a host in a network. */
static ip6 address(uint8_t net, uint8_t host)
{
	return (ip6){{0x20, 1, 0x0d, 0xb8, 0, 0, 0, net, [15] = host}};
}

static void numbers(void)
{
	start(8, 128);
	ip6 a = address(1, 1), b = address(1, 2);
	CHECK_EQ(nat_inside_find(&t, &a), NAT_INSIDE_NONE);
	uint32_t x = nat_inside_get(&t, &a), y = nat_inside_get(&t, &b);
	CHECK(x != y && nat_inside_is6(x) && nat_inside_is6(y));
	CHECK(nat_inside_get(&t, &a) == x && nat_inside_find(&t, &b) == y);
	CHECK(ip6_eq(&nat_inside_of(&t, x)->addr, &a));
	CHECK_EQ(nat_inside_of(&t, x)->host, x);
	CHECK_EQ(t.n, 2);
	/* No IPv4 host has such an address: 240.0.0.0/4. */
	CHECK_EQ(x & 0xf0, 0xf0);
}

static void users(void)
{
	start(8, 64);
	ip6 a = address(1, 1), b = address(1, 2), other = address(2, 1);
	uint32_t x = nat_inside_get(&t, &a), y = nat_inside_get(&t, &b);
	uint32_t z = nat_inside_get(&t, &other);
	CHECK_EQ(nat_inside_of(&t, x)->host, nat_inside_of(&t, y)->host);
	CHECK(nat_inside_of(&t, x)->host != nat_inside_of(&t, z)->host);
	CHECK_EQ(nat_inside_host(&t, &a), nat_inside_of(&t, y)->host);
	nat_inside_hold(&t, x);
	nat_inside_hold(&t, x);
	nat_inside_tidy(&t, y); /* it has no user */
	CHECK_EQ(nat_inside_find(&t, &b), NAT_INSIDE_NONE);
	nat_inside_release(&t, x);
	CHECK_EQ(nat_inside_find(&t, &a), x);
	nat_inside_release(&t, x);
	CHECK_EQ(nat_inside_find(&t, &a), NAT_INSIDE_NONE);
	CHECK_EQ(nat_inside_host(&t, &a), NAT_INSIDE_NONE);
	CHECK_EQ(nat_inside_find(&t, &other), z);
	CHECK_EQ(t.n, 1);
}

/* The zero host of a network is not the network. */
static void network_address(void)
{
	start(8, 64);
	ip6 zero = address(1, 0), a = address(1, 1);
	uint32_t x = nat_inside_get(&t, &zero), y = nat_inside_get(&t, &a);
	CHECK(x != y && nat_inside_of(&t, x)->host != x);
	CHECK_EQ(nat_inside_of(&t, x)->host, nat_inside_of(&t, y)->host);
}

/* A full table gives no number, and the ones that become free again. */
static void full(void)
{
	for (uint8_t host_len = 64; host_len <= 128; host_len = (uint8_t)(host_len + 64)) {
		start(4, host_len);
		uint32_t number[4];
		for (uint8_t i = 0; i < 4; i++) {
			ip6 a = address(i, 1);
			number[i] = nat_inside_get(&t, &a);
			CHECK(number[i] != NAT_INSIDE_NONE);
			nat_inside_hold(&t, number[i]);
		}
		ip6 more = address(9, 1);
		CHECK_EQ(nat_inside_get(&t, &more), NAT_INSIDE_NONE);
		CHECK_EQ(t.n, 4);
		nat_inside_release(&t, number[2]);
		CHECK(nat_inside_get(&t, &more) != NAT_INSIDE_NONE);
		CHECK_EQ(t.n, 4);
	}
}

/* Sessions are counted by address and by station; those of addresses whose station is not known
 * together. An address takes its sessions along when its station is found. */
static void stations(void)
{
	start(8, 64);
	ip6 a = address(1, 1), b = address(1, 2), c = address(1, 3);
	uint32_t x = nat_inside_get(&t, &a), y = nat_inside_get(&t, &b), z = nat_inside_get(&t, &c);
	CHECK_EQ(t.n_stations, 0);
	for (unsigned i = 0; i < 5; i++)
		nat_inside_count(&t, x, 1);
	nat_inside_count(&t, y, 1);
	CHECK_EQ(t.n_stations, 1);
	CHECK_EQ(nat_inside_station_sessions(&t, z), 6);
	nat_inside_join(&t, x, NAT_STATIONS - 1); /* never station 0 */
	CHECK(nat_inside_of(&t, x)->station != 0);
	CHECK_EQ(nat_inside_station_sessions(&t, x), 5);
	CHECK_EQ(nat_inside_station_sessions(&t, y), 1);
	CHECK_EQ(t.n_stations, 2);
	nat_inside_join(&t, y, NAT_STATIONS - 1);
	CHECK_EQ(nat_inside_station_sessions(&t, x), 6);
	CHECK_EQ(nat_inside_station_sessions(&t, z), 0);
	CHECK_EQ(t.n_stations, 1);
	nat_inside_join(&t, z, NAT_STATIONS - 2);
	CHECK(nat_inside_of(&t, z)->station != nat_inside_of(&t, x)->station);
	nat_inside_count(&t, y, -1u);
	for (unsigned i = 0; i < 5; i++)
		nat_inside_count(&t, x, -1u);
	CHECK_EQ(nat_inside_of(&t, x)->n_sessions, 0);
	CHECK_EQ(nat_inside_station_sessions(&t, x), 0);
	CHECK_EQ(t.n_stations, 0);
}

int main(void)
{
	TEST(numbers);
	TEST(users);
	TEST(network_address);
	TEST(full);
	TEST(stations);
	return tap_done();
}
