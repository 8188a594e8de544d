/* UHCI host controllers: take-over from the firmware, start, root ports. Specification: UHCI
 * Design Guide, revision 1.1; section numbers are of that document.
 *
 * Polled: the controller's interrupts stay off. Left out on purpose: power management (suspend,
 * resume), isochronous transfers, bandwidth reclamation. */
#include "drivers/usb/uhci/uhci.h"

#include "drivers/usb/usb_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"

#define RESET_US       10000u /* for HCRESET to clear itself */
#define HALT_US        3000u  /* for a controller to halt or to start: two frames and some */
#define PORT_RESET_US  50000u /* USB 2.0, 7.1.7.5 */
#define ENABLE_TRIES   30u
#define ENABLE_WAIT_US 10u

static uint16_t reg(const struct uhci *u, uint32_t off)
{
	return (uint16_t)(u->io + off);
}

uint16_t uhci_frame(const struct uhci *u)
{
	return io_in16(reg(u, UHCI_FRNUM)) & UHCI_FRAME_MASK;
}

/* --- take-over (2.1.1, 5.2.1) ---------------------------------------------------------- */

/* Gives the first range of I/O ports that can hold the registers, or 0. */
static uint16_t find_ports(const struct pci_dev *dev, uint32_t *size)
{
	for (unsigned i = 0; i < 6; i++) {
		struct pci_bar b = pci_bar(dev, i);
		if (!b.io || b.base == 0 || b.size < UHCI_PORT + 4 || b.base > 0x10000u - b.size)
			continue;
		*size = (uint32_t)b.size;
		return (uint16_t)b.base;
	}
	return 0;
}

/* Waits until the bits of a register have a value. False: not within the time. */
static bool wait_for(uint16_t port, uint16_t mask, uint16_t value, uint32_t us)
{
	uint64_t end = io_now_us() + us;
	while ((io_in16(port) & mask) != value) {
		if (io_now_us() >= end)
			return false;
		io_delay_us(10);
	}
	return true;
}

/* Halts the controller and resets it. */
static const char *reset(uint16_t io)
{
	if (io_in16((uint16_t)(io + UHCI_CMD)) == 0xffff)
		return "it does not answer";
	io_out16((uint16_t)(io + UHCI_INTR), 0);
	io_out16((uint16_t)(io + UHCI_CMD), 0);
	/* One that does not halt is reset while it runs. */
	(void)wait_for((uint16_t)(io + UHCI_STS), UHCI_STS_HALTED, UHCI_STS_HALTED, HALT_US);
	io_out16((uint16_t)(io + UHCI_CMD), UHCI_CMD_HCRESET);
	if (!wait_for((uint16_t)(io + UHCI_CMD), UHCI_CMD_HCRESET, 0, RESET_US))
		return "its reset does not end";
	io_out16((uint16_t)(io + UHCI_INTR), 0);
	io_out16((uint16_t)(io + UHCI_CMD), 0);
	return NULL;
}

static const char *take(const struct pci_dev *dev, uint32_t asked)
{
	uint32_t size;
	(void)asked; /* the registers below are all that the firmware has to do with it */
	uint16_t io = find_ports(dev, &size);
	if (io == 0)
		return "it has no registers";
	/* The firmware's keyboard emulation must not see what follows. */
	pci_write16(dev, UHCI_LEGSUP, UHCI_LEGSUP_OFF);
	return reset(io);
}

/* --- start ----------------------------------------------------------------------------- */

/* Counts the ports, whose bit 7 reads as 1 (2.1.7). Two where that gives nonsense. */
static uint32_t count_ports(uint16_t io, uint32_t size)
{
	uint32_t n = 0;
	while (n <= UHCI_PORTS_MAX && UHCI_PORT + 2 * n + 2 <= size) {
		uint16_t v = io_in16((uint16_t)(io + UHCI_PORT + 2 * n));
		if (v == 0xffff || !(v & UHCI_PORT_ONE))
			break;
		n++;
	}
	return n == 0 || n > UHCI_PORTS_MAX ? 2 : n;
}

static const struct usb_hcd_ops ops;

static const char *probe(const struct pci_dev *dev, struct usb_controller **out)
{
	uint32_t size, *frames;
	struct uhci *u = alloc(sizeof *u, 64);
	if (!u || !uhci_queue_init(u, &frames))
		return "not enough memory";
	u->io = find_ports(dev, &size);
	if (u->io == 0)
		return "it has no registers";
	u->pipes.c.ops = &ops;
	u->pipes.c.driver = "uhci";
	u->pipes.c.pci = *dev;
	u->pipes.c.n_ports = count_ports(u->io, size);
	io_out8(reg(u, UHCI_SOFMOD), UHCI_SOF_1MS);
	io_out16(reg(u, UHCI_FRNUM), 0);
	io_out32(reg(u, UHCI_FRBASE), (uint32_t)dma_addr(frames));
	io_out16(reg(u, UHCI_STS), UHCI_STS_CLEAR);
	io_wmb();
	io_out16(reg(u, UHCI_CMD), UHCI_CMD_RS | UHCI_CMD_CF | UHCI_CMD_MAXP);
	if (!wait_for(reg(u, UHCI_STS), UHCI_STS_HALTED, 0, HALT_US))
		return "it does not start";
	*out = &u->pipes.c;
	return NULL;
}

