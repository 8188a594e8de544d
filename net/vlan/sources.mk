SRC_HOT += net/vlan/vlan.c
