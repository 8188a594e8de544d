SRC += drivers/usb/xhci/xhci.c
SRC += drivers/usb/xhci/xhci_cmd.c
SRC += drivers/usb/xhci/xhci_ctx.c
SRC += drivers/usb/xhci/xhci_dev.c
SRC += drivers/usb/xhci/xhci_hw.c
SRC += drivers/usb/xhci/xhci_port.c
SRC += drivers/usb/xhci/xhci_ring.c
SRC += drivers/usb/xhci/xhci_xfer.c
