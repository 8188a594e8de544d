/* The configuration: text with `key value` lines and the loader's command line
 * with `key=value` words, read into one struct. The names are the contract of
 * docs/interface.md; keys that this version does not know are errors.
 *
 * All memory is in the struct; nothing is kept of the texts. */
#ifndef KERNEL_CONFIG_CONFIG_H
#define KERNEL_CONFIG_CONFIG_H

#include "kernel/lib/addr.h"

#define CONFIG_NAME       64
#define CONFIG_ADDRESSES  8
#define CONFIG_GATEWAYS   4
#define CONFIG_ROUTES     64
#define CONFIG_NEIGHBOURS 64
#define CONFIG_POOLS      16
#define CONFIG_FORWARDS   64
#define CONFIG_RDNSS      4
#define CONFIG_DNSSL      4
#define CONFIG_PREF64     4
#define CONFIG_IVI_NETS   32
#define CONFIG_IVI_MAPS   256
#define CONFIG_IVI_SHARES 16
#define CONFIG_IVI_ICMP   16
#define CONFIG_DOMAIN     254 /* characters of a domain name, and NUL (RFC 1035 section 3.1) */
#define CONFIG_SERVERS    16
#define CONFIG_PREFIXES   8
#define CONFIG_RANGES     32
#define CONFIG_CLIENTS    64
#define CONFIG_KEYS       96 /* at most */
#define CONFIG_ERRORS     16

enum { CONFIG_LAN, CONFIG_WAN, CONFIG_PORTS };

/* Which NIC a port uses: the index-th, or the one with an address. */
struct config_nic {
	bool by_mac;
	uint8_t index;
	mac address;
};

struct config_interface {
	struct config_nic nic;
	struct prefix address[CONFIG_ADDRESSES];
	uint32_t n_address;
	uint32_t mtu;
};

struct config_route {
	struct prefix to;
	struct addr via;
};

struct config_neighbour {
	struct addr addr;
	mac address;
};

enum nat_filtering {
	NAT_FILTER_ENDPOINT_INDEPENDENT,
	NAT_FILTER_ADDRESS_DEPENDENT,
	NAT_FILTER_ADDRESS_AND_PORT_DEPENDENT,
};

/* Public IPv4 addresses that follow each other. */
struct config_pool {
	ip4 first, last;
};

/* A public port that belongs to an inside endpoint. Host order. */
struct config_forward {
	bool tcp; /* else UDP */
	uint16_t public_port, inside_port;
	ip4 inside;
};

struct config_nat {
	struct config_pool pool[CONFIG_POOLS];
	uint32_t n_pool;
	struct config_forward forward[CONFIG_FORWARDS];
	uint32_t n_forward;
	uint32_t host_limit; /* 0: none */
	bool has_protocol41;
	ip4 protocol41;
	uint32_t sessions;
	uint32_t filtering; /* enum nat_filtering */
	uint32_t udp_timeout_ms;
	uint32_t tcp_timeout_ms;
	uint32_t tcp_transitory_timeout_ms;
	bool has_tcp_opening_timeout;    /* else the transitory one */
	uint32_t tcp_opening_timeout_ms; /* RFC 7857 section 2.1 */
	uint32_t icmp_timeout_ms;
	bool hairpin;
};

/* What router advertisements on the LAN say beside the prefix. */
struct config_ra {
	bool on;
	ip6 rdnss[CONFIG_RDNSS]; /* DNS servers, RFC 8106 */
	uint32_t n_rdnss;
	char dnssl[CONFIG_DNSSL][CONFIG_DOMAIN]; /* search domains, RFC 8106 */
	uint32_t n_dnssl;
	struct prefix pref64[CONFIG_PREF64]; /* NAT64 prefixes, RFC 8781 */
	uint32_t n_pref64;
};

enum tun_native { TUN_NATIVE_RELAY, TUN_NATIVE_ANY };
enum tun_field { TUN_COPY, TUN_ZERO }; /* of the inner traffic class into the outer header */

struct config_6to4 {
	bool has_address;
	ip4 address; /* the prefix is made from it */
	uint32_t subnet;
	bool has_relay;
	ip4 relay;
	uint32_t native_from; /* enum tun_native */
	uint32_t mtu;         /* of the tunnel */
	uint32_t mss_clamp;   /* 0: off */
	uint32_t dscp, ecn;   /* enum tun_field */
	bool nat;
};

struct config_6rd {
	bool has_prefix;
	struct prefix prefix;
	uint32_t mask; /* leading bits that all addresses of the domain share */
	bool has_relay;
	ip4 relay;
};

enum ivi_format { IVI_FORMAT_IVI, IVI_FORMAT_RFC6052 };
enum ivi_zero { IVI_ZERO_DROP, IVI_ZERO_COMPUTE };
#define IVI_TOS_COPY 256u

struct config_net4 {
	ip4 net;
	uint8_t len;
};

/* An explicit mapping (RFC 7757). */
struct config_map {
	ip4 net4;
	uint8_t len4, len6;
	ip6 net6;
};

/* IPv4 addresses that hosts share by port set (RFC 7597 section 5.1). */
struct config_share {
	ip4 net;
	uint8_t len;
	uint32_t ratio; /* hosts for each address, a power of two */
	uint32_t run;   /* ports in a row, a power of two */
};

