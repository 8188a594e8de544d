SRC += drivers/usb/storage/storage.c
SRC += drivers/usb/storage/storage_bot.c
SRC += drivers/usb/storage/storage_sense.c
