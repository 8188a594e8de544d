SRC_FASTEST += apps/dns64/upstream/dns64_attempt.c
SRC_FASTEST += apps/dns64/upstream/dns64_conn.c
SRC_FASTEST += apps/dns64/upstream/dns64_fetch.c
SRC_FASTEST += apps/dns64/upstream/dns64_server.c
