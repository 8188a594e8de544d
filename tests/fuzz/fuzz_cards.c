/* Fuzzer: network cards that do anything, behind the models of their chips.
 *
 * The first byte of an input chooses the card, the others are a list of operations: frames come and
 * go, cables, hangs and resets that do not end as in the tests; besides, registers read as bytes of
 * the input, and what the card has written into memory (but not into packets) changes. Nothing may
 * be read or written out of place (sanitizers), each call takes a bounded time, frames have a
 * length that they may have, and at the end every packet is back in the pool. */
#include "drivers/net/nic_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"
#include "tests/fuzz/must.h"
#include "tests/models/c90x_model.h"
#include "tests/models/i8255x_model.h"
#include "tests/models/igb_model.h"
#include "tests/models/ne2k_model.h"
#include "tests/models/pcnet_model.h"
#include "tests/models/rtl8139_model.h"
#include "tests/models/rtl8169_model.h"
#include "tests/models/tulip_model.h"
#include "tests/models/vmxnet3_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { POOL = 320, OPERATIONS = 200, LONGEST_US = 3000000 };

static const uint8_t address[6] = {0x00, 0x0e, 0x0c, 1, 2, 3};
static const uint8_t *input;
static size_t left;
static uint32_t noise; /* so many reads of registers give bytes of the input */
static struct pool pool;
static uintptr_t pool_first, pool_last;
static struct nic *nic;
static struct card *c;
static uint32_t (*real_read[3])(void *ctx, uint32_t off, unsigned size);

static union {
	struct c90x_model c90x;
	struct i8255x_model i8255x;
	struct igb_model igb;
	struct ne2k_model ne2k;
	struct pcnet_model pcnet;
	struct rtl8139_model rtl8139;
	struct rtl8169_model rtl8169;
	struct tulip_model tulip;
	struct vmxnet3_model vmxnet3;
} m;

static struct card *plug_c90x(void)
{
	return c90x_model_plug(&m.c90x, 0x9200, 0, address);
}

static struct card *plug_c90x_old(void)
{
	return c90x_model_plug(&m.c90x, 0x9050, 0, address);
}

static struct card *plug_i8255x(void)
{
	return i8255x_model_plug(&m.i8255x, 0x1229, 8, 0, address);
}

static struct card *plug_82557(void)
{
	return i8255x_model_plug(&m.i8255x, 0x1229, 1, 0, address);
}

static struct card *plug_igb(void)
{
	return igb_model_plug(&m.igb, 0x1533, 0, address);
}

static struct card *plug_ne2k(void)
{
	return ne2k_model_plug(&m.ne2k, 0, address);
}

static struct card *plug_pcnet(void)
{
	return pcnet_model_plug(&m.pcnet, 0x2621, 0, address);
}

static struct card *plug_pcnet_mii(void)
{
	return pcnet_model_plug(&m.pcnet, 0x2625, 0, address);
}

static struct card *plug_rtl8139(void)
{
	return rtl8139_model_plug(&m.rtl8139, 0x10, 0, address);
}

static struct card *plug_rtl8139_plus(void)
{
	return rtl8139_model_plug(&m.rtl8139, 0x20, 0, address);
}

static struct card *plug_rtl8169(void)
{
	return rtl8169_model_plug(&m.rtl8169, 0x300, 0, address);
}

static struct card *plug_rtl8169_gate(void)
{
	return rtl8169_model_plug(&m.rtl8169, 0x541, 0, address);
}

static struct card *plug_tulip(void)
{
	return tulip_model_plug(&m.tulip, 0x0019, 0, address);
}

static struct card *plug_tulip_old(void)
{
	return tulip_model_plug(&m.tulip, 0x0009, 0, address);
}

static struct card *plug_vmxnet3(void)
{
	return vmxnet3_model_plug(&m.vmxnet3, 0, address);
}

static struct card *plug_c90x_b(void)
{
	return c90x_model_plug(&m.c90x, 0x9055, 0, address);
}

static struct card *plug_c90x_10(void)
{
	return c90x_model_plug(&m.c90x, 0x9004, 0, address);
}

static struct card *plug_82551_qemu(void)
{
	struct card *made = i8255x_model_plug(&m.i8255x, 0x1209, 9, 0, address);
	m.i8255x.emulated = true;
	return made;
}

