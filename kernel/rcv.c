/* See rcv.h. */
#include "kernel/rcv.h"

#include "kernel/cpu.h"
#include "kernel/log.h"

static struct gw *gw;
static struct nic *nic[GW_PORTS];

void rcv_init(struct gw *g, struct nic *lan, struct nic *wan)
{
	gw = g;
	nic[PORT_LAN] = lan;
	nic[PORT_WAN] = wan;
	for (uint32_t i = 0; i < GW_PORTS; i++)
		if (nic[i] && gw->app->promiscuous)
			nic[i]->ops->filter(nic[i], true, NULL, 0);
}

const struct nic *rcv_nic(uint32_t port)
{
	return nic[port];
}

static void drop_waiting(struct gw_port *port)
{
	for (struct pkt *p; (p = link_pop(&port->out)) != NULL;)
		gw_discard(gw, p, DROP_LINK_DOWN);
}

bool rcv_flush(void)
{
	bool moved = false;
	for (uint32_t i = 0; i < GW_PORTS; i++) {
		struct gw_port *port = &gw->port[i];
		if (link_count(&port->out) == 0)
			continue;
		gw_sent(port);
		if (UNLIKELY(!port->link_up)) {
			drop_waiting(port);
			continue;
		}
		/* Twice at most: a burst that wraps lies in two pieces. */
		for (int piece = 0; piece < 2 && link_count(&port->out); piece++) {
			uint32_t n;
			struct pkt **burst = link_front(&port->out, &n);
			uint32_t took = nic[i]->ops->tx(nic[i], burst, n);
			link_take(&port->out, took);
			moved |= took != 0;
			if (took < n)
				break;
		}
	}
	return moved;
}

bool rcv_run(void)
{
	uint32_t got = 0;
	for (uint32_t i = 0; i < GW_PORTS; i++) {
		struct pkt *burst[NIC_BURST];
		if (!nic[i])
			continue;
		uint32_t n = nic[i]->ops->rx(nic[i], burst, NIC_BURST);
		gw_input(gw, i, burst, n);
		got += n;
	}
	return rcv_flush() || got;
}

void rcv_poll(uint64_t now_us)
{
	for (uint32_t i = 0; i < GW_PORTS; i++) {
		if (!nic[i])
			continue;
		nic[i]->ops->poll(nic[i], now_us);
		struct gw_port *port = &gw->port[i];
		if (nic[i]->link.up == port->link_up)
			continue;
		port->link_up = nic[i]->link.up;
		log_line("%s: link %s", port->name, port->link_up ? "up" : "down");
		if (port->link_up)
			gw_link_up(gw, i);
		else
			neigh_flush(gw, i);
	}
}

bool rcv_arm(void)
{
	bool work = false;
	for (uint32_t i = 0; i < GW_PORTS; i++) {
		if (!nic[i])
			continue;
		work |= nic[i]->ops->arm(nic[i]);
		cpu_irq_unmask(nic[i]->irq);
	}
	return work;
}

void rcv_stop(void)
{
	for (uint32_t i = 0; i < GW_PORTS; i++)
		if (nic[i])
			nic[i]->ops->stop(nic[i]);
}
