SRC_HOT += drivers/net/tulip/tulip.c
SRC_HOT += drivers/net/tulip/tulip_hw.c
