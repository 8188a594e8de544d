/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One phase of traffic. A single loop receives frames, sends waiting ones, makes new packets as the
 * window or the clock allows, and sleeps in poll() when there is nothing to do.
 *
 * Counting begins after the warm-up while the load continues, so that a phase is measured in its
 * steady state. A packet counts as forwarded when it arrived on the other side and was verified.
 */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gen.h"

/* After this time without an arrival, the packets in flight count as lost; even a busy machine
 * needs less. */
#define STALL_NS 1000000000u
/* The same for an open phase, where packets are lost by design, once all are made. */
#define SILENCE_NS 250000000u
/* An open phase at a fixed rate that was held up makes at most what is due in this time, or a few
 * packets; the rest is left out, so that the guest gets no burst that was not asked for. */
#define BEHIND_NS    1000000u
#define BEHIND_LEAST 4

struct counts {
	uint64_t made[SIDES]; /* by clients; by servers on their own initiative */
	uint64_t forwarded;   /* requests that arrived outside */
	uint64_t answered;    /* answers that arrived inside */
	uint64_t failed;      /* DNS: queries answered with an error */
	uint64_t late;        /* overtaken by later packets of their flow */
	uint64_t bad;         /* our packets, but wrong */
	uint64_t dropped;     /* by the generator: no room to queue an answer */
	uint64_t refused;     /* the guest had no room for a packet, in a phase that is `open` */
	uint64_t behind;      /* never made, since they were overdue in a phase that is `open` */
	uint64_t empty;       /* times that nothing was in flight at full load */
	uint64_t stalls;      /* times that a whole window was lost */
};

struct run {
	const struct phase *phase; /* NULL between phases */
	struct counts now, begin;
	uint64_t written_off[SIDES];
	double rate;           /* packets a second, 0: full load */
	uint64_t start_ns;     /* when the load began at this rate */
	uint64_t paced[SIDES]; /* made or left out since then */
	uint64_t step_ns;      /* when the rate changes or changed, 0: never */
	uint64_t loss_ns;      /* when the last packet left of which a loss is known, 0: none */
	uint64_t arrival_ns[SIDES]; /* when a packet made there last arrived at its end */
	uint64_t random;
	bool measuring;
	bool making; /* new packets are made */
	struct samples one_way, round_trip;
};

/* Frames that wait for room on an endpoint, oldest first. */
struct queue {
	struct frame frame[QUEUE];
	unsigned head, count;
};

struct endpoint *endpoints[SIDES];
static struct queue queues[SIDES];
static struct run run;

static struct frame *queue_tail(struct queue *q)
{
	return q->count < QUEUE ? &q->frame[(q->head + q->count) % QUEUE] : NULL;
}

/* Drops the packets of the load that wait; answers of hosts (ARP, DNS) go on waiting. */
static void refuse(struct queue *q)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < q->count; i++) {
		struct frame *f = &q->frame[(q->head + i) % QUEUE];

		if (f->load)
			continue;
		if (kept != i)
			q->frame[(q->head + kept) % QUEUE] = *f;
		kept++;
	}
	if (kept == q->count)
		return;
	run.now.refused += q->count - kept;
	run.loss_ns = clock_ns();
	q->count = kept;
}

static bool flush(int side)
{
	const struct frame *burst[BURST];
	struct queue *q = &queues[side];
	bool moved = false;

	while (q->count != 0) {
		unsigned n = q->count < BURST ? q->count : BURST;
		unsigned taken;

		for (unsigned i = 0; i < n; i++)
			burst[i] = &q->frame[(q->head + i) % QUEUE];
		taken = endpoints[side]->ops->send(endpoints[side], burst, n);
		q->head = (q->head + taken) % QUEUE;
		q->count -= taken;
		moved = moved || taken != 0;
		if (taken < n)
			break;
	}
	if (q->count != 0 && run.phase != NULL && run.phase->open)
		refuse(q);
	return moved;
}

/* Do servers send on their own initiative? */
static bool servers_send(void)
{
	return run.phase->both || run.phase->back;
}

