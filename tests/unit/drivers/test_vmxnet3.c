/* The vmxnet3 driver against its card's model: the common suite, and what this card alone has. */
#include "tests/unit/drivers/card_suite.h"

#include "net/lib/csum.h"
#include "tests/models/vmxnet3_model.h"

static struct vmxnet3_model model[2];

static struct card *plug(unsigned slot, const uint8_t address[6])
{
	return vmxnet3_model_plug(&model[slot], slot, address);
}

static struct card *plug_masking(unsigned slot, const uint8_t address[6])
{
	struct card *c = plug(slot, address);
	model[slot].auto_mask = model[slot].wants_index = true;
	return c;
}

#define KIND(n, p)                                                                             \
	{                                                                                      \
		.name = n, .driver = &vmxnet3_driver, .ring = 256, .takes = 255, .sends = 255, \
		.plug = p, .receive = vmxnet3_model_receive, .lie = vmxnet3_model_lie,         \
		.send = vmxnet3_model_send, .quiet = vmxnet3_model_quiet,                      \
		.irq = vmxnet3_model_irq,                                                      \
	}
static const struct card_kind kinds[] = {
        KIND("vmxnet3", plug),
        KIND("vmxnet3 that masks its interrupt and asks for the receive index", plug_masking),
};

/* A device without the revision, one without an address, one that refuses its queues. */
static void refused(void)
{
	suite_machine(SUITE_POOL);
	model[0].revisions = 6;
	CHECK(suite_probe() != NULL);
	suite_machine(SUITE_POOL);
	model[0].mac[0] |= 1;
	CHECK(suite_probe() != NULL);
	suite_machine(SUITE_POOL);
	model[0].refuses = true;
	CHECK(suite_probe() != NULL);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
	CHECK_EQ(pci_model_faults(), 0);
}

/* A device with the first revision only, as QEMU's, is not given super-segments over IPv6. */
static void first_revision(void)
{
	suite_begin();
	CHECK_EQ(suite_nic->offloads, NIC_SUM | NIC_TSO4 | NIC_TSO6);
	suite_machine(SUITE_POOL);
	model[0].revisions = 1;
	CHECK(suite_probe() == NULL);
	CHECK_EQ(suite_nic->offloads, NIC_SUM | NIC_TSO4);
}

/* Descriptors that the device skips come back to it. */
static void skipped(void)
{
	suite_begin();
	for (uint32_t i = 0; i < 2000; i++) {
		model[0].skip = i % 7;
		CHECK_EQ(suite_arrive(100, i), CARD_TAKEN);
		CHECK_EQ(suite_take_all(100, i), 1);
	}
	for (uint32_t i = 0; i < 255; i++)
		CHECK_EQ(suite_arrive(64, i), CARD_TAKEN);
	CHECK_EQ(suite_arrive(64, 0), CARD_MISSED);
	CHECK_EQ(suite_take_all(64, 0), 255);
	suite_end();
}

/* A completion of a frame that was not given: no packet is freed twice, and the device is reset. */
static void names_frames(void)
{
	static const uint32_t index[] = {3, 255, 256, 4095};
	suite_begin();
	for (unsigned i = 0; i < ARRAY_SIZE(index); i++) {
		vmxnet3_model_name_frame(&model[0], index[i]);
		suite_wait_ms(100);
		CHECK_EQ(suite_nic->count.resets, i + 1);
		suite_alive();
	}
	suite_end();
}

/* Errors of a queue that the device reports reset it; a change of the carrier does not. */
static void events(void)
{
	suite_begin();
	vmxnet3_model_event(&model[0], 4);
	CHECK(suite->irq(suite_card));
	suite_wait_ms(20);
	CHECK_EQ(suite_nic->count.resets, 0);
	vmxnet3_model_event(&model[0], 1);
	suite_wait_ms(20);
	vmxnet3_model_event(&model[0], 2);
	suite_wait_ms(20);
	CHECK_EQ(suite_nic->count.resets, 2);
	suite_alive();
	CHECK_EQ(suite_nic->carrier.mbit, 10000);
	suite_end();
}

/* The device's counters are added once, also when they begin again. */
static void counters(void)
{
	suite_begin();
	model[0].errors = 5;
	suite_wait_ms(3000);
	CHECK_EQ(suite_nic->count.tx_errors, 5);
	model[0].errors = 2;
	suite_wait_ms(3000);
	CHECK_EQ(suite_nic->count.tx_errors, 7);
	suite_end();
}

