/* Whether the tables of the NAT are consistent, slowly and completely. */
#ifndef TESTS_HOST_NAT_CHECK_H
#define TESTS_HOST_NAT_CHECK_H

#include "apps/nat/nat_table.h"

/* NULL, or what is inconsistent. */
const char *nat_check(const struct nat_table *t);

#endif
