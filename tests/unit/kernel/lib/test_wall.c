/* kernel/lib/wall.c: dates, against the C library's. */
#include "kernel/lib/wall.h"

#include <time.h>

#include "tests/tap.h"

static bool agrees(uint64_t s)
{
	char ours[WALL_TEXT], theirs[64];
	time_t t = (time_t)s;
	struct tm tm;
	strftime(theirs, sizeof theirs, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	if (strcmp(wall_text(ours, s * 1000000 + 999999), theirs) == 0)
		return true;
	printf("# %s instead of %s\n", ours, theirs);
	return false;
}

static void dates(void)
{
	bool same = true;
	/* Each day until 2173, or as long as the C library can tell, at a time of day that moves,
	 * and both ends of each. */
	uint64_t most = sizeof(time_t) == 8 ? 74200 : INT32_MAX / 86400;
	for (uint64_t day = 0; day < most && same; day++)
		same = agrees(day * 86400) && agrees(day * 86400 + day * 7919 % 86400) &&
		       agrees(day * 86400 + 86399);
	CHECK(same);
}

static void offsets(void)
{
	wall_forget();
	CHECK_EQ(wall_at(5), 0);
	wall_set(1000000000, 600);
	CHECK_EQ(wall_at(600), 1000000000);
	CHECK_EQ(wall_at(700), 1000000100);
	wall_set(900000000, 700); /* back */
	CHECK_EQ(wall_at(700), 900000000);
	wall_set(5, 700); /* before 1970 at boot: nonsense */
	CHECK_EQ(wall_at(700), 0);
	wall_forget();
	CHECK_EQ(wall_at(700), 0);
}

int main(void)
{
	TEST(dates);
	TEST(offsets);
	return tap_done();
}
