/* The ne2k driver against its card's model: the common suite, and what these cards alone have. */
#include "tests/unit/drivers/card_suite.h"

#include "tests/models/ne2k_model.h"

static struct ne2k_model model[2];

static struct card *plug(unsigned slot, const uint8_t address[6])
{
	return ne2k_model_plug(&model[slot], slot, address);
}

/* The card has one frame to send at a time: the driver gives it the next. */
static void send_all(struct card *c)
{
	for (unsigned i = 0; i < 4; i++) {
		ne2k_model_send(c);
		suite_nic->ops->poll(suite_nic, host_now_us);
	}
}

static const struct card_kind kind = {
        .name = "NE2000",
        .driver = &ne2k_driver,
        .ring = 0,
        .takes = 44,
        .sends = 3,
        .no_carrier = true,
        .most = 100000, /* the processor copies */
        .stops_full = true,
        .plug = plug,
        .receive = ne2k_model_receive,
        .lie = ne2k_model_lie,
        .send = send_all,
        .quiet = ne2k_model_quiet,
        .irq = ne2k_model_irq,
};

/* An overflow while a frame is sent: it is sent again when the stop cut it off. */
static void overflows(void)
{
	struct card *c = suite_begin();
	for (unsigned turn = 0; turn < 20; turn++) {
		unsigned before = c->sent, handled = model[0].overflows;
		c->tx_hold = turn & 1;
		host_now_us += 6000;
		CHECK_EQ(suite_send(2, 100, turn), 2);
		for (uint32_t i = 0; i < 44; i++)
			CHECK_EQ(suite_arrive(64, i), CARD_TAKEN);
		CHECK_EQ(suite_arrive(64, 44), CARD_MISSED);
		CHECK(suite->irq(c));
		CHECK_EQ(suite_take_all(64, 0), 0);
		CHECK(!suite->irq(c));
		CHECK(suite_nic->ops->arm(suite_nic)); /* no interrupt would end a halt */
		CHECK_EQ(suite_send(1, 100, 0), 0);
		host_now_us += 100; /* too early to start again */
		suite_nic->ops->poll(suite_nic, host_now_us);
		c->tx_hold = false; /* the stop has cut the frame off */
		suite_wait_ms(40);
		/* It comes back to the cable when there is room. */
		CHECK_EQ(model[0].overflows, handled);
		CHECK_EQ(suite_arrive(64, 99), CARD_OFF);
		CHECK(suite_nic->ops->arm(suite_nic));
		CHECK_EQ(suite_take(1, 64, 0), 1);
		CHECK_EQ(model[0].overflows, handled + 1);
		CHECK_EQ(suite_arrive(64, 44), CARD_TAKEN);
		CHECK_EQ(suite_take_all(64, 1), 44);
		suite_wait_ms(20);
		CHECK_EQ(c->sent, before + 2);
		CHECK(suite_sent(before, 100, turn) && suite_sent(before + 1, 100, turn + 1));
		suite_alive();
	}
	CHECK_EQ(suite_nic->count.resets, 0);
	CHECK_EQ(suite_nic->count.rx_missed, 20);
	suite_end();
}

/* The cable is slower than the driver: each frame that was sent brings the next one, without
 * poll(). */
static void sends_by_interrupts(void)
{
	struct card *c = suite_begin();
	unsigned before = c->sent;
	c->tx_hold = true;
	CHECK_EQ(suite_send(3, 100, 0), 3);
	CHECK(!suite_nic->ops->arm(suite_nic));
	c->tx_hold = false;
	for (unsigned i = 1; i <= 3; i++) {
		CHECK(!suite->irq(c));
		ne2k_model_send(c);
		CHECK_EQ(c->sent, before + i);
		CHECK(suite->irq(c) == (i < 3));
		c->tx_hold = true; /* the next one takes its time, too */
		CHECK(!suite_nic->ops->arm(suite_nic));
		c->tx_hold = false;
	}
	CHECK(suite_sent(before, 100, 0) && suite_sent(before + 2, 100, 2));
	suite_end();
}

/* A chain that leads out of the ring, or a card that writes over its own frames. */
static void broken_chains(void)
{
	static const uint8_t to[] = {1, 0x3f, 0x40, 0x51, 0x80, 0xff};
	suite_begin();
	for (unsigned i = 0; i < ARRAY_SIZE(to); i++) {
		model[0].next_is = to[i];
		CHECK_EQ(suite_arrive(100, i), CARD_TAKEN);
		CHECK_EQ(suite_arrive(100, i), CARD_TAKEN);
		CHECK_EQ(suite_take_all(100, 0), 0);
		CHECK_EQ(suite_nic->count.rx_missed, i + 1);
		suite_alive();
	}
	for (unsigned i = 0; i < 200; i++) { /* inside, but nowhere */
		model[0].next_is = (uint8_t)(0x52 + i % 46);
		suite_arrive(60 + i * 7 % 1459, i);
		suite_drain();
		suite_alive();
	}
	model[0].runs_over = true;
	for (unsigned i = 0; i < 1000; i++)
		suite_arrive(60 + i * 31 % 1459, i);
	suite_drain();
	model[0].runs_over = false;
	suite_alive();
	suite_end();
}

/* Frames that collide too often count. A transfer that does not end resets the card. */
static void failures(void)
{
	suite_begin();
	model[0].tx_fails = true;
	CHECK_EQ(suite_send(3, 100, 0), 3);
	CHECK_EQ(suite_card->sent, 2);
	CHECK_EQ(suite_nic->count.tx_errors, 1);
	model[0].dma_stuck = true;
	CHECK_EQ(suite_send(1, 100, 0), 1);
	suite_wait_ms(20);
	CHECK_EQ(suite_nic->count.resets, 1);
	model[0].dma_stuck = false;
	suite_alive();
	suite_end();
	suite_machine(SUITE_POOL);
	model[0].prom[0] |= 1;
	CHECK(suite_probe() != NULL);
}

int main(void)
{
	card_suite(&kind);
	TEST(overflows);
	TEST(sends_by_interrupts);
	TEST(broken_chains);
	TEST(failures);
	return tap_done();
}
