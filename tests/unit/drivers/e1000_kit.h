/* Shared by the tests of the e1000 driver: cards, a pool, frames that contain their own
 * number, and the checks at the end of every test. */
#ifndef TESTS_DRIVERS_E1000_KIT_H
#define TESTS_DRIVERS_E1000_KIT_H

#include "tests/tap.h"

#include "drivers/net/nic_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"
#include "kernel/lib/log.h"
#include "tests/models/e1000_model.h"
#include "tests/models/e1000_model_regs.h"

#define KIT_POOL 1200u
#define KIT_RING 256u /* packets in a card's receive ring */

static struct e1000_model kit_card[2];
static struct nic *kit_nic[2];
static unsigned kit_nics; /* cards whose probe succeeded */
static struct pool kit_pool;
static uint32_t kit_room = PKT_ROOM; /* of its packets */
static const uint8_t kit_mac[2][6] = {{0x00, 0x0e, 0x0c, 1, 2, 3}, {0x00, 0x0e, 0x0c, 4, 5, 6}};

/* Makes an empty machine with a pool of n packets. */
static inline void kit_machine(uint32_t n)
{
	pci_model_reset();
	host_arena(16u << 20);
	log_reset();
	host_now_us = 5000000;
	kit_nics = 0;
	kit_nic[0] = kit_nic[1] = NULL;
	CHECK(pkt_pool_init(&kit_pool, n, kit_room));
}

/* Adds card i to the bus. */
static inline struct e1000_model *kit_plug(unsigned i, enum e1000_kind kind, uint16_t device)
{
	e1000_model_init(&kit_card[i], kind, device, i, kit_mac[i]);
	return &kit_card[i];
}

/* Probes the next card. Gives NULL, or the driver's text of what is wrong. */
static inline const char *kit_probe(void)
{
	uint32_t cursor = 0;
	struct pci_dev dev;
	for (unsigned i = 0; i <= kit_nics; i++)
		if (!pci_next(&cursor, &dev))
			return "no card";
	for (unsigned k = 0; k < e1000_driver.n_ids; k++) {
		if (e1000_driver.ids[k].vendor != dev.vendor ||
		    e1000_driver.ids[k].device != dev.device)
			continue;
		const char *wrong = e1000_driver.probe(&dev, &kit_pool, &kit_nic[kit_nics]);
		kit_nics += wrong == NULL;
		return wrong;
	}
	return "not in the list";
}

/* Makes a machine with one 82540EM that works, and gives it. */
static inline struct e1000_model *kit_begin(void)
{
	kit_machine(KIT_POOL);
	struct e1000_model *m = kit_plug(0, E1000_KIND_82540, 0x100e);
	const char *wrong = kit_probe();
	CHECK(wrong == NULL);
	if (wrong)
		printf("# %s\n", wrong);
	return m;
}

/* Lets time pass in steps of 10 ms, and polls as the main loop does. */
static inline void kit_wait_ms(unsigned ms)
{
	for (; ms >= 10; ms -= 10) {
		host_now_us += 10000;
		for (unsigned i = 0; i < kit_nics; i++)
			kit_nic[i]->ops->poll(kit_nic[i], host_now_us);
	}
}

/* Checks that no packet is lost: all packets outside the receive rings are free. */
static inline void kit_check_pool(void)
{
	CHECK_EQ(kit_pool.n_free, kit_pool.n_total - KIT_RING * kit_nics);
}

/* Ends a test: stops the cards, and checks that they do nothing afterwards. */
static inline void kit_end(void)
{
	for (unsigned i = 0; i < kit_nics; i++) {
		uint64_t before = host_now_us;
		kit_nic[i]->ops->stop(kit_nic[i]);
		CHECK(host_now_us - before < 100000);
		CHECK(e1000_model_quiet(&kit_card[i]));
	}
	CHECK_EQ(kit_pool.n_free, kit_pool.n_total); /* also those of the rings are free */
	CHECK_EQ(pci_model_faults(), 0);
}

/* Writes a frame for card i: n bytes that all depend on `number`. */
static inline void kit_frame(uint8_t *f, unsigned i, uint32_t n, uint32_t number)
{
	uint32_t x = number * 2654435761u + n;
	memcpy(f, kit_mac[i], 6);
	for (uint32_t k = 6; k < n; k++) {
		x = x * 1103515245u + 12345;
		f[k] = (uint8_t)(x >> 16);
	}
}

