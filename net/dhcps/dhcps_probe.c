/* See dhcps_probe.h. */
#include "net/dhcps/dhcps_probe.h"

#include "net/dhcps/dhcps_table.h"
#include "net/ether/arp.h"

/* Two requests, of which one may be lost; hosts answer within milliseconds. */
#define PROBES   2u
#define PROBE_MS 200u

static ip4 address_of(const struct gw *gw, const struct dhcps_probe *probe)
{
	return dhcps_table_address(&gw->dhcps->net[probe->iface],
	                           &dhcps_config(gw->config)->net[probe->iface], probe->slot);
}

static struct dhcps_probe *find(struct dhcps *d, uint32_t iface, uint32_t slot)
{
	for (uint32_t i = 0; d->n_probes && i < DHCPS_PROBES; i++)
		if (d->probe[i].used && d->probe[i].iface == iface && d->probe[i].slot == slot)
			return &d->probe[i];
	return NULL;
}

static struct dhcps_probe *unused(struct dhcps *d)
{
	for (uint32_t i = 0; d->n_probes < DHCPS_PROBES && i < DHCPS_PROBES; i++)
		if (!d->probe[i].used)
			return &d->probe[i];
	return NULL;
}

static void send(struct gw *gw, struct dhcps_probe *probe)
{
	arp_probe(gw, probe->iface, address_of(gw, probe));
	probe->sent++;
	probe->due_us = gw->clock.us + PROBE_MS * 1000;
}

bool dhcps_probe_start(struct gw *gw, const struct dhcps_ask *ask, uint32_t slot, uint32_t len)
{
	struct dhcps *d = gw->dhcps;
	struct dhcps_probe *probe = find(d, ask->net->iface, slot);
	bool runs = probe != NULL;
	if (len > DHCPS_MESSAGE || (!runs && !(probe = unused(d)))) {
		d->unprobed++;
		return false;
	}
	memcpy(probe->message, ask->m.hdr, len);
	probe->len = len;
	probe->from = ask->from;
	probe->station = ask->who.agent;
	if (runs)
		return true;
	probe->used = true;
	probe->iface = (uint8_t)ask->net->iface;
	probe->slot = slot;
	probe->sent = 0;
	probe->conflicts = ask->conflicts;
	d->n_probes++;
	send(gw, probe);
	return true;
}

bool dhcps_probe_runs(const struct gw *gw, const struct dhcps_net *net, uint32_t slot)
{
	return find(gw->dhcps, net->iface, slot) != NULL;
}

static void end(struct dhcps *d, struct dhcps_probe *probe)
{
	probe->used = false;
	d->n_probes--;
}

void dhcps_probe_end(struct gw *gw, const struct dhcps_net *net, uint32_t slot)
{
	struct dhcps_probe *probe = find(gw->dhcps, net->iface, slot);
	if (probe)
		end(gw->dhcps, probe);
}

bool dhcps_probe_next(struct gw *gw, struct dhcps_probe *out)
{
	struct dhcps *d = gw->dhcps;
	for (uint32_t i = 0; d->n_probes && i < DHCPS_PROBES; i++) {
		struct dhcps_probe *probe = &d->probe[i];
		if (!probe->used || probe->due_us > gw->clock.us)
			continue;
		if (probe->sent < PROBES) {
			send(gw, probe);
			continue;
		}
		*out = *probe;
		end(d, probe);
		return true;
	}
	return false;
}

bool dhcps_probe_heard(struct gw *gw, uint32_t iface, ip4 addr, const mac *station,
                       struct dhcps_probe *out)
{
	struct dhcps *d = gw->dhcps;
	for (uint32_t i = 0; d->n_probes && i < DHCPS_PROBES; i++) {
		struct dhcps_probe *probe = &d->probe[i];
		if (!probe->used || probe->iface != iface || !ip4_eq(address_of(gw, probe), addr))
			continue;
		const struct dhcp_hdr *h = (const struct dhcp_hdr *)probe->message;
		if (mac_eq(&h->chaddr, station))
			return false;
		*out = *probe;
		end(d, probe);
		return true;
	}
	return false;
}
