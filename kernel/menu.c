/* See menu.h. Three screens: the menu itself, the editor, the wizard. Each is a grid that both
 * terminals show; a key of either goes to the screen that is shown. */
#include "kernel/menu.h"

#include "drivers/usb/usb.h"
#include "kernel/x86/clock.h"
#include "kernel/console/console.h"
#include "kernel/x86/cpu.h"
#include "kernel/edit.h"
#include "kernel/x86/power.h"
#include "kernel/finish.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/menu_state.h"
#include "kernel/settings.h"
#include "kernel/ui/editor.h"
#include "kernel/ui/wizard.h"
#include "kernel/usb_input.h"

#define POLL_US 10000u /* how often the cards are polled */

enum { CTRL_L = 12 };
enum screen { MENU, EDITOR, WIZARD };

_Static_assert(MENU_VIEW_CARDS >= NIC_MAX, "all cards are shown");

static struct grid grid;
static struct menu_state state;
static struct menu_view view;
static struct menu_card cards[NIC_MAX];
static struct nic *const *nics;
static enum screen screen;
static struct editor editor;
static struct wizard wizard;
static char message[200];
static uint64_t poll_at;
static bool attended; /* a key was pressed */

/* --- cards and time ------------------------------------------------------------------------- */

/* Polls the cards and reads their links. True when one has changed. */
static bool look_at_cards(uint64_t now)
{
	bool changed = false;
	poll_at = now + POLL_US;
	for (uint32_t i = 0; i < view.n_cards; i++) {
		nics[i]->ops->poll(nics[i], now);
		bool up = nics[i]->carrier.up;
		changed |= up != cards[i].up;
		cards[i].up = up;
		cards[i].mbit = nics[i]->carrier.mbit;
	}
	return changed;
}

