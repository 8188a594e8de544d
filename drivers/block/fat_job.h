/* What the fat_ files share: the states of a job. A handler runs whenever no request is under way.
 * It either starts a request, enters another state, or ends the job. */
#ifndef DRIVERS_BLOCK_FAT_JOB_H
#define DRIVERS_BLOCK_FAT_JOB_H

#include "drivers/block/fat.h"

enum {
	FAT_S_OPEN,     /* sector 0 of the device is read */
	FAT_S_PART,     /* the partition table: the volume's first sector is read */
	FAT_S_BOOT,     /* the volume's first sector */
	FAT_S_MARKS,    /* entries 0 and 1 of the FAT */
	FAT_S_FIND,     /* the directory */
	FAT_S_SUM,      /* the content */
	FAT_S_WALK,     /* the old chain is counted */
	FAT_S_INFO,     /* FSInfo is read */
	FAT_S_HINT,     /* it says where free clusters may be */
	FAT_S_SCAN,     /* free clusters */
	FAT_S_DATA,     /* the text is written */
	FAT_S_LINK,     /* the new chain is written */
	FAT_S_CHECK,    /* the new chain is read back */
	FAT_S_SWITCH,   /* the directory's sector was read; it is written */
	FAT_S_SWITCHED, /* it was written */
	FAT_S_FREE,     /* the old chain */
	FAT_S_COUNT,    /* FSInfo is written */
	FAT_S_DONE,
	FAT_S_AGAIN,  /* the file is looked for once more */
	FAT_S_VERIFY, /* its content */
	FAT_S_UNDO,   /* the new chain becomes free: the old content stays */
	FAT_S_UNDONE,
	FAT_STATES,
};

enum { FAT_J_OPEN, FAT_J_SUM, FAT_J_REPLACE, FAT_J_VERIFY };

/* What an entry of the FAT says about the next cluster. */
enum fat_link { FAT_LINK_FREE, FAT_LINK_NEXT, FAT_LINK_END, FAT_LINK_BAD };

/* --- fat_job.c --------------------------------------------------------------------------- */

/* Begins a job, whose state the caller sets. */
void fat_begin(struct fat *f, uint8_t job);
/* Ends the job. `wrong` is for FAT_BAD. */
void fat_ends(struct fat *f, enum fat_result result, const char *wrong);
/* Ends the job with FAT_BAD, when the new chain is free again. */
void fat_fail(struct fat *f, const char *wrong);
/* Each starts a request; when it is complete, `state` is entered. `buf` has BLOCK_BYTES. */
void fat_read_device(struct fat *f, uint8_t state, uint64_t sector); /* one sector, into f->buf */
void fat_read(struct fat *f, uint8_t state, uint8_t *buf, uint32_t sector, uint32_t n);
void fat_write(struct fat *f, uint8_t state, uint8_t *buf, uint32_t sector, uint32_t n);
void fat_flush(struct fat *f, uint8_t state);

/* --- fat_chain.c ------------------------------------------------------------------------- */

/* Gives the entry of a cluster from 0 to clusters + 1. False: it is being read; call again when the
 * request is complete. */
bool fat_chain_get(struct fat *f, uint32_t cluster, uint32_t *value);
/* Changes the entry of a cluster in memory. False: a request was started; call again. */
bool fat_chain_set(struct fat *f, uint32_t cluster, uint32_t value);
/* Writes what fat_chain_set changed. False: a request was started; call again. */
bool fat_chain_written(struct fat *f);
/* Forgets what is in memory. */
void fat_chain_forget(struct fat *f);
enum fat_link fat_chain_link_of(const struct fat *f, uint32_t value);
/* True when a cluster of this number may have data. */
bool fat_chain_has(const struct fat *f, uint32_t cluster);
/* The first sector of a cluster. */
uint32_t fat_chain_sector(const struct fat *f, uint32_t cluster);

/* --- fat_find.c -------------------------------------------------------------------------- */

/* Begins to look for the file f->name. */
void fat_find_begin(struct fat *f);
/* Begins to read `len` bytes of the chain that starts with `cluster`. */
void fat_find_chain(struct fat *f, uint32_t cluster, uint32_t len);
/* Reads on. True when f->text is complete. */
bool fat_find_read(struct fat *f);

/* --- fat_replace.c ----------------------------------------------------------------------- */

/* The entry of the file whose content is to be replaced was found, or room for a new one. */
void fat_replace_found(struct fat *f);
/* What was written is not read back. Ends the job. */
void fat_replace_lost(struct fat *f);

/* --- fat_create.c ------------------------------------------------------------------------ */

/* Looks at an entry, at f->dir.at in buf: is there room for the entries of a new file, and which
 * short names are taken? To be called with each entry up to the end of the directory. */
void fat_create_look(struct fat *f, const uint8_t *e);
/* The directory has no such file: begins to make it. False: there is no room in it. */
bool fat_create_begin(struct fat *f);
/* Puts the names of the new file into its directory's sector, which is in buf; the entry with the
 * short name is the second one. False: there is something else by now. */
bool fat_create_names(struct fat *f);

/* --- handlers of the states -------------------------------------------------------------- */

void fat_volume_open(struct fat *f);
void fat_volume_part(struct fat *f);
void fat_volume_boot(struct fat *f);
void fat_volume_marks(struct fat *f);
void fat_find(struct fat *f);
void fat_find_sum(struct fat *f);
void fat_chain_walk(struct fat *f);
void fat_chain_scan(struct fat *f);
void fat_chain_link(struct fat *f);
void fat_chain_free(struct fat *f);
void fat_chain_undo(struct fat *f);
void fat_replace_info(struct fat *f);
void fat_replace_hint(struct fat *f);
void fat_replace_data(struct fat *f);
void fat_replace_check(struct fat *f);
void fat_replace_switch(struct fat *f);
void fat_replace_switched(struct fat *f);
void fat_replace_count(struct fat *f);
void fat_replace_done(struct fat *f);
void fat_replace_again(struct fat *f);
void fat_replace_verify(struct fat *f);
void fat_replace_undone(struct fat *f);

#endif
