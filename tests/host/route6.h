/* The test application `route6`: IPv6 routing. */
#ifndef TESTS_HOST_ROUTE6_H
#define TESTS_HOST_ROUTE6_H

#include "net/forwarder.h"

extern const struct forwarder forwarder_route6;

#endif
