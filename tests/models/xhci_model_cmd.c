/* Commands of the controller's model (4.6), with the checks of input contexts (6.2). */
#include "tests/models/xhci_model.h"
#include "tests/models/xhci_model_regs.h"

#include "kernel/seam/io.h"

enum { ENABLE = 9, DISABLE, ADDRESS, CONFIGURE, EVALUATE, RESET_EP, STOP_EP, DEQUEUE };
enum { DISABLED, ENABLED, DEFAULT, ADDRESSED, CONFIGURED };
enum { EP_OFF, EP_RUNS, EP_HALTS, EP_STOPS, EP_ERRS };

static uint32_t words(const struct xhci_model *m)
{
	return m->wide ? 16 : 8;
}

/* --- rings --------------------------------------------------------------------------------- */

bool xhci_model_fetch(struct xhci_model *m, uint64_t *at, bool *cycle, struct trb *out)
{
	for (unsigned links = 0; links < 2; links++) {
		uint32_t *t = pci_model_dma(&m->pci, *at, 16);
		if (!t || (t[3] & 1) != *cycle)
			return false;
		*out = (struct trb){.at = *at,
		                    .ptr = (uint64_t)t[1] << 32 | t[0],
		                    .status = t[2],
		                    .control = t[3]};
		if (trb_type(out) != 6) {
			*at += 16;
			return true;
		}
		if (out->ptr & 15 || out->status || out->control & 0xffff0010u)
			pci_model_fault("link TRB %llx %x %x", (unsigned long long)out->ptr,
			                out->status, out->control);
		if (out->control & 2)
			*cycle = !*cycle;
		*at = out->ptr & ~15ull;
	}
	pci_model_fault("a link leads to a link");
	return false;
}

/* --- contexts -------------------------------------------------------------------------------- */

uint32_t *xhci_model_context(struct xhci_model *m, unsigned slot, unsigned dci)
{
	uint32_t *dcbaa = pci_model_dma(&m->pci, m->dcbaap, 8ull * (m->config + 1));
	if (!dcbaa)
		return NULL;
	uint64_t at = (uint64_t)dcbaa[2 * slot + 1] << 32 | dcbaa[2 * slot];
	size_t size = 32 * 4 * words(m);
	if (at == 0 || at & 63 || at >> 12 != (at + size - 1) >> 12) {
		pci_model_fault("device context of slot %u at 0x%llx", slot,
		                (unsigned long long)at);
		return NULL;
	}
	uint32_t *ctx = pci_model_dma(&m->pci, at, size);
	return ctx ? ctx + dci * words(m) : NULL;
}

void xhci_model_ep_state(struct xhci_model *m, unsigned slot, unsigned dci, uint8_t state)
{
	struct xhci_model_ep *ep = &m->slot[slot].ep[dci];
	uint32_t *ctx = xhci_model_context(m, slot, dci);
	ep->state = state;
	if (state != EP_RUNS)
		ep->armed = false;
	if (!ctx || m->slow_state)
		return;
	ctx[0] = (ctx[0] & ~7u) | state;
	ctx[2] = (uint32_t)ep->dequeue | ep->cycle;
	ctx[3] = (uint32_t)(ep->dequeue >> 32);
}

static void slot_state(struct xhci_model *m, unsigned slot, uint8_t state)
{
	static const uint32_t code[] = {0, 0, 1, 2, 3};
	struct xhci_model_slot *s = &m->slot[slot];
	uint32_t *ctx = xhci_model_context(m, slot, 0);
	s->state = state;
	if (ctx)
		ctx[3] = code[state] << 27 | (s->usb && state >= ADDRESSED ? s->usb->address : 0);
}

/* The input context of a command. NULL with a fault when it is not there. */
static const uint32_t *input(struct xhci_model *m, const struct trb *t)
{
	size_t size = 33 * 4 * words(m);
	if (t->ptr & 15 || t->ptr >> 12 != (t->ptr + size - 1) >> 12) {
		pci_model_fault("input context at 0x%llx", (unsigned long long)t->ptr);
		return NULL;
	}
	return pci_model_dma(&m->pci, t->ptr, size);
}

