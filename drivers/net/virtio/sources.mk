SRC_HOT += drivers/net/virtio/virtio_net.c
SRC_HOT += drivers/net/virtio/virtio_pci.c
SRC_HOT += drivers/net/virtio/virtio_plain.c
SRC_HOT += drivers/net/virtio/virtio_offload.c
