/* The boot menu: one line an application, on the screen and COM1 at once. */
#ifndef KERNEL_MENU_H
#define KERNEL_MENU_H

#include "kernel/config/config.h"

struct menu_item {
	const char *name;
	const char *about;
};

/* Shows the menu and the configuration's errors until an item is started;
 * gives its index. With errors in the configuration nothing can be started:
 * it then stays for ever (keys: r restarts, p powers off), halting between keys.
 * `problem` is one more line to show (why the last choice could not start), or
 * NULL; with it, as after any key, the countdown does not run.
 * Number keys and arrows choose, Enter starts; menu-timeout and menu-default
 * of the configuration start an item by themselves. */
uint32_t menu_run(const struct config *c, const struct menu_item *item, uint32_t n,
                  const char *problem);

#endif
