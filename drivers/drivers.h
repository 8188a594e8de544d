/* The drivers there are. */
#ifndef DRIVERS_DRIVERS_H
#define DRIVERS_DRIVERS_H

#include "drivers/nic.h"

extern const struct pci_driver e1000_driver;
extern const struct pci_driver virtio_net_driver;

#endif
