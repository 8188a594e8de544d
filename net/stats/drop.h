/* The drop reasons of all folders (drops.def) as one enum. */
#ifndef NET_STATS_DROP_H
#define NET_STATS_DROP_H

enum drop {
	DROP_NONE = 0,
#define DROP(name, label, text) DROP_##name,
#include "build/drops.def"
#undef DROP
	DROP_COUNT
};

#endif
