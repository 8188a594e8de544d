/* drivers/usb/usb_parse: descriptors as they should be, and as they should not. */
#include "tests/tap.h"

#include "drivers/usb/usb_parse.h"

static struct usb_parse_config config;

#define CONFIG(value)              9, 2, 0, 0, 1, value, 0, 0x80, 50
#define INTERFACE(n, alt, c, s, p) 9, 4, n, alt, 0, c, s, p, 0
#define ENDPOINT(a, kind, size, i) 7, 5, a, kind, (size)&255, (size) >> 8, i

static const char *parse(const uint8_t *b, size_t len, uint8_t speed)
{
	/* A copy of exactly this size, so that the sanitizer sees a read behind it. */
	uint8_t *copy = malloc(len ? len : 1);
	memcpy(copy, b, len);
	const char *wrong = usb_parse_config(copy, len, speed, &config);
	free(copy);
	return wrong;
}

#define PARSE(speed, ...)                                              \
	do {                                                           \
		static const uint8_t bytes[] = {__VA_ARGS__};          \
		const char *wrong = parse(bytes, sizeof bytes, speed); \
		CHECK_STR(wrong ? wrong : "", "");                     \
	} while (0)

static void packets_of_endpoint_0(void)
{
	static const struct {
		uint8_t speed, size;
		uint16_t want;
	} cases[] = {{USB_LOW, 8, 8},     {USB_LOW, 16, 0},   {USB_LOW, 64, 0},   {USB_FULL, 8, 8},
	             {USB_FULL, 16, 16},  {USB_FULL, 32, 32}, {USB_FULL, 64, 64}, {USB_FULL, 0, 0},
	             {USB_FULL, 1, 0},    {USB_FULL, 255, 0}, {USB_HIGH, 64, 64}, {USB_HIGH, 9, 0},
	             {USB_SUPER, 9, 512}, {USB_SUPER, 64, 0}, {USB_SUPER, 255, 0}};
	uint8_t b[8] = {18, 1};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		b[7] = cases[i].size;
		CHECK_EQ(usb_parse_packet0(b, 8, cases[i].speed), cases[i].want);
	}
	b[7] = 8;
	CHECK_EQ(usb_parse_packet0(b, 7, USB_FULL), 0);
	b[0] = 17;
	CHECK_EQ(usb_parse_packet0(b, 8, USB_FULL), 0);
	b[0] = 255;
	CHECK_EQ(usb_parse_packet0(b, 8, USB_FULL), 8);
	b[1] = 2;
	CHECK_EQ(usb_parse_packet0(b, 8, USB_FULL), 0);
}

static void a_configuration(void)
{
	PARSE(USB_HIGH, CONFIG(3), INTERFACE(0, 0, 3, 1, 1), 9, 0x21, 0x11, 1, 0, 1, 0x22, 63, 0,
	      ENDPOINT(0x81, 3, 8, 4), INTERFACE(1, 0, 8, 6, 0x50), ENDPOINT(0x82, 2, 512, 0),
	      ENDPOINT(0x03, 2, 512, 0));
	CHECK_EQ(config.value, 3);
	CHECK_EQ(config.n_settings, 2);
	const struct usb_parse_setting *s = config.setting;
	CHECK(s[0].is.class_code == 3 && s[0].is.subclass == 1 && s[0].is.protocol == 1);
	CHECK_EQ(s[0].n_endpoints, 1);
	CHECK(s[0].endpoint[0].address == 0x81 && s[0].endpoint[0].kind == USB_INTERRUPT &&
	      s[0].endpoint[0].max_packet == 8 && s[0].endpoint[0].interval == 4);
	CHECK_EQ(s[1].is.number, 1);
	CHECK_EQ(s[1].n_endpoints, 2);
	CHECK(s[1].endpoint[1].address == 3 && s[1].endpoint[1].max_packet == 512);
}

/* Sizes above what a speed allows are made smaller; endpoints that a speed does not have are left
 * out. */
