/* See menu.h. The menu is plain text for 80 columns and 25 lines. It needs only two
 * functions of a terminal, to clear the screen and to return to the start of the line (CR),
 * so a serial terminal and the VGA screen show the same.
 *
 * Left out on purpose: a configuration editor. */
#include "kernel/menu.h"

#include "drivers/usb/usb.h"
#include "kernel/x86/clock.h"
#include "kernel/console/console.h"
#include "kernel/x86/cpu.h"
#include "kernel/x86/power.h"
#include "kernel/finish.h"
#include "kernel/menu_state.h"
#include "kernel/settings.h"
#include "kernel/usb_input.h"

enum { COLUMNS = 80, ROWS = 25 };
/* Rows that are always used: the title, a blank row, a blank row after the items, a blank
 * row and a row of help after the errors, and the countdown. */
enum { FIXED_ROWS = 6 };
enum { SCREEN_BYTES = ROWS * COLUMNS };

/* Sends output until a whole screen fits into the ring, or the ring is as empty as it gets. */
static void make_room(void)
{
	while (console_room() < SCREEN_BYTES && console_poll())
		clock_alive();
}

/* Gives how many rows an error takes on the screen. */
static uint32_t rows_of(const struct config_error *e)
{
	return (uint32_t)(strlen(e->where) + 2 + strlen(e->what)) / COLUMNS + 1;
}

/* Prints the errors that fit into `rows`, and the number of the others. */
static void draw_errors(const struct config *c, uint32_t rows)
{
	uint32_t kept = min_u32(c->n_errors, CONFIG_ERRORS), shown = 0;
	if (kept == 0)
		return;
	console_print("Nothing can start until the configuration is correct:\n");
	rows = rows > 2 ? rows - 2
	                : 0; /* the line above, and the line with the number of the others */
	for (; shown < kept && rows_of(&c->error[shown]) <= rows; shown++) {
		const struct config_error *e = &c->error[shown];
		console_print("%s: %s\n", e->where, e->what);
		rows -= rows_of(e);
	}
	if (shown < c->n_errors)
		console_print("... and %u more\n", c->n_errors - shown);
}

/* Prints the countdown over the last line. The blanks at the end erase a longer text. */
static void draw_countdown(const struct menu_state *m, const struct menu_item *item)
{
	if (m->counting)
		console_print("\r%.20s starts in %u s; any key stops the countdown   ",
		              item[m->chosen].name, m->left_s);
}

static void draw(const struct menu_state *m, const struct config *c, const struct menu_item *item,
                 const char *problem)
{
	make_room();
	console_clear();
	console_print("Baregate: choose what this gateway does\n\n");
	uint32_t rows = ROWS - FIXED_ROWS;
	uint32_t n = min_u32(m->n, rows / 2);
	/* Of a long list, show the part that contains the choice. */
	uint32_t first = m->chosen < n ? 0 : m->chosen - n + 1;
	for (uint32_t i = first; i < first + n; i++)
		console_print("%c %2u  %-10.10s %.60s\n", i == m->chosen ? '>' : ' ', i + 1,
		              item[i].name, item[i].about);
	console_print("\n");
	rows -= n;
	if (problem) {
		console_print("%.158s\n", problem);
		rows -= min_u32(rows, (uint32_t)strnlen(problem, 158) / COLUMNS + 1);
	}
	draw_errors(c, rows);
	if (m->locked)
		console_print("\nr restarts   p powers off\n");
	else
		console_print(
		        "\n1-9 or arrows choose   Enter starts   r restarts   p powers off\n");
	draw_countdown(m, item);
}

static int read_key(void)
{
	int key = console_key();
	switch (key) {
	case KEY_UP:
		return MENU_KEY_UP;
	case KEY_DOWN:
		return MENU_KEY_DOWN;
	case KEY_HOME:
		return MENU_KEY_HOME;
	case KEY_END:
		return MENU_KEY_END;
	default:
		return key;
	}
}

/* Sends waiting output. When there is none, halts until the next interrupt, at the latest
 * the clock's tick. */
static void wait(void)
{
	bool busy = usb_input_poll(clock_now_us());
	if (console_poll() || busy)
		return;
	cpu_irq_off();
	if (console_arm())
		cpu_irq_on();
	else
		cpu_halt();
}

/* Waits for the next key or time that changes something, and gives what to do. */
static enum menu_act next(struct menu_state *m)
{
	for (;;) {
		clock_alive();
		int key = read_key();
		enum menu_act act = key != KEY_NONE ? menu_state_key(m, key)
		                                    : menu_state_time(m, clock_now_us());
		if (act != MENU_STAY)
			return act;
		if (key == KEY_NONE)
			wait();
	}
}

/* Gives the index of the item with this name; n when there is none. */
static uint32_t find(const struct menu_item *item, uint32_t n, const char *name)
{
	uint32_t i = 0;
	while (i < n && strcmp(item[i].name, name) != 0)
		i++;
	return i;
}

uint32_t menu_run(const struct config *c, const struct menu_item *item, uint32_t n,
                  const char *problem)
{
	const struct settings_run *run = settings_run(c);
	struct menu_state m;
	uint32_t preset = find(item, n, run->menu_default);
	menu_state_init(&m, n, preset, c->n_errors > 0);
	if (preset < n && run->has_menu_timeout && !problem)
		menu_state_count(&m, run->menu_timeout_ms, clock_now_us());
	draw(&m, c, item, problem);
	for (;;) {
		switch (next(&m)) {
		case MENU_START:
			console_print("\n");
			return m.chosen;
		case MENU_RESTART:
			console_flush();
			usb_stop();
			power_restart();
		case MENU_OFF:
			console_flush();
			usb_stop();
			finish_off();
		case MENU_SECOND:
			draw_countdown(&m, item);
			break;
		default:
			draw(&m, c, item, problem);
			break;
		}
	}
}
