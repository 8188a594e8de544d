/* What the files of the application `ivi` share. The application sets up the translator
 * (xlat.h) from the configuration and decides which packets are translated. */
#ifndef APPS_TRANSLATE_IVI_H
#define APPS_TRANSLATE_IVI_H

#include "net/gw.h"

/* Lists counters and timings (app.h). */
bool ivi_show(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size);

#endif
