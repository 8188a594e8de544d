/* The boot menu: one line for each application, on the screen and COM1 at the same time. */
#ifndef KERNEL_MENU_H
#define KERNEL_MENU_H

#include "kernel/config/config.h"

struct menu_item {
	const char *name;
	const char *about;
};

/* Shows the menu and the configuration's errors until the user or the countdown starts an
 * item. Gives the item's index. If the configuration has errors, nothing can be started and
 * the function never returns (keys: r restarts, p powers off). It halts between keys.
 *
 * Number keys and arrows choose an item, Enter starts it. menu-timeout and menu-default of
 * the configuration start an item without a key. `problem` is an additional line (why the
 * last choice could not start), or NULL. With a problem, as after any key, the countdown
 * does not run. */
uint32_t menu_run(const struct config *c, const struct menu_item *item, uint32_t n,
                  const char *problem);

#endif