static void check_control(struct xhci_model *m, const uint32_t *in, uint32_t drop, uint32_t add)
{
	if (in[0] != drop || in[1] != add)
		pci_model_fault("input control context: drop 0x%x, add 0x%x", in[0], in[1]);
	for (unsigned i = 2; i < words(m); i++)
		if (in[i])
			pci_model_fault("input control context: word %u is 0x%x", i, in[i]);
}

/* Checks what a slot context says about the device (6.2.2). */
static void check_slot(struct xhci_model *m, const uint32_t *s, const struct xhci_model_usb *u,
                       unsigned entries)
{
	static const uint32_t usual[] = {2, 1, 3, 4}, other[] = {6, 5, 7, 9};
	uint32_t speed = (m->psi ? other : usual)[u->speed], tt = 0;
	if ((s[0] & 0xfffff) != u->route || (s[0] >> 20 & 15) != speed || s[0] >> 27 != entries ||
	    (s[1] >> 16 & 0xff) != u->port)
		pci_model_fault("slot context: 0x%x 0x%x for route 0x%x, %u entries", s[0], s[1],
		                u->route, entries);
	if (u->tt) {
		unsigned hub = xhci_model_slot_of(m, u->tt);
		tt = hub | (uint32_t)u->tt_port << 8;
		if (!hub || !m->slot[hub].hub)
			pci_model_fault("the hub with the translator is not known as one");
		if (!!(s[0] & 1u << 25) != m->slot[hub].multi_tt)
			pci_model_fault("slot context: MTT");
	}
	if ((s[2] & 0xffff) != tt)
		pci_model_fault("slot context: translator 0x%x, not 0x%x", s[2] & 0xffff, tt);
	if (s[0] & 1u << 24 || s[1] & 0xffff || s[2] >> 22 || s[3] ||
	    (!(s[0] & 1u << 26) && (s[1] >> 24 || s[2] >> 16 & 3)))
		pci_model_fault("slot context: reserved bits");
	for (unsigned i = 4; i < words(m); i++)
		if (s[i])
			pci_model_fault("slot context: word %u", i);
}

/* What is plugged into a hub is reached when the controller knows the hub, and its port is
 * enabled. */
static bool reached(struct xhci_model *m, const struct xhci_model_usb *u)
{
	unsigned depth = 0;
	if (u->route == 0)
		return true;
	while (u->route >> 4 * (depth + 1))
		depth++;
	const struct xhci_model_usb *hub =
	        xhci_model_find(m, u->port, u->route & ((1u << 4 * depth) - 1));
	unsigned port = u->route >> 4 * depth, slot = hub ? xhci_model_slot_of(m, hub) : 0;
	if (!slot || !m->slot[slot].hub || port > m->slot[slot].hub_ports) {
		pci_model_fault("route 0x%x leads through no hub", u->route);
		return false;
	}
	return !hub->fake ||
	       (hub->fake->port[port - 1].enabled && hub->fake->port[port - 1].device == u->fake);
}

