SRC += drivers/block/block.c
SRC += drivers/block/fat_job.c
SRC += drivers/block/fat_chain.c
SRC += drivers/block/fat_create.c
SRC += drivers/block/fat_find.c
SRC += drivers/block/fat_replace.c
SRC += drivers/block/fat_volume.c
SRC += drivers/block/media.c
