/* kernel/config/config.c with sections of the test's own: where values stand, lists and flags at
 * the beginning of a struct, checks, and sections that find no room. */
#include "kernel/config/config_types.h"
#include "tests/tap.h"

struct first {
	uint32_t n_numbers; /* at offset 0 */
	uint32_t number[3];
};
struct second {
	bool has_word; /* at offset 0 */
	uint32_t word;
	char name[CONFIG_NAME];
};

static const char *const words[] = {"red", "green", "blue"};

static const struct config_key first_key[] = {
        {"number", &config_number, "7", CONFIG_LIST(struct first, number, n_numbers),
         CONFIG_RANGE(1, 9)},
};
static const struct config_key second_key[] = {
        {"word", &config_choice, NULL, CONFIG_ONE(struct second, word),
         CONFIG_FLAG(struct second, has_word), CONFIG_WORDS(words)},
        {"name", &config_name, "x", CONFIG_ONE(struct second, name)},
};
static const struct config_section first = CONFIG_SECTION(struct first, first_key);
static const struct config_section second = CONFIG_SECTION(struct second, second_key);

static struct config c;

static bool text(const char *t)
{
	return config_text(&c, "file", t, strlen(t));
}

static void start(void)
{
	const struct config_section *list[] = {&first, &second};
	config_init(&c, list, 2);
}

static void values_of_each_section(void)
{
	start();
	const struct first *f = config_values(&c, &first);
	const struct second *s = config_values(&c, &second);
	CHECK(f != NULL && s != NULL);
	CHECK_EQ(f->n_numbers, 1);
	CHECK_EQ(f->number[0], 7);
	CHECK(!s->has_word);
	CHECK_STR(s->name, "x");
	CHECK(text("name y\nnumber 1\nword blue\nnumber 2\n"));
	CHECK_EQ(f->n_numbers, 2);
	CHECK_EQ(f->number[0], 1);
	CHECK_EQ(f->number[1], 2);
	CHECK(s->has_word);
	CHECK_EQ(s->word, 2);
	CHECK_STR(s->name, "y");
	CHECK(config_values_of(&c, &second) == (const void *)s);
	CHECK(!text("number 3\nnumber 4\n"));
	CHECK_STR(c.error[0].what, "number: given more than 3 times");
	start();
	CHECK(!text("word pink\n"));
	CHECK_STR(c.error[0].what, "word: expected red, green or blue");
}

static void prints_in_the_order_of_the_sections(void)
{
	static const char *const want[] = {"number 7", "name x"};
	char line[80];
	uint32_t cursor = 0;
	start();
	for (uint32_t i = 0; i < ARRAY_SIZE(want); i++) {
		CHECK(config_line(&c, &cursor, line, sizeof line));
		CHECK_STR(line, want[i]);
	}
	CHECK(!config_line(&c, &cursor, line, sizeof line));
}

static void the_later_of_two_keys(void)
{
	start();
	CHECK_STR(config_where_later(&c, "number", "name"), "");
	CHECK(text("name y\n"));
	CHECK_STR(config_where_later(&c, "number", "name"), "file:1");
	CHECK(text("\n\nnumber 3\n"));
	CHECK_STR(config_where_later(&c, "number", "name"), "file:3");
	CHECK_STR(config_where_later(&c, "name", "number"), "file:3");
	CHECK_STR(config_where_later(&c, "name", "nobody"), "");
}

static void a_section_that_was_not_given(void)
{
	const struct config_section *list[] = {&second};
	config_init(&c, list, 1);
	CHECK(config_values(&c, &first) == NULL);
	CHECK(config_values_of(&c, &first) == NULL);
	CHECK(!text("number 1\n"));
	CHECK_STR(c.error[0].what, "unknown key \"number\"");
}

static uint32_t n_checks;

static bool check_fails(struct config *config)
{
	n_checks++;
	config_fail(config, "", "wrong");
	return false;
}

static bool check_passes(struct config *config)
{
	(void)config;
	n_checks++;
	return true;
}

static void every_check_runs(void)
{
	struct config_section bad = first, good = second;
	const struct config_section *list[] = {&bad, &good};
	bad.check = check_fails;
	good.check = check_passes;
	n_checks = 0;
	config_init(&c, list, 2);
	CHECK(!config_check(&c));
	CHECK_EQ(n_checks, 2);
	CHECK_EQ(c.n_errors, 1);
	config_init(&c, &list[1], 1);
	CHECK(config_check(&c));
	start();
	CHECK(config_check(&c));
}

/* Values that just fit, and one byte more. */
static void sections_too_large(void)
{
	struct config_section large = second;
	const struct config_section *list[] = {&first, &large, &second};
	large.size = CONFIG_VALUES - sizeof(struct first);
	CHECK_EQ(sizeof(struct first) % 8, 0);
	config_init(&c, list, 2);
	CHECK_EQ(c.n_errors, 0);
	large.size++;
	config_init(&c, list, 2);
	CHECK_EQ(c.n_errors, 1);
	CHECK_STR(c.error[0].what, "no room for the keys from word on");
	CHECK(config_values(&c, &large) == NULL);
	/* A smaller section after it still fits. */
	config_init(&c, list, 3);
	CHECK_EQ(c.n_errors, 1);
	CHECK(config_values(&c, &second) != NULL);
}

static void sections_too_many(void)
{
	const struct config_section *list[CONFIG_SECTIONS + 1];
	for (uint32_t i = 0; i < ARRAY_SIZE(list); i++)
		list[i] = &first;
	config_init(&c, list, CONFIG_SECTIONS);
	CHECK_EQ(c.n_errors, 0);
	config_init(&c, list, CONFIG_SECTIONS + 1);
	CHECK_EQ(c.n_errors, 1);
	CHECK_EQ(c.n_sections, CONFIG_SECTIONS);
}

static void keys_too_many(void)
{
	static struct config_key key[CONFIG_KEYS + 1];
	for (uint32_t i = 0; i < ARRAY_SIZE(key); i++)
		key[i] = second_key[1];
	struct config_section many = second;
	const struct config_section *list[] = {&many};
	many.key = key;
	many.n_keys = CONFIG_KEYS;
	config_init(&c, list, 1);
	CHECK_EQ(c.n_errors, 0);
	many.n_keys++;
	config_init(&c, list, 1);
	CHECK_EQ(c.n_errors, 1);
	CHECK_EQ(c.n_entries, 0);
}

int main(void)
{
	TEST(values_of_each_section);
	TEST(prints_in_the_order_of_the_sections);
	TEST(the_later_of_two_keys);
	TEST(a_section_that_was_not_given);
	TEST(every_check_runs);
	TEST(sections_too_large);
	TEST(sections_too_many);
	TEST(keys_too_many);
	return tap_done();
}
