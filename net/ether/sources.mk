SRC += net/ether/arp.c
