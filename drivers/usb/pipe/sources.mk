SRC += drivers/usb/pipe/pipe.c
