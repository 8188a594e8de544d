/* Text on frame buffers in memory, compared pixel by pixel with the font. */
#include "kernel/console/frame.h"

#include "kernel/console/font.h"
#include "tests/tap.h"

#define UNTOUCHED 0xee
#define GREY      0xaaaaaau /* colours as 0xRRGGBB */
#define RED       0xaa0000u
#define WHITE     0xffffffu
#define ROOM      0x4000000u

static struct multiboot_frame mode;
static uint8_t *memory;
static uint32_t lines;
static struct frame f;
static uint16_t cells[SCREEN_ROWS][SCREEN_COLUMNS];

static struct multiboot_frame rgb(uint32_t width, uint32_t height, uint8_t bits, uint32_t more)
{
	uint32_t bytes = (bits + 7u) / 8;
	struct multiboot_frame m = {
	        0x80000000u, width * bytes + more, width, height, bits, {16, 8}, {8, 8}, {0, 8}};
	if (bits == 16) {
		m.red = (struct multiboot_colour){11, 5};
		m.green = (struct multiboot_colour){5, 6};
		m.blue = (struct multiboot_colour){0, 5};
	} else if (bits == 15) {
		m.red = (struct multiboot_colour){10, 5};
		m.green = (struct multiboot_colour){5, 5};
		m.blue = (struct multiboot_colour){0, 5};
	}
	return m;
}

static void fill(uint16_t cell)
{
	for (uint32_t i = 0; i < FRAME_CELLS; i++)
		cells[i / SCREEN_COLUMNS][i % SCREEN_COLUMNS] = cell;
}

/* Makes a frame buffer whose memory is exactly as long as the mode says. */
static void start(struct multiboot_frame m)
{
	mode = m;
	lines = frame_lines(&m, ROOM);
	CHECK(lines > 0);
	free(memory);
	memory = malloc(lines * m.pitch);
	memset(memory, UNTOUCHED, lines * m.pitch);
	frame_init(&f, &m, memory, lines);
	fill(0x0720);
}

static void show(void)
{
	for (uint32_t r = 0; r < SCREEN_ROWS; r++)
		while (!frame_row(&f, r, cells[r]))
			;
}

static uint32_t colour_of(uint32_t pixel, struct multiboot_colour c)
{
	return pixel >> c.position & ((1u << c.size) - 1);
}

/* True when the pixel at (x, y) shows 0xRRGGBB, as exactly as the mode can. */
static bool is(uint32_t x, uint32_t y, uint32_t want)
{
	uint32_t bytes = (mode.bits + 7u) / 8, pixel = 0;
	for (uint32_t b = 0; b < bytes; b++)
		pixel |= (uint32_t)memory[y * mode.pitch + x * bytes + b] << 8 * b;
	return colour_of(pixel, mode.red) == (want >> 16 & 255) >> (8 - mode.red.size) &&
	       colour_of(pixel, mode.green) == (want >> 8 & 255) >> (8 - mode.green.size) &&
	       colour_of(pixel, mode.blue) == (want & 255) >> (8 - mode.blue.size);
}

/* Counts the pixels of the whole screen that differ from `cells` in the colours `on` and `off`, and
 * the bytes behind each line that were written. */
static unsigned wrong(uint32_t scale, uint32_t on, uint32_t off)
{
	uint32_t left = (mode.width - 640 * scale) / 2 / 4 * 4, top = (lines - 400 * scale) / 2;
	uint32_t bytes = (mode.bits + 7u) / 8;
	unsigned n = 0;
	for (uint32_t y = 0; y < lines; y++) {
		for (uint32_t x = 0; x < mode.width; x++) {
			uint32_t c = (x - left) / (8 * scale), r = (y - top) / (16 * scale);
			uint32_t want = 0;
			if (x >= left && y >= top && c < SCREEN_COLUMNS && r < SCREEN_ROWS) {
				uint8_t bits = font[cells[r][c] & 255][(y - top) / scale % 16];
				want = bits >> (7 - (x - left) / scale % 8) & 1 ? on : off;
			}
			n += is(x, y, want) ? 0 : 1;
		}
		for (uint32_t i = mode.width * bytes; i < mode.pitch; i++)
			n += memory[y * mode.pitch + i] != UNTOUCHED;
	}
	return n;
}

