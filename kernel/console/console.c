/* See console.h. Text for COM1 waits in a ring and goes out in bursts of the UART's FIFO.
 * Text for the screen goes into vga.c's copy at once, and from there to the display one row
 * a pass. Received bytes wait in a ring of their own, so that pasted commands are not lost
 * while a command runs.
 *
 * A read of an I/O port takes about a microsecond on the bus. So the devices are read only
 * after their interrupt, while output waits, and every 10 to 100 ms, in case an interrupt line is
 * dead. */
#include "kernel/console/console.h"

#include "kernel/x86/clock.h"
#include "kernel/lib/fmt.h"
#include "kernel/seam/io.h"
#include "kernel/console/keyboard.h"
#include "kernel/console/uart.h"
#include "kernel/console/vga.h"
#include "kernel/ui/grid.h"

#define OUT_BYTES   8192u /* powers of two */
#define IN_BYTES    1024u
#define KEYS        64u
#define PRINT_BYTES 512
#define BURST_BYTES 256u
#define POLL_BYTES  64      /* most bytes received in a pass */
#define POLL_US     10000u  /* between two looks at devices that are silent */
#define FLUSH_US    1000000 /* sending the whole ring takes 711 ms at 115200 baud */

enum { CTRL_C = 3 };

static uint8_t out[OUT_BYTES];
static uint32_t out_head, out_tail; /* next byte to read, next to write; free-running */
static bool dropping;               /* the ring was full: drop the rest of the line */
static uint8_t in[IN_BYTES];
static uint32_t in_head, in_tail;
static int16_t key[KEYS]; /* keys from the keyboards */
static uint32_t key_head, key_tail;
static struct keymap keymap;
static struct keys_ansi ansi;
static uint64_t polled_us;
static bool unannounced; /* the last input came without an interrupt: its line is dead */
static const struct grid *shown[CONSOLE_TERMINALS]; /* NULL: the text */
static struct grid_vt100 vt100;                     /* what COM1's terminal shows of its grid */
static bool changed;                                /* it may show less than the grid */
static char burst[2 * BURST_BYTES];                 /* of control sequences and grid, for COM1 */
static uint32_t burst_at, burst_len;

void console_init(void)
{
	vga_init();
	uart_init();
	if (!uart_present())
		out_head = out_tail;
}

void console_find_keyboard(void)
{
	keyboard_init();
	keyboard_leds(keymap_leds(&keymap));
}

static uint32_t now_ms(void)
{
	return (uint32_t)(clock_now_us() >> 10); /* 1024 us is close enough to 1 ms */
}

static size_t room(void)
{
	return OUT_BYTES - (out_tail - out_head);
}

/* Text behind a grid never waits for room: the oldest is dropped. */
size_t console_room(void)
{
	return shown[CONSOLE_SERIAL] ? OUT_BYTES : room();
}

static void queue_line_end(void)
{
	out[out_tail++ % OUT_BYTES] = '\r';
	out[out_tail++ % OUT_BYTES] = '\n';
}

/* Drops the oldest line. */
static void forget_line(void)
{
	while (out_head != out_tail && out[out_head++ % OUT_BYTES] != '\n')
		;
}

/* Queues a character. A character that does not fit is dropped, and so is the rest of its
 * line, or everything until the ring is empty. */
static void queue(char c)
{
	if (dropping && out_head == out_tail) {
		dropping = false;
		queue_line_end();
	}
	bool end = c == '\n';
	if (shown[CONSOLE_SERIAL] && room() < 2)
		forget_line();
	dropping = room() < 2 || (dropping && !end);
	if (dropping)
		return;
	if (end)
		queue_line_end();
	else
		out[out_tail++ % OUT_BYTES] = (uint8_t)c;
}

void console_write_on(enum console_terminal t, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (t == CONSOLE_LOCAL)
			vga_put((uint8_t)text[i]);
		else if (uart_present())
			queue(text[i]);
}

void console_write(const char *text, size_t len)
{
	console_write_on(CONSOLE_LOCAL, text, len);
	console_write_on(CONSOLE_SERIAL, text, len);
}

void console_print(const char *format, ...)
{
	char text[PRINT_BYTES];
	va_list args;
	va_start(args, format);
	size_t len = fmt_v(text, sizeof text, format, args);
	va_end(args);
	console_write(text, len);
}

void console_clear(void)
{
	console_write("\033[2J\033[H", 7);
}

/* Sends what ends the grid behind the burst that is under way, which may end within a sequence.
 * What has no room there is behind another such end already. */
static void leave_grid(void)
{
	burst_len -= burst_at;
	memmove(burst, burst + burst_at, burst_len);
	burst_at = 0;
	if (burst_len + GRID_VT100_LEAST <= sizeof burst)
		burst_len += (uint32_t)grid_vt100_leave(&vt100, burst + burst_len);
}

void console_show(enum console_terminal t, const struct grid *g)
{
	if (t == CONSOLE_LOCAL)
		vga_show(g);
	else if (g)
		changed = true;
	else if (shown[t] && uart_present())
		leave_grid();
	shown[t] = g;
}

bool console_shows_text(enum console_terminal t)
{
	return shown[t] == NULL;
}

void console_redraw(enum console_terminal t)
{
	if (t == CONSOLE_SERIAL)
		grid_vt100_init(&vt100);
	if (shown[t])
		console_show(t, shown[t]);
}

/* Gives the next burst of a grid. */
static void draw_burst(void)
{
	burst_at = 0;
	burst_len = (uint32_t)grid_vt100_draw(&vt100, shown[CONSOLE_SERIAL], burst, BURST_BYTES);
	changed = burst_len > 0;
}

