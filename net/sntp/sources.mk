SRC += net/sntp/sntp.c
SRC += net/sntp/sntp_keys.c
SRC += net/sntp/sntp_message.c
SRC += net/sntp/sntp_show.c
