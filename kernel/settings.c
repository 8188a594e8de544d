/* See settings.h. */
#include "kernel/settings.h"

#include "apps/apps.h"
#include "kernel/console/keymap.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/gw.h"
#include "net/dhcp/dhcp_keys.h"
#include "net/dhcp6/dhcp6_keys.h"
#include "net/sntp/sntp_keys.h"
#include "net/export/export_keys.h"
#include "net/dhcps/dhcps_keys.h"
#include "net/ra/ra_keys.h"
#include "net/setup/net_keys.h"

/* Adds the error about a word that is none of n names; `name` gives the i-th. */
static bool unknown(const struct config_source *s, struct slice text, uint32_t n,
                    const char *(*name)(const struct config *c, uint32_t i))
{
	const char *nearest = NULL;
	uint32_t d = 0;
	char list[CONFIG_NAME];
	size_t len = 0;
	list[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		config_word_nearer(text, name(s->c, i), &nearest, &d);
		len += fmt(list + len, sizeof list - len, "%s%s", i ? ", " : "", name(s->c, i));
	}
	return CONFIG_BAD(s, "%s: unknown \"%.*s\"%s%s (there are: %s)", s->key->name,
	                  (int)min_u32((uint32_t)text.len, 16), text.at,
	                  nearest ? ", nearest: " : "", nearest ? nearest : "", list);
}

static const char *name_of_app(const struct config *c, uint32_t i)
{
	return settings_name(c)->apps[i];
}

static bool parse_app(const struct config_source *s, struct slice text, void *out)
{
	uint32_t n = settings_name(s->c)->n_apps;
	for (uint32_t i = 0; i < n; i++)
		if (config_word_is(text, name_of_app(s->c, i)) && text.len < CONFIG_NAME) {
			memcpy(out, text.at, text.len);
			return true;
		}
	return unknown(s, text, n, name_of_app);
}

static bool print_app(const struct config_key *key, const void *value, char *buf, size_t room)
{
	(void)key;
	return fmt(buf, room, "%s", (const char *)value) > 0;
}

#define APP(symbol, name, about) " " name
#define SERVICE(symbol, name)    " " name
static const char app_form[] = "one of:"
#include "apps/apps.def"
        ;
static const char service_form[] = "one of:"
#include "apps/services.def"
        ;
#undef APP
#undef SERVICE

static const struct config_type app_name =
        CONFIG_TYPE(char[CONFIG_NAME], parse_app, print_app, app_form);

/* The number of the service with this name; SERVICES when there is none. */
static uint32_t service_of(struct slice name)
{
	uint32_t i = 0;
	while (i < SERVICES && !config_word_is(name, services[i].name))
		i++;
	return i;
}

static const char *name_of_service(const struct config *c, uint32_t i)
{
	(void)c;
	return services[i].name;
}

static bool parse_service(const struct config_source *s, struct slice text, void *out)
{
	uint32_t number = service_of(text);
	*(uint8_t *)out = (uint8_t)number;
	return number < SERVICES || unknown(s, text, SERVICES, name_of_service);
}

static bool print_service(const struct config_key *key, const void *value, char *buf, size_t room)
{
	(void)key;
	return fmt(buf, room, "%s", services[*(const uint8_t *)value].name) > 0;
}

static bool check_services(struct config *c)
{
	const struct settings_name *name = settings_name(c);
	for (uint32_t i = 0; i < name->n_serve; i++)
		for (uint32_t k = 0; k < i; k++)
			if (name->serve[k] == name->serve[i]) {
				config_fail(c, config_where(c, "serve"), "serve: %s is given twice",
				            services[name->serve[i]].name);
				return false;
			}
	return true;
}

static const struct config_type service =
        CONFIG_TYPE(uint8_t, parse_service, print_service, service_form);

#define RUN(field) CONFIG_ONE(struct settings_run, field)

static const struct config_key name_key[] = {
        {"app", &app_name, NULL, CONFIG_ONE(struct settings_name, app),
         .about = "What the gateway does with packets; dns64 forwards nothing and serves DNS64.",
         .without = "the menu asks"},
        {"serve", &service, NULL, CONFIG_LIST(struct settings_name, serve, n_serve),
         .about = "A service that runs beside the application; wire takes none. dns is dns64 "
                  "without synthesis."},
        {"hostname", &config_name, "gateway", CONFIG_ONE(struct settings_name, hostname),
         .live = true, .about = "Name of the gateway in its log."},
};
static const struct config_key run_key[] = {
        {"menu-timeout", &config_seconds, NULL, RUN(menu_timeout_ms),
         CONFIG_FLAG(struct settings_run, has_menu_timeout), CONFIG_RANGE(0, 86400),
         .about = "Seconds until the menu starts menu-default by itself; any key stops the "
                  "countdown.",
         .without = "no countdown"},
        {"menu-default", &app_name, NULL, RUN(menu_default),
         .about = "Application that the countdown of the menu starts, and that its cursor is on at "
                  "first."},
        {"watchdog", &config_seconds_or_off, "10", RUN(watchdog_ms), CONFIG_RANGE(1, 86400),
         .live = true, .about = "Seconds without progress after which the machine restarts."},
        {"usb", &config_on_off, "on", RUN(usb),
         .about = "Whether USB is used; off leaves the controllers to the firmware."},
        {"stick", &config_name, NULL, RUN(stick),
         .about = "Serial number of the volume that was booted from; the boot loader gives it.",
         .without = "nothing can be saved"},
        {"keyboard", &config_choice, "us", RUN(keyboard), CONFIG_WORDS(keymap_names), .live = true,
         .about = "Layout of the keyboards at the machine."},
        {"debug", &config_on_off, "off", RUN(debug), .live = true,
         .about = "Adds console commands for tests, also such as change addresses and routes."},
};
static const struct config_section name_section = {
        .key = name_key,
        .n_keys = ARRAY_SIZE(name_key),
        .size = sizeof(struct settings_name),
        .check = check_services,
};
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

