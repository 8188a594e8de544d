/* See dhcp6_client.h. */
#include "net/dhcp6/dhcp6_client.h"

#include "kernel/lib/bucket.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/dhcp/dhcp_client.h"
#include "net/dhcp6/dhcp6_answer.h"
#include "net/dhcp6/dhcp6_bind.h"
#include "net/dhcp6/dhcp6_keys.h"
#include "net/dhcp6/dhcp6_send.h"
#include "net/dhcp6/dhcp6_use.h"

#define SECOND 1000000ull
#define NEVER  UINT64_MAX
#define SAY_MS 60000u

#define RA_WAIT_MS  2000u  /* for an advertisement, so that all is asked for at once */
#define DELAY_MS    1000u  /* SOL_MAX_DELAY, CNF_MAX_DELAY, INF_MAX_DELAY */
#define WAIT_MOST_S 64u    /* between requests that give nothing */
#define DECLINE_S   10u    /* before the next address */
#define CONFLICTS   10u    /* then once in WAIT_MOST_S */
#define REFRESH_S   86400u /* IRT_DEFAULT (section 21.23) */
#define SILENT      5u     /* messages without an answer, after which the log says so */

/* Messages at most: 20 at once, one a second (section 14.1). */
static const struct bucket budget = {1000000, 20 * 1000000};

/* RFC 8415 section 7.6. 0: no bound. */
static const struct timing {
	uint32_t first_ms, most_ms, tries, end_ms;
} timing[DHCP6_STATES] = {
        [DHCP6_SOLICITING] = {1000, 3600000, 0, 0},  [DHCP6_REQUESTING] = {1000, 30000, 10, 0},
        [DHCP6_RENEWING] = {10000, 600000, 0, 0},    [DHCP6_REBINDING] = {10000, 600000, 0, 0},
        [DHCP6_CONFIRMING] = {1000, 4000, 0, 10000}, [DHCP6_DECLINING] = {1000, 0, 4, 0},
        [DHCP6_RELEASING] = {1000, 0, 4, 0},         [DHCP6_INFORMING] = {1000, 3600000, 0, 0},
};

/* --- what is wanted -----------------------------------------------------------------------------
 */

/* The associations to ask for. The WAN asks for an address once a router says that there are some.
 */
static uint8_t wanted(const struct gw *gw)
{
	uint8_t ias = dhcp6_wants_prefix(gw->config) ? 1 << DHCP6_PD : 0;
	bool managed = gw->autoconf.flags & RA_MANAGED || gw->dhcp6.bound[DHCP6_NA].n;
	if (gw->autoconf.on && managed)
		ias |= 1 << DHCP6_NA;
	return ias;
}

static bool wants_other(const struct gw *gw)
{
	return gw->autoconf.on && gw->autoconf.flags & RA_OTHER;
}

static uint8_t held(const struct dhcp6_client *c)
{
	return (uint8_t)((c->bound[DHCP6_NA].n ? 1 << DHCP6_NA : 0) |
	                 (c->bound[DHCP6_PD].n ? 1 << DHCP6_PD : 0));
}

/* --- exchanges ----------------------------------------------------------------------------------
 */

static void rest(struct gw *gw, enum dhcp6_state state, uint64_t due_us)
{
	gw->dhcp6.state = (uint8_t)state;
	gw->dhcp6.due_us = due_us;
}

/* Begins an exchange of messages after a random wait of at most delay_ms. */
static void begin(struct gw *gw, enum dhcp6_state state, uint8_t asks, uint32_t delay_ms)
{
	struct dhcp6_client *c = &gw->dhcp6;
	rest(gw, state, gw->clock.us + rng_below(gw->rng, delay_ms + 1) * 1000ull);
	c->asks = asks;
	c->xid = rng_u32(gw->rng) & 0xffffff;
	c->tries = c->wait_ms = 0;
	c->end_us = NEVER;
	c->offer_rank = 0;
}

static void solicit(struct gw *gw)
{
	begin(gw, DHCP6_SOLICITING, wanted(gw), DELAY_MS);
}

/* Solicits again after requests that gave nothing, later each time. */
static void solicit_later(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	uint32_t s = 1u << min_u32(c->fails++, 6);
	solicit(gw);
	c->due_us += s * SECOND;
}

/* Section 15. The first wait of a Solicit is longer than its time, so that it can be told from the
 * answers of others (section 18.2.1). */
