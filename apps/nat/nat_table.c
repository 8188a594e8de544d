/* Memory, hosts, mappings and ports; see nat_table.h. Sessions and their expiry are in
 * nat_session.c. */
#include "apps/nat/nat_table.h"

#include "kernel/lib/alloc.h"
#include "net/lib/csum.h"
#include "net/setup/gw_setup.h"

/* --- memory ------------------------------------------------------------------- */

static uint32_t *buckets(uint32_t n)
{
	uint32_t *b = alloc_raw(n * sizeof *b, 64);
	if (b)
		memset(b, 0xff, n * sizeof *b); /* NAT_NONE */
	return b;
}

static uint32_t power_of_two(uint32_t n)
{
	uint32_t p = 64;
	while (p < n)
		p *= 2;
	return p;
}

static bool init_external(struct nat_external *e, uint32_t ip)
{
	e->ip = ip;
	e->n_hosts = 0;
	e->n_kept = 0;
	for (unsigned i = 0; i < NAT_WITH_PORTS; i++) {
		struct nat_ports *p = alloc_raw(sizeof *p, 64);
		if (!p)
			return false;
		memset(p->owner, 0xff, sizeof p->owner);
		memset(p->used, 0, sizeof p->used);
		p->used[0] = 1; /* port 0 is never used */
		for (uint32_t c = 0; c < NAT_PORT_CLASSES; c++)
			e->n_free[i][c] = (uint16_t)(c < 2 ? 512 - (c == 0) : (65536 - 1024) / 2);
		e->ports[i] = p;
	}
	return true;
}

static const char *init_externals(struct nat_table *t, const struct nat_range *range, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		t->range[i] = range[i];
		t->range[i].index = t->n_external;
		if (range[i].last - range[i].first >= NAT_EXTERNALS - t->n_external)
			return gw_setup_fail("%s.pool: more than 1024 addresses", t->name);
		t->n_external += range[i].last - range[i].first + 1;
	}
	t->n_ranges = n;
	t->external = alloc_raw(t->n_external * sizeof *t->external, 64);
	for (uint32_t i = 0; t->external && i < n; i++)
		for (uint32_t k = 0; k <= range[i].last - range[i].first; k++)
			if (!init_external(&t->external[t->range[i].index + k],
			                   swap32(range[i].first + k)))
				return gw_setup_fail(
				        "%s.pool: not enough memory for so many addresses",
				        t->name);
	if (!t->external)
		return gw_setup_fail("%s.pool: not enough memory", t->name);
	t->first_external = t->external[0].ip;
	return NULL;
}

static void init_free(struct nat_free *f, uint32_t size)
{
	*f = (struct nat_free){.head = NAT_NONE, .size = size};
}

/* The memory of a table of n sessions; the order is that in which it is allocated. */
static void pieces(uint32_t n, size_t size[ALLOC_PIECES])
{
	size_t bucket = power_of_two(n) * sizeof(uint32_t);
	uint32_t hosts = min_u32(n, NAT_HOSTS);
	const size_t all[ALLOC_PIECES] = {bucket,
	                                  n * sizeof(struct nat_session),
	                                  n * sizeof(struct nat_peer),
	                                  n * sizeof(struct nat_mapping),
	                                  hosts * sizeof(struct nat_host),
	                                  bucket,
	                                  bucket,
	                                  power_of_two(hosts) * sizeof(uint32_t)};
	memcpy(size, all, sizeof all);
}

