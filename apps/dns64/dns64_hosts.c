/* The hosts of the inside for the policy: those with leases (net/dhcps). See dns64.h. */
#include "apps/dns64/dns64.h"
#include "kernel/lib/fmt.h"
#include "net/dhcps/dhcps_names.h"

/* A name as text, in which bytes that no host's name has are escaped. */
#define TEXT (4 * DNS_NAME_MAX + 2)

static bool take(const struct dhcps_host *h, struct dns64_host *out)
{
	char text[DHCPS_NAME + CONFIG_DOMAIN + 2];
	fmt(text, sizeof text, "%s.%s", h->name, h->domain);
	out->addr = h->addr;
	out->ttl = h->left_s;
	out->len = dns_name_of_text(out->name, text);
	return out->len > 0;
}

static bool by_name(const void *gw, const uint8_t *name, struct dns64_host *out)
{
	char text[TEXT];
	struct dhcps_host h;
	dns_name_text(text, sizeof text, name);
	size_t n = strlen(text);
	if (n > 0 && text[n - 1] == '.')
		text[n - 1] = '\0';
	return dhcps_by_name(gw, text, &h) && take(&h, out);
}

static bool by_address(const void *gw, ip4 addr, struct dns64_host *out)
{
	struct dhcps_host h;
	return dhcps_by_address(gw, addr, &h) && take(&h, out);
}

void dns64_hosts_set_up(const struct gw *gw, struct dns64_policy *y)
{
	if (!gw->dhcps)
		return;
	y->hosts = gw;
	y->host_by_name = by_name;
	y->host_by_address = by_address;
}