static struct card *plug_igb_82575(void)
{
	return igb_model_plug(&m.igb, 0x10a7, 0, address);
}

static struct card *plug_pcnet_970(void)
{
	return pcnet_model_plug(&m.pcnet, 0x2430, 0, address);
}

static struct card *plug_rtl8169_pci(void)
{
	return rtl8169_model_plug(&m.rtl8169, 0x040, 0, address);
}

static struct card *plug_rtl8169_eri(void)
{
	return rtl8169_model_plug(&m.rtl8169, 0x480, 0, address);
}

static struct card *plug_vmxnet3_masking(void)
{
	struct card *made = vmxnet3_model_plug(&m.vmxnet3, 0, address);
	m.vmxnet3.auto_mask = m.vmxnet3.wants_index = true;
	return made;
}

#define CARD(name, how)                                                                        \
	{                                                                                      \
		&name##_driver, how, name##_model_receive, name##_model_lie, name##_model_send \
	}
static const struct {
	const struct pci_driver *driver;
	struct card *(*plug)(void);
	enum card_rx (*receive)(struct card *card, const void *frame, uint32_t n);
	bool (*lie)(struct card *card, uint32_t len, bool error);
	void (*send)(struct card *card);
} cards[] =
        {
                CARD(i8255x, plug_i8255x),
                CARD(i8255x, plug_82557),
                CARD(ne2k, plug_ne2k),
                CARD(pcnet, plug_pcnet),
                CARD(pcnet, plug_pcnet_mii),
                CARD(rtl8139, plug_rtl8139),
                CARD(tulip, plug_tulip),
                CARD(rtl8139, plug_rtl8139_plus),
                CARD(tulip, plug_tulip_old),
                CARD(vmxnet3, plug_vmxnet3),
                CARD(rtl8169, plug_rtl8169),
                CARD(rtl8169, plug_rtl8169_gate),
                CARD(c90x, plug_c90x),
                CARD(c90x, plug_c90x_old),
                CARD(igb, plug_igb),
                CARD(c90x, plug_c90x_b),
                CARD(c90x, plug_c90x_10),
                CARD(i8255x, plug_82551_qemu),
                CARD(igb, plug_igb_82575),
                CARD(pcnet, plug_pcnet_970),
                CARD(rtl8169, plug_rtl8169_pci),
                CARD(rtl8169, plug_rtl8169_eri),
                CARD(vmxnet3, plug_vmxnet3_masking),
},
  *card;

static uint8_t next(void)
{
	if (left == 0)
		return 0;
	left--;
	return *input++;
}

/* --- the random device -------------------------------------------------------------------- */

static uint32_t noisy(unsigned bar, void *ctx, uint32_t off, unsigned size)
{
	uint32_t v = real_read[bar](ctx, off, size);
	if (!noise)
		return v;
	noise--;
	uint8_t how = next();
	if (how < 64)
		v = (uint32_t)next() << 24 | (uint32_t)next() << 16 | (uint32_t)next() << 8 |
		    next();
	else if (how < 192)
		v ^= 1u << (how & 31);
	return v & 0xffffffffu >> (32 - 8 * size);
}

static uint32_t read0(void *ctx, uint32_t off, unsigned size)
{
	return noisy(0, ctx, off, size);
}

static uint32_t read1(void *ctx, uint32_t off, unsigned size)
{
	return noisy(1, ctx, off, size);
}

static uint32_t read2(void *ctx, uint32_t off, unsigned size)
{
	return noisy(2, ctx, off, size);
}

static void wrap(void)
{
	static uint32_t (*const noisy_read[3])(void *, uint32_t, unsigned) = {read0, read1, read2};
	for (unsigned i = 0; i < ARRAY_SIZE(noisy_read); i++) {
		real_read[i] = c->pci.bar[i].read;
		if (real_read[i])
			c->pci.bar[i].read = noisy_read[i];
	}
}

/* Changes bytes of memory that the card was given, but for those of packets: these may be somebody
 * else's by now. */
static void corrupt(void)
{
	size_t n;
	uint8_t *p = pci_model_span(next(), &n);
	if (!n || ((uintptr_t)p >= pool_first && (uintptr_t)p < pool_last))
		return;
	for (uint32_t changes = 1 + (next() & 3); changes; changes--) {
		size_t at = (next() | (size_t)next() << 8) % n;
		p[at] = next();
	}
}