const char *nat_table_init(struct nat_table *t, const char *name, uint32_t size,
                           const struct nat_range *range, uint32_t n_ranges, struct rng *rng)
{
	uint32_t n = power_of_two(size), hosts = min_u32(size, NAT_HOSTS);
	memset(t, 0, sizeof *t);
	t->name = name;
	t->size = size;
	t->mask = n - 1;
	t->host_mask = power_of_two(hosts) - 1;
	t->rng = rng;
	for (unsigned i = 0; i < NAT_PROTOS; i++)
		for (unsigned k = 0; k < 2; k++)
			t->key[i].k[k] = rng_u32(rng);
	t->noted.bucket = nat_session_hash(t, 0, 0, 0);
	init_free(&t->session_free, size);
	init_free(&t->mapping_free, size);
	init_free(&t->host_free, hosts);
	const char *bad = init_externals(t, range, n_ranges);
	if (bad)
		return bad;
	uint32_t most = alloc_most(size, pieces);
	if (most < size)
		return gw_setup_fail("%s.sessions: not enough memory for so many; %u fit", name,
		                     most);
	/* Memory that packets touch lies together, behind the ports. A TLB with few ways
	 * has the fewest conflicts then. */
	t->session_bucket = buckets(n);
	t->session = alloc_raw(size * sizeof *t->session, 64);
	t->peer = alloc_raw(size * sizeof *t->peer, 64);
	t->mapping = alloc_raw(size * sizeof *t->mapping, 64);
	t->host = alloc_raw(hosts * sizeof *t->host, 64);
	t->mapping_bucket = buckets(n);
	t->peer_bucket = buckets(n);
	t->host_bucket = buckets(t->host_mask + 1);
	if (!t->session || !t->peer || !t->mapping || !t->host || !t->session_bucket ||
	    !t->mapping_bucket || !t->peer_bucket || !t->host_bucket)
		return gw_setup_fail("%s.sessions: not enough memory", name);
	memset(t->wheel, 0xff, sizeof t->wheel);
	return NULL;
}

/* --- hosts ------------------------------------------------------------------------ */

static uint32_t *host_head(const struct nat_table *t, uint32_t ip)
{
	return &t->host_bucket[hash_words(&t->key[NAT_OTHER], &ip, 1) & t->host_mask];
}

/* The place of a host in nat_table.seen: by the last octet of an IPv4 address, or the low bits of
 * the entry's index in a number. */
static uint32_t seen_at(uint32_t ip)
{
	return (ip >> 24 ^ ip >> 8 ^ ip) % NAT_SEEN;
}

static uint32_t host_find(const struct nat_table *t, uint32_t ip)
{
	uint32_t i = t->seen[seen_at(ip)];
	if (LIKELY(i < t->host_free.fresh && t->host[i].ip == ip && t->host[i].n_mappings > 0))
		return i;
	i = *host_head(t, ip);
	while (i != NAT_NONE && t->host[i].ip != ip)
		i = t->host[i].next;
	return i;
}

uint32_t nat_host_sessions(const struct nat_table *t, uint32_t in_ip)
{
	uint32_t i = host_find(t, nat_host_of(t, in_ip));
	return i == NAT_NONE ? 0 : t->host[i].n_sessions;
}

bool nat_lacks_host(const struct nat_table *t, uint32_t in_ip)
{
	return t->n_hosts == t->host_free.size && host_find(t, nat_host_of(t, in_ip)) == NAT_NONE;
}

uint32_t nat_external_of(const struct nat_table *t, uint32_t in_ip)
{
	uint32_t i = host_find(t, nat_host_of(t, in_ip));
	return i == NAT_NONE ? NAT_NONE : t->host[i].external;
}

/* Two addresses are drawn from the host's own address, and a new host gets the one that
 * fewer hosts share. So a host tends to get the same address again. */
uint32_t nat_external_for(const struct nat_table *t, uint32_t in_ip)
{
	uint32_t i = nat_external_of(t, in_ip);
	if (i != NAT_NONE)
		return i;
	uint32_t host = nat_host_of(t, in_ip);
	if (t->blocks.size)
		return nat_block_external(t, host);
	if (t->n_external == 1)
		return 0;
	uint32_t h = hash_words(&t->key[NAT_OTHER], &host, 1);
	uint32_t a = (h & 0xffff) % t->n_external, b = (h >> 16) % t->n_external;
	return t->external[b].n_hosts < t->external[a].n_hosts ? b : a;
}

static uint32_t take_entry(struct nat_free *f, const uint32_t *next_of_head)
{
	if (f->head != NAT_NONE) {
		uint32_t i = f->head;
		f->head = *next_of_head;
		return i;
	}
	return f->fresh < f->size ? f->fresh++ : NAT_NONE;
}

