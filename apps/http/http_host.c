/* See http_host.h. */
#include "apps/http/http_host.h"

#include "kernel/lib/fmt.h"
#include "net/dhcps/dhcps_keys.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* True when n characters are a name, in any case. */
static bool is(const char *text, size_t n, const char *name)
{
	size_t i = 0;
	while (i < n && name[i] && lower(text[i]) == lower(name[i]))
		i++;
	return i == n && !name[i];
}

static bool is_name(const struct gw *gw, const char *host, size_t n)
{
	char name[CONFIG_NAME];
	const struct config_entry *e = config_entry(gw->config, "hostname");
	if (n > 1 && host[n - 1] == '.')
		n--;
	if (!e || !config_value(gw->config, e, 0, name, sizeof name))
		return false;
	if (is(host, n, name))
		return true;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		char whole[CONFIG_NAME + CONFIG_DOMAIN + 2];
		const char *domain = dhcps_config(gw->config)->net[i].domain;
		fmt(whole, sizeof whole, "%s.%s", name, domain);
		if (domain[0] && is(host, n, whole))
			return true;
	}
	return false;
}

bool http_host_is_ours(const struct gw *gw, const struct addr *local, const char *host)
{
	size_t n = 0;
	struct addr a;
	bool bracket = host[0] == '[';
	while (host[n] && host[n] != (bracket ? ']' : ':'))
		n++;
	const char *rest = host + n + (bracket && host[n] ? 1 : 0);
	if (rest[0] && strcmp(rest, ":80") != 0 && strcmp(rest, ":") != 0)
		return false;
	if (bracket) {
		a = (struct addr){.is6 = true};
		return host[n] && addr_ip6(host + 1, n - 1, &a.v6) && addr_eq(&a, local);
	}
	a = (struct addr){.is6 = false};
	if (addr_ip4(host, n, &a.v4))
		return addr_eq(&a, local);
	return is_name(gw, host, n);
}

bool http_host_is_origin(const char *origin, const char *host)
{
	static const char scheme[] = "http://";
	const size_t skip = sizeof scheme - 1;
	return strncmp(origin, scheme, skip) == 0 && is(origin + skip, strlen(origin + skip), host);
}
