/* A machine with one card of any kind, and frames for it: what the common suite of the drivers of
 * network cards (card_suite.h) stands on. */
#ifndef TESTS_DRIVERS_CARD_KIT_H
#define TESTS_DRIVERS_CARD_KIT_H

#include "tests/tap.h"

#include "drivers/net/nic_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"
#include "tests/models/card_model.h"

#define SUITE_POOL 1200u

static const struct card_kind *suite;
static struct card *suite_card;
static struct nic *suite_nic;
static struct pool suite_pool;
static const uint8_t suite_mac[6] = {0x00, 0x0e, 0x0c, 1, 2, 3};

/* --- a machine with one card -------------------------------------------------------------- */

/* Makes a machine with one card that was not started. */
static inline struct card *suite_machine(uint32_t packets)
{
	pci_model_reset();
	host_arena(8u << 20);
	log_reset();
	host_now_us = 5000000;
	suite_nic = NULL;
	CHECK(pkt_pool_init(&suite_pool, packets, PKT_ROOM));
	suite_card = suite->plug(0, suite_mac);
	return suite_card;
}

/* Starts the driver. Gives NULL, or its text of what is wrong. */
static inline const char *suite_probe(void)
{
	uint32_t cursor = 0;
	struct pci_dev dev;
	if (!pci_next(&cursor, &dev))
		return "no card";
	for (unsigned k = 0; k < suite->driver->n_ids; k++)
		if (suite->driver->ids[k].vendor == dev.vendor &&
		    suite->driver->ids[k].device == dev.device)
			return suite->driver->probe(&dev, &suite_pool, &suite_nic);
	return "not in the list";
}

/* Lets time pass in steps of 10 ms, and polls as the main loop does. */
static inline void suite_wait_ms(unsigned ms)
{
	for (; ms >= 10; ms -= 10) {
		host_now_us += 10000;
		suite_nic->ops->poll(suite_nic, host_now_us);
	}
}

/* Makes a machine with one card that works and has its carrier. */
static inline struct card *suite_begin(void)
{
	suite_machine(SUITE_POOL);
	const char *wrong = suite_probe();
	CHECK_STR(wrong ? wrong : "started", "started");
	if (wrong)
		exit(1);
	suite_wait_ms(100);
	CHECK(suite_nic->carrier.up);
	return suite_card;
}

static inline void suite_end(void)
{
	uint64_t before = host_now_us;
	suite_nic->ops->stop(suite_nic);
	CHECK(host_now_us - before < 500000);
	CHECK(suite->quiet(suite_card));
	CHECK_EQ(suite_pool.n_free, suite_pool.n_total);
	CHECK_EQ(pci_model_faults(), 0);
}

/* --- frames --------------------------------------------------------------------------------- */

/* Writes a frame for the card: n bytes that all depend on `number`. */
static inline void suite_frame(uint8_t *f, uint32_t n, uint32_t number)
{
	uint32_t x = number * 2654435761u + n;
	memcpy(f, suite_mac, 6);
	for (uint32_t k = 6; k < n; k++) {
		x = x * 1103515245u + 12345;
		f[k] = (uint8_t)(x >> 16);
	}
}

static inline bool suite_same(const uint8_t *bytes, uint32_t len, uint32_t n, uint32_t number)
{
	uint8_t f[2048];
	suite_frame(f, n, number);
	return len == n && memcmp(bytes, f, n) == 0;
}

static inline enum card_rx suite_arrive(uint32_t n, uint32_t number)
{
	uint8_t f[2048];
	suite_frame(f, n, number);
	return suite->receive(suite_card, f, n);
}

/* Takes a burst, checks that it has the frames from `number` on, each of n bytes, and frees them.
 * Gives how many. */
static inline uint32_t suite_take(uint32_t max, uint32_t n, uint32_t number)
{
	struct pkt *burst[NIC_BURST];
	uint32_t got = suite_nic->ops->rx(suite_nic, burst, max);
	CHECK(got <= max);
	for (uint32_t k = 0; k < got; k++) {
		CHECK(suite_same(burst[k]->data, burst[k]->len, n, number + k));
		pkt_free(burst[k]);
	}
	return got;
}

/* Takes all frames from `number` on. A call may give fewer than wait (the end of a ring), so it
 * ends after two calls that give none. */
static inline uint32_t suite_take_all(uint32_t n, uint32_t number)
{
	uint32_t got = 0;
	for (unsigned none = 0; none < 2;) {
		uint32_t here = suite_take(NIC_BURST, n, number + got);
		none = here ? 0 : none + 1;
		got += here;
	}
	return got;
}

/* Takes all frames, whatever they are. */
static inline void suite_drain(void)
{
	struct pkt *burst[NIC_BURST];
	for (unsigned none = 0; none < 2;) {
		uint32_t n = suite_nic->ops->rx(suite_nic, burst, NIC_BURST);
		none = n ? 0 : none + 1;
		while (n)
			pkt_free(burst[--n]);
	}
}

static inline struct pkt *suite_packet(uint32_t n, uint32_t number)
{
	struct pkt *p = pkt_alloc(&suite_pool);
	if (!p || !pkt_put(p, n))
		return NULL;
	uint8_t f[2048];
	suite_frame(f, n, number);
	memcpy(p->data, f, n);
	return p;
}

/* Offers `count` frames in one call, and frees those that the driver refuses. Gives how many it
 * took. */
static inline uint32_t suite_send(uint32_t count, uint32_t n, uint32_t number)
{
	struct pkt *burst[512];
	for (uint32_t k = 0; k < count; k++) {
		burst[k] = suite_packet(n, number + k);
		CHECK(burst[k] != NULL);
		if (!burst[k])
			count = k;
	}
	uint32_t took = suite_nic->ops->tx(suite_nic, burst, count);
	CHECK(took <= count);
	if (suite->looks)
		suite->send(suite_card);
	for (uint32_t k = took; k < count; k++)
		pkt_free(burst[k]);
	return took;
}

static inline bool suite_sent(unsigned k, uint32_t n, uint32_t number)
{
	const struct card_sent *f = &suite_card->out[k % 64];
	return suite_same(f->bytes, f->len, n, number);
}

/* Checks that frames pass both ways. */
static inline void suite_alive(void)
{
	static uint32_t number = 5000;
	number += 10;
	suite_wait_ms(100);
	suite_take_all(0, 0);
	unsigned before = suite_card->sent;
	CHECK_EQ(suite_arrive(300, number), CARD_TAKEN);
	CHECK_EQ(suite_take_all(300, number), 1);
	CHECK_EQ(suite_send(3, 200, number), 3);
	CHECK_EQ(suite_card->sent, before + 3);
	for (unsigned k = 0; k < 3; k++)
		CHECK(suite_sent(before + k, 200, number + k));
}

#endif