/* Checks an endpoint context (6.2.3) and takes it. */
static void take_ep(struct xhci_model *m, unsigned slot, unsigned dci, const uint32_t *e)
{
	static const uint16_t least[] = {8, 8, 64, 512};
	struct xhci_model_slot *s = &m->slot[slot];
	enum xhci_model_speed speed = s->usb->speed;
	unsigned type = e[1] >> 3 & 7, packet = e[1] >> 16, burst = e[1] >> 8 & 0xff,
	         interval = e[0] >> 16 & 0xff;
	bool periodic = type == 3 || type == 7;
	if (dci == 1 ? type != 4 : dci % 2 ? type != 6 && type != 7 : type != 2 && type != 3)
		pci_model_fault("endpoint %u has type %u", dci, type);
	if ((e[1] & 7) != 6 || e[0] & 0xff00ffffu || e[1] & 0x80 || packet == 0 || packet > 1024)
		pci_model_fault("endpoint context: 0x%x 0x%x", e[0], e[1]);
	if (dci == 1 &&
	    (packet < least[speed] || interval || burst || (e[4] & 0xffff) != 8 || e[4] >> 16))
		pci_model_fault("endpoint 0: packets of %u, 0x%x", packet, e[4]);
	if (periodic && (speed <= XHCI_FULL ? interval < 3 || interval > 10 : interval > 15))
		pci_model_fault("interval %u", interval);
	if (!periodic && interval)
		pci_model_fault("interval %u of no interrupt endpoint", interval);
	if (periodic && e[4] >> 16 != packet * (burst + 1))
		pci_model_fault("payload %u of packets of %u", e[4] >> 16, packet);
	if ((e[4] & 0xffff) == 0 || (burst && speed < XHCI_HIGH) || burst > 15)
		pci_model_fault("endpoint %u: average 0, or a burst of %u", dci, burst);
	for (unsigned i = 5; i < words(m); i++)
		if (e[i])
			pci_model_fault("endpoint context: word %u", i);
	uint64_t at = (uint64_t)e[3] << 32 | (e[2] & ~15u);
	if (e[2] & 0xe || !pci_model_dma(&m->pci, at, 16))
		pci_model_fault("dequeue pointer 0x%llx", (unsigned long long)at);
	s->ep[dci] = (struct xhci_model_ep){.type = (uint8_t)type,
	                                    .packet = (uint16_t)packet,
	                                    .burst = (uint8_t)burst,
	                                    .interval = (uint8_t)interval,
	                                    .dequeue = at,
	                                    .cycle = e[2] & 1};
	uint32_t *ctx = xhci_model_context(m, slot, dci);
	if (ctx)
		memcpy(ctx, e, 32);
	xhci_model_ep_state(m, slot, dci, EP_RUNS);
}

/* --- commands
 * --------------------------------------------------------------------------------------- */

static uint8_t enable(struct xhci_model *m, const struct trb *t, unsigned *slot)
{
	unsigned type = t->control >> 16 & 31;
	if (type != 0 && type != 3)
		pci_model_fault("slot type %u", type);
	/* From the last one down, so that slots and indices differ. */
	for (unsigned i = m->config; i > 0; i--)
		if (m->slot[i].state == DISABLED) {
			m->slot[i] = (struct xhci_model_slot){.state = ENABLED};
			*slot = i;
			return SUCCESS;
		}
	return NO_SLOTS;
}

static uint8_t disable(struct xhci_model *m, unsigned slot)
{
	for (unsigned dci = 1; dci < 32; dci++)
		if (xhci_model_waits(m, slot, dci))
			pci_model_fault("slot %u is disabled with a TD on endpoint %u", slot, dci);
	m->slot[slot] = (struct xhci_model_slot){0};
	return SUCCESS;
}

static uint8_t address(struct xhci_model *m, const struct trb *t, unsigned slot)
{
	struct xhci_model_slot *s = &m->slot[slot];
	const uint32_t *in = input(m, t), w = words(m);
	bool bsr = t->control & 1u << 9;
	if (!in || s->state >= ADDRESSED || (s->state == DEFAULT && bsr))
		return STATE;
	check_control(m, in, 0, 3);
	unsigned port = in[w + 1] >> 16 & 0xff;
	uint32_t route = in[w] & 0xfffff;
	if (port == 0 || port > XHCI_MODEL_PORTS)
		return PARAMETER;
	if (!(m->port[port].portsc & 1))
		pci_model_fault("Address Device for port %u without a device", port);
	if (m->port[port].portsc & 1 && !(m->port[port].portsc & 2))
		pci_model_fault("Address Device for port %u, which is not enabled", port);
	s->usb = xhci_model_find(m, port, route);
	if (!s->usb)
		return TRANSACTION;
	if (!reached(m, s->usb))
		return TRANSACTION;
	check_slot(m, in + w, s->usb, 1);
	if (s->state == DEFAULT && (s->ep[1].state != EP_RUNS || xhci_model_waits(m, slot, 1)))
		pci_model_fault("Address Device while endpoint 0 is in use");
	uint32_t *ctx = xhci_model_context(m, slot, 0);
	if (!ctx)
		return PARAMETER;
	memcpy(ctx, in + w, 32);
	take_ep(m, slot, 1, in + 2 * w);
	if (bsr) {
		slot_state(m, slot, DEFAULT);
		return SUCCESS;
	}
	if (s->ep[1].packet != s->usb->packet0)
		pci_model_fault("endpoint 0 has packets of %u, not %u", s->usb->packet0,
		                s->ep[1].packet);
	if (s->usb->silent || s->usb->deaf_to_address || s->usb->refuses_address)
		return s->usb->refuses_address ? STALL : TRANSACTION;
	s->usb->address = (uint8_t)(100 + slot);
	if (s->usb->fake)
		s->usb->fake->address = s->usb->address;
	slot_state(m, slot, ADDRESSED);
	return SUCCESS;
}

