/* See field.h. */
#include "kernel/ui/field.h"

#include "kernel/console/keys.h"

enum { BACKSPACE = 8, CTRL_U = 21, RUBOUT = 127 };

static bool is_text(int key)
{
	return key >= ' ' && key <= '~';
}

void field_set(struct field *f, struct slice text)
{
	f->len = 0;
	for (size_t i = 0; i < text.len && f->len < FIELD_TEXT - 1; i++)
		if (is_text(text.at[i]))
			f->text[f->len++] = text.at[i];
	f->text[f->len] = '\0';
	f->at = f->len;
}

/* Removes the character behind the cursor. */
static void remove(struct field *f)
{
	if (f->at == f->len)
		return;
	memmove(f->text + f->at, f->text + f->at + 1, f->len - f->at);
	f->len--;
}

static void insert(struct field *f, char c)
{
	if (f->len == FIELD_TEXT - 1)
		return;
	memmove(f->text + f->at + 1, f->text + f->at, f->len + 1 - f->at);
	f->text[f->at++] = c;
	f->len++;
}

bool field_key(struct field *f, int key)
{
	switch (key) {
	case KEY_LEFT:
		f->at -= f->at > 0;
		return true;
	case KEY_RIGHT:
		f->at += f->at < f->len;
		return true;
	case KEY_HOME:
		f->at = 0;
		return true;
	case KEY_END:
		f->at = f->len;
		return true;
	case KEY_DELETE:
		remove(f);
		return true;
	case BACKSPACE:
	case RUBOUT:
		if (f->at > 0) {
			f->at--;
			remove(f);
		}
		return true;
	case CTRL_U:
		field_set(f, (struct slice){"", 0});
		return true;
	default:
		if (is_text(key))
			insert(f, (char)key);
		return is_text(key);
	}
}

void field_draw(const struct field *f, struct grid *g, uint32_t row, uint32_t column,
                uint32_t width)
{
	uint32_t from = f->at < width ? 0 : f->at - width + 1;
	grid_fill(g, row, column, width, GRID_REVERSE, ' ');
	grid_print(g, row, column, GRID_REVERSE, "%.*s", (int)width, f->text + from);
	grid_cursor(g, row, column + f->at - from);
}