static uint32_t next_wait(struct gw *gw)
{
	const struct dhcp6_client *c = &gw->dhcp6;
	const struct timing *t = &timing[c->state];
	uint32_t ms = c->wait_ms ? 2 * c->wait_ms : t->first_ms, most = t->most_ms;
	if (c->state == DHCP6_SOLICITING && c->sol_max_s)
		most = c->sol_max_s * 1000;
	if (c->state == DHCP6_INFORMING && c->inf_max_s)
		most = c->inf_max_s * 1000;
	if (most && ms > most)
		ms = most;
	if (c->state == DHCP6_SOLICITING && c->wait_ms == 0)
		return ms + 1 + rng_below(gw->rng, ms / 10);
	return ms - ms / 10 + rng_below(gw->rng, ms / 5 + 1);
}

static void say_silent(struct gw *gw)
{
	if (gw->dhcp6.tries == SILENT || gw->dhcp6.state == DHCP6_REBINDING)
		log_limited(&gw->dhcp6.said_silent_us, 600000, "wan: no DHCPv6 server answers");
}

/* Sends the message of the exchange, once more. */
static void transmit(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	uint32_t owed = bucket_owed(gw->clock.us, c->budget_us);
	if (!bucket_take(&budget, &owed, 1)) {
		c->due_us = gw->clock.us + SECOND;
		return;
	}
	c->budget_us = gw->clock.us + owed;
	if (c->tries == 0) {
		c->begun_us = gw->clock.us;
		if (timing[c->state].end_ms)
			c->end_us = gw->clock.us + timing[c->state].end_ms * 1000ull;
		if (c->state == DHCP6_RENEWING)
			c->end_us = c->t2_us;
	}
	c->tries++;
	c->wait_ms = next_wait(gw);
	c->due_us = gw->clock.us + c->wait_ms * 1000ull;
	if (c->due_us > c->end_us)
		c->due_us = c->end_us;
	say_silent(gw);
	dhcp6_send(gw);
}

/* --- leases -------------------------------------------------------------------------------------
 */

/* All leases end now. */
static void lose(struct gw *gw, const char *why)
{
	dhcp6_bind_clear(gw, DHCP6_NA, why);
	dhcp6_bind_clear(gw, DHCP6_PD, why);
	dhcp6_bind_servers(&gw->dhcp6, NULL);
	dhcp6_use_follow(gw);
}

/* Rests until the leases are to be extended. */
static void resume(struct gw *gw)
{
	rest(gw, DHCP6_BOUND, gw->dhcp6.t1_us);
}

static void bind(struct gw *gw, const struct dhcp6_answer *a, bool fresh)
{
	struct dhcp6_client *c = &gw->dhcp6;
	uint8_t asked = c->asks;
	memcpy(c->server, a->server, a->server_len);
	c->server_len = a->server_len;
	c->offer = (struct dhcp6_answer){0};
	dhcp6_bind_take(gw, a, asked, fresh);
	dhcp6_bind_servers(c, a);
	dhcp6_use_follow(gw);
	if (!dhcp6_bind_any(c)) {
		solicit_later(gw);
		return;
	}
	c->fails = 0;
	resume(gw);
}

/* --- answers ------------------------------------------------------------------------------------
 */

static enum drop refuse(struct gw *gw, const char *what, uint16_t status)
{
	gw->dhcp6.refused++;
	log_limited(&gw->dhcp6.said_refused_us, SAY_MS, "wan: the DHCPv6 server %s%s%s", what,
	            status ? ": " : "", status ? dhcp6_answer_status_name(status) : "");
	return DROP_DHCP6_REFUSED;
}

static void request(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	memcpy(c->server, c->offer.server, c->offer.server_len);
	c->server_len = c->offer.server_len;
	begin(gw, DHCP6_REQUESTING, c->asks, 0);
	transmit(gw);
}

/* Section 18.2.9: the answers to the first message are compared; one with preference 255, or a
 * later one, counts at once. */
static enum drop take_offer(struct gw *gw, const struct dhcp6_answer *a)
{
	struct dhcp6_client *c = &gw->dhcp6;
	uint32_t rank = dhcp6_answer_rank(a, c->asks);
	if (c->state != DHCP6_SOLICITING)
		return DROP_DHCP6_NOT_OURS;
	if (rank == 0)
		return refuse(gw, "offers nothing", dhcp6_answer_why_not(a));
	if (rank > c->offer_rank) {
		c->offer = *a;
		c->offer_rank = rank;
	}
	if (a->preference == 255 || c->tries > 1)
		request(gw);
	return DROP_NONE;
}

