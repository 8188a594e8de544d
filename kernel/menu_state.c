/* See menu_state.h. Invariant: chosen < n, or both are 0. */
#include "kernel/menu_state.h"

void menu_state_init(struct menu_state *m, uint32_t n, uint32_t chosen, bool locked)
{
	memset(m, 0, sizeof *m);
	m->n = n;
	m->chosen = chosen < n ? chosen : 0;
	m->locked = locked || n == 0;
}

static uint32_t seconds_left(const struct menu_state *m, uint64_t now_us)
{
	/* Rounded up, so that "1" is shown until the end. */
	return (uint32_t)((m->start_us - now_us + 999999) / 1000000);
}

void menu_state_count(struct menu_state *m, uint32_t ms, uint64_t now_us)
{
	if (m->locked)
		return;
	m->counting = true;
	m->start_us = now_us + (uint64_t)ms * 1000;
	m->left_s = seconds_left(m, now_us);
}

/* Gives the item that a key chooses; `chosen` for any other key. */
static uint32_t move(const struct menu_state *m, int key)
{
	switch (key) {
	case MENU_KEY_UP:
		return m->chosen > 0 ? m->chosen - 1 : m->n - 1;
	case MENU_KEY_DOWN:
		return m->chosen + 1 < m->n ? m->chosen + 1 : 0;
	case MENU_KEY_HOME:
		return 0;
	case MENU_KEY_END:
		return m->n - 1;
	default:
		if (key >= '1' && key <= '9' && (uint32_t)(key - '1') < m->n)
			return (uint32_t)(key - '1');
		return m->chosen;
	}
}

enum menu_act menu_state_key(struct menu_state *m, int key)
{
	bool counting = m->counting;
	uint32_t chosen = m->chosen;
	m->counting = false;
	switch (key) {
	case 'r':
	case 'R':
		return MENU_RESTART;
	case 'p':
	case 'P':
		return MENU_OFF;
	case '\r':
	case '\n':
		if (!m->locked)
			return MENU_START;
		break;
	default:
		if (m->n > 0)
			m->chosen = move(m, key);
		break;
	}
	return m->chosen != chosen || counting ? MENU_REDRAW : MENU_STAY;
}

enum menu_act menu_state_time(struct menu_state *m, uint64_t now_us)
{
	if (!m->counting)
		return MENU_STAY;
	if (now_us >= m->start_us) {
		m->counting = false;
		return MENU_START;
	}
	uint32_t left = seconds_left(m, now_us);
	if (left == m->left_s)
		return MENU_STAY;
	m->left_s = left;
	return MENU_SECOND;
}