static void all_characters(uint8_t attribute)
{
	for (uint32_t i = 0; i < FRAME_CELLS; i++)
		cells[i / SCREEN_COLUMNS][i % SCREEN_COLUMNS] =
		        (uint16_t)((uint32_t)attribute << 8 | i % 256);
}

static void in_mode(struct multiboot_frame m, uint32_t scale)
{
	start(m);
	CHECK_EQ(f.scale, scale);
	CHECK_EQ(wrong(scale, 0, 0), 0);
	all_characters(0x07);
	show();
	CHECK_EQ(wrong(scale, GREY, 0), 0);
	all_characters(0x4f);
	show();
	CHECK_EQ(wrong(scale, WHITE, RED), 0);
}

static void every_mode(void)
{
	in_mode(rgb(640, 400, 32, 0), 1);
	in_mode(rgb(640, 480, 32, 0), 1);
	in_mode(rgb(800, 600, 24, 0), 1);
	in_mode(rgb(1024, 768, 16, 0), 1);
	in_mode(rgb(1152, 864, 15, 64), 1);
	in_mode(rgb(1280, 800, 32, 0), 2);
	in_mode(rgb(1366, 768, 32, 40), 1);
	in_mode(rgb(1920, 1080, 24, 0), 2);
	in_mode(rgb(1920, 1200, 32, 0), 3);
	in_mode(rgb(3840, 2160, 32, 0), 3);
}

static void lines_that_are_not_aligned(void)
{
	in_mode(rgb(641, 401, 24, 0), 1);
	in_mode(rgb(643, 400, 16, 0), 1);
}

static void any_order_of_colours(void)
{
	struct multiboot_frame m = rgb(640, 400, 32, 0);
	m.red.position = 0;
	m.blue.position = 16;
	in_mode(m, 1);
	m.red.position = 24;
	m.green.position = 16;
	m.blue.position = 8;
	in_mode(m, 1);
}

static void too_small(void)
{
	struct multiboot_frame m = rgb(639, 480, 32, 0);
	CHECK_EQ(frame_lines(&m, ROOM), 0);
	m = rgb(640, 399, 32, 0);
	CHECK_EQ(frame_lines(&m, ROOM), 0);
	m = rgb(640, 400, 32, 0);
	CHECK_EQ(frame_lines(&m, ROOM), 400);
	CHECK_EQ(frame_lines(&m, 400 * 2560 - 1), 0);
	m.bits = 0;
	CHECK_EQ(frame_lines(&m, ROOM), 0);
}

static void only_as_many_lines_as_fit(void)
{
	struct multiboot_frame m = rgb(1280, 1024, 32, 0);
	CHECK_EQ(frame_lines(&m, 1024 * 5120), 1024);
	CHECK_EQ(frame_lines(&m, 500 * 5120 + 1), 500);
}

/* Counts the bytes that are not UNTOUCHED. */
static uint32_t touched(void)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < lines * mode.pitch; i++)
		n += memory[i] != UNTOUCHED;
	return n;
}

static void only_changed_cells_are_drawn(void)
{
	start(rgb(1280, 800, 32, 0));
	all_characters(0x07);
	show();
	memset(memory, UNTOUCHED, lines * mode.pitch);
	show();
	CHECK_EQ(touched(), 0);
	cells[24][79] = 0x0741;
	show();
	CHECK_EQ(touched(), 16 * 32 * 4);
	CHECK(memory[lines * mode.pitch - 1] != UNTOUCHED);
}

static void a_call_draws_few_pixels(void)
{
	static const struct {
		uint32_t width, height, cells;
	} size[] = {{640, 400, 16}, {1280, 800, 4}, {1920, 1200, 1}};
	for (unsigned i = 0; i < ARRAY_SIZE(size); i++) {
		start(rgb(size[i].width, size[i].height, 32, 0));
		memset(memory, UNTOUCHED, lines * mode.pitch);
		fill(0x0741);
		CHECK(!frame_row(&f, 3, cells[3]));
		uint32_t cell = 128 * f.scale * f.scale * 4;
		CHECK_EQ(touched(), size[i].cells * cell);
		uint32_t calls = 1;
		while (!frame_row(&f, 3, cells[3]))
			calls++;
		CHECK_EQ(touched(), 80 * cell);
		CHECK_EQ(calls, 80 / size[i].cells - 1); /* and one that finds the end */
	}
}

