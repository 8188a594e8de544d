/* See apps.h. */
#include "apps/apps.h"

const struct app_entry apps[] = {
#define APP(symbol, name, about) {name, about, &app_##symbol},
#include "apps/apps.def"
#undef APP
};
const uint32_t n_apps = ARRAY_SIZE(apps);