/* A mapping that is to be made; `number` is the inside port (raw) or the IP protocol. */
struct request {
	uint8_t proto; /* enum nat_proto */
	uint16_t number;
	uint32_t rem_ip; /* raw; NAT_OTHER only */
};

/* The n-th best class of ports for a wanted port (host order): its own, the other parity,
 * the other range. NAT_PORT_CLASSES behind the last one. */
static uint32_t nth_class(uint8_t proto, uint32_t wanted, uint32_t n)
{
	if (n >= (nat_port_least(proto, wanted) ? 2 : NAT_PORT_CLASSES))
		return NAT_PORT_CLASSES;
	return nat_port_class(wanted) ^ n;
}

/* True when a class of ports has one for a mapping. Identifiers of ICMP are not kept. */
static bool class_has_port(const struct nat_external *e, uint8_t proto, uint32_t class)
{
	bool kept = proto != NAT_ICMP && class >= nat_port_class(1024);
	return e->n_free[proto][class] > (kept ? e->n_kept : 0);
}

/* The best class with a free port on an external address; NAT_PORT_CLASSES when there is
 * none. */
static uint32_t class_with_port(const struct nat_external *e, uint8_t proto, uint32_t wanted)
{
	uint32_t c, n = 0;
	while ((c = nth_class(proto, wanted, n++)) < NAT_PORT_CLASSES)
		if (class_has_port(e, proto, c))
			break;
	return c;
}

static bool can_serve(const struct nat_table *t, uint32_t external, struct request request)
{
	const struct nat_external *e = &t->external[external];
	if (request.proto == NAT_OTHER)
		return !nat_session_find(t, NAT_OTHER, e->ip, request.rem_ip, request.number);
	return class_with_port(e, request.proto, swap16(request.number)) < NAT_PORT_CLASSES;
}

/* The external address (index) for a new host. When the host's first choice cannot serve
 * the request, it is the address with the fewest hosts of those that can. When none can, it
 * is the first choice. */
static uint32_t choose_external(const struct nat_table *t, uint32_t in_ip, struct request request)
{
	uint32_t first = nat_external_for(t, in_ip), best = NAT_NONE;
	if (can_serve(t, first, request))
		return first;
	for (uint32_t i = 0; i < t->n_external; i++) {
		bool fewer = best == NAT_NONE || t->external[i].n_hosts < t->external[best].n_hosts;
		if (fewer && can_serve(t, i, request))
			best = i;
	}
	return best == NAT_NONE ? first : best;
}

/* The entry (index) of the host of an inside address, made when there is none; NAT_NONE when the
 * table is full. */
static uint32_t host_get(struct nat_table *t, uint32_t in_ip, struct request request)
{
	uint32_t ip = nat_host_of(t, in_ip), i = host_find(t, ip);
	if (i != NAT_NONE)
		return i;
	uint32_t external = 0, block = 0;
	if (t->blocks.size)
		block = nat_block_find(t, ip);
	else
		external = choose_external(t, in_ip, request);
	if (block == NAT_NONE)
		return NAT_NONE;
	i = take_entry(&t->host_free,
	               t->host_free.head == NAT_NONE ? NULL : &t->host[t->host_free.head].next);
	if (i == NAT_NONE)
		return NAT_NONE;
	uint32_t *head = host_head(t, ip);
	t->host[i] = (struct nat_host){.ip = ip, .next = *head, .external = (uint16_t)external};
	*head = i;
	t->n_hosts++;
	if (t->blocks.size)
		nat_block_take(t, &t->host[i], block);
	t->external[t->host[i].external].n_hosts++;
	return i;
}

static void host_put(struct nat_table *t, uint32_t i)
{
	struct nat_host *h = &t->host[i];
	if (h->n_mappings)
		return;
	uint32_t *at = host_head(t, h->ip);
	while (*at != i)
		at = &t->host[*at].next;
	*at = h->next;
	if (t->blocks.size)
		nat_block_give(t, h);
	t->external[h->external].n_hosts--;
	t->n_hosts--;
	h->next = t->host_free.head;
	t->host_free.head = i;
}