/* The receive index is written only when the device asks for it. */
static void receive_index(void)
{
	suite_begin();
	unsigned before = model[0].indexes;
	suite_alive();
	CHECK_EQ(model[0].indexes, before);
	suite_end();
	suite = &kinds[1];
	suite_begin();
	before = model[0].indexes;
	suite_alive();
	CHECK(model[0].indexes > before);
	suite_end();
}

/* Writes a packet of TCP, or of UDP, over IPv4, behind a VLAN tag or not, with a partial checksum.
 * Gives the offset of the transport header. */
static uint32_t write_packet(uint8_t *f, uint32_t n, bool tcp, bool tag)
{
	uint32_t l3 = tag ? 18 : 14, l4 = l3 + 20;
	suite_frame(f, n, n);
	store16(f + l3 - 2, swap16(0x0800));
	if (tag)
		store16(f + 12, swap16(0x8100));
	f[l3] = 0x45;
	store16(f + l3 + 2, swap16((uint16_t)(n - l3)));
	f[l3 + 9] = tcp ? 6 : 17;
	if (n % 8 == 0) /* one whose checksum comes out as 0 */
		memset(f + l4 + 8, 0, n - l4 - 8);
	store16(f + l4 + (tcp ? 16 : 6),
	        csum_fold((uint32_t)csum_sum(f + l3 + 12, 8) + swap16(tcp ? 6 : 17) +
	                  swap16((uint16_t)(n - l4))));
	if (n % 8 == 0)
		store16(f + n - 2, (uint16_t)~csum_fold(csum_sum(f + l4, n - l4)));
	return l4;
}

/* Checks frame k that was sent: that packet, whose checksum is complete. */
static void check_packet(unsigned k, const uint8_t *f, uint32_t n, uint32_t l4, bool tcp)
{
	const struct card_sent *s = &suite_card->out[k % 64];
	uint32_t field = l4 + (tcp ? 16 : 6);
	CHECK_EQ(s->len, max_u32(n, 60));
	CHECK(memcmp(s->bytes, f, field) == 0);
	CHECK(memcmp(s->bytes + field + 2, f + field + 2, n - field - 2) == 0);
	/* All bytes and the pseudo header, whose sum the field had: nothing is left. */
	CHECK_EQ(csum_fold((uint32_t)csum_sum(s->bytes + l4, n - l4) + load16(f + field)), 0xffff);
	CHECK(tcp || load16(s->bytes + field) != 0);
	CHECK(n % 8 || load16(s->bytes + field) == 0xffff);
}

/* The device completes checksums; those of short frames, which are padded, the driver. */
static void completes_checksums(void)
{
	suite_begin();
	CHECK_EQ(suite_nic->offloads, NIC_SUM | NIC_TSO4 | NIC_TSO6);
	for (uint32_t n = 54; n <= 1514; n++) {
		bool tcp = n & 1, tag = n & 2 && n > 60;
		uint8_t f[2048];
		uint32_t l4 = write_packet(f, n, tcp, tag);
		struct pkt *burst[2] = {suite_packet(n, n), suite_packet(100, n)};
		memcpy(burst[0]->data, f, n);
		burst[0]->flags = PKT_PARTIAL;
		burst[0]->total = n;
		burst[0]->next = NULL;
		burst[0]->l4 = (uint16_t)l4;
		burst[0]->l4_len = tcp ? 16 : 6;
		burst[0]->segment = 0;
		burst[0]->segments = 1;
		unsigned before = suite_card->sent;
		CHECK_EQ(suite_nic->ops->tx_partial(suite_nic, burst, 2), 2);
		CHECK_EQ(suite_card->sent, before + 2);
		check_packet(before, f, n, l4, tcp);
		CHECK(suite_sent(before + 1, 100, n));
	}
	suite_alive();
	suite_wait_ms(10);
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total - suite->ring);
	suite_end();
}

int main(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		card_suite(&kinds[i]);
	suite = &kinds[0];
	TEST(refused);
	TEST(first_revision);
	TEST(skipped);
	TEST(names_frames);
	TEST(events);
	TEST(counters);
	TEST(receive_index);
	TEST(completes_checksums);
	return tap_done();
}