/* --- operations ----------------------------------------------------------------------------- */

static void rx(uint32_t max)
{
	struct pkt *burst[NIC_BURST];
	uint32_t n = nic->ops->rx(nic, burst, max);
	MUST(n <= max);
	while (n) {
		struct pkt *p = burst[--n];
		MUST(p->len >= NIC_FRAME_MIN && p->len <= NIC_FRAME_MAX);
		pkt_free(p);
	}
}

static void tx(uint32_t n, uint32_t len)
{
	struct pkt *burst[NIC_BURST];
	for (uint32_t i = 0; i < n; i++) {
		burst[i] = pkt_alloc(&pool);
		uint8_t *to = burst[i] ? pkt_put(burst[i], len) : NULL;
		if (!to) {
			n = i;
			break;
		}
		memset(to, 0x55, len);
	}
	uint32_t took = nic->ops->tx(nic, burst, n);
	MUST(took <= n);
	while (n > took)
		pkt_free(burst[--n]);
}

static void arrive(uint32_t n, uint32_t len)
{
	static uint8_t frame[2048];
	memcpy(frame, address, 6);
	while (n--)
		card->receive(c, frame, len);
}

static void flags(uint8_t v)
{
	c->cable = v & 1;
	c->tx_hold = (v & 6) == 6;
	c->tx_hung = (v & 24) == 24;
	c->reset_stuck = (v & 96) == 96;
	c->gone = v >= 0xf0;
	card->send(c);
}

static void operate(void)
{
	uint8_t op = next();
	static const mac group[2] = {{{0x33, 0x33, 0, 0, 0, 1}}, {{1, 0, 0x5e, 0, 0, 1}}};
	switch (op & 15) {
	case 0:
	case 1:
	case 2:
		arrive(1 + (op >> 4), min_u32(60 + next() * 6u, CARD_FRAME_MOST));
		break;
	case 3:
	case 4:
		rx(1u + (op >> 4) * 2u);
		break;
	case 5:
	case 6:
		tx(1 + (op >> 4), next() * 6u);
		break;
	case 7:
	case 8:
		host_now_us += 1000u << (op >> 5);
		nic->ops->poll(nic, host_now_us);
		break;
	case 9:
		host_now_us += 2100000;
		nic->ops->poll(nic, host_now_us);
		break;
	case 10:
		nic->ops->arm(nic);
		break;
	case 11:
		nic->ops->filter(nic, op & 64, group, op >> 4 & 2);
		break;
	case 12:
		card->lie(c, next() | (next() & 15u) << 8, op & 128);
		break;
	case 13:
		flags(next());
		break;
	case 14:
		corrupt();
		break;
	default:
		noise = 1 + (op >> 4);
	}
}

static bool begin(void)
{
	struct pci_dev dev;
	uint32_t cursor = 0;
	pci_model_reset();
	host_arena(2u << 20);
	log_reset();
	host_now_us = 5000000;
	noise = 0;
	nic = NULL;
	MUST(pkt_pool_init(&pool, POOL));
	pool_first = (uintptr_t)-1;
	pool_last = 0;
	for (uint32_t i = 0; i < POOL; i++) {
		uintptr_t at = (uintptr_t)pool.stack[i];
		pool_first = at < pool_first ? at : pool_first;
		pool_last =
		        at + sizeof(struct pkt) > pool_last ? at + sizeof(struct pkt) : pool_last;
	}
	uint8_t which = next();
	card = &cards[which % ARRAY_SIZE(cards)];
	c = card->plug();
	wrap();
	MUST(pci_next(&cursor, &dev));
	noise = which & 128 ? next() : 0; /* while it starts */
	bool ok = card->driver->probe(&dev, &pool, &nic) == NULL;
	MUST(ok || pool.n_free == POOL);
	return ok;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	/* The models' faults are printed there. */
	if (!freopen("/dev/null", "w", stdout))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input = data;
	left = size;
	if (!begin())
		return 0;
	for (unsigned i = 0; i < OPERATIONS && left; i++) {
		uint64_t before = host_now_us;
		operate();
		MUST(host_now_us - before < LONGEST_US + 2100000);
	}
	noise = 0;
	nic->ops->stop(nic);
	MUST(pool.n_free == POOL);
	return 0;
}
