SRC_HOT += drivers/net/vmxnet3/vmxnet3.c
SRC_HOT += drivers/net/vmxnet3/vmxnet3_hw.c
SRC_HOT += drivers/net/vmxnet3/vmxnet3_offload.c
