SRC += kernel/board/acpi.c
SRC += kernel/board/acpi_tables.c
SRC += kernel/board/multiboot.c
SRC += kernel/board/multiboot2.c
SRC += kernel/board/pci.c
