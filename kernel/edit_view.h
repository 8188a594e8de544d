/* The editor on a terminal while the gateway runs, and what goes on in the background: the end of a
 * trial, of a save. */
#ifndef KERNEL_EDIT_VIEW_H
#define KERNEL_EDIT_VIEW_H

#include "kernel/console/console.h"
#include "net/gw.h"

/* `resume` is called when a terminal shows the console again. */
void edit_view_init(struct gw *gw, void (*resume)(enum console_terminal t));

/* Shows the editor on a terminal in place of the console. If it is open on the other one, it moves
 * as it is. False: there is no memory for it. */
bool edit_view_open(enum console_terminal t);
/* True while it is open: the draft is the editor's. */
bool edit_view_is_open(void);

/* Puts the draft into force for a while (edit_apply), with `why` as there. */
bool edit_view_apply(char why[static 160]);

/* How the last save ended; NULL while it goes on. */
const char *edit_view_saved(void);
/* Begins a save (edit_save). NULL, or why it cannot be. */
const char *edit_view_save(void);

/* To be called by MAIN. True when there was something to do. */
bool edit_view_run(uint64_t now_us);

#endif
