/* Registers, offsets and bits of virtio devices on PCI and of the virtio network card.
 * Sections: Virtual I/O Device (VIRTIO) specification, version 1.1. */
#ifndef DRIVERS_NET_VIRTIO_VIRTIO_REG_H
#define DRIVERS_NET_VIRTIO_VIRTIO_REG_H

/* 4.1.2: PCI identification. */
#define VIRTIO_VENDOR           0x1af4
#define VIRTIO_NET_TRANSITIONAL 0x1000 /* also the legacy devices */
#define VIRTIO_NET_MODERN       0x1041

/* 2.1: device status. */
#define VIRTIO_ACKNOWLEDGE 1
#define VIRTIO_DRIVER      2
#define VIRTIO_DRIVER_OK   4
#define VIRTIO_FEATURES_OK 8
#define VIRTIO_NEEDS_RESET 64
#define VIRTIO_FAILED      128

/* 6: features of every device; 6.3: of legacy ones. */
#define VIRTIO_F_ANY_LAYOUT      (1ull << 27)
#define VIRTIO_F_INDIRECT_DESC   (1ull << 28) /* 6 */
#define VIRTIO_F_EVENT_IDX       (1ull << 29)
#define VIRTIO_F_VERSION_1       (1ull << 32)
#define VIRTIO_F_ACCESS_PLATFORM (1ull << 33)
#define VIRTIO_F_ORDER_PLATFORM  (1ull << 36)

/* 4.1.4: capabilities that say where the register structures are. */
#define VIRTIO_CAP_VENDOR 0x09 /* PCI capability ID */
#define VIRTIO_CAP_TYPE   3    /* offsets in the capability */
#define VIRTIO_CAP_BAR    4
#define VIRTIO_CAP_OFFSET 8
#define VIRTIO_CAP_LENGTH 12
#define VIRTIO_CAP_MULT   16 /* 4.1.4.4 */
#define VIRTIO_CAP_COMMON 1  /* types */
#define VIRTIO_CAP_NOTIFY 2
#define VIRTIO_CAP_ISR    3
#define VIRTIO_CAP_DEVICE 4

/* 4.1.4.3: common configuration. */
#define VIRTIO_C_DEVICE_SELECT  0
#define VIRTIO_C_DEVICE_FEATURE 4
#define VIRTIO_C_DRIVER_SELECT  8
#define VIRTIO_C_DRIVER_FEATURE 12
#define VIRTIO_C_STATUS         20
#define VIRTIO_C_GENERATION     21
#define VIRTIO_C_QUEUE_SELECT   22
#define VIRTIO_C_QUEUE_SIZE     24
#define VIRTIO_C_QUEUE_ENABLE   28
#define VIRTIO_C_NOTIFY_OFF     30
#define VIRTIO_C_QUEUE_DESC     32
#define VIRTIO_C_QUEUE_DRIVER   40
#define VIRTIO_C_QUEUE_DEVICE   48
#define VIRTIO_C_BYTES          56

/* 4.1.4.8: legacy registers, behind I/O base address register 0. */
#define VIRTIO_L_DEVICE_FEATURE 0
#define VIRTIO_L_DRIVER_FEATURE 4
#define VIRTIO_L_QUEUE_PFN      8
#define VIRTIO_L_QUEUE_SIZE     12
#define VIRTIO_L_QUEUE_SELECT   14
#define VIRTIO_L_NOTIFY         16
#define VIRTIO_L_STATUS         18
#define VIRTIO_L_ISR            19
#define VIRTIO_L_CONFIG         20 /* with MSI-X off */
#define VIRTIO_L_BYTES          32 /* up to the last field that the driver reads */
#define VIRTIO_L_PAGE           4096u

/* 4.1.4.5 */
#define VIRTIO_ISR_CONFIG 2

/* 2.6.5: descriptors; 2.6.7 and 2.6.10: flags of the rings. */
#define VIRTIO_DESC_NEXT          1
#define VIRTIO_DESC_WRITE         2 /* the device writes to the buffer */
#define VIRTIO_DESC_INDIRECT      4 /* 2.6.5.3: the buffer is a table of descriptors */
#define VIRTIO_AVAIL_NO_INTERRUPT 1
#define VIRTIO_USED_NO_NOTIFY     1
#define VIRTIO_QUEUE_MAX          32768u /* 2.6 */

/* PCI Local Bus Specification 3.0, 6.8.2: MSI-X. */
#define PCI_CAP_MSIX    0x11
#define PCI_MSIX_ENABLE 0x8000u

/* 5.1: the network card. */
#define VIRTIO_NET_RX           0 /* 5.1.2: queues */
#define VIRTIO_NET_TX           1
#define VIRTIO_NET_F_CSUM       (1ull << 0) /* 5.1.3 */
#define VIRTIO_NET_F_GUEST_CSUM (1ull << 1)
#define VIRTIO_NET_F_MAC        (1ull << 5)
#define VIRTIO_NET_F_GUEST_TSO4 (1ull << 7)
#define VIRTIO_NET_F_GUEST_TSO6 (1ull << 8)
#define VIRTIO_NET_F_GUEST_ECN  (1ull << 9)
#define VIRTIO_NET_F_HOST_TSO4  (1ull << 11)
#define VIRTIO_NET_F_HOST_TSO6  (1ull << 12)
#define VIRTIO_NET_F_HOST_ECN   (1ull << 13)
#define VIRTIO_NET_F_MRG_RXBUF  (1ull << 15)
#define VIRTIO_NET_F_STATUS     (1ull << 16)
#define VIRTIO_NET_F_GUEST_USO4 (1ull << 54) /* VIRTIO 1.3, 5.1.3 */
#define VIRTIO_NET_F_GUEST_USO6 (1ull << 55)
#define VIRTIO_NET_F_HOST_USO   (1ull << 56)
#define VIRTIO_NET_C_MAC        0 /* 5.1.4 */
#define VIRTIO_NET_C_STATUS     6
#define VIRTIO_NET_LINK_UP      1u
#define VIRTIO_NET_HEADER       12u /* 5.1.6 */
#define VIRTIO_NET_NEEDS_CSUM   1   /* 5.1.6: flags of the header */
#define VIRTIO_NET_DATA_VALID   2
#define VIRTIO_NET_GSO_NONE     0 /* its types */
#define VIRTIO_NET_GSO_TCP4     1
#define VIRTIO_NET_GSO_TCP6     4
#define VIRTIO_NET_GSO_UDP_L4   5 /* VIRTIO 1.3, 5.1.6 */
#define VIRTIO_NET_GSO_ECN      0x80
#define VIRTIO_NET_HEADER_0_9   10u /* 5.1.6.1: legacy, without num_buffers */

#endif
