/* The draft of the configuration on this machine: where its memory is, what becomes of it. Menu and
 * console share it. */
#ifndef KERNEL_EDIT_H
#define KERNEL_EDIT_H

#include "kernel/texts.h"
#include "kernel/ui/draft.h"
#include "net/gw.h"

/* Takes memory for the draft, from alloc(), and begins with the text in force. Must be called once,
 * before alloc_mark. Both arguments outlive everything. Without memory there is no draft. */
void edit_init(struct texts *texts, struct config *config);

/* Begins again with the text in force, which is another one. */
void edit_begin(void);

/* The draft; NULL when there was no memory. */
struct draft *edit_draft(void);

/* Puts the draft into force where nothing runs yet: the configuration is read again. */
void edit_use(void);

/* How long `apply` lasts without `keep`. */
#define EDIT_TRIAL_US 60000000u

/* Puts what can change at once into force in a gateway that runs, for EDIT_TRIAL_US: then edit_poll
 * goes back, unless edit_keep was called. `why` is what was done or is wrong. True: it is in force,
 * and `changed` is called, now and when it ends. */
bool edit_apply(struct gw *gw, uint64_t now_us, void (*changed)(void), char why[static DRAFT_WHY]);
/* Makes what edit_apply did last. False: there is nothing. */
bool edit_keep(void);
/* Goes back when the time of edit_apply is over. True when it did; the log says so. */
bool edit_poll(struct gw *gw, uint64_t now_us);

/* How many changes of the draft count at the next start only. */
uint32_t edit_later(void);

/* Saves the draft. `runs` says that the configuration in force runs: it becomes gateway.last. Gives
 * NULL when it began (saver_run says how it ended), or why it cannot be. */
const char *edit_save(bool runs);

#endif
