/* The end of a machine that a person switches off. */
#ifndef KERNEL_FINISH_H
#define KERNEL_FINISH_H

/* Switches the machine off. Where it cannot, says so on the console and halts. The cards are
 * stopped and the console is flushed already. */
void finish_off(void) __attribute__((noreturn));

#endif
