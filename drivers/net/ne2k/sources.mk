SRC_HOT += drivers/net/ne2k/ne2k.c
SRC_HOT += drivers/net/ne2k/ne2k_hw.c
