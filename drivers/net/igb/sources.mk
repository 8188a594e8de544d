SRC_HOT += drivers/net/igb/igb.c
SRC_HOT += drivers/net/igb/igb_hw.c
