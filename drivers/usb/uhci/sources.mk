SRC += drivers/usb/uhci/uhci.c
SRC += drivers/usb/uhci/uhci_queue.c
