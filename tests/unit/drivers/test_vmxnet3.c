/* The vmxnet3 driver against its card's model: the common suite, and what this card alone has. */
#include "tests/unit/drivers/card_suite.h"

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

int main(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		card_suite(&kinds[i]);
	suite = &kinds[0];
	TEST(refused);
	TEST(skipped);
	TEST(names_frames);
	TEST(events);
	TEST(counters);
	TEST(receive_index);
	return tap_done();
}
