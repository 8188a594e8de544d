/* See machine.h. */
#include "kernel/machine.h"

#include "drivers/usb/usb.h"
#include "kernel/lib/fmt.h"
#include "kernel/rcv.h"
#include "kernel/x86/cpu.h"
#include "net/machine.h"

static struct gw *gw;
static uint32_t (*busy)(void);

#define CPU_COUNTERS 2u

/* Writes counter *i of the machine, of which the gateway knows nothing. False behind the last:
 * then their number is taken off *i. */
static bool machine_counter(uint32_t *i, char *buf, size_t size)
{
	static const char *const name[] = {"rx_no_packet", "rx_missed",    "rx_errors",
	                                   "tx_errors",    "tx_link_down", "nic_resets"};
	if (*i < CPU_COUNTERS) {
		if (*i == 0)
			fmt(buf, size, "cpu_busy_permille %u", busy());
		else
			fmt(buf, size, "cpu_nmis %u", cpu_nmis());
		return true;
	}
	uint32_t k = *i - CPU_COUNTERS, n = gw->n_iface;
	if (k >= n * ARRAY_SIZE(name)) {
		*i = k - n * (uint32_t)ARRAY_SIZE(name);
		return false;
	}
	const struct nic *nic = gw->iface[k % n].card == k % n ? rcv_nic(k % n) : NULL;
	uint32_t which = k / n;
	const uint64_t none = 0;
	const uint64_t *value = &none;
	if (nic)
		value = (const uint64_t *[]){&nic->count.rx_no_packet, &nic->count.rx_missed,
		                             &nic->count.rx_errors,    &nic->count.tx_errors,
		                             &nic->count.tx_link_down, &nic->count.resets}[which];
	fmt(buf, size, "%s{if=\"%s\"} %llu", name[which], gw->iface[k % n].name,
	    (unsigned long long)*value);
	return true;
}

static bool stat(uint32_t *i, char *buf, size_t size)
{
	return machine_counter(i, buf, size) || usb_show_stats(i, buf, size);
}

static bool card(uint32_t iface, struct machine_card *out)
{
	const struct nic *nic = iface < gw->n_iface ? rcv_nic(iface) : NULL;
	if (!nic)
		return false;
	*out = (struct machine_card){nic->driver, nic->carrier.mbit, nic->carrier.full_duplex};
	return true;
}

void machine_init(struct gw *g, uint32_t (*cpu_busy)(void))
{
	static struct machine all = {.stat = stat, .card = card};
	gw = g;
	busy = all.busy = cpu_busy;
	gw->machine = &all;
}
