/* A started gateway that is kept and put back, for fuzzers: their inputs begin with one of
 * a few starts, and to copy what changed since is cheaper than to start again.
 *
 * Pages of the arena and of the rig are write-protected until something is written to them; from
 * then on they are "hot" and copied at each image_put_back. Now and then all are protected again.
 * Pages with equal contents are kept once, so that many images need little memory. */
#ifndef TESTS_HOST_IMAGE_H
#define TESTS_HOST_IMAGE_H

#include "tests/host/rig.h"

struct image;

/* Keeps the rig, the arena and what of the arena is poisoned as they are; never freed. All
 * images are of one rig, and of arenas of one size. The log is not in it, nor what the
 * program keeps outside of rig and arena. Aborts when memory is short. */
struct image *image_keep(const struct rig *rig);

/* Puts the rig and the arena back to what they were at image_keep. */
void image_put_back(struct rig *rig, const struct image *image);

#endif
