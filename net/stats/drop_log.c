/* See drop_log.h. */
#include "net/stats/drop_log.h"

const uint8_t *drop_log_frame(const struct pkt *p, bool *frame)
{
	/* A received frame still has its Ethernet header in front of data. */
	const uint8_t *from = p->bytes + PKT_HEADROOM + (p->flags & PKT_UNTAGGED ? PKT_TAG : 0);
	*frame = p->iface != PKT_IF_SELF && p->data >= from;
	return *frame ? from : p->data;
}

void drop_log_note(struct drop_log *log, const struct pkt *p, enum drop reason, uint64_t now_us)
{
	struct drop_log_entry *e = &log->entry[log->n++ % DROP_LOG_ENTRIES];
	const uint8_t *from = drop_log_frame(p, &e->frame);
	e->reason = (uint8_t)reason;
	e->iface = p->iface;
	e->at_us = now_us;
	e->len = (uint32_t)(p->data - from) + p->len;
	e->n = (uint8_t)min_u32(e->len, DROP_LOG_BYTES);
	memcpy(e->bytes, from, e->n);
}
