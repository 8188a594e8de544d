SRC           += kernel/lib/addr.c
SRC_HOT       += kernel/lib/alloc.c
SRC           += kernel/lib/fmt.c
SRC           += kernel/lib/log.c
SRC_HOT       += kernel/lib/pkt.c
SRC_HOT       += kernel/lib/rng.c
SRC_IMAGE_HOT += kernel/lib/string.c
SRC_HOT       += kernel/lib/wheel.c
