/* See capture_file.h. */
#include "net/capture/capture_file.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/wall.h"
#include "net/gw.h"
#include "net/stats/drop_text.h"

enum {
	SECTION = 0x0a0d0d0a,
	INTERFACE = 1,
	PACKET = 6,
	MAGIC = 0x1a2b3c4d,
	LINK_ETHERNET = 1,
	LINK_RAW = 101,
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_NAME = 2,  /* of an interface */
	OPTION_FLAGS = 2, /* of a packet */
	COMMENT = 256,    /* bytes of a comment, with NUL */
};

_Static_assert(32 + CAPTURE_SNAP + 8 + 4 + COMMENT + 4 <= CAPTURE_FILE, "a packet fits");
_Static_assert(28 + (INTERFACES + 1) * 48 <= CAPTURE_FILE, "the begin fits");

static uint8_t *put32(uint8_t *at, uint32_t v)
{
	store32(at, v);
	return at + 4;
}

/* Puts bytes and what makes them a multiple of four. */
static uint8_t *put_padded(uint8_t *at, const void *bytes, uint32_t n)
{
	uint32_t padded = (n + 3) & ~3u;
	memcpy(at, bytes, n);
	memset(at + n, 0, padded - n);
	return at + padded;
}

static uint8_t *put_option(uint8_t *at, uint32_t code, const void *bytes, uint32_t n)
{
	at = put32(at, code | n << 16);
	return put_padded(at, bytes, n);
}

/* Ends the block that begins at `block`: its length stands in front and behind. */
static uint8_t *end_block(uint8_t *block, uint8_t *at)
{
	uint32_t n = (uint32_t)(at - block) + 4;
	store32(block + 4, n);
	return put32(at, n);
}

static uint8_t *put_interface(uint8_t *block, const char *name, uint32_t link)
{
	uint8_t *at = put32(block, INTERFACE) + 4;
	at = put32(at, link);
	at = put32(at, 0); /* whole frames; longer super-segments are cut */
	at = put_option(at, OPTION_NAME, name, (uint32_t)strlen(name));
	return end_block(block, put32(at, OPTION_END));
}

uint32_t capture_file_begin(struct gw *gw)
{
	uint8_t *file = gw->capture->file, *at = put32(file, SECTION) + 4;
	at = put32(at, MAGIC);
	at = put32(at, 1);   /* version 1.0 */
	at = put32(at, ~0u); /* the section's length is not known: 64 bits */
	at = end_block(file, put32(at, ~0u));
	for (uint32_t i = 0; i < gw->n_iface; i++)
		at = put_interface(at, gw->iface[i].name, LINK_ETHERNET);
	return (uint32_t)(put_interface(at, "self", LINK_RAW) - file);
}

/* Writes what is to be said about a packet; gives its length. */
static uint32_t comment(const struct capture_record *r, uint32_t lost, char text[COMMENT])
{
	text[0] = '\0';
	if (lost)
		fmt(text, COMMENT, "%u packets before this one were overwritten", lost);
	else if (r->way == CAPTURE_DROPPED)
		fmt(text, COMMENT, "dropped, %s: %s", drop_label(r->reason),
		    drop_meaning(r->reason));
	return (uint32_t)strlen(text);
}

uint32_t capture_file_packet(struct gw *gw, const struct capture_record *r, uint32_t lost)
{
	uint8_t *file = gw->capture->file, *at = put32(file, PACKET) + 4;
	uint64_t wall = wall_at(r->at_us), us = wall ? wall : r->at_us;
	char text[COMMENT], way[4] = {r->way == CAPTURE_OUT ? 2 : 1};
	at = put32(at, r->frame ? r->iface : gw->n_iface);
	at = put32(at, (uint32_t)(us >> 32));
	at = put32(at, (uint32_t)us);
	at = put32(at, r->n);
	at = put32(at, r->len);
	at = put_padded(at, capture_bytes(r), r->n);
	if (r->frame)
		at = put_option(at, OPTION_FLAGS, way, sizeof way);
	uint32_t n = comment(r, lost, text);
	if (n)
		at = put_option(at, OPTION_COMMENT, text, n);
	return (uint32_t)(end_block(file, put32(at, OPTION_END)) - file);
}