static void packets_of_endpoints(void)
{
	static const struct {
		uint8_t speed, kind;
		uint16_t size, want; /* 0: left out */
	} cases[] = {
	        {USB_LOW, 3, 8, 8},         {USB_LOW, 3, 64, 8},
	        {USB_LOW, 2, 8, 0},         {USB_LOW, 1, 8, 0},
	        {USB_FULL, 3, 64, 64},      {USB_FULL, 3, 65, 64},
	        {USB_FULL, 2, 512, 64},     {USB_FULL, 2, 8, 8},
	        {USB_FULL, 3, 0, 0},        {USB_HIGH, 2, 512, 512},
	        {USB_HIGH, 2, 0x7ff, 512},  {USB_HIGH, 3, 0x1400, 1024},
	        {USB_SUPER, 2, 1024, 1024}, {USB_SUPER, 3, 0x7ff, 1024},
	        {USB_FULL, 0, 64, 0},       {USB_FULL, 1, 1023, 1023},
	};
	uint8_t b[] = {CONFIG(1), INTERFACE(0, 0, 3, 1, 1), ENDPOINT(0x81, 0, 0, 1)};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		b[21] = cases[i].kind;
		store16(b + 22, cases[i].size);
		CHECK(!parse(b, sizeof b, cases[i].speed));
		CHECK_EQ(config.setting[0].n_endpoints, cases[i].want != 0);
		if (cases[i].want)
			CHECK_EQ(config.setting[0].endpoint[0].max_packet, cases[i].want);
	}
}

static void intervals(void)
{
	static const struct {
		uint8_t speed, interval, want;
	} cases[] = {{USB_LOW, 0, 10},  {USB_FULL, 1, 1},   {USB_FULL, 255, 255},
	             {USB_HIGH, 0, 7},  {USB_HIGH, 1, 1},   {USB_HIGH, 16, 16},
	             {USB_HIGH, 17, 7}, {USB_SUPER, 255, 7}};
	uint8_t b[] = {CONFIG(1), INTERFACE(0, 0, 3, 1, 1), ENDPOINT(0x81, 3, 8, 0)};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		b[24] = cases[i].interval;
		CHECK(!parse(b, sizeof b, cases[i].speed));
		CHECK_EQ(config.setting[0].endpoint[0].interval, cases[i].want);
	}
}

static void endpoints_that_cannot_be(void)
{
	PARSE(USB_FULL, CONFIG(1), INTERFACE(0, 0, 8, 6, 0x50), ENDPOINT(0x80, 2, 64, 0),
	      ENDPOINT(0x00, 2, 64, 0), ENDPOINT(0x91, 2, 64, 0), ENDPOINT(0x81, 2, 64, 0),
	      ENDPOINT(0x81, 2, 32, 0), ENDPOINT(0x01, 2, 64, 0), 6, 5, 0x82, 2, 64, 0,
	      ENDPOINT(0x02, 2, 64, 0));
	const struct usb_parse_setting *s = config.setting;
	CHECK_EQ(s->n_endpoints, 3);
	CHECK(s->endpoint[0].address == 0x81 && s->endpoint[0].max_packet == 64);
	CHECK(s->endpoint[1].address == 0x01 && s->endpoint[2].address == 0x02);
	/* More than there is room for. */
	uint8_t b[18 + 7 * 15] = {CONFIG(1), INTERFACE(0, 0, 8, 6, 0x50)};
	for (unsigned i = 0; i < 15; i++)
		memcpy(b + 18 + 7 * i, (uint8_t[]){ENDPOINT((uint8_t)(i + 1), 2, 64, 0)}, 7);
	CHECK(!parse(b, sizeof b, USB_FULL));
	CHECK_EQ(config.setting[0].n_endpoints, USB_ENDPOINTS);
	/* Endpoints in front of the first interface belong to none. */
	PARSE(USB_FULL, CONFIG(1), ENDPOINT(0x81, 2, 64, 0), INTERFACE(0, 0, 8, 6, 0x50));
	CHECK_EQ(config.setting[0].n_endpoints, 0);
}

static void companions_of_superspeed(void)
{
	PARSE(USB_SUPER, CONFIG(1), 6, 0x30, 9, 0, 0, 0, INTERFACE(0, 0, 8, 6, 0x50), 6, 0x30, 9, 0,
	      0, 0, ENDPOINT(0x81, 2, 1024, 0), 6, 0x30, 7, 0, 0, 0, ENDPOINT(0x02, 2, 1024, 0), 6,
	      0x30, 200, 0, 0, 0, ENDPOINT(0x03, 2, 1024, 0), 5, 0x30, 3, 0, 0,
	      ENDPOINT(0x80, 2, 1024, 0), 6, 0x30, 5, 0, 0, 0);
	const struct usb_parse_setting *s = config.setting;
	CHECK_EQ(s->n_endpoints, 3);
	CHECK_EQ(s->endpoint[0].burst, 7);
	CHECK_EQ(s->endpoint[1].burst, 15);
	CHECK_EQ(s->endpoint[2].burst, 0); /* its companion is too short; the next is of none */
}