struct config_ivi {
	bool has_prefix;
	struct prefix prefix;
	uint32_t format; /* enum ivi_format */
	struct config_net4 ipv4[CONFIG_IVI_NETS];
	uint32_t n_ipv4;
	struct config_map map[CONFIG_IVI_MAPS];
	uint32_t n_map;
	struct config_share share[CONFIG_IVI_SHARES];
	uint32_t n_share;
	struct addr icmp_source[CONFIG_IVI_ICMP];
	uint32_t n_icmp_source;
	bool icmp_interface; /* RFC 5837 object in errors from sources that have no mapping */
	uint32_t lowest_ipv6_mtu;
	uint32_t udp_zero_checksum; /* enum ivi_zero */
	uint32_t mss_clamp;         /* 0: off */
	uint32_t tos;               /* IVI_TOS_COPY, or the value */
	bool errors;
};

/* An upstream DNS server, or those that the DHCP lease names. */
struct config_server {
	bool lease;
	struct addr addr;
};

/* Which prefix stands in front of a range of IPv4 addresses; none: they are not
 * translated. */
struct config_map64 {
	struct prefix from;
	bool none;
	struct prefix to;
};

enum dns64_selection { DNS64_RANDOM, DNS64_ROUND_ROBIN };
enum dns64_on_error { DNS64_SYNTHESISE, DNS64_SERVFAIL };

struct config_dns64 {
	struct config_server server[CONFIG_SERVERS];
	uint32_t n_server;
	uint32_t selection; /* enum dns64_selection */
	bool debugging;
	uint32_t timeout_ms; /* of one try */
	uint32_t resend;     /* tries behind the first one */
	bool has_max_length;
	uint32_t max_length; /* of a UDP answer */
	uint32_t port;
	bool has_threads;
	uint32_t threads; /* of mtd64-ng; there are none here */
	struct prefix prefix[CONFIG_PREFIXES];
	uint32_t n_prefix;
	struct prefix exclude[CONFIG_RANGES];
	uint32_t n_exclude;
	bool always;
	struct prefix client[CONFIG_CLIENTS];
	uint32_t n_client;
	uint32_t cache; /* records */
	struct config_map64 map[CONFIG_RANGES];
	uint32_t n_map;
	char skip_name[CONFIG_RANGES][CONFIG_DOMAIN];
	uint32_t n_skip_name;
	struct prefix skip_client[CONFIG_CLIENTS];
	uint32_t n_skip_client;
	bool reverse;
	uint32_t on_error; /* enum dns64_on_error */
	uint32_t stale_ms;
	uint32_t rate; /* answers a second; 0: no limit */
};

/* One thing that is wrong. */
struct config_error {
	char where[48]; /* "gateway.conf:12" or "command line" */
	char what[112]; /* what is wrong, with the nearest known key */
};

struct config {
	char app[CONFIG_NAME]; /* empty: the menu asks */
	char hostname[CONFIG_NAME];
	struct config_interface iface[CONFIG_PORTS];
	struct addr gateway[CONFIG_GATEWAYS];
	uint32_t n_gateway;
	struct config_route route[CONFIG_ROUTES];
	uint32_t n_route;
	struct config_neighbour neighbour[CONFIG_NEIGHBOURS];
	uint32_t n_neighbour;
	bool has_menu_timeout;
	uint32_t menu_timeout_ms;
	char menu_default[CONFIG_NAME]; /* empty: none */
	uint32_t watchdog_ms;           /* 0: off */
	bool debug;
	struct config_nat nat;
	struct config_ra ra;
	struct config_6to4 tun;
	struct config_6rd rd;
	struct config_ivi ivi;
	struct config_dns64 dns64;

	/* How it was read. */
	const char *const *apps; /* names allowed for `app` */
	uint32_t n_apps;
	struct config_error error[CONFIG_ERRORS];
	uint32_t n_errors;           /* may exceed CONFIG_ERRORS; the later ones are only counted */
	uint8_t given[CONFIG_KEYS];  /* bits: in a file, on the command line */
	char nic_where[48];          /* where lan or wan was last set; empty: nowhere */
	char where[CONFIG_KEYS][48]; /* the same of each key */
};

/* Sets every default. `apps` are the names `app` and `menu-default` may have;
 * the caller keeps the array. */
void config_init(struct config *c, const char *const *apps, uint32_t n_apps);

/* Reads the loader's command line: words `key=value` ('+' in a value stands for
 * a space); words without '=' are logged and ignored. To be read before the
 * files, whose values for the same keys it then replaces (a repeatable key's
 * whole list). False when there are errors. */
bool config_cmdline(struct config *c, const char *line);

/* Reads a file's text; `name` is how errors call it. Several may follow each
 * other. False when there are errors. */
bool config_text(struct config *c, const char *name, const char *text, size_t len);

/* Checks what no single line shows: lan and wan are two NICs. To be called once
 * behind the last text. False when there is an error. */
bool config_check(struct config *c);

/* Adds an error that a later stage found (missing key, NIC not there, …). */
void config_fail(struct config *c, const char *where, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Where the key that a text begins with was last given: "gateway.conf:12", "command
 * line", or "gateway.conf" when it was not. Lives as long as *c. */
const char *config_where(const struct config *c, const char *text);

/* The configuration in force, line by line, in a form that can be loaded
 * again: *cursor is 0 at first; writes one line (no line end) into buf and
 * gives true, or false after the last. */
bool config_line(const struct config *c, uint32_t *cursor, char *buf, size_t size);

#endif
