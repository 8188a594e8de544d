/* See dhcp6_answer.h. */
#include "net/dhcp6/dhcp6_answer.h"

#include "kernel/lib/addr.h"
#include "net/ip6/ip6_address.h"

/* Prefixes of the Internet's providers are no shorter than this, and a route for the rest of a
 * shorter one would cut off too much. */
#define SHORTEST 32u

/* RFC 8415 sections 21.24 and 21.25: bounds of SOL_MAX_RT and INF_MAX_RT. */
#define MAX_RT_LEAST 60u
#define MAX_RT_MOST  86400u

#define REFRESH_LEAST 600u /* section 21.23: IRT_MINIMUM */

/* --- leases -------------------------------------------------------------------------------------
 */

/* A status; 0 where there is none. */
static uint16_t status_in(struct dhcp6_options o)
{
	struct dhcp6_option s;
	return dhcp6_find(o, DHCP6_STATUS, &s) && s.len >= 2 ? dhcp6_u16(s.data) : DHCP6_SUCCESS;
}

static void add_lease(struct dhcp6_ia_answer *ia, const struct dhcp6_lease *l)
{
	bool wrong = ip6_is_special(&l->addr) || l->preferred_s > l->valid_s;
	for (uint32_t i = 0; i < ia->n; i++)
		wrong |= ia->lease[i].len == l->len && ip6_eq(&ia->lease[i].addr, &l->addr);
	if (!wrong && ia->n < DHCP6_LEASES)
		ia->lease[ia->n++] = *l;
}

/* Section 21.6. A status in it says that the address is not given. */
static void read_address(struct dhcp6_ia_answer *ia, const struct dhcp6_option *o)
{
	struct dhcp6_lease l = {.len = 128};
	if (o->len < 24)
		return;
	memcpy(&l.addr, o->data, sizeof l.addr);
	l.preferred_s = dhcp6_u32(o->data + 16);
	l.valid_s = dhcp6_u32(o->data + 20);
	struct dhcp6_options in = {o->data + 24, o->len - 24u};
	if (status_in(in) == DHCP6_SUCCESS)
		add_lease(ia, &l);
}

/* Section 21.22. */
static void read_prefix(struct dhcp6_ia_answer *ia, const struct dhcp6_option *o)
{
	struct dhcp6_lease l = {.len = 0};
	if (o->len < 25)
		return;
	l.preferred_s = dhcp6_u32(o->data);
	l.valid_s = dhcp6_u32(o->data + 4);
	l.len = o->data[8];
	memcpy(&l.addr, o->data + 9, sizeof l.addr);
	struct dhcp6_options in = {o->data + 25, o->len - 25u};
	if (l.len < SHORTEST || l.len > 128 || status_in(in) != DHCP6_SUCCESS)
		return;
	l.addr = addr_net6(&l.addr, l.len);
	add_lease(ia, &l);
}

/* Sections 21.4 and 21.21. */
static void read_ia(struct dhcp6_answer *a, const struct dhcp6_option *o)
{
	struct dhcp6_ia_answer *ia = &a->ia[o->code == DHCP6_IA_PD ? DHCP6_PD : DHCP6_NA];
	if (o->len < 12 || dhcp6_u32(o->data) != DHCP6_IAID || ia->given)
		return;
	uint32_t t1 = dhcp6_u32(o->data + 4), t2 = dhcp6_u32(o->data + 8);
	struct dhcp6_options in = {o->data + 12, o->len - 12u};
	struct dhcp6_option one;
	if ((t1 > t2 && t2 > 0) || !dhcp6_whole(in))
		return;
	ia->given = true;
	ia->t1_s = t1;
	ia->t2_s = t2;
	ia->status = status_in(in);
	while (dhcp6_next(&in, &one)) {
		if (one.code == DHCP6_IA_ADDRESS && o->code == DHCP6_IA_NA)
			read_address(ia, &one);
		else if (one.code == DHCP6_IA_PREFIX && o->code == DHCP6_IA_PD)
			read_prefix(ia, &one);
	}
	if (ia->status != DHCP6_SUCCESS)
		ia->n = 0;
}

/* --- the rest -----------------------------------------------------------------------------------
 */

/* RFC 3646 section 3. */
static void read_dns(struct dhcp6_answer *a, const struct dhcp6_option *o)
{
	if (o->len % sizeof(ip6) || a->has_dns)
		return;
	a->has_dns = true;
	for (uint32_t at = 0; at < o->len && a->n_dns < DHCP6_SERVERS; at += sizeof(ip6)) {
		ip6 *server = &a->dns[a->n_dns];
		memcpy(server, o->data + at, sizeof *server);
		a->n_dns += !ip6_is_special(server);
	}
}

