/* The applications there are: what the boot menu and the key `app` offer. Each is a forwarder. One
 * that has the name of a service (services.h) runs that service too. A new one is one folder and
 * one line in apps.def. */
#ifndef APPS_APPS_H
#define APPS_APPS_H

#include "net/forwarder.h"

#define APP(symbol, name, about) extern const struct forwarder forwarder_##symbol;
#include "apps/apps.def"
#undef APP

struct app_entry {
	const char *name;  /* the value of the key `app` */
	const char *about; /* one line for the menu */
	const struct forwarder *forwarder;
};

/* All of them, in the order of the menu. */
extern const struct app_entry apps[];
extern const uint32_t n_apps;

#endif
