/* See embed.h. */
#include "apps/translate/embed.h"

/* --- a prefix with an embedded address --------------------------------------------- */

/* Octet `at` of the IPv6 address becomes octet `k` of the IPv4 address. */
static void take_octet(struct embed_form *f, unsigned k, unsigned at)
{
	uint8_t *take = (uint8_t *)&f->octets[at / 4];
	take[at % 4] = 0xff;
	/* In memory order octet k moves to at % 4; rotating left by 8 moves each octet
	 * to the next place on a little-endian machine. */
	f->rotate[at / 4] = (uint8_t)((at % 4 + 4 - k) % 4 * 8);
}

static const char *bad_length(const struct prefix *prefix, bool ivi)
{
	uint8_t len = prefix->len;
	if (ivi)
		return len == 32 ? NULL
		                 : "must be a /32 with ivi.format ivi; other lengths need "
		                   "ivi.format rfc6052";
	if (len != 96 && (len < 32 || len > 64 || len % 8 != 0))
		return "must have a length of 32, 40, 48, 56, 64 or 96 (RFC 6052)";
	return len == 96 && prefix->addr.v6.b[8] != 0
	               ? "must have zero in octet 8 (RFC 6052 section 2.2)"
	               : NULL;
}

const char *embed_set_up(struct embed_form *f, const struct prefix *prefix, bool ivi)
{
	const char *bad = bad_length(prefix, ivi);
	if (bad)
		return bad;
	memset(f, 0, sizeof *f);
	memcpy(f->prefix, prefix->addr.v6.b, sizeof f->prefix);
	f->len = (uint8_t)(prefix->len + (ivi ? 8 : 0));
	if (ivi)
		((uint8_t *)f->prefix)[4] = 0xff;
	memset(f->mask, 0xff, f->len / 8);
	unsigned at = f->len / 8u;
	f->end[0] = f->len;
	for (unsigned k = 0; k < 4; k++, at++) {
		if (at == 8 && !ivi) /* octet 8 stays zero */
			at++;
		take_octet(f, k, at);
		for (unsigned bit = 1; bit <= 8; bit++)
			f->end[8 * k + bit] = (uint8_t)(8 * at + bit);
	}
	if (at == 8 && !ivi)
		at++;
	f->set_at = (uint8_t)(at + 2 <= 16 ? at : 0);
	return NULL;
}

bool embed_is_well_known(const struct embed_form *f)
{
	static const uint8_t well_known[16] = {0, 0x64, 0xff, 0x9b};
	return f->len == 96 && memcmp(f->prefix, well_known, sizeof well_known) == 0;
}

bool embed_is_global(ip4 a)
{
	static const struct {
		uint32_t net;
		uint8_t len;
	} special[] = {
	        {0x00000000, 8},  /* this network */
	        {0x0a000000, 8},  /* private */
	        {0x64400000, 10}, /* shared, RFC 6598 */
	        {0x7f000000, 8},  /* loopback */
	        {0xa9fe0000, 16}, /* link-local */
	        {0xac100000, 12}, /* private */
	        {0xc0000000, 24}, /* protocol assignments */
	        {0xc0000200, 24}, /* documentation */
	        {0xc0586300, 24}, /* 6to4 relays */
	        {0xc0a80000, 16}, /* private */
	        {0xc6120000, 15}, /* benchmarks */
	        {0xc6336400, 24}, /* documentation */
	        {0xcb007100, 24}, /* documentation */
	        {0xe0000000, 3},  /* multicast, reserved, broadcast */
	};
	for (unsigned i = 0; i < ARRAY_SIZE(special); i++)
		if (((ip4_get(a) ^ special[i].net) & addr_mask4(special[i].len)) == 0)
			return false;
	return true;
}

/* --- explicit mappings (RFC 7757) ------------------------------------------------ */

static void mask6(uint32_t mask[4], uint8_t len)
{
	uint8_t *b = (uint8_t *)mask;
	for (unsigned i = 0; i < 16; i++)
		b[i] = (uint8_t)(len >= 8 * (i + 1) ? 0xff
		                 : len <= 8 * i     ? 0
		                                    : 0xff00 >> (len - 8 * i));
}

