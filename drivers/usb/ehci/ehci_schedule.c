/* The two schedules of an EHCI controller (4.4 to 4.8): which queues are linked, when they are
 * switched on, and when a queue that was unlinked is the driver's again.
 *
 * Queues leave one by one: some controllers cannot take more (Linux knows of one by nVidia). */
#include "drivers/usb/ehci/ehci.h"

#define ASYNC_IDLE_US   100000u /* the asynchronous schedule stays on without transfers */
#define FOLLOW_US       500000u /* a schedule must follow its switch */
#define DOORBELL_US     10000u  /* some controllers lose the answer */
#define DEAF_US         500000u /* but all take notice of the doorbell */
#define PERIODIC_OUT_US 3000u   /* more than a frame, and what the controller reads ahead */
#define TT_LIMIT        520u    /* byte times of full speed in micro-frames 1 to 3 (11.18.4) */

static uint32_t link_to(const struct ehci_slot *s)
{
	return (uint32_t)dma_addr(&s->qh) | LINK_QH;
}

static void word_set(uint32_t *p, uint32_t v)
{
	*(volatile uint32_t *)p = v;
}

/* --- linking ------------------------------------------------------------------------- */

static void queues_set(struct ehci_queue *q, uint32_t behind)
{
	for (; q; q = q->next) {
		uint32_t v = q->next ? link_to(q->next->slot) : behind;
		if (q->slot->qh.link != v)
			word_set(&q->slot->qh.link, v);
	}
}

/* Writes the links of the periodic schedule, from its end to its beginning: a queue can be
 * reached only after its own link is right. */
static void periodic_set(struct ehci *e)
{
	uint32_t behind = e->always ? link_to(e->always->slot) : LINK_END;
	queues_set(e->always, LINK_END);
	io_wmb();
	for (unsigned p = 0; p < EHCI_PHASES; p++)
		queues_set(e->chain[p], behind);
	io_wmb();
	for (unsigned i = 0; i < EHCI_FRAMES; i++) {
		const struct ehci_queue *q = e->chain[i % EHCI_PHASES];
		uint32_t v = q ? link_to(q->slot) : behind;
		if (e->frames[i] != v)
			word_set(&e->frames[i], v);
	}
}

static struct ehci_queue **list_of(struct ehci *e, const struct ehci_queue *q)
{
	if (q->kind != USB_INTERRUPT)
		return &e->async;
	return q->period == 1 ? &e->always : &e->chain[q->phase];
}

void ehci_link(struct ehci *e, struct ehci_queue *q)
{
	struct ehci_queue **list = list_of(e, q);
	q->place = EHCI_LINKED;
	q->next = *list;
	*list = q;
	if (q->kind == USB_INTERRUPT) {
		periodic_set(e);
	} else {
		word_set(&q->slot->qh.link, e->head->qh.link);
		io_wmb();
		word_set(&e->head->qh.link, link_to(q->slot));
	}
}

void ehci_unlink(struct ehci_queue *q)
{
	q->place = EHCI_LEAVING;
}

/* The queue's own link stays, because the controller may still follow it. */
static void take_out(struct ehci *e, struct ehci_queue *q)
{
	struct ehci_queue **p = list_of(e, q), *before = NULL;
	for (; *p != q; p = &(*p)->next)
		before = *p;
	*p = q->next;
	if (q->kind == USB_INTERRUPT)
		periodic_set(e);
	else
		word_set(before ? &before->slot->qh.link : &e->head->qh.link, q->slot->qh.link);
	io_mb();
}

/* --- unlinking (4.8.2) ------------------------------------------------------------------ */

static void doorbell(struct ehci *e)
{
	ehci_write(e, EHCI_USBSTS, STS_IAA);
	ehci_write(e, EHCI_USBCMD, e->cmd | CMD_IAAD);
	e->unlink_us = e->now_us;
}

static void left(struct ehci *e)
{
	struct ehci_queue *q = e->unlinking;
	e->unlinking = NULL;
	ehci_queue_left(e, q);
}

/* Begins with a queue that is to leave, if that can be done now. */
static void begin(struct ehci *e, struct ehci_queue *q, uint32_t sts)
{
	bool periodic = q->kind == USB_INTERRUPT;
	uint32_t on = e->cmd & (periodic ? CMD_PSE : CMD_ASE);
	uint32_t runs = sts & (periodic ? STS_PSS : STS_ASS);
	if (!periodic && !on != !runs)
		return; /* the doorbell works only in a schedule that runs */
	take_out(e, q);
	q->place = EHCI_LEFT;
	e->unlinking = q;
	e->unlink_us = 0;
	if (!on && !runs) {
		left(e);
	} else if (!periodic) {
		/* Some controllers write to a queue once more after their first answer, if they
		 * were just working on it. */
		e->rings = q->running ? 2 : 1;
		doorbell(e);
	}
}

