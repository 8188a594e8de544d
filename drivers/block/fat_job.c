/* See fat.h: jobs, requests, and what follows when a request fails. */
#include "drivers/block/fat_job.h"

#include "kernel/lib/alloc.h"

#define STEPS 64u /* of a job in one call of fat_poll, none of which waits */

bool fat_init(struct fat *f)
{
	memset(f, 0, sizeof *f);
	f->buf = alloc(BLOCK_BYTES, 4096);
	f->window = alloc(BLOCK_BYTES, 4096);
	return f->buf && f->window;
}

struct fat_text fat_text_of(const char *text, uint32_t len)
{
	struct fat_text t = {len, 0xcbf29ce484222325u};
	for (uint32_t i = 0; i < len; i++)
		t.sum = fat_text_add(t.sum, (uint8_t)text[i]);
	return t;
}

void fat_ends(struct fat *f, enum fat_result result, const char *wrong)
{
	f->result = result;
	f->wrong = wrong;
}

void fat_fail(struct fat *f, const char *wrong)
{
	if (f->undo) {
		f->undo = false;
		f->wrong = wrong;
		f->done = 0;
		f->state = FAT_S_UNDO;
	} else {
		fat_ends(f, FAT_BAD, wrong);
	}
}

/* --- requests ---------------------------------------------------------------------------- */

static void submit(struct fat *f, uint8_t state, enum block_op op, uint8_t *buf, uint32_t n)
{
	f->state = state;
	f->request.op = op;
	f->request.data = buf;
	f->request.count = n;
	if (f->device->number == f->number)
		block_submit(f->device, &f->request);
	else
		f->request.result = BLOCK_GONE; /* what is there now is another stick */
}

static void submit_at(struct fat *f, uint8_t state, enum block_op op, uint8_t *buf, uint32_t sector,
                      uint32_t n)
{
	/* Whatever the volume says: nothing outside it is touched, and never its first sector. */
	if (sector == 0 || sector >= f->volume.sectors || n > f->volume.sectors - sector) {
		fat_fail(f, "the stick's FAT is damaged: a place outside the volume");
		return;
	}
	f->request.sector = f->volume.start + sector;
	submit(f, state, op, buf, n);
}

void fat_read_device(struct fat *f, uint8_t state, uint64_t sector)
{
	f->request.sector = sector;
	submit(f, state, BLOCK_READ, f->buf, 1);
}

void fat_read(struct fat *f, uint8_t state, uint8_t *buf, uint32_t sector, uint32_t n)
{
	submit_at(f, state, BLOCK_READ, buf, sector, n);
}

void fat_write(struct fat *f, uint8_t state, uint8_t *buf, uint32_t sector, uint32_t n)
{
	submit_at(f, state, BLOCK_WRITE, buf, sector, n);
}

void fat_flush(struct fat *f, uint8_t then)
{
	submit(f, then, BLOCK_FLUSH, NULL, 0);
}

static const char *reason(const struct block_request *r)
{
	switch (r->result) {
	case BLOCK_GONE:
		return "the stick was pulled";
	case BLOCK_PROTECTED:
		return "the stick is write-protected";
	case BLOCK_NO_ROOM:
		return "the stick says that its space is used up";
	default:
		return r->op == BLOCK_READ ? "the stick has a read error"
		                           : "the stick has a write error";
	}
}

/* The last request failed. */
static void request_failed(struct fat *f)
{
	enum block_result r = f->request.result;
	const char *wrong = reason(&f->request);
	bool unwritten = r == BLOCK_PROTECTED || r == BLOCK_NO_ROOM;
	f->request.result = BLOCK_OK;
	fat_chain_forget(f);
	if (f->fate == FAT_EITHER && f->request.op == BLOCK_WRITE && unwritten)
		f->fate = FAT_OLD;
	if (r == BLOCK_GONE || r == BLOCK_PROTECTED)
		f->undo = false;
	if (f->state == FAT_S_UNDO || f->state == FAT_S_UNDONE)
		fat_ends(f, FAT_BAD, f->wrong); /* the first reason is what counts */
	else if (f->fate == FAT_REPLACED && f->job == FAT_J_REPLACE && r != BLOCK_GONE)
		f->state = FAT_S_AGAIN; /* the old clusters are lost, and no more than that */
	else
		fat_fail(f, wrong);
}

/* --- jobs -------------------------------------------------------------------------------- */

void fat_begin(struct fat *f, uint8_t job)
{
	f->job = job;
	f->result = FAT_BUSY;
	f->wrong = NULL;
	f->fate = FAT_OLD;
	f->undo = false;
	f->request.result = BLOCK_OK;
	fat_chain_forget(f);
}

void fat_open(struct fat *f, struct block_device *d, uint32_t part)
{
	fat_begin(f, FAT_J_OPEN);
	f->device = d;
	f->number = d->number;
	f->part = part;
	memset(&f->volume, 0, sizeof f->volume);
	f->state = FAT_S_OPEN;
}

void fat_sum(struct fat *f, const char *name)
{
	fat_begin(f, FAT_J_SUM);
	f->name = name;
	fat_find_begin(f);
}

static void (*const handler[FAT_STATES])(struct fat *f) = {
        [FAT_S_OPEN] = fat_volume_open,
        [FAT_S_PART] = fat_volume_part,
        [FAT_S_BOOT] = fat_volume_boot,
        [FAT_S_MARKS] = fat_volume_marks,
        [FAT_S_FIND] = fat_find,
        [FAT_S_SUM] = fat_find_sum,
        [FAT_S_WALK] = fat_chain_walk,
        [FAT_S_INFO] = fat_replace_info,
        [FAT_S_HINT] = fat_replace_hint,
        [FAT_S_SCAN] = fat_chain_scan,
        [FAT_S_DATA] = fat_replace_data,
        [FAT_S_LINK] = fat_chain_link,
        [FAT_S_CHECK] = fat_replace_check,
        [FAT_S_SWITCH] = fat_replace_switch,
        [FAT_S_SWITCHED] = fat_replace_switched,
        [FAT_S_FREE] = fat_chain_free,
        [FAT_S_COUNT] = fat_replace_count,
        [FAT_S_DONE] = fat_replace_done,
        [FAT_S_AGAIN] = fat_replace_again,
        [FAT_S_VERIFY] = fat_replace_verify,
        [FAT_S_UNDO] = fat_chain_undo,
        [FAT_S_UNDONE] = fat_replace_undone,
};

enum fat_result fat_poll(struct fat *f)
{
	for (uint32_t i = 0; i < STEPS && f->result == FAT_BUSY; i++) {
		if (f->request.result == BLOCK_PENDING)
			break;
		if (f->request.result != BLOCK_OK)
			request_failed(f);
		else
			handler[f->state](f);
	}
	return f->result;
}
