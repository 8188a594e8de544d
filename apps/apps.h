/* The applications there are. A new one is one folder and one line in apps.def. */
#ifndef APPS_APPS_H
#define APPS_APPS_H

#include "net/app.h"

#define APP(symbol, name, about) extern const struct app app_##symbol;
#include "apps/apps.def"
#undef APP

struct app_entry {
	const char *name;  /* the value of the key `app` */
	const char *about; /* one line for the menu */
	const struct app *app;
};

/* All of them, in the order of the menu. */
extern const struct app_entry apps[];
extern const uint32_t n_apps;

#endif
