/* apps/nat/nat_table.c: which port and which external address replace those that are in use
 * (RFC 4787 REQ-2 to REQ-4, RFC 7857 section 4). */
#include "apps/nat/nat_table.h"
#include "kernel/seam/io.h"
#include "tests/host/nat_check.h"

#include "tests/tap.h"

enum { LOW = 1024, HIGH = 65536 - LOW };
static struct nat_table table;
static struct rng rng;

static void start(uint32_t size, uint32_t externals)
{
	static uint32_t seed;
	const struct nat_range range = {0xcb007102, 0xcb007102 + externals - 1, 0};
	seed++;
	host_arena(64 << 20);
	memset(&rng, 0, sizeof rng);
	rng_seed(&rng, &seed, sizeof seed);
	const char *wrong = nat_table_init(&table, "nat", size, &range, 1, &rng);
	CHECK_STR(wrong ? wrong : "fine", "fine");
}

static void consistent(void)
{
	const char *bad = nat_check(&table, NULL);
	CHECK_STR(bad ? bad : "consistent", "consistent");
}

/* A mapping with an answered session; NULL when there is none. */
static struct nat_mapping *open_one(uint8_t proto, uint32_t in_ip, uint16_t in_port)
{
	enum nat_lack lack;
	struct nat_mapping *m = nat_mapping_new(&table, proto, in_ip, in_port, &lack);
	struct nat_session *s = m ? nat_session_new(&table, m, 2, 3, NAT_OPEN, 100) : NULL;
	if (s)
		s->flags |= NAT_ANSWERED;
	else
		CHECK(m == NULL && lack == NAT_LACKS_PORT);
	return s ? m : NULL;
}

/* Opens a session by a port (host order); gives the external port, 0 when there is none. */
static uint32_t port_for(uint32_t in_ip, uint32_t wanted)
{
	const struct nat_mapping *m = open_one(NAT_UDP, in_ip, swap16((uint16_t)wanted));
	return m ? swap16(m->ext_port) : 0;
}

/* Hosts with one port below 1024: ports of the same parity first, then those of the other
 * one, then the ports from 1024 on. */
static void a_low_port_falls_back(void)
{
	for (uint32_t wanted = 122; wanted <= 123; wanted++) {
		unsigned wrong = 0, same = wanted % 2 ? 512 : 511;
		start(70000, 1);
		for (uint32_t n = 0; n < 65535; n++) {
			uint32_t port = port_for(n + 1, wanted);
			bool low = port < LOW, parity = port % 2 == wanted % 2;
			wrong += port == 0 || (n < same && !(low && parity)) ||
			         (n >= same && n < 1023 && !low) ||
			         (n >= 1023 && (low || parity != (n < 1023 + HIGH / 2)));
		}
		CHECK_EQ(wrong, 0);
		CHECK_EQ(port_for(70000, wanted), 0);
		consistent();
	}
}

/* Hosts with one port from 1024 on: the same parity, then the other one. They get no port
 * below 1024, because some services trust these. */
static void a_high_port_falls_back(void)
{
	for (uint32_t wanted = 5060; wanted <= 5061; wanted++) {
		unsigned wrong = 0;
		start(70000, 1);
		for (uint32_t n = 0; n < HIGH; n++) {
			uint32_t port = port_for(n + 1, wanted);
			wrong += port < LOW || (port % 2 == wanted % 2) != (n < HIGH / 2);
		}
		CHECK_EQ(wrong, 0);
		CHECK_EQ(port_for(70000, wanted), 0);
		CHECK_EQ(port_for(70000, 123), 123);
		consistent();
	}
}

/* A host with one session takes all ports of its address; gives that address. */
static uint32_t use_up_an_address(uint8_t proto)
{
	const struct nat_mapping *m = open_one(proto, 1, swap16(1));
	for (uint32_t port = 0; port < 65536; port++)
		if (port != 1 && (port != 0 || proto != NAT_ICMP))
			(void)open_one(proto, 1, swap16((uint16_t)port));
	uint32_t full = m ? m->external : NAT_NONE, left = 0;
	for (uint32_t c = 0; c < NAT_PORT_CLASSES && m; c++)
		left += table.external[full].n_free[proto][c];
	CHECK_EQ(left, 0);
	return full;
}

/* A new host gets an address that has a port for it, whichever address it would have got
 * otherwise. A host that has an address keeps it, and is refused there. */