static bool is_server(const struct dhcp6_client *c, const struct dhcp6_answer *a)
{
	return c->server_len == a->server_len && memcmp(c->server, a->server, a->server_len) == 0;
}

/* The answer to a Request, Renew or Rebind (section 18.2.10.1), or to a Solicit by rapid commit. */
static enum drop take_leases(struct gw *gw, const struct dhcp6_answer *a)
{
	struct dhcp6_client *c = &gw->dhcp6;
	bool fresh = c->state == DHCP6_REQUESTING || c->state == DHCP6_SOLICITING, unknown = false;
	for (uint32_t ia = 0; ia < DHCP6_IAS; ia++)
		unknown |= (c->asks & 1 << ia) && a->ia[ia].status == DHCP6_NO_BINDING;
	if (a->status == DHCP6_NOT_ON_LINK) {
		refuse(gw, "says that the addresses are of another link", 0);
		lose(gw, "of another link");
		solicit_later(gw);
		return DROP_NONE;
	}
	/* Our messages go to all servers already; and a failure may pass. */
	if (a->status == DHCP6_USE_MULTICAST || a->status == DHCP6_UNSPEC_FAIL)
		return refuse(gw, "gives nothing", a->status);
	if (!fresh && (unknown || a->status == DHCP6_NO_BINDING)) {
		memcpy(c->server, a->server, a->server_len);
		c->server_len = a->server_len;
		dhcp6_bind_take(gw, a, c->asks, false);
		c->offer = (struct dhcp6_answer){0};
		begin(gw, DHCP6_REQUESTING, wanted(gw), 0);
		return DROP_NONE;
	}
	if (fresh && dhcp6_answer_rank(a, c->asks) == 0) {
		refuse(gw, "gives nothing", dhcp6_answer_why_not(a));
		lose(gw, "not given any more");
		solicit_later(gw);
		return DROP_NONE;
	}
	bind(gw, a, fresh);
	return DROP_NONE;
}

static void end_declining(struct gw *gw);

/* Section 18.2.10.3. */
static void take_confirmation(struct gw *gw, const struct dhcp6_answer *a)
{
	if (a->status == DHCP6_NOT_ON_LINK) {
		lose(gw, "of another link");
		solicit(gw);
		return;
	}
	resume(gw);
}

static void take_information(struct gw *gw, const struct dhcp6_answer *a)
{
	uint32_t s = a->refresh_s ? a->refresh_s : REFRESH_S;
	dhcp6_bind_servers(&gw->dhcp6, a);
	rest(gw, DHCP6_INFORMED, s == UINT32_MAX ? NEVER : gw->clock.us + s * SECOND);
}

static enum drop take_reply(struct gw *gw, const struct dhcp6_answer *a)
{
	struct dhcp6_client *c = &gw->dhcp6;
	switch (c->state) {
	case DHCP6_SOLICITING: /* section 18.2.1 */
		if (!a->rapid)
			return DROP_DHCP6_NOT_OURS;
		return take_leases(gw, a);
	case DHCP6_REQUESTING:
	case DHCP6_RENEWING:
		return is_server(c, a) ? take_leases(gw, a) : DROP_DHCP6_NOT_OURS;
	case DHCP6_REBINDING:
		return take_leases(gw, a);
	case DHCP6_CONFIRMING:
		if (c->rebinds)
			return take_leases(gw, a);
		take_confirmation(gw, a);
		return DROP_NONE;
	case DHCP6_DECLINING:
		if (is_server(c, a))
			end_declining(gw);
		return is_server(c, a) ? DROP_NONE : DROP_DHCP6_NOT_OURS;
	case DHCP6_RELEASING:
		if (is_server(c, a))
			rest(gw, DHCP6_RELEASED, NEVER);
		return is_server(c, a) ? DROP_NONE : DROP_DHCP6_NOT_OURS;
	case DHCP6_INFORMING:
		take_information(gw, a);
		return DROP_NONE;
	default:
		return DROP_DHCP6_NOT_OURS;
	}
}

