SRC_HOT += drivers/net/pcnet/pcnet.c
SRC_HOT += drivers/net/pcnet/pcnet_hw.c
