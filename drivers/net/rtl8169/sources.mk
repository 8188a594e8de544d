SRC_HOT += drivers/net/rtl8169/rtl8169.c
SRC_HOT += drivers/net/rtl8169/rtl8169_hw.c