static void arrived(int side, const struct frame *f, uint64_t now)
{
	struct queue *q = &queues[side];
	struct frame *reply = queue_tail(q), scratch;
	const struct traffic *t = run.phase != NULL ? &run.phase->traffic : NULL;
	struct arrival a = hosts_accept(side, f, t, reply != NULL ? reply : &scratch);

	switch (a.verdict) {
	case V_FORWARDED:
		run.now.forwarded++;
		run.now.late += a.late;
		if (a.gap && a.sent_ns > run.loss_ns)
			run.loss_ns = a.sent_ns;
		run.arrival_ns[LAN] = now;
		if (run.measuring)
			samples_add(&run.one_way, now - a.sent_ns);
		if (!run.phase->answers)
			break;
		if (reply != NULL)
			hosts_answer(f, reply);
		/* fall through */
	case V_ARP:
	case V_UPSTREAM:
		run.now.forwarded += a.verdict == V_UPSTREAM;
		if (reply != NULL)
			reply->load = false;
		q->count += reply != NULL;
		run.now.dropped += reply == NULL;
		break;
	case V_ANSWER:
		run.now.answered++;
		run.arrival_ns[servers_send() ? WAN : LAN] = now;
		if (run.measuring)
			samples_add(&run.round_trip, now - a.sent_ns);
		break;
	case V_FAILED:
		run.now.failed++;
		run.arrival_ns[LAN] = now;
		break;
	case V_BAD:
		run.now.bad++;
		break;
	case V_OTHER:
		hosts_learn(side, f);
		break;
	}
}

static bool receive(int side)
{
	static struct frame burst[BURST];
	unsigned n = endpoints[side]->ops->recv(endpoints[side], burst, BURST);
	uint64_t now = n != 0 ? clock_ns() : 0;

	for (unsigned i = 0; i < n; i++)
		arrived(side, &burst[i], now);
	return n != 0;
}

/* The number of packets made on a side that arrived at their end. */
static uint64_t ended(int side)
{
	if (plan.mode == MODE_DNS)
		return run.now.answered + run.now.failed;
	return side == WAN || run.phase->answers ? run.now.answered : run.now.forwarded;
}

static uint64_t in_flight(int side)
{
	uint64_t gone = (side == LAN || servers_send() ? ended(side) : 0) + run.written_off[side];

	return run.now.made[side] > gone ? run.now.made[side] - gone : 0;
}

/* How many packets are due by the clock, and when the next one is. */
static uint64_t due_now(int side, uint64_t now, uint64_t *again_ns)
{
	double due = (double)(now - run.start_ns) * run.rate / 1e9;
	double most = run.rate * BEHIND_NS / 1e9;
	uint64_t paced = run.paced[side], allowed;

	allowed = (double)paced < due ? (uint64_t)due + 1 - paced : 0;
	if (run.phase->open && allowed > BEHIND_LEAST && (double)allowed > most) {
		run.now.behind += allowed - 1;
		run.paced[side] = paced += allowed - 1;
		allowed = 1;
	}
	/* In a phase that is not open, packets without room wait for it, and so does the load. */
	if (allowed == 0 || run.phase->open)
		*again_ns =
		        run.start_ns + (uint64_t)ceil((double)(paced + allowed) * 1e9 / run.rate);
	return allowed;
}

/* How many packets may be made now, and when to check again. */
static uint64_t allowance(int side, uint64_t now, uint64_t *again_ns)
{
	const struct phase *p = run.phase;
	uint64_t allowed, made = run.now.made[side];

	*again_ns = now + 10000000;
	if (run.rate > 0) {
		allowed = due_now(side, now, again_ns);
	} else {
		uint64_t flying = in_flight(side);

		if (flying == 0 && made != 0)
			run.now.empty++;
		allowed = flying < p->window ? p->window - flying : 0;
		if (allowed == 0 && now - run.arrival_ns[side] > STALL_NS) {
			run.now.stalls++;
			run.written_off[side] += flying;
			run.arrival_ns[side] = now;
		}
	}
	if (p->once && allowed > p->traffic.flows - made)
		allowed = p->traffic.flows - made;
	return allowed;
}

static unsigned next_flow(int side)
{
	const struct phase *p = run.phase;

	if (!p->random)
		return p->traffic.first + (unsigned)(run.now.made[side] % p->traffic.flows);
	run.random ^= run.random << 13;
	run.random ^= run.random >> 7;
	run.random ^= run.random << 17;
	return p->traffic.first + (unsigned)((run.random >> 32) * p->traffic.flows >> 32);
}