enum drop dhcp6_client_answered(struct gw *gw, const struct dhcp6_answer *a)
{
	struct dhcp6_client *c = &gw->dhcp6;
	/* Sections 18.2.9 and 18.2.10: also of an answer that gives nothing. */
	if (a->sol_max_s)
		c->sol_max_s = a->sol_max_s;
	if (a->inf_max_s)
		c->inf_max_s = a->inf_max_s;
	enum drop why = a->type == DHCP6_ADVERTISE ? take_offer(gw, a) : take_reply(gw, a);
	c->taken += why == DROP_NONE;
	return why;
}

/* --- conflicts ----------------------------------------------------------------------------------
 */

static void conflict(struct gw *gw, uint32_t i)
{
	struct dhcp6_client *c = &gw->dhcp6;
	c->declined = c->bound[DHCP6_NA].held[i];
	c->declines++;
	c->conflicts++;
	dhcp6_bind_drop(gw, DHCP6_NA, i, "declined, another station has it");
	begin(gw, DHCP6_DECLINING, 1 << DHCP6_NA, 0);
}

/* The server knows that an address is taken, or does not answer (section 18.2.8). Another address
 * is asked for, beside what we have. */
static void end_declining(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	uint32_t s = c->conflicts < CONFLICTS ? DECLINE_S : WAIT_MOST_S;
	if (dhcp6_bind_any(c))
		begin(gw, DHCP6_RENEWING, wanted(gw) | 1 << DHCP6_NA, 0);
	else
		begin(gw, DHCP6_SOLICITING, wanted(gw) | 1 << DHCP6_NA, 0);
	c->due_us += s * SECOND;
}

/* --- timers -------------------------------------------------------------------------------------
 */

/* Nobody has said whether the leases hold on this link: they stay (section 18.2.3). */
static void end_confirming(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	if (gw->clock.us < c->t2_us)
		resume(gw);
	else
		begin(gw, DHCP6_REBINDING, wanted(gw), 0);
}

/* True, and the next state is there, when an exchange ends without an answer. */
static bool gives_up(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	uint32_t most = timing[c->state].tries;
	bool over = (most && c->tries >= most) || gw->clock.us >= c->end_us;
	if (!over)
		return false;
	switch (c->state) {
	case DHCP6_REQUESTING:
		refuse(gw, "does not answer a request", 0);
		if (dhcp6_bind_any(c))
			begin(gw, DHCP6_REBINDING, wanted(gw), 0);
		else
			solicit_later(gw);
		break;
	case DHCP6_RENEWING:
		begin(gw, DHCP6_REBINDING, wanted(gw), 0);
		break;
	case DHCP6_CONFIRMING:
		end_confirming(gw);
		break;
	case DHCP6_DECLINING:
		end_declining(gw);
		break;
	default:
		rest(gw, DHCP6_RELEASED, NEVER);
		break;
	}
	return true;
}

/* The state has something to do. */
static void act(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	switch (c->state) {
	case DHCP6_BOUND:
		begin(gw, gw->clock.us < c->t2_us ? DHCP6_RENEWING : DHCP6_REBINDING, wanted(gw),
		      0);
		break;
	case DHCP6_INFORMED:
		begin(gw, DHCP6_INFORMING, 0, DELAY_MS);
		break;
	case DHCP6_SOLICITING:
		if (c->offer_rank) {
			request(gw);
			return;
		}
		transmit(gw);
		return;
	default:
		if (!gives_up(gw))
			transmit(gw);
		return;
	}
}

/* True when there was time for a router to say what is wanted. */
static bool knows_enough(const struct gw *gw)
{
	const struct dhcp6_client *c = &gw->dhcp6;
	return !gw->autoconf.on || gw->autoconf.heard != c->heard ||
	       gw->clock.us - c->ready_us >= RA_WAIT_MS * 1000ull;
}

/* What is wanted may have changed: by an advertisement, or by the configuration. */
static void follow_wishes(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	uint8_t ias = wanted(gw);
	switch (c->state) {
	case DHCP6_IDLE:
		if (ias && knows_enough(gw))
			solicit(gw);
		else if (!ias && wants_other(gw))
			begin(gw, DHCP6_INFORMING, 0, DELAY_MS);
		break;
	case DHCP6_SOLICITING:
		if (ias & ~c->asks)
			solicit(gw);
		else if (!ias)
			rest(gw, DHCP6_IDLE, NEVER);
		break;
	case DHCP6_INFORMING:
	case DHCP6_INFORMED:
		if (!ias && wants_other(gw))
			break;
		dhcp6_bind_servers(c, NULL);
		rest(gw, DHCP6_IDLE, NEVER);
		break;
	case DHCP6_BOUND:
		if (ias & ~c->asks)
			begin(gw, DHCP6_RENEWING, ias, 0);
		break;
	default:
		break;
	}
}

