SRC_HOT += drivers/net/nic_list.c
