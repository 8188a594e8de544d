SRC     += net/stats/count.c
SRC     += net/stats/count_about.c
SRC_HOT += net/stats/drop_log.c
SRC     += net/stats/drop_text.c
SRC     += net/stats/gw_show.c
SRC     += net/stats/lines.c
SRC     += net/stats/notice.c
SRC     += net/stats/timing.c
