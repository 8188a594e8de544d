/* See wall.h. */
#include "kernel/lib/wall.h"

#include "kernel/lib/fmt.h"

#define DAY_S 86400u

static uint64_t at_boot; /* the time of day then; 0: not known */

void wall_set(uint64_t unix_us, uint64_t now_us)
{
	at_boot = unix_us > now_us ? unix_us - now_us : 0;
}

void wall_forget(void)
{
	at_boot = 0;
}

uint64_t wall_at(uint64_t now_us)
{
	return at_boot ? at_boot + now_us : 0;
}

/* The calendar's year begins with March here, so that the day that not every year has is its last
 * one. Four hundred years have 146,097 days. */
static void date_of(uint32_t days, uint32_t *year, uint32_t *month, uint32_t *day)
{
	uint32_t since = days + 719468; /* 0000-03-01 */
	uint32_t era = since / 146097, of_era = since % 146097;
	uint32_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	uint32_t of_year = of_era - (365 * y + y / 4 - y / 100);
	uint32_t m = (5 * of_year + 2) / 153; /* 0: March */
	*day = of_year - (153 * m + 2) / 5 + 1;
	*month = m < 10 ? m + 3 : m - 9;
	*year = era * 400 + y + (*month <= 2);
}

char *wall_text(char buf[static WALL_TEXT], uint64_t unix_us)
{
	uint64_t s = unix_us / 1000000;
	uint32_t of_day = (uint32_t)(s % DAY_S), year, month, day;
	date_of((uint32_t)(s / DAY_S), &year, &month, &day);
	fmt(buf, WALL_TEXT, "%04u-%02u-%02uT%02u:%02u:%02uZ", year, month, day, of_day / 3600,
	    of_day / 60 % 60, of_day % 60);
	return buf;
}
