/* See edit.h. */
#include "kernel/edit.h"

#include "kernel/apply.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/saver.h"
#include "kernel/x86/boot.h"

static struct texts *texts;
static struct config *config;
static struct draft draft;
static struct config *scratch;
static struct config *before; /* what was in force before edit_apply */
static char *memory;
static bool ready;
static bool on_trial;
static uint64_t trial_end_us;
static void (*tell)(void);

void edit_begin(void)
{
	if (ready)
		draft_init(&draft, scratch, memory, texts->conf, texts_parse, texts);
}

void edit_init(struct texts *t, struct config *c)
{
	texts = t;
	config = c;
	scratch = alloc_raw(sizeof *scratch, 64);
	before = alloc_raw(sizeof *before, 64);
	memory = alloc_raw(DRAFT_BYTES, 64);
	ready = scratch && before && memory && saver_init();
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

/* --- while a gateway runs -------------------------------------------------------------------- */

uint32_t edit_later(void)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < draft.c->n_entries; i++)
		n += !apply_is_live(draft.c->entry[i].key->name) &&
		     !config_same(config, draft.c, i);
	return n;
}

static void go_back(struct gw *gw)
{
	const char *wrong = apply(gw, config, before);
	on_trial = false;
	if (wrong)
		log_line("configuration: the way back: %s", wrong);
	tell();
}

bool edit_apply(struct gw *gw, uint64_t now_us, void (*changed)(void), char why[static DRAFT_WHY])
{
	uint32_t n, later;
	if (!ready || draft.c->n_errors) {
		fmt(why, DRAFT_WHY, "%s", ready ? draft.c->error[0].what : "not enough memory");
		return false;
	}
	n = apply_count(gw, draft.c);
	later = edit_later();
	if (n == 0) {
		fmt(why, DRAFT_WHY, "nothing can change at once%s",
		    later ? "; `save` and the next start change the rest" : "");
		return false;
	}
	if (!on_trial) /* a second change is tried for the same old values */
		memcpy(before, config, sizeof *before);
	tell = changed;
	const char *wrong = apply(gw, config, draft.c);
	if (wrong) {
		fmt(why, DRAFT_WHY, "%s; nothing has changed", wrong);
		go_back(gw);
		return false;
	}
	on_trial = true;
	trial_end_us = now_us + EDIT_TRIAL_US;
	tell();
	size_t used = fmt(why, DRAFT_WHY, "in force for 60 seconds; `keep` makes it last");
	if (later)
		fmt(why + used, DRAFT_WHY - used, "; %u more at the next start after `save`",
		    later);
	return true;
}

bool edit_keep(void)
{
	bool was = on_trial;
	on_trial = false;
	/* When all of the draft is in force, its text is what runs. */
	if (was && edit_later() == 0) {
		draft_keep(&draft);
		texts->conf = draft.base;
	}
	return was;
}

bool edit_poll(struct gw *gw, uint64_t now_us)
{
	if (!on_trial || now_us < trial_end_us)
		return false;
	go_back(gw);
	log_line("configuration: no `keep` within 60 seconds, the old values are back");
	return true;
}

/* --- saving ---------------------------------------------------------------------------------- */

static struct slice text(void)
{
	return draft.text;
}

/* True when the loader has room for all texts at the next start. */
static bool fits(bool runs)
{
	size_t all = draft.text.len + sizeof CONFIG_EDIT_MARK + 1;
	all += runs ? texts->conf.len : texts->last.len;
	for (uint32_t i = 0; i < texts->n_more; i++)
		all += texts->more[i].text.len;
	return all <= BOOT_TEXT;
}

const char *edit_save(bool runs)
{
	if (!ready)
		return "not enough memory";
	if (draft.c->n_errors)
		return "not saved: the configuration has errors";
	if (!fits(runs))
		return "not saved: the files would have more than 64 KB together";
	if (!saver_start(runs ? texts->conf : (struct slice){"", 0}, text))
		return "not saved: another save goes on";
	return NULL;
}
