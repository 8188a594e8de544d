/* Pipes of pipe.h. Section numbers: USB 1.1 specification. */
#include "drivers/usb/pipe/pipe.h"

#define PACKET_MAX     64u
#define PACKET_MAX_LOW 8u

static struct pipe_set *set_of(struct usb_controller *c)
{
	return (struct pipe_set *)(void *)c;
}

static bool is_control(const struct pipe *p)
{
	return p->endpoint->kind == USB_CONTROL;
}

static uint32_t packet_limit(const struct usb_endpoint *e)
{
	return e->device->speed == USB_LOW ? PACKET_MAX_LOW : PACKET_MAX;
}

uint32_t pipe_max_packet(const struct pipe *p)
{
	uint32_t n = p->endpoint->max_packet;
	return n <= packet_limit(p->endpoint) ? n : 0;
}

bool pipe_endpoint_open(struct usb_controller *c, struct usb_endpoint *e)
{
	struct pipe_set *s = set_of(c);
	uint32_t speed = e->device->speed;
	if (e->max_packet == 0 || e->max_packet > packet_limit(e) || speed > USB_FULL ||
	    (e->kind == USB_BULK && speed == USB_LOW))
		return false;
	for (uint32_t i = 0; i < s->n; i++) {
		struct pipe *p = s->pipe[i];
		if (p->state != PIPE_FREE || !(p->kinds & 1u << e->kind))
			continue;
		p->endpoint = e;
		p->transfer = NULL;
		p->state = PIPE_IDLE;
		e->toggle = false;
		e->hc = p;
		return true;
	}
	return false;
}

bool pipe_device_open(struct usb_controller *c, struct usb_device *d)
{
	return pipe_endpoint_open(c, &d->control);
}

void pipe_device_changed(struct usb_controller *c, struct usb_device *d)
{
	(void)c;
	(void)d;
}

void pipe_endpoint_reset(struct usb_controller *c, struct usb_endpoint *e)
{
	(void)c;
	e->toggle = false;
}

static void complete(struct pipe *p, enum usb_status status)
{
	struct usb_transfer *t = p->transfer;
	p->transfer = NULL;
	p->state = PIPE_IDLE;
	usb_complete(t, status, p->moved);
}

/* Prepares the next round of the transfer, and starts it. */
static void next_round(struct pipe_set *s, struct pipe *p)
{
	const struct usb_transfer *t = p->transfer;
	uint32_t packet = pipe_max_packet(p);
	if (packet == 0) {
		complete(p, USB_FAILED);
		return;
	}
	uint32_t most = min_u32(p->room / packet, p->packets) * packet;
	p->round = p->stage == PIPE_STATUS ? 0 : min_u32(t->len - p->moved, most);
	if (p->stage == PIPE_SETUP)
		memcpy(p->setup, t->setup, 8);
	if (!p->in && p->round)
		memcpy(p->data, (const uint8_t *)t->data + p->moved, p->round);
	p->state = s->ops->start(s, p) ? PIPE_RUN : PIPE_READY;
}

bool pipe_submit(struct usb_controller *c, struct usb_transfer *t)
{
	struct pipe *p = t->endpoint->hc;
	if (!p || p->state != PIPE_IDLE || t->len > USB_TRANSFER_MAX || pipe_max_packet(p) == 0)
		return false;
	p->transfer = t;
	p->moved = 0;
	p->stage = is_control(p) ? PIPE_SETUP : PIPE_DATA;
	p->in = ((is_control(p) ? t->setup[0] : t->endpoint->address) & 0x80) && t->len;
	if (!is_control(p))
		p->in = t->endpoint->address & 0x80;
	next_round(set_of(c), p);
	return true;
}

/* Takes the data of a round, also of one that ended with an error. */
static void take_data(struct pipe *p, uint32_t moved)
{
	if (p->in && moved)
		memcpy((uint8_t *)p->transfer->data + p->moved, p->data, moved);
	p->moved += moved;
}

/* Chooses what follows a round that ended without an error. False: nothing. */
static bool next_stage(struct pipe *p, uint32_t moved)
{
	if (p->stage == PIPE_STATUS)
		return false;
	bool last = moved < p->round || p->moved == p->transfer->len;
	if (last && !is_control(p))
		return false;
	p->stage = last ? PIPE_STATUS : PIPE_DATA;
	return true;
}

/* Looks at a round that runs, or that has drained after a cancel. */
static void look(struct pipe_set *s, struct pipe *p)
{
	bool cancelled = p->state == PIPE_DRAIN;
	uint32_t moved = 0;
	enum pipe_result r = s->ops->look(s, p, &moved);
	if (r == PIPE_BUSY && !cancelled)
		return;
	if (moved > p->round) { /* the hardware says more than was asked for */
		r = PIPE_FAILED;
		moved = 0;
	}
	take_data(p, moved);
	if (r == PIPE_STALLED || r == PIPE_FAILED) {
		complete(p, r == PIPE_STALLED ? USB_STALLED : USB_FAILED);
		return;
	}
	bool more = next_stage(p, moved);
	if (cancelled)
		complete(p, more || r == PIPE_BUSY ? USB_CANCELLED : USB_OK);
	else if (more)
		next_round(s, p);
	else
		complete(p, USB_OK);
}

void pipe_poll(struct pipe_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct pipe *p = s->pipe[i];
		if (p->state == PIPE_READY && s->ops->start(s, p))
			p->state = PIPE_RUN;
		else if (p->state == PIPE_RUN)
			look(s, p);
		else if (p->state == PIPE_DRAIN && s->ops->drained(s, p)) {
			if (p->transfer)
				look(s, p);
			if (!p->endpoint)
				p->state = PIPE_FREE;
		}
	}
}

void pipe_cancel(struct usb_controller *c, struct usb_transfer *t)
{
	struct pipe_set *s = set_of(c);
	struct pipe *p = t->endpoint->hc;
	if (!p || p->transfer != t)
		return;
	if (p->state == PIPE_RUN) {
		s->ops->halt(s, p);
		p->state = PIPE_DRAIN;
	} else if (p->state == PIPE_READY) {
		complete(p, USB_CANCELLED);
	}
}

static void close_pipe(struct pipe_set *s, struct pipe *p)
{
	struct usb_transfer *t = p->transfer;
	if (p->state == PIPE_RUN)
		s->ops->halt(s, p);
	p->state = p->state == PIPE_RUN || p->state == PIPE_DRAIN ? PIPE_DRAIN : PIPE_FREE;
	p->endpoint->hc = NULL;
	p->endpoint = NULL;
	p->transfer = NULL;
	if (t)
		usb_complete(t, USB_GONE, p->moved);
}

void pipe_device_close(struct usb_controller *c, struct usb_device *d)
{
	struct pipe_set *s = set_of(c);
	for (uint32_t i = 0; i < s->n; i++)
		if (s->pipe[i]->endpoint && s->pipe[i]->endpoint->device == d)
			close_pipe(s, s->pipe[i]);
}