static void map_set_up(struct embed_map *m, const struct embed_pair *c)
{
	m->net4 = ip4_raw(c->net4);
	m->mask4 = swap32(addr_mask4(c->len4));
	memcpy(m->net6, c->net6.b, sizeof m->net6);
	m->suffix = ~addr_mask4(c->len4);
	m->len4 = c->len4;
	m->len6 = c->len6;
	/* Bits behind the suffix in the IPv6 address; never negative. */
	unsigned shift = 96u + c->len4 - c->len6;
	m->word = (uint8_t)(3 - shift / 32 % 4);
	m->bit = (uint8_t)(shift % 32);
}

/* Adds a length (as a raw mask) to the list, longest first. */
static void add_len4(struct embed_table *t, uint32_t mask)
{
	uint32_t i = 0;
	while (i < t->n_len4 && swap32(t->len4_mask[i]) > swap32(mask))
		i++;
	if (i < t->n_len4 && t->len4_mask[i] == mask)
		return;
	for (uint32_t k = t->n_len4++; k > i; k--)
		t->len4_mask[k] = t->len4_mask[k - 1];
	t->len4_mask[i] = mask;
}

static void add_len6(struct embed_table *t, uint8_t len)
{
	uint32_t i = 0;
	while (i < t->n_len6 && t->len6[i] > len)
		i++;
	if (i < t->n_len6 && t->len6[i] == len)
		return;
	for (uint32_t k = t->n_len6++; k > i; k--)
		t->len6[k] = t->len6[k - 1];
	t->len6[i] = len;
}

const char *embed_maps_set_up(struct embed_table *t, const struct embed_pair *map, uint32_t n,
                              const uint32_t mul[5])
{
	memcpy(t->mul, mul, sizeof t->mul);
	for (uint32_t i = 0; i < n; i++) {
		struct embed_map *m = &t->map[i];
		map_set_up(m, &map[i]);
		/* RFC 7757 section 5: a prefix that occurs twice would make the table
		 * asymmetric. */
		for (uint32_t k = 0; k < i; k++) {
			if (t->map[k].net4 == m->net4 && t->map[k].len4 == m->len4)
				return "ivi.map: an IPv4 prefix is given twice";
			if (memcmp(t->map[k].net6, m->net6, sizeof m->net6) == 0 &&
			    t->map[k].len6 == m->len6)
				return "ivi.map: an IPv6 prefix is given twice";
		}
		add_len4(t, m->mask4);
		add_len6(t, m->len6);
		uint32_t at = embed_slot4(t, m->net4, m->mask4);
		while (t->slot4[at])
			at = (at + 1) % EMBED_SLOTS;
		t->slot4[at] = (uint16_t)(i + 1);
		at = embed_slot6(t, m->net6, m->len6);
		while (t->slot6[at])
			at = (at + 1) % EMBED_SLOTS;
		t->slot6[at] = (uint16_t)(i + 1);
	}
	for (uint32_t i = 0; i < t->n_len6; i++)
		mask6(t->len6_mask[i], t->len6[i]);
	t->n = n;
	return NULL;
}

/* The suffix begins where the IPv6 prefix ends, at any bit (RFC 7757 section 3.3.1, steps 3
 * to 5). The bits behind it are zero. */
void embed_map_to6(const struct embed_map *m, uint32_t v, ip6 *out)
{
	uint32_t suffix = swap32(v) & m->suffix;
	memcpy(out->b, m->net6, sizeof m->net6);
	uint8_t *low = out->b + 4 * m->word;
	store32(low, load32(low) | swap32(suffix << m->bit));
	if (m->bit && m->word)
		store32(low - 4, load32(low - 4) | swap32(suffix >> (32 - m->bit)));
}

uint32_t embed_map_to4(const struct embed_map *m, const ip6 *a)
{
	const uint8_t *low = a->b + 4 * m->word;
	uint32_t suffix = swap32(load32(low)) >> m->bit;
	if (m->bit && m->word)
		suffix |= swap32(load32(low - 4)) << (32 - m->bit);
	return m->net4 | swap32(suffix & m->suffix);
}

/* --- shared addresses (RFC 7597 section 5.1) ---------------------------------------- */

static uint8_t log2_of(uint32_t power)
{
	uint8_t n = 0;
	while (power >> n > 1)
		n++;
	return n;
}

void embed_share_set_up(struct embed_share *s, const struct embed_sharing *c)
{
	s->net = ip4_raw(c->net);
	s->mask = swap32(addr_mask4(c->len));
	s->sets = c->ratio - 1;
	s->run_bits = log2_of(c->run);
	s->low_bits = (uint8_t)(log2_of(c->ratio) + s->run_bits);
}
