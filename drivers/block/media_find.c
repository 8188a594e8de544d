/* A part of the stand-in; see media.c. */
#include "drivers/block/media.h"
