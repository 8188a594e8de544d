/* How the owner of a configuration key declares it.
 *
 * A key has a name, a type, a default and a place for its value. The keys of one
 * owner form a section: a table of keys and one struct of values. The owner writes
 *
 *     struct lamp_config {
 *             uint32_t watts;
 *             ip4 switches[4];
 *             uint32_t n_switches;
 *     };
 *     #define ONE(field)           CONFIG_ONE(struct lamp_config, field)
 *     #define LIST(field, counter) CONFIG_LIST(struct lamp_config, field, counter)
 *     static const struct config_key key[] = {
 *             {"lamp.watts", &config_number, "60", ONE(watts), CONFIG_RANGE(1, 100),
 *              .about = "Power of the lamp, in watts."},
 *             {"lamp.switch", &config_ip4, NULL, LIST(switches, n_switches),
 *              .about = "Address of a host that may switch the lamp.", .without = "any host"},
 *     };
 *     const struct config_section lamp_section = CONFIG_SECTION(struct lamp_config, key);
 *
 * and reads the values with config_values(config, &lamp_section) (config.h). */
#ifndef KERNEL_CONFIG_CONFIG_KEY_H
#define KERNEL_CONFIG_CONFIG_KEY_H

#include "kernel/config/config_word.h"

#define CONFIG_VALUE 256u /* bytes of the largest value */

#define CONFIG_HELP 320u /* bytes of the longest text of config_key_help, with NUL */

struct config;
struct config_key;

/* Where a value comes from, for the errors about it. */
struct config_source {
	struct config *c;
	const char *where; /* such as "gateway.conf:12" */
	const struct config_key *key;
};

/* The type of a value, with two functions that undo each other.
 *
 * `parse` reads `text` into `out`, which has room for `size` bytes and is zero. False
 * when the text is wrong: then it has added an error (CONFIG_BAD). A list is parsed one
 * value at a time.
 *
 * `print` writes the value as NUL-terminated text into buf, which has room for `room`
 * bytes, and cuts what does not fit. False when the value has no text (an empty name). */
struct config_type {
	size_t size; /* bytes of one value in the owner's struct */
	bool (*parse)(const struct config_source *s, struct slice text, void *out);
	bool (*print)(const struct config_key *key, const void *value, char *buf, size_t room);
	/* What a value looks like, for people: "IPv4 address". NULL: the words of the key. */
	const char *form;
	bool ranged; /* `form` goes on with "from MIN to MAX", the key's range as it stands */
};

/* The initialiser of a config_type whose values have the C type `value`, and of one whose
 * values are numbers from the key's `min` to its `max`. */
#define CONFIG_TYPE(value, parse, print, form) CONFIG_TYPE_OF(value, parse, print, form, false)
#define CONFIG_TYPE_RANGED(value, parse, print, form) \
	CONFIG_TYPE_OF(value, parse, print, form, true)
#define CONFIG_TYPE_OF(value, parse, print, form, ranged)                                   \
	{                                                                                   \
		sizeof(struct {                                                             \
			_Static_assert(sizeof(value) <= CONFIG_VALUE, "fits CONFIG_VALUE"); \
			__typeof__(value) v;                                                \
		}),                                                                         \
		        parse, print, form, ranged                                          \
	}

/* One key. The CONFIG_ macros below fill in everything between `initial` and `about`. */
struct config_key {
	const char *name;
	const struct config_type *type;
	const char *initial;      /* the default, as `print` writes it; NULL: none */
	uint16_t offset;          /* of the value or of the list in the section's struct */
	uint16_t counter;         /* 1 + offset of the list's uint32_t counter; 0: no list */
	uint16_t flag;            /* 1 + offset of the bool that says it is set; 0: none */
	uint16_t most;            /* of a list: how many values it has room for */
	uint32_t min, max;        /* of a number; units are the type's */
	const char *const *words; /* of a config_choice: `max` words */
	const char *about;        /* what it means: one sentence in ASCII, at most 160 characters */
	/* What holds while the key is not given, where `initial` does not say it. NULL: `initial`
	 * says it, or nothing holds. */
	const char *without;
	/* Its owner follows a change while the gateway runs: it reads the value at each use, or in
	 * the forwarder's `tune`. Otherwise the value counts from the next start on. */
	bool live;
};

/* The place of a single value in a section's struct. */
#define CONFIG_ONE(type, field) .offset = offsetof(type, field)
/* The place of a list. `field` is an array, `n` the uint32_t that counts its values. */
#define CONFIG_LIST(type, field, n)                                                    \
	.offset = offsetof(type, field), .counter = (uint16_t)(1 + offsetof(type, n)), \
	.most = ARRAY_SIZE(((type *)0)->field)
/* The bool that becomes true when the key is set. */
#define CONFIG_FLAG(type, field) .flag = (uint16_t)(1 + offsetof(type, field))
/* The smallest and the largest number. */
#define CONFIG_RANGE(low, high) .min = (low), .max = (high)
/* The words of a config_choice; the value is the index of the word. */
#define CONFIG_WORDS(array) .words = (array), .max = ARRAY_SIZE(array)

/* All keys of one owner, and the struct of their values. */
struct config_section {
	const struct config_key *key;
	uint32_t n_keys;
	uint32_t size; /* bytes of the struct */
	/* Checks what no single line shows, after the last line was read. False when
	 * something is wrong: then it has added an error (config_fail). NULL: no check. */
	bool (*check)(struct config *c);
};

/* The initialiser of a section without a check. */
#define CONFIG_SECTION(type, keys)                                              \
	{                                                                       \
		.key = (keys), .n_keys = ARRAY_SIZE(keys), .size = sizeof(type) \
	}

/* Writes what a value of the key looks like, with its range or its words, how often the key may
 * be given, and its default, as "number from 1 to 100; default 60", into buf. CONFIG_HELP bytes are
 * enough for every key of the image. Gives the length of the text. */
size_t config_key_help(const struct config_key *key, char *buf, size_t size);

#endif
