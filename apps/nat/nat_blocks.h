/* Blocks of ports: each inside host has a fixed number of consecutive ports of one external
 * address, the same ones for each protocol. Then a record of a block tells whose a port was,
 * without one of each session (RFC 6888 REQ-14).
 *
 * Blocks are numbered over all external addresses, in their order; those of one address begin at
 * port 1024. A host in a network of the inside has the block that its address stands for (RFC
 * 7422), so that the configuration alone tells whose a port was. Any other host gets a free block
 * behind those, and keeps it while it has a mapping. */
#ifndef APPS_NAT_NAT_BLOCKS_H
#define APPS_NAT_NAT_BLOCKS_H

#include "apps/nat/nat_keys.h"
#include "net/interface.h"

#define NAT_BLOCK_LEAST 32u /* ports of a block, at least */
#define NAT_BLOCK_NETS  (INTERFACES * NET_ADDRESSES)

struct nat_table;
struct nat_host;
struct export_event;

/* Consecutive addresses of the inside, host order, with a block each. */
struct nat_block_net {
	uint32_t first, last;
	uint32_t number; /* of the block of the first one */
};

struct nat_blocks {
	uint32_t size; /* ports of a block; 0: there are no blocks */
	uint32_t each; /* blocks of one external address */
	uint32_t n;    /* blocks of all */
	uint32_t n_fixed, n_free;
	uint32_t *used; /* a bit for each block; set for those that no other host may have */
	struct nat_block_net net[NAT_BLOCK_NETS];
	uint32_t n_nets;
	struct export_ring
	        *events; /* of blocks that hosts get and give back; NULL: nobody keeps them */
};

/* Sets up blocks of `size` ports, and a fixed block for each address of these networks, whose
 * numbers are of no use yet. A network that overlaps with an earlier one is left out. NULL, or what
 * is wrong (a text for the log, which begins with a key). */
const char *nat_blocks_init(struct nat_table *t, uint32_t size, const struct nat_block_net *net,
                            uint32_t n);

/* The number of the block that a host (nat_host.ip) has or may get: its own one, or a free one.
 * NAT_NONE when there is none left. */
uint32_t nat_block_find(const struct nat_table *t, uint32_t ip);

/* The external address (index) of the block that a host would have if all were free. */
uint32_t nat_block_external(const struct nat_table *t, uint32_t ip);

/* Gives a new host a block of nat_block_find, and takes it back; both are told (blocks.events). */
void nat_block_take(struct nat_table *t, struct nat_host *h, uint32_t number);
void nat_block_give(struct nat_table *t, const struct nat_host *h);

/* A free port for a wanted one (host order) in a host's block: that one if it lies there, else an
 * unpredictable one of the same parity, else any; 0 when none is free. */
uint32_t nat_block_port(const struct nat_table *t, const struct nat_host *h, uint8_t proto,
                        uint32_t wanted);

/* Tells (blocks.events) that all blocks of an external address begin or end: it gets another
 * value. */
void nat_block_tell_all(const struct nat_table *t, uint32_t external, bool begin);

/* Sets the inside address of an event; in_ip is as in nat_table.h. */
void nat_event_inside(const struct nat_table *t, struct export_event *e, uint32_t in_ip);

#endif
