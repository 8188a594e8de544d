SRC_FASTEST += apps/dns64/message/dns_message.c
SRC_FASTEST += apps/dns64/message/dns_name.c
