/* See config_keys.h. The keys are those of docs/interface.md in its order; a
 * new key is one line of the table below, a new kind of value one pair of
 * functions.
 *
 * Only the form of a value is checked here. Whether an application has all it
 * needs, and whether a NIC is there, is for others to say (config_fail). */
#include "kernel/config/config_keys.h"

#include "kernel/lib/fmt.h"

/* Adds an error about the value and is false, so that it can be returned. */
#define BAD CONFIG_BAD

/* --- words and names ---------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

struct slice config_word(struct slice *text)
{
	while (text->len > 0 && is_space(*text->at)) {
		text->at++;
		text->len--;
	}
	struct slice word = {text->at, 0};
	while (word.len < text->len && !is_space(word.at[word.len]))
		word.len++;
	text->at += word.len;
	text->len -= word.len;
	return word;
}

bool config_slice_is(struct slice s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

/* Fewest characters to insert, remove or replace to make `b` of `a`, of which
 * only the beginning counts when it is longer than any name. */
static uint32_t distance(struct slice a, const char *b)
{
	uint32_t row[CONFIG_NAME + 1];
	uint32_t n = min_u32((uint32_t)strlen(b), CONFIG_NAME);
	uint32_t len = a.len < CONFIG_NAME ? (uint32_t)a.len : CONFIG_NAME;
	for (uint32_t j = 0; j <= n; j++)
		row[j] = j;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t diagonal = row[0];
		row[0] = i + 1;
		for (uint32_t j = 1; j <= n; j++) {
			uint32_t replaced = diagonal + (a.at[i] != b[j - 1]);
			diagonal = row[j];
			row[j] = min_u32(replaced, min_u32(row[j], row[j - 1]) + 1);
		}
	}
	return row[n];
}

void config_nearer(struct slice text, const char *name, const char **best, uint32_t *at)
{
	uint32_t d = distance(text, name);
	if (*best && d >= *at)
		return;
	*best = name;
	*at = d;
}

/* --- addresses ------------------------------------------------------------------ */

const char *config_not_unicast4(ip4 a)
{
	switch (a.b[0]) {
	case 0:
		return "not a host's address";
	case 127:
		return "a loopback address";
	default:
		break;
	}
	if (ip4_get(a) == 0xffffffff)
		return "the broadcast address";
	return a.b[0] >= 240 ? "a reserved address" : a.b[0] >= 224 ? "a multicast address" : NULL;
}

const char *config_not_unicast(const struct addr *a)
{
	static const uint8_t zeros[15], mapped[12] = {[10] = 0xff, [11] = 0xff};
	if (!a->is6)
		return config_not_unicast4(a->v4);
	if (a->v6.b[0] == 0xff)
		return "a multicast address";
	if (memcmp(a->v6.b, mapped, sizeof mapped) == 0)
		return "an IPv4 address in IPv6 form";
	if (memcmp(a->v6.b, zeros, sizeof zeros) != 0 || a->v6.b[15] > 1)
		return NULL;
	return a->v6.b[15] ? "the loopback address" : "not a host's address";
}

static bool parse_unicast(const struct config_source *s, struct slice text, struct addr *out)
{
	char shown[FMT_IP6];
	if (!addr_any(text.at, text.len, out))
		return BAD(s, "%s: expected an address, such as 192.0.2.1 or 2001:db8::1",
		           s->key->name);
	const char *what = config_not_unicast(out);
	if (what)
		return BAD(s, "%s: %s is %s", s->key->name, addr_text(shown, out), what);
	return true;
}

static bool parse_station(const struct config_source *s, struct slice text, mac *out)
{
	static const mac zero;
	if (!addr_mac(text.at, text.len, out))
		return BAD(s, "%s: expected a MAC address, such as 52:54:00:12:34:56",
		           s->key->name);
	if (mac_is_group(out) || mac_eq(out, &zero))
		return BAD(s, "%s: the MAC address is not that of one station", s->key->name);
	return true;
}

