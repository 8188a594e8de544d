/* See drop_log.h. */
#include "net/stats/drop_log.h"

void drop_log_note(struct drop_log *log, const struct pkt *p, enum drop reason, uint64_t now_us)
{
	struct drop_log_entry *e = &log->entry[log->n++ % DROP_LOG_ENTRIES];
	/* A received frame still has its Ethernet header in front of data. */
	const uint8_t *from = p->bytes + PKT_HEADROOM + (p->flags & PKT_UNTAGGED ? PKT_TAG : 0);
	e->frame = p->iface != PKT_IF_SELF && p->data >= from;
	if (!e->frame)
		from = p->data;
	e->reason = (uint8_t)reason;
	e->iface = p->iface;
	e->at_us = now_us;
	e->len = (uint32_t)(p->data - from) + p->len;
	e->n = (uint8_t)min_u32(e->len, DROP_LOG_BYTES);
	memcpy(e->bytes, from, e->n);
}
