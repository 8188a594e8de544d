/* The cards that tests/fuzz/fuzz_cards.c knows: for each its driver, and the model of its chip. */
#ifndef TESTS_FUZZ_CARDS_H
#define TESTS_FUZZ_CARDS_H

#include "drivers/net/nic_list.h"
#include "tests/models/c90x_model.h"
#include "tests/models/e1000_model.h"
#include "tests/models/i8255x_model.h"
#include "tests/models/igb_model.h"
#include "tests/models/ne2k_model.h"
#include "tests/models/pcnet_model.h"
#include "tests/models/rtl8139_model.h"
#include "tests/models/rtl8169_model.h"
#include "tests/models/tulip_model.h"
#include "tests/models/virtio_model.h"
#include "tests/models/vmxnet3_model.h"

static const uint8_t address[6] = {0x00, 0x0e, 0x0c, 1, 2, 3};

static uint8_t next(void); /* the next byte of the input */

static union {
	struct c90x_model c90x;
	struct e1000_model e1000;
	struct i8255x_model i8255x;
	struct igb_model igb;
	struct ne2k_model ne2k;
	struct pcnet_model pcnet;
	struct rtl8139_model rtl8139;
	struct rtl8169_model rtl8169;
	struct tulip_model tulip;
	struct virtio_model virtio;
	struct vmxnet3_model vmxnet3;
} m;

/* Stands for a card whose model does not begin with one. */
static struct card stand_in;
static struct pci_model_dev *on_bus;

static struct card *stand_for(struct pci_model_dev *d)
{
	memset(&stand_in, 0, sizeof stand_in);
	stand_in.cable = true;
	on_bus = d;
	return &stand_in;
}

/* --- e1000 ------------------------------------------------------------------------------------ */

static struct card *plug_e1000(enum e1000_kind kind, uint16_t device)
{
	e1000_model_init(&m.e1000, kind, device, 0, address);
	return stand_for(&m.e1000.pci);
}

static struct card *plug_82540(void)
{
	return plug_e1000(E1000_KIND_82540, 0x100e);
}

static struct card *plug_82541(void)
{
	return plug_e1000(E1000_KIND_82541, 0x1076);
}

static struct card *plug_82544(void)
{
	return plug_e1000(E1000_KIND_82544, 0x1008);
}

static struct card *plug_82574(void)
{
	return plug_e1000(E1000_KIND_82574, 0x10d3);
}

static struct card *plug_82571(void)
{
	struct card *c = plug_e1000(E1000_KIND_82571, 0x105e);
	m.e1000.configure_us = 30000;
	return c;
}

static struct card *plug_82573(void)
{
	return plug_e1000(E1000_KIND_82573, 0x108c);
}

static enum card_rx e1000_receive(struct card *c, const void *frame, uint32_t n)
{
	(void)c;
	return e1000_model_receive(&m.e1000, frame, n) == E1000_RX_TAKEN ? CARD_TAKEN : CARD_MISSED;
}

static bool e1000_lie(struct card *c, uint32_t len, bool error)
{
	(void)c;
	uint8_t how = next();
	return e1000_model_lie(&m.e1000, (uint16_t)len, how & 3 ? 3 : how, error ? how | 1 : 0,
	                       min_u32(len, 2048));
}

static void e1000_send(struct card *c)
{
	struct e1000_model *e = &m.e1000;
	e->tx_hold = c->tx_hold;
	e->tx_hung = c->tx_hung;
	e->reset_stuck = c->reset_stuck;
	e->gone = c->gone;
	e->phy_hung = c->tx_hung;
	e->master_stuck = e->owner_stuck = e->firmware_stuck = c->reset_stuck;
	if (e->cable != c->cable)
		e1000_model_cable(e, c->cable);
	if (!c->tx_hold)
		e1000_model_send(e, 1000);
}

/* --- virtio ----------------------------------------------------------------------------------- */