/* Takes what a Configure Endpoint says of a hub. */
static void hub(struct xhci_model *m, unsigned slot, const uint32_t *s)
{
	struct xhci_model_slot *k = &m->slot[slot];
	k->hub = s[0] & 1u << 26;
	k->multi_tt = s[0] & 1u << 25;
	k->hub_ports = (uint8_t)(s[1] >> 24);
	k->think = s[2] >> 16 & 3;
}

static uint8_t configure(struct xhci_model *m, const struct trb *t, unsigned slot)
{
	struct xhci_model_slot *s = &m->slot[slot];
	const uint32_t *in = input(m, t), w = words(m);
	unsigned entries = 1;
	if (!in || s->state < ADDRESSED)
		return STATE;
	if (!(in[1] & 1) || in[1] & 2 || in[0] & 3)
		pci_model_fault("Configure Endpoint: drop 0x%x, add 0x%x", in[0], in[1]);
	check_control(m, in, in[0], in[1]);
	for (unsigned dci = 2; dci < 32; dci++) {
		bool add = in[1] >> dci & 1, drop = in[0] >> dci & 1, is = s->ep[dci].state;
		if (drop && (!is || s->ep[dci].state == EP_RUNS))
			pci_model_fault("endpoint %u is dropped in state %u", dci,
			                s->ep[dci].state);
		if (add && is && !drop)
			pci_model_fault("endpoint %u is added twice", dci);
		if (drop)
			s->ep[dci].state = EP_OFF;
		if (add)
			take_ep(m, slot, dci, in + (dci + 1) * w);
		if (s->ep[dci].state != EP_OFF)
			entries = dci;
	}
	check_slot(m, in + w, s->usb, entries);
	hub(m, slot, in + w);
	slot_state(m, slot, CONFIGURED);
	return SUCCESS;
}

static uint8_t evaluate(struct xhci_model *m, const struct trb *t, unsigned slot)
{
	struct xhci_model_slot *s = &m->slot[slot];
	const uint32_t *in = input(m, t), w = words(m);
	if (!in || s->state < DEFAULT)
		return STATE;
	check_control(m, in, 0, 2);
	s->ep[1].packet = (uint16_t)(in[2 * w + 1] >> 16);
	uint32_t *ctx = xhci_model_context(m, slot, 1);
	if (ctx)
		ctx[1] = (ctx[1] & 0xffff) | (in[2 * w + 1] & 0xffff0000u);
	return SUCCESS;
}

static uint8_t reset_ep(struct xhci_model *m, unsigned slot, unsigned dci)
{
	struct xhci_model_ep *ep = &m->slot[slot].ep[dci];
	if (ep->state != EP_HALTS)
		return STATE;
	ep->toggle = false;
	xhci_model_ep_state(m, slot, dci, EP_STOPS);
	return SUCCESS;
}

static uint8_t stop_ep(struct xhci_model *m, unsigned slot, unsigned dci)
{
	if (m->slot[slot].ep[dci].state != EP_RUNS || m->refuses_stop)
		return STATE;
	xhci_model_stopped(m, slot, dci);
	xhci_model_ep_state(m, slot, dci, EP_STOPS);
	return SUCCESS;
}

