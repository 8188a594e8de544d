/* kernel/saver.c on a medium that the test plays: gateway.last first, then gateway.conf with its
 * mark; an error ends it, and nothing waits. */
#include "kernel/saver.h"

#include "drivers/block/media.h"
#include "kernel/config/config_edit.h"
#include "kernel/lib/alloc.h"
#include "tests/tap.h"

static char last[256], conf[256];
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

/* Begins a save, and gives why it cannot be. */
static const char *start(const char *running, const char *text)
{
	const char *wrong = saver_start(slice(running), slice(text));
	return wrong ? wrong : "";
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
}

static void both_files(void)
{
	begin();
	char old[] = "old 1\n", new[] = "new 1\n";
	CHECK_STR(start(old, new), "");
	memset(old, 'x', sizeof old - 1); /* what changes from now on does not count */
	memset(new, 'x', sizeof new - 1);
	CHECK(saver_busy());
	CHECK_STR(start("other\n", "1\n"), "not saved: another save goes on");
	CHECK(saver_run() == NULL);
	CHECK_STR(last, "old 1\n");
	CHECK_STR(conf, "");
	CHECK(saver_run() == NULL);
	CHECK_STR(conf, "");
	state = MEDIA_SAVE_DONE;
	CHECK(saver_run() == NULL);
	CHECK(saver_run() == NULL);
	CHECK_STR(conf, CONFIG_EDIT_MARK "\nnew 1\n");
	CHECK(saver_run() == NULL);
	state = MEDIA_SAVE_DONE;
	const char *said = saver_run();
	CHECK_STR(said ? said : "", "saved in gateway.conf");
	CHECK_EQ(saver_saved().len, strlen(conf));
	CHECK(memcmp(saver_saved().at, conf, strlen(conf)) == 0);
	CHECK(!saver_busy());
	CHECK(saver_run() == NULL);
}

static void nothing_runs_yet(void)
{
	begin();
	CHECK_STR(start("", "new 1\n"), "");
	saver_run();
	CHECK_STR(last, "");
	CHECK_STR(conf, CONFIG_EDIT_MARK "\nnew 1\n");
}

static void failures(void)
{
	begin();
	refuses = true;
	CHECK_STR(start("old\n", "new 1\n"), "");
	const char *said = saver_run();
	CHECK_STR(said ? said : "", "not saved: there is no medium");
	CHECK(!saver_busy());
	begin();
	start("old\n", "new 1\n");
	saver_run();
	state = MEDIA_SAVE_FAILED;
	message = "the stick is write-protected";
	said = saver_run();
	CHECK_STR(said ? said : "", "not saved: the stick is write-protected");
	CHECK_STR(conf, "");
	CHECK_EQ(calls, 1);
	CHECK_EQ(saver_saved().len, 0);
}

static void another_file_is_on_its_way(void)
{
	begin();
	state = MEDIA_SAVE_BUSY;
	start("", "new 1\n");
	CHECK(saver_run() == NULL);
	CHECK(saver_busy());
	CHECK_STR(conf, "");
	state = MEDIA_SAVE_DONE;
	CHECK(saver_run() == NULL);
	CHECK_STR(conf, CONFIG_EDIT_MARK "\nnew 1\n");
}

/* A stick of before has none: the new text is saved all the same. */
static void no_last(void)
{
	begin();
	start("old\n", "new 1\n");
	saver_run();
	state = MEDIA_SAVE_NO_FILE;
	message = "there is no gateway.last on the stick; make an empty one on a PC";
	CHECK(saver_run() == NULL);
	CHECK(saver_run() == NULL);
	CHECK_STR(conf, CONFIG_EDIT_MARK "\nnew 1\n");
	state = MEDIA_SAVE_DONE;
	const char *said = saver_run();
	CHECK_STR(said ? said : "", "saved in gateway.conf (no gateway.last: make an empty one)");
	start("old\n", "new 1\n");
	saver_run();
	state = MEDIA_SAVE_FAILED;
	message = "there is no gateway.conf on the stick";
	said = saver_run();
	CHECK_STR(said ? said : "", "not saved: there is no gateway.conf on the stick");
}

static void too_long(void)
{
	static char big[MEDIA_TEXT];
	begin();
	memset(big, 'a', sizeof big - 1);
	CHECK_STR(start("", big), "not saved: the text is too long");
	CHECK_STR(start(big, "new 1\n"), "not saved: the text is too long");
	big[MEDIA_TEXT - 100] = 0;
	CHECK_STR(start(big, "new 1\n"), "");
	CHECK_EQ(calls, 0);
}

static void without_memory(void)
{
	alloc_reset();
	CHECK(!saver_init());
	CHECK_STR(start("", "new\n"), "not saved: not enough memory");
}

int main(void)
{
	TEST(both_files);
	TEST(nothing_runs_yet);
	TEST(failures);
	TEST(another_file_is_on_its_way);
	TEST(no_last);
	TEST(too_long);
	TEST(without_memory);
	return tap_done();
}
