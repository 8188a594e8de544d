/* Lists and queues of the OHCI driver (see ohci.h). Section numbers: OHCI 1.0a.
 *
 * A queue ends at a descriptor that is not in use (4.6). A round fills in that one and those
 * behind it and then moves the end. The controller gives descriptors back by the done list alone;
 * the driver reads their contents only then. It changes an endpoint descriptor, but for its end,
 * only while the endpoint is halted or has been skipped for a frame. */
#include "drivers/usb/ohci/ohci.h"

#include "kernel/lib/alloc.h"

/* Steps of two frames each after an endpoint was skipped. In the first the controller leaves the
 * endpoint, and the driver takes a done list that waits; in the second a list comes with what was
 * done last. */
#define SETTLE_STEPS  2u
#define SETTLE_FRAMES 2u

static uint32_t bus(const volatile void *p)
{
	return (uint32_t)dma_addr((const void *)p);
}

static struct ohci_queue *queue_of(struct pipe *p)
{
	return (struct ohci_queue *)(void *)((uint8_t *)p - offsetof(struct ohci_queue, pipe));
}

/* --- endpoint descriptors (4.2) ------------------------------------------------------------ */

static void skip(struct ohci *o, struct ohci_queue *q)
{
	q->ed->control |= OHCI_ED_SKIP;
	q->settling = SETTLE_STEPS;
	q->frame = o->hcca->frame;
}

static bool settled(struct ohci *o, struct ohci_queue *q)
{
	uint16_t frame = o->hcca->frame;
	if (q->settling && (uint16_t)(frame - q->frame) >= SETTLE_FRAMES) {
		q->settling--;
		q->frame = frame;
	}
	return q->settling == 0;
}

/* Gives the endpoint descriptor the values that the next round needs. False: it must be skipped
 * first. */
static bool adjust(struct ohci *o, struct ohci_queue *q)
{
	const struct usb_endpoint *e = q->pipe.endpoint;
	uint32_t control = pipe_max_packet(&q->pipe) << 16 |
	                   (e->device->speed == USB_LOW ? OHCI_ED_LOW : 0) |
	                   (e->address & 15u) << 7 | (e->device->address & 0x7fu);
	uint32_t head = bus(&q->td[q->end]) | (e->toggle ? OHCI_ED_CARRY : 0);
	if (e->kind != USB_CONTROL)
		control |= e->address & 0x80 ? OHCI_ED_IN : OHCI_ED_OUT;
	if (q->ed->control == control && q->ed->head == head)
		return true;
	if (!(q->ed->control & OHCI_ED_SKIP) &&
	    !(q->ed->head & OHCI_ED_HALTED && q->ed->control == control)) {
		skip(o, q);
		return false;
	}
	q->ed->head = head;
	io_wmb();
	q->ed->control = control;
	return true;
}

/* --- rounds (4.3) -------------------------------------------------------------------------- */

static void write_td(struct ohci_queue *q, uint32_t control, const void *at, uint32_t len)
{
	struct ohci_td *td = &q->td[q->end];
	q->round[q->n++] = (uint8_t)q->end;
	q->owned |= (uint8_t)(1u << q->end);
	q->end = (q->end + 1) % OHCI_TDS;
	td->control = OHCI_TD_NEW | OHCI_TD_ROUND | control;
	td->buffer = len ? bus(at) : 0;
	td->end = len ? bus(at) + len - 1 : 0;
	td->next = bus(&q->td[q->end]);
}

static bool start(struct pipe_set *s, struct pipe *p)
{
	struct ohci *o = ohci_of(&s->c);
	struct ohci_queue *q = queue_of(p);
	if (!settled(o, q) || !adjust(o, q))
		return false;
	uint32_t data1 = OHCI_TD_OWN_TOGGLE | OHCI_TD_TOGGLE;
	uint32_t to = p->in ? OHCI_TD_IN : OHCI_TD_OUT, from = p->in ? OHCI_TD_OUT : OHCI_TD_IN;
	q->n = 0;
	if (p->stage == PIPE_STATUS)
		write_td(q, from | data1, NULL, 0);
	if (p->stage == PIPE_SETUP)
		write_td(q, OHCI_TD_SETUP | OHCI_TD_OWN_TOGGLE, p->setup, 8);
	if (p->stage == PIPE_DATA)
		write_td(q, to, p->data, p->round);
	else if (p->round)
		write_td(q, to | data1, p->data, p->round);
	io_wmb();
	q->ed->tail = bus(&q->td[q->end]);
	io_wmb();
	if (p->kinds & 1 << USB_CONTROL)
		ohci_write(o, OHCI_COMMAND, OHCI_COMMAND_CLF);
	if (p->kinds & 1 << USB_BULK)
		ohci_write(o, OHCI_COMMAND, OHCI_COMMAND_BLF);
	return true;
}

/* Gives the bytes that a descriptor with the pipe's data has moved, or more than it has when the
 * controller says nonsense. */
static uint32_t moved_by(const struct ohci_queue *q, const struct ohci_td *td, bool done)
{
	uint32_t at = td->buffer;
	if (at == 0)
		return done ? q->pipe.round : 0;
	return at - bus(q->pipe.data);
}