/* True when bytes for COM1 wait. Text waits while a grid is shown. */
static bool serial_waits(void)
{
	const struct grid *g = shown[CONSOLE_SERIAL];
	return uart_present() && (burst_at < burst_len || (g ? changed : out_head != out_tail));
}

/* Sends a burst to the UART. True when bytes went out. */
static bool send(void)
{
	if (!serial_waits())
		return false;
	unsigned n = uart_send_room();
	for (unsigned i = 0; i < n && serial_waits(); i++) {
		if (burst_at == burst_len && shown[CONSOLE_SERIAL])
			draw_burst();
		if (burst_at < burst_len)
			uart_send((uint8_t)burst[burst_at++]);
		else if (!shown[CONSOLE_SERIAL])
			uart_send(out[out_head++ % OUT_BYTES]);
	}
	return n > 0;
}

void console_layout(enum keymap_layout layout)
{
	keymap.layout = (uint8_t)layout;
}

uint8_t console_leds(void)
{
	return keymap_leds(&keymap);
}

void console_press(uint8_t usage, uint8_t modifiers)
{
	uint8_t leds = keymap_leds(&keymap);
	int k = keymap_press(&keymap, usage, modifiers);
	if (k != KEY_NONE && key_tail - key_head < KEYS)
		key[key_tail++ % KEYS] = (int16_t)k;
	if (keymap_leds(&keymap) != leds)
		keyboard_leds(keymap_leds(&keymap));
}

static bool receive(void)
{
	bool any = false;
	for (unsigned i = 0; i < POLL_BYTES && in_tail - in_head < IN_BYTES; i++) {
		int byte = uart_receive();
		if (byte < 0)
			break;
		in[in_tail++ % IN_BYTES] = (uint8_t)byte;
		any = true;
	}
	for (uint8_t usage, modifiers; key_tail - key_head < KEYS; any = true) {
		usage = keyboard_press(&modifiers);
		if (usage == USAGE_NONE)
			break;
		console_press(usage, modifiers);
	}
	return any;
}

bool console_poll(void)
{
	uint64_t now = clock_now_us();
	bool busy = send(), fired = uart_fired() || keyboard_fired();
	if (fired || now - polled_us >= POLL_US) {
		polled_us = now;
		bool any = receive();
		unannounced = any ? !fired : unannounced;
		busy |= any;
	}
	if (vga_pending()) {
		vga_poll();
		busy = true;
	}
	return busy;
}

uint64_t console_due_us(void)
{
	bool due = unannounced || serial_waits() || keys_ansi_waits(&ansi);
	return due ? polled_us + POLL_US : UINT64_MAX;
}

static int local_key(void)
{
	return key_head != key_tail ? key[key_head++ % KEYS] : KEY_NONE;
}

static int serial_key(void)
{
	uint32_t now = now_ms();
	while (in_head != in_tail) {
		int k = keys_ansi(&ansi, in[in_head++ % IN_BYTES], now);
		if (k != KEY_NONE)
			return k;
	}
	return keys_ansi_idle(&ansi, now);
}

int console_key_of(enum console_terminal t)
{
	return t == CONSOLE_LOCAL ? local_key() : serial_key();
}

int console_key(void)
{
	for (enum console_terminal t = 0; t < CONSOLE_TERMINALS; t++) {
		int k = shown[t] ? KEY_NONE : console_key_of(t);
		if (k != KEY_NONE)
			return k;
	}
	return KEY_NONE;
}

bool console_has_keyboard(void)
{
	return keyboard_answered();
}

bool console_has_input(enum console_terminal t)
{
	return t == CONSOLE_LOCAL ? key_head != key_tail : in_head != in_tail;
}

/* As console_stop, for one terminal. */
static bool stop_local(void)
{
	uint32_t end = key_head;
	for (uint32_t i = key_head; i != key_tail; i++)
		if (key[i % KEYS] == CTRL_C || (i == key_head && key[i % KEYS] == 'q'))
			end = i + 1;
	bool stop = end != key_head;
	key_head = end;
	return stop;
}

static bool stop_serial(void)
{
	uint32_t end = in_head;
	for (uint32_t i = in_head; i != in_tail; i++)
		if (in[i % IN_BYTES] == CTRL_C || (i == in_head && in[i % IN_BYTES] == 'q'))
			end = i + 1;
	bool stop = end != in_head;
	in_head = end;
	return stop;
}

bool console_stop(void)
{
	return (!shown[CONSOLE_LOCAL] && stop_local()) || (!shown[CONSOLE_SERIAL] && stop_serial());
}

bool console_arm(void)
{
	bool waiting = serial_waits();
	if (vga_pending())
		return true;
	if (waiting && uart_send_room() > 0)
		return true;
	bool asleep = !uart_fired() && !keyboard_fired();
	uart_arm(waiting);
	keyboard_arm();
	/* A device whose interrupt was enabled and did not come has no input. */
	return !asleep && receive();
}

void console_flush(void)
{
	uint64_t start = clock_now_us();
	console_show(CONSOLE_LOCAL, NULL);
	console_show(CONSOLE_SERIAL, NULL);
	vga_flush();
	/* The loop also counts, in case the clock does not advance. A byte takes 87 us. */
	for (uint32_t i = 0; i < FLUSH_US / 10 && serial_waits(); i++) {
		if (!send())
			io_delay_us(10);
		if (clock_now_us() - start > FLUSH_US)
			break;
	}
}
