/* See wizard.h: the steps. */
#include "kernel/ui/wizard.h"

#include "kernel/console/keymap.h"
#include "kernel/lib/fmt.h"

enum { ESC = 27, ANSWERS = 2 };

enum need {
	NEEDED,
	OPTIONAL,  /* no value is an answer */
	IF_GIVEN,  /* the same, and asked only where it has a value: one that may fit no longer */
	BY_PERSON, /* the same, and not asked where the WAN has its address from DHCP */
	TO_SERVE,  /* needed where names are served and no lease names a server */
};

/* A key that the wizard asks for. */
struct ask {
	const char *key;
	const char *question;
	const char *suggestion; /* while the file has no value */
	const char *only;       /* asked for this function only; NULL: for all but `wire` */
	enum need need;
};

static const struct ask asks[] = {
        {"lan.address",
         "Which address shall the gateway have on the LAN, and how long is the network's prefix? "
         "Hosts of the LAN use this address as their default router.",
         "192.168.1.1/24", NULL, NEEDED},
        {"lan.dhcp",
         "Which addresses shall it give to hosts of the LAN by DHCP? The first and the last one, "
         "such as 192.168.1.100-192.168.1.199; nothing when another machine does that.",
         NULL, NULL, IF_GIVEN},
        {"wan.address",
         "Which address shall it have on the WAN? dhcp: the provider's network gives it one. "
         "Otherwise the address and the length of the prefix.",
         "dhcp", NULL, OPTIONAL},
        {"gateway", "Which router leads to the Internet? It is in the network of the WAN.", NULL,
         NULL, BY_PERSON},
        {"ivi.prefix",
         "Which IPv6 prefix stands for IPv4 addresses? Your provider gives it to you.", NULL, "ivi",
         NEEDED},
        {"ivi.ipv4", "Which IPv4 network stands for the IPv6 hosts of the LAN?", NULL, "ivi",
         NEEDED},
        {"nameserver",
         "Which DNS server shall be asked? default: the one that the provider's network names.",
         NULL, NULL, TO_SERVE},
};

static const struct ask *asked(const struct wizard *w)
{
	return &asks[w->key];
}

static const struct config_entry *entry(const struct wizard *w)
{
	return config_entry(w->d->c, asked(w)->key);
}

const char *wizard_key_name(const struct wizard *w)
{
	return asked(w)->key;
}

const char *wizard_question(const struct wizard *w)
{
	return asked(w)->question;
}

/* True when the command line or another file sets a key: its question is not asked. */
static bool is_fixed(const struct wizard *w, const char *key)
{
	const struct config_entry *e = config_entry(w->d->c, key);
	return e && draft_elsewhere(w->d, e);
}

static bool is_leased(const struct wizard *w)
{
	const struct config_entry *e = config_entry(w->d->c, "wan.address");
	return e && config_word_is(draft_value(w->d, e, 0), "dhcp");
}

/* True when one of the values of a key is a word. */
static bool has_word(const struct wizard *w, const char *key, const char *word)
{
	const struct config_entry *e = config_entry(w->d->c, key);
	for (uint32_t i = 0; e && i < draft_count(w->d, e); i++)
		if (config_word_is(draft_value(w->d, e, i), word))
			return true;
	return false;
}

/* True when a DNS server is needed that a person names: that of the lease is taken else. */
static bool is_server_asked(const struct wizard *w)
{
	if (strcmp(w->item[w->app].name, "dns64") == 0)
		return true;
	return !is_leased(w) && (has_word(w, "serve", "dns") || has_word(w, "serve", "dns64"));
}

/* Nobody names a server where the WAN has its address from a person. */
static bool is_nobody(const struct wizard *w, struct slice server)
{
	return asked(w)->need == TO_SERVE && !is_leased(w) && !has_word(w, "wan.address", "auto") &&
	       (config_word_is(server, "default") || config_word_is(server, "defaults"));
}

static bool is_key_asked(const struct wizard *w, uint32_t i)
{
	const char *app = w->item[w->app].name;
	const struct config_entry *e = config_entry(w->d->c, asks[i].key);
	if (!e || is_fixed(w, asks[i].key) || (asks[i].need == BY_PERSON && is_leased(w)) ||
	    (asks[i].need == TO_SERVE && !is_server_asked(w)) ||
	    (asks[i].need == IF_GIVEN && draft_value(w->d, e, 0).len == 0))
		return false;
	return asks[i].only ? strcmp(asks[i].only, app) == 0 : strcmp(app, "wire") != 0;
}

/* The places where the wizard can stand, in their order: the steps, and at WIZARD_KEYS one place
 * for each key. */
