/* The list of drivers, and the search for cards. A new driver adds one line to the list. */
#include "drivers/net/nic_list.h"

#include "drivers/net/nic.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

static const struct pci_driver *const drivers[] = {
        &c90x_driver,  &e1000_driver,      &i8255x_driver,  &igb_driver,
        &ne2k_driver,  &pcnet_driver,      &rtl8139_driver, &rtl8169_driver,
        &tulip_driver, &virtio_net_driver, &vmxnet3_driver,
};

static const struct pci_driver *driver_for(const struct pci_dev *dev)
{
	for (unsigned i = 0; i < ARRAY_SIZE(drivers); i++)
		for (unsigned k = 0; k < drivers[i]->n_ids; k++)
			if (drivers[i]->ids[k].vendor == dev->vendor &&
			    drivers[i]->ids[k].device == dev->device)
				return drivers[i];
	return NULL;
}

uint32_t nic_count(uint32_t max, bool *large)
{
	uint32_t cursor = 0, n = 0;
	struct pci_dev dev;
	*large = false;
	while (n < max && pci_next(&cursor, &dev)) {
		const struct pci_driver *d = driver_for(&dev);
		n += d != NULL;
		*large |= d && d->large;
	}
	return n;
}

uint32_t nic_probe_all(struct pool *pool, struct nic **out, uint32_t max)
{
	uint32_t cursor = 0, n = 0;
	struct pci_dev dev;
	while (n < max && pci_next(&cursor, &dev)) {
		const struct pci_driver *d = driver_for(&dev);
		if (!d) {
			if (dev.class_code != 0x02) /* network controllers */
				continue;
			pci_cut(&dev); /* the firmware may have booted from it */
			log_line("pci %02x:%02x.%x: no driver for network card %04x:%04x", dev.bus,
			         dev.dev, dev.fn, dev.vendor, dev.device);
			continue;
		}
		struct nic *nic = NULL;
		const char *wrong = d->probe(&dev, pool, &nic);
		if (wrong) {
			pci_cut(&dev);
			log_line("pci %02x:%02x.%x: %s: %s", dev.bus, dev.dev, dev.fn, d->name,
			         wrong);
			continue;
		}
		char text[FMT_MAC];
		log_line("nic%u: %s, pci %02x:%02x.%x, irq %u, %s", n, d->name, dev.bus, dev.dev,
		         dev.fn, nic->irq, fmt_mac(text, &nic->address));
		out[n++] = nic;
	}
	return n;
}