static inline enum e1000_rx kit_arrive(unsigned i, uint32_t n, uint32_t number)
{
	uint8_t f[4096];
	kit_frame(f, i, n, number);
	return e1000_model_receive(&kit_card[i], f, n);
}

static inline bool kit_same(const uint8_t *bytes, uint32_t len, unsigned i, uint32_t n,
                            uint32_t number)
{
	uint8_t f[4096];
	kit_frame(f, i, n, number);
	return len == n && memcmp(bytes, f, n) == 0;
}

/* Takes a burst, checks that it contains the frames from `number` on, each of n bytes, and
 * frees them. Gives how many. */
static inline uint32_t kit_take(unsigned i, uint32_t max, uint32_t n, uint32_t number)
{
	struct pkt *burst[NIC_BURST];
	uint32_t got = kit_nic[i]->ops->rx(kit_nic[i], burst, max);
	CHECK(got <= max);
	for (uint32_t k = 0; k < got; k++) {
		CHECK(kit_same(burst[k]->data, burst[k]->len, i, n, number + k));
		CHECK_EQ(burst[k]->data - burst[k]->bytes, PKT_HEADROOM);
		pkt_free(burst[k]);
	}
	return got;
}

/* A frame to this address arrives at card 0; if the card takes it, the driver gives it. Gives
 * what the card did. */
static inline enum e1000_rx kit_arrive_at(const uint8_t to[6])
{
	uint8_t f[100];
	kit_frame(f, 0, sizeof f, 0);
	memcpy(f, to, 6);
	enum e1000_rx r = e1000_model_receive(&kit_card[0], f, sizeof f);
	struct pkt *burst[NIC_BURST];
	uint32_t n = kit_nic[0]->ops->rx(kit_nic[0], burst, NIC_BURST);
	CHECK_EQ(n, r == E1000_RX_TAKEN);
	while (n)
		pkt_free(burst[--n]);
	return r;
}

/* Gives a packet with the frame of that number. */
static inline struct pkt *kit_packet(unsigned i, uint32_t n, uint32_t number)
{
	struct pkt *p = pkt_alloc(&kit_pool);
	if (!p || !pkt_put(p, n < 60 ? 60 : n))
		return NULL;
	kit_frame(p->data, i, n < 60 ? 60 : n, number);
	pkt_trim(p, n);
	return p;
}

/* Offers `count` frames of n bytes in one call, and frees those that the driver refuses.
 * Gives how many it took. */
static inline uint32_t kit_send(unsigned i, uint32_t count, uint32_t n, uint32_t number)
{
	struct pkt *burst[512];
	for (uint32_t k = 0; k < count; k++) {
		burst[k] = kit_packet(i, n, number + k);
		if (!burst[k]) {
			CHECK(burst[k] != NULL);
			count = k;
		}
	}
	uint32_t took = kit_nic[i]->ops->tx(kit_nic[i], burst, count);
	CHECK(took <= count);
	for (uint32_t k = took; k < count; k++)
		pkt_free(burst[k]);
	return took;
}

/* True when the k-th frame that left the model is the frame `number`. */
static inline bool kit_sent(unsigned i, unsigned k, uint32_t n, uint32_t number)
{
	const struct e1000_model_sent *f = &kit_card[i].out[k % 64];
	return kit_same(f->bytes, f->len, i, n, number);
}

/* Hangs the transmitter, and waits until the driver has restarted the first card. */
static inline void kit_restart(struct e1000_model *m)
{
	uint64_t resets = kit_nic[0]->count.resets;
	m->tx_hung = true;
	kit_send(0, 1, 64, 0);
	kit_wait_ms(2100);
	CHECK_EQ(kit_nic[0]->count.resets, resets + 1);
}

/* Checks that frames come and go. */
static inline void kit_check_works(struct e1000_model *m)
{
	unsigned sent = m->sent;
	CHECK_EQ(kit_arrive(0, 64, 1), E1000_RX_TAKEN);
	CHECK_EQ(kit_take(0, NIC_BURST, 64, 1), 1);
	CHECK_EQ(kit_send(0, 1, 64, 2), 1);
	CHECK(m->sent == sent + 1 && kit_sent(0, sent, 64, 2));
	kit_wait_ms(10);
}

#endif