/* --- mappings --------------------------------------------------------------------- */

/* Most mappings have the inside endpoint's port on the host's external address. The port leads to
 * such a one, so it is in no bucket. */
static bool is_moved(const struct nat_table *t, const struct nat_mapping *m)
{
	return m->ext_port != m->in_port || m->external != t->host[m->host].external;
}

/* The place of an inside port (raw) in nat_table.moved. */
static uint32_t moved_at(uint16_t in_port)
{
	return swap16(in_port) % NAT_MOVED;
}

static uint32_t *moved_head(const struct nat_table *t, uint8_t proto, uint32_t in_ip,
                            uint16_t in_port)
{
	const uint32_t w[2] = {in_ip, in_port};
	return &t->mapping_bucket[hash_words(&t->key[proto], w, 2) & t->mask];
}

static __attribute__((noinline)) struct nat_mapping *
find_moved(const struct nat_table *t, uint8_t proto, uint32_t in_ip, uint16_t in_port)
{
	uint32_t i = *moved_head(t, proto, in_ip, in_port);
	for (; i != NAT_NONE; i = t->mapping[i].next) {
		struct nat_mapping *m = &t->mapping[i];
		if (m->in_ip == in_ip && m->in_port == in_port && m->proto == proto)
			return m;
	}
	return NULL;
}

struct nat_mapping *nat_mapping_find(const struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                     uint16_t in_port)
{
	uint32_t external = t->n_external == 1 ? 0 : nat_external_of(t, in_ip);
	if (external == NAT_NONE) /* a host without mappings */
		return NULL;
	uint32_t owner = t->external[external].ports[proto]->owner[in_port];
	if (owner != NAT_NONE) {
		struct nat_mapping *m = nat_mapping_of_owner(t, owner);
		if (m->in_ip == in_ip && m->in_port == in_port)
			return m;
	}
	return t->moved[moved_at(in_port)] ? find_moved(t, proto, in_ip, in_port) : NULL;
}

uint32_t nat_port_pick(struct rng *rng, const struct nat_ports *p, uint32_t lo, uint32_t hi,
                       uint32_t mask)
{
	uint32_t first = lo / 32, n = (hi - lo) / 32 + 1;
	uint32_t start = rng_below(rng, n), shift = rng_below(rng, 32);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t word = first + (start + i) % n;
		uint32_t free = ~p->used[word] & mask;
		if (word == lo / 32)
			free &= ~0u << lo % 32;
		if (word == hi / 32)
			free &= ~0u >> (31 - hi % 32);
		if (!free)
			continue;
		/* Draws one of the free bits: rotates the word and takes the lowest bit. */
		uint32_t rolled = free >> shift | free << ((32 - shift) & 31);
		return word * 32 + (((uint32_t)__builtin_ctz(rolled) + shift) & 31);
	}
	return 0;
}

/* A free port for a host and a wanted one (host order); 0 when there is none, which needs no
 * search. */
static uint32_t choose_port(struct nat_table *t, const struct nat_host *h, uint8_t proto,
                            uint32_t wanted)
{
	if (t->blocks.size)
		return nat_block_port(t, h, proto, wanted);
	const struct nat_external *e = &t->external[h->external];
	const struct nat_ports *p = e->ports[proto];
	if (wanted && !nat_port_used(p, wanted) && class_has_port(e, proto, nat_port_class(wanted)))
		return wanted;
	uint32_t class = class_with_port(e, proto, wanted);
	if (class == NAT_PORT_CLASSES)
		return 0;
	if (proto == NAT_ICMP)
		return nat_port_pick(t->rng, p, 0, 65535, 0xffffffff);
	uint32_t parity = class % 2 ? 0xaaaaaaaa : 0x55555555;
	if (class < nat_port_class(1024))
		return nat_port_pick(t->rng, p, 0, 1023, parity);
	return nat_port_pick(t->rng, p, 1024, 65535, parity);
}

/* Fills in a mapping on an external address (index) and enters it in the tables; `port` is in host
 * order, 0 for NAT_OTHER. */
