SRC_HOT += apps/tunnel/tun.c
SRC_HOT += apps/tunnel/tun_end.c
SRC_HOT += apps/tunnel/tun_flow.c
SRC_HOT += apps/tunnel/tun_icmp.c
SRC_HOT += apps/tunnel/tun_in.c
SRC     += apps/tunnel/tun_keys.c
SRC_HOT += apps/tunnel/tun_out.c
SRC     += apps/tunnel/tun_setup.c