enum { AT_KEYS = WIZARD_KEYS, AT_END = AT_KEYS + ARRAY_SIZE(asks) };

static uint32_t place(const struct wizard *w)
{
	return w->step == WIZARD_KEYS ? AT_KEYS + w->key : w->step == WIZARD_END ? AT_END : w->step;
}

static bool is_asked(const struct wizard *w, uint32_t at)
{
	switch (at) {
	case WIZARD_KEYBOARD:
		return w->local && !is_fixed(w, "keyboard");
	case WIZARD_APP:
		return !is_fixed(w, "app");
	case WIZARD_LAN:
		return w->n_cards > 0 && !is_fixed(w, "lan");
	case WIZARD_WAN:
		return !is_fixed(w, "wan") && w->n_cards > (is_fixed(w, "lan") ? 1 : 2);
	case AT_END:
		return true;
	default:
		return is_key_asked(w, at - AT_KEYS);
	}
}

/* Which of the five questions a place belongs to. */
static uint32_t question(uint32_t at)
{
	return at <= WIZARD_APP   ? at
	       : at <= WIZARD_WAN ? 2
	       : at == AT_KEYS    ? 3
	       : at < AT_END      ? 4
	                          : 5;
}

uint32_t wizard_number(const struct wizard *w, uint32_t *part, uint32_t *parts)
{
	uint32_t here = place(w);
	*part = *parts = 0;
	for (uint32_t at = 0; at <= AT_END; at++)
		if (question(at) == question(here) && is_asked(w, at)) {
			++*parts;
			*part += at <= here;
		}
	return question(here);
}

/* --- the steps ------------------------------------------------------------------------------ */

static void begin_key(struct wizard *w)
{
	struct slice v = draft_value(w->d, entry(w), 0);
	const char *suggestion = asked(w)->suggestion;
	if (is_nobody(w, v))
		v.len = 0;
	if (v.len == 0 && suggestion)
		v = (struct slice){suggestion, strlen(suggestion)};
	field_set(&w->input, v);
}

/* The layout in force by the draft. */
static uint32_t layout(const struct wizard *w)
{
	char name[8] = "";
	const struct config_entry *e = config_entry(w->d->c, "keyboard");
	uint32_t i = 0;
	if (e)
		config_value(w->d->c, e, 0, name, sizeof name);
	while (i < KEYMAP_LAYOUTS && strcmp(keymap_names[i], name) != 0)
		i++;
	return i < KEYMAP_LAYOUTS ? i : KEYMAP_US;
}

/* Goes to a place, from either side. */
static void begin(struct wizard *w, uint32_t at)
{
	w->step = at >= AT_END ? WIZARD_END : at >= AT_KEYS ? WIZARD_KEYS : (enum wizard_step)at;
	w->key = w->step == WIZARD_KEYS ? at - AT_KEYS : 0;
	w->came_up = w->n_cards;
	w->chosen = w->step == WIZARD_KEYBOARD ? layout(w)
	            : w->step == WIZARD_APP    ? w->app
	            : w->step == WIZARD_LAN    ? w->lan
	            : w->step == WIZARD_WAN    ? w->wan
	                                       : 0;
	if (w->step == WIZARD_KEYS)
		begin_key(w);
}

/* Goes to the first place from `at` on that is asked. */
static void begin_from(struct wizard *w, uint32_t at)
{
	while (at < AT_END && !is_asked(w, at))
		at++;
	begin(w, at);
}

/* False when this is the first place. */
static bool back(struct wizard *w)
{
	uint32_t at = place(w);
	while (at > 0 && !is_asked(w, at - 1))
		at--;
	if (at == 0)
		return false;
	begin(w, at - 1);
	return true;
}

static bool set(struct wizard *w, const char *key, const char *text)
{
	const struct config_entry *e = config_entry(w->d->c, key);
	return e && draft_set_only(w->d, e, (struct slice){text, strlen(text)}, w->message);
}

static bool set_card(struct wizard *w, const char *key, uint32_t card)
{
	char name[8];
	fmt(name, sizeof name, "nic%u", card);
	return set(w, key, name);
}

static void take_keyboard(struct wizard *w)
{
	/* The default needs no line. */
	if (set(w, "keyboard", w->chosen == KEYMAP_US ? "" : keymap_names[w->chosen]))
		begin_from(w, WIZARD_APP);
}

static void take_app(struct wizard *w)
{
	w->app = w->chosen;
	if (set(w, "app", w->item[w->app].name))
		begin_from(w, WIZARD_LAN);
}