static struct nat_mapping *add_mapping(struct nat_table *t, uint32_t index, uint32_t host,
                                       uint32_t external, uint32_t in_ip, uint8_t proto,
                                       uint16_t in_port, uint32_t port)
{
	struct nat_mapping *m = &t->mapping[index];
	struct nat_host *h = &t->host[host];
	struct nat_external *e = &t->external[external];
	*m = (struct nat_mapping){
	        .in_ip = in_ip,
	        .ext_ip = e->ip,
	        .in_port = in_port,
	        .ext_port = swap16((uint16_t)port),
	        .ip_delta = csum_delta32(in_ip, e->ip),
	        .host = host,
	        .external = (uint16_t)external,
	        .proto = proto,
	};
	if (t->inside6 && nat_inside_is6(in_ip))
		nat_inside_hold(t->inside6, in_ip);
	h->n_mappings++;
	t->seen[seen_at(h->ip)] = (uint16_t)host;
	t->n_mappings++;
	if (proto == NAT_OTHER)
		return m;
	uint16_t port_delta = csum_delta16(in_port, m->ext_port);
	/* ICMP has no pseudo header: only the identifier changes the checksum (RFC 792). */
	m->l4_delta = proto == NAT_ICMP ? port_delta : csum_plus(m->ip_delta, port_delta);
	if (UNLIKELY(is_moved(t, m))) {
		uint32_t *head = moved_head(t, proto, in_ip, in_port);
		m->next = *head;
		*head = index;
		t->moved[moved_at(in_port)]++;
	}
	h->n_ports[proto]++;
	e->ports[proto]->used[port / 32] |= 1u << port % 32;
	e->ports[proto]->owner[m->ext_port] = NAT_BARE | index;
	e->n_free[proto][nat_port_class(port)]--;
	return m;
}

static uint32_t take_mapping(struct nat_table *t)
{
	struct nat_free *f = &t->mapping_free;
	return take_entry(f, f->head == NAT_NONE ? NULL : &t->mapping[f->head].next);
}

static void give_mapping(struct nat_table *t, uint32_t index)
{
	t->mapping[index].next = t->mapping_free.head;
	t->mapping_free.head = index;
}

/* Takes entries for a mapping and for its host if that has none. False with the reason in
 * *lack when there is none. */
static bool take_entries(struct nat_table *t, uint32_t in_ip, struct request request,
                         uint32_t *index, uint32_t *host, enum nat_lack *lack)
{
	*lack = NAT_LACKS_ENTRY;
	*index = take_mapping(t);
	if (*index == NAT_NONE)
		return false;
	*host = host_get(t, in_ip, request);
	if (*host == NAT_NONE) {
		if (t->blocks.size && t->blocks.n_free == 0)
			*lack = NAT_LACKS_PORT;
		give_mapping(t, *index);
		return false;
	}
	*lack = NAT_HAS_ALL;
	return true;
}

static void give_entries(struct nat_table *t, uint32_t index, uint32_t host)
{
	host_put(t, host);
	give_mapping(t, index);
}

struct nat_mapping *nat_mapping_new(struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                    uint16_t in_port, enum nat_lack *lack)
{
	uint32_t index, host, port;
	if (!take_entries(t, in_ip, (struct request){proto, in_port, 0}, &index, &host, lack))
		return NULL;
	port = choose_port(t, &t->host[host], proto, swap16(in_port));
	if (!port && !t->blocks.size) /* nothing is evicted for a port of a block */
		port = nat_evict_port(t, proto, host, in_ip, in_port);
	if (port)
		return add_mapping(t, index, host, t->host[host].external, in_ip, proto, in_port,
		                   port);
	*lack = NAT_LACKS_PORT;
	give_entries(t, index, host);
	return NULL;
}

struct nat_mapping *nat_mapping_ask(struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                    uint16_t in_port, uint16_t suggested, enum nat_lack *lack)
{
	uint16_t wanted = suggested ? suggested : in_port;
	uint32_t index, host;
	if (!take_entries(t, in_ip, (struct request){proto, wanted, 0}, &index, &host, lack))
		return NULL;
	uint32_t external = t->host[host].external;
	uint32_t port = choose_port(t, &t->host[host], proto, swap16(wanted));
	if (port)
		return add_mapping(t, index, host, external, in_ip, proto, in_port, port);
	*lack = NAT_LACKS_PORT;
	give_entries(t, index, host);
	return NULL;
}

