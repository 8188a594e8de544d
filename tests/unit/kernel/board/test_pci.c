/* Enumeration, base addresses and capabilities on the model bus. */
#include "kernel/board/pci.h"

#include "tests/models/pci_model.h"
#include "tests/tap.h"

static struct pci_model_dev *add(uint8_t bus, uint8_t dev, uint8_t fn)
{
	static struct pci_model_dev pool[32];
	static unsigned used;
	struct pci_model_dev *d = &pool[used++];
	*d = (struct pci_model_dev){.bus = bus,
	                            .dev = dev,
	                            .fn = fn,
	                            .vendor = 0x8086,
	                            .device = (uint16_t)(0x1000 + dev)};
	d->class_code = 2;
	d->irq = 11;
	return d;
}

static struct pci_dev find(uint8_t bus, uint8_t dev, uint8_t fn)
{
	struct pci_dev d;
	uint32_t cursor = 0;
	while (pci_next(&cursor, &d))
		if (d.bus == bus && d.dev == dev && d.fn == fn)
			return d;
	return (struct pci_dev){0};
}

/* Gives all functions as "bus:dev.fn ", in the order found. */
static const char *all(void)
{
	static char text[256];
	struct pci_dev d;
	uint32_t cursor = 0;
	size_t n = 0;
	text[0] = '\0';
	while (pci_next(&cursor, &d))
		n += (size_t)snprintf(text + n, sizeof text - n, "%x:%x.%x ", d.bus, d.dev, d.fn);
	return text;
}

static void an_empty_bus_has_nothing(void)
{
	pci_model_reset();
	CHECK_STR(all(), "");
}

static void order_functions_and_buses(void)
{
	pci_model_reset();
	pci_model_add(add(0, 31, 0));
	pci_model_add(add(0, 3, 0));
	struct pci_model_dev *multi = add(0, 4, 0);
	pci_model_add(multi);
	multi->cfg[0x0e] = 0x80;
	pci_model_add(add(0, 4, 5));
	pci_model_add(add(0, 3, 1)); /* not searched: function 0 says that it is the only one */
	struct pci_model_dev *bridge = add(0, 1, 0);
	bridge->class_code = 6;
	bridge->subclass = 4;
	pci_model_add(bridge);
	bridge->cfg[0x0e] = 1;
	bridge->cfg[0x19] = 5;
	pci_model_add(add(5, 2, 0));
	pci_model_add(add(6, 2, 0)); /* no bridge names this bus */
	CHECK_STR(all(), "0:1.0 0:3.0 0:4.0 0:4.5 0:1f.0 5:2.0 ");
}

static void header_fields(void)
{
	pci_model_reset();
	struct pci_model_dev *m = add(0, 7, 0);
	m->subvendor = 0x1af4;
	m->subdevice = 0x1100;
	m->revision = 3;
	m->prog_if = 0x20;
	pci_model_add(m);
	m->cfg[0x3d] = 1;
	struct pci_dev d = find(0, 7, 0);
	CHECK_EQ(d.vendor, 0x8086);
	CHECK_EQ(d.device, 0x1007);
	CHECK_EQ(d.subvendor, 0x1af4);
	CHECK_EQ(d.subdevice, 0x1100);
	CHECK_EQ(d.class_code, 2);
	CHECK_EQ(d.revision, 3);
	CHECK_EQ(d.prog_if, 0x20);
	CHECK_EQ(d.irq, 11);
	m->cfg[0x3c] = 0;
	CHECK_EQ(find(0, 7, 0).irq, 0xff);
	m->cfg[0x3c] = 0xff;
	CHECK_EQ(find(0, 7, 0).irq, 0xff);
	m->cfg[0x3c] = 10;
	m->cfg[0x3d] = 0; /* no pin */
	CHECK_EQ(find(0, 7, 0).irq, 0xff);
}

