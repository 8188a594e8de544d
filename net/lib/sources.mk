SRC_FASTEST += net/lib/csum.c
SRC_HOT     += net/lib/mss.c
