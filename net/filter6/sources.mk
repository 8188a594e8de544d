SRC += net/filter6/filter6.c
SRC += net/filter6/filter6_keys.c
SRC += net/filter6/filter6_show.c
SRC += net/filter6/filter6_table.c
