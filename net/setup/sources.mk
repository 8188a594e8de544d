SRC += net/setup/gw_setup.c
SRC += net/setup/gw_setup6.c
SRC += net/setup/net_keys.c