static bool stop(struct usb_controller *c)
{
	struct uhci *u = uhci_of(c);
	io_out16(reg(u, UHCI_INTR), 0);
	io_out16(reg(u, UHCI_CMD), 0);
	return io_in16(reg(u, UHCI_STS)) & UHCI_STS_HALTED; /* so has one that is gone */
}

/* --- root ports (2.1.7) ------------------------------------------------------------------ */

static uint16_t port_reg(const struct uhci *u, uint32_t i)
{
	return reg(u, UHCI_PORT + 2 * i);
}

/* Writes a port's register. Bits that are cleared by writing 1 are kept unless `clear` has them. */
static void port_write(const struct uhci *u, uint32_t i, uint16_t keep, uint16_t clear)
{
	io_out16(port_reg(u, i), keep | clear);
}

static struct usb_port_state port(struct usb_controller *c, uint8_t number)
{
	struct uhci *u = uhci_of(c);
	uint32_t i = number - 1u;
	struct usb_port_state s = {0};
	if (i >= c->n_ports)
		return s;
	struct uhci_port *p = &u->port[i];
	uint16_t v = io_in16(port_reg(u, i));
	if (v == 0xffff)
		return s;
	if (v & (UHCI_PORT_CSC | UHCI_PORT_PEDC | UHCI_PORT_OCC)) {
		p->changed |= (v & UHCI_PORT_CSC) != 0;
		port_write(u, i, v & (UHCI_PORT_PED | UHCI_PORT_RESET),
		           v & (UHCI_PORT_CSC | UHCI_PORT_PEDC | UHCI_PORT_OCC));
	}
	s.bits = (uint8_t)((v & UHCI_PORT_CCS ? USB_PORT_CONNECTED : 0) |
	                   (p->resetting ? USB_PORT_RESETTING : 0) |
	                   (v & UHCI_PORT_PED && !p->resetting ? USB_PORT_ENABLED : 0) |
	                   (p->changed ? USB_PORT_CHANGED : 0));
	s.speed = v & UHCI_PORT_LOW ? USB_LOW : USB_FULL;
	p->changed = false;
	return s;
}

static void port_reset(struct usb_controller *c, uint8_t number)
{
	struct uhci *u = uhci_of(c);
	uint32_t i = number - 1u;
	if (i >= c->n_ports)
		return;
	u->port[i].resetting = true;
	u->port[i].until_us = io_now_us() + PORT_RESET_US;
	port_write(u, i, UHCI_PORT_RESET, 0);
}

static void port_disable(struct usb_controller *c, uint8_t number)
{
	struct uhci *u = uhci_of(c);
	uint32_t i = number - 1u;
	if (i >= c->n_ports)
		return;
	u->port[i].resetting = false;
	port_write(u, i, 0, 0);
}

/* Ends the reset signal and enables the port. The port takes the enable bit only some
 * microseconds after the signal ended, and chips set the change bits meanwhile. A device without
 * start-of-frame packets suspends after 3 ms, so this is done in one go: 300 us at most. */
static void finish_reset(struct uhci *u, uint32_t i)
{
	u->port[i].resetting = false;
	port_write(u, i, 0, 0);
	for (uint32_t n = 0; n < ENABLE_TRIES; n++) {
		io_delay_us(ENABLE_WAIT_US);
		uint16_t v = io_in16(port_reg(u, i));
		if (v == 0xffff || !(v & UHCI_PORT_CCS))
			return;
		uint16_t changes = v & (UHCI_PORT_CSC | UHCI_PORT_PEDC);
		if (v & UHCI_PORT_PED && !changes)
			return;
		port_write(u, i, UHCI_PORT_PED, changes);
	}
}

/* --- polling ----------------------------------------------------------------------------- */

static const char *wrong(const struct uhci *u)
{
	uint16_t sts = io_in16(reg(u, UHCI_STS));
	if (sts == 0xffff)
		return "it no longer answers";
	if (sts & UHCI_STS_HSE)
		return "host system error";
	if (sts & UHCI_STS_HCPE)
		return "process error";
	if (sts & UHCI_STS_HALTED)
		return "it has halted";
	if (sts & UHCI_STS_CLEAR)
		io_out16(reg(u, UHCI_STS), sts & UHCI_STS_CLEAR);
	return NULL;
}

static void poll(struct usb_controller *c, uint64_t now_us)
{
	struct uhci *u = uhci_of(c);
	const char *reason = wrong(u);
	if (reason) {
		usb_controller_failed(c, reason);
		return;
	}
	for (uint32_t i = 0; i < c->n_ports; i++)
		if (u->port[i].resetting && now_us >= u->port[i].until_us)
			finish_reset(u, i);
	pipe_poll(&u->pipes);
}

static const struct usb_hcd_ops ops = {
        .poll = poll,
        .port = port,
        .port_reset = port_reset,
        .port_disable = port_disable,
        .device_open = pipe_device_open,
        .device_changed = pipe_device_changed,
        .device_close = pipe_device_close,
        .endpoint_open = pipe_endpoint_open,
        .endpoint_reset = pipe_endpoint_reset,
        .submit = pipe_submit,
        .cancel = pipe_cancel,
        .stop = stop,
};

const struct usb_driver uhci_driver = {
        .name = "uhci",
        .prog_if = 0x00,
        .take = take,
        .probe = probe,
};