static struct card *plug_virtio(enum virtio_model_form form, uint64_t features)
{
	virtio_model_init(&m.virtio, form);
	m.virtio.features |= features;
	virtio_model_plug(&m.virtio, 0);
	return stand_for(&m.virtio.pci);
}

static struct card *plug_legacy(void)
{
	return plug_virtio(VIRTIO_MODEL_LEGACY, 0);
}

static struct card *plug_transitional(void)
{
	return plug_virtio(VIRTIO_MODEL_TRANSITIONAL, VIRTIO_MODEL_OFFLOADS);
}

static struct card *plug_modern(void)
{
	return plug_virtio(VIRTIO_MODEL_MODERN, 0);
}

static struct card *plug_modern_offloads(void)
{
	return plug_virtio(VIRTIO_MODEL_MODERN, VIRTIO_MODEL_OFFLOADS | VIRTIO_MODEL_USO);
}

static enum card_rx virtio_receive(struct card *c, const void *frame, uint32_t n)
{
	bool taken = c->cable && virtio_model_ready(&m.virtio) &&
	             virtio_model_deliver(&m.virtio, frame, n);
	return taken ? CARD_TAKEN : CARD_MISSED;
}

/* A packet with a header of any content, in buffers that are filled or not; a used length, a place
 * or an index that is not true. */
static bool virtio_lie(struct card *c, uint32_t len, bool error)
{
	static uint8_t frame[65600];
	struct virtio_model *v = &m.virtio;
	uint8_t how = next();
	(void)c;
	if (!virtio_model_ready(v))
		return false;
	if (error && how & 1) {
		virtio_model_used_raw(v, how >> 1 & 1, next() | (how & 4 ? 256 : 0), len);
		return true;
	}
	if (error && how & 2)
		return virtio_model_deliver_claim(v, frame, 60, len);
	if (error && how < 32) {
		virtio_model_jump(v, how >> 2 & 1, next());
		return true;
	}
	struct virtio_model_said said = {.flags = how & 3,
	                                 .type = next(),
	                                 .hdr_len = next(),
	                                 .size = (uint16_t)(next() * 8),
	                                 .start = next(),
	                                 .offset = next(),
	                                 .buffers = how & 64 ? next() : 0};
	uint16_t sizes[4];
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		sizes[i] = how & 32 ? (uint16_t)(next() * 8) : 0;
	return virtio_model_deliver_said(v, frame, 60 + len * (how & 16 ? 15 : 1), &said, sizes,
	                                 ARRAY_SIZE(sizes));
}

static void virtio_send(struct card *c)
{
	static uint8_t frame[70000];
	struct virtio_model *v = &m.virtio;
	struct virtio_model_said said;
	uint32_t len;
	v->reset_reads = c->reset_stuck ? VIRTIO_MODEL_FOREVER : 0;
	virtio_model_link(v, c->cable);
	if (!virtio_model_ready(v) || c->tx_hold || c->tx_hung)
		return;
	for (unsigned i = 0; i < 300 && virtio_model_take_said(v, frame, sizeof frame, &len, &said);
	     i++)
		;
	virtio_model_complete(v, next(), next() & 1);
}

/* --- the others ----------------------------------------------------------------------------------
 */

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
#define E1000(how)                                                       \
	{                                                                \
		&e1000_driver, how, e1000_receive, e1000_lie, e1000_send \
	}
#define VIRTIO(how)                                                              \
	{                                                                        \
		&virtio_net_driver, how, virtio_receive, virtio_lie, virtio_send \
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
                E1000(plug_82540),
                E1000(plug_82541),
                E1000(plug_82544),
                E1000(plug_82574),
                E1000(plug_82571),
                E1000(plug_82573),
                VIRTIO(plug_legacy),
                VIRTIO(plug_transitional),
                VIRTIO(plug_modern),
                VIRTIO(plug_modern_offloads),
},
  *card;

#endif
