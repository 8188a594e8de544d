/* See dns64_host.h. */
#include "apps/dns64/policy/dns64_host.h"

/* Reads a label that is a number of 0 to 255 without leading zeros (RFC 1035 section 3.5). Gives
 * the next label; NULL when it is none. */
static const uint8_t *octet(const uint8_t *label, uint8_t *out)
{
	uint32_t n = *label, v = 0;
	if (n < 1 || n > 3 || (n > 1 && label[1] == '0'))
		return NULL;
	for (uint32_t i = 1; i <= n; i++) {
		if (label[i] < '0' || label[i] > '9')
			return NULL;
		v = v * 10 + label[i] - '0';
	}
	*out = (uint8_t)v;
	return v <= 255 ? label + n + 1 : NULL;
}

/* Reads the address of a name in in-addr.arpa. False: it is no such name, or no whole address. */
static bool address_of(const struct dns64_query *u, ip4 *out)
{
	static const uint8_t tail[] = "\7in-addr\4arpa";
	const uint8_t *name = (const uint8_t *)u->q->name.word, *end = name + u->q->name.len;
	for (uint32_t i = 4; name && i-- > 0;)
		name = octet(name, &out->b[i]);
	return name && (size_t)(end - name) == sizeof tail && memcmp(name, tail, sizeof tail) == 0;
}

bool dns64_host_plan(const struct dns64_policy *y, const struct dns64_query *u,
                     struct dns64_plan *p)
{
	ip4 addr;
	bool reverse = address_of(u, &addr);
	if (reverse ? !y->host_by_address(y->hosts, addr, &p->host)
	            : !y->host_by_name(y->hosts, (const uint8_t *)u->q->name.word, &p->host))
		return false;
	p->how = DNS64_HOW_LOCAL;
	p->local = DNS64_L_HOST_NODATA;
	p->host.ttl = min_u32(p->host.ttl, DNS64_HOST_TTL);
	if (!reverse && u->qtype == DNS_TYPE_A)
		p->local = DNS64_L_HOST;
	if (reverse && u->qtype == DNS_TYPE_PTR)
		p->local = DNS64_L_HOST_PTR;
	return true;
}
