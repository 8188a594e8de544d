/* The part of the suite (card_suite.h) with a device that does anything. */
#ifndef TESTS_DRIVERS_CARD_RANDOM_H
#define TESTS_DRIVERS_CARD_RANDOM_H

#include "tests/unit/drivers/card_kit.h"

static uint32_t suite_random = 1;

static inline uint32_t random_below(uint32_t n)
{
	suite_random = suite_random * 1664525u + 1013904223u;
	return (suite_random >> 8) % n;
}

static void random_step(struct card *c)
{
	struct pkt *burst[NIC_BURST];
	uint32_t n;
	switch (random_below(14)) {
	case 0:
		c->cable = random_below(4) != 0;
		break;
	case 1:
		c->tx_hold = random_below(2);
		suite->send(c);
		break;
	case 2:
		c->tx_hung = random_below(8) == 0;
		break;
	case 3:
		c->reset_stuck = random_below(4) == 0;
		break;
	case 4:
		c->gone = random_below(6) == 0;
		break;
	case 5:
	case 6:
		suite->lie(c, random_below(2) ? random_below(4096) : 60 + random_below(1459),
		           random_below(8) == 0);
		break;
	case 7:
		suite_wait_ms(10 + random_below(900));
		break;
	case 8:
		suite_nic->ops->filter(suite_nic, random_below(2), NULL, 0);
		break;
	case 9:
		suite_nic->ops->arm(suite_nic);
		break;
	case 10:
	case 11:
		suite_send(random_below(40), 60 + random_below(1459), 0);
		break;
	default:
		for (n = random_below(60); n; n--)
			suite_arrive(60 + random_below(1459), n);
		n = suite_nic->ops->rx(suite_nic, burst, 1 + random_below(NIC_BURST));
		while (n)
			pkt_free(burst[--n]);
	}
}

/* Cables, hangs, lies and resets in random order. Then the card behaves, and works again. */
static void random_device(void)
{
	for (unsigned run = 0; run < 20; run++) {
		struct card *c = suite_begin();
		suite_random = run + 1;
		for (unsigned i = 0; i < 1500; i++)
			random_step(c);
		c->cable = true;
		c->tx_hold = c->tx_hung = c->reset_stuck = c->gone = false;
		suite->send(c);
		suite_wait_ms(6000);
		suite_drain();
		suite_nic->ops->filter(suite_nic, false, NULL, 0);
		suite_wait_ms(100);
		suite_alive();
		suite_wait_ms(10);
		CHECK_EQ(suite_pool.n_free, suite_pool.n_total - suite->ring);
		suite_end();
	}
}

#endif
