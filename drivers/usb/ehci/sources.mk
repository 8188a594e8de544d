SRC += drivers/usb/ehci/ehci.c
SRC += drivers/usb/ehci/ehci_hw.c
SRC += drivers/usb/ehci/ehci_port.c
SRC += drivers/usb/ehci/ehci_queue.c
SRC += drivers/usb/ehci/ehci_schedule.c
SRC += drivers/usb/ehci/ehci_tt.c