/* What the bits behind the prefix length are when no host may have them. */
static const char *bad_host_part(const struct prefix *p)
{
	if (p->len == 0)
		return "a prefix length of 0 leaves no network";
	if (!p->addr.is6) {
		uint32_t mask = addr_mask4(p->len), host = ip4_get(p->addr.v4) & ~mask;
		if (p->len >= 31)
			return NULL;
		if (host == 0)
			return "the host part is zero: the address names the network";
		return host == ~mask ? "the host part is all ones: the broadcast address" : NULL;
	}
	if (p->len >= 127)
		return NULL;
	uint8_t host = p->addr.v6.b[p->len / 8] & (uint8_t)(0xff >> p->len % 8);
	for (unsigned i = p->len / 8u + 1; i < 16; i++)
		host |= p->addr.v6.b[i];
	return host == 0 ? "the host part is zero: the address of any router" : NULL;
}

/* --- words of a set --------------------------------------------------------------- */

bool config_choice(const struct config_source *s, struct slice text, const char *const *names,
                   uint32_t n, uint32_t *out)
{
	char list[80];
	size_t used = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (config_slice_is(text, names[i])) {
			*out = i;
			return true;
		}
		used += fmt(list + used, sizeof list - used, "%s%s",
		            i == 0       ? ""
		            : i == n - 1 ? " or "
		                         : ", ",
		            names[i]);
	}
	return BAD(s, "%s: expected %s", s->key->name, list);
}

/* --- pairs: text to value, value to text ------------------------------------------ */

