/* The draft of the configuration on this machine: where its memory is, what becomes of it. Menu and
 * console share it. */
#ifndef KERNEL_EDIT_H
#define KERNEL_EDIT_H

#include "kernel/texts.h"
#include "kernel/ui/draft.h"
#include "net/gw.h"

/* Takes memory for the draft, from alloc(), and begins with the text in force. Must be called once,
 * before alloc_mark. All arguments outlive everything. Without memory there is no draft. `in_force`
 * is called whenever *config has changed, for the parts beside the gateway that keep values. */
void edit_init(struct texts *texts, struct config *config, void (*in_force)(void));

/* Begins again with the text in force, which is another one. */
void edit_begin(void);

/* The draft; NULL when there was no memory. What it has without the changes is what was last
 * loaded, used, kept or saved. */
struct draft *edit_draft(void);

/* Puts the draft into force where nothing runs yet: the configuration is read again. */
void edit_use(void);

/* How long `apply` lasts without `keep`. */
#define EDIT_TRIAL_US 60000000u

/* Puts what can change at once into force in a gateway that runs, for EDIT_TRIAL_US: then edit_poll
 * goes back, unless edit_keep was called. `why` is what was done or is wrong. True: it is in force.
 */
bool edit_apply(struct gw *gw, uint64_t now_us, char why[static DRAFT_WHY]);
/* The same for what is to be saved too: edit_keep saves it. When nothing can change at once, it is
 * saved now. */
void edit_apply_and_save(struct gw *gw, uint64_t now_us, char why[static DRAFT_WHY]);
/* Makes what edit_apply did last. `why` is what was done, or that there is nothing. */
bool edit_keep(char why[static DRAFT_WHY]);
/* Goes back when the time of edit_apply is over. True when it did; the log says so. */
bool edit_poll(struct gw *gw, uint64_t now_us);

/* How many changes of the draft count at the next start only. */
uint32_t edit_later(void);

/* Begins to save the draft as it is now; the text that runs becomes gateway.last. NULL, or why it
 * was not begun; a reason that says so counts once. */
const char *edit_save(void);

/* Where nothing runs yet: what is in force is saved once it has started, unless edit_use puts
 * another text into force before. NULL, or why not, as edit_save. The draft has no changes. */
const char *edit_save_later(void);
bool edit_saves_later(void);
/* To be called before `app` starts: what is to be saved then names it too. */
void edit_save_app(const char *app);
/* Ends that. True when something was to be saved. */
bool edit_forget_save(void);
/* To be called when what is in force has started: begins the save that edit_save_later promised.
 * NULL, or why it was not begun. */
const char *edit_started(void);

/* As saver_run. What was saved is what the draft has without changes. */
const char *edit_save_run(void);

#endif
