/* A slow and complete check that the tables of the NAT are consistent. */
#ifndef TESTS_HOST_NAT_CHECK_H
#define TESTS_HOST_NAT_CHECK_H

#include "apps/nat/nat_table.h"

/* Gives NULL, or a text that says what is inconsistent. */
const char *nat_check(const struct nat_table *t);

#endif
