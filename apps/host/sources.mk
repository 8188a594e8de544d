SRC_HOT += apps/host/host.c
