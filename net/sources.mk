SRC         += net/client.c
SRC_HOT     += net/flow.c
SRC         += net/gw_address.c
SRC_HOT     += net/gw_dispatch.c
SRC_HOT     += net/gw_tick.c
SRC_HOT     += net/icmp_limit.c
SRC_HOT     += net/interface.c
