/* Schedule and queues of the UHCI driver (see uhci.h). Section numbers: UHCI Design Guide 1.1.
 *
 * The controller writes a descriptor's status first and the queue's element link after it. A round
 * that went through is therefore over only when the element link ends. A queue that stopped at a
 * short packet or an error is only read, not written; its descriptors are written again in a later
 * frame. A queue that is cancelled is unlinked, and left alone until the next frame. */
#include "drivers/usb/uhci/uhci.h"

#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"

#define STUCK_US 100000u /* the frame number did not change for so long */

static uint32_t bus(const void *p)
{
	return (uint32_t)dma_addr(p);
}

static struct uhci_queue *queue_of(struct pipe *p)
{
	return (struct uhci_queue *)(void *)((uint8_t *)p - offsetof(struct uhci_queue, pipe));
}

/* --- schedule (3.4) ------------------------------------------------------------------ */

/* Links the queues of a list in order. Written from the end, so that the controller finds a whole
 * list at any moment. The link of a queue that is taken out stays, for the controller may be
 * there. */
static void relink(struct uhci *u, uint8_t list)
{
	struct uhci_qh *end = u->head + UHCI_PHASES + (list == UHCI_PHASES ? 1 : 0);
	uint32_t next = bus(end) | UHCI_QUEUE;
	for (uint32_t i = UHCI_QUEUES; i-- > 0;) {
		struct uhci_queue *q = &u->queue[i];
		if (q->list != list || !q->linked)
			continue;
		q->qh->link = next;
		next = bus(q->qh) | UHCI_QUEUE;
		io_wmb();
	}
	u->head[list].link = next;
}

static void settle(struct uhci *u, struct uhci_queue *q)
{
	q->settling = true;
	q->frame = uhci_frame(u);
	q->since_us = io_now_us();
}

/* True when the controller has left the frame in which the queue was stopped. */
static bool settled(struct uhci *u, struct uhci_queue *q)
{
	if (!q->settling)
		return true;
	if (uhci_frame(u) != q->frame) {
		q->settling = false;
		return true;
	}
	if (!u->pipes.c.failed && io_now_us() - q->since_us > STUCK_US)
		usb_controller_failed(&u->pipes.c, "its frames stand still");
	return false;
}

/* --- rounds (3.2) -------------------------------------------------------------------- */

static void write_td(struct uhci_queue *q, uint8_t pid, bool toggle, const void *at, uint32_t len)
{
	const struct usb_endpoint *e = q->pipe.endpoint;
	struct uhci_td *td = &q->td[q->n++];
	td->link = UHCI_END;
	td->token = ((len - 1) & 0x7ffu) << 21 | (toggle ? UHCI_TOKEN_TOGGLE : 0) |
	            (e->address & 15u) << 15 | (e->device->address & 0x7fu) << 8 | pid;
	td->buffer = len ? bus(at) : 0;
	td->status =
	        UHCI_TD_ACTIVE | UHCI_TD_ERRORS | (e->device->speed == USB_LOW ? UHCI_TD_LOW : 0);
}

static void write_data(struct uhci_queue *q)
{
	struct pipe *p = &q->pipe;
	uint32_t packet = pipe_max_packet(p), off = 0;
	bool toggle = p->endpoint->toggle;
	uint8_t pid = p->in ? UHCI_PID_IN : UHCI_PID_OUT;
	if (p->round == 0 && p->stage == PIPE_DATA)
		write_td(q, pid, toggle, p->data, 0);
	for (; off < p->round; off += packet, toggle = !toggle)
		write_td(q, pid, toggle, p->data + off, min_u32(packet, p->round - off));
}

static bool start(struct pipe_set *s, struct pipe *p)
{
	struct uhci *u = uhci_of(&s->c);
	struct uhci_queue *q = queue_of(p);
	if (!settled(u, q))
		return false;
	q->n = 0;
	if (p->stage == PIPE_SETUP) {
		write_td(q, UHCI_PID_SETUP, false, p->setup, 8);
		p->endpoint->toggle = true;
	}
	if (p->stage == PIPE_STATUS)
		write_td(q, p->in ? UHCI_PID_OUT : UHCI_PID_IN, true, NULL, 0);
	else
		write_data(q);
	for (uint32_t i = 0; i + 1 < q->n; i++) {
		q->td[i].link = bus(&q->td[i + 1]) | UHCI_DEPTH;
		/* The last one needs no stop. */
		if ((q->td[i].token & 0xff) == UHCI_PID_IN)
			q->td[i].status |= UHCI_TD_SHORT;
	}
	io_wmb();
	q->qh->element = bus(q->td);
	if (!q->linked) {
		q->linked = true;
		relink(u, q->list);
	}
	return true;
}

/* Adds up the descriptors that are done, from the first. Gives PIPE_BUSY while one is active, and
 * sets *stopped when the queue stopped at an error or at a short packet. */