static void base_addresses(void)
{
	pci_model_reset();
	struct pci_model_dev *m = add(0, 2, 0);
	m->bar[0] = (struct pci_model_bar){.base = 0xfebc0000u, .size = 0x20000};
	m->bar[1] = (struct pci_model_bar){.io = true, .base = 0xc000, .size = 64};
	m->bar[2] = (struct pci_model_bar){.is64 = true, .base = 0x800000000ull, .size = 0x4000};
	m->bar[4] = (struct pci_model_bar){.is64 = true, .base = 0xe0000000u, .size = 0x10000000};
	pci_model_add(m);
	struct pci_dev d = find(0, 2, 0);
	pci_write16(&d, 4, 3);
	struct pci_bar b = pci_bar(&d, 0);
	CHECK(!b.io && b.base == 0xfebc0000u && b.size == 0x20000);
	b = pci_bar(&d, 1);
	CHECK(b.io && b.base == 0xc000 && b.size == 64);
	b = pci_bar(&d, 2);
	CHECK(!b.io && b.base == 0x800000000ull && b.size == 0x4000);
	b = pci_bar(&d, 4);
	CHECK(!b.io && b.base == 0xe0000000u && b.size == 0x10000000);
	CHECK_EQ(pci_bar(&d, 6).size, 0);
	CHECK_EQ(pci_read16(&d, 4) & 3, 3); /* as before */
	CHECK_EQ(pci_read32(&d, 0x10) & ~0xfu, 0xfebc0000u);

	pci_model_reset();
	pci_model_add(m = add(0, 2, 0));
	d = find(0, 2, 0);
	for (unsigned i = 0; i < 6; i++)
		CHECK_EQ(pci_bar(&d, i).size, 0);
}

static void capabilities(void)
{
	pci_model_reset();
	struct pci_model_dev *m = add(0, 2, 0);
	pci_model_add(m);
	struct pci_dev d = find(0, 2, 0);
	CHECK_EQ(pci_capability(&d, 9, 0), 0);
	uint8_t cap[8] = {9};
	uint8_t first = pci_model_add_cap(m, cap, sizeof cap);
	cap[0] = 5;
	uint8_t other = pci_model_add_cap(m, cap, sizeof cap);
	cap[0] = 9;
	uint8_t second = pci_model_add_cap(m, cap, sizeof cap);
	/* The model puts a new capability in front. */
	CHECK_EQ(pci_capability(&d, 9, 0), second);
	CHECK_EQ(pci_capability(&d, 9, second), first);
	CHECK_EQ(pci_capability(&d, 9, first), 0);
	CHECK_EQ(pci_capability(&d, 5, 0), other);
	CHECK_EQ(pci_capability(&d, 1, 0), 0);
	m->cfg[first + 1] = second; /* an endless chain */
	CHECK_EQ(pci_capability(&d, 1, 0), 0);
}

/* A device in D3hot with a window of memory, one of I/O ports, and all that the firmware
 * writes into its header. */
static struct pci_model_dev *add_asleep(uint8_t control)
{
	struct pci_model_dev *m = add(0, 2, 0);
	m->bar[0] = (struct pci_model_bar){.is64 = true, .base = 0xfebc0000u, .size = 0x20000};
	m->bar[2] = (struct pci_model_bar){.io = true, .base = 0xc000, .size = 64};
	pci_model_add(m);
	m->cfg[0x0c] = 16;
	m->cfg[0x0d] = 32;
	const uint8_t cap[8] = {1, 0, 2, 0xc8, control, 0x81}; /* PME enabled and raised */
	pci_model_add_cap(m, cap, sizeof cap);
	return m;
}

