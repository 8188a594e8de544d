/* Types of values that the keys of several translators have. */
#ifndef APPS_TRANSLATE_XLAT_KEYS_H
#define APPS_TRANSLATE_XLAT_KEYS_H

#include "kernel/config/config.h"
#include "kernel/lib/addr.h"

/* Reads PREFIX/LENGTH without bits behind the length, or an address, which is a prefix of full
 * length, of one version of IP. False for anything else. */
bool xlat_keys_net(struct slice text, bool is6, struct prefix *out);

/* A struct prefix of IPv6, without bits behind its length. */
extern const struct config_type xlat_type_prefix6;

/* A type of service: a uint32_t from 0 to 255, or XLAT_TOS_COPY. */
#define XLAT_TOS_COPY 256u
extern const struct config_type xlat_type_tos;

#endif
