SRC_FASTEST += net/csum.c
SRC         += net/client.c
SRC_HOT     += net/gw.c
SRC         += net/gw_setup.c
SRC         += net/gw_setup6.c
SRC         += net/gw_show.c
SRC_HOT     += net/mss.c
SRC_HOT     += net/neigh.c
