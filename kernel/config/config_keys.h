/* The table of configuration keys, and reading and printing of their values.
 * Between config.c (lines, words, who wins) and config_keys.c only. */
#ifndef KERNEL_CONFIG_CONFIG_KEYS_H
#define KERNEL_CONFIG_CONFIG_KEYS_H

#include "kernel/config/config.h"

/* Some characters of a text; not NUL-terminated. */
struct slice {
	const char *at;
	size_t len;
};

struct config_type;

struct config_key {
	const char *name;
	const struct config_type *type;
	const char *initial; /* the default as text; NULL: not set */
	uint16_t offset;     /* of the value, or of the list, in struct config */
	uint16_t count;      /* of the list's uint32_t counter; 0: does not repeat */
	uint16_t flag;       /* of the bool that says the value is set; 0: none */
	uint32_t min, max;   /* of a number; max of a list: how many fit */
};

/* Any one value while it is read. */
union config_value {
	char name[CONFIG_NAME];
	char domain[CONFIG_DOMAIN];
	struct config_nic nic;
	struct prefix prefix;
	struct addr addr;
	struct config_route route;
	struct config_neighbour neighbour;
	struct config_pool pool;
	struct config_forward forward;
	struct config_net4 net4;
	struct config_map map;
	struct config_share share;
	struct config_server server;
	struct config_map64 map64;
	ip4 v4;
	ip6 v6;
	uint32_t number;
	bool on;
};

/* Where a value comes from, for the errors about it. */
struct config_source {
	struct config *c;
	const char *where;
	const struct config_key *key;
};

/* A kind of value: its size in struct config, and its two text functions, which
 * undo each other. `parse` sets *out or adds an error and gives false; `print`
 * writes the text (room: size) and gives false when there is nothing to print. */
struct config_type {
	size_t size;
	bool (*parse)(const struct config_source *s, struct slice text, union config_value *out);
	bool (*print)(const union config_value *v, char *buf, size_t size);
};

/* Adds an error about a value and gives false. */
#define CONFIG_BAD(s, ...) (config_fail((s)->c, (s)->where, __VA_ARGS__), false)

/* The kinds of value that only the NAT has (config_nat.c). */
extern const struct config_type config_pool, config_forward, config_filtering, config_inside;

/* Those of router advertisements and of the tunnels (config_tun.c). */
extern const struct config_type config_server6, config_domain, config_pref64;
extern const struct config_type config_host4, config_native, config_field, config_6rd_prefix;

/* Those of the translator (config_ivi.c). */
extern const struct config_type config_net6, config_net4, config_map, config_share, config_icmp;
extern const struct config_type config_format, config_zero, config_tos;
/* Those of the DNS64 server (config_dns64.c). */
extern const struct config_type config_server, config_selection, config_yes, config_try;
extern const struct config_type config_prefix64, config_cut6, config_cut, config_map64,
        config_on_error;

/* A word out of `n`: *out becomes its place among them. */
bool config_choice(const struct config_source *s, struct slice text, const char *const *names,
                   uint32_t n, uint32_t *out);

/* What an IPv4 address is when it cannot be that of one host; NULL when it can. */
const char *config_not_unicast4(ip4 a);

/* The same of an address of either family. */
const char *config_not_unicast(const struct addr *a);

/* True when the two are the same text. */
bool config_slice_is(struct slice a, const char *b);

extern const struct config_key config_key[];
extern const uint32_t config_n_keys;

/* Where the i-th value of a key stands (0 for one that does not repeat). */
void *config_slot(struct config *c, const struct config_key *key, uint32_t i);

/* Takes the next word, separated by spaces or tabs, off the front of *text;
 * its length is 0 when there is none left. */
struct slice config_word(struct slice *text);

/* Keeps the name most like `text` of those it is shown: *best is NULL at first,
 * *distance is that of *best. */
void config_nearer(struct slice text, const char *name, const char **best, uint32_t *distance);

#endif
