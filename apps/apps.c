/* See apps.h and services.h. */
#include "apps/apps.h"

#include "apps/services.h"

const struct app_entry apps[] = {
#define APP(symbol, name, about) {name, about, &forwarder_##symbol},
#include "apps/apps.def"
#undef APP
};
const uint32_t n_apps = ARRAY_SIZE(apps);

const struct service_entry services[SERVICES] = {
#define SERVICE(symbol, name) {name, &service_##symbol},
#include "apps/services.def"
#undef SERVICE
};
