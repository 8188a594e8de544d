SRC_HOT += net/ip6/icmp6.c
SRC_HOT += net/ip6/ip6.c
SRC_HOT += net/ip6/ip6_forward.c
SRC_HOT += net/ip6/local6.c
SRC     += net/ip6/mld.c
SRC     += net/ip6/nd.c
SRC     += net/ip6/nd_option.c
SRC     += net/ip6/route6.c
