SRC_HOT += net/offload/offload_check.c
SRC_HOT += net/offload/offload_cut.c
SRC_HOT += net/offload/offload_queue.c
