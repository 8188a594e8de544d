/* See rig.h. */
#include "tests/host/rig.h"

#include "apps/apps.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/fmt.h"
#include "kernel/seam/io.h"
#include "kernel/lib/log.h"
#include "kernel/lib/wall.h"
#include "kernel/seam/panic.h"
#include "kernel/settings.h"
#include "net/capture/capture.h"
#include "net/neigh/neigh.h"
#include "net/offload/offload.h"
#include "net/vlan/vlan.h"
#include "tests/host/route6.h"

#define MAX_APPS 16

void rig_reset(struct rig *rig, uint32_t seed, size_t memory, uint64_t now_us)
{
	host_arena(memory);
	log_reset();
	wall_forget();
	log_time(now_us);
	rig_clear(rig, seed, now_us);
}

void rig_clear(struct rig *rig, uint32_t seed, uint64_t now_us)
{
	static const char *names[MAX_APPS];
	uint32_t n = min_u32(n_apps, MAX_APPS - 1);
	for (uint32_t i = 0; i < n; i++)
		names[i] = apps[i].name;
	names[n++] = "route6";
	memset(&rig->pool, 0, sizeof rig->pool);
	memset(&rig->gw, 0, sizeof rig->gw);
	memset(&rig->rng, 0, sizeof rig->rng);
	rng_seed(&rig->rng, &seed, sizeof seed);
	settings_init(&rig->config, names, n);
	rig->started = false;
	rig->moved = false;
	rig->n_turns = 0;
	memset(rig->stalled, 0, sizeof rig->stalled);
	rig->gw.clock.us = now_us;
}

bool rig_config(struct rig *rig, const char *text, size_t len)
{
	return config_text(&rig->config, "gateway.conf", text, len);
}

static void flush(struct gw *gw)
{
	rig_flush((struct rig *)(void *)((uint8_t *)gw - offsetof(struct rig, gw)));
}

static const struct forwarder *find_app(const struct rig *rig, const char *name)
{
	for (uint32_t i = 0; i < n_apps; i++)
		if (strcmp(apps[i].name, name) == 0)
			return apps[i].forwarder;
	return strcmp(name, "route6") == 0 ? &forwarder_route6 : rig->forwarder;
}

/* The first interface with the same card in the configuration. */
static uint8_t card_of(const struct rig *rig, uint32_t i)
{
	const struct net_config_interface *c = net_config(&rig->config)->iface;
	uint8_t k = 0;
	while (k < i &&
	       !(k < net_interfaces(&rig->config) && net_same_card(&c[k].card, &c[i].card)))
		k++;
	return i < net_interfaces(&rig->config) ? k : (uint8_t)i;
}

const char *rig_start(struct rig *rig, const char *app, uint32_t packets)
{
	struct gw *gw = &rig->gw;
	if (rig->started)
		return "started already";
	const struct forwarder *forwarder = find_app(rig, app);
	if (!forwarder)
		return "no such application";
	if (!config_check(&rig->config) || rig->config.n_errors)
		return rig->config.error[0].what;
	if (!pkt_pool_init(&rig->pool, packets, rig->large ? PKT_ROOM_LARGE : PKT_ROOM))
		return "not enough memory for packets";
	for (uint32_t i = 0; i < rig->in_rings; i++)
		if (!pkt_alloc(&rig->pool))
			return "not enough packets for the rings";
	gw->pool = &rig->pool;
	gw->rng = &rig->rng;
	gw->config = &rig->config;
	gw->flush = flush;
	for (uint32_t i = 0; i < INTERFACES; i++) {
		gw->iface[i].card = card_of(rig, i);
		gw->iface[i].address = (mac){{2, 0, 0, 0, 0, (uint8_t)(gw->iface[i].card + 1)}};
		gw->iface[i].present = true;
	}
	settings_choose(&rig->config, app, forwarder, gw);
	const char *wrong = gw_init(gw);
	if (wrong)
		return wrong;
	settings_set_app(&rig->config, app);
	rig->started = true;
	rig->free_at_start = rig->pool.n_free;
	rig_advance(rig, 0);
	for (uint32_t i = 0; i < gw->n_iface; i++)
		rig_link(rig, i, true);
	return NULL;
}

