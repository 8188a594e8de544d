/* What the files of the application `ivi` share. The application sets up the translator
 * (xlat.h) from the configuration and decides which packets are translated. */
#ifndef APPS_TRANSLATE_IVI_H
#define APPS_TRANSLATE_IVI_H

#include "apps/translate/ivi_keys.h"
#include "net/gw.h"

/* Its counters and timings (net/forwarder.h). */
extern const struct count_table ivi_counts;
extern const struct timing_rows ivi_timings;
bool ivi_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size);

#endif