/* True when the cell number `at` of a screen of scale 1 shows the cursor. */
static bool has_cursor(uint32_t at)
{
	uint32_t x = at % 80 * 8, y = at / 80 * 16;
	for (uint32_t i = 0; i < 8; i++)
		if (!is(x + i, y + 13, GREY) || !is(x + i, y + 14, GREY))
			return false;
	return true;
}

static void the_cursor_moves(void)
{
	start(rgb(640, 400, 32, 0));
	frame_cursor(&f, 81);
	CHECK(has_cursor(81));
	CHECK_EQ(wrong(1, GREY, 0), 16);
	frame_cursor(&f, 1999);
	CHECK(has_cursor(1999));
	CHECK_EQ(wrong(1, GREY, 0), 16);
	cells[24][79] = 0x0741;
	show();
	CHECK(has_cursor(1999));
	frame_cursor(&f, 2000);
	CHECK_EQ(wrong(1, GREY, 0), 0);
	frame_cursor(&f, 0xffffffff);
	CHECK_EQ(wrong(1, GREY, 0), 0);
}

/* The arms of the box-drawing characters from 0xb3 on: up, right, down, left; 1 a single line, 2 a
 * double one. */
static const char arms[][5] = {
        "1010", "1011", "1012", "2021", "0021", "0012", "2022", "2020", "0022", "2002",
        "2001", "1002", "0011", "1100", "1101", "0111", "1110", "0101", "1111", "1210",
        "2120", "2200", "0220", "2202", "0222", "2220", "0202", "2222", "1202", "2101",
        "0212", "0121", "2100", "1200", "0210", "0120", "2121", "1212", "1001", "0110",
};

static void lines_of_boxes_meet(void)
{
	static const uint16_t down[] = {0, 0x0180, 0x0240}; /* rows that a line to the side fills */
	static const uint8_t across[] = {0, 0x18, 0x24};
	for (unsigned i = 0; i < ARRAY_SIZE(arms); i++) {
		const uint8_t *glyph = font[0xb3 + i];
		uint16_t left = 0, right = 0;
		for (unsigned y = 0; y < FONT_ROWS; y++) {
			left = (uint16_t)(left | (glyph[y] >> 7) << y);
			right = (uint16_t)(right | (glyph[y] & 1) << y);
		}
		CHECK_EQ(glyph[0], across[arms[i][0] - '0']);
		CHECK_EQ(right, down[arms[i][1] - '0']);
		CHECK_EQ(glyph[15], across[arms[i][2] - '0']);
		CHECK_EQ(left, down[arms[i][3] - '0']);
	}
}

/* No two characters look the same, except the three blanks. */
static void characters_differ(void)
{
	for (unsigned a = 1; a < 255; a++)
		for (unsigned b = a + 1; b < 255; b++)
			if (memcmp(font[a], font[b], FONT_ROWS) == 0) {
				CHECK_EQ(a, b);
			}
	static const uint8_t blank[FONT_ROWS];
	CHECK(memcmp(font[0], blank, FONT_ROWS) == 0);
	CHECK(memcmp(font[' '], blank, FONT_ROWS) == 0);
	CHECK(memcmp(font[255], blank, FONT_ROWS) == 0);
}

/* A letter and a number, so that a font that is mirrored or upside down is seen. */
static void letters_are_upright(void)
{
	static const uint8_t l[] = {0,    0,    0xc0, 0xc0, 0xc0, 0xc0,
	                            0xc0, 0xc0, 0xc0, 0xc0, 0xc0, 0xfe};
	CHECK(memcmp(font['L'], l, sizeof l) == 0);
	CHECK_EQ(font['L'][12], 0);
	CHECK(font['g'][14] != 0);
	CHECK(font['7'][2] == 0xfe && font['7'][3] == 0x06);
}

int main(void)
{
	TEST(every_mode);
	TEST(lines_that_are_not_aligned);
	TEST(any_order_of_colours);
	TEST(too_small);
	TEST(only_as_many_lines_as_fit);
	TEST(only_changed_cells_are_drawn);
	TEST(a_call_draws_few_pixels);
	TEST(the_cursor_moves);
	TEST(lines_of_boxes_meet);
	TEST(characters_differ);
	TEST(letters_are_upright);
	free(memory);
	return tap_done();
}
