SRC_HOT += apps/clat/clat.c
SRC     += apps/clat/clat_address.c
SRC_HOT += apps/clat/clat_down.c
SRC_HOT += apps/clat/clat_gather.c
SRC     += apps/clat/clat_find.c
SRC     += apps/clat/clat_keys.c
SRC     += apps/clat/clat_show.c
SRC_HOT += apps/clat/clat_up.c
