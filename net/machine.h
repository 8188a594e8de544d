/* What the machine says about itself to services: its caller sets gw->machine. NULL on a host
 * without a machine. */
#ifndef NET_MACHINE_H
#define NET_MACHINE_H

#include "kernel/lib/bytes.h"

/* The card of an interface. */
struct machine_card {
	const char *driver;
	uint32_t mbit; /* 0: not known */
	bool full_duplex;
};

struct machine {
	/* The load of the processor in the last second, in thousandths. */
	uint32_t (*busy)(void);
	/* Writes counter *i of the machine as a line of `stats` into buf. False behind the last:
	 * then their number is taken off *i. */
	bool (*stat)(uint32_t *i, char *buf, size_t size);
	/* The card of an interface; false when it has none. */
	bool (*card)(uint32_t iface, struct machine_card *out);
};

#endif
