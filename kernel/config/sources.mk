SRC += kernel/config/config.c
SRC += kernel/config/config_dns64.c
SRC += kernel/config/config_ivi.c
SRC += kernel/config/config_keys.c
SRC += kernel/config/config_nat.c
SRC += kernel/config/config_tun.c
