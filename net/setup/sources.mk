SRC += net/setup/gw_change.c
SRC += net/setup/gw_change_text.c
SRC += net/setup/gw_routers.c
SRC += net/setup/gw_setup.c
SRC += net/setup/gw_setup4.c
SRC += net/setup/gw_setup6.c
SRC += net/setup/net_keys.c
