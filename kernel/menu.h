/* The boot menu, on the screen and COM1 at the same time: the functions, the network cards, the
 * configuration's errors; the editor and the wizard. */
#ifndef KERNEL_MENU_H
#define KERNEL_MENU_H

#include "drivers/net/nic.h"
#include "kernel/config/config.h"
#include "kernel/ui/menu_view.h"

/* Shows the menu until the user or the countdown starts an item. Gives the item's index. While the
 * configuration has errors, nothing can be started. Halts between keys.
 *
 * Number keys and arrows choose an item, Enter starts it; `c` edits the configuration, `w` is the
 * wizard, `s` saves what has started then, `r` restarts, `p` powers off, Ctrl-L draws the screen
 * again. menu-timeout and menu-default of the configuration start an item without a key. `problem`
 * is an additional line (why the last choice could not start), or NULL. With `waits`, as after any
 * key, the countdown does not run. The editor and the wizard change *c (edit_use). */
uint32_t menu_run(const struct config *c, const struct menu_item *item, uint32_t n_items,
                  struct nic *const *card, uint32_t n_cards, const char *problem, bool waits);

/* True when somebody pressed a key in the menu that was shown last. */
bool menu_was_attended(void);

/* To be called when what menu_run gave has started: it is saved, if somebody asked for that. */
void menu_started(void);

#endif
