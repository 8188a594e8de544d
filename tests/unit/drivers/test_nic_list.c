/* drivers/net/nic_list: which cards of a bus are found, in which order, and what the log
 * says about the others. */
#include "tests/tap.h"

#include "drivers/net/nic_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"
#include "tests/models/e1000_model.h"
#include "tests/models/virtio_model.h"

enum { POOL = 2000 };
static struct pool pool;
static struct e1000_model intel[2];
static struct virtio_model virtio[2];
static struct pci_model_dev other[2];
static const uint8_t address[2][6] = {{0x00, 0x0e, 0x0c, 1, 2, 3}, {0x00, 0x0e, 0x0c, 4, 5, 6}};

static void start(void)
{
	pci_model_reset();
	host_arena(16u << 20);
	log_reset();
	CHECK(pkt_pool_init(&pool, POOL, PKT_ROOM));
}

/* Adds a device without a driver to the bus. */
static void plug_other(unsigned i, uint8_t slot, uint8_t class_code)
{
	other[i] = (struct pci_model_dev){
	        .dev = slot, .vendor = 0x1fff, .device = 0x8139, .class_code = class_code};
	pci_model_add(&other[i]);
}

/* Slots 3 to 8: a card, a card without a driver, a card that does not reset, a disk, two
 * cards. */
static void plug_all(void)
{
	e1000_model_init(&intel[0], E1000_KIND_82540, 0x100e, 0, address[0]);
	plug_other(0, 4, 0x02);
	virtio_model_init(&virtio[0], VIRTIO_MODEL_MODERN);
	virtio[0].reset_reads = VIRTIO_MODEL_FOREVER;
	virtio_model_plug(&virtio[0], 2);
	plug_other(1, 6, 0x01);
	virtio_model_init(&virtio[1], VIRTIO_MODEL_LEGACY);
	virtio_model_plug(&virtio[1], 4);
	e1000_model_init(&intel[1], E1000_KIND_82540, 0x100f, 5, address[1]);
}

/* Gives how many lines of the log contain this text. */
static unsigned said(const char *text)
{
	char line[200];
	unsigned n = 0;
	for (uint64_t cursor = 0; log_next(&cursor, line, sizeof line);)
		n += strstr(line, text) != NULL;
	return n;
}

static void stop(struct nic *const *nic, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		nic[i]->ops->stop(nic[i]);
	CHECK_EQ(pool.n_free, POOL);
	CHECK_EQ(pci_model_faults(), 0);
}

static void finds_all_in_the_order_of_the_bus(void)
{
	static const uint8_t slot[] = {3, 7, 8};
	struct nic *nic[4] = {NULL};
	start();
	plug_all();
	bool large = false;
	CHECK_EQ(nic_count(NIC_MAX, &large), 4); /* those with a driver, whether they work or not */
	CHECK(large);                            /* a virtio-net */
	CHECK_EQ(nic_count(1, &large), 1);
	CHECK(!large); /* the first is an e1000 */
	CHECK_EQ(nic_count(3, &large), 3);
	uint32_t n = nic_probe_all(&pool, nic, ARRAY_SIZE(nic));
	CHECK_EQ(n, 3);
	for (uint32_t i = 0; i < n && i < ARRAY_SIZE(slot); i++)
		CHECK_EQ(nic[i]->pci.dev, slot[i]);
	CHECK(n == 3 && memcmp(nic[0]->address.b, address[0], 6) == 0);
	CHECK(n == 3 && memcmp(nic[1]->address.b, virtio[1].mac, 6) == 0);
	CHECK(n == 3 && memcmp(nic[2]->address.b, address[1], 6) == 0);
	CHECK_EQ(said("nic0: e1000, pci 00:03.0, irq 10, 00:0e:0c:01:02:03"), 1);
	CHECK_EQ(said("nic1: virtio-net, pci 00:07.0, irq 14"), 1);
	CHECK_EQ(said("nic2: e1000, pci 00:08.0, irq 15, 00:0e:0c:04:05:06"), 1);
	stop(nic, n);
}

/* Network cards that cannot be used do not transfer any more: the firmware may have left them
 * running. Devices that are not network cards are ignored. */
static void logs_cards_without_a_working_driver(void)
{
	struct nic *nic[4];
	start();
	plug_all();
	other[0].cfg[4] = other[1].cfg[4] = virtio[0].pci.cfg[4] = 7;
	stop(nic, nic_probe_all(&pool, nic, ARRAY_SIZE(nic)));
	CHECK(!pci_model_can_master(&other[0]) && !pci_model_can_master(&virtio[0].pci));
	CHECK(pci_model_can_master(&other[1]));
	CHECK_EQ(said("pci 00:04.0: no driver for network card 1fff:8139"), 1);
	CHECK_EQ(said("pci 00:05.0: virtio-net: does not reset"), 1);
	CHECK_EQ(said("pci 00:06.0"), 0);
}

/* Cards that do not fit into the array are not touched. */
static void stops_when_the_array_is_full(void)
{
	struct nic *nic[2] = {NULL};
	start();
	plug_all();
	CHECK_EQ(nic_probe_all(&pool, nic, 1), 1);
	CHECK(nic[0] && nic[0]->pci.dev == 3);
	CHECK(nic[1] == NULL);
	CHECK_EQ(said("nic"), 1);
	CHECK(!pci_model_can_master(&virtio[1].pci) && !pci_model_can_master(&intel[1].pci));
	stop(nic, 1);
	start();
	CHECK_EQ(nic_probe_all(&pool, nic, 2), 0); /* an empty bus */
}

/* A known device number with another vendor number is another card. */
static void a_card_is_vendor_and_device(void)
{
	struct nic *nic[2];
	start();
	plug_other(0, 3, 0x02);
	store16(other[0].cfg + 2, 0x100e);
	CHECK_EQ(nic_probe_all(&pool, nic, 2), 0);
	CHECK_EQ(said("no driver for network card 1fff:100e"), 1);
	store16(other[0].cfg, 0x8086);
	store16(other[0].cfg + 2, 0x1041);
	CHECK_EQ(nic_probe_all(&pool, nic, 2), 0);
	CHECK_EQ(said("no driver for network card 8086:1041"), 1);
}

int main(void)
{
	TEST(finds_all_in_the_order_of_the_bus);
	TEST(logs_cards_without_a_working_driver);
	TEST(stops_when_the_array_is_full);
	TEST(a_card_is_vendor_and_device);
	return tap_done();
}
