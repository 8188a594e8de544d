SRC += drivers/usb/ohci/ohci.c
SRC += drivers/usb/ohci/ohci_port.c
SRC += drivers/usb/ohci/ohci_queue.c
