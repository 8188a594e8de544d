SRC_FASTEST += apps/dns64/client/dns64_client.c
SRC_FASTEST += apps/dns64/client/dns64_datagram.c
SRC_FASTEST += apps/dns64/client/dns64_known.c
SRC_FASTEST += apps/dns64/client/dns64_limit.c
SRC_FASTEST += apps/dns64/client/dns64_passthrough.c
SRC_FASTEST += apps/dns64/client/dns64_path.c
SRC_FASTEST += apps/dns64/client/dns64_pending.c
SRC_FASTEST += apps/dns64/client/dns64_stream.c