static void name_cards(void)
{
	for (uint32_t i = 0; i < view.n_cards; i++) {
		fmt_mac(cards[i].address, &nics[i]->address);
		cards[i].driver = nics[i]->driver;
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

/* --- the screens ---------------------------------------------------------------------------- */

static void draw(void)
{
	view.chosen = state.chosen;
	view.counting = state.counting ? state.left_s : 0;
	view.message = message[0] ? message : NULL;
	if (screen == EDITOR)
		editor_draw(&editor, &grid);
	else if (screen == WIZARD)
		wizard_draw(&wizard, &grid);
	else
		menu_view_draw(&view, &grid);
	console_show(CONSOLE_LOCAL, &grid);
	console_show(CONSOLE_SERIAL, &grid);
}

/* Gives the index of the item with this name; n_items when there is none. */
static uint32_t find(const char *name)
{
	uint32_t i = 0;
	while (i < view.n_items && strcmp(view.item[i].name, name) != 0)
		i++;
	return i;
}

/* Begins with the menu's own screen, with the cursor on the item that the configuration names. */
static void begin_menu(void)
{
	uint32_t app = find(settings_name(view.c)->app);
	uint32_t preset = app < view.n_items ? app : find(settings_run(view.c)->menu_default);
	screen = MENU;
	menu_state_init(&state, view.n_items, preset < view.n_items ? preset : state.chosen,
	                view.c->n_errors > 0);
}

static void save(void)
{
	const char *wrong = edit_save_later();
	fmt(message, sizeof message, "%s",
	    wrong ? wrong : "saved as soon as what you start here has started; not before");
}

static void use(void)
{
	if (edit_forget_save())
		fmt(message, sizeof message, "changed, so it is not saved; s saves it");
	edit_use();
	view.problem = NULL;
	begin_menu();
}

static void key_for_editor(int key)
{
	enum editor_act act = editor_key(&editor, key);
	if (act == EDITOR_STAY)
		return;
	screen = MENU;
	if (act == EDITOR_USE || act == EDITOR_BOTH)
		use();
	if (act == EDITOR_BOTH)
		save();
}

/* Gives what the menu is to do. */
static enum menu_act key_for_wizard(int key)
{
	enum wizard_act act = wizard_key(&wizard, key);
	console_layout(settings_run(edit_draft()->c)->keyboard); /* as chosen so far */
	if (act == WIZARD_STAY)
		return MENU_REDRAW;
	screen = MENU;
	if (act == WIZARD_DROP)
		return MENU_REDRAW;
	use();
	if (act == WIZARD_BOTH)
		save(); /* if that may not be, the menu says why */
	return state.locked || (act == WIZARD_BOTH && !edit_saves_later()) ? MENU_REDRAW
	                                                                   : MENU_START;
}

static bool begin_screen(enum console_terminal t, int key)
{
	const char *app = view.n_items ? view.item[state.chosen].name : "";
	uint32_t named = find(settings_name(view.c)->app);
	if (key == 'C' || key == 'W')
		key += 'a' - 'A';
	if (!edit_draft() || (key != 'c' && key != 'w'))
		return false;
	menu_state_key(&state, key); /* ends the countdown */
	message[0] = '\0';
	screen = key == 'c' ? EDITOR : WIZARD;
	if (screen == EDITOR) {
		editor_init(&editor, edit_draft(), app, settings_uses);
	} else {
		wizard_init(&wizard, edit_draft(), view.item, view.n_items,
		            named < view.n_items ? named : state.chosen, cards, view.n_cards,
		            t == CONSOLE_LOCAL);
	}
	return true;
}

static enum menu_act key_for_menu(enum console_terminal t, int key)
{
	if (begin_screen(t, key))
		return MENU_REDRAW;
	if ((key == 's' || key == 'S') && edit_draft()) {
		menu_state_key(&state, key);
		save();
		return MENU_REDRAW;
	}
	switch (key) {
	case KEY_UP:
		return menu_state_key(&state, MENU_KEY_UP);
	case KEY_DOWN:
		return menu_state_key(&state, MENU_KEY_DOWN);
	case KEY_HOME:
		return menu_state_key(&state, MENU_KEY_HOME);
	case KEY_END:
		return menu_state_key(&state, MENU_KEY_END);
	default:
		return menu_state_key(&state, key);
	}
}

/* A person who leaves before the save is told so once. */
static enum menu_act key_for_menu_asked(enum console_terminal t, int key)
{
	enum menu_act act = key_for_menu(t, key);
	if ((act != MENU_RESTART && act != MENU_OFF) || !edit_forget_save())
		return act;
	fmt(message, sizeof message, "not saved: nothing has started; %c again leaves without it",
	    key);
	return MENU_REDRAW;
}

static enum menu_act take_key(enum console_terminal t, int key)
{
	if (key == CTRL_L) {
		console_redraw(t);
		return MENU_STAY;
	}
	if (screen == EDITOR) {
		key_for_editor(key);
		return MENU_REDRAW;
	}
	return screen == WIZARD ? key_for_wizard(key) : key_for_menu_asked(t, key);
}

/* What happens without a key: links, the countdown. */
static enum menu_act take_time(uint64_t now)
{
	enum menu_act act = MENU_STAY;
	if (now >= poll_at && look_at_cards(now))
		act = MENU_REDRAW;
	if (screen == WIZARD && wizard_look(&wizard))
		act = MENU_REDRAW;
	enum menu_act counted = screen == MENU ? menu_state_time(&state, now) : MENU_STAY;
	return counted != MENU_STAY ? counted : act;
}

/* Waits for the next key or time that changes something, and gives what to do. */
static enum menu_act next(void)
{
	for (;;) {
		clock_alive();
		for (enum console_terminal t = 0; t < CONSOLE_TERMINALS; t++) {
			int key = console_key_of(t);
			attended |= key != KEY_NONE;
			enum menu_act act = key == KEY_NONE ? MENU_STAY : take_key(t, key);
			if (act != MENU_STAY)
				return act;
		}
		enum menu_act act = take_time(clock_now_us());
		if (act != MENU_STAY)
			return act;
		wait();
	}
}

/* Shows the text again. */
static uint32_t leave(void)
{
	edit_save_app(view.item[state.chosen].name);
	console_show(CONSOLE_LOCAL, NULL);
	console_show(CONSOLE_SERIAL, NULL);
	console_print("\n");
	return state.chosen;
}

uint32_t menu_run(const struct config *c, const struct menu_item *item, uint32_t n_items,
                  struct nic *const *card, uint32_t n_cards, const char *problem, bool waits)
{
	view = (struct menu_view){.item = item,
	                          .n_items = n_items,
	                          .card = cards,
	                          .n_cards = n_cards,
	                          .c = c,
	                          .problem = problem,
	                          .can_edit = edit_draft() != NULL};
	nics = card;
	name_cards();
	begin_menu();
	attended = false;
	if (edit_forget_save())
		fmt(message, sizeof message, "not saved, since it could not start");
	if (find(settings_run(c)->menu_default) < n_items && settings_run(c)->has_menu_timeout &&
	    !waits)
		menu_state_count(&state, settings_run(c)->menu_timeout_ms, clock_now_us());
	console_flush(); /* what was logged stands before the menu */
	look_at_cards(clock_now_us());
	draw();
	for (;;) {
		switch (next()) {
		case MENU_START:
			return leave();
		case MENU_RESTART:
			console_flush();
			usb_stop();
			power_restart();
		case MENU_OFF:
			console_flush();
			usb_stop();
			finish_off();
		default:
			draw();
			break;
		}
	}
}

bool menu_was_attended(void)
{
	return attended;
}

void menu_started(void)
{
	const char *wrong = edit_started();
	if (wrong)
		log_line("configuration: %s", wrong);
}
