/* Switching the machine off at the user's request. */
#ifndef KERNEL_FINISH_H
#define KERNEL_FINISH_H

/* Switches the machine off. If that fails, says so on the console and halts. The caller has
 * stopped the cards and flushed the console. */
void finish_off(void) __attribute__((noreturn));

#endif