/* --- what runs ---------------------------------------------------------------------------- */

static bool runs(const struct gw *gw, const struct service *s)
{
	for (uint32_t i = 0; i < SERVICES; i++)
		if (s && gw->service[i] == s)
			return true;
	return false;
}

/* Leaves out the services that others do as well. */
static void leave_covered(struct gw *gw)
{
	for (uint32_t i = 0; i < SERVICES; i++)
		if (gw->service[i] && runs(gw, gw->service[i]->covered_by))
			gw->service[i] = NULL;
}

void settings_choose(const struct config *c, const char *name, const struct forwarder *forwarder,
                     struct gw *gw)
{
	const struct settings_name *wanted = settings_name(c);
	uint32_t same = service_of((struct slice){name, strlen(name)});
	gw->forwarder = forwarder;
	if (forwarder->promiscuous) {
		if (wanted->n_serve)
			log_line(
			        "serve: a bridge has no addresses at which a service could listen");
		return;
	}
	if (same < SERVICES)
		gw->service[same] = services[same].service;
	for (uint32_t i = 0; i < wanted->n_serve; i++)
		gw->service[wanted->serve[i]] = services[wanted->serve[i]].service;
	leave_covered(gw);
}

/* The section in which a key is. */
static const struct config_section *section_of(const struct config *c, const struct config_entry *e)
{
	for (uint32_t i = 0; i < c->n_sections; i++)
		if (c->start[i] == e->values)
			return c->section[i];
	return NULL;
}

bool settings_describe_networks(const struct config *c)
{
	for (uint32_t i = 0; i < c->n_entries; i++) {
		const struct config_section *s = section_of(c, &c->entry[i]);
		bool machine = s == &run_section || strcmp(c->entry[i].key->name, "app") == 0;
		if (c->entry[i].order && !machine)
			return true;
	}
	return false;
}

/* True when a forwarder with these services (NULL: not running) reads the keys of a section. */
static bool reads(const struct forwarder *f, const struct service *const *running,
                  const struct config_section *s)
{
	if (s == &name_section || s == &run_section || s == &net_section || s == &dhcp_section ||
	    s == &dhcps_section || s == &sntp_section || s == &export_section)
		return true;
	if (s == &ra_section || s == &dhcp6_section)
		return f->ip6 != NULL;
	for (uint32_t i = 0; i < FORWARDER_SECTIONS && f->keys[i]; i++)
		if (f->keys[i] == s)
			return true;
	for (uint32_t i = 0; i < SERVICES * SERVICE_SECTIONS; i++)
		if (running[i / SERVICE_SECTIONS] &&
		    running[i / SERVICE_SECTIONS]->keys[i % SERVICE_SECTIONS] == s)
			return true;
	return false;
}

/* Of lan2 to lan7 the keys of those that exist, and the next one's card. */
static bool has_interface(const struct config *c, const char *key)
{
	for (uint32_t i = NET_LAN2; i < NET_INTERFACES; i++) {
		size_t len = strlen(net_interface_name[i]);
		if (strncmp(key, net_interface_name[i], len) == 0)
			return i < net_interfaces(c) || (i == net_interfaces(c) && !key[len]);
	}
	return true;
}

bool settings_uses(const struct config *c, const char *app, const struct config_entry *e)
{
	const struct settings_name *wanted = settings_name(c);
	const struct service *running[SERVICES] = {0};
	uint32_t i = 0, same = service_of((struct slice){app, strlen(app)});
	while (i < n_apps && strcmp(apps[i].name, app) != 0)
		i++;
	if (i == n_apps)
		return has_interface(c, e->key->name);
	if (same < SERVICES)
		running[same] = services[same].service;
	for (uint32_t k = 0; k < wanted->n_serve; k++)
		running[wanted->serve[k]] = services[wanted->serve[k]].service;
	return reads(apps[i].forwarder, running, section_of(c, e)) &&
	       has_interface(c, e->key->name);
}

void settings_log_ignored(const struct config *c, const struct gw *gw, const char *name)
{
	char list[160];
	size_t n = 0;
	uint32_t more = 0;
	list[0] = '\0';
	for (uint32_t i = 0; i < c->n_entries; i++) {
		const struct config_entry *e = &c->entry[i];
		if (!e->order || reads(gw->forwarder, gw->service, section_of(c, e)))
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

/* Adds a section once: two forwarders may read the same keys. */
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
	const struct config_section *list[CONFIG_SECTIONS + 1] = {
	        &name_section,  &net_section,  &ra_section,     &dhcp_section, &dhcps_section,
	        &dhcp6_section, &sntp_section, &export_section, &run_section};
	uint32_t n = 9;
	for (uint32_t i = 0; i < n_apps; i++)
		for (uint32_t k = 0; k < FORWARDER_SECTIONS && apps[i].forwarder->keys[k]; k++)
			add(list, &n, apps[i].forwarder->keys[k]);
	for (uint32_t i = 0; i < SERVICES; i++)
		for (uint32_t k = 0; k < SERVICE_SECTIONS && services[i].service->keys[k]; k++)
			add(list, &n, services[i].service->keys[k]);
	config_init(c, list, n);
	struct settings_name *name = config_values_of(c, &name_section);
	name->apps = names;
	name->n_apps = n_names;
}
