/* Saves the configuration on the boot medium: first the text that runs as gateway.last, so that the
 * next start has one that could start, then the new text as gateway.conf. Each step goes on in the
 * background (drivers/block/media.h). */
#ifndef KERNEL_SAVER_H
#define KERNEL_SAVER_H

#include "kernel/config/config_word.h"

/* Takes memory from alloc(). False: there is none, and nothing can be saved. */
bool saver_init(void);

/* Begins. `running` is the text that runs, length 0 when nothing runs; gateway.last stays as it is
 * then. `text` is the new text. Both are copied, and have less than MEDIA_TEXT bytes together.
 * NULL, or why nothing was begun. */
const char *saver_start(struct slice running, struct slice text);

/* True while something is being saved. */
bool saver_busy(void);

/* To be called by MAIN. Gives a line for people when something has ended ("saved"), else NULL; the
 * line is valid until saver_start. */
const char *saver_run(void);

/* What gateway.conf has when the last save ended well; length 0 when it did not. Valid until
 * saver_start. */
struct slice saver_saved(void);

#endif
