SRC_IMAGE += kernel/console/console.c
SRC_IMAGE += kernel/console/keyboard.c
SRC       += kernel/console/keymap.c
SRC       += kernel/console/keys.c
SRC       += kernel/console/scancode.c
SRC       += kernel/console/screen.c
SRC_IMAGE += kernel/console/uart.c
SRC_IMAGE += kernel/console/vga.c
