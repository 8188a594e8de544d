/* See vlan.h. */
#include "net/vlan/vlan.h"

#include "kernel/lib/alloc.h"

/* The type and the tag of a frame as one word in wire order. */
#define TAG_AT      12u
#define TAG_OF(n)   swap32((uint32_t)ETH_VLAN << 16 | (n))
#define TAG_END     (TAG_AT + VLAN_TAG + 2u) /* bytes of an Ethernet header with a tag */
#define TYPE_OF(at) load16((at) + TAG_AT)

const char *vlan_init(struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		gw->iface[i].vlan = net_config(gw->config)->iface[i].card.vlan;
		struct interface *first = &gw->iface[gw->iface[i].card];
		if (gw->iface[i].vlan == 0 || first->vlans)
			continue;
		first->vlans = alloc(sizeof *first->vlans, 64);
		if (!first->vlans)
			return "not enough memory for VLANs";
		memset(first->vlans, VLAN_NO_ONES, sizeof *first->vlans);
	}
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		struct vlan_card *vlans = gw->iface[gw->iface[i].card].vlans;
		if (vlans && gw->iface[i].present)
			vlans->of[gw->iface[i].vlan] = (uint8_t)i;
	}
	return NULL;
}

/* --- in -------------------------------------------------------------------------------- */

/* Moves the MAC addresses of a frame over its tag. */
ALWAYS_INLINE void strip(struct pkt *p)
{
	uint8_t *at = p->data;
	uint32_t a = load32(at), b = load32(at + 4), c = load32(at + 8);
	store32(at + 4, a);
	store32(at + 8, b);
	store32(at + 12, c);
	p->data = at + VLAN_TAG;
	p->len -= VLAN_TAG;
}

/* The same for a frame that came in. */
ALWAYS_INLINE void take_off(struct pkt *p)
{
	strip(p);
	p->flags |= PKT_UNTAGGED;
}

/* The word of a frame that TAG_OF makes, with its priority; 0 for a frame without a tag. */
ALWAYS_INLINE uint32_t tag_of(const struct pkt *p)
{
	if (p->len < TAG_END || TYPE_OF(p->data) != swap16(ETH_VLAN))
		return 0;
	return load32(p->data + TAG_AT);
}

/* Takes the tags off as many frames as have this one, and counts them for an interface. Another
 * priority ends the run too. Gives their number. */
ALWAYS_INLINE uint32_t take_run(struct interface *in, uint32_t iface, uint32_t tag,
                                struct pkt **burst, uint32_t n)
{
	struct pkt **at = burst, **end = burst + n;
	uint32_t bytes = 0;
	do {
		struct pkt *p = *at;
		uint32_t len = p->len;
		if (UNLIKELY(len < TAG_END) || load32(p->data + TAG_AT) != tag)
			break;
		bytes += len - VLAN_TAG;
		strip(p);
		p->iface = (uint8_t)iface;
		p->flags = PKT_UNTAGGED; /* a plain frame of a card has no flags */
	} while (++at != end);
	in->rx_packets += (uint32_t)(at - burst);
	in->rx_bytes += bytes;
	return (uint32_t)(at - burst);
}

/* True for the type of a frame, in wire order, that has a tag. */
static bool is_tag(uint16_t type)
{
	return type == swap16(ETH_VLAN) || type == swap16(ETH_PROVIDER);
}

/* How many frames in a row have the tag of the first one. */
static uint32_t alike(struct pkt **burst, uint32_t n)
{
	uint32_t k = 1;
	while (k < n && tag_of(burst[k]) == tag_of(burst[0]))
		k++;
	return k;
}

static __attribute__((noinline)) void drop_run(struct gw *gw, struct pkt **burst, uint32_t n,
                                               enum drop reason)
{
	for (; n > 0; n--, burst++) {
		if ((*burst)->flags & PKT_PARTIAL)
			(*burst)->segments = 1; /* nobody has looked at it */
		gw_discard(gw, *burst, reason);
	}
}

/* The interface of a tag; VLAN_NO_ONES where there is none. */
static inline uint32_t interface_of(const struct vlan_card *c, uint32_t tag)
{
	return c->of[tag ? swap32(tag) & (VLAN_IDS - 1) : 0];
}

/* Why a frame of no interface is dropped: its VLAN is not ours, or it is in none. */
static inline enum drop nobodys(uint32_t tag)
{
	return tag & TAG_OF(0xfffu) & ~TAG_OF(0) ? DROP_VLAN : DROP_VLAN_UNTAGGED;
}