static void a_new_host_gets_an_address_with_ports(void)
{
	for (uint8_t proto = 0; proto < NAT_WITH_PORTS; proto++) {
		start(140000, 4);
		for (uint32_t host = 2; host < 40; host++) /* these hosts hold other mappings */
			CHECK(open_one((uint8_t)((proto + 1) % NAT_WITH_PORTS), host, swap16(9)) !=
			      NULL);
		uint32_t full = use_up_an_address(proto), there = 0, refused = 0;
		for (uint32_t host = 2; host < 40; host++) {
			there += nat_external_of(&table, host) == full;
			const struct nat_mapping *m = open_one(proto, host, swap16(9));
			refused += m == NULL;
			CHECK(!m || m->external == nat_external_of(&table, host));
		}
		CHECK(there > 0 && refused == there);
		for (uint32_t host = 100; host < 400; host++) {
			const struct nat_mapping *m = open_one(proto, host, swap16(9));
			CHECK(m && m->external != full);
		}
		for (uint32_t e = 0; e < 4; e++)
			CHECK(e == full || table.external[e].n_hosts > 95);
		consistent();
	}
}

/* An address without low ports is not used up: other ports replace them. */
static void an_address_is_used_up_with_all_replacements(void)
{
	start(140000, 2);
	for (uint32_t port = 1; port < LOW; port++)
		CHECK_EQ(port_for(1, port), port);
	uint32_t full = nat_external_of(&table, 1), there = 0;
	for (uint32_t host = 2; host < 100; host++) {
		CHECK(port_for(host, 80) != 0);
		there += nat_external_of(&table, host) == full;
	}
	CHECK(there > 20);
	/* An address without high ports is used up for a host that wants a high one. */
	for (uint32_t port = LOW; port < 65536; port++)
		(void)port_for(1, port);
	for (uint32_t host = 200; host < 300; host++) {
		CHECK(port_for(host, 8080) >= LOW);
		CHECK(nat_external_of(&table, host) != full);
	}
}

/* When all addresses are used up, the result is the same as with one address. */
static void all_addresses_used_up(void)
{
	start(140000, 2);
	uint32_t first = use_up_an_address(NAT_UDP), host = 2;
	CHECK(port_for(host, 1) == 1 && nat_external_of(&table, host) != first);
	for (uint32_t port = 2; port < 65536; port++)
		CHECK_EQ(port_for(host, port), port);
	for (uint32_t n = 0; n < 20; n++)
		CHECK_EQ(port_for(1000 + n, 5000), 0);
	CHECK_EQ(table.n_hosts, 2);
	consistent();
}

static struct nat_session *other(uint32_t in_ip, uint16_t ip_proto, uint32_t rem_ip,
                                 enum nat_lack *lack)
{
	struct nat_mapping *m = nat_mapping_other(&table, in_ip, ip_proto, rem_ip, lack);
	return m ? nat_session_new(&table, m, rem_ip, 0, NAT_OPEN, 100) : NULL;
}

/* Protocols without ports: as many hosts with one remote address as there are external
 * addresses, and never two with one key. */
static void a_key_belongs_to_one_host(void)
{
	enum nat_lack lack = NAT_HAS_ALL;
	start(2000, 8);
	for (uint32_t host = 1; host <= 8; host++)
		CHECK(other(host, 47, 77, &lack) != NULL);
	for (uint32_t e = 0; e < 8; e++)
		CHECK_EQ(table.external[e].n_hosts, 1);
	CHECK(other(9, 47, 77, &lack) == NULL && lack == NAT_LACKS_KEY);
	CHECK_EQ(table.n_hosts, 8);
	CHECK_EQ(table.n_mappings, 8);
	CHECK(other(9, 50, 77, &lack) && other(10, 47, 78, &lack));
	/* Host 9 has an address by now, at which another host has that key. */
	CHECK(other(9, 47, 77, &lack) == NULL && lack == NAT_LACKS_KEY);
	nat_session_drop(&table, nat_session_find(&table, NAT_OTHER, table.external[3].ip, 77, 47));
	CHECK(other(11, 47, 77, &lack) != NULL);
	CHECK_EQ(nat_external_of(&table, 11), 3);
	consistent();
}

int main(void)
{
	TEST(a_low_port_falls_back);
	TEST(a_high_port_falls_back);
	TEST(a_new_host_gets_an_address_with_ports);
	TEST(an_address_is_used_up_with_all_replacements);
	TEST(all_addresses_used_up);
	TEST(a_key_belongs_to_one_host);
	return tap_done();
}
