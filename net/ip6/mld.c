/* See mld.h. */
#include "net/ip6/mld.h"

#include "kernel/lib/when.h"
#include "net/ip6/icmp6.h"
#include "net/ip6/ip6.h"

#define ROBUSTNESS   2u              /* unsolicited reports of each change, RFC 3810 section 9.1 */
#define UNASKED_MS   1000u           /* longest wait before each, section 9.11 */
#define OLD_ASKER_MS 260000u         /* how long an MLDv1 router is remembered, section 9.12 */
#define LONGEST_MS   (0x1fffu << 10) /* longest wait that a query can request, section 5.1.3 */
#define LONG_QUERY   28u             /* shortest length of an MLDv2 query, section 8.1 */

/* Record types (RFC 3810 section 5.2.12). Without a list of sources, EXCLUDE means to
 * listen and INCLUDE means not to listen. */
enum { IS_EXCLUDE = 2, TO_INCLUDE = 3, TO_EXCLUDE = 4 };

const ip6 mld_all_nodes = {{0xff, 2, [15] = 1}};
const ip6 mld_all_routers = {{0xff, 2, [15] = 2}};
static const ip6 mld2_routers = {{0xff, 2, [15] = 0x16}};

ip6 mld_solicited(const ip6 *a)
{
	return (ip6){{0xff, 2, [11] = 1, [12] = 0xff, a->b[13], a->b[14], a->b[15]}};
}

static struct mld_group *find(struct interface *iface, const ip6 *group)
{
	for (uint32_t i = 0; i < iface->n_groups; i++)
		if (ip6_eq(&iface->group[i].addr, group))
			return &iface->group[i];
	return NULL;
}

bool mld_member(const struct interface *iface, const ip6 *group)
{
	if (ip6_eq(group, &mld_all_nodes))
		return true;
	for (uint32_t i = 0; i < iface->n_groups; i++)
		if (iface->group[i].users && ip6_eq(&iface->group[i].addr, group))
			return true;
	return false;
}

static void changed(struct gw *gw, struct mld_group *g)
{
	g->changes = ROBUSTNESS;
	g->due_ms = gw->clock.ms + rng_below(gw->rng, UNASKED_MS);
}

void mld_join(struct gw *gw, uint32_t iface, const ip6 *group)
{
	struct interface *at = &gw->iface[iface];
	struct mld_group *g = find(at, group);
	if (!g && at->n_groups == MLD_GROUPS)
		return;
	if (!g) {
		g = &at->group[at->n_groups++];
		*g = (struct mld_group){.addr = *group};
	}
	if (g->users++)
		return;
	changed(gw, g);
	at->groups_changed = true;
}

void mld_leave(struct gw *gw, uint32_t iface, const ip6 *group)
{
	struct interface *at = &gw->iface[iface];
	struct mld_group *g = find(at, group);
	if (!g || g->users == 0 || --g->users)
		return;
	g->asked = false;
	changed(gw, g);
	at->groups_changed = true;
}

void mld_announce(struct gw *gw, uint32_t iface)
{
	for (uint32_t i = 0; i < gw->iface[iface].n_groups; i++)
		changed(gw, &gw->iface[iface].group[i]);
}

uint32_t mld_filter(const struct interface *iface, mac out[static MLD_GROUPS + 1])
{
	uint32_t n = 0;
	if (iface->n_addr6)
		out[n++] = (mac){{0x33, 0x33, 0, 0, 0, 1}};
	for (uint32_t i = 0; i < iface->n_groups; i++) {
		const uint8_t *a = iface->group[i].addr.b;
		if (iface->group[i].users)
			out[n++] = (mac){{0x33, 0x33, a[12], a[13], a[14], a[15]}};
	}
	return n;
}

/* --- reports ---------------------------------------------------------------------- */

/* Sends a message of n bytes with the router alert option. It makes routers look at the
 * message that do not listen to the group (RFC 3810 section 5). */
static void send(struct gw *gw, uint32_t iface, const ip6 *to, const void *message, uint32_t n)
{
	static const ip6 unspecified;
	static const uint8_t alert[8] = {PROTO_ICMP6, 0, IP6_OPT_ALERT, 2, 0, 0, IP6_OPT_PADN, 0};
	const struct address6 *own = &gw->iface[iface].addr6[0];
	void *room;
	struct pkt *p = icmp6_new(gw, sizeof alert + n, &room);
	if (!p)
		return;
	memcpy(room, alert, sizeof alert);
	memcpy((uint8_t *)room + sizeof alert, message, n);
	ip6_build(p, own->state == ADDRESS6_VALID ? &own->addr : &unspecified, to, PROTO_HOP_BY_HOP,
	          1);
	p->l4 += sizeof alert;
	p->l4_len = (uint16_t)n;
	p->proto = PROTO_ICMP6;
	ip6_sum(p, offsetof(struct icmp6_hdr, sum));
	ip6_send_group(gw, iface, p);
}

static void report_v1(struct gw *gw, uint32_t iface, const struct mld_group *g)
{
	struct mld_msg m = {.type = g->users ? ICMP6_MLD_REPORT : ICMP6_MLD_DONE, .group = g->addr};
	send(gw, iface, g->users ? &g->addr : &mld_all_routers, &m, sizeof m);
}

/* A report was sent: sets the time of the next one, if any. A group that was left is
 * removed then. */
static void reported(struct gw *gw, struct interface *iface, struct mld_group *g)
{
	g->asked = false;
	if (g->changes)
		g->changes--;
	if (g->changes)
		g->due_ms = gw->clock.ms + rng_below(gw->rng, UNASKED_MS);
	else if (g->users == 0)
		*g = iface->group[--iface->n_groups];
}

