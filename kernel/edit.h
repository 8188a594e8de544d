/* The draft of the configuration on this machine: where its memory is, what becomes of it. Menu and
 * console share it. */
#ifndef KERNEL_EDIT_H
#define KERNEL_EDIT_H

#include "kernel/texts.h"
#include "kernel/ui/draft.h"

/* Takes memory for the draft, from alloc(), and begins with the text in force. Must be called once,
 * before alloc_mark. Both arguments outlive everything. Without memory there is no draft. */
void edit_init(struct texts *texts, struct config *config);

/* Begins again with the text in force, which is another one. */
void edit_begin(void);

/* The draft; NULL when there was no memory. */
struct draft *edit_draft(void);

/* Puts the draft into force where nothing runs yet: the configuration is read again. */
void edit_use(void);

/* Saves the draft. `runs` says that the configuration in force runs: it becomes gateway.last. Gives
 * NULL when it began (saver_run says how it ended), or why it cannot be. */
const char *edit_save(bool runs);

#endif
