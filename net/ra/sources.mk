SRC += net/ra/ra.c
SRC += net/ra/ra_keys.c
