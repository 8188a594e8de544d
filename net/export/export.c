/* The receivers, and when they get something. See export.h. */
#include "net/export/export.h"

#include "kernel/lib/alloc.h"
#include "net/tcp/tcp.h"

#define SECOND_US 1000000ull
#define AGAIN_US  2000u   /* until cards have sent what fills the pool of packets */
#define HOLD_US   200000u /* behind the first datagram: its next hop may have to be asked for */

bool export_has_receivers(const struct gw *gw)
{
	const struct export_config *c = export_config(gw->config);
	return c->n_syslog + c->n_ipfix > 0;
}

struct export_ring *export_events(struct gw *gw)
{
	struct export_ring *ring = &gw->export.ring;
	ring->event = alloc_raw(EXPORT_EVENTS * sizeof *ring->event, 64);
	ring->clock = &gw->clock;
	return ring->event ? ring : NULL;
}

static enum verdict no_answer(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                              uint32_t arg)
{
	(void)gw, (void)p, (void)ends, (void)arg;
	return V_LOCAL; /* no receiver answers: as if the port were closed */
}

const char *export_start(struct gw *gw)
{
	const struct export_config *c = export_config(gw->config);
	struct export *x = &gw->export;
	if (!export_has_receivers(gw) || gw->forwarder->promiscuous)
		return NULL;
	bool tcp = false;
	for (uint32_t i = 0; i < c->n_syslog; i++) {
		x->receiver[x->n++] = (struct export_receiver){.to = c->syslog[i]};
		tcp |= c->syslog[i].tcp;
	}
	for (uint32_t i = 0; i < c->n_ipfix; i++)
		x->receiver[x->n++] = (struct export_receiver){.to = c->ipfix[i], .ipfix = true};
	if (!udp_init(gw) || (tcp && !tcp_init(gw)))
		return "not enough memory for syslog and ipfix";
	x->boot = rng_u32(gw->rng);
	x->handler = udp_register(gw, no_answer);
	x->port = udp_bind_any(gw, x->handler, 0);
	x->on = x->port != 0;
	return x->on ? NULL : "syslog: no free port";
}

uint32_t export_waiting(struct gw *gw, struct export_receiver *r)
{
	const struct export_ring *ring = &gw->export.ring;
	if (ring->end - r->event > EXPORT_EVENTS) {
		uint64_t gone = ring->end - EXPORT_EVENTS - r->event;
		r->event += gone;
		r->lost += gone;
		if (r->ipfix)
			gw->export.unrecorded += gone;
		else
			gw->export.lost += gone;
	}
	return (uint32_t)(ring->end - r->event);
}

/* True when an interface with this address of ours has its carrier. Without one the messages wait:
 * a datagram would be dropped. */
static bool has_carrier(struct gw *gw, const struct addr *own)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		struct interface *iface = &gw->iface[i];
		if (iface->carrier && (own->is6 ? interface_address6(iface, &own->v6) != NULL
		                                : interface_has4(iface, own->v4)))
			return true;
	}
	return false;
}

bool export_ends(struct gw *gw, struct export_receiver *r, struct udp_ends *ends)
{
	*ends = (struct udp_ends){.remote = r->to.addr,
	                          .remote_port = r->to.port,
	                          .local_port = gw->export.port,
	                          .iface = PKT_IF_SELF};
	if (!udp_source(gw, ends) || !has_carrier(gw, &ends->local)) {
		r->first_us = 0;
		r->retry_us = gw->clock.us + SECOND_US;
		return false;
	}
	if (r->first_us == 0)
		r->first_us = gw->clock.us;
	return true;
}

struct pkt *export_packet(struct gw *gw, uint32_t most)
{
	struct pkt *p = pkt_alloc(gw->pool);
	if (p && pkt_put(p, most))
		return p;
	if (p)
		pkt_free(p);
	gw_wake_at(gw, gw->clock.us + AGAIN_US);
	return NULL;
}

bool export_tick(struct gw *gw)
{
	struct export *x = &gw->export;
	bool more = false;
	for (uint32_t i = 0; i < x->n && x->on; i++) {
		struct export_receiver *r = &x->receiver[i];
		if (gw->clock.us < r->retry_us) {
			gw_wake_at(gw, r->retry_us);
			continue;
		}
		more |= r->ipfix ? export_ipfix_tick(gw, r) : export_syslog_tick(gw, r);
		if (r->first_us == gw->clock.us && !r->to.tcp)
			r->retry_us = gw->clock.us + HOLD_US;
	}
	return more;
}