static enum pipe_result look(struct pipe_set *s, struct pipe *p, uint32_t *moved)
{
	(void)s;
	struct ohci_queue *q = queue_of(p);
	enum pipe_result r = PIPE_DONE;
	for (uint32_t i = 0; i < q->n && r == PIPE_DONE; i++) {
		const struct ohci_td *td = &q->td[q->round[i]];
		bool done = !(q->owned & 1u << q->round[i]);
		uint32_t code = td->control >> OHCI_TD_CC;
		bool is_data = p->stage == PIPE_DATA || (p->stage == PIPE_SETUP && i == 1);
		if (!done && p->state == PIPE_RUN)
			return PIPE_BUSY;
		if (is_data)
			*moved = moved_by(q, td, done);
		if (!done)
			r = PIPE_BUSY;
		else if (code)
			r = code == OHCI_CC_STALL ? PIPE_STALLED : PIPE_FAILED;
	}
	/* The controller halted at an error, and does not touch what comes behind it. */
	q->owned = 0;
	p->endpoint->toggle = q->ed->head & OHCI_ED_CARRY;
	return r;
}

static void halt(struct pipe_set *s, struct pipe *p)
{
	skip(ohci_of(&s->c), queue_of(p));
}

/* Empties a queue that was skipped. The toggle is that of the first descriptor that is left, when
 * a part of it has been moved (4.3.1.3.4). */
static bool drained(struct pipe_set *s, struct pipe *p)
{
	struct ohci_queue *q = queue_of(p);
	if (!settled(ohci_of(&s->c), q))
		return false;
	uint32_t carry = q->ed->head & OHCI_ED_CARRY;
	for (uint32_t i = 0; i < q->n; i++) {
		uint32_t control = q->td[q->round[i]].control;
		if (!(q->owned & 1u << q->round[i]))
			continue;
		if (control & OHCI_TD_OWN_TOGGLE && !(p->kinds & 1 << USB_CONTROL))
			carry = control & OHCI_TD_TOGGLE ? OHCI_ED_CARRY : 0;
		break;
	}
	q->ed->head = bus(&q->td[q->end]) | carry;
	if (!p->transfer)
		q->owned = 0;
	return true;
}

/* --- done list (4.5) ----------------------------------------------------------------------- */

bool ohci_queue_done(struct ohci *o)
{
	uint32_t at = o->hcca->done & ~15u;
	/* The controller writes the next list only when this one was acknowledged. */
	o->hcca->done = 0;
	io_wmb();
	ohci_write(o, OHCI_STATUS, OHCI_STATUS_WDH);
	/* Each descriptor is taken once, so a list that loops ends. */
	while (at) {
		uint32_t i = (at - bus(o->td)) / sizeof *o->td;
		if (i >= OHCI_QUEUES * OHCI_TDS)
			return false;
		struct ohci_queue *q = &o->queue[i / OHCI_TDS];
		uint8_t bit = (uint8_t)(1u << i % OHCI_TDS);
		if (!(q->owned & bit))
			return false;
		q->owned &= (uint8_t)~bit;
		at = o->td[i].next & ~15u;
	}
	return true;
}

/* --- start --------------------------------------------------------------------------------- */

static void init_queue(struct ohci *o, uint32_t i, uint32_t kind)
{
	struct ohci_queue *q = &o->queue[i];
	q->pipe.kinds = (uint8_t)(1u << kind);
	q->pipe.room = kind == USB_INTERRUPT ? OHCI_ROOM_SMALL : OHCI_ROOM;
	q->pipe.packets = OHCI_ROOM;
	q->td = o->td + i * OHCI_TDS;
	q->ed->control = OHCI_ED_SKIP;
	q->ed->head = q->ed->tail = bus(q->td);
	o->pipe[i] = &q->pipe;
}

bool ohci_queue_init(struct ohci *o)
{
	static const struct pipe_ops pipe_ops = {
	        .start = start,
	        .look = look,
	        .halt = halt,
	        .drained = drained,
	};
	struct ohci_ed *ed = alloc(OHCI_QUEUES * sizeof *ed, 16);
	o->td = alloc(OHCI_QUEUES * OHCI_TDS * sizeof *o->td, 16);
	o->hcca = alloc(sizeof *o->hcca, 256);
	uint8_t *setup = alloc(OHCI_QUEUES * 8, 8);
	uint8_t *data = alloc(OHCI_BUFFERS, OHCI_ROOM);
	if (!ed || !o->td || !o->hcca || !setup || !data)
		return false;
	uint32_t bulk = OHCI_CONTROLS, interrupt = OHCI_CONTROLS + OHCI_BULKS;
	for (uint32_t i = 0; i < OHCI_QUEUES; i++) {
		bool periodic = i >= interrupt;
		uint32_t next = i + (periodic ? OHCI_PHASES : 1);
		bool last = next == bulk || next == interrupt || next >= OHCI_QUEUES;
		o->queue[i].ed = ed + i;
		init_queue(o, i, periodic ? USB_INTERRUPT : i >= bulk ? USB_BULK : USB_CONTROL);
		o->queue[i].pipe.setup = setup + 8 * i;
		o->queue[i].pipe.data = data;
		data += o->queue[i].pipe.room;
		ed[i].next = last ? 0 : bus(ed + next);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(o->hcca->table); i++)
		o->hcca->table[i] = bus(ed + interrupt + i % OHCI_PHASES);
	o->pipes.ops = &pipe_ops;
	o->pipes.pipe = o->pipe;
	o->pipes.n = OHCI_QUEUES;
	return true;
}

void ohci_queue_show(const struct ohci *o)
{
	ohci_write(o, OHCI_HCCA, bus(o->hcca));
	ohci_write(o, OHCI_CONTROL_HEAD, bus(o->queue[0].ed));
	ohci_write(o, OHCI_CONTROL_CURRENT, 0);
	ohci_write(o, OHCI_BULK_HEAD, bus(o->queue[OHCI_CONTROLS].ed));
	ohci_write(o, OHCI_BULK_CURRENT, 0);
}
