SRC_FASTEST += apps/dns64/policy/dns64_answer.c
SRC         += apps/dns64/policy/dns64_host.c
SRC_FASTEST += apps/dns64/policy/dns64_lookup.c
SRC_FASTEST += apps/dns64/policy/dns64_plan.c
SRC_FASTEST += apps/dns64/policy/dns64_ready.c
SRC_FASTEST += apps/dns64/policy/dns64_reverse.c