/* Takes the tag off a partial packet. False when its card says that its transport header lies
 * inside of the tag. */
static bool strip_partial(struct pkt *p)
{
	if (p->l4 < TAG_END)
		return false;
	strip(p);
	p->total -= VLAN_TAG;
	p->l4 = (uint16_t)(p->l4 - VLAN_TAG);
	return true;
}

static __attribute__((noinline)) void input_partial(struct gw *gw, uint32_t card,
                                                    struct pkt **burst, uint32_t n)
{
	for (; n > 0; n--, burst++) {
		uint32_t tag = tag_of(*burst), iface = interface_of(gw->iface[card].vlans, tag);
		if (UNLIKELY(iface == VLAN_NO_ONES)) {
			drop_run(gw, burst, 1, nobodys(tag));
			continue;
		}
		if (tag && UNLIKELY(!strip_partial(*burst))) {
			drop_run(gw, burst, 1, DROP_OFFLOAD);
			continue;
		}
		if (tag)
			(*burst)->flags |= PKT_UNTAGGED;
		gw_input_partial(gw, iface, burst, 1);
	}
}

void vlan_input(struct gw *gw, uint32_t card, struct pkt **burst, uint32_t n)
{
	if (UNLIKELY(burst[0]->flags & PKT_PARTIAL)) {
		input_partial(gw, card, burst, n);
		return;
	}
	for (uint32_t k; n > 0; burst += k, n -= k) {
		uint32_t tag = tag_of(*burst), iface = interface_of(gw->iface[card].vlans, tag);
		if (UNLIKELY(iface == VLAN_NO_ONES)) {
			k = alike(burst, n);
			drop_run(gw, burst, k, nobodys(tag));
		} else if (!tag) {
			k = alike(burst, n);
			gw_input(gw, iface, burst, k);
		} else {
			k = take_run(&gw->iface[iface], iface, tag, burst, n);
			gw_input_counted(gw, iface, burst, k);
		}
	}
}

void vlan_unexpected(struct gw *gw, const struct interface *in, struct pkt *p)
{
	if (!pkt_push(p, sizeof(struct eth_hdr))) { /* not seen: the header was there */
		gw_discard(gw, p, DROP_RUNT);
		return;
	}
	enum drop wrong = DROP_NONE;
	bool provider = TYPE_OF(p->data) == swap16(ETH_PROVIDER);
	if (!provider && p->len < TAG_END)
		wrong = DROP_RUNT;
	else if (provider || gw->iface[in->card].vlans)
		wrong = DROP_VLAN_NESTED;
	else if (nobodys(tag_of(p)) == DROP_VLAN)
		wrong = DROP_VLAN;
	else if (is_tag(load16(p->data + TAG_END - 2)))
		wrong = DROP_VLAN_NESTED;
	if (wrong != DROP_NONE) {
		gw_discard(gw, p, wrong);
		return;
	}
	take_off(p);
	gw_frame(gw, p);
}

/* --- out ------------------------------------------------------------------------------- */

/* Moves the MAC addresses of a frame forward and puts a tag behind them. */
ALWAYS_INLINE void put_tag(struct pkt *p, uint32_t tag)
{
	uint8_t *at = p->data - VLAN_TAG;
	uint32_t a = load32(at + 4), b = load32(at + 8), c = load32(at + 12);
	store32(at, a);
	store32(at + 4, b);
	store32(at + 8, c);
	store32(at + TAG_AT, tag);
	p->data = at;
	p->len += VLAN_TAG;
}

static __attribute__((noinline)) void tag_partial(struct pkt **burst, uint32_t n, uint32_t tag)
{
	for (struct pkt **at = burst; at != burst + n; at++) {
		struct pkt *p = *at;
		put_tag(p, tag);
		if (!(p->flags & PKT_PARTIAL))
			continue;
		p->total += VLAN_TAG;
		p->l4 = (uint16_t)(p->l4 + VLAN_TAG);
	}
}

void vlan_tag(const struct interface *iface, struct pkt **burst, uint32_t n)
{
	uint32_t tag = TAG_OF(iface->vlan);
	if (UNLIKELY(iface->partial)) {
		tag_partial(burst, n, tag);
		return;
	}
	for (struct pkt **at = burst; at != burst + n; at++)
		put_tag(*at, tag);
}

void vlan_untag(const struct interface *iface, struct pkt **burst, uint32_t n)
{
	(void)iface;
	for (struct pkt **at = burst; at != burst + n; at++) {
		struct pkt *p = *at;
		if (p->flags & PKT_PARTIAL)
			(void)strip_partial(p);
		else
			strip(p);
	}
}
