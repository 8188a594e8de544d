SRC += net/export/export.c
SRC_HOT += net/export/export_ipfix.c
SRC += net/export/export_keys.c
SRC += net/export/export_show.c
SRC_HOT += net/export/export_syslog.c