/* `wan.address auto` is gone: so is what it gave. */
static void leave_unwanted(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	if (gw->autoconf.on || c->bound[DHCP6_NA].n == 0)
		return;
	dhcp6_bind_clear(gw, DHCP6_NA, "not wanted any more");
	c->asks &= 1 << DHCP6_PD;
}

/* The carrier came up: this may be another link (section 18.2.12). */
static void look_around(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	c->came_up = false;
	if (c->state == DHCP6_OFF || c->state == DHCP6_RELEASED || c->state == DHCP6_RELEASING)
		return;
	c->heard = gw->autoconf.heard;
	c->rebinds = c->bound[DHCP6_PD].n > 0;
	if (dhcp6_bind_any(c))
		begin(gw, DHCP6_CONFIRMING, c->rebinds ? wanted(gw) | held(c) : held(c), DELAY_MS);
	else
		rest(gw, DHCP6_IDLE, NEVER);
}

/* True when messages can be sent: the link-local address is valid. */
static bool is_ready(struct gw *gw)
{
	const struct interface *at = &gw->iface[IF_WAN];
	bool ready = at->carrier && at->n_addr6 && at->addr6[0].state == ADDRESS6_VALID;
	if (!ready)
		gw->dhcp6.ready_us = 0;
	else if (gw->dhcp6.ready_us == 0)
		gw->dhcp6.ready_us = gw->clock.us;
	return ready;
}

void dhcp6_tick(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	if (c->state == DHCP6_OFF)
		return;
	leave_unwanted(gw);
	if (dhcp6_bind_expire(gw) && !dhcp6_bind_any(c) && c->state != DHCP6_RELEASED) {
		dhcp6_bind_servers(c, NULL);
		solicit(gw);
	}
	dhcp6_use_follow(gw);
	if (c->came_up)
		look_around(gw);
	if (!is_ready(gw))
		return;
	uint32_t i = dhcp6_use_duplicate(gw);
	if (i != DHCP6_NO_LEASE) {
		conflict(gw, i);
		dhcp6_use_follow(gw);
	}
	follow_wishes(gw);
	if (c->state != DHCP6_IDLE && gw->clock.us >= c->due_us)
		act(gw);
}

bool dhcp6_is_busy(const struct gw *gw)
{
	const struct dhcp6_client *c = &gw->dhcp6;
	return c->state > DHCP6_IDLE && c->due_us < gw->clock.us + SECOND;
}

/* --- console ------------------------------------------------------------------------------------
 */

static const char *release(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	if (c->state == DHCP6_OFF || (!dhcp6_bind_any(c) && !wanted(gw)))
		return "there is nothing of a DHCPv6 server";
	if (c->state == DHCP6_RELEASING || c->state == DHCP6_RELEASED)
		return "there is no lease";
	if (!dhcp6_bind_any(c)) {
		rest(gw, DHCP6_RELEASED, NEVER);
		return NULL;
	}
	memcpy(c->given_back, c->bound, sizeof c->given_back);
	begin(gw, DHCP6_RELEASING, held(c), 0);
	transmit(gw);
	lose(gw, "released");
	return NULL;
}

static const char *renew(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	if (c->state == DHCP6_OFF || c->state == DHCP6_IDLE)
		return "there is nothing to ask a DHCPv6 server for";
	if (!gw->iface[IF_WAN].carrier)
		return "wan has no carrier";
	c->fails = 0;
	if (c->state == DHCP6_INFORMED)
		begin(gw, DHCP6_INFORMING, 0, 0);
	else if (!dhcp6_bind_any(c))
		solicit(gw);
	else
		begin(gw, gw->clock.us < c->t2_us ? DHCP6_RENEWING : DHCP6_REBINDING, wanted(gw),
		      0);
	return NULL;
}

const char *dhcp6_release_all(struct gw *gw)
{
	const char *four = dhcp_release(gw), *six = release(gw);
	return four && six ? four : NULL;
}

const char *dhcp6_renew_all(struct gw *gw)
{
	const char *four = dhcp_renew(gw), *six = renew(gw);
	return four && six ? four : NULL;
}
