SRC += kernel/ui/draft.c
SRC += kernel/ui/editor.c
SRC += kernel/ui/editor_draw.c
SRC += kernel/ui/field.c
SRC += kernel/ui/grid.c
SRC += kernel/ui/grid_vt100.c
