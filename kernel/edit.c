/* See edit.h. */
#include "kernel/edit.h"

#include "kernel/lib/alloc.h"
#include "kernel/saver.h"

static struct texts *texts;
static struct config *config;
static struct draft draft;
static struct config *scratch;
static char *memory;
static bool ready;

void edit_begin(void)
{
	if (ready)
		draft_init(&draft, scratch, memory, texts->conf, texts_read, texts);
}

void edit_init(struct texts *t, struct config *c)
{
	texts = t;
	config = c;
	scratch = alloc_raw(sizeof *scratch, 64);
	memory = alloc_raw(DRAFT_BYTES, 64);
	ready = scratch && memory && saver_init();
	edit_begin();
}

struct draft *edit_draft(void)
{
	return ready ? &draft : NULL;
}

void edit_use(void)
{
	draft_keep(&draft);
	texts->conf = draft.base;
	texts_read(texts, config, texts->conf);
}

static struct slice text(void)
{
	return draft.text;
}

const char *edit_save(bool runs)
{
	if (!ready)
		return "not enough memory";
	if (draft.c->n_errors)
		return "not saved: the configuration has errors";
	if (!saver_start(runs ? texts->conf : (struct slice){"", 0}, text))
		return "not saved: another save goes on";
	return NULL;
}