static void enabling_wakes_and_turns_on(void)
{
	static const uint8_t control[] = {3, 3 | 8, 2, 0}; /* D3hot, without soft reset, D2, D0 */
	for (unsigned i = 0; i < ARRAY_SIZE(control); i++) {
		pci_model_reset();
		struct pci_model_dev *m = add_asleep(control[i]);
		struct pci_dev d = find(0, 2, 0);
		CHECK(!pci_model_can_master(m) && pci_model_may_wake(m));
		pci_enable(&d);
		CHECK_EQ(m->cfg[m->power + 4] & 3, 0);
		CHECK(pci_model_can_master(m) && !pci_model_may_wake(m));
		CHECK_EQ(pci_read16(&d, 4) & 7, 7);
		struct pci_bar b = pci_bar(&d, 0);
		CHECK(!b.io && b.base == 0xfebc0000u && b.size == 0x20000);
		b = pci_bar(&d, 2);
		CHECK(b.io && b.base == 0xc000 && b.size == 64);
		CHECK_EQ(pci_read16(&d, 0x0c), 32 << 8 | 16);
		CHECK_EQ(pci_read8(&d, 0x3c), 11);
		CHECK_EQ(pci_model_faults(), 0);
	}
}

/* A card that the firmware left without bus time gets some; other values stay. */
static void latency_timer(void)
{
	static const uint8_t was[] = {0, 15, 16, 64, 248}, is[] = {64, 64, 16, 64, 248};
	for (unsigned i = 0; i < ARRAY_SIZE(was); i++) {
		pci_model_reset();
		struct pci_model_dev *m = add(0, 2, 0);
		pci_model_add(m);
		m->cfg[0x0c] = 8;
		m->cfg[0x0d] = was[i];
		struct pci_dev d = find(0, 2, 0);
		pci_enable(&d);
		CHECK_EQ(m->cfg[0x0d], is[i]);
		CHECK_EQ(m->cfg[0x0c], 8);
	}
}

static struct pci_model_dev *add_bridge(uint8_t bus, uint8_t dev, uint8_t secondary)
{
	struct pci_model_dev *m = add(bus, dev, 0);
	m->class_code = 6;
	m->subclass = 4;
	pci_model_add(m);
	m->cfg[0x0e] = 1;
	m->cfg[0x18] = bus;
	m->cfg[0x19] = m->cfg[0x1a] = secondary;
	return m;
}

/* The bridges in front of a card pass its accesses and its transfers; the others stay as
 * they are. */
static void enables_the_bridges_in_front(void)
{
	pci_model_reset();
	struct pci_model_dev *outer = add_bridge(0, 1, 2), *inner = add_bridge(2, 4, 5);
	struct pci_model_dev *other = add_bridge(0, 3, 6), *idle = add_bridge(2, 5, 7);
	struct pci_model_dev *empty = add_bridge(0, 4, 0); /* has no bus number yet */
	struct pci_model_dev *m = add(5, 2, 0);
	pci_model_add(m);
	struct pci_dev d = find(5, 2, 0);
	pci_enable(&d);
	CHECK(pci_model_can_master(m));
	CHECK_EQ(outer->cfg[4] & 7, 7);
	CHECK_EQ(inner->cfg[4] & 7, 7);
	CHECK_EQ((other->cfg[4] | idle->cfg[4] | empty->cfg[4]) & 7, 0);
	CHECK_STR(all(), "0:1.0 0:3.0 0:4.0 2:4.0 2:5.0 5:2.0 ");
}

/* A card that is cut off transfers nothing, and still responds. */
static void cuts_a_card_off(void)
{
	pci_model_reset();
	struct pci_model_dev *m = add(0, 2, 0);
	pci_model_add(m);
	struct pci_dev d = find(0, 2, 0);
	pci_enable(&d);
	pci_cut(&d);
	CHECK(!pci_model_can_master(m));
	CHECK_EQ(pci_read16(&d, 4) & 7, 3);
}

int main(void)
{
	TEST(an_empty_bus_has_nothing);
	TEST(order_functions_and_buses);
	TEST(header_fields);
	TEST(base_addresses);
	TEST(capabilities);
	TEST(enabling_wakes_and_turns_on);
	TEST(latency_timer);
	TEST(enables_the_bridges_in_front);
	TEST(cuts_a_card_off);
	return tap_done();
}
