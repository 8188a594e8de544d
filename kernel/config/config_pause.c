/* See config_pause.h. */
#include "kernel/config/config_pause.h"

static void (*run_others)(void);
static size_t since;

void config_pause_by(void (*others)(void))
{
	run_others = others;
	since = 0;
}

void config_pause_read(size_t bytes)
{
	since += bytes;
	if (since < CONFIG_PAUSE_BYTES)
		return;
	since = 0;
	if (run_others)
		run_others();
}
