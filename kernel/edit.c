/* See edit.h. */
#include "kernel/edit.h"

#include "kernel/apply.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/saver.h"
#include "kernel/settings.h"
#include "kernel/x86/boot.h"

/* A reason to ask once before something is saved. */
enum doubt { SURE, FELL_BACK, NOT_KEPT };

static struct texts *texts;
static struct config *config;
static void (*in_force)(void);
static struct draft draft;
static struct config *scratch;
static struct config *before; /* what was in force before edit_apply */
static char *memory;
static bool ready;
static enum doubt doubt;

/* The text that runs or will start is in one half, unless the loader has it; that on trial is in
 * the other one, as it was when it was applied. */
static char *halves[2];
static uint32_t running;
static struct slice trial;
static bool trial_whole; /* all of it is in force */
static bool on_trial;
static bool save_kept;  /* edit_keep is to save it */
static bool save_later; /* edit_started is to save what starts */
static uint64_t trial_end_us;

/* Copies the draft's text into the half that has not the one in force. */
static struct slice copy(void)
{
	char *to = halves[1 - running];
	if (draft.text.len)
		memcpy(to, draft.text.at, draft.text.len);
	return (struct slice){to, draft.text.len};
}

/* Makes such a copy the text in force. */
static void take(struct slice text)
{
	running = 1 - running;
	texts->conf = text;
}

void edit_begin(void)
{
	on_trial = save_later = false;
	doubt = texts_fell_back(texts) ? FELL_BACK : SURE;
	if (ready)
		draft_init(&draft, scratch, memory, texts->conf, texts_parse, texts);
	in_force();
}

void edit_init(struct texts *t, struct config *c, void (*changed)(void))
{
	texts = t;
	config = c;
	in_force = changed;
	scratch = alloc_raw(sizeof *scratch, 64);
	before = alloc_raw(sizeof *before, 64);
	memory = alloc_raw(DRAFT_BYTES, 64);
	halves[0] = alloc_raw(DRAFT_TEXT, 64);
	halves[1] = alloc_raw(DRAFT_TEXT, 64);
	ready = scratch && before && memory && halves[0] && halves[1] && saver_init();
	edit_begin();
}

struct draft *edit_draft(void)
{
	return ready ? &draft : NULL;
}

void edit_use(void)
{
	save_later = false;
	take(copy());
	draft_keep(&draft);
	texts_read(texts, config, texts->conf);
	in_force();
}

/* --- while a gateway runs -------------------------------------------------------------------- */

uint32_t edit_later(void)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < draft.c->n_entries; i++)
		n += !draft.c->entry[i].key->live && !config_same(config, draft.c, i);
	return n;
}

static void go_back(struct gw *gw)
{
	const char *wrong = apply(gw, config, before);
	on_trial = false;
	if (wrong)
		log_line("configuration: the way back: %s", wrong);
	in_force();
}

bool edit_apply(struct gw *gw, uint64_t now_us, char why[static DRAFT_WHY])
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
	const char *wrong = apply(gw, config, draft.c);
	if (wrong) {
		fmt(why, DRAFT_WHY, "%s; nothing has changed", wrong);
		go_back(gw);
		return false;
	}
	on_trial = true;
	save_kept = false;
	trial = copy();
	trial_whole = later == 0;
	trial_end_us = now_us + EDIT_TRIAL_US;
	in_force();
	size_t used = fmt(why, DRAFT_WHY, "in force for 60 seconds; `keep` makes it last");
	if (later)
		fmt(why + used, DRAFT_WHY - used, "; %u more at the next start after `save`",
		    later);
	return true;
}

bool edit_poll(struct gw *gw, uint64_t now_us)
{
	if (!on_trial || now_us < trial_end_us)
		return false;
	go_back(gw);
	doubt = NOT_KEPT;
	log_line("configuration: no `keep` within 60 seconds, the old values are back; "
	         "the draft has the new ones");
	return true;
}

/* --- saving ---------------------------------------------------------------------------------- */

static const char too_long[] = "not saved: the files would have more than 64 KB together";

/* True when the loader has room for all texts at the next start. */
static bool fits(struct slice text)
{
	size_t all = text.len + sizeof CONFIG_EDIT_MARK + 1 + texts->conf.len;
	for (uint32_t i = 0; i < texts->n_more; i++)
		all += texts->more[i].text.len;
	return all <= BOOT_TEXT;
}

static const char *save(struct slice text)
{
	if (!fits(text))
		return too_long;
	return saver_start(texts->conf, text);
}

/* NULL when the draft may be saved, or why not. A reason that asks to save again counts once. */
static const char *refuse(void)
{
	enum doubt was = doubt;
	if (!ready)
		return "not saved: not enough memory";
	if (draft.c->n_errors)
		return "not saved: the configuration has errors";
	if (on_trial)
		return "not saved: it is on trial, `keep` it first";
	doubt = SURE;
	if (was == FELL_BACK)
		return "not saved: gateway.conf could not be used; `save` again replaces it";
	if (was == NOT_KEPT && draft_has_changes(&draft))
		return "not saved: the draft has what was not kept; `save` again saves it";
	return fits(draft.text) ? NULL : too_long;
}

const char *edit_save(void)
{
	const char *wrong = refuse();
	return wrong ? wrong : saver_start(texts->conf, draft.text);
}

const char *edit_save_later(void)
{
	const char *wrong = refuse();
	save_later = !wrong;
	return wrong;
}

bool edit_saves_later(void)
{
	return save_later;
}

void edit_save_app(const char *app)
{
	char why[DRAFT_WHY];
	if (!save_later || strcmp(settings_name(config)->app, app) == 0 ||
	    !draft_set_only(&draft, config_entry(draft.c, "app"), (struct slice){app, strlen(app)},
	                    why))
		return; /* a name on the command line stays */
	edit_use();
	save_later = true;
}

bool edit_forget_save(void)
{
	bool was = save_later;
	save_later = false;
	return was;
}

const char *edit_started(void)
{
	return edit_forget_save() ? save(texts->conf) : NULL;
}

const char *edit_save_run(void)
{
	const char *said = saver_run();
	if (said && saver_saved().len)
		draft_saved(&draft, saver_saved());
	return said;
}

void edit_apply_and_save(struct gw *gw, uint64_t now_us, char why[static DRAFT_WHY])
{
	if (edit_apply(gw, now_us, why)) {
		fmt(why, DRAFT_WHY, "in force for 60 seconds; `keep` makes it last and saves it");
		save_kept = true;
	} else if (ready && !on_trial && !draft.c->n_errors && !apply_count(gw, draft.c)) {
		const char *wrong = edit_save();
		fmt(why, DRAFT_WHY, "nothing can change at once; %s", wrong ? wrong : "saving");
	}
}

bool edit_keep(char why[static DRAFT_WHY])
{
	if (!on_trial) {
		fmt(why, DRAFT_WHY, "nothing is on trial");
		return false;
	}
	on_trial = false;
	doubt = doubt == NOT_KEPT ? SURE : doubt;
	/* When all of it is in force, its text is what runs. */
	if (trial_whole) {
		draft_rebase(&draft, trial);
		take(trial);
	}
	const char *wrong = save_kept ? save(trial) : NULL;
	if (wrong)
		fmt(why, DRAFT_WHY, "kept, %s", wrong);
	else
		fmt(why, DRAFT_WHY,
		    save_kept ? "kept, and being saved: the log says how it ends"
		              : "kept; `save` writes it to the boot medium");
	return true;
}
