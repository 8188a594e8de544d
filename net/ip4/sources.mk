SRC_HOT += net/ip4/frag.c
SRC_HOT += net/ip4/icmp.c
SRC_HOT += net/ip4/ip4.c
SRC_HOT += net/ip4/ip4_forward.c
SRC_HOT += net/ip4/local.c
SRC_HOT += net/ip4/reasm.c
SRC_HOT += net/ip4/route4.c