void nat_mapping_unask(struct nat_table *t, struct nat_mapping *m)
{
	m->is_static = 0;
	if (m->n_sessions == 0)
		nat_mapping_drop(t, m);
}

struct nat_mapping *nat_mapping_other(struct nat_table *t, uint32_t in_ip, uint16_t ip_proto,
                                      uint32_t rem_ip, enum nat_lack *lack)
{
	const struct request request = {NAT_OTHER, ip_proto, rem_ip};
	uint32_t index, host;
	if (!take_entries(t, in_ip, request, &index, &host, lack))
		return NULL;
	if (can_serve(t, t->host[host].external, request))
		return add_mapping(t, index, host, t->host[host].external, in_ip, NAT_OTHER,
		                   ip_proto, 0);
	*lack = NAT_LACKS_KEY;
	give_entries(t, index, host);
	return NULL;
}

bool nat_mapping_static(struct nat_table *t, uint8_t proto, uint32_t external, uint16_t ext_port,
                        uint32_t in_ip, uint16_t in_port)
{
	uint32_t port = swap16(ext_port);
	if (nat_port_used(t->external[external].ports[proto], port) ||
	    nat_mapping_find(t, proto, in_ip, in_port))
		return false;
	uint32_t host = host_get(t, in_ip, (struct request){proto, in_port, 0});
	uint32_t index = take_mapping(t);
	if (host == NAT_NONE || index == NAT_NONE)
		return false;
	struct nat_host *h = &t->host[host];
	/* The host's other sessions use the address of its first static mapping, or its block's. */
	if (h->external != external && h->n_mappings == 0 && !t->blocks.size) {
		t->external[h->external].n_hosts--;
		t->external[external].n_hosts++;
		h->external = (uint16_t)external;
	}
	add_mapping(t, index, host, external, in_ip, proto, in_port, port)->is_static = 1;
	return true;
}

bool nat_port_take(struct nat_table *t, uint32_t external, uint8_t proto, uint16_t port)
{
	struct nat_external *e = &t->external[external];
	struct nat_ports *p = e->ports[proto];
	if (nat_port_used(p, port))
		return false;
	p->used[port / 32] |= 1u << port % 32;
	e->n_free[proto][nat_port_class(port)]--;
	return true;
}

void nat_port_give(struct nat_table *t, uint32_t external, uint8_t proto, uint16_t port)
{
	struct nat_external *e = &t->external[external];
	if (!nat_port_is_taken(t, external, proto, swap16(port)))
		return;
	e->ports[proto]->used[port / 32] &= ~(1u << port % 32);
	e->n_free[proto][nat_port_class(port)]++;
}

static void forget_moved(struct nat_table *t, const struct nat_mapping *m, uint32_t index)
{
	uint32_t *at = moved_head(t, m->proto, m->in_ip, m->in_port);
	while (*at != index)
		at = &t->mapping[*at].next;
	*at = m->next;
	t->moved[moved_at(m->in_port)]--;
}

void nat_mapping_drop(struct nat_table *t, struct nat_mapping *m)
{
	uint32_t index = (uint32_t)(m - t->mapping), port = swap16(m->ext_port);
	if (m->proto != NAT_OTHER) {
		if (is_moved(t, m))
			forget_moved(t, m, index);
		struct nat_ports *p = t->external[m->external].ports[m->proto];
		p->used[port / 32] &= ~(1u << port % 32);
		p->owner[m->ext_port] = NAT_NONE;
		t->external[m->external].n_free[m->proto][nat_port_class(port)]++;
		t->host[m->host].n_ports[m->proto]--;
	}
	t->host[m->host].n_mappings--;
	host_put(t, m->host);
	if (t->inside6 && nat_inside_is6(m->in_ip))
		nat_inside_release(t->inside6, m->in_ip);
	t->n_mappings--;
	give_mapping(t, index);
}