static uint32_t bounded(const struct dhcp6_option *o, uint32_t least, uint32_t most)
{
	uint32_t s = o->len == 4 ? dhcp6_u32(o->data) : 0;
	return s >= least && s <= most ? s : 0;
}

static void read_option(struct dhcp6_answer *a, const struct dhcp6_option *o)
{
	switch (o->code) {
	case DHCP6_IA_NA:
	case DHCP6_IA_PD:
		read_ia(a, o);
		break;
	case DHCP6_PREFERENCE:
		a->preference = o->len == 1 ? o->data[0] : a->preference;
		break;
	case DHCP6_RAPID_COMMIT:
		a->rapid = o->len == 0;
		break;
	case DHCP6_STATUS:
		a->status = o->len >= 2 ? dhcp6_u16(o->data) : a->status;
		break;
	case DHCP6_DNS:
		read_dns(a, o);
		break;
	case DHCP6_SOL_MAX_RT:
		a->sol_max_s = bounded(o, MAX_RT_LEAST, MAX_RT_MOST);
		break;
	case DHCP6_INF_MAX_RT:
		a->inf_max_s = bounded(o, MAX_RT_LEAST, MAX_RT_MOST);
		break;
	case DHCP6_REFRESH:
		a->refresh_s =
		        o->len == 4 ? max_u32(dhcp6_u32(o->data), REFRESH_LEAST) : a->refresh_s;
		break;
	default:
		break;
	}
}

const char *dhcp6_answer_read(struct dhcp6_answer *a, const uint8_t *data, uint32_t len,
                              const uint8_t duid[static DHCP6_DUID_LEN])
{
	struct dhcp6_options all = {data + DHCP6_HEADER, len - DHCP6_HEADER};
	struct dhcp6_option o;
	*a = (struct dhcp6_answer){.type = data[0]};
	if (!dhcp6_whole(all))
		return "an option does not end in it";
	if (!dhcp6_find(all, DHCP6_CLIENT_ID, &o) || o.len != DHCP6_DUID_LEN ||
	    memcmp(o.data, duid, DHCP6_DUID_LEN) != 0)
		return "it is for another client";
	if (!dhcp6_find(all, DHCP6_SERVER_ID, &o) || o.len < 3 || o.len > sizeof a->server)
		return "it names no server";
	memcpy(a->server, o.data, o.len);
	a->server_len = o.len;
	while (dhcp6_next(&all, &o))
		read_option(a, &o);
	return NULL;
}

/* True when an association of an answer has a lease that is valid. */
static bool gives(const struct dhcp6_answer *a, enum dhcp6_ia ia)
{
	for (uint32_t i = 0; i < a->ia[ia].n; i++)
		if (a->ia[ia].lease[i].valid_s)
			return true;
	return false;
}

uint32_t dhcp6_answer_rank(const struct dhcp6_answer *a, uint8_t asks)
{
	uint32_t n = 0;
	/* Servers of RFC 3315 say of the whole that there is no address, beside a prefix. */
	if (a->status != DHCP6_SUCCESS && a->status != DHCP6_NO_ADDRS &&
	    a->status != DHCP6_NO_PREFIX)
		return 0;
	if (asks & 1 << DHCP6_PD && gives(a, DHCP6_PD))
		n += 2;
	if (asks & 1 << DHCP6_NA && gives(a, DHCP6_NA))
		n += 1;
	return n ? n << 8 | a->preference : 0;
}

const char *dhcp6_answer_status_name(uint16_t status)
{
	static const char *const name[] = {
	        [DHCP6_UNSPEC_FAIL] = "UnspecFail",     [DHCP6_NO_ADDRS] = "NoAddrsAvail",
	        [DHCP6_NO_BINDING] = "NoBinding",       [DHCP6_NOT_ON_LINK] = "NotOnLink",
	        [DHCP6_USE_MULTICAST] = "UseMulticast", [DHCP6_NO_PREFIX] = "NoPrefixAvail",
	};
	return status < ARRAY_SIZE(name) && name[status] ? name[status] : "a status";
}

/* The status that says why an answer is refused. */
uint16_t dhcp6_answer_why_not(const struct dhcp6_answer *a)
{
	for (uint32_t ia = 0; ia < DHCP6_IAS; ia++)
		if (a->status == DHCP6_SUCCESS && a->ia[ia].status)
			return a->ia[ia].status;
	return a->status;
}
