/* kernel/config/config_help.c: what keys mean. Each key of the image has a meaning and stands in
 * docs/interface.md. */
#include "tests/unit/config_kit.h"

static char got[2000];

/* All lines of config_help, with LF behind each. */
static const char *help(const char *word)
{
	char line[300];
	uint32_t cursor = 0;
	size_t n = 0;
	got[0] = '\0';
	while (config_help(&c, word, &cursor, line, sizeof line) && n < sizeof got)
		n += (size_t)snprintf(got + n, sizeof got - n, "%s\n", line);
	CHECK(!config_help(&c, word, &cursor, line, sizeof line));
	return got;
}

static void one_key(void)
{
	start();
	CHECK_STR(help("nat.sessions"), "nat.sessions: Size of the session table and of the mapping"
	                                " table.\n  number from 1 to 16000000; default: 100000\n"
	                                "  now: 100000 (default)\n");
	CHECK(text("\nnat.sessions 5\n"));
	CHECK(strstr(help("nat.sessions"), "\n  now: 5 (gateway.conf:2)\n") != NULL);
	/* The only key that begins so. */
	CHECK(strstr(help("nat.sess"), "nat.sessions: Size") == got);
	CHECK(strstr(got, "\n  now: 5 ") != NULL);
}

/* A list shows each value; a key that is not set shows none. */
static void values(void)
{
	start();
	CHECK(strstr(help("nat.pool"), "now:") == NULL);
	CHECK(strstr(got, "up to 16 times; default: the first IPv4 wan.address\n") != NULL);
	CHECK(text("nat.pool 192.0.2.1\nnat.pool 192.0.2.3-192.0.2.9\n"));
	CHECK(strstr(help("nat.pool"), "\n  now: 192.0.2.1 (gateway.conf:2)\n"
	                               "  now: 192.0.2.3-192.0.2.9 (gateway.conf:2)\n") != NULL);
	CHECK(strstr(help("6to4.relay"), "now:") == NULL);
	CHECK(strstr(help("6to4.dscp"), "\n  copy or zero; default: copy\n") != NULL);
	CHECK(strstr(help("nat.filtering"),
	             "\n  endpoint-independent, address-dependent or address-"
	             "and-port-dependent; default: address-dependent\n") != NULL);
	CHECK(strstr(help("serve"), "\n  one of: dns64 dns http pcp; up to ") != NULL);
}

/* The key of that name comes first, then one line for each that begins so. */
static void several_keys(void)
{
	start();
	CHECK(strstr(help("lan2"), "lan2: Which card") == got);
	CHECK(strstr(got, "\nlan2.address ") && strstr(got, "\nlan2.mtu ") &&
	      strstr(got, "\nlan2.pref64 "));
	CHECK(strstr(got, "\nlan2 ") == NULL);
	CHECK(strstr(help("6rd."), "6rd.prefix                 The provider's") == got);
	CHECK(strstr(got, "\n6rd.mask ") && strstr(got, "\n6rd.relay "));
	CHECK_STR(help("nothing"), "");
	CHECK_STR(help(""), "");
}

static void one_value(void)
{
	char buf[80];
	start();
	CHECK(config_entry(&c, "nobody") == NULL);
	CHECK(config_entry(&c, "lan.mtu.") == NULL);
	const struct config_entry *e = config_entry(&c, "gateway");
	CHECK(e != NULL && strcmp(e->key->name, "gateway") == 0);
	CHECK(!config_value(&c, e, 0, buf, sizeof buf));
	CHECK(text("gateway 192.0.2.1\ngateway 192.0.2.2\n"));
	CHECK(config_value(&c, e, 1, buf, sizeof buf));
	CHECK_STR(buf, "192.0.2.2");
	CHECK(!config_value(&c, e, 2, buf, sizeof buf));
	e = config_entry(&c, "lan.mtu");
	CHECK(config_value(&c, e, 0, buf, sizeof buf));
	CHECK_STR(buf, "1500");
	CHECK(!config_value(&c, e, 1, buf, sizeof buf));
}

/* A sentence that fits on two lines of an 80-column screen. */
static bool is_sentence(const char *t)
{
	size_t n = t ? strlen(t) : 0;
	if (n < 15 || n > 160 || t[n - 1] != '.' || (t[0] >= 'a' && t[0] <= 'z'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (t[i] < ' ' || t[i] > '~')
			return false;
	return true;
}

static void every_key_has_a_meaning(void)
{
	start();
	for (uint32_t i = 0; i < c.n_entries; i++) {
		const struct config_key *k = c.entry[i].key;
		char buf[CONFIG_HELP + 1];
		bool good = is_sentence(k->about) && (k->type->form || k->words) &&
		            config_key_help(k, buf, sizeof buf) < CONFIG_HELP &&
		            strncmp(buf, "; ", 2) != 0;
		if (!good)
			printf("# %s\n", k->name);
		CHECK(good);
	}
}

/* True when docs/interface.md has `key` in the first column of a table. */
static bool is_listed(FILE *doc, const char *key)
{
	char line[4000], quoted[80];
	snprintf(quoted, sizeof quoted, "`%s`", key);
	rewind(doc);
	while (fgets(line, sizeof line, doc)) {
		char *column = strncmp(line, "| ", 2) == 0 ? strstr(line, " | ") : NULL;
		if (!column)
			continue;
		*column = '\0';
		if (strstr(line, quoted))
			return true;
	}
	return false;
}

/* lan3 to lan6, and the keys of lan2 to lan7, are those of `lan`: the page says so. */
static void every_key_is_on_the_page(void)
{
	FILE *doc = fopen("docs/interface.md", "r");
	start();
	if (!doc) {
		CHECK(!"docs/interface.md can be read from the root folder");
		return;
	}
	CHECK(!is_listed(doc, "lan.addres"));
	for (uint32_t i = 0; i < c.n_entries; i++) {
		const char *name = c.entry[i].key->name;
		char of_lan[80];
		bool numbered = strncmp(name, "lan", 3) == 0 && name[3] >= '2' && name[3] <= '7';
		snprintf(of_lan, sizeof of_lan, "lan%s", numbered ? name + 4 : "");
		bool listed = is_listed(doc, numbered ? of_lan : name);
		if (!listed)
			printf("# %s\n", name);
		CHECK(listed);
	}
	CHECK(is_listed(doc, "lan2") && is_listed(doc, "lan7"));
	fclose(doc);
}

int main(void)
{
	TEST(one_key);
	TEST(values);
	TEST(several_keys);
	TEST(one_value);
	TEST(every_key_has_a_meaning);
	TEST(every_key_is_on_the_page);
	return tap_done();
}
