SRC += kernel/config/config.c
SRC += kernel/config/config_edit.c
SRC += kernel/config/config_help.c
SRC += kernel/config/config_pause.c
SRC += kernel/config/config_types.c
SRC += kernel/config/config_word.c
