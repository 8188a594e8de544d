SRC += kernel/ui/grid.c
SRC += kernel/ui/grid_vt100.c
SRC += kernel/ui/view.c
SRC += kernel/ui/view_list.c
SRC += kernel/ui/view_status.c
