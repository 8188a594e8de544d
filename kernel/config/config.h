/* The configuration: text with `key value` lines, and the loader's command line with
 * `key=value` words. What is read lies in one struct; nothing of the texts is kept.
 *
 * The parser knows no key. The owners of the keys declare them in sections
 * (config_key.h), and the caller of config_init says which sections there are. A key
 * that stands in no section is an error. */
#ifndef KERNEL_CONFIG_CONFIG_H
#define KERNEL_CONFIG_CONFIG_H

#include "kernel/config/config_key.h"

#define CONFIG_VALUES   114688u /* bytes of all sections' values at most */
#define CONFIG_SECTIONS 32u     /* at most */
#define CONFIG_KEYS     256u    /* in all sections at most */
#define CONFIG_ERRORS   16u     /* that are kept */
#define CONFIG_WHERE    48u     /* characters of a place, and NUL */

/* One error. */
struct config_error {
	char where[CONFIG_WHERE]; /* "gateway.conf:12" or "command line" */
	char what[112];           /* what is wrong; of an unknown key also the nearest one */
};

/* A key of the configuration, and where its value comes from. */
struct config_entry {
	const struct config_key *key;
	uint32_t values;          /* offset of its section's struct in config.values */
	uint32_t order;           /* the value that was set last has the largest; 0: default */
	uint8_t given;            /* bits: in a file, on the command line */
	char where[CONFIG_WHERE]; /* where it was last set; empty: default */
};

/* All of the configuration. Only `errors` and what stands behind it is for readers;
 * the values are reached by config_values. */
struct config {
	uint8_t values[CONFIG_VALUES] __attribute__((aligned(8)));
	const struct config_section *section[CONFIG_SECTIONS];
	uint32_t start[CONFIG_SECTIONS]; /* of each section's struct in values */
	uint32_t n_sections;
	struct config_entry entry[CONFIG_KEYS]; /* in the order of the sections */
	uint32_t n_entries;
	uint32_t n_set;               /* how often a value was set */
	char file[CONFIG_WHERE - 12]; /* name of the first text; empty: there was none */
	struct config_error error[CONFIG_ERRORS];
	uint32_t n_errors; /* may exceed CONFIG_ERRORS: further errors are only counted */
};

/* Empties *c, takes the keys of n sections and sets every default. The sections must
 * outlive *c. A section that finds no room is an error, and its keys are unknown. */
void config_init(struct config *c, const struct config_section *const *section, uint32_t n);

/* The values of a section: a pointer to its struct, which lives as long as *c. A section
 * that config_init did not get is a mistake of the caller: NULL. */
const void *config_values(const struct config *c, const struct config_section *s);

/* The same values for their owner, who may change them. */
void *config_values_of(struct config *c, const struct config_section *s);

/* Reads the loader's command line: words `key=value`, in which '+' stands for a space.
 * Words without '=' are logged and ignored. Must be called before config_text: values of
 * the command line win over those of the files, and a list replaces the files' whole
 * list. False when the line has errors. */
bool config_cmdline(struct config *c, const char *line);

/* Reads a file's text of `len` bytes. Errors name the file by `name`. May be called once
 * for each of several files. False when the text has errors. */
bool config_text(struct config *c, const char *name, const char *text, size_t len);

/* Runs the checks of all sections. Must be called once, after the last text. False when
 * one of them found an error. */
bool config_check(struct config *c);

/* Adds an error. `where` is a place such as "gateway.conf:12". */
void config_fail(struct config *c, const char *where, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Adds an error about the value of *s and is false. For the parse functions of types. */
#define CONFIG_BAD(s, ...) (config_fail((s)->c, (s)->where, __VA_ARGS__), false)

/* The entry of the key with this name; NULL when there is no such key. */
const struct config_entry *config_entry(const struct config *c, const char *name);

/* Writes value number i of a key, 0 unless the key is a list, as text that its parser reads back.
 * False when there is no such value: the list ends, or the key is not set. */
bool config_value(const struct config *c, const struct config_entry *e, uint32_t i, char *buf,
                  size_t size);

/* True when entry `i` has the same values in both configurations, which have the same sections. */
bool config_same(const struct config *a, const struct config *b, uint32_t i);
/* Gives entry `i` of *to the values that it has in *from, and their place. */
void config_take(struct config *to, const struct config *from, uint32_t i);

/* True when a key was set by a file or the command line. */
bool config_given(const struct config *c, const char *key);

/* The first key of those that begin with `start` that was set by a file or the command line; NULL
 * when there is none. */
const char *config_given_under(const struct config *c, const char *start);

/* The place where the key was last set with which `text` begins: "gateway.conf:12" or
 * "command line". When it has its default or is no key: the name of the first file, or "no
 * configuration file". The key ends at a space or a colon. Lives as long as *c. */
const char *config_where(const struct config *c, const char *text);

/* The place where one of two keys was last set, as config_where gives it; "" when both
 * have their defaults. */
const char *config_where_later(const struct config *c, const char *a, const char *b);

/* Writes the configuration in force line by line, as text that config_text reads back.
 * *cursor is 0 at first. Each call writes one line without its end into buf and gives
 * true; false after the last. */
bool config_line(const struct config *c, uint32_t *cursor, char *buf, size_t size);

/* As config_line, but only the lines whose value is not the default. A list that holds more than
 * its default is written as a whole. */
bool config_line_changed(const struct config *c, uint32_t *cursor, char *buf, size_t size);

/* True when a line is one of those of config_line_changed: config_line wrote it and moved the
 * cursor to `cursor`. */
bool config_line_differs(const struct config *c, uint32_t cursor, const char *line);

/* Explains the key `word`: what it means, what its values look like, what its values are. Then a
 * line for each other key that begins with `word`; for the only key that begins so, the same as if
 * it was named. *cursor is 0 at first. Each call writes one line without its end into buf and
 * gives true; false after the last. */
bool config_help(const struct config *c, const char *word, uint32_t *cursor, char *buf,
                 size_t size);

#endif
