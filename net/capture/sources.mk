SRC += net/capture/capture.c
SRC += net/capture/capture_file.c
SRC += net/capture/capture_what.c
