/* See shell_edit.h. */
#include "kernel/shell_edit.h"

#include "kernel/apply.h"
#include "kernel/config/config_word.h"
#include "kernel/edit.h"
#include "kernel/edit_view.h"

/* Changes the key that the argument names. `why` is how it went. */
static void change(const char *words, char why[static DRAFT_WHY])
{
	struct slice rest = {words, strlen(words)}, name = config_word(&rest);
	struct draft *d = edit_draft();
	char key[64];
	fmt(key, sizeof key, "%.*s", (int)min_u32((uint32_t)name.len, sizeof key - 1), name.at);
	const struct config_entry *e = config_entry(d->c, key);
	if (!e) {
		fmt(why, DRAFT_WHY, "unknown key \"%s\" (`help WORD` shows those that begin so)",
		    key);
		return;
	}
	while (rest.len > 0 && *rest.at == ' ') {
		rest.at++;
		rest.len--;
	}
	if (rest.len > 1 && rest.at[0] == '+' && rest.at[1] == ' ') {
		rest.at += 2;
		rest.len -= 2;
		if (!draft_set(d, e, draft_count(d, e), rest, why))
			return;
	} else if (!draft_set_only(d, e, rest, why)) {
		return;
	}
	fmt(why, DRAFT_WHY, "%s is %.80s; %s", key, rest.len ? rest.at : "as by default",
	    e->key->live ? "`apply` puts it into force"
	                 : "it counts after `save`, at the next start");
}

enum shell_step shell_edit(struct shell_list *l, char *buf, size_t size)
{
	char why[DRAFT_WHY];
	if (l->cursor++)
		return SHELL_END;
	if (!edit_draft())
		fmt(buf, size, "not enough memory");
	else if (!l->argument[0])
		edit_view_open((enum console_terminal)l->terminal);
	else if (edit_view_is_open())
		fmt(buf, size, "the editor is open on the other terminal; `edit` takes it over");
	else {
		change(l->argument, why);
		fmt(buf, size, "%s", why);
	}
	return SHELL_LINE;
}

enum shell_step shell_edit_save(struct shell_list *l, char *buf, size_t size)
{
	const char *said;
	if (l->cursor == 2)
		return SHELL_END;
	if (l->cursor == 0) {
		said = edit_view_save();
		l->cursor = said ? 2 : 1;
		if (said)
			fmt(buf, size, "%s", said);
		return said ? SHELL_LINE : SHELL_WAIT;
	}
	said = edit_view_saved();
	if (!said)
		return SHELL_WAIT;
	l->cursor = 2;
	fmt(buf, size, "%s", said);
	return SHELL_LINE;
}

enum shell_step shell_edit_apply(struct shell_list *l, char *buf, size_t size)
{
	char why[DRAFT_WHY];
	if (l->cursor++)
		return SHELL_END;
	edit_view_apply(why);
	fmt(buf, size, "%s", why);
	return SHELL_LINE;
}

enum shell_step shell_edit_keep(struct shell_list *l, char *buf, size_t size)
{
	char why[DRAFT_WHY];
	if (l->cursor++)
		return SHELL_END;
	edit_keep(why);
	fmt(buf, size, "%s", why);
	return SHELL_LINE;
}
