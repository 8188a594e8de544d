/* tests/host/image.h: what is put back is what was kept, wherever it was written to. */
#include "kernel/seam/io.h"
#include "tests/host/image.h"
#include "tests/tap.h"

#define MEMORY (2u << 20)
#define SPOT   (MEMORY - 100000) /* behind all that was given out */

static struct rig rig, kept[2]; /* as it is, and as it was at each start */

static void start(uint32_t seed, uint32_t packets)
{
	static const char config[] = "lan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\n";
	rig_reset(&rig, seed, MEMORY, 1000000);
	CHECK(rig_config(&rig, config, sizeof config - 1));
	CHECK_EQ(rig_start(&rig, "wire", packets) == NULL, true);
}

static uint8_t *memory(void)
{
	size_t size;
	uint8_t *at = host_arena_at(&size);
	CHECK_EQ(size, MEMORY);
	return at;
}

/* Frames pass, packets are taken, memory is written to. */
static void use(void)
{
	static const uint8_t frame[60] = {2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8};
	CHECK(rig_input(&rig, IF_LAN, frame, sizeof frame));
	CHECK(pkt_alloc(&rig.pool) != NULL);
	rig_advance(&rig, 5000000);
	rig.gw.neigh.entry[NEIGH_SETS / 2][1].tries = 1;
	rig.config.n_errors = 1;
	memory()[SPOT] = 7;
	memory()[MEMORY - 1] = 8;
}

static void is_as_kept(uint32_t n_free, const uint8_t *copy, const struct rig *was)
{
	CHECK(memcmp(&rig, was, sizeof rig) == 0);
	CHECK_EQ(rig.gw.clock.us, 1000000);
	CHECK_EQ(rig.pool.n_free, n_free);
	CHECK_EQ(rig.gw.iface[IF_LAN].rx_packets, 0);
	const uint8_t *at = memory(), *end = at + MEMORY, *open = at;
	/* Outside of what is poisoned every byte is as it was. */
	bool same = true;
	for (size_t n = 0; open < end; open = at + n) {
		at = host_poisoned(open, end, &n);
		at = at ? at : end;
		same = same && memcmp(open, copy + (open - memory()), (size_t)(at - open)) == 0;
	}
	CHECK(same);
}

static uint32_t n_poisoned(void)
{
	uint32_t sum = 0;
	const uint8_t *at = memory(), *end = at + MEMORY;
	for (size_t n; (at = host_poisoned(at, end, &n)) != NULL; at += n)
		sum += (uint32_t)n;
	return sum;
}

/* What may be read of the memory, the rest zero. */
static void copy_memory(uint8_t *to)
{
	const uint8_t *at = memory(), *end = at + MEMORY, *open = at;
	memset(to, 0, MEMORY);
	for (size_t n = 0; open < end; open = at + n) {
		at = host_poisoned(open, end, &n);
		at = at ? at : end;
		memcpy(to + (open - memory()), open, (size_t)(at - open));
	}
}

static void two_images_in_turn(void)
{
	static uint8_t copy[2][MEMORY];
	static const uint32_t packets[2] = {8, 100};
	const struct image *image[2];
	uint32_t poisoned[2];
	for (unsigned i = 0; i < 2; i++) {
		start(i, packets[i]);
		poisoned[i] = n_poisoned();
		copy_memory(copy[i]);
		memcpy(&kept[i], &rig, sizeof rig);
		image[i] = image_keep(&rig);
		is_as_kept(packets[i], copy[i], &kept[i]);
	}
	/* More than COOL_DOWN times: all pages are protected again meanwhile. */
	static const unsigned order[] = {0, 0, 1, 1, 0, 1, 0, 0};
	for (unsigned round = 0; round < 5100; round++) {
		unsigned i = order[round % 8];
		image_put_back(&rig, image[i]);
		if (round < 16 || round % 5000 < 2) {
			is_as_kept(packets[i], copy[i], &kept[i]);
			CHECK_EQ(n_poisoned(), poisoned[i]);
		}
		use();
	}
}

/* A start after images, and one more image of it. */
static void start_again(void)
{
	static uint8_t copy[MEMORY];
	start(3, 30);
	copy_memory(copy);
	memcpy(&kept[0], &rig, sizeof rig);
	use();
	start(3, 30);
	const struct image *image = image_keep(&rig);
	is_as_kept(30, copy, &kept[0]);
	use();
	image_put_back(&rig, image);
	is_as_kept(30, copy, &kept[0]);
}

int main(void)
{
	TEST(two_images_in_turn);
	TEST(start_again);
	return tap_done();
}
