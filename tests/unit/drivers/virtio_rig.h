/* Shared by the tests of the virtio driver: a device model on a bus, a pool, the driver
 * started on it, and frames whose bytes are computed from a number. */
#ifndef TESTS_DRIVERS_VIRTIO_RIG_H
#define TESTS_DRIVERS_VIRTIO_RIG_H

#include "tests/tap.h" /* must come before the kernel's string.h */

#include "drivers/net/nic_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"
#include "kernel/lib/log.h"
#include "tests/models/virtio_model.h"
#include "tests/models/virtio_model_regs.h"

#define RIG_POOL 1200u

struct rig {
	struct virtio_model m;
	struct pool pool;
	struct nic *nic;
	uint32_t next_rx, next_tx; /* numbers of the next frames */
};

static struct rig rig;
static uint32_t rig_room = PKT_ROOM; /* of its packets */
static uint64_t rig_now_us;

/* Makes an empty bus and memory, and a device of that form that is not yet on the bus. */
static inline void rig_new(enum virtio_model_form form)
{
	pci_model_reset();
	host_arena(16u << 20);
	log_reset();
	memset(&rig, 0, sizeof rig);
	if (!pkt_pool_init(&rig.pool, RIG_POOL, rig_room))
		printf("# no memory for the pool\n");
	virtio_model_init(&rig.m, form);
}

/* Adds the device to the bus and starts the driver. Gives NULL, or the driver's text of
 * what is wrong. */
static inline const char *rig_probe(void)
{
	uint32_t cursor = 0;
	struct pci_dev dev;
	virtio_model_plug(&rig.m, 0);
	if (!pci_next(&cursor, &dev))
		return "not found on the bus";
	return virtio_net_driver.probe(&dev, &rig.pool, &rig.nic);
}

static inline void rig_start(enum virtio_model_form form)
{
	rig_new(form);
	CHECK_STR(rig_probe() ? "failed" : "started", "started");
}

/* Ends a test: checks that the card does nothing, all packets are free, and no rule was
 * broken. */
static inline void rig_end(void)
{
	rig.nic->ops->stop(rig.nic);
	CHECK_EQ(rig.m.status, 0);
	CHECK_EQ(rig.pool.n_free, rig.pool.n_total);
	CHECK_EQ(pci_model_faults(), 0);
}

/* Polls 10 ms later. */
static inline void rig_poll(void)
{
	rig_now_us += 10000;
	rig.nic->ops->poll(rig.nic, rig_now_us);
}

/* Writes frame number n and gives its length (60 to 1514). */
static inline uint32_t rig_frame(uint32_t n, uint8_t *buf)
{
	uint32_t len = n % 7 == 0 ? 1514 - n % 5 : 60 + n % 64;
	for (uint32_t i = 4; i < len; i++)
		buf[i] = (uint8_t)(n * 31 + i * 7 + (i >> 8));
	store32(buf, n);
	return len;
}

static inline bool rig_is_frame(uint32_t n, const uint8_t *data, uint32_t len)
{
	uint8_t want[1600];
	uint32_t want_len = rig_frame(n, want);
	return len == want_len && memcmp(data, want, len) == 0;
}

/* Delivers the next frame from the wire. */
static inline bool rig_deliver(void)
{
	uint8_t buf[1600];
	uint32_t len = rig_frame(rig.next_rx, buf);
	return virtio_model_deliver(&rig.m, buf, len);
}

/* Delivers n frames, and checks that the driver passes them on in order. */
static inline void rig_receive(uint32_t n)
{
	struct pkt *burst[NIC_BURST];
	uint32_t first = rig.next_rx, got = 0, here;
	for (uint32_t i = 0; i < n; i++, rig.next_rx++)
		CHECK(rig_deliver());
	while ((here = rig.nic->ops->rx(rig.nic, burst, NIC_BURST)) > 0)
		for (uint32_t i = 0; i < here; i++, got++) {
			CHECK(rig_is_frame(first + got, burst[i]->data, burst[i]->len));
			pkt_free(burst[i]);
		}
	CHECK_EQ(got, n);
}

/* Gives a packet with frame number n. */
static inline struct pkt *rig_packet(uint32_t n)
{
	struct pkt *p = pkt_alloc(&rig.pool);
	uint8_t buf[1600];
	uint32_t len = rig_frame(n, buf);
	uint8_t *at = p ? pkt_put(p, len) : NULL;
	if (at)
		memcpy(at, buf, len);
	return p;
}

/* Offers n frames to the driver in one call. Gives how many it took. */
static inline uint32_t rig_offer(uint32_t n)
{
	struct pkt *burst[NIC_BURST];
	for (uint32_t i = 0; i < n; i++)
		burst[i] = rig_packet(rig.next_tx + i);
	uint32_t took = rig.nic->ops->tx(rig.nic, burst, n);
	for (uint32_t i = took; i < n; i++)
		pkt_free(burst[i]);
	return took;
}

/* Checks that the device gets the next n frames in order; it keeps them. */
static inline void rig_seen(uint32_t n)
{
	uint8_t buf[2048];
	uint32_t len;
	for (uint32_t i = 0; i < n; i++, rig.next_tx++)
		CHECK(virtio_model_take(&rig.m, buf, sizeof buf, &len) &&
		      rig_is_frame(rig.next_tx, buf, len));
}

/* Sends n frames, and gives their buffers back. */
static inline void rig_send(uint32_t n)
{
	CHECK_EQ(rig_offer(n), n);
	rig_seen(n);
	CHECK_EQ(virtio_model_complete(&rig.m, n, false), n);
}

#endif
