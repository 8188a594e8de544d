/* The boot medium: the stick whose gateway.conf was loaded, and saving a file there.
 *
 * It is looked for when something is to be saved, and only then is anything read from a stick. It
 * is the one with a FAT volume of the serial number that the boot loader named (key `stick`), whose
 * gateway.conf has the text that was loaded or saved last. When none was loaded, it is the one that
 * has none. It need not be plugged in at any other
 * time. */
#ifndef DRIVERS_BLOCK_MEDIA_H
#define DRIVERS_BLOCK_MEDIA_H

#include "kernel/lib/bytes.h"

#define MEDIA_TEXT 65536u /* most bytes of a file */

enum media_save_state {
	MEDIA_SAVE_IDLE, /* nothing was saved yet */
	MEDIA_SAVE_BUSY,
	MEDIA_SAVE_DONE,
	MEDIA_SAVE_NO_FILE, /* failed: the boot medium has no such file, and no room for its name */
	MEDIA_SAVE_FAILED,
};

/* Takes memory from alloc(). Must be called once, before alloc_mark. `stick` is the value of the
 * key, "" when it was not given; `conf` is the text of gateway.conf as it was loaded, NULL when
 * there was none. Both are only read in this call. False: no memory; then nothing can be saved. */
bool media_init(const char *stick, const char *conf, size_t len);

/* Starts to replace the content of `file` ("gateway.conf", "gateway.last"), a name in the root
 * directory of the boot medium, or to make the file. The caller keeps the text as it is until the
 * state is no longer MEDIA_SAVE_BUSY. False: nothing was started, since another file is being saved
 * (state BUSY) or for the reason that is the message of media_save_state (state FAILED). */
bool media_save(const char *file, const char *text, size_t len);

/* The state of the last save and, in *message, a text for people: "saved", "the stick is
 * write-protected". It is valid until the next media_save. */
enum media_save_state media_save_state(const char **message);

/* Goes on with saving, a bounded amount. To be called by MAIN, each millisecond while
 * media_save_state is BUSY. True when there was something to do. */
bool media_poll(uint64_t now_us);

#endif
