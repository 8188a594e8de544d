/* Fuzzer: any command line and any file as configuration. The bytes before the first NUL are the
 * command line, the rest is the file; without a NUL all bytes are the file.
 *
 * Whatever was read, the resulting configuration must print as text that loads again without an
 * error and gives the same configuration. A configuration without errors starts its application or
 * is refused with a reason, in much memory or little. */
#include "kernel/lib/log.h"
#include "kernel/settings.h"
#include "tests/fuzz/must.h"
#include "tests/host/rig.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const apps[] = {"nat", "wire", "6to4", "ivi", "dns64"};
static struct config first, second;

static size_t print(const struct config *c, char *out, size_t size)
{
	char line[300];
	uint32_t cursor = 0;
	size_t n = 0;
	while (config_line(c, &cursor, line, sizeof line)) {
		size_t len = strlen(line);
		MUST(len > 0 && len + 1 < size - n);
		memcpy(out + n, line, len);
		out[n + len] = '\n';
		n += len + 1;
	}
	/* The cursor stays at the end. */
	MUST(!config_line(c, &cursor, line, sizeof line));
	return n;
}

static void check_text(const char *text, size_t room)
{
	size_t n = strnlen(text, room);
	MUST(n > 0 && n < room);
	for (size_t i = 0; i < n; i++)
		MUST(text[i] >= ' ' && text[i] <= '~');
}

static void check_errors(const struct config *c, bool ok)
{
	MUST(ok == (c->n_errors == 0));
	for (uint32_t i = 0; i < c->n_errors && i < CONFIG_ERRORS; i++) {
		check_text(c->error[i].where, sizeof c->error[i].where);
		check_text(c->error[i].what, sizeof c->error[i].what);
	}
}

static void check_in_force(void)
{
	static char text[65536], again[65536];
	size_t n = print(&first, text, sizeof text);
	settings_init(&second, apps, ARRAY_SIZE(apps));
	MUST(config_text(&second, "again", text, n));
	MUST(second.n_errors == 0);
	MUST(memcmp(first.values, second.values, sizeof first.values) == 0);
	MUST(print(&second, again, sizeof again) == n && memcmp(text, again, n) == 0);
}

/* The size of the input chooses it: the smallest is too small for any application. */
static void check_start(size_t size)
{
	static struct rig rig;
	static const size_t memory[] = {1u << 18, 1u << 21, 1u << 22, 1u << 24};
	rig_reset(&rig, 1, memory[size % ARRAY_SIZE(memory)], 1000000);
	rig.config = first;
	const char *wrong = rig_start(&rig, settings_name(&first)->app, 16);
	if (wrong) {
		check_text(wrong, 1000);
		return;
	}
	rig_leap(&rig, 4000000, 4);
	MUST(rig.pool.n_free <= rig.free_at_start);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t words = nul ? (size_t)(nul - data) + 1 : 0;
	/* Separate copies, so that the sanitizer finds a read beyond the end. */
	char *line = calloc(1, words + 1), *file = malloc(size > words ? size - words : 1);
	MUST(line && file);
	if (words)
		memcpy(line, data, words);
	if (size > words)
		memcpy(file, data + words, size - words);
	log_reset();
	settings_init(&first, apps, ARRAY_SIZE(apps));
	MUST(first.n_errors == 0);
	bool ok = config_cmdline(&first, line);
	check_errors(&first, ok);
	ok = config_text(&first, "gateway.conf", file, size - words) && ok;
	check_errors(&first, ok);
	check_in_force();
	ok = config_check(&first) && ok;
	check_errors(&first, ok);
	if (ok && settings_name(&first)->app[0])
		check_start(size);
	free(line);
	free(file);
	return 0;
}
