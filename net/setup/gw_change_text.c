/* Changes of addresses and routes in words. See gw_change.h. */
#include "kernel/config/config_word.h"
#include "kernel/lib/addr.h"
#include "net/setup/gw_change.h"
#include "net/setup/gw_setup.h"

/* The interface with this name; INTERFACES when there is none. */
static uint32_t iface_named(const struct gw *gw, struct slice name)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (config_word_is(name, gw->iface[i].name))
			return i;
	return INTERFACES;
}

static const char *change_address(struct gw *gw, bool add, struct slice rest)
{
	struct slice name = config_word(&rest), text = config_word(&rest);
	uint32_t iface = iface_named(gw, name);
	struct prefix p = {.len = 0};
	if (iface == INTERFACES) {
		struct slice other = name;
		iface = iface_named(gw, text);
		text = other;
	}
	bool whole = text.len > 0 && addr_prefix(text.at, text.len, &p);
	if (iface == INTERFACES || config_word(&rest).len > 0 ||
	    !(whole || (!add && text.len > 0 && addr_any(text.at, text.len, &p.addr))))
		return "expected: address add|del INTERFACE ADDRESS/LENGTH";
	return add ? gw_change_add_address(gw, iface, &p)
	           : gw_change_del_address(gw, iface, &p.addr);
}

static const char *change_route(struct gw *gw, bool add, struct slice rest)
{
	static const char *const expected = "expected: route add|del PREFIX via ADDRESS";
	struct slice to = config_word(&rest), word = config_word(&rest), hop = config_word(&rest);
	struct prefix p = {.len = 0};
	struct addr via;
	bool has_via =
	        config_word_is(word, "via") && hop.len > 0 && addr_any(hop.at, hop.len, &via);
	if (config_word(&rest).len > 0 || (word.len > 0 && !has_via) || (add && !has_via))
		return expected;
	if (has_via && config_word_is(to, "default"))
		p.addr.is6 = via.is6;
	else if (to.len == 0 || !addr_prefix(to.at, to.len, &p))
		return expected;
	return add ? gw_change_add_route(gw, &p, &via)
	           : gw_change_del_route(gw, &p, has_via ? &via : NULL);
}

const char *gw_change_text(struct gw *gw, const char *text)
{
	struct slice rest = {text, strlen(text)};
	struct slice what = config_word(&rest), how = config_word(&rest);
	bool add = config_word_is(how, "add");
	if (!add && !config_word_is(how, "del"))
		return "expected: add or del";
	if (config_word_is(what, "address"))
		return change_address(gw, add, rest);
	if (config_word_is(what, "route"))
		return change_route(gw, add, rest);
	return "expected: address or route";
}
