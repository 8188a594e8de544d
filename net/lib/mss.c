/* See mss.h. */
#include "net/lib/mss.h"

#include "net/lib/csum.h"
#include "net/lib/wire.h"

enum { OPT_END = 0, OPT_NOP = 1, OPT_MSS = 2, OPT_MSS_LEN = 4 };

/* The MSS value among the options [at, end) of a TCP header; NULL when there is none or an option
 * before it is malformed. */
static uint8_t *find_mss(uint8_t *at, const uint8_t *end)
{
	while (at < end && *at != OPT_END) {
		if (*at == OPT_NOP) {
			at++;
			continue;
		}
		if (end - at < 2 || at[1] < 2 || at[1] > end - at)
			return NULL;
		if (at[0] == OPT_MSS)
			return at[1] == OPT_MSS_LEN ? at + 2 : NULL;
		at += at[1];
	}
	return NULL;
}

void mss_clamp(struct pkt *p, uint16_t most)
{
	if (p->proto != PROTO_TCP || p->flags & PKT_LATER || p->l4_len < sizeof(struct tcp_hdr))
		return;
	struct tcp_hdr *tcp = (struct tcp_hdr *)(p->data + p->l4);
	uint32_t hlen = (uint32_t)(tcp->offset >> 4) * 4;
	if (!(tcp->flags & TCP_SYN) || hlen < sizeof *tcp || hlen > p->l4_len)
		return;
	uint8_t *start = (uint8_t *)tcp, *mss = find_mss(start + sizeof *tcp, start + hlen);
	if (!mss || be16_get(be16_from_raw(load16(mss))) <= most)
		return;
	/* The option may stand at an odd offset; then the sum sees its bytes swapped. */
	uint16_t was = load16(mss), is = swap16(most);
	store16(mss, is);
	if ((mss - start) % 2) {
		was = swap16(was);
		is = swap16(is);
	}
	tcp->sum = csum_apply(tcp->sum, csum_delta16(was, is));
}
