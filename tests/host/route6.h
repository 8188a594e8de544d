/* The test application `route6`: IPv6 routing. */
#ifndef TESTS_HOST_ROUTE6_H
#define TESTS_HOST_ROUTE6_H

#include "net/app.h"

extern const struct app app_route6;

#endif
