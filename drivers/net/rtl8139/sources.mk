SRC_HOT += drivers/net/rtl8139/rtl8139.c
SRC_HOT += drivers/net/rtl8139/rtl8139_old.c
SRC_HOT += drivers/net/rtl8139/rtl8139_plus.c
