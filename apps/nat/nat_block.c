/* Blocks of ports. See nat_blocks.h. */
#include "apps/nat/nat_table.h"

#include "kernel/lib/alloc.h"
#include "net/export/export_event.h"
#include "net/setup/gw_setup.h"

/* --- start ------------------------------------------------------------------------------------ */

static bool overlaps(const struct nat_blocks *b, const struct nat_block_net *net)
{
	for (uint32_t i = 0; i < b->n_nets; i++)
		if (net->first <= b->net[i].last && b->net[i].first <= net->last)
			return true;
	return false;
}

/* Gives the networks their blocks. False when these are too few. */
static bool set_nets(struct nat_blocks *b, const struct nat_block_net *net, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (overlaps(b, &net[i]))
			continue;
		if (net[i].last - net[i].first >= b->n - b->n_fixed)
			return false;
		b->net[b->n_nets] = net[i];
		b->net[b->n_nets++].number = b->n_fixed;
		b->n_fixed += net[i].last - net[i].first + 1;
	}
	return true;
}

const char *nat_blocks_init(struct nat_table *t, uint32_t size, const struct nat_block_net *net,
                            uint32_t n)
{
	struct nat_blocks *b = &t->blocks;
	if (size < NAT_BLOCK_LEAST)
		return gw_setup_fail("%s.blocks: expected 0, or from %u to %u ports", t->name,
		                     NAT_BLOCK_LEAST, NAT_BLOCK_PORTS);
	b->each = NAT_BLOCK_PORTS / size;
	b->n = b->each * t->n_external;
	if (!set_nets(b, net, n))
		return gw_setup_fail("%s.blocks: the outer addresses have %u blocks of %u ports, "
		                     "fewer than the LAN's networks have addresses",
		                     t->name, b->n, size);
	uint32_t words = (b->n + 31) / 32;
	b->used = alloc_raw(words * sizeof *b->used, 64);
	if (!b->used)
		return gw_setup_fail("%s.blocks: not enough memory", t->name);
	memset(b->used, 0, words * sizeof *b->used);
	for (uint32_t i = 0; i < words * 32; i++)
		if (i < b->n_fixed || i >= b->n)
			b->used[i / 32] |= 1u << i % 32;
	b->n_free = b->n - b->n_fixed;
	b->size = size;
	return NULL;
}

/* --- which block ------------------------------------------------------------------------------ */

/* The number of a host's fixed block; NAT_NONE when it has none. */
static uint32_t fixed_block(const struct nat_blocks *b, uint32_t ip)
{
	uint32_t a = swap32(ip);
	for (uint32_t i = 0; i < b->n_nets; i++)
		if (a >= b->net[i].first && a <= b->net[i].last)
			return b->net[i].number + (a - b->net[i].first);
	return NAT_NONE;
}

/* The number of the block that a host would have if all were free; NAT_NONE: none can be. */
static uint32_t home_of(const struct nat_table *t, uint32_t ip)
{
	const struct nat_blocks *b = &t->blocks;
	uint32_t fixed = fixed_block(b, ip);
	if (fixed != NAT_NONE || b->n == b->n_fixed)
		return fixed;
	return b->n_fixed + hash_words(&t->key[NAT_OTHER], &ip, 1) % (b->n - b->n_fixed);
}

/* The search begins at the block that the host had if nobody else did, and looks at each word once
 * and at the first one twice. No more blocks than hosts are taken, so it is short. */
uint32_t nat_block_find(const struct nat_table *t, uint32_t ip)
{
	const struct nat_blocks *b = &t->blocks;
	uint32_t home = home_of(t, ip), words = (b->n + 31) / 32;
	if (home < b->n_fixed || b->n_free == 0)
		return home < b->n_fixed ? home : NAT_NONE;
	uint32_t word = home / 32, free = ~b->used[word] & ~0u << home % 32;
	for (uint32_t i = 0; !free && i < words; i++) {
		word = word + 1 < words ? word + 1 : b->n_fixed / 32;
		free = ~b->used[word];
	}
	return free ? word * 32 + (uint32_t)__builtin_ctz(free) : NAT_NONE;
}

uint32_t nat_block_external(const struct nat_table *t, uint32_t ip)
{
	uint32_t home = home_of(t, ip);
	return home == NAT_NONE ? 0 : home / t->blocks.each;
}

/* --- events --------------------------------------------------------------------------------- */

static uint32_t first_port(const struct nat_table *t, const struct nat_host *h)
{
	return NAT_BLOCK_FIRST + h->block * t->blocks.size;
}

void nat_event_inside(const struct nat_table *t, struct export_event *e, uint32_t in_ip)
{
	e->inside.is6 = t->inside6 && nat_inside_is6(in_ip);
	if (e->inside.is6)
		e->inside.v6 = nat_inside_of(t->inside6, in_ip)->addr;
	else
		e->inside.v4 = ip4_from_raw(in_ip);
}

static void tell(const struct nat_table *t, const struct nat_host *h, enum export_kind kind)
{
	uint32_t ip = t->external[h->external].ip, first = first_port(t, h);
	if (!t->blocks.events || ip == 0)
		return;
	struct export_event *e = export_event_next(t->blocks.events);
	e->kind = (uint8_t)kind;
	e->proto = 0;
	e->outside = ip4_from_raw(ip);
	e->out_port = swap16((uint16_t)first);
	e->last_port = swap16((uint16_t)(first + t->blocks.size - 1));
	nat_event_inside(t, e, h->ip);
}

void nat_block_tell_all(const struct nat_table *t, uint32_t external, bool begin)
{
	for (uint32_t i = 0; t->blocks.events && i < t->host_free.fresh; i++)
		if (t->host[i].n_mappings && t->host[i].external == external)
			tell(t, &t->host[i], begin ? EXPORT_BLOCK : EXPORT_BLOCK_END);
}

/* --- taken and given back --------------------------------------------------------------------- */

static void mark(struct nat_blocks *b, uint32_t number, bool used)
{
	if (number < b->n_fixed)
		return;
	b->used[number / 32] ^= 1u << number % 32;
	b->n_free += used ? -1u : 1;
}

void nat_block_take(struct nat_table *t, struct nat_host *h, uint32_t number)
{
	struct nat_blocks *b = &t->blocks;
	h->external = (uint16_t)(number / b->each);
	h->block = (uint16_t)(number % b->each);
	mark(b, number, true);
	tell(t, h, EXPORT_BLOCK);
}

void nat_block_give(struct nat_table *t, const struct nat_host *h)
{
	struct nat_blocks *b = &t->blocks;
	tell(t, h, EXPORT_BLOCK_END);
	mark(b, h->external * b->each + h->block, false);
}

uint32_t nat_block_port(const struct nat_table *t, const struct nat_host *h, uint8_t proto,
                        uint32_t wanted)
{
	const struct nat_ports *p = t->external[h->external].ports[proto];
	uint32_t lo = first_port(t, h), hi = lo + t->blocks.size - 1;
	if (wanted >= lo && wanted <= hi && !nat_port_used(p, wanted))
		return wanted;
	uint32_t parity = wanted % 2 ? 0xaaaaaaaa : 0x55555555;
	uint32_t port = nat_port_pick(t->rng, p, lo, hi, proto == NAT_ICMP ? ~0u : parity);
	return port ? port : nat_port_pick(t->rng, p, lo, hi, ~0u);
}