static void settings_to_use(void)
{
	uint32_t i = 0;
	/* Alternate setting 0, wherever it stands; the first, if there is no 0. */
	PARSE(USB_HIGH, CONFIG(1), INTERFACE(0, 1, 8, 6, 0x62), INTERFACE(0, 0, 8, 6, 0x50),
	      INTERFACE(2, 3, 3, 1, 2), INTERFACE(2, 2, 3, 1, 1), INTERFACE(0, 0, 9, 9, 9));
	CHECK_EQ(config.n_settings, 4); /* a setting that comes twice counts once */
	const struct usb_parse_setting *s = usb_parse_choose(&config, &i);
	CHECK(s && s->is.number == 0 && s->is.protocol == 0x50);
	s = usb_parse_choose(&config, &i);
	CHECK(s && s->is.number == 2 && s->is.alternate == 3);
	CHECK(!usb_parse_choose(&config, &i));
	/* Of a hub the one with a transaction translator for each port. */
	PARSE(USB_HIGH, CONFIG(1), INTERFACE(0, 1, 9, 0, 2), INTERFACE(0, 0, 9, 0, 1));
	i = 0;
	s = usb_parse_choose(&config, &i);
	CHECK(s && s->is.alternate == 1);
	PARSE(USB_HIGH, CONFIG(1), INTERFACE(0, 0, 9, 0, 1), INTERFACE(0, 1, 9, 0, 2));
	i = 0;
	s = usb_parse_choose(&config, &i);
	CHECK(s && s->is.alternate == 1);
}

static void lengths(void)
{
	static const uint8_t good[] = {CONFIG(1), INTERFACE(0, 0, 3, 1, 1),
	                               ENDPOINT(0x81, 3, 8, 1)};
	CHECK_STR(parse(good, 0, USB_FULL), "not a configuration descriptor");
	for (size_t n = 0; n <= sizeof good; n++) {
		const char *wrong = parse(good, n, USB_FULL);
		CHECK_EQ(wrong == NULL, n >= 18);
		CHECK_EQ(config.n_settings, n >= 18);
		CHECK_EQ(config.n_settings ? config.setting[0].n_endpoints : 0, n == sizeof good);
	}
	/* A descriptor without length ends it, and does not loop. */
	PARSE(USB_FULL, CONFIG(1), INTERFACE(0, 0, 3, 1, 1), 0, 5, ENDPOINT(0x81, 3, 8, 1));
	CHECK_EQ(config.setting[0].n_endpoints, 0);
	PARSE(USB_FULL, CONFIG(1), INTERFACE(0, 0, 3, 1, 1), 1, ENDPOINT(0x81, 3, 8, 1));
	CHECK_EQ(config.setting[0].n_endpoints, 0);
	/* An interface that is too short has no endpoints. */
	PARSE(USB_FULL, CONFIG(1), INTERFACE(0, 0, 3, 1, 1), 8, 4, 1, 0, 0, 3, 1, 1,
	      ENDPOINT(0x81, 3, 8, 1));
	CHECK_EQ(config.n_settings, 1);
	CHECK_EQ(config.setting[0].n_endpoints, 0);
	/* More settings than there is room for. */
	uint8_t many[9 + 9 * 40] = {CONFIG(1)};
	for (uint8_t i = 0; i < 40; i++)
		memcpy(many + 9 + 9 * i, (uint8_t[]){INTERFACE(i, 0, 3, 1, 1)}, 9);
	CHECK(!parse(many, sizeof many, USB_FULL));
	CHECK_EQ(config.n_settings, USB_PARSE_SETTINGS);
	static const uint8_t none[] = {CONFIG(1)}, zero[] = {CONFIG(0), INTERFACE(0, 0, 3, 1, 1)};
	CHECK_STR(parse(none, sizeof none, USB_FULL), "a configuration without interfaces");
	CHECK_STR(parse(zero, sizeof zero, USB_FULL), "a configuration without a number");
}

int main(void)
{
	TEST(packets_of_endpoint_0);
	TEST(a_configuration);
	TEST(packets_of_endpoints);
	TEST(intervals);
	TEST(endpoints_that_cannot_be);
	TEST(companions_of_superspeed);
	TEST(settings_to_use);
	TEST(lengths);
	return tap_done();
}
