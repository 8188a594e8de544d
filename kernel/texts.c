/* See texts.h. */
#include "kernel/texts.h"

#include "kernel/lib/log.h"
#include "kernel/settings.h"

static const char conf_name[] = "gateway.conf", last_name[] = "gateway.last";

/* No menu-timeout: a machine that was only switched on gives no addresses to a network. */
static const char built_in[] = "wan.address dhcp\n"
                               "wan.address auto\n"
                               "lan.address 192.168.1.1/24\n"
                               "lan.prefix delegated\n"
                               "lan.dhcp 192.168.1.100-192.168.1.199\n"
                               "serve dns\n"
                               "nameserver default\n";

void texts_init(struct texts *t, const char *cmdline, const char *const *apps, uint32_t n_apps)
{
	memset(t, 0, sizeof *t);
	t->cmdline = cmdline;
	t->apps = apps;
	t->n_apps = n_apps;
	t->name = conf_name;
	t->conf.at = t->last.at = "";
}

void texts_add(struct texts *t, const char *name, struct slice text)
{
	if (strcmp(name, TEXTS_SEEN) == 0)
		return;
	t->any_file = true;
	if (strcmp(name, last_name) == 0) {
		t->last = text;
	} else if (t->conf.len == 0 && t->n_more == 0) {
		t->conf = text;
	} else if (t->n_more < TEXTS_MORE) {
		t->more[t->n_more].name = name;
		t->more[t->n_more++].text = text;
	}
}

void texts_complete(struct texts *t, struct config *c)
{
	texts_parse(t, c, t->conf);
	if (t->any_file || settings_describe_networks(c))
		return;
	t->conf = (struct slice){built_in, sizeof built_in - 1};
	log_line("no configuration file: addresses by DHCP on the WAN, 192.168.1.1/24 and DHCP on "
	         "the LAN");
}

void texts_parse(void *texts, struct config *c, struct slice conf)
{
	const struct texts *t = texts;
	settings_init(c, t->apps, t->n_apps);
	config_cmdline(c, t->cmdline);
	if (conf.len) /* else errors say that there is no configuration file */
		config_text(c, t->name, conf.at, conf.len);
	for (uint32_t i = 0; i < t->n_more; i++)
		config_text(c, t->more[i].name, t->more[i].text.at, t->more[i].text.len);
	if (t->overflow)
		config_fail(c, "boot", "the configuration is too long and was cut");
}

void texts_read(struct texts *t, struct config *c, struct slice conf)
{
	texts_parse(t, c, conf);
	config_check(c);
}

bool texts_fell_back(const struct texts *t)
{
	return t->name == last_name;
}

static void log_errors(const struct config *c)
{
	for (uint32_t i = 0; i < min_u32(c->n_errors, CONFIG_ERRORS); i++)
		log_line("%s: %s", c->error[i].where, c->error[i].what);
}

bool texts_fall_back(struct texts *t, struct config *c, const char *problem)
{
	if (texts_fell_back(t) || t->last.len == 0 || !config_edit_is_marked(t->conf))
		return false;
	if (problem)
		log_line("%s", problem);
	else
		log_errors(c);
	t->name = last_name;
	texts_read(t, c, t->last);
	if (c->n_errors == 0) {
		t->conf = t->last;
		log_line("configuration: gateway.last is used; gateway.conf cannot be");
		return true;
	}
	log_errors(c);
	t->name = conf_name;
	texts_read(t, c, t->conf);
	return false;
}
