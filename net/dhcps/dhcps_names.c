/* See dhcps_names.h. */
#include "net/dhcps/dhcps_names.h"

#include "net/dhcps/dhcps_table.h"

/* Bytes of a domain without its final dot. */
static size_t domain_len(const char *domain)
{
	size_t n = strlen(domain);
	return n > 0 && domain[n - 1] == '.' ? n - 1 : n;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* True when text, of n characters in lower case, is the domain. */
static bool is_domain(const char *text, size_t n, const char *domain)
{
	if (n == 0 || n != domain_len(domain))
		return false;
	for (size_t i = 0; i < n; i++)
		if (text[i] != lower(domain[i]))
			return false;
	return true;
}

/* True when slot i has a lease in force with a name; then *out is that host. */
static bool host_at(const struct dhcps_net *net, const struct dhcps_config_net *c, uint32_t i,
                    uint32_t now, struct dhcps_host *out)
{
	if (!net->client[i].name[0] || dhcps_table_state(net, i, now) != DHCPS_BOUND)
		return false;
	*out = (struct dhcps_host){
	        .addr = dhcps_table_address(net, c, i),
	        .left_s = net->slot[i].end - now,
	        .name = net->client[i].name,
	        .domain = c->domain,
	};
	return true;
}

bool dhcps_by_name(const struct gw *gw, const char *name, struct dhcps_host *out)
{
	const char *dot = name;
	while (*dot && *dot != '.')
		dot++;
	size_t n = (size_t)(dot - name);
	if (!gw->dhcps || !*dot || n == 0 || n >= DHCPS_NAME)
		return false;
	for (uint32_t k = 0; k < gw->n_iface; k++) {
		const struct dhcps_net *net = &gw->dhcps->net[k];
		const struct dhcps_config_net *c = &dhcps_config(gw->config)->net[k];
		if (!net->on || !is_domain(dot + 1, strlen(dot + 1), c->domain))
			continue;
		for (uint32_t i = 0; i < net->n; i++)
			if (memcmp(net->client[i].name, name, n) == 0 && !net->client[i].name[n] &&
			    host_at(net, c, i, dhcps_now(gw), out))
				return true;
	}
	return false;
}

bool dhcps_by_address(const struct gw *gw, ip4 addr, struct dhcps_host *out)
{
	for (uint32_t k = 0; gw->dhcps && k < gw->n_iface; k++) {
		const struct dhcps_net *net = &gw->dhcps->net[k];
		const struct dhcps_config_net *c = &dhcps_config(gw->config)->net[k];
		uint32_t i = net->on && c->domain[0] ? dhcps_table_at(net, c, addr) : DHCPS_NONE;
		if (i != DHCPS_NONE)
			return host_at(net, c, i, dhcps_now(gw), out);
	}
	return false;
}
