/* kernel/texts.c: which text is read, and when gateway.last takes the place of gateway.conf. */
#include "kernel/texts.h"
#include "tests/unit/config_kit.h"

#define MARK CONFIG_EDIT_MARK "\n"

static struct texts t;

static struct slice slice(const char *text)
{
	return (struct slice){text, strlen(text)};
}

static void begin(const char *conf, const char *last)
{
	log_reset();
	texts_init(&t, "", known_apps, ARRAY_SIZE(known_apps));
	texts_add(&t, "gateway.last", slice(last));
	texts_add(&t, "boot.conf", slice(conf));
	texts_read(&t, &c, t.conf);
}

static void all_texts(void)
{
	texts_init(&t, "lan.mtu=1300", known_apps, ARRAY_SIZE(known_apps));
	texts_add(&t, "a", slice("hostname one\nlan.mtu 1400\n"));
	texts_add(&t, "b", slice("nameserver 192.0.2.1\n"));
	texts_add(&t, "gateway.last", slice("nonsense\n"));
	texts_add(&t, "gateway.seen", slice("nonsense\n"));
	texts_add(&t, "c", slice("nonsense\nlan nic3\nwan nic3\n"));
	texts_read(&t, &c, t.conf);
	CHECK(prints("hostname one"));
	CHECK(prints("lan.mtu 1300"));
	CHECK(prints("nameserver 192.0.2.1"));
	CHECK_EQ(c.n_errors, 2);
	CHECK_STR(error(0), "c:1: unknown key \"nonsense\"");
	CHECK_STR(error(1), "c:3: lan and wan name the same NIC");
	texts_read(&t, &c, slice("hostname two\n"));
	CHECK(prints("hostname two"));
	texts_init(&t, "", known_apps, ARRAY_SIZE(known_apps));
	t.overflow = true;
	texts_read(&t, &c, t.conf);
	CHECK_STR(config_where(&c, "lan"), "no configuration file");
	CHECK_STR(error(0), "boot: the configuration is too long and was cut");
}

static void complete(const char *cmdline, const char *file)
{
	log_reset();
	texts_init(&t, cmdline, known_apps, ARRAY_SIZE(known_apps));
	texts_add(&t, "gateway.seen", slice("wan.address 192.0.2.2/24\n"));
	if (file)
		texts_add(&t, "gateway.conf", slice(file));
	texts_complete(&t, &c);
	texts_read(&t, &c, t.conf);
}

/* Without a file, and with a command line that is silent about networks, there is a router that
 * needs no typing. */
static void without_a_file(void)
{
	static const char *const silent[] = {"", "app=nat", "app=nat keyboard=de menu-default=nat"};
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		complete(silent[i], NULL);
		CHECK_EQ(c.n_errors, 0);
		CHECK(prints("wan.address dhcp") && prints("wan.address auto"));
		CHECK(prints("lan.address 192.168.1.1/24") && prints("nameserver default"));
		CHECK(prints("lan.prefix delegated"));
		CHECK(prints("lan.dhcp 192.168.1.100-192.168.1.199") && prints("serve dns"));
		CHECK(logged("no configuration file: addresses by DHCP on the WAN, 192.168.1.1/24 "
		             "and DHCP on the LAN"));
		CHECK(config_given(&c, "wan.address"));
	}
	CHECK(prints("keyboard de"));
	static const char *const says[] = {"wan=nic0", "serve=dns", "lan.mtu=1400", "nonsense=1"};
	for (size_t i = 0; i < ARRAY_SIZE(says); i++) {
		complete(says[i], NULL);
		CHECK(prints("wan.address dhcp") == (i == 3)); /* an unknown key says nothing */
	}
	complete("", "");
	CHECK(!config_given(&c, "wan.address"));
	complete("", "hostname x\n");
	CHECK(!config_given(&c, "wan.address"));
}

static void falls_back(void)
{
	begin(MARK "hostnam x\n", "hostname last\napp nat\n");
	CHECK_EQ(c.n_errors, 1);
	CHECK(!texts_fell_back(&t));
	CHECK(texts_fall_back(&t, &c, NULL));
	CHECK(texts_fell_back(&t));
	CHECK_EQ(c.n_errors, 0);
	CHECK(prints("hostname last"));
	CHECK(logged("gateway.conf:2: unknown key \"hostnam\""));
	CHECK(logged("configuration: gateway.last is used; gateway.conf cannot be"));
	CHECK(t.conf.at == t.last.at);
	CHECK(!texts_fall_back(&t, &c, "again"));
}

static void falls_back_when_it_cannot_start(void)
{
	begin(MARK "app nat\n", "app wire\n");
	CHECK(texts_fall_back(&t, &c, "lan.address: required"));
	CHECK(logged("lan.address: required"));
	CHECK_STR(settings_name(&c)->app, "wire");
}

static void stays(void)
{
	begin("hostnam x\n", "hostname last\n"); /* never saved on the machine */
	CHECK(!texts_fall_back(&t, &c, NULL));
	CHECK_EQ(c.n_errors, 1);
	CHECK(!logged("gateway.last"));
	begin(MARK "hostnam x\n", ""); /* there is no gateway.last */
	CHECK(!texts_fall_back(&t, &c, NULL));
	begin(MARK "hostnam x\n", "mtu 1\n"); /* and one that cannot be used either */
	CHECK(!texts_fall_back(&t, &c, NULL));
	CHECK(logged("gateway.last:1: unknown key \"mtu\""));
	CHECK(!logged("is used"));
	CHECK(!texts_fell_back(&t));
	CHECK_STR(error(0), "gateway.conf:2: unknown key \"hostnam\", nearest: hostname");
}

int main(void)
{
	TEST(all_texts);
	TEST(without_a_file);
	TEST(falls_back);
	TEST(falls_back_when_it_cannot_start);
	TEST(stays);
	return tap_done();
}