/* True when the doorbell was answered, or when only the answer was lost. */
static bool answered(struct ehci *e, uint32_t sts)
{
	uint64_t passed = e->now_us - e->unlink_us;
	if (sts & STS_IAA)
		return true;
	if (passed < DOORBELL_US)
		return false;
	if (!(ehci_read(e, EHCI_USBCMD) & CMD_IAAD))
		return true;
	if (passed >= DEAF_US)
		ehci_fail(e, "it does not let go of a queue");
	return false;
}

static void unlink_poll(struct ehci *e, uint32_t sts)
{
	const struct ehci_queue *q = e->unlinking;
	if (q && q->kind == USB_INTERRUPT) {
		if (!e->unlink_us)
			e->unlink_us = e->now_us;
		else if (e->now_us - e->unlink_us >= PERIODIC_OUT_US)
			left(e);
	} else if (q) {
		if (!answered(e, sts))
			return;
		ehci_write(e, EHCI_USBSTS, STS_IAA);
		if (--e->rings)
			doorbell(e);
		else
			left(e);
	}
	for (unsigned i = 0; i < EHCI_QUEUES && !e->unlinking; i++)
		if (e->queue[i].place == EHCI_LEAVING)
			begin(e, &e->queue[i], sts);
}

/* --- on and off ------------------------------------------------------------------------- */

static bool async_needed(struct ehci *e)
{
	bool needed = e->unlinking && e->unlinking->kind != USB_INTERRUPT;
	for (const struct ehci_queue *q = e->async; q; q = q->next)
		needed |= q->running;
	if (needed)
		e->async_us = e->now_us;
	return needed || ((e->cmd & CMD_ASE) && e->now_us - e->async_us < ASYNC_IDLE_US);
}

static bool periodic_needed(const struct ehci *e)
{
	bool needed = e->always != NULL;
	for (unsigned p = 0; p < EHCI_PHASES; p++)
		needed |= e->chain[p] != NULL;
	return needed;
}

/* Switches one schedule. 4.8: its switch is touched only while its state follows it. */
static uint32_t follow(struct ehci *e, bool want, uint32_t on, bool runs, uint64_t *wait_us)
{
	bool have = e->cmd & on;
	if (have == runs) {
		*wait_us = 0;
		return have != want ? on : 0;
	}
	if (!*wait_us)
		*wait_us = e->now_us;
	else if (e->now_us - *wait_us >= FOLLOW_US)
		ehci_fail(e, "a schedule does not start or stop");
	return 0;
}

void ehci_schedule_follow(struct ehci *e, uint32_t sts)
{
	uint32_t flip = follow(e, async_needed(e), CMD_ASE, sts & STS_ASS, &e->async_wait_us) |
	                follow(e, periodic_needed(e), CMD_PSE, sts & STS_PSS, &e->periodic_wait_us);
	/* A doorbell that is not answered must be neither cleared nor rung again. */
	bool rung = e->unlinking && e->unlinking->kind != USB_INTERRUPT;
	if (!flip || rung || e->dead)
		return;
	e->cmd ^= flip;
	ehci_write(e, EHCI_USBCMD, e->cmd);
}

void ehci_schedule_poll(struct ehci *e, uint32_t sts)
{
	unlink_poll(e, sts);
	if (!e->dead)
		ehci_schedule_follow(e, sts);
}

/* --- bandwidth ---------------------------------------------------------------------------- */

/* What the interrupt endpoints behind the same transaction translator take in a frame. Those of
 * high speed count as if they had one, only so that they are spread over the frames. */
static uint32_t tt_load(const struct ehci *e, const struct ehci_queue *q, unsigned phase)
{
	uint32_t sum = q->load;
	for (unsigned i = 0; i < EHCI_QUEUES; i++) {
		const struct ehci_queue *o = &e->queue[i];
		if (o != q && o->place != EHCI_FREE && o->kind == USB_INTERRUPT &&
		    o->tt_hub == q->tt_hub && o->tt_port == q->tt_port &&
		    (o->period == 1 || q->period == 1 || o->phase == phase))
			sum += o->load;
	}
	return sum;
}

bool ehci_phase(struct ehci *e, struct ehci_queue *q)
{
	uint32_t best = ~0u;
	for (uint8_t p = 0; p < EHCI_PHASES; p++) {
		uint32_t sum = tt_load(e, q, p);
		if (sum < best) {
			best = sum;
			q->phase = p;
		}
	}
	return !q->tt_hub || best <= TT_LIMIT;
}
