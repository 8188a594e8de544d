SRC += apps/apps.c
