SRC_HOT += net/neigh/neigh.c
SRC_HOT += net/neigh/neigh4.c
SRC_HOT += net/neigh/neigh6.c
