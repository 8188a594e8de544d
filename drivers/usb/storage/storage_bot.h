/* One SCSI command at a time over the bulk-only transport (USB Mass Storage Class, Bulk-Only
 * Transport 1.0; section numbers are of that document): command, data, status.
 *
 * Faults follow sections 5.3.3, 6.3 to 6.7: a halted data pipe is cleared, the status is asked for
 * twice, and anything that makes no sense leads to the reset recovery of section 5.3.4. What the
 * status says about the number of bytes (its residue) is not used: devices lie there. */
#ifndef DRIVERS_USB_STORAGE_STORAGE_BOT_H
#define DRIVERS_USB_STORAGE_STORAGE_BOT_H

#include "drivers/usb/usb.h"

enum storage_result {
	STORAGE_GOOD,   /* `moved` bytes of data; may be fewer than asked for */
	STORAGE_CHECK,  /* the command failed: REQUEST SENSE says why */
	STORAGE_BROKEN, /* the transport failed, and is ready again */
	STORAGE_DEAD,   /* it cannot be made ready: the device must be reset or is gone */
};

struct storage_command {
	uint8_t cdb[16];
	uint8_t cdb_len; /* 6, 10 or 16 */
	uint8_t lun;
	bool in;
	void *data; /* in memory of alloc() */
	uint32_t len;
	uint32_t timeout_ms; /* for each of data and status */
	bool lazy;           /* nobody waits for it (struct usb_transfer) */
};

struct storage_bot {
	struct usb_device *device;
	struct usb_endpoint *in, *out;
	uint8_t interface;
	uint8_t *buf; /* STORAGE_BOT_BUF bytes of alloc() */
	/* Called when a command has ended; may start the next one. */
	void (*done)(struct storage_bot *b, enum storage_result result);
	void *owner; /* for `done` */
	uint32_t moved;

	/* The rest belongs to storage_bot.c. */
	struct storage_command command;
	struct usb_transfer t;
	uint32_t tag;
	uint8_t step;
	bool again; /* the status was asked for once */
};

#define STORAGE_BOT_BUF 64u

/* Starts a command; `done` is called later, never in this call. The last one must have ended.
 * False: the device takes no transfers; then `done` is not called. */
bool storage_bot_start(struct storage_bot *b, const struct storage_command *command) MUST_USE;

#endif
