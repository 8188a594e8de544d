SRC += net/probe/probe.c
SRC += net/probe/probe_answer.c
