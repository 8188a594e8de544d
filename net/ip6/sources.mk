SRC_HOT += net/ip6/icmp6.c
SRC_HOT += net/ip6/ip6.c
SRC_HOT += net/ip6/local6.c
SRC     += net/ip6/mld.c
SRC     += net/ip6/nd.c
SRC_HOT += net/ip6/neigh6.c
SRC     += net/ip6/ra.c
SRC     += net/ip6/ra_keys.c
