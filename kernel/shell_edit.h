/* The commands that change the configuration (edit.h), as listings (shell_list.h). */
#ifndef KERNEL_SHELL_EDIT_H
#define KERNEL_SHELL_EDIT_H

#include "kernel/shell_list.h"

/* `edit`: opens the editor on the terminal where it was typed. `edit KEY VALUE`: gives a key of the
 * draft this value alone; `edit KEY + VALUE` one more; `edit KEY` its default. */
enum shell_step shell_edit(struct shell_list *l, char *buf, size_t size);
/* `save`: says how it ended. */
enum shell_step shell_edit_save(struct shell_list *l, char *buf, size_t size);
/* `apply` and `keep`. */
enum shell_step shell_edit_apply(struct shell_list *l, char *buf, size_t size);
enum shell_step shell_edit_keep(struct shell_list *l, char *buf, size_t size);

#endif
