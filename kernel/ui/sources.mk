SRC += kernel/ui/grid.c
SRC += kernel/ui/grid_vt100.c
