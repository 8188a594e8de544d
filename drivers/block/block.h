/* Devices of sectors, such as USB sticks. Used by MAIN alone.
 *
 * A driver fills in a struct block_device and calls block_appear when sectors can be read, and
 * block_vanish when the device is gone. The struct is never freed; its `number` changes
 * each time it appears. Users put a request to it and poll the request's result. */
#ifndef DRIVERS_BLOCK_BLOCK_H
#define DRIVERS_BLOCK_BLOCK_H

#include "kernel/lib/bytes.h"

#define BLOCK_DEVICES 8u
#define BLOCK_BYTES   4096u /* of the largest sector, and of one request at most */

enum block_op { BLOCK_READ, BLOCK_WRITE, BLOCK_FLUSH };

enum block_result {
	BLOCK_OK,
	BLOCK_PENDING,
	BLOCK_FAILED,    /* an error of the medium; of several sectors any may have been written */
	BLOCK_PROTECTED, /* nothing was written: the medium is write-protected */
	BLOCK_NO_ROOM,   /* nothing was written: the device says that its space is used up */
	BLOCK_GONE,      /* the device was unplugged or no longer answers */
};

/* A request. The user fills in the first part, and keeps the struct and the data where they are
 * until the result is no longer BLOCK_PENDING. */
struct block_request {
	enum block_op op;
	uint64_t sector;
	uint32_t count; /* of sectors; 0 for a flush */
	void *data;     /* in memory of alloc(), so that devices can reach it */

	enum block_result result;
};

struct block_device {
	char name[64]; /* for people: "usb 1-2, SanDisk Ultra" */
	uint32_t sector_bytes;
	uint64_t sectors;
	bool read_only;
	/* Starts `request`, whose place has been checked. The driver sets its result within a
	 * bounded time, in this call or later, also when the device vanishes. A flush is complete
	 * when all that was written before is on the medium. */
	void (*start)(struct block_device *d);
	void *driver; /* belongs to the driver */

	uint32_t number; /* belongs to block.c, as the next: 0 while the device is not there */
	struct block_request *request; /* the one that is under way; NULL: none */
};

/* Adds a device whose fields above are set. False when there are BLOCK_DEVICES. */
bool block_appear(struct block_device *d);
/* The driver has carried out the request that is under way. Nothing when there is none. */
void block_done(struct block_device *d, enum block_result result);
/* Removes a device; no error when it never appeared. A request that is under way ends with
 * BLOCK_GONE. */
void block_vanish(struct block_device *d);

/* Device `i` of those that are there, in the order in which they appeared; NULL behind the last. */
struct block_device *block_at(uint32_t i);

/* A driver has found a device that will appear, or will not: +1, and -1 when that is decided. */
void block_expect(int change);
/* True while a driver is at work on a device that may appear. */
bool block_expected(void);

/* Starts a request on a device. The result is set at once when the device is not there, is still
 * busy (BLOCK_FAILED) or protected, or when the sectors do not lie on it. */
void block_submit(struct block_device *d, struct block_request *r);

/* Removes all devices. For tests. */
void block_reset(void);

#endif
