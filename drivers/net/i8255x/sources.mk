SRC_HOT += drivers/net/i8255x/i8255x.c
SRC_HOT += drivers/net/i8255x/i8255x_rx.c
SRC_HOT += drivers/net/i8255x/i8255x_hw.c
