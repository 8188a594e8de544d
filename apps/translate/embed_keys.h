/* The key that all users of the well-known prefix 64:ff9b::/96 have in common. */
#ifndef APPS_TRANSLATE_EMBED_KEYS_H
#define APPS_TRANSLATE_EMBED_KEYS_H

#include "apps/translate/embed.h"
#include "kernel/config/config.h"

struct embed_config {
	bool wkp_strict; /* the well-known prefix is for global IPv4 addresses only */
};

extern const struct config_section embed_section;

/* True when a form must not be used with IPv4 addresses that are not global (RFC 6052 section 3.1),
 * by the form and the configuration. Unless `key` is NULL, a line of the log that begins with it
 * says so. */
bool embed_keys_strict(const struct config *c, const struct embed_form *f, const char *key);

#endif
