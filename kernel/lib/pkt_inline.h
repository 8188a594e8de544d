/* The inline functions of pkt.h: short functions that handle every packet. */
#ifndef KERNEL_LIB_PKT_INLINE_H
#define KERNEL_LIB_PKT_INLINE_H

#include "kernel/seam/io.h"
#include "kernel/lib/pkt.h"

static inline uint32_t pkt_slot(uint32_t room)
{
	return (uint32_t)(offsetof(struct pkt, bytes) + PKT_HEADROOM + room + 63) & ~63u;
}

static inline uint32_t pkt_space(const struct pkt *p)
{
	return PKT_HEADROOM + p->pool->room - (uint32_t)(p->data - p->bytes);
}

static inline struct pkt *pkt_alloc(struct pool *pool)
{
	if (UNLIKELY(pool->n_free == 0))
		return NULL;
	struct pkt *p = pool->stack[--pool->n_free];
	io_unpoison(p->bytes, PKT_HEADROOM);
	p->data = p->bytes + PKT_HEADROOM;
	p->len = 0;
	p->flags = 0;
	p->owned = PKT_OWNED;
	return p;
}

static inline void pkt_free(struct pkt *p)
{
	struct pool *pool = p->pool;
	if (UNLIKELY(p->owned != PKT_OWNED))
		pkt_double_free(p);
	p->owned = PKT_FREED;
	io_poison(p->bytes, pkt_slot(pool->room) - offsetof(struct pkt, bytes));
	pool->stack[pool->n_free++] = p;
}

static inline uint32_t pkt_segments(const struct pkt *p)
{
	return p->flags & PKT_PARTIAL ? p->segments : 1;
}

static inline void pkt_free_all(struct pkt *p)
{
	for (struct pkt *next = p->flags & PKT_PARTIAL ? p->next : NULL; next;) {
		struct pkt *piece = next;
		next = piece->next;
		pkt_free(piece);
	}
	pkt_free(p);
}

static inline bool pool_keep(struct pool *pool)
{
	if (pool->kept >= pool->kept_max)
		return false;
	pool->kept++;
	return true;
}

static inline void pool_unkeep(struct pool *pool)
{
	pool->kept--;
}

static inline uint8_t *pkt_pull(struct pkt *p, uint32_t n)
{
	if (UNLIKELY(n > p->len))
		return NULL;
	p->data += n;
	p->len -= n;
	return p->data;
}

static inline uint8_t *pkt_push(struct pkt *p, uint32_t n)
{
	if (UNLIKELY(n > (uint32_t)(p->data - p->bytes)))
		return NULL;
	p->data -= n;
	p->len += n;
	return p->data;
}

static inline uint8_t *pkt_push_ethernet(struct pkt *p, uint32_t n)
{
	if (UNLIKELY(n + PKT_TAG > (uint32_t)(p->data - p->bytes)))
		return NULL;
	p->data -= n;
	p->len += n;
	return p->data;
}

static inline uint8_t *pkt_put(struct pkt *p, uint32_t n)
{
	if (UNLIKELY(n > pkt_space(p) - p->len))
		return NULL;
	uint8_t *at = p->data + p->len;
	io_unpoison(at, n);
	p->len += n;
	return at;
}

static inline uint8_t *pkt_at(const struct pkt *p, uint32_t off, uint32_t n)
{
	if (UNLIKELY(off > p->len || n > p->len - off))
		return NULL;
	return p->data + off;
}

static inline void pkt_lend(struct pkt *p)
{
	io_unpoison(p->data, p->pool->room);
}

static inline void pkt_filled(struct pkt *p, uint32_t n)
{
	io_poison(p->data + n, p->pool->room - n);
	p->len = n;
}

static inline void pkt_end(struct pkt *p, uint32_t n)
{
	io_poison(p->data + n, p->len - n);
	p->len = n;
}

static inline void pkt_trim(struct pkt *p, uint32_t n)
{
	if (n < p->len)
		pkt_end(p, n);
}

#endif
