/* A slow and complete check that the tables of the NAT are consistent. */
#ifndef TESTS_HOST_NAT_CHECK_H
#define TESTS_HOST_NAT_CHECK_H

#include "apps/nat/nat_table.h"
#include "net/gw.h"

/* Gives NULL, or a text that says what is inconsistent. The ports that are taken from the NAT must
 * be those of the sockets of the gateway; with NULL none may be taken. */
const char *nat_check(const struct nat_table *t, const struct gw *gw);

#endif
