/* `stick FILE LENGTH SEED` (debug=on): replaces the content of a file on the boot medium by comment
 * lines, so that tests can save texts of any length. See shell_list.h. */
#include "kernel/shell_list.h"

#include "drivers/block/media.h"

#define MOST 16384u

static char file[32], text[MOST];

static uint32_t number(const char **at)
{
	uint32_t v = 0;
	while (**at == ' ')
		++*at;
	for (; **at >= '0' && **at <= '9'; ++*at)
		v = v * 10 + (uint32_t)(**at - '0');
	return v;
}

/* Lines of 32 characters that begin with '#'. tests/qemu/test_stick.py writes the same. */
static void fill(uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		text[i] = (char)(i % 32 == 0                    ? '#'
		                 : i % 32 == 31 || i == len - 1 ? '\n'
		                                                : 'a' + (i / 32 + i + seed) % 26);
}

enum shell_step shell_list_stick(struct shell_list *l, char *buf, size_t size)
{
	const char *at = l->argument, *message;
	if (l->cursor == 2)
		return SHELL_END;
	if (l->cursor == 0) {
		uint32_t n = 0;
		for (; *at && *at != ' ' && n < sizeof file - 1; at++)
			file[n++] = *at;
		file[n] = '\0';
		uint32_t len = min_u32(number(&at), MOST);
		fill(len, number(&at));
		l->cursor = media_save(file, text, len) ? 1 : 2;
	}
	enum media_save_state state = media_save_state(&message);
	if (l->cursor == 1 && state == MEDIA_SAVE_BUSY)
		return SHELL_WAIT;
	l->cursor = 2;
	fmt(buf, size, "stick: %s", message);
	return SHELL_LINE;
}
