SRC_HOT     += net/udp/udp.c
SRC_FASTEST += net/udp/udp_path.c
