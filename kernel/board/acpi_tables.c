/* See acpi_tables.h. ACPI specification 6.5: root pointer 5.2.5, lists of tables 5.2.7 and 5.2.8,
 * fixed description table 5.2.9. Each call searches afresh, because the tables are needed at most
 * a few times. Windows of mem_map stay mapped. */
#include "kernel/board/acpi_tables.h"

#include "kernel/board/acpi.h"
#include "kernel/seam/io.h"

#define LONGEST_TABLE 0x100000u
#define MOST_TABLES   64u
#define GENERIC_IO    1   /* address space of a generic address: I/O ports (5.2.3.2) */
#define FADT_LEAST    116 /* up to the flags; ACPI 1.0 has no more */

/* Bytes of the root pointer up to revision 1 and from revision 2 on, and where its revision is
 * (5.2.5.3). */
enum { ROOT_OLD = 20, ROOT_NEW = 36, ROOT_REVISION = 15 };

/* Offsets in the fixed description table (5.2.9). */
enum { FADT_DSDT = 40, FADT_TIMER = 76, FADT_X_DSDT = 140, FADT_X_TIMER = 208 };

/* The list of all tables (5.2.7, 5.2.8). */
struct list {
	struct acpi_table table;
	uint32_t width; /* of an entry, an address, in bytes */
	uint32_t next;
};

static uint8_t given[ROOT_NEW]; /* by the boot loader; zeros: none */

uint64_t acpi_tables_load64(const uint8_t *p)
{
	return (uint64_t)load32(p + 4) << 32 | load32(p);
}

static const uint8_t *memory(uint64_t phys, size_t len)
{
	return (const uint8_t *)(uintptr_t)mem_map(phys, len);
}

/* Maps the table at a physical address. Gives {NULL, 0} when its signature is not `name` (NULL:
 * any), when it is incomplete or its checksum is wrong. */
static struct acpi_table table_at(uint64_t phys, const char *name)
{
	struct acpi_table none = {0};
	const uint8_t *p = phys ? memory(phys, ACPI_HEADER) : NULL;
	if (!p || (name && memcmp(p, name, 4) != 0))
		return none;
	uint32_t len = load32(p + 4);
	if (len < ACPI_HEADER || len > LONGEST_TABLE)
		return none;
	p = memory(phys, len);
	return p && acpi_sum(p, len) ? (struct acpi_table){p, len} : none;
}

void acpi_tables_root(const uint8_t *root, size_t len)
{
	memset(given, 0, sizeof given);
	if (root && len >= ROOT_OLD && acpi_root(root, ROOT_OLD) == 0 &&
	    (root[ROOT_REVISION] < 2 || len >= ROOT_NEW))
		memcpy(given, root, min_u32((uint32_t)len, sizeof given));
}

/* Finds the root pointer: the loader's, or one in the first KiB of the extended BIOS data area, or
 * in the BIOS's read-only memory (5.2.5.1). NULL when there is none. */
static const uint8_t *find_root(void)
{
	if (given[0])
		return given;
	const uint8_t *bda = memory(0x400, 256);
	uint32_t ebda = bda ? (uint32_t)load16(bda + 0x0e) << 4 : 0;
	const uint8_t *area = ebda >= 0x80000 && ebda < 0xa0000 ? memory(ebda, 1024) : NULL;
	long at = area ? acpi_root(area, 1024) : -1;
	if (at < 0) {
		area = memory(0xe0000, 0x20000);
		at = area ? acpi_root(area, 0x20000) : -1;
	}
	return at < 0 ? NULL : area + at;
}

/* Finds the list of all tables. Its .table.p is NULL when there is none. */
static struct list find_list(void)
{
	struct list list = {.width = 8};
	const uint8_t *root = find_root();
	/* Revision 2 and later have 64-bit pointers (5.2.5.3). */
	if (root && root[ROOT_REVISION] >= 2)
		list.table = table_at(acpi_tables_load64(root + 24), NULL);
	if (root && !list.table.p) {
		list.table = table_at(load32(root + 16), NULL);
		list.width = 4;
	}
	return list;
}

/* Finds the next table `name` in the list. Gives {NULL, 0} when there is none. */
static struct acpi_table next_table(struct list *list, const char *name)
{
	struct acpi_table none = {0};
	while (list->table.p && list->next < MOST_TABLES) {
		uint32_t at = ACPI_HEADER + list->next++ * list->width;
		if (at + list->width > list->table.len)
			break;
		const uint8_t *entry = list->table.p + at;
		struct acpi_table t = table_at(
		        list->width == 8 ? acpi_tables_load64(entry) : load32(entry), name);
		if (t.p)
			return t;
	}
	return none;
}

struct acpi_table acpi_tables_fadt(void)
{
	struct list list = find_list();
	struct acpi_table none = {0};
	struct acpi_table t = next_table(&list, "FACP");
	return t.len >= FADT_LEAST ? t : none;
}

bool acpi_tables_s5(const struct acpi_table *fadt, uint8_t type[2])
{
	struct list list = find_list();
	struct acpi_table t = table_at(load32(fadt->p + FADT_DSDT), NULL);
	if (!t.p && fadt->len >= FADT_X_DSDT + 8)
		t = table_at(acpi_tables_load64(fadt->p + FADT_X_DSDT), NULL);
	if (t.p && acpi_s5(t.p + ACPI_HEADER, t.len - ACPI_HEADER, type))
		return true;
	while ((t = next_table(&list, "SSDT")).p)
		if (acpi_s5(t.p + ACPI_HEADER, t.len - ACPI_HEADER, type))
			return true;
	return false;
}

uint16_t acpi_tables_port(const struct acpi_table *fadt, uint32_t old, uint32_t generic)
{
	uint64_t port = load32(fadt->p + old);
	if (port == 0 && fadt->len >= generic + 12 && fadt->p[generic] == GENERIC_IO)
		port = acpi_tables_load64(fadt->p + generic + 4);
	return port < 0x10000 ? (uint16_t)port : 0;
}

uint16_t acpi_tables_timer(void)
{
	struct acpi_table fadt = acpi_tables_fadt();
	return fadt.p ? acpi_tables_port(&fadt, FADT_TIMER, FADT_X_TIMER) : 0;
}
