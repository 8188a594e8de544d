SRC_HOT += apps/wire/wire.c
