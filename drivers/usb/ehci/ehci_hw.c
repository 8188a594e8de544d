/* Taking an EHCI controller from the firmware, reset and start. */
#include "drivers/usb/ehci/ehci.h"

#include "kernel/lib/log.h"

#define WINDOW      0x100u /* bytes of registers at least */
#define HALT_MS     20u    /* 2.3.1: 16 micro-frames */
#define RESET_MS    250u
#define CHAIN_MAX   48u   /* capabilities that fit in configuration space */
#define ROUTE_US    5000u /* companions need some time to give the ports up */
#define CONFIG_HEAD 0x40u /* capabilities lie behind the header */

/* Waits until the bits of a register are as wanted. A register of ones is a controller that is
 * gone. */
static bool await(const struct ehci *e, uint32_t reg, uint32_t mask, uint32_t want, uint32_t ms)
{
	for (uint32_t i = 0; i < 10 * ms; i++) {
		uint32_t v = ehci_read(e, reg);
		if (v == EHCI_GONE)
			return false;
		if ((v & mask) == want)
			return true;
		io_delay_us(100);
	}
	return false;
}

const char *ehci_hw_map(struct ehci *e, const struct pci_dev *dev)
{
	struct pci_bar bar = pci_bar(dev, 0);
	if (bar.io || bar.base == 0 || bar.size < WINDOW)
		return "no registers";
	volatile uint8_t *cap = mem_map(bar.base, bar.size > 4096 ? 4096 : (size_t)bar.size);
	if (!cap)
		return "its registers cannot be reached";
	uint32_t length = mmio_read32(cap + EHCI_CAPLENGTH);
	if (length == EHCI_GONE)
		return "does not answer";
	length &= 0xff;
	e->params = mmio_read32(cap + EHCI_HCSPARAMS);
	uint32_t more = mmio_read32(cap + EHCI_HCCPARAMS);
	e->wide = more & HCC_64BIT;
	e->eecp = HCC_EECP(more);
	e->op = cap + length;
	if (length < CAPLENGTH_MIN || length % 4 || HCS_PORTS(e->params) == 0 ||
	    length + EHCI_PORTSC(HCS_PORTS(e->params)) + 4 > bar.size)
		return "its registers make no sense";
	return NULL;
}

uint8_t ehci_hw_ask(const struct ehci *e, const struct pci_dev *dev)
{
	uint8_t at = e->eecp;
	for (unsigned i = 0; i < CHAIN_MAX && at >= CONFIG_HEAD && at % 4 == 0; i++) {
		uint32_t v = pci_read32(dev, at);
		if ((v & 0xff) == LEG_ID && at <= 0xf8) {
			pci_write8(dev, (uint8_t)(at + LEG_OS), 1);
			return at;
		}
		at = v >> 8 & 0xff;
	}
	return 0;
}

bool ehci_hw_given(const struct pci_dev *dev, uint8_t at)
{
	return !(pci_read32(dev, at) & LEG_IS_BIOS);
}

void ehci_hw_take(const struct pci_dev *dev, uint8_t at)
{
	if (!ehci_hw_given(dev, at)) {
		log_line("pci %02x:%02x.%x: ehci: taken from the firmware by force", dev->bus,
		         dev->dev, dev->fn);
		pci_write8(dev, (uint8_t)(at + LEG_BIOS), 0);
	}
	pci_write32(dev, (uint8_t)(at + LEG_CTLSTS), 0);
}

/* The VT6212 looks at an idle schedule each microsecond, and leaves little of the bus to others. A
 * bit makes this 10 microseconds, as usual. */
void ehci_hw_quirks(const struct pci_dev *dev)
{
	if (dev->vendor == 0x1106 && dev->device == 0x3104 && (dev->revision & 0xf0) == 0x60)
		pci_write8(dev, 0x4b, pci_read8(dev, 0x4b) | 0x20);
}

bool ehci_hw_stop(const struct ehci *e)
{
	uint32_t cmd = ehci_read(e, EHCI_USBCMD);
	if (cmd == EHCI_GONE)
		return false;
	ehci_write(e, EHCI_USBINTR, 0);
	if (ehci_read(e, EHCI_USBSTS) & STS_HALTED)
		return true;
	ehci_write(e, EHCI_USBCMD, cmd & ~(CMD_RS | CMD_IAAD | CMD_HCRESET));
	return false;
}

bool ehci_hw_halt(const struct ehci *e)
{
	return ehci_hw_stop(e) || await(e, EHCI_USBSTS, STS_HALTED, STS_HALTED, HALT_MS);
}

bool ehci_hw_reset(const struct ehci *e)
{
	ehci_write(e, EHCI_USBCMD, CMD_HCRESET);
	return await(e, EHCI_USBCMD, CMD_HCRESET, 0, RESET_MS);
}

static void power_ports(const struct ehci *e)
{
	if (!(e->params & HCS_PPC))
		return;
	for (uint32_t p = 1; p <= HCS_PORTS(e->params); p++)
		ehci_write(e, EHCI_PORTSC(p),
		           (ehci_read(e, EHCI_PORTSC(p)) & ~PORT_CHANGES) | PORT_PP);
}

bool ehci_hw_start(struct ehci *e)
{
	if (e->wide)
		ehci_write(e, EHCI_CTRLDSSEGMENT, 0);
	ehci_write(e, EHCI_USBINTR, 0);
	ehci_write(e, EHCI_USBSTS, STS_CHANGES);
	ehci_write(e, EHCI_PERIODICLISTBASE, (uint32_t)dma_addr(e->frames));
	ehci_write(e, EHCI_ASYNCLISTADDR, (uint32_t)dma_addr(&e->head->qh));
	e->cmd = CMD_RS | CMD_ITC;
	ehci_write(e, EHCI_USBCMD, e->cmd);
	if (!await(e, EHCI_USBSTS, STS_HALTED, 0, HALT_MS))
		return false;
	ehci_write(e, EHCI_CONFIGFLAG, 1);
	(void)ehci_read(e, EHCI_CONFIGFLAG); /* the write has arrived before the time runs */
	io_delay_us(ROUTE_US);
	power_ports(e);
	return true;
}