void rig_slow_path(struct rig *rig)
{
	rig->no_fast_path = *rig->gw.forwarder;
	rig->no_fast_path.frames = NULL;
	rig->no_fast_path.partial = NULL;
	rig->gw.n_frame_hooks = 0;
	rig->gw.forwarder = &rig->no_fast_path;
}

/* Gives the sink a packet that leaves: a frame, or all bytes of a partial packet that the card
 * takes as it is. */
static void leave(struct rig *rig, uint32_t iface, const struct pkt *p)
{
	static uint8_t all[PKT_TOTAL_MAX + PKT_HEADROOM];
	if (!(p->flags & PKT_PARTIAL)) {
		if (rig->sink)
			rig->sink(rig, iface, p->data, p->len);
		return;
	}
	uint32_t n = 0;
	for (const struct pkt *piece = p; piece; n += piece->len, piece = piece->next) {
		if (piece->owned != PKT_OWNED || n + piece->len > sizeof all)
			panic("rig: a bad piece in the transmit queue of interface %u", iface);
		memcpy(all + n, piece->data, piece->len);
	}
	if (n != p->total || (p->next && !p->segment))
		panic("rig: %u bytes in a partial packet of %u", n, p->total);
	if (rig->partial_sink)
		rig->partial_sink(rig, iface, all, p);
}

void rig_flush(struct rig *rig)
{
	for (uint32_t i = 0; i < INTERFACES; i++) {
		struct interface *iface = &rig->gw.iface[i];
		struct pkt *p;
		if (rig->stalled[iface->card] && iface->carrier) {
			offload_queue(&rig->gw, iface); /* as for a card that takes nothing */
			continue;
		}
		interface_sent(iface);
		while ((p = pkt_queue_pop(offload_queue(&rig->gw, iface))) != NULL) {
			if (!iface->carrier) {
				gw_discard(&rig->gw, p, DROP_LINK_DOWN);
				continue;
			}
			if (p->owned != PKT_OWNED || p->len > pkt_space(p) ||
			    p->data < p->bytes + PKT_TAG)
				panic("rig: a bad packet in the transmit queue of interface %u", i);
			if (rig->gw.capture) {
				capture_leaving(&rig->gw, i, &p, 1);
				capture_taken(&rig->gw, i, 1);
			}
			if (iface->vlan)
				vlan_tag(iface, &p, 1);
			leave(rig, iface->card, p);
			pkt_free_all(p);
		}
	}
}

/* Makes a partial packet. NULL when there are no packets for it, or too many pieces. */
static struct pkt *make_partial(struct rig *rig, const struct rig_partial *how,
                                const uint8_t *frame, uint32_t len)
{
	struct pkt *first = NULL, **link = &first;
	for (uint32_t at = 0, n, k = 0; at < len; at += n, k++) {
		uint32_t room = rig->pool.room;
		n = min_u32(k < how->n_pieces && how->piece[k] ? how->piece[k] : room, room);
		if (k == 0)
			n = max_u32(n, 256); /* NIC_HEADER_MAX */
		n = min_u32(n, len - at);
		struct pkt *p = pkt_alloc(&rig->pool);
		uint8_t *to = p ? pkt_put(p, n) : NULL;
		if (!to || k == PKT_PIECES) {
			if (p)
				pkt_free(p);
			if (first)
				pkt_free_all(first);
			return NULL;
		}
		memcpy(to, frame + at, n);
		p->next = NULL;
		*link = p;
		link = &p->next;
		first->flags = how->flags | PKT_PARTIAL;
	}
	if (!first)
		return NULL;
	first->total = len;
	first->segment = how->segment;
	first->l4 = how->start;
	first->l4_len = how->offset;
	return first;
}

