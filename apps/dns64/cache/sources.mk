SRC_FASTEST += apps/dns64/cache/dns64_cache.c
SRC_FASTEST += apps/dns64/cache/dns64_store.c
