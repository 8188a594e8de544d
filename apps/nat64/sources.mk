SRC_HOT += apps/nat64/nat64.c
SRC_HOT += apps/nat64/nat64_gather.c
SRC_HOT += apps/nat64/nat64_icmp.c
SRC_HOT += apps/nat64/nat64_in.c
SRC     += apps/nat64/nat64_keys.c
SRC_HOT += apps/nat64/nat64_out.c
SRC     += apps/nat64/nat64_show.c
SRC_HOT += apps/nat64/nat64_tcp.c