bool rig_input_partial(struct rig *rig, uint32_t iface, const struct rig_partial *how,
                       const uint8_t *frame, uint32_t len)
{
	struct pkt *burst[RIG_BURST];
	uint32_t n = min_u32(max_u32(how->at_once, 1), RIG_BURST);
	for (uint32_t i = 0; i < n; i++)
		if (!(burst[i] = make_partial(rig, how, frame, len))) {
			while (i > 0)
				pkt_free_all(burst[--i]);
			return false;
		}
	rig->moved = true;
	iface = rig->gw.iface[iface].card;
	if (rig->gw.iface[iface].vlans)
		vlan_input(&rig->gw, iface, burst, n);
	else
		gw_input_partial(&rig->gw, iface, burst, n);
	rig_flush(rig);
	return true;
}

bool rig_input(struct rig *rig, uint32_t iface, const uint8_t *frame, size_t len)
{
	struct pkt *p = len <= PKT_ROOM ? pkt_alloc(&rig->pool) : NULL;
	if (!p)
		return false;
	uint8_t *to = pkt_put(p, (uint32_t)len);
	if (!to)
		panic("rig: no room for %u bytes in a fresh packet", (unsigned)len);
	memcpy(to, frame, len);
	rig->moved = true;
	iface = rig->gw.iface[iface].card;
	if (rig->gw.iface[iface].vlans)
		vlan_input(&rig->gw, iface, &p, 1);
	else
		gw_input(&rig->gw, iface, &p, 1);
	rig_flush(rig);
	return true;
}

/* Runs ticks at one moment, until there is nothing to do. */
static void tick(struct rig *rig)
{
	log_time(rig->gw.clock.us);
	rig->n_turns++;
	for (uint32_t i = 0; gw_tick(&rig->gw); i++) {
		rig_flush(rig);
		if (i == RIG_TICKS_MAX)
			panic("rig: gw_tick never ends");
	}
	rig_flush(rig);
	rig->moved = false;
	if (rig->gw.wake_us > rig->gw.clock.us + 100000) /* MAIN relies on ten ticks a second */
		panic("rig: the next tick is due in %llu us",
		      (unsigned long long)(rig->gw.wake_us - rig->gw.clock.us));
}

/* When the machine would call gw_tick. */
static uint64_t due(const struct rig *rig)
{
	if (!rig->rests)
		return rig->gw.wake_us;
	return rig->moved ? rig->gw.clock.us : rig->gw.rest_us;
}

void rig_advance(struct rig *rig, uint64_t us)
{
	struct gw *gw = &rig->gw;
	uint64_t end = gw->clock.us + us;
	/* Nothing happens before a part of the gateway needs a tick. */
	while (due(rig) < end) {
		if (gw->clock.us < due(rig))
			gw->clock.us = due(rig);
		tick(rig);
	}
	gw->clock.us = end;
	if (!rig->rests || due(rig) == end)
		tick(rig);
}

void rig_busy(struct rig *rig, uint32_t ms)
{
	for (; ms > 0; ms--) {
		rig->gw.clock.us += 1000;
		log_time(rig->gw.clock.us);
		(void)gw_tick(&rig->gw);
		rig_flush(rig);
	}
}

void rig_leap(struct rig *rig, uint64_t us, uint32_t n)
{
	for (; n > 0; n--) {
		uint64_t step = us / n;
		us -= step;
		rig->gw.clock.us += step;
		tick(rig);
	}
}

void rig_link(struct rig *rig, uint32_t iface, bool up)
{
	struct gw *gw = &rig->gw;
	for (uint32_t i = 0; i < INTERFACES; i++) {
		struct interface *p = &gw->iface[i];
		if (p->card != gw->iface[iface].card || p->carrier == up)
			continue;
		p->carrier = up;
		if (up)
			gw_carrier_up(gw, i);
		else
			neigh_flush(gw, i);
	}
	rig->moved = true;
	rig_flush(rig);
}