static bool is_due(const struct gw *gw, const struct mld_group *g)
{
	return (g->changes || g->asked) && when_come(gw->clock.ms, g->due_ms, LONGEST_MS);
}

static void tick_iface(struct gw *gw, uint32_t i)
{
	struct interface *iface = &gw->iface[i];
	struct {
		struct mld2_report head;
		struct mld2_record record[MLD_GROUPS];
	} m; /* of the records as many bytes count as are written */
	uint32_t n = 0;
	m.head = (struct mld2_report){.type = ICMP6_MLD2_REPORT};
	if (iface->mld_v1 && when_come(gw->clock.ms, iface->mld_v1_ms, OLD_ASKER_MS))
		iface->mld_v1 = false;
	/* Backwards, because the last group moves to the place of a removed one. */
	for (uint32_t k = iface->n_groups; k-- > 0;) {
		struct mld_group *g = &iface->group[k];
		if (!is_due(gw, g))
			continue;
		if (iface->mld_v1)
			report_v1(gw, i, g);
		else
			m.record[n++] = (struct mld2_record){
			        .type = !g->users    ? TO_INCLUDE
			                : g->changes ? TO_EXCLUDE
			                             : IS_EXCLUDE,
			        .group = g->addr,
			};
		reported(gw, iface, g);
	}
	m.head.n_records = be16_of((uint16_t)n);
	if (n)
		send(gw, i, &mld2_routers, &m, (uint32_t)(sizeof m.head + n * sizeof m.record[0]));
}

void mld_tick(struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (gw->iface[i].carrier && gw->iface[i].n_addr6)
			tick_iface(gw, i);
}

bool mld_is_busy(const struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		for (uint32_t k = 0; gw->iface[i].carrier && k < gw->iface[i].n_groups; k++)
			if (gw->iface[i].group[k].changes || gw->iface[i].group[k].asked)
				return true;
	return false;
}

/* --- queries ----------------------------------------------------------------------- */

/* The longest wait in milliseconds; in an MLDv2 query it may be a floating-point number
 * (RFC 3810 section 5.1.3). */
static uint32_t longest_wait(uint32_t code, bool v2)
{
	if (!v2 || code < 0x8000)
		return code;
	return ((code & 0xfff) | 0x1000) << ((code >> 12 & 7) + 3);
}

/* Schedules an answer. A report that is due earlier answers the query too. */
static void answer(struct gw *gw, struct mld_group *g, uint32_t wait_ms)
{
	bool sooner = g->asked && when_left(gw->clock.ms, g->due_ms, LONGEST_MS) <= wait_ms;
	if (g->users == 0 || g->changes || sooner)
		return;
	g->asked = true;
	g->due_ms = gw->clock.ms + wait_ms;
}

static void query(struct gw *gw, struct interface *iface, const struct mld_msg *m, bool v2)
{
	uint32_t most = longest_wait(be16_get(m->wait), v2) + 1;
	uint32_t together = rng_below(gw->rng, most);
	bool v1_before = iface->mld_v1;
	if (!v2) {
		iface->mld_v1 = true;
		iface->mld_v1_ms = gw->clock.ms + OLD_ASKER_MS;
	}
	for (uint32_t i = 0; i < iface->n_groups; i++) {
		struct mld_group *g = &iface->group[i];
		if (iface->mld_v1 != v1_before) /* RFC 3810 section 8.3.1 */
			g->asked = false;
		if (!ip6_is_unspecified(&m->group) && !ip6_eq(&m->group, &g->addr))
			continue;
		/* MLDv2 has all groups in one report, MLDv1 sends one report for each. */
		answer(gw, g, iface->mld_v1 ? rng_below(gw->rng, most) : together);
	}
}

/* True when the hop-by-hop header has the router alert option of MLD. */
static bool has_alert(const struct pkt *p)
{
	const uint8_t *h = pkt_at(p, IP6_MIN, 8);
	if (!h || ip6_header(p)->next != PROTO_HOP_BY_HOP)
		return false;
	uint32_t end = (h[1] + 1u) * 8; /* within the packet: ip6_parse walked over it */
	for (uint32_t i = 2; i + 4 <= end;) {
		if (h[i] == IP6_OPT_ALERT)
			return h[i + 1] == 2 && h[i + 2] == 0 && h[i + 3] == 0;
		i += h[i] == IP6_OPT_PAD1 ? 1 : h[i + 1] + 2u;
	}
	return false;
}

enum drop mld_input(struct gw *gw, const struct pkt *p)
{
	const struct mld_msg *m = (const struct mld_msg *)pkt_at(p, p->l4, sizeof *m);
	/* RFC 3810 sections 5.1.14 and 6.2; an MLDv1 message has 24 bytes. */
	if (!m || p->iface >= INTERFACES || ip6_header(p)->hops != 1 ||
	    !ip6_is_link_local(&ip6_header(p)->from) || !has_alert(p) ||
	    (p->l4_len != sizeof *m && p->l4_len < LONG_QUERY))
		return DROP_MLD;
	struct interface *iface = &gw->iface[p->iface];
	if (m->type == ICMP6_MLD_QUERY) {
		query(gw, iface, m, p->l4_len >= LONG_QUERY);
		return DROP_NONE;
	}
	/* Another host reported the group, so our report is not needed (RFC 2710 section
	 * 4). */
	struct mld_group *g = find(iface, &m->group);
	if (m->type != ICMP6_MLD_REPORT || !iface->mld_v1 || !g)
		return DROP_MLD;
	g->asked = false;
	return DROP_NONE;
}
