SRC_IMAGE     += kernel/finish.c
SRC_IMAGE     += kernel/main.c
SRC_IMAGE     += kernel/menu.c
SRC           += kernel/menu_state.c
SRC_IMAGE     += kernel/panic.c
SRC_IMAGE_HOT += kernel/rcv.c
SRC           += kernel/settings.c
SRC_IMAGE     += kernel/shell.c