static uint8_t dequeue(struct xhci_model *m, const struct trb *t, unsigned slot, unsigned dci)
{
	struct xhci_model_ep *ep = &m->slot[slot].ep[dci];
	if (ep->state != EP_STOPS && ep->state != EP_ERRS) {
		pci_model_fault("Set TR Dequeue Pointer in state %u", ep->state);
		return STATE;
	}
	if (t->ptr & 0xe || !pci_model_dma(&m->pci, t->ptr & ~15ull, 16))
		pci_model_fault("dequeue pointer 0x%llx", (unsigned long long)t->ptr);
	ep->dequeue = t->ptr & ~15ull;
	ep->cycle = t->ptr & 1;
	ep->moved = 0;
	xhci_model_ep_state(m, slot, dci, EP_STOPS);
	return SUCCESS;
}

/* Carries a command out; gives its completion code. */
static uint8_t carry_out(struct xhci_model *m, const struct trb *t, unsigned *slot)
{
	unsigned type = trb_type(t), dci = t->control >> 16 & 31;
	if (m->code[type & 63]) {
		uint8_t code = m->code[type & 63];
		m->code[type & 63] = 0;
		return code;
	}
	if (type == ENABLE)
		return enable(m, t, slot);
	if (*slot == 0 || *slot > m->config || m->slot[*slot].state == DISABLED) {
		pci_model_fault("command %u for slot %u", type, *slot);
		return NOT_ENABLED;
	}
	bool endpoint = type == RESET_EP || type == STOP_EP || type == DEQUEUE;
	if (endpoint && m->slot[*slot].ep[dci].state == EP_OFF) {
		pci_model_fault("command %u for endpoint %u", type, dci);
		return EP_NOT_ENABLED;
	}
	switch (type) {
	case DISABLE:
		return disable(m, *slot);
	case ADDRESS:
		return address(m, t, *slot);
	case CONFIGURE:
		return configure(m, t, *slot);
	case EVALUATE:
		return evaluate(m, t, *slot);
	case RESET_EP:
		return reset_ep(m, *slot, dci);
	case STOP_EP:
		return stop_ep(m, *slot, dci);
	case DEQUEUE:
		return dequeue(m, t, *slot, dci);
	default:
		pci_model_fault("command %u", type);
		return TRB_ERROR;
	}
}

static void one(struct xhci_model *m, const struct trb *t)
{
	unsigned slot = t->control >> 24, type = trb_type(t);
	bool pointer = type == ADDRESS || type == CONFIGURE || type == EVALUATE || type == DEQUEUE;
	if ((!pointer && t->ptr) || t->status || t->control & 0x00e001feu)
		pci_model_fault("command %u: %llx %x %x", type, (unsigned long long)t->ptr,
		                t->status, t->control);
	uint8_t code = carry_out(m, t, &slot);
	m->n_commands++;
	m->commands[type]++;
	m->last_code = code;
	if (type == ENABLE && m->lie_slot) {
		slot = m->lie_slot;
		m->lie_slot = 0;
	}
	xhci_model_event(m, t->at, (uint32_t)code << 24, 33u << 10 | slot << 24);
}

void xhci_model_commands(struct xhci_model *m)
{
	struct trb t;
	for (unsigned n = 0; m->crr && !m->commands_stuck && n < 64; n++) {
		if (!xhci_model_fetch(m, &m->cmd_at, &m->cmd_cycle, &t))
			break;
		one(m, &t);
	}
	if (!m->aborting || m->abort_stuck || host_now_us < m->abort_at)
		return;
	m->aborting = false;
	if (m->commands_stuck && xhci_model_fetch(m, &m->cmd_at, &m->cmd_cycle, &t))
		xhci_model_event(m, t.at, (uint32_t)ABORTED << 24,
		                 33u << 10 | t.control >> 24 << 24);
	m->crr = false;
	xhci_model_event(m, m->cmd_at, (uint32_t)RING_STOPPED << 24, 33u << 10);
}