static void take_lan(struct wizard *w)
{
	w->lan = w->chosen;
	if (w->wan == w->lan)
		w->wan = w->lan == 0 ? 1 : 0;
	if (set_card(w, "lan", w->lan) && (is_fixed(w, "wan") || set_card(w, "wan", w->wan)))
		begin_from(w, WIZARD_WAN);
}

static void take_wan(struct wizard *w)
{
	if (w->chosen == w->lan && !is_fixed(w, "lan")) {
		fmt(w->message, sizeof w->message, "nic%u is the card of the LAN", w->lan);
		return;
	}
	w->wan = w->chosen;
	if (set_card(w, "wan", w->wan))
		begin_from(w, AT_KEYS);
}

static void take_key(struct wizard *w)
{
	struct slice v = {w->input.text, w->input.len};
	if (v.len == 0 && asked(w)->need == NEEDED) {
		fmt(w->message, sizeof w->message, "%.8s needs it", w->item[w->app].name);
		return;
	}
	if (v.len == 0 && asked(w)->need == TO_SERVE) {
		fmt(w->message, sizeof w->message, "a DNS server is needed");
		return;
	}
	if (is_nobody(w, v)) {
		fmt(w->message, sizeof w->message,
		    "no server: the WAN's address is neither dhcp nor auto");
		return;
	}
	if (draft_set(w->d, entry(w), 0, v, w->message))
		begin_from(w, AT_KEYS + w->key + 1);
}

static enum wizard_act enter(struct wizard *w)
{
	switch (w->step) {
	case WIZARD_KEYBOARD:
		take_keyboard(w);
		break;
	case WIZARD_APP:
		take_app(w);
		break;
	case WIZARD_LAN:
		take_lan(w);
		break;
	case WIZARD_WAN:
		take_wan(w);
		break;
	case WIZARD_KEYS:
		take_key(w);
		break;
	case WIZARD_END:
		if (w->d->c->n_errors == 0)
			return w->chosen == 0 ? WIZARD_USE : WIZARD_BOTH;
		fmt(w->message, sizeof w->message, "%s: %s", w->d->c->error[0].where,
		    w->d->c->error[0].what);
		break;
	}
	return WIZARD_STAY;
}

/* --- keys and links ------------------------------------------------------------------------- */

void wizard_init(struct wizard *w, struct draft *d, const struct menu_item *item, uint32_t n_items,
                 uint32_t app, const struct menu_card *card, uint32_t n_cards, bool local)
{
	memset(w, 0, sizeof *w);
	w->d = d;
	w->item = item;
	w->n_items = n_items;
	w->app = app;
	w->card = card;
	w->n_cards = min_u32(n_cards, MENU_VIEW_CARDS);
	w->wan = 1;
	w->local = local;
	for (uint32_t i = 0; i < w->n_cards; i++)
		w->up[i] = card[i].up;
	begin_from(w, WIZARD_KEYBOARD);
}

static uint32_t n_choices(const struct wizard *w)
{
	switch (w->step) {
	case WIZARD_KEYBOARD:
		return KEYMAP_LAYOUTS;
	case WIZARD_APP:
		return w->n_items;
	case WIZARD_END:
		return ANSWERS;
	default:
		return w->n_cards;
	}
}

static void choose(struct wizard *w, int key)
{
	uint32_t n = n_choices(w);
	if (key == KEY_UP)
		w->chosen -= w->chosen > 0;
	else if (key == KEY_DOWN)
		w->chosen += w->chosen + 1 < n;
	else if (key >= '1' && key <= '9' && (uint32_t)(key - '1') < n)
		w->chosen = (uint32_t)(key - '1');
}

enum wizard_act wizard_key(struct wizard *w, int key)
{
	w->message[0] = '\0';
	if (key == '\r' || key == '\n')
		return enter(w);
	if (key == '<' || key == ESC) {
		if (back(w))
			return WIZARD_STAY;
		draft_drop(w->d);
		return WIZARD_DROP;
	}
	if (w->step != WIZARD_KEYS)
		choose(w, key);
	else if (field_key(&w->input, key) && w->input.len)
		draft_check(w->d, entry(w), (struct slice){w->input.text, w->input.len},
		            w->message);
	return WIZARD_STAY;
}

bool wizard_look(struct wizard *w)
{
	bool changed = false;
	for (uint32_t i = 0; i < w->n_cards; i++) {
		if (w->card[i].up == w->up[i])
			continue;
		w->up[i] = w->card[i].up;
		changed = true;
		if (w->up[i] && (w->step == WIZARD_LAN || w->step == WIZARD_WAN))
			w->came_up = w->chosen = i;
	}
	return changed;
}
