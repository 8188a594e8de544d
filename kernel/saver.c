/* See saver.h. */
#include "kernel/saver.h"

#include "drivers/block/media.h"
#include "kernel/config/config_edit.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/fmt.h"

enum step { IDLE, LAST, CONF };

static char *buffer; /* MEDIA_TEXT bytes: the text that is being saved */
static enum step step;
static bool under_way; /* media_save has taken the text of this step */
static struct slice running;
static struct slice (*get)(void);
static char said[160];

bool saver_init(void)
{
	buffer = alloc_raw(MEDIA_TEXT, 64);
	step = IDLE;
	return buffer != NULL;
}

bool saver_busy(void)
{
	return step != IDLE;
}

bool saver_start(struct slice now, struct slice (*text)(void))
{
	if (step != IDLE)
		return false;
	running = now;
	get = text;
	step = running.len ? LAST : CONF;
	under_way = false;
	return true;
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
	const char *message = "no memory";
	size_t len = CONFIG_EDIT_FULL;
	if (!buffer)
		return message;
	if (step == CONF) {
		len = config_edit_mark(get(), buffer, MEDIA_TEXT);
	} else if (running.len <= MEDIA_TEXT) {
		memcpy(buffer, running.at, running.len);
		len = running.len;
	}
	if (len == CONFIG_EDIT_FULL)
		return "the text is too long";
	if (media_save(step == CONF ? "gateway.conf" : "gateway.last", buffer, len)) {
		under_way = true;
		return NULL;
	}
	/* Another file on its way is only a reason to wait. */
	return media_save_state(&message) == MEDIA_SAVE_BUSY ? NULL : message;
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
	if (state != MEDIA_SAVE_DONE)
		return end("not saved: %s", message);
	if (step == CONF)
		return end("%s", "saved in gateway.conf");
	step = CONF;
	under_way = false;
	return NULL;
}
