/* Partial packets of IPv6 that become IPv4. See xlat_packet.h. */
#include "apps/translate/xlat_packet.h"
#include "net/offload/offload.h"

/* True for a super-segment of which the last segment alone, which is shorter, gets no DF. */
static bool last_has_no_df(const struct pkt *p)
{
	if (!p->segment)
		return false;
	uint32_t header = offload_header(p) - (uint32_t)sizeof(struct eth_hdr) - IP6_MIN + IP4_MIN;
	return xlat_df(header + offload_last_bytes(p)) != xlat_df(header + p->segment);
}

bool xlat_partial64(struct gw *gw, uint32_t iface, struct pkt *p, xlat_pass_partial *pass)
{
	if (!last_has_no_df(p))
		return pass(gw, iface, p);
	struct pkt *last = offload_last(gw->pool, p);
	if (!last)
		return false;
	if (!pass(gw, iface, p))
		gw_input_cut(gw, iface, p);
	if (!pass(gw, iface, last))
		gw_input_cut(gw, iface, last);
	return true;
}
