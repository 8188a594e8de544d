SRC += apps/pcp/pcp.c
SRC += apps/pcp/pcp_announce.c
SRC += apps/pcp/pcp_keys.c
SRC += apps/pcp/pcp_map.c
SRC += apps/pcp/pcp_natpmp.c
SRC += apps/pcp/pcp_peer.c
SRC += apps/pcp/pcp_show.c
SRC += apps/pcp/pcp_table.c
