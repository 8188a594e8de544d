SRC_FASTEST += apps/dns64/dns64.c
SRC         += apps/dns64/dns64_hosts.c
SRC         += apps/dns64/dns64_keys.c
SRC         += apps/dns64/dns64_setup.c
SRC         += apps/dns64/dns64_show.c
