/* The screens that show the running gateway on the terminals (kernel/ui/view.h): their values, and
 * what shows where. */
#ifndef KERNEL_VIEWS_H
#define KERNEL_VIEWS_H

#include "kernel/console/console.h"
#include "kernel/ui/view.h"
#include "net/gw.h"

/* `closed` is called when a terminal shows the console again. */
void views_init(struct gw *gw, void (*closed)(enum console_terminal t));

/* Shows a screen on a terminal in place of the console, until a key ends it. */
void views_open(enum console_terminal t, enum view_kind kind);

/* Measures the rates once a second, takes the keys of the terminals that show a screen, and draws a
 * few rows. True when there was something to do. */
bool views_run(uint64_t now_us);

#endif
