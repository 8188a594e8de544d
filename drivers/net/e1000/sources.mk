SRC_HOT += drivers/net/e1000/e1000.c
SRC_HOT += drivers/net/e1000/e1000_hw.c
SRC_HOT += drivers/net/e1000/e1000_offload.c
SRC_HOT += drivers/net/e1000/e1000_82574.c
SRC_HOT += drivers/net/e1000/e1000_82571.c
