/* How much of each the configuration of DNS64 may have. */
#ifndef APPS_DNS64_SHARED_DNS64_SIZES_H
#define APPS_DNS64_SHARED_DNS64_SIZES_H

#define DNS64_PREFIXES 8u
#define DNS64_RANGES   32u
#define DNS64_CLIENTS  64u

#endif
