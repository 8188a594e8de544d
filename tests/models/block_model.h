/* A block device in memory, for the tests of FAT and of the boot medium. It keeps a log of all
 * writes, sector by sector, and of flushes, so that a test can make each state that a pulled plug
 * may leave. */
#ifndef TESTS_MODELS_BLOCK_MODEL_H
#define TESTS_MODELS_BLOCK_MODEL_H

#include "drivers/block/block.h"

#define BLOCK_MODEL_LOG  32768u
#define BLOCK_MODEL_NONE UINT64_MAX

struct block_model_write {
	bool flush;
	uint64_t sector;
	uint8_t *before, *after; /* sector_bytes each */
};

struct block_model {
	struct block_device device;
	uint8_t *bytes;
	struct block_model_write *log;
	uint32_t n_log;
	uint32_t delay;   /* a request ends in this call of block_model_poll; 0: at once */
	uint32_t waiting; /* calls until the request ends */
	uint32_t reads, writes, flushes;
	/* Faults. */
	uint64_t bad_read, bad_write; /* sectors; BLOCK_MODEL_NONE */
	uint64_t forgets;             /* writes to this sector change nothing */
	uint32_t fail_flush;          /* which flush fails, from 1; 0: none */
	uint32_t fail_write;          /* which write of a sector fails, from 1; 0: none */
	uint32_t fail_read;           /* which read */
	enum block_result failure;    /* of failed writes */
	uint32_t gone_after;          /* vanishes behind this many requests; 0: never */
	uint32_t requests;
	uint64_t limit; /* writes from this sector on, or before `first`, abort the test */
	uint64_t first;
};

/* Makes a device of `bytes`, which belong to the caller, and lets it appear. */
void block_model_init(struct block_model *m, const char *name, uint8_t *bytes, uint64_t sectors,
                      uint32_t sector_bytes);
/* Goes on with the request that is under way. */
void block_model_poll(struct block_model *m);
/* Empties the log; the bytes stay. */
void block_model_forget(struct block_model *m);
/* Takes entry i of the log back, or carries it out again. */
void block_model_undo(struct block_model *m, uint32_t i);
void block_model_redo(struct block_model *m, uint32_t i);
/* Lets the device vanish and frees the log. */
void block_model_end(struct block_model *m);

#endif
