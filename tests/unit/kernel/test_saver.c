/* kernel/saver.c on a medium that the test plays: gateway.last first, then gateway.conf with its
 * mark; an error ends it, and nothing waits. */
#include "kernel/saver.h"

#include "drivers/block/media.h"
#include "kernel/config/config_edit.h"
#include "kernel/lib/alloc.h"
#include "tests/tap.h"

static char last[256], conf[256];
static const char *now_text;
static enum media_save_state state;
static const char *message;
static bool refuses;
static unsigned calls;

bool media_save(const char *file, const char *text, size_t len)
{
	char *to = strcmp(file, "gateway.last") == 0 ? last : conf;
	calls++;
	if (refuses || state == MEDIA_SAVE_BUSY) {
		state = refuses ? MEDIA_SAVE_FAILED : state;
		return false;
	}
	snprintf(to, sizeof last, "%.*s", (int)len, text);
	state = MEDIA_SAVE_BUSY;
	return true;
}

enum media_save_state media_save_state(const char **said)
{
	*said = message;
	return state;
}

static struct slice slice(const char *text)
{
	return (struct slice){text, strlen(text)};
}

static struct slice get(void)
{
	return slice(now_text);
}

static void begin(void)
{
	static char arena[2 * MEDIA_TEXT];
	alloc_reset();
	alloc_add(arena, sizeof arena);
	CHECK(saver_init());
	last[0] = conf[0] = 0;
	state = MEDIA_SAVE_IDLE;
	message = "there is no medium";
	refuses = false;
	calls = 0;
	now_text = "new 1\n";
}

static void both_files(void)
{
	begin();
	CHECK(saver_start(slice("old 1\n"), get));
	CHECK(saver_busy());
	CHECK(!saver_start(slice("other\n"), get));
	CHECK(saver_run() == NULL);
	CHECK_STR(last, "old 1\n");
	CHECK_STR(conf, "");
	CHECK(saver_run() == NULL);
	CHECK_STR(conf, "");
	state = MEDIA_SAVE_DONE;
	CHECK(saver_run() == NULL);
	now_text = "newer 1\n"; /* what is typed until then counts too */
	CHECK(saver_run() == NULL);
	CHECK_STR(conf, CONFIG_EDIT_MARK "\nnewer 1\n");
	CHECK(saver_run() == NULL);
	state = MEDIA_SAVE_DONE;
	const char *said = saver_run();
	CHECK_STR(said ? said : "", "saved in gateway.conf");
	CHECK(!saver_busy());
	CHECK(saver_run() == NULL);
}

static void nothing_runs_yet(void)
{
	begin();
	CHECK(saver_start(slice(""), get));
	saver_run();
	CHECK_STR(last, "");
	CHECK_STR(conf, CONFIG_EDIT_MARK "\nnew 1\n");
}

static void failures(void)
{
	begin();
	refuses = true;
	CHECK(saver_start(slice("old\n"), get));
	const char *said = saver_run();
	CHECK_STR(said ? said : "", "not saved: there is no medium");
	CHECK(!saver_busy());
	begin();
	saver_start(slice("old\n"), get);
	saver_run();
	state = MEDIA_SAVE_FAILED;
	message = "the stick is write-protected";
	said = saver_run();
	CHECK_STR(said ? said : "", "not saved: the stick is write-protected");
	CHECK_STR(conf, "");
	CHECK_EQ(calls, 1);
}

static void another_file_is_on_its_way(void)
{
	begin();
	state = MEDIA_SAVE_BUSY;
	saver_start(slice(""), get);
	CHECK(saver_run() == NULL);
	CHECK(saver_busy());
	CHECK_STR(conf, "");
	state = MEDIA_SAVE_DONE;
	CHECK(saver_run() == NULL);
	CHECK_STR(conf, CONFIG_EDIT_MARK "\nnew 1\n");
}

static void too_long(void)
{
	static char big[MEDIA_TEXT];
	begin();
	memset(big, 'a', sizeof big - 1);
	now_text = big;
	saver_start(slice(""), get);
	const char *said = saver_run();
	CHECK_STR(said ? said : "", "not saved: the text is too long");
	CHECK_EQ(calls, 0);
}

int main(void)
{
	TEST(both_files);
	TEST(nothing_runs_yet);
	TEST(failures);
	TEST(another_file_is_on_its_way);
	TEST(too_long);
	return tap_done();
}
