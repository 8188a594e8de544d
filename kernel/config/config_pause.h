/* Pauses in the reading of long texts.
 *
 * A file of 64 KB takes milliseconds to read, and a screen of the editor looks through it many
 * times. So a reader of a text says how far it came, and what must not wait that long runs in
 * between: packets. */
#ifndef KERNEL_CONFIG_CONFIG_PAUSE_H
#define KERNEL_CONFIG_CONFIG_PAUSE_H

#include "kernel/lib/bytes.h"

#define CONFIG_PAUSE_BYTES                                                    \
	1024u /* of text between two pauses; a longer line is read as a whole \
	       */

/* Sets the function that runs in a pause, NULL: none. It must neither read a text of the
 * configuration nor change one. */
void config_pause_by(void (*others)(void));

/* A reader has read so many bytes more; to be called between two lines. */
void config_pause_read(size_t bytes);

#endif
