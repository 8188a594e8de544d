/* Root ports of the OHCI driver. Section numbers: OHCI 1.0a. Writes to a port's register are
 * commands: zeros do nothing, so no bit is changed by accident. */
#include "drivers/usb/ohci/ohci.h"

#define RESET_PULSES 5u      /* of 10 ms each: 50 ms for a root port (USB 2.0, 7.1.7.5) */
#define RESET_US     500000u /* a reset that takes longer has failed */
#define POWER_US     20000u  /* at least; some chips say 0 */

static uint32_t port_reg(uint32_t i)
{
	return OHCI_PORT + 4 * i;
}

uint32_t ohci_port_power(struct ohci *o)
{
	/* Ports are switched together or one by one, as the board is made (7.4.1). */
	ohci_write(o, OHCI_RH_STATUS, OHCI_RH_POWER_ON);
	for (uint32_t i = 0; i < o->pipes.c.n_ports; i++)
		ohci_write(o, port_reg(i), OHCI_PORT_POWER);
	return max_u32((ohci_read(o, OHCI_RH_A) >> 24) * 2000u, POWER_US);
}

struct usb_port_state ohci_port(struct usb_controller *c, uint8_t number)
{
	struct ohci *o = ohci_of(c);
	uint32_t i = number - 1u;
	struct usb_port_state s = {0};
	if (i >= c->n_ports || o->phase != OHCI_RUNNING)
		return s;
	struct ohci_port *p = &o->port[i];
	uint32_t v = ohci_read(o, port_reg(i));
	if (v == 0xffffffffu)
		return s;
	if (v & OHCI_PORT_CHANGES)
		ohci_write(o, port_reg(i), v & OHCI_PORT_CHANGES);
	p->changed |= (v & OHCI_PORT_CSC) != 0;
	s.bits = (uint8_t)((v & OHCI_PORT_CCS ? USB_PORT_CONNECTED : 0) |
	                   (p->pulses ? USB_PORT_RESETTING : 0) |
	                   (v & OHCI_PORT_PES && !p->pulses ? USB_PORT_ENABLED : 0) |
	                   (p->changed ? USB_PORT_CHANGED : 0));
	s.speed = v & OHCI_PORT_LSDA ? USB_LOW : USB_FULL;
	p->changed = false;
	return s;
}

void ohci_port_reset(struct usb_controller *c, uint8_t number)
{
	struct ohci *o = ohci_of(c);
	uint32_t i = number - 1u;
	if (i >= c->n_ports || o->phase != OHCI_RUNNING)
		return;
	o->port[i].pulses = RESET_PULSES;
	o->port[i].until_us = io_now_us() + RESET_US;
	ohci_write(o, port_reg(i), OHCI_PORT_RESET);
}

void ohci_port_disable(struct usb_controller *c, uint8_t number)
{
	struct ohci *o = ohci_of(c);
	uint32_t i = number - 1u;
	if (i >= c->n_ports)
		return;
	o->port[i].pulses = 0;
	ohci_write(o, port_reg(i), OHCI_PORT_DISABLE);
}

/* The controller ends each pulse by itself and enables the port (7.4.4). */
static void follow_reset(struct ohci *o, uint32_t i, uint64_t now_us)
{
	struct ohci_port *p = &o->port[i];
	uint32_t v = ohci_read(o, port_reg(i));
	if (!(v & OHCI_PORT_CCS)) {
		p->pulses = 0;
	} else if (v & OHCI_PORT_PRS) {
		if (now_us < p->until_us)
			return;
		p->pulses = 0;
		ohci_write(o, port_reg(i), OHCI_PORT_DISABLE);
	} else {
		p->pulses--;
	}
	ohci_write(o, port_reg(i), OHCI_PORT_PRSC);
	if (p->pulses)
		ohci_write(o, port_reg(i), OHCI_PORT_RESET);
}

void ohci_port_poll(struct ohci *o, uint64_t now_us)
{
	for (uint32_t i = 0; i < o->pipes.c.n_ports; i++)
		if (o->port[i].pulses)
			follow_reset(o, i, now_us);
}