static uint64_t make(int side, uint64_t now)
{
	struct queue *q = &queues[side];
	uint64_t again_ns, allowed;

	/* Waiting frames are sent first: the guest limits the rate, not a queue of ours. In an open
	 * phase only answers can wait, and do not hold up the load. */
	if (run.phase->open ? q->count > QUEUE - BURST : q->count != 0)
		return now + 10000000;
	allowed = allowance(side, now, &again_ns);
	for (unsigned i = 0; i < allowed && i < BURST; i++) {
		struct frame *f = queue_tail(q);

		if (side == LAN)
			hosts_build(f, &run.phase->traffic, next_flow(side), now);
		else
			hosts_build_back(f, &run.phase->traffic, next_flow(side), now);
		f->load = true;
		q->count++;
		run.now.made[side]++;
		run.paced[side]++;
	}
	return again_ns;
}

static void sleep_until(uint64_t then_ns)
{
	struct pollfd fds[SIDES];
	struct timespec left = {0, 0};
	uint64_t now = clock_ns();

	for (int side = LAN; side < SIDES; side++)
		if (!endpoints[side]->ops->wait_for(endpoints[side], queues[side].count != 0,
		                                    &fds[side])) {
			sched_yield();
			return;
		}
	if (then_ns > now) {
		left.tv_sec = (time_t)((then_ns - now) / 1000000000);
		left.tv_nsec = (long)((then_ns - now) % 1000000000);
	}
	ppoll(fds, SIDES, &left, NULL);
}

/* From now on packets are made at this rate. */
static void pace(double rate, uint64_t now)
{
	run.rate = rate;
	run.start_ns = now;
	run.paced[LAN] = run.paced[WAN] = 0;
}

/* One pass of the loop; if nothing was to do, it sleeps until end_ns at most (0: not at all). */
static uint64_t turn(uint64_t end_ns)
{
	uint64_t now = clock_ns(), wake = now + 10000000;
	bool moved = false;

	for (int side = LAN; side < SIDES; side++) {
		endpoints[side]->ops->service(endpoints[side]);
		moved |= receive(side);
	}
	if (run.making && run.step_ns != 0 && now >= run.step_ns && run.rate != run.phase->then) {
		run.step_ns = now;
		pace(run.phase->then, now);
	}
	if (run.making && !run.phase->back)
		wake = make(LAN, clock_ns()); /* not earlier than the last received frame */
	if (run.making && servers_send()) {
		uint64_t again = make(WAN, clock_ns());

		wake = again < wake ? again : wake;
	}
	for (int side = LAN; side < SIDES; side++)
		moved |= flush(side);
	if (!moved && end_ns > now)
		sleep_until(wake < end_ns ? wake : end_ns);
	return now;
}

static void turn_for(double seconds)
{
	uint64_t end = clock_ns() + (uint64_t)(seconds * 1e9);

	while (turn(end) < end)
		;
}

/*
 * Between phases the generator must not disturb other measurements: it sleeps until a frame
 * arrives, and polls rings only five hundred times a second.
 */
void engine_until_input(void)
{
	struct pollfd fds[SIDES + 1] = {[SIDES] = {.fd = STDIN_FILENO, .events = POLLIN}};

	for (;;) {
		int ms = 200;

		turn(0);
		for (int side = LAN; side < SIDES; side++)
			if (!endpoints[side]->ops->wait_for(endpoints[side],
			                                    queues[side].count != 0, &fds[side]))
				ms = 2;
		if (poll(fds, SIDES + 1, ms) > 0 && fds[SIDES].revents != 0)
			return;
	}
}

/* Every client and a server send requests for the gateway until its MAC address is known on both
 * sides. */
bool engine_resolve(double seconds)
{
	uint64_t end = clock_ns() + (uint64_t)(seconds * 1e9);

	while (!(plan.known[LAN] && plan.known[WAN]) && clock_ns() < end) {
		for (int side = LAN; side < SIDES; side++) {
			unsigned hosts = side == LAN ? plan.hosts : 1;

			for (unsigned i = 0; i < hosts && queue_tail(&queues[side]); i++) {
				hosts_request(queue_tail(&queues[side]), side,
				              plan.first[side] + i);
				queue_tail(&queues[side])->load = false;
				queues[side].count++;
			}
		}
		turn_for(0.2);
	}
	return plan.known[LAN] && plan.known[WAN];
}

static void print_meters(const struct snapshot *a, const struct snapshot *b)
{
	double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);

	printf("\"seconds\": %.6f, \"instructions\": %llu, \"vcpu_user\": %.2f, "
	       "\"vcpu_system\": %.2f",
	       (double)(b->ns - a->ns) / 1e9,
	       (unsigned long long)(b->instructions - a->instructions),
	       (double)(b->user_ticks - a->user_ticks) * tick,
	       (double)(b->system_ticks - a->system_ticks) * tick);
}

