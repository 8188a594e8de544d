/* See settings.h. */
#include "kernel/settings.h"

#include "apps/apps.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/ra/ra_keys.h"
#include "net/setup/net_keys.h"

static bool parse_app(const struct config_source *s, struct slice text, void *out)
{
	const struct settings_name *name = settings_name(s->c);
	const char *nearest = NULL;
	uint32_t d = 0;
	char list[CONFIG_NAME];
	size_t n = 0;
	list[0] = '\0';
	for (uint32_t i = 0; i < name->n_apps; i++) {
		if (config_word_is(text, name->apps[i]) && text.len < CONFIG_NAME) {
			memcpy(out, text.at, text.len);
			return true;
		}
		config_word_nearer(text, name->apps[i], &nearest, &d);
		n += fmt(list + n, sizeof list - n, "%s%s", i ? ", " : "", name->apps[i]);
	}
	return CONFIG_BAD(s, "%s: unknown \"%.*s\"%s%s (there are: %s)", s->key->name,
	                  (int)min_u32((uint32_t)text.len, 16), text.at,
	                  nearest ? ", nearest: " : "", nearest ? nearest : "", list);
}

static bool print_app(const struct config_key *key, const void *value, char *buf, size_t room)
{
	(void)key;
	return fmt(buf, room, "%s", (const char *)value) > 0;
}

static const struct config_type app_name = CONFIG_TYPE(char[CONFIG_NAME], parse_app, print_app);

#define RUN(field) CONFIG_ONE(struct settings_run, field)

static const struct config_key name_key[] = {
        {"app", &app_name, NULL, CONFIG_ONE(struct settings_name, app)},
        {"hostname", &config_name, "gateway", CONFIG_ONE(struct settings_name, hostname)},
};
static const struct config_key run_key[] = {
        {"menu-timeout", &config_seconds, NULL, RUN(menu_timeout_ms),
         CONFIG_FLAG(struct settings_run, has_menu_timeout), CONFIG_RANGE(0, 86400)},
        {"menu-default", &app_name, NULL, RUN(menu_default)},
        {"watchdog", &config_seconds_or_off, "10", RUN(watchdog_ms), CONFIG_RANGE(1, 86400)},
        {"debug", &config_on_off, "off", RUN(debug)},
};
static const struct config_section name_section = CONFIG_SECTION(struct settings_name, name_key);
static const struct config_section run_section = CONFIG_SECTION(struct settings_run, run_key);

const struct settings_name *settings_name(const struct config *c)
{
	return config_values(c, &name_section);
}

const struct settings_run *settings_run(const struct config *c)
{
	return config_values(c, &run_section);
}

void settings_set_app(struct config *c, const char *chosen)
{
	struct settings_name *name = config_values_of(c, &name_section);
	fmt(name->app, sizeof name->app, "%s", chosen);
}

/* True when an application reads the keys of the section that begins at `start` in the values. */
static bool reads(const struct config *c, const struct app *app, uint32_t start)
{
	const struct config_section *s = NULL;
	for (uint32_t i = 0; i < c->n_sections; i++)
		if (c->start[i] == start)
			s = c->section[i];
	if (s == &name_section || s == &run_section || s == &net_section)
		return true;
	if (s == &ra_section)
		return app->ip6 != NULL;
	for (uint32_t i = 0; i < APP_SECTIONS && app->keys[i]; i++)
		if (app->keys[i] == s)
			return true;
	return false;
}

void settings_log_ignored(const struct config *c, const struct app *app, const char *name)
{
	char list[160];
	size_t n = 0;
	uint32_t more = 0;
	list[0] = '\0';
	for (uint32_t i = 0; i < c->n_entries; i++) {
		const struct config_entry *e = &c->entry[i];
		if (!e->order || reads(c, app, e->values))
			continue;
		if (n + 2 + strlen(e->key->name) < sizeof list - 16)
			n += fmt(list + n, sizeof list - n, "%s%s", n ? ", " : "", e->key->name);
		else
			more++;
	}
	if (more)
		fmt(list + n, sizeof list - n, " and %u more", more);
	if (n)
		log_line("%s does not use: %s", name, list);
}

/* --- all keys ---------------------------------------------------------------------------- */

/* Adds a section once: two applications may read the same keys. */
static void add(const struct config_section **list, uint32_t *n, const struct config_section *s)
{
	for (uint32_t i = 0; i < *n; i++)
		if (list[i] == s)
			return;
	if (*n < CONFIG_SECTIONS + 1)
		list[(*n)++] = s;
}

void settings_init(struct config *c, const char *const *names, uint32_t n_names)
{
	/* One more than there is room for: then config_init adds the error. */
	const struct config_section *list[CONFIG_SECTIONS + 1] = {&name_section, &net_section,
	                                                          &ra_section, &run_section};
	uint32_t n = 4;
	for (uint32_t i = 0; i < n_apps; i++)
		for (uint32_t k = 0; k < APP_SECTIONS && apps[i].app->keys[k]; k++)
			add(list, &n, apps[i].app->keys[k]);
	config_init(c, list, n);
	struct settings_name *name = config_values_of(c, &name_section);
	name->apps = names;
	name->n_apps = n_names;
}
