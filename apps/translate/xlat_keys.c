/* See xlat_keys.h. */
#include "apps/translate/xlat_keys.h"

#include "kernel/config/config_types.h"
#include "kernel/lib/fmt.h"

bool xlat_keys_net(struct slice text, bool is6, struct prefix *out)
{
	struct prefix p = {.len = is6 ? 128 : 32};
	bool bare = text.len == 0 || !memchr(text.at, '/', text.len);
	if (bare ? !addr_any(text.at, text.len, &p.addr) : !addr_prefix(text.at, text.len, &p))
		return false;
	if (p.addr.is6 != is6)
		return false;
	const uint8_t *b = is6 ? p.addr.v6.b : p.addr.v4.b;
	for (unsigned bit = p.len; bit < (is6 ? 128u : 32u); bit++)
		if (b[bit / 8] & 0x80 >> bit % 8)
			return false;
	*out = p;
	return true;
}

static bool parse_prefix6(const struct config_source *s, struct slice text, void *out)
{
	if (!xlat_keys_net(text, true, out))
		return CONFIG_BAD(s, "%s: expected an IPv6 PREFIX/LENGTH, such as 2001:db8::/32",
		                  s->key->name);
	return true;
}

static bool parse_tos(const struct config_source *s, struct slice text, void *out)
{
	uint32_t n = XLAT_TOS_COPY;
	if (config_word_is(text, "zero"))
		n = 0;
	else if (!config_word_is(text, "copy") && (!addr_u32(text.at, text.len, &n) || n > 255))
		return CONFIG_BAD(s, "%s: expected copy, zero, or a number from 0 to 255",
		                  s->key->name);
	*(uint32_t *)out = n;
	return true;
}

static bool print_tos(const struct config_key *key, const void *value, char *buf, size_t room)
{
	uint32_t n = *(const uint32_t *)value;
	(void)key;
	if (n == 0 || n == XLAT_TOS_COPY)
		return fmt(buf, room, "%s", n ? "copy" : "zero") > 0;
	return fmt(buf, room, "%u", n) > 0;
}

const struct config_type xlat_type_prefix6 =
        CONFIG_TYPE(struct prefix, parse_prefix6, config_print_prefix, "IPv6 PREFIX/LENGTH");
const struct config_type xlat_type_tos =
        CONFIG_TYPE(uint32_t, parse_tos, print_tos, "copy, zero, or number from 0 to 255");
