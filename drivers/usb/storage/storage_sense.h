/* What a device says about a command that failed (SPC-4 section 4.5; the codes are those of its
 * annex, such as 02/3A: no medium). */
#ifndef DRIVERS_USB_STORAGE_STORAGE_SENSE_H
#define DRIVERS_USB_STORAGE_STORAGE_SENSE_H

#include "kernel/lib/bytes.h"

#define STORAGE_SENSE_BYTES 18u

struct storage_sense {
	uint8_t key, code, more; /* sense key, additional sense code and its qualifier */
};

enum storage_cause {
	STORAGE_NONE,      /* no error, or one that was corrected */
	STORAGE_AGAIN,     /* the same command once more, at once: reset, power on */
	STORAGE_CHANGED,   /* another medium may be in the drive */
	STORAGE_NOT_YET,   /* becoming ready: within half a minute */
	STORAGE_START,     /* it wants START UNIT */
	STORAGE_EMPTY,     /* no medium */
	STORAGE_UNKNOWN,   /* the device does not know the command or a field of it */
	STORAGE_PROTECTED, /* write-protected */
	STORAGE_USED_UP,   /* no space is left behind the sectors */
	STORAGE_ERROR,     /* all else */
};

/* Reads sense data of `len` bytes, of either format. What is not there is 0. */
struct storage_sense storage_sense_read(const uint8_t *data, uint32_t len);

enum storage_cause storage_sense_cause(struct storage_sense s);

#endif
