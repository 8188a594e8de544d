/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the instructions a QEMU guest executes (TCG plugin, QEMU's plugin API version 1).
 *
 *     -plugin build/bench/icount.so,count=PATH[,profile=on]
 *
 * PATH becomes a memory-mapped file that other processes may read while the guest runs:
 *
 *     offset 0    uint64  magic "BGICNT01"
 *     offset 8    uint64  instructions executed
 *     offset 16   uint64  number of slots in the profile (0 without one)
 *     offset 24   uint64  blocks that found no free slot
 *     offset 64   slots   { uint64 address of the block, uint64 instructions executed in it }
 *
 * The translated code itself adds to the counters, so this costs a few host instructions for each
 * block and is exact for one vCPU. Debian does not package QEMU's header with its binary: the few
 * functions that are used are declared here, from the API's documentation.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
typedef void (*translated_fn)(uint64_t id, struct qemu_plugin_tb *tb);

/* The one inline operation of API version 1: add an immediate to a 64-bit number. */
enum { INLINE_ADD_U64 = 0 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated_fn fn);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *ptr,
                                                     uint64_t imm);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

enum { SLOTS = 1 << 17, SLOTS_AT = 64 };

struct slot {
	uint64_t address;
	uint64_t instructions;
};

struct shared {
	char magic[8];
	uint64_t instructions;
	uint64_t slots;
	uint64_t unplaced;
	uint64_t reserved[4];
	struct slot slot[];
};

static struct shared *shared;

/* A block that is translated again gets its old slot; a full table only loses detail. */
static struct slot *slot_of(uint64_t address)
{
	uint64_t at = (address * 0x9e3779b97f4a7c15u) >> 47;

	for (unsigned probe = 0; probe < 64; probe++, at++) {
		struct slot *slot = &shared->slot[at % SLOTS];

		if (slot->address == 0)
			slot->address = address;
		if (slot->address == address)
			return slot;
	}
	shared->unplaced++;
	return NULL;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	uint64_t count = qemu_plugin_tb_n_insns(tb);

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &shared->instructions, count);
	if (shared->slots != 0) {
		struct slot *slot = slot_of(qemu_plugin_tb_vaddr(tb));

		if (slot != NULL)
			qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64,
			                                         &slot->instructions, count);
	}
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	const char *path = NULL;
	size_t size = SLOTS_AT;
	int profile = 0;
	int fd;

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "count=", 6) == 0)
			path = argv[i] + 6;
		else if (strcmp(argv[i], "profile=on") == 0)
			profile = 1;
	}
	if (path == NULL) {
		fprintf(stderr, "icount: count=PATH is missing\n");
		return -1;
	}
	if (profile)
		size += SLOTS * sizeof(struct slot);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
		perror(path);
		return -1;
	}
	shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shared == MAP_FAILED) {
		perror(path);
		return -1;
	}
	shared->slots = profile ? SLOTS : 0;
	memcpy(shared->magic, "BGICNT01", sizeof(shared->magic));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
