/* The texts of which the configuration is made: the loader's command line, gateway.conf and further
 * files, and gateway.last, the configuration that ran when gateway.conf was saved. */
#ifndef KERNEL_TEXTS_H
#define KERNEL_TEXTS_H

#include "kernel/config/config.h"
#include "kernel/config/config_edit.h"

#define TEXTS_MORE 8u

struct texts {
	const char *cmdline;
	const char *const *apps; /* the names that `app` may have */
	uint32_t n_apps;
	struct slice conf; /* gateway.conf; empty: there is none */
	struct slice last; /* gateway.last; empty: there is none */
	const char *name;  /* of the text in force in place of gateway.conf, for errors */
	struct {
		const char *name;
		struct slice text;
	} more[TEXTS_MORE]; /* the other files, in order */
	uint32_t n_more;
	bool any_file; /* one was added, be it empty */
	bool overflow; /* the loader gave more text than there is room for */
};

/* Begins with the command line. All texts and names stay the caller's. */
void texts_init(struct texts *t, const char *cmdline, const char *const *apps, uint32_t n_apps);

/* The name of a gateway.conf that is not read: the boot medium is only known by it. */
#define TEXTS_SEEN "gateway.seen"

/* Adds a file: gateway.last by its name, else gateway.conf, then further files. */
void texts_add(struct texts *t, const char *name, struct slice text);

/* Takes the built-in text as gateway.conf when there is no file and the command line says nothing
 * about networks (settings_describe_networks): addresses by DHCP outside, a DHCP server and a name
 * server inside. *c is only used for reading. */
void texts_complete(struct texts *t, struct config *c);

/* Reads the whole configuration with `conf` in place of gateway.conf, and checks it. */
void texts_read(struct texts *t, struct config *c, struct slice conf);
/* The same without the checks, for struct draft: `texts` is a struct texts. */
void texts_parse(void *texts, struct config *c, struct slice conf);

/* Takes gateway.last in place of gateway.conf when gateway.conf cannot be used: `problem` is why it
 * could not start; without a problem *c has the errors. That needs a gateway.conf that was saved on
 * this machine, and a gateway.last without errors. True: the log says so, and *c and t->conf are
 * those of gateway.last. False: *c is as it was. */
bool texts_fall_back(struct texts *t, struct config *c, const char *problem);
/* True when it was taken. */
bool texts_fell_back(const struct texts *t);

#endif
