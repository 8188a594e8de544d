/* See embed_keys.h. */
#include "apps/translate/embed_keys.h"

#include "kernel/config/config_types.h"
#include "kernel/lib/log.h"

/* clang-format off */
static const struct config_key key[] = {
	{"wkp-strict", &config_on_off, "on", CONFIG_ONE(struct embed_config, wkp_strict),
	 .about = "The prefix 64:ff9b::/96 stands for global IPv4 addresses only (RFC 6052 section "
	          "3.1); off: for any."},
};
/* clang-format on */

const struct config_section embed_section = CONFIG_SECTION(struct embed_config, key);

bool embed_keys_strict(const struct config *c, const struct embed_form *f, const char *what)
{
	const struct embed_config *e = config_values(c, &embed_section);
	if (!embed_is_well_known(f) || !e->wkp_strict)
		return false;
	if (!what)
		return true;
	log_line("%s 64:ff9b::/96: only for global IPv4 addresses (RFC 6052 section 3.1); private "
	         "and documentation ones are refused (wkp-strict off allows them)",
	         what);
	return true;
}
