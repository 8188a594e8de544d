/* The configuration keys of the machine itself, and the list of all keys that an image
 * has: those of the machine, of the network, of each forwarder and each service. */
#ifndef KERNEL_SETTINGS_H
#define KERNEL_SETTINGS_H

#include "apps/services.h"
#include "kernel/config/config_types.h"

struct gw;

/* What runs, and the machine's name. */
struct settings_name {
	char app[CONFIG_NAME];       /* empty: the menu asks */
	uint8_t serve[SERVICES_MAX]; /* numbers of services */
	uint32_t n_serve;
	char hostname[CONFIG_NAME];
	const char *const *apps; /* the names that `app` and `menu-default` may have */
	uint32_t n_apps;
};

/* How it runs. */
struct settings_run {
	bool has_menu_timeout;
	uint32_t menu_timeout_ms;
	char menu_default[CONFIG_NAME]; /* empty: none */
	uint32_t watchdog_ms;           /* 0: off */
	bool usb;                       /* false: the firmware keeps the controllers */
	char stick[CONFIG_NAME];        /* what the boot loader calls the medium; empty: unknown */
	uint32_t keyboard;              /* enum keymap_layout */
	bool debug;
};

/* Empties *c, takes the keys of everything in the image and sets every default. `apps` are
 * the names that `app` and `menu-default` may have; the caller keeps the array. */
void settings_init(struct config *c, const char *const *apps, uint32_t n_apps);

/* The values in force; they live as long as *c. */
const struct settings_name *settings_name(const struct config *c);
const struct settings_run *settings_run(const struct config *c);

/* Makes `app` the value of the key `app`: the menu chose it. */
void settings_set_app(struct config *c, const char *app);

/* True when the application `app`, with the services that *c names, reads the key: what an editor
 * shows. Of an application that there is not all keys count. */
bool settings_uses(const struct config *c, const char *app, const struct config_entry *e);

/* Sets gw->forwarder and gw->service to what runs as the application `name`: its forwarder, the
 * service of the same name if there is one, and those of the key `serve`, but those that another
 * one of them covers. A bridge takes none: the log says so. */
void settings_choose(const struct config *c, const char *name, const struct forwarder *forwarder,
                     struct gw *gw);
/* Adds a line to the log that names the keys that were given and that neither the forwarder nor
 * a service of the gateway reads. One file may serve several applications, so this is no error. */
void settings_log_ignored(const struct config *c, const struct gw *gw, const char *name);

/* True when a file or the command line says anything about networks and services: more than which
 * application runs, and how the machine itself behaves. */
bool settings_describe_networks(const struct config *c);

#endif
