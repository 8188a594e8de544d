/* See saver.h. */
#include "kernel/saver.h"

#include "drivers/block/media.h"
#include "kernel/config/config_edit.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/fmt.h"

enum step { IDLE, LAST, CONF };

static char *buffer; /* MEDIA_TEXT bytes: the text that runs, behind it the new one */
static enum step step;
static bool under_way; /* media_save has taken the text of this step */
static struct slice running, text, saved;
static bool without_last; /* there is no gateway.last */
static char said[160];

bool saver_init(void)
{
	buffer = alloc_raw(MEDIA_TEXT, 64);
	step = IDLE;
	saved.len = 0;
	return buffer != NULL;
}

bool saver_busy(void)
{
	return step != IDLE;
}

const char *saver_start(struct slice now, struct slice new)
{
	if (step != IDLE)
		return "not saved: another save goes on";
	if (!buffer)
		return "not saved: not enough memory";
	size_t len = CONFIG_EDIT_FULL;
	if (now.len < MEDIA_TEXT)
		len = config_edit_mark(new, buffer + now.len, MEDIA_TEXT - now.len);
	if (len == CONFIG_EDIT_FULL)
		return "not saved: the text is too long";
	if (now.len)
		memcpy(buffer, now.at, now.len);
	running = (struct slice){buffer, now.len};
	text = (struct slice){buffer + now.len, len};
	saved.len = 0;
	step = running.len ? LAST : CONF;
	under_way = without_last = false;
	return NULL;
}

struct slice saver_saved(void)
{
	return saved;
}

static const char *end(const char *format, const char *what)
{
	step = IDLE;
	fmt(said, sizeof said, format, what);
	return said;
}

/* Begins a step. NULL, or why it cannot be. */
static const char *begin(void)
{
	const char *message;
	bool conf = step == CONF;
	const struct slice *s = conf ? &text : &running;
	under_way = media_save(conf ? "gateway.conf" : "gateway.last", s->at, s->len);
	/* Another file on its way is only a reason to wait. */
	return under_way || media_save_state(&message) == MEDIA_SAVE_BUSY ? NULL : message;
}

const char *saver_run(void)
{
	const char *message;
	if (step == IDLE)
		return NULL;
	if (!under_way) {
		message = begin();
		return message ? end("not saved: %s", message) : NULL;
	}
	enum media_save_state state = media_save_state(&message);
	if (state == MEDIA_SAVE_BUSY)
		return NULL;
	bool no_last = step == LAST && state == MEDIA_SAVE_NO_FILE;
	if (state != MEDIA_SAVE_DONE && !no_last)
		return end("not saved: %s", message);
	if (step == CONF) {
		saved = text;
		return end("saved in gateway.conf%s",
		           without_last ? " (no gateway.last: make an empty one)" : "");
	}
	without_last = no_last;
	step = CONF;
	under_way = false;
	return NULL;
}
