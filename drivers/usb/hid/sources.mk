SRC += drivers/usb/hid/hid_keyboard.c
SRC += drivers/usb/hid/hid_report.c