static bool parse_name(const struct config_source *s, struct slice text, union config_value *out)
{
	bool ok = text.len < sizeof out->name;
	for (size_t i = 0; ok && i < text.len; i++) {
		char c = text.at[i], lower = c | 0x20;
		bool alnum = (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z');
		bool inside = i > 0 && i < text.len - 1;
		ok = alnum || (inside && (c == '-' || c == '.'));
	}
	if (!ok)
		return BAD(s, "%s: expected letters, digits, - and . (at most %u), such as gateway",
		           s->key->name, CONFIG_NAME - 1);
	memcpy(out->name, text.at, text.len);
	return true;
}

static bool parse_app(const struct config_source *s, struct slice text, union config_value *out)
{
	const struct config *c = s->c;
	const char *nearest = NULL;
	uint32_t d = 0;
	char list[CONFIG_NAME];
	size_t n = 0;
	list[0] = '\0';
	for (uint32_t i = 0; i < c->n_apps; i++) {
		if (config_slice_is(text, c->apps[i]) && text.len < sizeof out->name) {
			memcpy(out->name, text.at, text.len);
			return true;
		}
		config_nearer(text, c->apps[i], &nearest, &d);
		n += fmt(list + n, sizeof list - n, "%s%s", i ? ", " : "", c->apps[i]);
	}
	return BAD(s, "%s: unknown \"%.*s\", nearest: %s (there are: %s)", s->key->name,
	           (int)min_u32((uint32_t)text.len, 16), text.at, nearest ? nearest : "none", list);
}

static bool print_name(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%s", v->name) > 0;
}

static bool parse_nic(const struct config_source *s, struct slice text, union config_value *out)
{
	uint32_t index;
	mac address;
	if (text.len > 3 && memcmp(text.at, "nic", 3) == 0 &&
	    addr_u32(text.at + 3, text.len - 3, &index) && index <= UINT8_MAX) {
		out->nic.index = (uint8_t)index;
		return true;
	}
	if (!addr_mac(text.at, text.len, &address))
		return BAD(s, "%s: expected nic0, nic1, ... or a MAC address such as %s",
		           s->key->name, "52:54:00:12:34:56");
	out->nic.by_mac = true;
	return parse_station(s, text, &out->nic.address);
}

static bool print_nic(const union config_value *v, char *buf, size_t size)
{
	char address[FMT_MAC];
	if (v->nic.by_mac)
		return fmt(buf, size, "%s", fmt_mac(address, &v->nic.address)) > 0;
	return fmt(buf, size, "nic%u", v->nic.index) > 0;
}

static bool parse_own(const struct config_source *s, struct slice text, union config_value *out)
{
	struct prefix *p = &out->prefix;
	char shown[FMT_IP6 + 4];
	if (!addr_prefix(text.at, text.len, p))
		return BAD(s, "%s: expected ADDRESS/LENGTH, such as 192.168.1.1/24", s->key->name);
	const char *what = config_not_unicast(&p->addr);
	if (what)
		return BAD(s, "%s: %s is %s", s->key->name, addr_text(shown, &p->addr), what);
	what = bad_host_part(p);
	if (what)
		return BAD(s, "%s: %s: %s", s->key->name, addr_prefix_text(shown, p), what);
	return true;
}

static bool print_own(const union config_value *v, char *buf, size_t size)
{
	char text[FMT_IP6 + 4];
	return fmt(buf, size, "%s", addr_prefix_text(text, &v->prefix)) > 0;
}

static bool parse_addr(const struct config_source *s, struct slice text, union config_value *out)
{
	return parse_unicast(s, text, &out->addr);
}

static bool print_addr(const union config_value *v, char *buf, size_t size)
{
	char text[FMT_IP6];
	return fmt(buf, size, "%s", addr_text(text, &v->addr)) > 0;
}

static bool parse_route(const struct config_source *s, struct slice text, union config_value *out)
{
	struct slice to = config_word(&text), via = config_word(&text), router = config_word(&text);
	struct config_route *r = &out->route;
	if (!addr_prefix(to.at, to.len, &r->to) || !config_slice_is(via, "via") ||
	    router.len == 0 || config_word(&text).len > 0)
		return BAD(s, "%s: expected PREFIX via ADDRESS, such as 10.0.0.0/8 via 192.0.2.1",
		           s->key->name);
	if (!parse_unicast(s, router, &r->via))
		return false;
	if (r->to.addr.is6 != r->via.is6)
		return BAD(s, "%s: prefix and router are of different address families",
		           s->key->name);
	return true;
}

static bool print_route(const union config_value *v, char *buf, size_t size)
{
	char to[FMT_IP6 + 4], via[FMT_IP6];
	return fmt(buf, size, "%s via %s", addr_prefix_text(to, &v->route.to),
	           addr_text(via, &v->route.via)) > 0;
}

static bool parse_neighbour(const struct config_source *s, struct slice text,
                            union config_value *out)
{
	struct slice address = config_word(&text), station = config_word(&text);
	if (station.len == 0 || config_word(&text).len > 0)
		return BAD(s, "%s: expected ADDRESS MAC, such as 192.0.2.1 52:54:00:12:34:56",
		           s->key->name);
	return parse_unicast(s, address, &out->neighbour.addr) &&
	       parse_station(s, station, &out->neighbour.address);
}

static bool print_neighbour(const union config_value *v, char *buf, size_t size)
{
	char address[FMT_IP6], station[FMT_MAC];
	return fmt(buf, size, "%s %s", addr_text(address, &v->neighbour.addr),
	           fmt_mac(station, &v->neighbour.address)) > 0;
}

static bool parse_number(const struct config_source *s, struct slice text, union config_value *out)
{
	const struct config_key *k = s->key;
	uint32_t n;
	if (!addr_u32(text.at, text.len, &n) || n < k->min || n > k->max)
		return BAD(s, "%s: expected a number from %u to %u", k->name, k->min, k->max);
	out->number = n;
	return true;
}

static bool print_number(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%u", v->number) > 0;
}

/* Durations have a range in seconds and are kept in milliseconds. */
static bool parse_seconds(const struct config_source *s, struct slice text, union config_value *out)
{
	const struct config_key *k = s->key;
	uint32_t ms;
	if (!addr_ms(text.at, text.len, &ms) || ms < k->min * 1000 || ms > k->max * 1000)
		return BAD(s, "%s: expected seconds from %u to %u, such as %s", k->name, k->min,
		           k->max, "2.5");
	out->number = ms;
	return true;
}

/* A duration that may also be 0, which turns something off. */
static bool parse_seconds_or_off(const struct config_source *s, struct slice text,
                                 union config_value *out)
{
	const struct config_key *k = s->key;
	uint32_t ms;
	if (!addr_ms(text.at, text.len, &ms) ||
	    (ms != 0 && (ms < k->min * 1000 || ms > k->max * 1000)))
		return BAD(s, "%s: expected 0 (off) or seconds from %u to %u", k->name, k->min,
		           k->max);
	out->number = ms;
	return true;
}

static bool print_seconds(const union config_value *v, char *buf, size_t size)
{
	uint32_t ms = v->number % 1000;
	size_t n = fmt(buf, size, "%u", v->number / 1000);
	if (ms)
		n += fmt(buf + n, size - n, ".%03u", ms);
	while (ms && n > 0 && buf[n - 1] == '0')
		buf[--n] = '\0';
	return n > 0;
}

static bool parse_switch(const struct config_source *s, struct slice text, union config_value *out)
{
	out->on = config_slice_is(text, "on");
	if (!out->on && !config_slice_is(text, "off"))
		return BAD(s, "%s: expected on or off", s->key->name);
	return true;
}

static bool print_switch(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%s", v->on ? "on" : "off") > 0;
}

/* --- the table --------------------------------------------------------------------- */

static const struct config_type name = {CONFIG_NAME, parse_name, print_name};
static const struct config_type app = {CONFIG_NAME, parse_app, print_name};
static const struct config_type nic = {sizeof(struct config_nic), parse_nic, print_nic};
static const struct config_type own = {sizeof(struct prefix), parse_own, print_own};
static const struct config_type addr = {sizeof(struct addr), parse_addr, print_addr};
static const struct config_type route = {sizeof(struct config_route), parse_route, print_route};
static const struct config_type neighbour = {sizeof(struct config_neighbour), parse_neighbour,
                                             print_neighbour};
static const struct config_type number = {sizeof(uint32_t), parse_number, print_number};
static const struct config_type seconds = {sizeof(uint32_t), parse_seconds, print_seconds};
static const struct config_type seconds_or_off = {sizeof(uint32_t), parse_seconds_or_off,
                                                  print_seconds};
static const struct config_type on_off = {sizeof(bool), parse_switch, print_switch};

#define ONE(field)           .offset = offsetof(struct config, field)
#define LIST(field, counter) ONE(field), .count = offsetof(struct config, counter)
#define RANGE(low, high)     .min = (low), .max = (high)
/* Milliseconds in 32 bits reach 49 days. */
#define TIMEOUT RANGE(1, 4000000)

/* clang-format off */
const struct config_key config_key[] = {
	{"app", &app, NULL, ONE(app)},
	{"hostname", &name, "gateway", ONE(hostname)},
	{"lan", &nic, "nic0", ONE(iface[CONFIG_LAN].nic)},
	{"wan", &nic, "nic1", ONE(iface[CONFIG_WAN].nic)},
	{"lan.address", &own, NULL, LIST(iface[CONFIG_LAN].address, iface[CONFIG_LAN].n_address), RANGE(0, CONFIG_ADDRESSES)},
	{"wan.address", &own, NULL, LIST(iface[CONFIG_WAN].address, iface[CONFIG_WAN].n_address), RANGE(0, CONFIG_ADDRESSES)},
	{"lan.mtu", &number, "1500", ONE(iface[CONFIG_LAN].mtu), RANGE(1280, 1500)},
	{"wan.mtu", &number, "1500", ONE(iface[CONFIG_WAN].mtu), RANGE(1280, 1500)},
	{"gateway", &addr, NULL, LIST(gateway, n_gateway), RANGE(0, CONFIG_GATEWAYS)},
	{"route", &route, NULL, LIST(route, n_route), RANGE(0, CONFIG_ROUTES)},
	{"neighbour", &neighbour, NULL, LIST(neighbour, n_neighbour), RANGE(0, CONFIG_NEIGHBOURS)},
	{"nameserver", &config_server, NULL, LIST(dns64.server, dns64.n_server), RANGE(0, CONFIG_SERVERS)},
	{"lan.ra", &on_off, "on", ONE(ra.on)},
	{"lan.rdnss", &config_server6, NULL, LIST(ra.rdnss, ra.n_rdnss), RANGE(0, CONFIG_RDNSS)},
	{"lan.dnssl", &config_domain, NULL, LIST(ra.dnssl, ra.n_dnssl), RANGE(0, CONFIG_DNSSL)},
	{"lan.pref64", &config_pref64, NULL, LIST(ra.pref64, ra.n_pref64), RANGE(0, CONFIG_PREF64)},
	{"menu-timeout", &seconds, NULL, ONE(menu_timeout_ms), .flag = offsetof(struct config, has_menu_timeout), RANGE(0, 86400)},
	{"menu-default", &app, NULL, ONE(menu_default)},
	{"watchdog", &seconds_or_off, "10", ONE(watchdog_ms), RANGE(1, 86400)},
	{"debug", &on_off, "off", ONE(debug)},
	{"nat.pool", &config_pool, NULL, LIST(nat.pool, nat.n_pool), RANGE(0, CONFIG_POOLS)},
	{"nat.sessions", &number, "100000", ONE(nat.sessions), RANGE(1, 16000000)},
	{"nat.host-limit", &number, "0", ONE(nat.host_limit), RANGE(0, 16000000)},
	{"nat.filtering", &config_filtering, "address-dependent", ONE(nat.filtering)},
	{"nat.udp-timeout", &seconds, "300", ONE(nat.udp_timeout_ms), TIMEOUT},
	{"nat.tcp-timeout", &seconds, "7440", ONE(nat.tcp_timeout_ms), TIMEOUT},
	{"nat.tcp-transitory-timeout", &seconds, "240", ONE(nat.tcp_transitory_timeout_ms), TIMEOUT},
	{"nat.tcp-opening-timeout", &seconds, NULL, ONE(nat.tcp_opening_timeout_ms), .flag = offsetof(struct config, nat.has_tcp_opening_timeout), TIMEOUT},
	{"nat.icmp-timeout", &seconds, "60", ONE(nat.icmp_timeout_ms), TIMEOUT},
	{"nat.forward", &config_forward, NULL, LIST(nat.forward, nat.n_forward), RANGE(0, CONFIG_FORWARDS)},
	{"nat.protocol41", &config_inside, NULL, ONE(nat.protocol41), .flag = offsetof(struct config, nat.has_protocol41)},
	{"nat.hairpin", &on_off, "on", ONE(nat.hairpin)},
	{"6to4.address", &config_host4, NULL, ONE(tun.address), .flag = offsetof(struct config, tun.has_address)},
	{"6to4.subnet", &number, "1", ONE(tun.subnet), RANGE(0, 65535)},
	{"6to4.relay", &config_host4, NULL, ONE(tun.relay), .flag = offsetof(struct config, tun.has_relay)},
	{"6to4.native-from", &config_native, "any", ONE(tun.native_from)},
	{"6to4.mtu", &number, "1280", ONE(tun.mtu), RANGE(1280, 1480)},
	{"6to4.mss-clamp", &number, "0", ONE(tun.mss_clamp), RANGE(0, 65535)},
	{"6to4.dscp", &config_field, "copy", ONE(tun.dscp)},
	{"6to4.ecn", &config_field, "copy", ONE(tun.ecn)},
	{"6to4.nat", &on_off, "on", ONE(tun.nat)},
	{"6rd.prefix", &config_6rd_prefix, NULL, ONE(rd.prefix), .flag = offsetof(struct config, rd.has_prefix)},
	{"6rd.mask", &number, "0", ONE(rd.mask), RANGE(0, 32)},
	{"6rd.relay", &config_host4, NULL, ONE(rd.relay), .flag = offsetof(struct config, rd.has_relay)},
	{"ivi.prefix", &config_net6, NULL, ONE(ivi.prefix), .flag = offsetof(struct config, ivi.has_prefix)},
	{"ivi.format", &config_format, "ivi", ONE(ivi.format)},
	{"ivi.ipv4", &config_net4, NULL, LIST(ivi.ipv4, ivi.n_ipv4), RANGE(0, CONFIG_IVI_NETS)},
	{"ivi.map", &config_map, NULL, LIST(ivi.map, ivi.n_map), RANGE(0, CONFIG_IVI_MAPS)},
	{"ivi.share", &config_share, NULL, LIST(ivi.share, ivi.n_share), RANGE(0, CONFIG_IVI_SHARES)},
	{"ivi.icmp-source", &config_icmp, NULL, LIST(ivi.icmp_source, ivi.n_icmp_source), RANGE(0, CONFIG_IVI_ICMP)},
	{"ivi.icmp-interface", &on_off, "off", ONE(ivi.icmp_interface)},
	{"ivi.lowest-ipv6-mtu", &number, "1280", ONE(ivi.lowest_ipv6_mtu), RANGE(1280, 65535)},
	{"ivi.udp-zero-checksum", &config_zero, "compute", ONE(ivi.udp_zero_checksum)},
	{"ivi.errors", &on_off, "on", ONE(ivi.errors)},
	{"ivi.mss-clamp", &number, "0", ONE(ivi.mss_clamp), RANGE(0, 65535)},
	{"ivi.tos", &config_tos, "copy", ONE(ivi.tos)},
	{"selection-mode", &config_selection, "random", ONE(dns64.selection)},
	{"dns64-prefix", &config_prefix64, "64:ff9b::/96", LIST(dns64.prefix, dns64.n_prefix), RANGE(0, CONFIG_PREFIXES)},
	{"debugging", &config_yes, "no", ONE(dns64.debugging)},
	{"timeout-time", &config_try, "1.0", ONE(dns64.timeout_ms), RANGE(1, 32767999)},
	{"resend-attempts", &number, "2", ONE(dns64.resend), RANGE(0, 32767)},
	{"response-maxlength", &number, NULL, ONE(dns64.max_length), .flag = offsetof(struct config, dns64.has_max_length), RANGE(0, 65535)},
	{"port", &number, "53", ONE(dns64.port), RANGE(1, 65535)},
	{"num-threads", &number, NULL, ONE(dns64.threads), .flag = offsetof(struct config, dns64.has_threads), RANGE(0, UINT32_MAX)},
	{"dns64.exclude", &config_cut6, "::ffff:0:0/96", LIST(dns64.exclude, dns64.n_exclude), RANGE(0, CONFIG_RANGES)},
	{"dns64.always", &on_off, "off", ONE(dns64.always)},
	{"dns64.client", &config_cut, NULL, LIST(dns64.client, dns64.n_client), RANGE(0, CONFIG_CLIENTS)},
	{"dns64.cache", &number, "65536", ONE(dns64.cache), RANGE(0, 16000000)},
	{"dns64.map", &config_map64, NULL, LIST(dns64.map, dns64.n_map), RANGE(0, CONFIG_RANGES)},
	{"dns64.skip-name", &config_domain, NULL, LIST(dns64.skip_name, dns64.n_skip_name), RANGE(0, CONFIG_RANGES)},
	{"dns64.skip-client", &config_cut, NULL, LIST(dns64.skip_client, dns64.n_skip_client), RANGE(0, CONFIG_CLIENTS)},
	{"dns64.reverse", &on_off, "on", ONE(dns64.reverse)},
	{"dns64.on-error", &config_on_error, "synthesise", ONE(dns64.on_error)},
	{"dns64.stale", &seconds, "86400", ONE(dns64.stale_ms), RANGE(0, 4000000)},
	{"dns64.rate", &number, "0", ONE(dns64.rate), RANGE(0, 1000000)},
};
/* clang-format on */

const uint32_t config_n_keys = ARRAY_SIZE(config_key);

_Static_assert(ARRAY_SIZE(config_key) <= CONFIG_KEYS, "room in config.given and config.where");
_Static_assert(sizeof(struct config) <= UINT16_MAX, "offsets have 16 bits");
_Static_assert(offsetof(struct config, app) == 0, "no counter and no flag stands at offset 0");

void *config_slot(struct config *c, const struct config_key *key, uint32_t i)
{
	return (char *)c + key->offset + i * key->type->size;
}