static enum pipe_result add_up(struct uhci_queue *q, uint32_t *moved, bool *toggle, bool *stopped)
{
	for (uint32_t i = 0; i < q->n; i++) {
		uint32_t status = q->td[i].status, token = q->td[i].token;
		if (status & UHCI_TD_ACTIVE)
			return PIPE_BUSY;
		*stopped = true;
		/* The error counter reaches 0 at the third error; without one a halt is a STALL. */
		if ((status & UHCI_TD_ERRORS) == 0 || status & UHCI_TD_BABBLE)
			return PIPE_FAILED;
		if (status & UHCI_TD_STALLED)
			return PIPE_STALLED;
		*toggle = !(token & UHCI_TOKEN_TOGGLE);
		if ((token & 0xff) == UHCI_PID_SETUP) {
			*stopped = false;
			continue;
		}
		uint32_t got = (status + 1) & UHCI_TD_LENGTH;
		uint32_t asked = ((token >> 21) + 1) & UHCI_TD_LENGTH;
		*moved += got;
		if (got > asked)
			return PIPE_FAILED;
		if (got < asked) {
			*stopped = i + 1 < q->n;
			return PIPE_DONE;
		}
		*stopped = false;
	}
	return PIPE_DONE;
}

static enum pipe_result look(struct pipe_set *s, struct pipe *p, uint32_t *moved)
{
	struct uhci *u = uhci_of(&s->c);
	struct uhci_queue *q = queue_of(p);
	bool stopped = false, toggle = p->endpoint->toggle;
	io_rmb();
	enum pipe_result r = add_up(q, moved, &toggle, &stopped);
	if (p->state == PIPE_RUN) {
		if (r == PIPE_BUSY || (!stopped && !(q->qh->element & UHCI_END)))
			return PIPE_BUSY;
		if (stopped) {
			q->qh->element = UHCI_END;
			settle(u, q);
		}
	}
	p->endpoint->toggle = toggle;
	return r;
}

static void halt(struct pipe_set *s, struct pipe *p)
{
	struct uhci *u = uhci_of(&s->c);
	struct uhci_queue *q = queue_of(p);
	q->linked = false;
	relink(u, q->list);
	settle(u, q);
}

static bool drained(struct pipe_set *s, struct pipe *p)
{
	struct uhci_queue *q = queue_of(p);
	if (!settled(uhci_of(&s->c), q))
		return false;
	q->qh->element = UHCI_END;
	return true;
}

/* --- start --------------------------------------------------------------------------- */

static bool init_queue(struct uhci *u, uint32_t i)
{
	struct uhci_queue *q = &u->queue[i];
	bool async = i < UHCI_ASYNC;
	uint32_t packets = async ? UHCI_PACKETS : 1;
	q->list = (uint8_t)(async ? UHCI_PHASES : i % UHCI_PHASES);
	q->pipe.kinds = async ? 1 << USB_CONTROL | 1 << USB_BULK : 1 << USB_INTERRUPT;
	q->pipe.packets = packets;
	q->pipe.room = async ? UHCI_ROOM : UHCI_ROOM_SMALL;
	q->pipe.data = alloc(q->pipe.room, 64);
	q->td = alloc((packets + async) * sizeof *q->td, 16);
	u->pipe[i] = &q->pipe;
	q->qh->link = q->qh->element = UHCI_END;
	return q->pipe.data && q->td;
}

bool uhci_queue_init(struct uhci *u, uint32_t **frames)
{
	static const struct pipe_ops ops = {
	        .start = start,
	        .look = look,
	        .halt = halt,
	        .drained = drained,
	};
	struct uhci_qh *qh = alloc((UHCI_QUEUES + UHCI_PHASES + 2) * sizeof *qh, 16);
	struct uhci_td *dead = alloc(sizeof *dead, 16);
	uint8_t *setup = alloc(UHCI_QUEUES * 8, 8);
	*frames = alloc(UHCI_FRAMES * 4, UHCI_FRAMES * 4);
	if (!qh || !dead || !setup || !*frames)
		return false;
	u->head = qh + UHCI_QUEUES;
	for (uint32_t i = 0; i < UHCI_QUEUES; i++) {
		u->queue[i].qh = qh + i;
		u->queue[i].pipe.setup = setup + 8 * i;
		if (!init_queue(u, i))
			return false;
	}
	dead->link = UHCI_END;
	dead->token = 0x7ffu << 21 | 0x7fu << 8 | UHCI_PID_IN;
	for (uint32_t i = 0; i < UHCI_PHASES + 2; i++)
		u->head[i].link = u->head[i].element = UHCI_END;
	u->head[UHCI_PHASES + 1].element = bus(dead);
	for (uint8_t list = 0; list <= UHCI_PHASES; list++)
		relink(u, list);
	for (uint32_t i = 0; i < UHCI_FRAMES; i++)
		(*frames)[i] = bus(&u->head[i % UHCI_PHASES]) | UHCI_QUEUE;
	u->pipes.ops = &ops;
	u->pipes.pipe = u->pipe;
	u->pipes.n = UHCI_QUEUES;
	return true;
}