void engine_idle(double seconds)
{
	struct snapshot a = meter_read(), b;

	turn_for(seconds);
	b = meter_read();
	printf("{");
	print_meters(&a, &b);
	printf("}\n");
}

static void print_result(const struct snapshot *a, const struct snapshot *b,
                         const struct counts *end)
{
	const struct counts *begin = &run.begin;
	uint64_t lost = run.now.made[LAN] - ended(LAN);

	if (servers_send())
		lost += run.now.made[WAN] - ended(WAN);
	printf("{");
	print_meters(a, b);
	printf(", \"sent\": %llu, \"forwarded\": %llu, \"answered\": %llu, \"empty\": %llu",
	       (unsigned long long)(end->made[LAN] + end->made[WAN] - begin->made[LAN] -
	                            begin->made[WAN]),
	       (unsigned long long)(end->forwarded - begin->forwarded),
	       (unsigned long long)(end->answered - begin->answered),
	       (unsigned long long)(end->empty - begin->empty));
	printf(", \"refused\": %llu, \"behind\": %llu", (unsigned long long)run.now.refused,
	       (unsigned long long)(end->behind - begin->behind));
	if (run.step_ns != 0) {
		if (run.loss_ns != 0)
			printf(", \"last_loss_ms\": %.3f",
			       ((double)run.loss_ns - (double)run.step_ns) / 1e6);
		else
			printf(", \"last_loss_ms\": null");
	}
	if (plan.mode == MODE_DNS)
		printf(", \"failed\": %llu", (unsigned long long)(end->failed - begin->failed));
	/* These cover the whole phase, with frames that arrived after its end. */
	printf(", \"lost\": %lld, \"late\": %llu, \"bad\": %llu, \"stalls\": %llu, "
	       "\"complaint\": \"%s\"",
	       (long long)lost, (unsigned long long)run.now.late, (unsigned long long)run.now.bad,
	       (unsigned long long)(run.now.stalls + run.now.dropped), hosts_complaint());
	samples_print("one_way_us", &run.one_way);
	samples_print("round_trip_us", &run.round_trip);
	printf("}\n");
}

/* True when nothing has come for so long that nothing will. */
static bool silent(const struct phase *p)
{
	uint64_t last = run.arrival_ns[LAN] > run.arrival_ns[WAN] ? run.arrival_ns[LAN]
	                                                          : run.arrival_ns[WAN];

	return clock_ns() - last > (p->open ? SILENCE_NS : STALL_NS);
}

static bool finished(const struct phase *p)
{
	if (p->halt && (run.loss_ns != 0 || run.now.failed != 0))
		return true;
	return p->once && run.now.made[LAN] == p->traffic.flows &&
	       (in_flight(LAN) == 0 || silent(p));
}

void engine_run(const struct phase *phase)
{
	static struct traffic before;
	const struct traffic *t = &phase->traffic;
	struct snapshot a, b;
	struct counts end;
	uint64_t warm_ns, end_ns, now;
	struct samples one_way = run.one_way, round_trip = run.round_trip;

	/* Then the same flow numbers have other addresses, ports or protocols. */
	if (t->servers != before.servers || t->scatter != before.scatter || t->tcp != before.tcp)
		hosts_forget();
	before = *t;
	one_way.count = round_trip.count = 0;
	run = (struct run){.phase = phase, .making = true, .random = 0x9e3779b97f4a7c15u};
	run.one_way = one_way;
	run.round_trip = round_trip;
	if (phase->open)
		hosts_in_order(t);
	now = run.arrival_ns[LAN] = run.arrival_ns[WAN] = clock_ns();
	pace(phase->rate, now);
	if (phase->then > 0)
		run.step_ns = now + (uint64_t)(phase->step * 1e9);
	warm_ns = now + (uint64_t)(phase->warm * 1e9);
	end_ns = warm_ns + (uint64_t)(phase->seconds * 1e9);
	if (phase->warm > 0)
		while (turn(warm_ns) < warm_ns)
			;
	a = meter_read();
	run.begin = run.now;
	run.measuring = true;
	do
		now = turn(end_ns);
	while (now < end_ns && !finished(phase));
	b = meter_read();
	end = run.now;
	run.measuring = run.making = false;
	/* The last packets still count as received, even if they are late on a busy machine. */
	do
		turn_for(0.1);
	while (in_flight(LAN) + in_flight(WAN) != 0 && clock_ns() < b.ns + 2000000000 &&
	       !silent(phase));
	print_result(&a, &b, &end);
	run.phase = NULL;
}
