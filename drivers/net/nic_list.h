/* All drivers. A new driver adds one line here and one in nic_list.c. */
#ifndef DRIVERS_NET_NIC_LIST_H
#define DRIVERS_NET_NIC_LIST_H

#include "drivers/net/nic.h"

extern const struct pci_driver c90x_driver;
extern const struct pci_driver e1000_driver;
extern const struct pci_driver i8255x_driver;
extern const struct pci_driver igb_driver;
extern const struct pci_driver ne2k_driver;
extern const struct pci_driver pcnet_driver;
extern const struct pci_driver rtl8139_driver;
extern const struct pci_driver rtl8169_driver;
extern const struct pci_driver tulip_driver;
extern const struct pci_driver virtio_net_driver;
extern const struct pci_driver vmxnet3_driver;

#endif
