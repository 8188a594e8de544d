/* The console's command line. */
#ifndef KERNEL_SHELL_H
#define KERNEL_SHELL_H

#include "kernel/console/console.h"
#include "net/gw.h"

/* Prints the first prompt. */
void shell_init(struct gw *gw);

/* Reads keys, runs commands, and prints a few lines of a listing while the console has
 * room. Prints log lines, but not inside an answer, except on COM1 while the screen's page waits
 * for a key. True when there was something to do. */
bool shell_run(void);

/* Prints a line of its own on all terminals, at the begin of a line; false, and nothing, while an
 * answer is printed or the console has no room. */
bool shell_say(const char *line);

/* A terminal shows the text again: shows the prompt and what is typed behind it. */
void shell_resume(enum console_terminal t);

/* True while an answer is printed: shell_run is then due every 10 ms. */
bool shell_answers(void);

#endif
