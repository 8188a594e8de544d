/* See dhcps_start.h. */
#include "net/dhcps/dhcps_start.h"

#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "net/dhcps/dhcps_table.h"

/* The configuration has checked the values. */
static void set_options(struct dhcps_net *net, const struct dhcps_config_net *c)
{
	for (uint32_t i = 0; i < c->n_option; i++) {
		struct dhcps_option *o = &net->option[net->n_option];
		uint32_t len;
		o->code = c->option[i].code;
		if (dhcps_option_encode(o->code, c->option[i].text, o->value, &len))
			continue;
		o->len = (uint8_t)len;
		net->n_option++;
	}
}

const char *dhcps_start(struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		const struct dhcps_config_net *c = &dhcps_config(gw->config)->net[i];
		if (!interface_is_inside(i) || !c->on)
			continue;
		if (gw->forwarder->promiscuous) {
			log_line("%s.dhcp: this application has no addresses", gw->iface[i].name);
			continue;
		}
		if (!gw->dhcps)
			gw->dhcps = alloc(sizeof *gw->dhcps, 64);
		if (!gw->dhcps)
			return "not enough memory";
		gw->dhcps->clock = &gw->clock;
		struct dhcps_net *net = &gw->dhcps->net[i];
		net->iface = i;
		net->first = ip4_get(c->range.first);
		net->n_pool = ip4_get(c->range.last) - net->first + 1;
		if (!dhcps_table_init(net, c))
			return "not enough memory";
		set_options(net, c);
		net->on = true;
	}
	return NULL;
}
