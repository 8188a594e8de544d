/* Images of a started gateway, for fuzzers. Their inputs begin with one of a few starts.
 * Copying what changed since then is cheaper than starting again.
 *
 * Pages of the arena and of the rig are write-protected until something writes to them. From
 * then on they are "hot", and each image_put_back copies them. From time to time all pages are
 * protected again. Pages with equal contents are stored once, so that many images need little
 * memory. */
#ifndef TESTS_HOST_IMAGE_H
#define TESTS_HOST_IMAGE_H

#include "tests/host/rig.h"

struct image;

/* Makes an image of the rig, of the arena and of its poisoned bytes. The image is never
 * freed. All images must be of one rig, and of arenas of one size. The image does not
 * include the log, nor data of the program outside rig and arena. Aborts when memory is
 * short. */
struct image *image_keep(const struct rig *rig);

/* Restores the rig and the arena to their state at image_keep. */
void image_put_back(struct rig *rig, const struct image *image);

#endif
